// Implements DiagnosticEngine with clang's DiagnosticsEngine and text printer. See diagnostics.h.
//
// Tested by tests/unit/diagnostics/diagnostics_test.cpp, tests/diagnostics/diagnostics_test.cpp and
// tests/diagnostics/fixes_test.cpp.

#include "diagnostics/diagnostics.h"

#include "diagnostics/source_file.h"

#include "clang/Basic/Diagnostic.h"
#include "clang/Basic/DiagnosticOptions.h"
#include "clang/Basic/FileManager.h"
#include "clang/Basic/LangOptions.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Frontend/TextDiagnosticPrinter.h"
#include "clang/Lex/Lexer.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
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
#include "diagnostics/diagnostics.def"
};

const MessageInfo &info(Message id) { return message_infos[size_t(id)]; }

// Replaces %0, %1, ... in the text with the arguments.
std::string fill_in(std::string_view text, const std::vector<std::string> &arguments) {
  std::string out;
  for (size_t i = 0; i < text.size(); i++) {
    bool is_argument = text[i] == '%' && i + 1 < text.size() && isdigit(text[i + 1]);
    if (!is_argument) {
      out += text[i];
      continue;
    }
    size_t index = size_t(text[++i] - '0');
    if (index < arguments.size())
      out += arguments[index];
  }
  return out;
}

// "shapes-differ"
std::string hyphenated(Message id) {
  std::string name(info(id).name);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::string option_text(const Diagnostic &message) {
  return message.severity == Severity::warning ? " [-W" + message.name + "]" : "";
}

// --- Diagnostics for tools -----------------------------------------------------------------------

// The column in characters. clang counts bytes, including the bytes of a byte order mark.
int column_in_characters(const clang::SourceManager &sources, clang::SourceLocation at) {
  auto [file, offset] = sources.getDecomposedLoc(at);
  llvm::StringRef text = sources.getBufferData(file).take_front(offset);
  size_t line = text.rfind('\n');
  llvm::StringRef before = line == llvm::StringRef::npos ? text : text.drop_front(line + 1);
  before.consume_front("\xef\xbb\xbf");
  return 1 + int(llvm::count_if(before, [](char c) { return (c & 0xc0) != 0x80; }));
}

// The span from the start of one token to the end of another token; both are file locations.
Span span_of(const clang::SourceManager &sources, const clang::LangOptions &language,
             clang::SourceLocation first, clang::SourceLocation last) {
  clang::PresumedLoc begin = sources.getPresumedLoc(first);
  if (begin.isInvalid())
    return {};
  clang::SourceLocation end =
      last.getLocWithOffset(int(clang::Lexer::MeasureTokenLength(last, sources, language)));
  clang::PresumedLoc presumed_end = sources.getPresumedLoc(end);
  Span span = {begin.getFilename(), int(begin.getLine()), column_in_characters(sources, first)};
  span.end_line = presumed_end.isValid() ? int(presumed_end.getLine()) : span.line;
  span.end_column = presumed_end.isValid() ? column_in_characters(sources, end) : span.column;
  return span;
}

// The span of a location; for a location inside macros, the use of the outermost macro.
Span span_at(const clang::SourceManager &sources, const clang::LangOptions &language,
             clang::SourceLocation at) {
  if (at.isInvalid())
    return {};
  clang::CharSourceRange range = sources.getExpansionRange(at);
  return span_of(sources, language, range.getBegin(), range.getEnd());
}

// Converts a clang fix-it. hint_of() makes only fix-its with character ranges.
Replacement replacement_of(const clang::SourceManager &sources, const clang::FixItHint &hint) {
  clang::SourceLocation first = hint.RemoveRange.getBegin(), end = hint.RemoveRange.getEnd();
  clang::PresumedLoc begin = sources.getPresumedLoc(first);
  return {{begin.getFilename(), int(begin.getLine()), column_in_characters(sources, first),
           int(sources.getPresumedLoc(end).getLine()), column_in_characters(sources, end)},
          hint.CodeToInsert};
}

// The expansion stack of a location, outermost macro last, in clang's order.
std::vector<Diagnostic> macros_around(const clang::SourceManager &sources,
                                      const clang::LangOptions &language,
                                      clang::SourceLocation at) {
  std::vector<Diagnostic> notes;
  for (; at.isMacroID(); at = sources.getImmediateMacroCallerLoc(at)) {
    llvm::StringRef macro =
        clang::Lexer::getImmediateMacroNameForDiagnostics(at, sources, language);
    clang::SourceLocation spelled = sources.getSpellingLoc(at);
    if (!macro.empty())
      notes.push_back({.severity = Severity::note,
                       .name = std::string(preprocessor_diagnostic),
                       .text = "expanded from macro '" + macro.str() + "'",
                       .at = span_of(sources, language, spelled, spelled),
                       .drawn = ""});
  }
  return notes;
}

// Per source. Without this limit, a source can cause one warning per character.
constexpr unsigned max_warnings = 100;

// clang's printer that also records each message as a Diagnostic for tools. It stops after
// max_errors errors. After max_warnings warnings it prints only errors.
class Recorder : public clang::TextDiagnosticPrinter {
public:
  Recorder(std::string &text, llvm::raw_ostream &out, clang::DiagnosticOptions &clang_options,
           const clang::LangOptions &language, DiagnosticOptions options)
      : TextDiagnosticPrinter(out, clang_options), text_(text), out_(out), language_(language),
        options_(std::move(options)) {}

  /// Says that the next message is this TritonC message, not one of clang.
  void expect(Message id) { expected_ = id; }

  void HandleDiagnostic(clang::DiagnosticsEngine::Level level,
                        const clang::Diagnostic &diagnostic) override {
    bool is_note = level == clang::DiagnosticsEngine::Note;
    if (stopped_ || (is_note && is_unwanted_))
      return;
    if (level == clang::DiagnosticsEngine::Warning && getNumWarnings() == max_warnings)
      return drop_warning();
    Diagnostic made = describe(level, diagnostic);
    is_unwanted_ = !is_note && !options_.wants(made);
    if (is_unwanted_)
      return;
    if (made.severity == Severity::error && options_.max_errors > 0 &&
        int(getNumErrors()) == options_.max_errors) {
      stopped_ = true;
      Diagnostic note =
          tritonc::diagnostic(Message::too_many_errors, {std::to_string(options_.max_errors)});
      out_ << note.drawn;
      add_note(diagnostics_.back(), std::move(note));
      return;
    }
    size_t before = text_.size();
    TextDiagnosticPrinter::HandleDiagnostic(level, diagnostic);
    made.drawn = text_.substr(before);
    if (!is_note)
      diagnostics_.push_back(std::move(made));
    else if (!diagnostics_.empty())
      add_note(diagnostics_.back(), std::move(made));
  }

  const std::vector<Diagnostic> &diagnostics() const { return diagnostics_; }

private:
  // Drops the warning without reading its location: finding the column costs time proportional to
  // the length of the line.
  void drop_warning() {
    expected_.reset();
    is_unwanted_ = true;
    if (drops_warnings_)
      return;
    drops_warnings_ = true;
    Diagnostic note = diagnostic(Message::too_many_warnings, {std::to_string(max_warnings)});
    out_ << note.drawn;
    add_note(diagnostics_.back(), std::move(note));
  }

  Diagnostic describe(clang::DiagnosticsEngine::Level level, const clang::Diagnostic &diagnostic) {
    Diagnostic made;
    made.severity = level == clang::DiagnosticsEngine::Note      ? Severity::note
                    : level == clang::DiagnosticsEngine::Warning ? Severity::warning
                                                                 : Severity::error;
    llvm::SmallString<128> text;
    diagnostic.FormatDiagnostic(text);
    made.text = text.str().str();
    bool is_ours = expected_.has_value();
    if (is_ours) {
      made.name = hyphenated(*expected_);
      if (std::string option = option_text(made); llvm::StringRef(made.text).ends_with(option))
        made.text.resize(made.text.size() - option.size());
    } else {
      llvm::StringRef option =
          diagnostic.getDiags()->getDiagnosticIDs()->getWarningOptionForDiag(diagnostic.getID());
      made.name = option.empty() ? std::string(preprocessor_diagnostic) : option.str();
    }
    expected_.reset();
    if (!diagnostic.hasSourceManager() || diagnostic.getLocation().isInvalid())
      return made;
    const clang::SourceManager &sources = diagnostic.getSourceManager();
    made.at = span_at(sources, language_, diagnostic.getLocation());
    for (const clang::CharSourceRange &range : diagnostic.getRanges()) {
      clang::SourceLocation first = sources.getExpansionLoc(range.getBegin());
      clang::SourceLocation last = sources.getExpansionRange(range.getEnd()).getEnd();
      if (sources.getFileID(first) == sources.getFileID(last))
        made.marks.push_back(span_of(sources, language_, first, last));
    }
    if (is_ours)
      for (const clang::FixItHint &hint : diagnostic.getFixItHints())
        made.fix.push_back(replacement_of(sources, hint));
    made.notes = macros_around(sources, language_, diagnostic.getLocation());
    return made;
  }

  std::string &text_;
  llvm::raw_ostream &out_;
  const clang::LangOptions &language_;
  DiagnosticOptions options_;
  std::optional<Message> expected_;
  std::vector<Diagnostic> diagnostics_;
  bool stopped_ = false, is_unwanted_ = false, drops_warnings_ = false;
};

clang::SourceLocation clang_location(Location at) {
  return clang::SourceLocation::getFromRawEncoding(at.id);
}

// Converts an edit to a clang fix-it with a character range. Returns nullopt for a location inside
// a macro.
std::optional<clang::FixItHint> hint_of(const clang::SourceManager &sources,
                                        const clang::LangOptions &language, const Edit &edit) {
  clang::SourceLocation first = clang_location(edit.at.begin), last = clang_location(edit.at.end);
  if (!first.isFileID() || !last.isFileID() || first.isInvalid() || last.isInvalid() ||
      sources.getFileID(first) != sources.getFileID(last))
    return std::nullopt;
  int bytes =
      edit.bytes > 0 ? edit.bytes : int(clang::Lexer::MeasureTokenLength(last, sources, language));
  clang::SourceLocation end = last.getLocWithOffset(bytes);
  if (edit.where == Edit::Where::after)
    first = end;
  if (edit.where == Edit::Where::before)
    end = first;
  clang::FixItHint hint;
  hint.RemoveRange = clang::CharSourceRange::getCharRange(first, end);
  hint.CodeToInsert = edit.text;
  return hint;
}

// The tokens of C23 plus `@`, which clang's lexer accepts only for Objective-C.
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

std::string_view name_of(Severity severity) {
  constexpr std::array<std::string_view, 3> names = {"note", "warning", "error"};
  return names[size_t(severity)];
}

Diagnostic diagnostic(Message id, const std::vector<std::string> &arguments) {
  Diagnostic made = {.severity = severity_of(id),
                     .name = hyphenated(id),
                     .text = fill_in(info(id).text, arguments),
                     .drawn = ""};
  made.drawn = std::string(name_of(made.severity)) + ": " + made.text + option_text(made) + "\n";
  return made;
}

std::string message(Message id, const std::vector<std::string> &arguments) {
  std::string line = diagnostic(id, arguments).drawn;
  line.pop_back();
  return line;
}

void add_note(Diagnostic &message, Diagnostic note) {
  message.drawn += note.drawn;
  message.notes.push_back(std::move(note));
}

void DiagnosticList::add(Diagnostic message) {
  diagnostics_text += message.drawn;
  diagnostics.push_back(std::move(message));
}

bool DiagnosticOptions::wants(const Diagnostic &message) const {
  return message.severity != Severity::warning ||
         (!no_warnings && !llvm::is_contained(off, message.name));
}

bool DiagnosticOptions::is_error(const Diagnostic &message) const {
  return message.severity == Severity::warning && llvm::is_contained(errors, message.name);
}

std::vector<std::string> warning_names() {
  std::vector<std::string> names;
  for (size_t i = 0; i < std::size(message_infos); i++)
    if (message_infos[i].severity == Severity::warning)
      names.push_back(hyphenated(Message(i)));
  llvm::sort(names);
  return names;
}

bool is_warning_name(const std::string &name) {
  // clang has a group without a name.
  return !name.empty() && (llvm::is_contained(warning_names(), name) ||
                           clang::DiagnosticIDs::getGroupForWarningOption(name).has_value());
}

struct DiagnosticEngine::Parts {
  explicit Parts(DiagnosticOptions wanted) : printer(text, out, options, language, wanted) {
    options.ShowPresumedLoc = true; // so that #line counts
    options.ShowOptionNames = true;
    for (const std::string &name : wanted.off)
      engine.setSeverityForGroup(clang::diag::Flavor::WarningOrError, name,
                                 clang::diag::Severity::Ignored);
  }

  clang::LangOptions language = triton_c();
  std::string text;
  llvm::raw_string_ostream out{text};
  clang::DiagnosticOptions options;
  Recorder printer;
  clang::DiagnosticsEngine engine{llvm::makeIntrusiveRefCnt<clang::DiagnosticIDs>(), options,
                                  &printer, /*ShouldOwnClient=*/false};
  clang::FileManager files{clang::FileSystemOptions(), regular_files()};
  clang::SourceManager sources{engine, files};
  Location last; // location of the last message
  std::array<unsigned, 3> ids = {
      engine.getCustomDiagID(clang::DiagnosticsEngine::Note, "%0"),
      engine.getCustomDiagID(clang::DiagnosticsEngine::Warning, "%0"),
      engine.getCustomDiagID(clang::DiagnosticsEngine::Error, "%0"),
  };
};

DiagnosticEngine::DiagnosticEngine(DiagnosticOptions options)
    : parts_(std::make_unique<Parts>(std::move(options))) {
  parts_->printer.BeginSourceFile(parts_->language, nullptr);
}
DiagnosticEngine::~DiagnosticEngine() = default;

void DiagnosticEngine::report(Message id, Location at, std::vector<std::string> arguments,
                              std::vector<Range> marks, std::vector<Edit> edits) {
  Diagnostic made = diagnostic(id, arguments);
  // If a note has the location of the previous message, do not show the source line again.
  bool is_shown = severity_of(id) == Severity::note && at.id == parts_->last.id && edits.empty();
  parts_->last = at;
  parts_->printer.expect(id);
  if (is_shown)
    at = {};
  clang::DiagnosticBuilder builder =
      parts_->engine.Report(clang_location(at), parts_->ids[size_t(severity_of(id))]);
  builder << made.text + option_text(made);
  for (const Range &mark : marks)
    if (mark.begin && mark.end)
      builder << clang::CharSourceRange::getTokenRange(clang_location(mark.begin),
                                                       clang_location(mark.end));
  std::vector<clang::FixItHint> hints;
  for (const Edit &edit : edits)
    if (auto hint = hint_of(parts_->sources, parts_->language, edit))
      hints.push_back(std::move(*hint));
  bool is_one_file = llvm::all_of(hints, [&](const clang::FixItHint &hint) {
    auto file_of = [&](const clang::FixItHint &one) {
      return parts_->sources.getFileID(one.RemoveRange.getBegin());
    };
    return file_of(hint) == file_of(hints[0]);
  });
  if (hints.size() == edits.size() && is_one_file)
    for (const clang::FixItHint &hint : hints)
      builder << hint;
}

int DiagnosticEngine::errors() const { return int(parts_->printer.getNumErrors()); }
int DiagnosticEngine::warnings() const { return int(parts_->printer.getNumWarnings()); }
std::string DiagnosticEngine::text() const { return parts_->text; }
const std::vector<Diagnostic> &DiagnosticEngine::diagnostics() const {
  return parts_->printer.diagnostics();
}

Location DiagnosticEngine::at(LineColumn place, const std::string &file_name) const {
  const clang::SourceManager &sources = parts_->sources;
  clang::OptionalFileEntryRef entry = parts_->files.getOptionalFileRef(file_name);
  clang::FileID file = entry ? sources.translateFile(*entry) : clang::FileID();
  if (file.isInvalid() || place.line <= 0 || place.column <= 0)
    return {};
  clang::SourceLocation found =
      sources.translateLineCol(file, unsigned(place.line), unsigned(place.column));
  Location at = {found.getRawEncoding()};
  bool is_there = line_column(at).line == place.line && file_of(at) == file_name;
  return is_there ? at : Location();
}

static clang::PresumedLoc presumed(const clang::SourceManager &sources, Location at) {
  return at ? sources.getPresumedLoc(sources.getExpansionLoc(clang_location(at)))
            : clang::PresumedLoc();
}

LineColumn DiagnosticEngine::line_column(Location at) const {
  clang::PresumedLoc place = presumed(parts_->sources, at);
  if (place.isInvalid())
    return {};
  return {int(place.getLine()), int(place.getColumn())};
}

std::string DiagnosticEngine::file_of(Location at) const {
  clang::PresumedLoc place = presumed(parts_->sources, at);
  return place.isInvalid() ? "" : place.getFilename();
}

std::string DiagnosticEngine::token_at(Location at) const {
  clang::SourceLocation place = clang_location(at);
  if (place.isInvalid() || !place.isFileID())
    return "";
  unsigned length = clang::Lexer::MeasureTokenLength(place, parts_->sources, parts_->language);
  return std::string(parts_->sources.getCharacterData(place), length);
}

std::string DiagnosticEngine::text_at(Range range) const {
  const clang::SourceManager &sources = parts_->sources;
  if (!range.begin || !range.end)
    return "";
  clang::SourceLocation first = sources.getExpansionLoc(clang_location(range.begin));
  clang::SourceLocation last = sources.getExpansionRange(clang_location(range.end)).getEnd();
  if (sources.getFileID(first) != sources.getFileID(last))
    return "";
  llvm::StringRef text = clang::Lexer::getSourceText(
      clang::CharSourceRange::getTokenRange(first, last), sources, parts_->language);
  std::string line;
  for (char c : text) {
    bool is_blank = llvm::isSpace(c);
    if (!is_blank || !llvm::StringRef(line).ends_with(" "))
      line += is_blank ? ' ' : c;
  }
  return line;
}

Location DiagnosticEngine::spelling(Location at) const {
  return {parts_->sources.getSpellingLoc(clang_location(at)).getRawEncoding()};
}

void DiagnosticEngine::set_silent(bool silent) { parts_->engine.setSuppressAllDiagnostics(silent); }

clang::DiagnosticsEngine &DiagnosticEngine::engine() { return parts_->engine; }
clang::FileManager &DiagnosticEngine::files() { return parts_->files; }
clang::SourceManager &DiagnosticEngine::sources() { return parts_->sources; }
const clang::LangOptions &DiagnosticEngine::options() { return parts_->language; }

} // namespace tritonc
