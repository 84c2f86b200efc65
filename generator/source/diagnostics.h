// Diagnostics: what we say about a source, with place, cause and remedy.
//
// All texts are in diagnostics.def. Messages about a place in a source are drawn by clang: caret,
// marked operands, and for a place inside a macro the way from the kernel into the macro. The other
// messages (command line, machine) have no place; `message` makes their text.
//
// Users need no header of clang's: a Location is opaque, and the source manager behind it is
// reached by the preprocessor alone.

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
#include "source/diagnostics.def"
};

Severity severity_of(Message id);
std::string_view name_of(Message id);
std::string_view name_of(Severity severity);

/// "error: ..." in one line, without the end of line. A warning ends with the option that it has:
/// "[-Wdivision-by-zero]".
std::string message(Message id, const std::vector<std::string> &arguments = {});

/// A place in a source, possibly inside a macro. Zero: nowhere.
struct Location {
  uint32_t id = 0;
  explicit operator bool() const { return id != 0; }
};

/// From the start of one token to the end of another.
struct Range {
  Location begin, end; // each at the start of its token
};

/// What to type to be rid of a message: a text instead of what stands from the start of one token
/// to the end of another, in front of a token, or behind one.
struct Edit {
  enum class Where : uint8_t { instead, before, behind };
  Range at;
  std::string text;
  Where where = Where::instead;
  int bytes = 0; // instead of so many from the start of the token; 0: of the whole token

  static Edit replace(Range range, std::string text) { return {range, std::move(text)}; }
  static Edit replace(Location token, std::string text) {
    return {{token, token}, std::move(text)};
  }
  static Edit erase(Location at, int bytes) { return {{at, at}, "", Where::instead, bytes}; }
  static Edit insert_before(Location token, std::string text) {
    return {{token, token}, std::move(text), Where::before};
  }
  static Edit insert_behind(Location token, std::string text) {
    return {{token, token}, std::move(text), Where::behind};
  }
};

/// The line and column a person would look at: for a place inside a macro, where it was used.
struct LineColumn {
  int line = 0, column = 0; // from 1; 0: nowhere
};

/// From one character of a file to another, for programs. Columns count characters, from 1; the
/// end is behind the last one.
struct Span {
  std::string file; // as it was opened; empty: nowhere
  int line = 0, column = 0, end_line = 0, end_column = 0;
};

/// An edit for programs: an empty span is a place to insert at.
struct Replacement {
  Span at;
  std::string text;
};

/// A message for programs: what `--diagnostics-format` writes.
struct Finding {
  Severity severity = Severity::error;
  std::string name; // "shapes-differ"; of a warning, what stands behind -W; of clang's, see below
  std::string text; // as in diagnostics.def, with its arguments
  Span at = {};
  std::vector<Span> marks = {};
  std::vector<Replacement> fix = {}; // all of them together
  std::vector<Finding> notes = {};   // the way through macros first
  std::string drawn;                 // the same for people, with the notes
};

/// The name of what clang's preprocessor says, where no option has one for it.
constexpr std::string_view preprocessor_finding = "preprocessor";

/// A message without a place.
Finding finding(Message id, const std::vector<std::string> &arguments = {});
/// Puts a note behind what a finding has.
void add_note(Finding &finding, Finding note);

/// What there is to say, for people and for programs.
struct Findings {
  std::vector<Finding> findings;
  std::string diagnostics; // all that is drawn

  void add(Finding finding);
};

/// Which warnings are wanted, and how many errors.
struct DiagnosticOptions {
  std::vector<std::string> off = {"bank-conflicts"}; // names of warnings
  std::vector<std::string> errors;                   // names of warnings that none shall be of
  bool no_warnings = false;                          // none at all
  int most_errors = 20;                              // what follows so many is rarely news; 0: all

  bool wants(const Finding &finding) const;
  /// Whether it is a warning of those in `errors`.
  bool is_error(const Finding &finding) const;
};

/// The names of all warnings of ours, and whether there is one of that name, or one of clang's.
std::vector<std::string> warning_names();
bool is_warning_name(const std::string &name);

class Diagnostics {
public:
  explicit Diagnostics(DiagnosticOptions options = {});
  ~Diagnostics();
  Diagnostics(const Diagnostics &) = delete;

  /// Reports at `at`, or without a place if there is none, and marks the ranges. Notes belong to
  /// the error or warning before them. The edits, all together, are what is certain to mend it; of
  /// a note, what does if the author wants it so. There are none inside of macros.
  void report(Message id, Location at, std::vector<std::string> arguments = {},
              std::vector<Range> marks = {}, std::vector<Edit> edits = {});

  int errors() const;
  int warnings() const;
  /// Everything reported so far, as the user will read it.
  std::string text() const;
  /// The same for programs.
  const std::vector<Finding> &findings() const;

  /// A place in the file of this name, if it has been opened; else nowhere.
  Location at(LineColumn place, const std::string &file) const;
  LineColumn line_column(Location at) const;
  /// The name of the file that `line_column` counts in, as it was opened; "" if there is none.
  std::string file_of(Location at) const;
  /// The token that is written there, in a file; "" if there is none.
  std::string token_at(Location at) const;
  /// Where the token itself is written: inside of a macro, in its definition.
  Location spelling(Location at) const;

  /// While silent, nothing is reported or counted.
  void set_silent(bool silent);

  /// For the preprocessor.
  clang::DiagnosticsEngine &engine();
  clang::FileManager &files();
  clang::SourceManager &sources();
  const clang::LangOptions &options();

private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

} // namespace tritonc
