// Diagnostics over clang's. See diagnostics.h.

#include "source/diagnostics.h"

#include "source/source_file.h"

#include "clang/Basic/Diagnostic.h"
#include "clang/Basic/DiagnosticOptions.h"
#include "clang/Basic/FileManager.h"
#include "clang/Basic/LangOptions.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Frontend/TextDiagnosticPrinter.h"
#include "llvm/Support/raw_ostream.h"

#include <array>

namespace tritonc {
namespace {

struct MessageInfo {
  std::string_view name;
  Severity severity;
  std::string_view text;
};

constexpr MessageInfo message_infos[] = {
#define MESSAGE(name, severity, text) {#name, Severity::severity, text},
#include "source/diagnostics.def"
};

const MessageInfo &info(Message id) { return message_infos[size_t(id)]; }

// The text with %0, %1, ... replaced.
std::string fill_in(std::string_view text, const std::string *arguments, size_t count) {
  std::string out;
  for (size_t i = 0; i < text.size(); i++) {
    bool is_argument = text[i] == '%' && i + 1 < text.size() && isdigit(text[i + 1]);
    if (!is_argument) {
      out += text[i];
      continue;
    }
    size_t index = size_t(text[++i] - '0');
    if (index < count)
      out += arguments[index];
  }
  return out;
}

constexpr unsigned most_errors = 20;

// clang's printer, which stops after so many errors: what follows them is rarely news.
class LimitedPrinter : public clang::TextDiagnosticPrinter {
public:
  LimitedPrinter(llvm::raw_ostream &out, clang::DiagnosticOptions &options)
      : TextDiagnosticPrinter(out, options), out_(out) {}

  void HandleDiagnostic(clang::DiagnosticsEngine::Level level,
                        const clang::Diagnostic &diagnostic) override {
    if (stopped_)
      return;
    if (level >= clang::DiagnosticsEngine::Error && getNumErrors() == most_errors) {
      stopped_ = true;
      out_ << message(Message::too_many_errors, {std::to_string(most_errors)}) << "\n";
      return;
    }
    TextDiagnosticPrinter::HandleDiagnostic(level, diagnostic);
  }

private:
  llvm::raw_ostream &out_;
  bool stopped_ = false;
};

clang::SourceLocation clang_location(Location at) {
  return clang::SourceLocation::getFromRawEncoding(at.id);
}

// The tokens of C23, with `@`, which clang knows from Objective-C.
clang::LangOptions triton_c() {
  clang::LangOptions options;
  options.C99 = options.C11 = options.C17 = options.C23 = true;
  options.LineComment = true;
  options.Digraphs = true;
  options.Bool = true;
  options.ObjC = true;
  return options;
}

} // namespace

Severity severity_of(Message id) { return info(id).severity; }
std::string_view name_of(Message id) { return info(id).name; }

std::string message(Message id, std::initializer_list<std::string> arguments) {
  constexpr std::array<const char *, 3> prefixes = {"note: ", "warning: ", "error: "};
  return prefixes[size_t(severity_of(id))] +
         fill_in(info(id).text, arguments.begin(), arguments.size());
}

struct Diagnostics::Parts {
  Parts() { options.ShowPresumedLoc = true; } // so that #line counts

  clang::LangOptions language = triton_c();
  std::string text;
  llvm::raw_string_ostream out{text};
  clang::DiagnosticOptions options;
  LimitedPrinter printer{out, options};
  clang::DiagnosticsEngine engine{llvm::makeIntrusiveRefCnt<clang::DiagnosticIDs>(), options,
                                  &printer, /*ShouldOwnClient=*/false};
  clang::FileManager files{clang::FileSystemOptions(), regular_files()};
  clang::SourceManager sources{engine, files};
  Location last; // of the last message
  std::array<unsigned, 3> ids = {
      engine.getCustomDiagID(clang::DiagnosticsEngine::Note, "%0"),
      engine.getCustomDiagID(clang::DiagnosticsEngine::Warning, "%0"),
      engine.getCustomDiagID(clang::DiagnosticsEngine::Error, "%0"),
  };
};

Diagnostics::Diagnostics() : parts_(std::make_unique<Parts>()) {
  parts_->printer.BeginSourceFile(parts_->language, nullptr);
}
Diagnostics::~Diagnostics() = default;

void Diagnostics::report(Message id, Location at, std::vector<std::string> arguments,
                         std::vector<Range> marks) {
  std::string text = fill_in(info(id).text, arguments.data(), arguments.size());
  // A note on the place of the message before it need not show that place again.
  bool is_shown = severity_of(id) == Severity::note && at.id == parts_->last.id;
  parts_->last = at;
  if (is_shown)
    at = {};
  clang::DiagnosticBuilder builder =
      parts_->engine.Report(clang_location(at), parts_->ids[size_t(severity_of(id))]);
  builder << text;
  for (const Range &mark : marks)
    if (mark.begin && mark.end)
      builder << clang::CharSourceRange::getTokenRange(clang_location(mark.begin),
                                                       clang_location(mark.end));
}

int Diagnostics::errors() const { return int(parts_->printer.getNumErrors()); }
int Diagnostics::warnings() const { return int(parts_->printer.getNumWarnings()); }
std::string Diagnostics::text() const { return parts_->text; }

static clang::PresumedLoc presumed(const clang::SourceManager &sources, Location at) {
  return at ? sources.getPresumedLoc(sources.getExpansionLoc(clang_location(at)))
            : clang::PresumedLoc();
}

LineColumn Diagnostics::line_column(Location at) const {
  clang::PresumedLoc place = presumed(parts_->sources, at);
  if (place.isInvalid())
    return {};
  return {int(place.getLine()), int(place.getColumn())};
}

std::string Diagnostics::file_of(Location at) const {
  clang::PresumedLoc place = presumed(parts_->sources, at);
  return place.isInvalid() ? "" : place.getFilename();
}

Location Diagnostics::spelling(Location at) const {
  return {parts_->sources.getSpellingLoc(clang_location(at)).getRawEncoding()};
}

void Diagnostics::set_silent(bool silent) { parts_->engine.setSuppressAllDiagnostics(silent); }

clang::DiagnosticsEngine &Diagnostics::engine() { return parts_->engine; }
clang::FileManager &Diagnostics::files() { return parts_->files; }
clang::SourceManager &Diagnostics::sources() { return parts_->sources; }
const clang::LangOptions &Diagnostics::options() { return parts_->language; }

} // namespace tritonc
