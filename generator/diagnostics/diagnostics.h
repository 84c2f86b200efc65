// Diagnostics: errors, warnings and notes with their source location and fix.
//
// diagnostics.def contains all message texts. clang renders messages with a source location: the
// caret, the marked operands, and, for a location inside a macro, the expansion stack. Messages
// about the command line or the machine have no location; `message` returns their text.
//
// This header includes no clang header: a Location is opaque, and only the preprocessor uses
// clang's source manager.

#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace clang {
class DiagnosticsEngine;
class FileManager;
class LangOptions;
class SourceManager;
} // namespace clang

namespace tritonc {

enum class Severity : uint8_t { note, warning, error };

enum class Message : uint16_t {
#define MESSAGE(name, severity, text) name,
#include "diagnostics/diagnostics.def"
};

Severity severity_of(Message id);
std::string_view name_of(Message id);
std::string_view name_of(Severity severity);

/// "error: ..." in one line, without the newline. A warning ends with its option:
/// "[-Wdivision-by-zero]".
std::string message(Message id, const std::vector<std::string> &arguments = {});

/// A source location, possibly inside a macro. 0 = none.
struct Location {
  uint32_t id = 0;
  explicit operator bool() const { return id != 0; }
};

/// A source range, from the start of one token to the end of another token.
struct Range {
  Location begin, end; // start of the first token, start of the last token
};

/// A fix-it: replaces a range of tokens with a text, or inserts the text before or after a token.
struct Edit {
  enum class Where : uint8_t { instead, before, after };
  Range at;
  std::string text;
  Where where = Where::instead;
  int bytes = 0; // bytes to replace from the start of the token; 0 = the whole token

  static Edit replace(Range range, std::string text) { return {range, std::move(text)}; }
  static Edit replace(Location token, std::string text) {
    return {{token, token}, std::move(text)};
  }
  static Edit erase(Location at, int bytes) { return {{at, at}, "", Where::instead, bytes}; }
  static Edit insert_before(Location token, std::string text) {
    return {{token, token}, std::move(text), Where::before};
  }
  static Edit insert_behind(Location token, std::string text) {
    return {{token, token}, std::move(text), Where::after};
  }
};

/// The line and column to show to the user: for a location inside a macro, where the macro is used.
struct LineColumn {
  int line = 0, column = 0; // 1-based; 0 = none
};

/// A range of characters in a file, for tools. Columns are 1-based and count characters. The end is
/// exclusive.
struct Span {
  std::string file; // name as opened; empty = none
  int line = 0, column = 0, end_line = 0, end_column = 0;
};

/// A fix-it for tools. An empty span means an insertion.
struct Replacement {
  Span at;
  std::string text;
};

/// A message for tools; `--diagnostics-format` prints it.
struct Diagnostic {
  Severity severity = Severity::error;
  std::string name; // "shapes-differ"; warning: its -W name; clang's messages: see below
  std::string text; // text of diagnostics.def with its arguments filled in
  Span at = {};
  std::vector<Span> marks = {};
  std::vector<Replacement> fix = {};  // apply all together
  std::vector<Diagnostic> notes = {}; // macro expansion stack first
  std::string drawn;                  // rendered text, including the notes
};

/// The name of a message of clang's preprocessor that has no warning option.
constexpr std::string_view preprocessor_diagnostic = "preprocessor";

/// Makes a message without a location.
Diagnostic diagnostic(Message id, const std::vector<std::string> &arguments = {});
/// Appends a note to a diagnostic.
void add_note(Diagnostic &message, Diagnostic note);

/// All messages, for users and for tools.
struct DiagnosticList {
  std::vector<Diagnostic> diagnostics;
  std::string diagnostics_text; // all diagnostics, rendered

  void add(Diagnostic message);
};

/// Which warnings to report, and the max number of errors.
struct DiagnosticOptions {
  std::vector<std::string> off = {"bank-conflicts", "fallback-schedule",
                                  "variant-left-out"}; // names of disabled warnings
  std::vector<std::string> errors;                     // names of warnings to treat as errors
  bool no_warnings = false;                            // disables all warnings
  int max_errors = 20; // later errors are rarely useful; 0 = no limit

  bool wants(const Diagnostic &message) const;
  /// Whether the message is a warning listed in `errors`.
  bool is_error(const Diagnostic &message) const;
};

/// The names of all TritonC warnings.
std::vector<std::string> warning_names();
/// Whether TritonC or clang has a warning of this name.
bool is_warning_name(const std::string &name);

class DiagnosticEngine {
public:
  explicit DiagnosticEngine(DiagnosticOptions options = {});
  ~DiagnosticEngine();
  DiagnosticEngine(const DiagnosticEngine &) = delete;

  /// Reports a message at `at` and marks the ranges. A zero `at` means no location. A note belongs
  /// to the error or warning before it. The edits of an error or warning, applied together,
  /// certainly fix it. The edits of a note fix it only if the user means that. DiagnosticEngine drops
  /// edits inside macros.
  void report(Message id, Location at, std::vector<std::string> arguments = {},
              std::vector<Range> marks = {}, std::vector<Edit> edits = {});

  int errors() const;
  int warnings() const;
  /// Everything reported so far, as rendered text.
  std::string text() const;
  /// Everything reported so far, for tools.
  const std::vector<Diagnostic> &diagnostics() const;

  /// The location of a line and column in an opened file; an empty location if the file is not
  /// open.
  Location at(LineColumn place, const std::string &file) const;
  LineColumn line_column(Location at) const;
  /// The name, as opened, of the file that line_column() refers to; "" if none.
  std::string file_of(Location at) const;
  /// The token in the file at this location; "" if the location is inside a macro.
  std::string token_at(Location at) const;
  /// The text of the file in this range, in one line. For a location inside a macro, the text has
  /// the use of the macro. "" if the range is in several files.
  std::string text_at(Range range) const;
  /// Where the source spells the token: for a location inside a macro, in the macro's definition.
  Location spelling(Location at) const;

  /// While silent, drops all messages and does not count them.
  void set_silent(bool silent);

  /// Only for the preprocessor.
  clang::DiagnosticsEngine &engine();
  clang::FileManager &files();
  clang::SourceManager &sources();
  const clang::LangOptions &options();

private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

} // namespace tritonc
