// Runs clang's preprocessor and converts its tokens. See preprocessor.h. In generator/language,
// only this file and macro_limits.{h,cpp} use clang.
//
// Tested by tests/unit/language/preprocessor_test.cpp.

#include "language/preprocessor.h"

#include "diagnostics/source_file.h"
#include "language/macro_limits.h"
#include "language/pragma_words.h"
#include "language/spelling.h"

#include "clang/Basic/FileManager.h"
#include "clang/Basic/LangOptions.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Basic/TargetInfo.h"
#include "clang/Basic/TargetOptions.h"
#include "clang/Lex/HeaderSearch.h"
#include "clang/Lex/HeaderSearchOptions.h"
#include "clang/Lex/MacroInfo.h"
#include "clang/Lex/ModuleLoader.h"
#include "clang/Lex/Pragma.h"
#include "clang/Lex/Preprocessor.h"
#include "clang/Lex/PreprocessorOptions.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <unordered_map>

namespace tritonc {
namespace {

constexpr size_t max_tokens = 1 << 20;

Location location_of(clang::SourceLocation at) { return {at.getRawEncoding()}; }

// Converts clang's tokens to Token.
class TokenWriter {
public:
  TokenWriter(clang::Preprocessor &pp, Preprocessed &out, DiagnosticEngine &diagnostics)
      : pp_(pp), out_(out), diagnostics_(diagnostics) {}

  void write(const clang::Token &token) {
    if (token.isAnnotation())
      return;
    Token made;
    made.spaced = token.hasLeadingSpace() || token.isAtStartOfLine();
    made.at = location_of(token.getLocation());
    if (const char *text = clang::tok::getPunctuatorSpelling(token.getKind())) {
      made.kind = TokenKind::punctuator;
      made.spelling = text;
    } else {
      made.kind = kind_of(token);
      made.spelling = keep(pp_.getSpelling(token));
    }
    if (token.is(clang::tok::unknown)) {
      made.kind = TokenKind::stray;
      diagnostics_.report(Message::stray_character, made.at, {std::string(made.spelling)});
      diagnostics_.report(Message::ascii_only, made.at);
    }
    out_.tokens.push_back(made);
  }

  size_t written() const { return out_.tokens.size(); }
  void take_back(size_t written) {
    out_.tokens.resize(written);
    while (!out_.empty_macros.empty() && out_.empty_macros.back().token > written)
      out_.empty_macros.pop_back();
  }

  /// Records an empty macro before the next token.
  void write_empty_macro(Location at, std::string name, bool is_define) {
    constexpr size_t max_per_token = 4; // more would not help the user
    std::vector<EmptyMacro> &macros = out_.empty_macros;
    bool is_full =
        macros.size() >= max_per_token && macros[macros.size() - max_per_token].token == written();
    bool is_known = !macros.empty() && macros.back().at.id == at.id; // an argument, expanded again
    if (!is_full && !is_known)
      macros.push_back({written(), at, std::move(name), is_define});
  }

  void write_pragma(Location at, std::string name) {
    out_.tokens.push_back({TokenKind::pragma, true, at, keep(std::move(name))});
  }

private:
  static TokenKind kind_of(const clang::Token &token) {
    if (token.getIdentifierInfo())
      return TokenKind::identifier;
    if (token.is(clang::tok::numeric_constant))
      return TokenKind::number;
    if (clang::tok::isStringLiteral(token.getKind()))
      return TokenKind::string;
    return TokenKind::character;
  }

  // Stores each spelling once, because most tokens repeat a few names.
  std::string_view keep(std::string text) {
    auto found = kept_.find(text);
    if (found != kept_.end())
      return found->second;
    std::string_view view = out_.spellings.emplace_back(std::move(text));
    kept_.emplace(view, view);
    return view;
  }

  clang::Preprocessor &pp_;
  Preprocessed &out_;
  DiagnosticEngine &diagnostics_;
  std::unordered_map<std::string_view, std::string_view> kept_;
};

// Records the expansions of macros with an empty value, which may cause an error at the next token.
class EmptyMacros : public clang::PPCallbacks {
public:
  EmptyMacros(clang::Preprocessor &pp, TokenWriter &writer) : pp_(pp), writer_(writer) {}

  void MacroExpands(const clang::Token &name, const clang::MacroDefinition &definition,
                    clang::SourceRange, const clang::MacroArgs *) override {
    const clang::MacroInfo *macro = definition.getMacroInfo();
    if (!macro || macro->isBuiltinMacro() || macro->getNumTokens() > 0)
      return;
    writer_.write_empty_macro(
        location_of(name.getLocation()), pp_.getSpelling(name),
        pp_.getSourceManager().isWrittenInCommandLineFile(macro->getDefinitionLoc()));
  }

private:
  clang::Preprocessor &pp_;
  TokenWriter &writer_;
};

// Handles `#pragma tritonc clause(...) clause(...)`: writes the tokens of the clauses in place of
// the pragma.
class TritonCPragma : public clang::PragmaHandler {
public:
  TritonCPragma(TokenWriter &writer, DiagnosticEngine &diagnostics)
      : PragmaHandler("tritonc"), writer_(writer), diagnostics_(diagnostics) {}

  /// Starts the command line's text, whose grid replaces the grids of the source.
  void enter_host() { in_host_ = true; }

  void HandlePragma(clang::Preprocessor &pp, clang::PragmaIntroducer,
                    clang::Token &first) override {
    clang::Token name;
    pp.LexUnexpandedToken(name);
    if (name.is(clang::tok::eod))
      return unknown(location_of(first.getLocation()), "");
    while (name.isNot(clang::tok::eod)) {
      if (!clause(pp, name))
        return;
      pp.LexUnexpandedToken(name);
    }
  }

private:
  void unknown(Location at, const std::string &name) {
    std::vector<Edit> edits;
    std::vector<std::string_view> words;
    for (const PragmaWord &row : pragma_words)
      words.push_back(row.word);
    if (auto meant = nearest(name, words))
      edits = {Edit::replace(at, std::string(*meant))};
    diagnostics_.report(Message::unknown_pragma, at, {name}, {}, std::move(edits));
    diagnostics_.report(Message::known_pragmas, at);
  }

  bool clause(clang::Preprocessor &pp, const clang::Token &name) {
    std::string spelling = pp.getSpelling(name);
    bool is_axis = spelling == "variant" || spelling == "tune";
    Location at = location_of(name.getLocation());
    std::optional<PragmaWord> word = pragma_word(spelling);
    if (!word) {
      unknown(at, spelling);
      return false;
    }
    clang::Token token;
    pp.LexUnexpandedToken(token);
    if (token.isNot(clang::tok::l_paren)) {
      bool is_end = token.is(clang::tok::eod);
      Location found = is_end ? at : location_of(token.getLocation());
      diagnostics_.report(Message::expected, found,
                          {"`(` after `" + spelling + "`",
                           is_end ? "the end of the line" : "`" + pp.getSpelling(token) + "`"});
      diagnostics_.report(Message::write_pragma, found, {std::string(word->example)});
      return false;
    }
    size_t before = writer_.written();
    writer_.write_pragma(location_of(name.getLocation()), in_host_ ? "host_grid" : spelling);
    writer_.write(token);
    for (int depth = 1; depth > 0;) {
      is_axis ? pp.LexUnexpandedToken(token) : pp.Lex(token);
      if (token.is(clang::tok::eod)) {
        diagnostics_.report(Message::unclosed_pragma, at, {spelling});
        diagnostics_.report(Message::continue_line, at);
        writer_.take_back(before);
        return false;
      }
      depth += token.is(clang::tok::l_paren) - token.is(clang::tok::r_paren);
      writer_.write(token);
    }
    return true;
  }

  TokenWriter &writer_;
  DiagnosticEngine &diagnostics_;
  bool in_host_ = false;
};

constexpr int max_includes = 64; // nesting depth

// Finds the first invisible character that makes a source mean something else than it shows: a
// bidirectional control, a zero-width character or NUL. Returns nullopt if the text has none.
struct UnseenCharacter {
  size_t offset;
  unsigned code;
  int bytes;
};
std::optional<UnseenCharacter> find_unseen(llvm::StringRef text) {
  auto is_unseen = [](unsigned code) {
    return code == 0x061c || (code >= 0x200b && code <= 0x200f) ||
           (code >= 0x202a && code <= 0x202e) || (code >= 0x2060 && code <= 0x2069) ||
           code == 0xfeff;
  };
  for (size_t i = text.starts_with("\xef\xbb\xbf") ? 3 : 0; i < text.size(); i++) {
    auto byte = [&](size_t j) { return j < text.size() ? unsigned((unsigned char)text[j]) : 0; };
    unsigned lead = byte(i), code = ~0u;
    int bytes = (lead & 0xf0) == 0xe0 ? 3 : 2;
    if (lead == 0)
      return UnseenCharacter{i, 0, 1};
    if ((lead & 0xe0) == 0xc0)
      code = (lead & 0x1f) << 6 | (byte(i + 1) & 0x3f);
    else if ((lead & 0xf0) == 0xe0)
      code = (lead & 0x0f) << 12 | (byte(i + 1) & 0x3f) << 6 | (byte(i + 2) & 0x3f);
    if (is_unseen(code))
      return UnseenCharacter{i, code, bytes};
  }
  return std::nullopt;
}

// Standard and CUDA headers that a kernel does not need; the language has their contents built in.
bool is_needless(llvm::StringRef header) {
  constexpr llvm::StringRef headers[] = {
      "cuda.h",      "cuda_runtime.h", "cuda_fp16.h",     "cuda_bf16.h",
      "cuda_fp8.h",  "mma.h",          "math.h",          "stdio.h",
      "stdlib.h",    "stdint.h",       "stddef.h",        "stdbool.h",
      "assert.h",    "limits.h",       "float.h",         "string.h",
      "cmath",       "cstdio",         "cstdint",         "algorithm",
      "type_traits", "triton.h",       "curand_kernel.h", "device_launch_parameters.h"};
  return llvm::is_contained(headers, header);
}

// Warns about a misspelled `#pragma tritonc`, which C would silently ignore.
class UnknownPragma : public clang::PragmaHandler {
public:
  explicit UnknownPragma(DiagnosticEngine &diagnostics) : diagnostics_(diagnostics) {}

  void HandlePragma(clang::Preprocessor &pp, clang::PragmaIntroducer, clang::Token &name) override {
    std::string spelling = pp.getSpelling(name);
    if (!is_misspelt(spelling, "tritonc"))
      return;
    Location at = location_of(name.getLocation());
    diagnostics_.report(Message::similar_pragma, at, {spelling});
    diagnostics_.report(Message::similar_word, at, {"tritonc"}, {}, {Edit::replace(at, "tritonc")});
  }

private:
  DiagnosticEngine &diagnostics_;
};

// Records the opened files. Stops at files that include themselves and at invisible characters, and
// suppresses all later messages.
class FileCollector : public clang::PPCallbacks {
public:
  FileCollector(clang::SourceManager &sources, std::vector<std::string> &files,
                DiagnosticEngine &diagnostics, bool &has_stopped)
      : sources_(sources), files_(files), diagnostics_(diagnostics), has_stopped_(has_stopped) {}

  void LexedFileChanged(clang::FileID file, LexedFileChangeReason reason,
                        clang::SrcMgr::CharacteristicKind, clang::FileID,
                        clang::SourceLocation at) override {
    depth_ += reason == LexedFileChangeReason::EnterFile ? 1 : -1;
    if (reason != LexedFileChangeReason::EnterFile)
      return;
    if (clang::OptionalFileEntryRef entry = sources_.getFileEntryRefForID(file))
      add(entry->getName().str());
    if (depth_ > max_includes)
      return stop(Message::include_too_deep, location_of(at), {std::to_string(max_includes)});
    if (std::optional<UnseenCharacter> unseen = find_unseen(sources_.getBufferData(file))) {
      clang::SourceLocation start = sources_.getLocForStartOfFile(file);
      stop(Message::unseen_character, location_of(start.getLocWithOffset(int(unseen->offset))),
           {llvm::formatv("{0:X-4}", unseen->code).str()}, unseen->bytes);
    }
  }

  bool FileNotFound(clang::StringRef name) override { return is_needless(name); }

  void InclusionDirective(clang::SourceLocation hash, const clang::Token &, clang::StringRef name,
                          bool, clang::CharSourceRange range, clang::OptionalFileEntryRef file,
                          clang::StringRef, clang::StringRef, const clang::Module *, bool,
                          clang::SrcMgr::CharacteristicKind) override {
    if (file || !is_needless(name))
      return;
    Location at = location_of(range.getBegin());
    diagnostics_.report(Message::foreign_word, at, {name.str()});
    diagnostics_.report(Message::no_headers, location_of(hash));
  }

  void EmbedDirective(clang::SourceLocation, clang::StringRef, bool,
                      clang::OptionalFileEntryRef file,
                      const clang::LexEmbedParametersResult &) override {
    if (file)
      add(file->getName().str());
  }

private:
  void stop(Message id, Location at, std::vector<std::string> arguments, int unseen_bytes = 0) {
    if (has_stopped_)
      return;
    std::vector<Edit> edits;
    if (unseen_bytes > 0)
      edits = {Edit::erase(at, unseen_bytes)};
    diagnostics_.report(id, at, std::move(arguments), {}, std::move(edits));
    diagnostics_.report(
        id == Message::unseen_character ? Message::take_it_out : Message::include_once, at);
    diagnostics_.set_silent(true);
    has_stopped_ = true;
  }

  void add(std::string name) {
    if (std::find(files_.begin(), files_.end(), name) == files_.end())
      files_.push_back(std::move(name));
  }

  clang::SourceManager &sources_;
  std::vector<std::string> &files_;
  DiagnosticEngine &diagnostics_;
  bool &has_stopped_;
  int depth_ = 0;
};

bool is_macro_name(const std::string &name) {
  auto is_letter = [](char c) { return isalpha((unsigned char)c) || c == '_'; };
  if (name.empty() || !is_letter(name[0]) || name == "defined")
    return false;
  return std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_letter(c) || isdigit((unsigned char)c); });
}

// The command line's macros as source text. A newline in a value would end its `#define`, so it
// becomes a blank. A backslash at the end of a value would join the next line, so `/**/` follows
// it.
std::string predefines(const FrontEndInput &input, DiagnosticEngine &diagnostics) {
  std::string text = "#define __TRITONC__ 1\n"
                     "#define __STDC__ 1\n"
                     "#define __STDC_VERSION__ 202311L\n"
                     "# 1 \"<command line>\" 1\n";
  for (const Define &define : input.defines) {
    if (!is_macro_name(define.name)) {
      diagnostics.report(Message::bad_define, {}, {define.name});
      continue;
    }
    std::string value = define.value;
    std::replace(value.begin(), value.end(), '\n', ' ');
    std::replace(value.begin(), value.end(), '\r', ' ');
    if (!llvm::StringRef(value).rtrim().empty() && llvm::StringRef(value).rtrim().back() == '\\')
      value += "/**/";
    text += "#define " + define.name + " " + value + "\n";
  }
  return text + "# 1 \"<built-in>\" 2\n";
}

void add_include_dirs(clang::HeaderSearch &search, clang::FileManager &files,
                      const std::vector<std::string> &paths) {
  std::vector<clang::DirectoryLookup> lookups;
  for (const std::string &path : paths)
    if (clang::OptionalDirectoryEntryRef dir = files.getOptionalDirectoryRef(path))
      lookups.emplace_back(*dir, clang::SrcMgr::C_User, /*isFramework=*/false);
  unsigned count = unsigned(lookups.size());
  search.SetSearchPaths(std::move(lookups), /*angledDirIdx=*/0, /*systemDirIdx=*/count,
                        llvm::DenseMap<unsigned, unsigned>());
}

// Opens the source as the main file. Reports an error and returns false if it cannot read the file.
bool open_main_file(const std::string &path, DiagnosticEngine &diagnostics) {
  FileProblem problem = problem_with(path);
  if (!problem.kind.empty())
    diagnostics.report(Message::not_a_regular_file, {}, {path, problem.kind});
  else if (problem.is_too_large)
    diagnostics.report(Message::file_too_large, {}, {path, std::to_string(max_source_bytes >> 20)});
  else if (problem)
    diagnostics.report(Message::cannot_read, {}, {path, problem.error});
  if (problem)
    return false;
  clang::SourceManager &sources = diagnostics.sources();
  clang::Expected<clang::FileEntryRef> file = diagnostics.files().getFileRef(path, true);
  if (!file) {
    std::error_code error = llvm::errorToErrorCode(file.takeError());
    diagnostics.report(Message::cannot_read, {}, {path, error.message()});
    return false;
  }
  sources.setMainFileID(sources.createFileID(*file, {}, clang::SrcMgr::C_User));
  return true;
}

// Appends the command line's grid as a pragma after the source, so it can use the source's macros.
void enter_grid(clang::Preprocessor &pp, clang::SourceManager &sources, const std::string &grid) {
  std::string text = "#pragma tritonc grid(" + grid + ")\n";
  std::replace(text.begin(), text.end() - 1, '\n', ' ');
  clang::FileID file = sources.createFileID(
      llvm::MemoryBuffer::getMemBufferCopy(text, "<command line>"), clang::SrcMgr::C_User);
  pp.EnterSourceFile(file, nullptr, {});
}

// The command line's macros that neither the source nor the grid uses.
std::vector<std::string> unused_macros(clang::Preprocessor &pp,
                                       const std::vector<Define> &defines) {
  std::vector<std::string> names;
  for (const Define &define : defines) {
    const clang::MacroInfo *macro = pp.getMacroInfo(pp.getIdentifierInfo(define.name));
    if (macro && !macro->isUsed())
      names.push_back(define.name);
  }
  return names;
}

// Reads all tokens. Reports an error if the source has too many tokens.
void lex_all(clang::Preprocessor &pp, TokenWriter &writer, DiagnosticEngine &diagnostics,
             bool &exceeded) {
  clang::Token token;
  for (pp.Lex(token); token.isNot(clang::tok::eof) && !exceeded; pp.Lex(token)) {
    writer.write(token);
    if (writer.written() <= max_tokens)
      continue;
    diagnostics.report(Message::too_many_tokens, location_of(token.getLocation()),
                       {std::to_string(max_tokens)});
    exceeded = true;
  }
}

} // namespace

Preprocessed preprocess(const FrontEndInput &input, DiagnosticEngine &diagnostics, bool quiet) {
  Preprocessed out;
  clang::DiagnosticsEngine &engine = diagnostics.engine();
  clang::SourceManager &sources = diagnostics.sources();
  const clang::LangOptions &options = diagnostics.options();
  if (!open_main_file(input.path, diagnostics)) {
    out.tokens.push_back({});
    return out;
  }
  diagnostics.set_silent(quiet);

  clang::TargetOptions target_options;
  target_options.Triple = "nvptx64-nvidia-cuda";
  std::unique_ptr<clang::TargetInfo> target(
      clang::TargetInfo::CreateTargetInfo(engine, target_options));
  clang::HeaderSearchOptions search_options;
  clang::HeaderSearch search(search_options, sources, engine, options, target.get());
  add_include_dirs(search, diagnostics.files(), input.include_dirs);
  clang::TrivialModuleLoader modules;
  clang::PreprocessorOptions preprocessor_options;
  clang::Preprocessor pp(preprocessor_options, engine, options, sources, search, modules);
  pp.Initialize(*target);
  pp.setPredefines(predefines(input, diagnostics));
  pp.addPPCallbacks(
      std::make_unique<FileCollector>(sources, out.files, diagnostics, out.is_too_much));
  pp.addPPCallbacks(std::make_unique<MacroLimits>(pp, diagnostics, out.is_too_much));
  TokenWriter writer(pp, out, diagnostics);
  pp.addPPCallbacks(std::make_unique<EmptyMacros>(pp, writer));
  auto *pragmas = new TritonCPragma(writer, diagnostics); // the preprocessor frees it
  pp.AddPragmaHandler(pragmas);
  pp.AddPragmaHandler(new UnknownPragma(diagnostics)); // for pragmas without a handler
  pp.EnterMainSourceFile();
  pp.enableIncrementalProcessing(); // the grid may follow the main file
  lex_all(pp, writer, diagnostics, out.is_too_much);
  clang::SourceLocation end = sources.getLocForEndOfFile(sources.getMainFileID());
  if (!input.grid.empty() && !out.is_too_much) {
    pragmas->enter_host();
    enter_grid(pp, sources, input.grid);
    lex_all(pp, writer, diagnostics, out.is_too_much);
  }
  out.tokens.push_back({TokenKind::end, true, location_of(end), {}});
  out.unused_macros = unused_macros(pp, input.defines);
  diagnostics.set_silent(false);
  return out;
}

} // namespace tritonc
