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

/// "error: ..." in one line, without the end of line.
std::string message(Message id, std::initializer_list<std::string> arguments = {});

/// A place in a source, possibly inside a macro. Zero: nowhere.
struct Location {
  uint32_t id = 0;
  explicit operator bool() const { return id != 0; }
};

/// From the start of one token to the end of another.
struct Range {
  Location begin, end; // each at the start of its token
};

/// The line and column a person would look at: for a place inside a macro, where it was used.
struct LineColumn {
  int line = 0, column = 0; // from 1; 0: nowhere
};

class Diagnostics {
public:
  Diagnostics();
  ~Diagnostics();
  Diagnostics(const Diagnostics &) = delete;

  /// Reports at `at`, or without a place if there is none, and marks the ranges. Notes belong to
  /// the error or warning before them.
  void report(Message id, Location at, std::vector<std::string> arguments = {},
              std::vector<Range> marks = {});

  int errors() const;
  int warnings() const;
  /// Everything reported so far, as the user will read it.
  std::string text() const;

  LineColumn line_column(Location at) const;
  /// The name of the file that `line_column` counts in, as it was opened; "" if there is none.
  std::string file_of(Location at) const;
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
