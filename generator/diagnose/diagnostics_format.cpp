// Writes diagnostics as JSON or SARIF. See diagnostics_format.h.
//
// Tested by tests/unit/diagnose/diagnostics_format_test.cpp.

#include "diagnose/diagnostics_format.h"

#include "support/version.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <filesystem>

namespace tritonc {
namespace {

namespace json = llvm::json;

// JSON requires UTF-8, but file names and tokens may be invalid UTF-8.
std::string utf8(const std::string &text) { return json::fixUTF8(text); }

std::string document(json::Value value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::formatv("{0:2}", std::move(value)) << "\n";
  return text;
}

// --- JSON ----------------------------------------------------------------------------------------

json::Object span_json(const Span &span) {
  return json::Object{{"file", utf8(span.file)},
                      {"line", span.line},
                      {"column", span.column},
                      {"end_line", span.end_line},
                      {"end_column", span.end_column}};
}

json::Array fix_json(const Diagnostic &message) {
  json::Array edits;
  for (const Replacement &edit : message.fix)
    edits.push_back(json::Object{{"at", span_json(edit.at)}, {"text", utf8(edit.text)}});
  return edits;
}

json::Object diagnostic_json(const Diagnostic &message) {
  json::Object object{{"severity", std::string(name_of(message.severity))},
                      {"id", message.name},
                      {"message", utf8(message.text)}};
  if (message.severity == Severity::warning)
    object["option"] = "-W" + message.name;
  if (message.at.line > 0)
    object["at"] = span_json(message.at);
  if (message.severity != Severity::note)
    object["text"] = utf8(message.drawn);
  json::Array marks, notes;
  for (const Span &mark : message.marks)
    marks.push_back(span_json(mark));
  for (const Diagnostic &note : message.notes)
    notes.push_back(diagnostic_json(note));
  if (!marks.empty())
    object["marks"] = std::move(marks);
  if (!message.fix.empty())
    object["fix"] = fix_json(message);
  if (!notes.empty())
    object["notes"] = std::move(notes);
  return object;
}

json::Object json_log(const std::vector<Diagnostic> &diagnostics, ExitCode code) {
  json::Array array;
  for (const Diagnostic &message : diagnostics)
    array.push_back(diagnostic_json(message));
  return json::Object{{"version", 1},
                      {"tool", tool_name},
                      {"exit_code", int(code)},
                      {"diagnostics", std::move(array)}};
}

// --- SARIF ---------------------------------------------------------------------------------------

// Escapes braces, because SARIF reads `{0}` in a message as a placeholder.
json::Object message_object(const std::string &text) {
  std::string escaped;
  for (char c : text)
    escaped += std::string(c == '{' || c == '}' ? 2 : 1, c);
  return json::Object{{"text", utf8(escaped)}};
}

// Removes `.`, `..` and empty components: SARIF forbids them in absolute URIs, and readers may
// reject them everywhere. Only the file system can resolve `..`, because of symbolic links.
std::filesystem::path plain_path(const std::filesystem::path &path) {
  if (!llvm::is_contained(path, ".."))
    return path.lexically_normal();
  std::error_code ignored;
  std::filesystem::path resolved =
      std::filesystem::weakly_canonical(std::filesystem::absolute(path, ignored), ignored);
  return resolved.empty() ? path : resolved;
}

// Converts a path to a URI reference, with special characters as %XX.
std::string uri_of(const std::string &name) {
  std::filesystem::path path = plain_path(name);
  std::string uri = path.is_absolute() ? "file://" : "";
  for (char c : path.string()) {
    bool is_plain = isalnum((unsigned char)c) || llvm::StringRef("-._~/").contains(c);
    uri += is_plain ? std::string(1, c) : llvm::formatv("%{0:X-2}", (unsigned char)c).str();
  }
  return uri;
}

// Whether this is a real file; macros of the command line are in "<command line>".
bool is_file(const std::string &name) { return !name.empty() && name[0] != '<'; }

json::Object artifact(const Span &span) { return json::Object{{"uri", uri_of(span.file)}}; }

json::Object region(const Span &span) {
  return json::Object{{"startLine", span.line},
                      {"startColumn", span.column},
                      {"endLine", span.end_line},
                      {"endColumn", span.end_column}};
}

json::Object location(const Diagnostic &message, bool with_message) {
  json::Object made;
  if (message.at.line > 0 && is_file(message.at.file))
    made["physicalLocation"] =
        json::Object{{"artifactLocation", artifact(message.at)}, {"region", region(message.at)}};
  if (with_message)
    made["message"] = message_object(message.text);
  return made;
}

// Adds the notes and their notes. SARIF requires that related locations are unique.
void add_notes(const Diagnostic &message, json::Array &locations) {
  for (const Diagnostic &note : message.notes) {
    json::Value related = location(note, /*with_message=*/true);
    if (!llvm::is_contained(locations, related))
      locations.push_back(std::move(related));
    add_notes(note, locations);
  }
}

// Adds the fix of the message and the fixes of its notes; each is one alternative.
void add_fixes(const Diagnostic &message, json::Array &fixes) {
  json::Array replacements;
  for (const Replacement &edit : message.fix)
    replacements.push_back(
        json::Object{{"deletedRegion", region(edit.at)},
                     {"insertedContent", json::Object{{"text", utf8(edit.text)}}}});
  if (!replacements.empty()) // all edits of a message are in one file
    fixes.push_back(
        json::Object{{"description", message_object(message.text)},
                     {"artifactChanges",
                      json::Array{json::Object{{"artifactLocation", artifact(message.fix[0].at)},
                                               {"replacements", std::move(replacements)}}}}});
  for (const Diagnostic &note : message.notes)
    add_fixes(note, fixes);
}

json::Object sarif_log(const std::vector<Diagnostic> &diagnostics, ExitCode code) {
  std::vector<std::string> rules;
  json::Array results, descriptions;
  for (const Diagnostic &message : diagnostics) {
    std::string level(name_of(message.severity));
    auto rule = llvm::find(rules, message.name);
    size_t index = size_t(rule - rules.begin());
    if (rule == rules.end()) {
      rules.push_back(message.name);
      descriptions.push_back(json::Object{
          {"id", message.name}, {"defaultConfiguration", json::Object{{"level", level}}}});
    }
    json::Object result{{"ruleId", message.name},
                        {"ruleIndex", int64_t(index)},
                        {"level", level},
                        {"message", message_object(message.text)}};
    if (json::Object at = location(message, /*with_message=*/false); !at.empty())
      result["locations"] = json::Array{std::move(at)};
    json::Array related;
    add_notes(message, related);
    if (!related.empty())
      result["relatedLocations"] = std::move(related);
    json::Array fixes;
    add_fixes(message, fixes);
    if (!fixes.empty())
      result["fixes"] = std::move(fixes);
    results.push_back(std::move(result));
  }
  auto [name, version] = llvm::StringRef(tool_name).split(' ');
  json::Object driver{{"name", name}, {"version", version}, {"rules", std::move(descriptions)}};
  json::Object invocation{{"executionSuccessful", code == ExitCode::ok}, {"exitCode", int(code)}};
  json::Object run{{"tool", json::Object{{"driver", std::move(driver)}}},
                   {"columnKind", "unicodeCodePoints"},
                   {"invocations", json::Array{std::move(invocation)}},
                   {"results", std::move(results)}};
  return json::Object{{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                      {"version", "2.1.0"},
                      {"runs", json::Array{std::move(run)}}};
}

} // namespace

std::string formatted(const std::vector<Diagnostic> &diagnostics, DiagnosticsFormat format,
                      ExitCode code) {
  if (format == DiagnosticsFormat::json)
    return document(json_log(diagnostics, code));
  if (format == DiagnosticsFormat::sarif)
    return document(sarif_log(diagnostics, code));
  std::string text;
  for (const Diagnostic &message : diagnostics)
    text += message.drawn;
  return text;
}

} // namespace tritonc
