// The rules of SARIF 2.1.0 (section 3 of the standard, and its schema) for the objects that
// generator/diagnose/diagnostics_format.h writes.
//
// The table lists the properties of each object:
//   - the kind of the property, and whether it is required;
//   - for a list, its min length and whether its elements are unique.
// All other properties are errors.
//
// The functions check the rules that the schema cannot express: braces in messages, normalized
// paths, regions that do not end before they begin, and results that match their rules.
#pragma once

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <set>
#include <string>

namespace tritonc::test {

/// The first problem of the document, such as "runs[0].results[2].level: ..."; empty = valid.
inline std::string sarif_problem(const llvm::json::Value &document);

// Implementation.

struct SarifRule {
  const char *object, *property;
  const char *kind; // name of an object, "string" (not empty), "text" (of a message), "content"
                    // (may be empty), "uri", "integer", "boolean", or alternatives "one|of|these"
  bool is_required = false;
  int least = -1; // min of an integer
  bool is_list = false;
  int min_elements = 0;
  bool is_set = false;
};

inline constexpr SarifRule sarif_rules[] = {
    {"sarifLog", "$schema", "string"},
    {"sarifLog", "version", "2.1.0|", true},
    {"sarifLog", "runs", "run", true, -1, true},
    {"run", "tool", "tool", true},
    {"run", "columnKind", "utf16CodeUnits|unicodeCodePoints"},
    {"run", "invocations", "invocation", false, -1, true},
    {"run", "results", "result", false, -1, true},
    {"tool", "driver", "toolComponent", true},
    {"toolComponent", "name", "string", true},
    {"toolComponent", "version", "string"},
    {"toolComponent", "rules", "reportingDescriptor", false, -1, true, 0, true},
    {"reportingDescriptor", "id", "string", true},
    {"reportingDescriptor", "defaultConfiguration", "reportingConfiguration"},
    {"reportingConfiguration", "level", "none|note|warning|error"},
    {"invocation", "executionSuccessful", "boolean", true},
    {"invocation", "exitCode", "integer", false, INT32_MIN},
    {"result", "ruleId", "string"},
    {"result", "ruleIndex", "integer", false, -1},
    {"result", "level", "none|note|warning|error"},
    {"result", "message", "message", true},
    {"result", "locations", "location", false, -1, true},
    {"result", "relatedLocations", "location", false, -1, true, 0, true},
    {"result", "fixes", "fix", false, -1, true, 0, true},
    {"location", "physicalLocation", "physicalLocation"},
    {"location", "message", "message"},
    {"physicalLocation", "artifactLocation", "artifactLocation", true},
    {"physicalLocation", "region", "region"},
    {"artifactLocation", "uri", "uri"},
    {"region", "startLine", "integer", false, 1},
    {"region", "startColumn", "integer", false, 1},
    {"region", "endLine", "integer", false, 1},
    {"region", "endColumn", "integer", false, 1},
    {"message", "text", "text", true},
    {"fix", "description", "message"},
    {"fix", "artifactChanges", "artifactChange", true, -1, true, 1, true},
    {"artifactChange", "artifactLocation", "artifactLocation", true},
    {"artifactChange", "replacements", "replacement", true, -1, true, 1},
    {"replacement", "deletedRegion", "region", true},
    {"replacement", "insertedContent", "artifactContent"},
    {"artifactContent", "text", "content"},
};

inline std::string sarif_problem(const llvm::json::Value &value, const SarifRule &rule,
                                 const std::string &path);

// A doubled brace is a literal brace. A single brace encloses the number of an argument.
inline bool has_single_brace(llvm::StringRef text) {
  for (size_t i = 0; i < text.size(); i++) {
    bool is_brace = text[i] == '{' || text[i] == '}';
    if (is_brace && (i + 1 == text.size() || text[i + 1] != text[i]))
      return true;
    i += is_brace;
  }
  return false;
}

// Whether the text is a file reference of RFC 3986:
//   - it has only characters that need no escape, and `%` with two digits;
//   - no name in the path is empty, is `.` or `..`, or contains `:`;
//   - a path from the root has a scheme.
inline bool is_file_reference(llvm::StringRef uri) {
  for (size_t i = 0; i < uri.size(); i++) {
    bool is_code = uri[i] == '%' && i + 2 < uri.size() && llvm::isHexDigit(uri[i + 1]) &&
                   llvm::isHexDigit(uri[i + 2]);
    if (!is_code && !llvm::isAlnum(uri[i]) &&
        !llvm::StringRef("-._~/:@!$&'()*+,;=").contains(uri[i]))
      return false;
  }
  uri.consume_front("file:///");
  llvm::SmallVector<llvm::StringRef> names;
  uri.split(names, '/');
  return llvm::none_of(names, [](llvm::StringRef name) {
    return name.empty() || name == "." || name == ".." || name.contains(':');
  });
}

// The first problem between properties that are valid by themselves; empty = none.
inline std::string sarif_disagreement(const llvm::json::Object &object, const std::string &name) {
  auto number = [&](const char *property) { return object.getInteger(property).value_or(0); };
  if (name == "region") {
    std::pair begin = {number("startLine"), number("startColumn")};
    if (begin.first == 0 || std::pair(number("endLine"), number("endColumn")) < begin)
      return "ends before it begins";
  }
  if (name == "fix") {
    std::set<std::string> files;
    for (const llvm::json::Value &change : *object.getArray("artifactChanges"))
      if (!files.insert(llvm::formatv("{0}", *change.getAsObject()->get("artifactLocation")))
               .second)
        return "two changes of a file";
  }
  if (name == "run") {
    const llvm::json::Array *rules =
        object.getObject("tool")->getObject("driver")->getArray("rules");
    const llvm::json::Array *results = object.getArray("results");
    for (const llvm::json::Value &result : results ? *results : llvm::json::Array()) {
      std::optional<int64_t> index = result.getAsObject()->getInteger("ruleIndex");
      if (index && *index >= 0 &&
          (!rules || *index >= int64_t(rules->size()) ||
           (*rules)[size_t(*index)].getAsObject()->getString("id") !=
               result.getAsObject()->getString("ruleId")))
        return "a result of another rule than it says";
    }
  }
  return "";
}

inline std::string sarif_problem_of(const llvm::json::Value &value, const std::string &name,
                                    const std::string &path) {
  const llvm::json::Object *object = value.getAsObject();
  if (!object)
    return path + ": no object";
  std::set<std::string> known;
  for (const SarifRule &rule : sarif_rules) {
    if (rule.object != name)
      continue;
    known.insert(rule.property);
    const llvm::json::Value *found = object->get(rule.property);
    std::string inner = (path.empty() ? "" : path + ".") + rule.property;
    if (!found && rule.is_required)
      return inner + ": missing";
    if (!found)
      continue;
    if (!rule.is_list) {
      if (std::string problem = sarif_problem(*found, rule, inner); !problem.empty())
        return problem;
      continue;
    }
    const llvm::json::Array *list = found->getAsArray();
    if (!list || int(list->size()) < rule.min_elements)
      return inner + ": no list, or too short";
    for (size_t i = 0; i < list->size(); i++) {
      std::string element = inner + "[" + std::to_string(i) + "]";
      if (std::string problem = sarif_problem((*list)[i], rule, element); !problem.empty())
        return problem;
      for (size_t j = 0; rule.is_set && j < i; j++)
        if ((*list)[i] == (*list)[j])
          return element + ": twice";
    }
  }
  for (const auto &[key, ignored] : *object)
    if (!known.count(key.str()))
      return (path.empty() ? "" : path + ".") + key.str() + ": unknown";
  std::string problem = sarif_disagreement(*object, name);
  return problem.empty() ? "" : path + ": " + problem;
}

inline std::string sarif_problem(const llvm::json::Value &value, const SarifRule &rule,
                                 const std::string &path) {
  std::string kind = rule.kind;
  if (kind == "boolean")
    return value.getAsBoolean() ? "" : path + ": no boolean";
  if (kind == "integer") {
    std::optional<int64_t> number = value.getAsInteger();
    return number && *number >= rule.least ? "" : path + ": no integer, or too small";
  }
  bool is_text = kind == "string" || kind == "text" || kind == "content" || kind == "uri" ||
                 kind.find('|') != kind.npos;
  if (!is_text)
    return sarif_problem_of(value, kind, path);
  std::optional<llvm::StringRef> text = value.getAsString();
  if (!text)
    return path + ": no string";
  if (text->empty() && kind != "content")
    return path + ": empty";
  if (kind == "text" && has_single_brace(*text))
    return path + ": a brace that is not doubled";
  if (kind == "uri" && !is_file_reference(*text))
    return path + ": no plain URI reference";
  if (kind.find('|') != kind.npos && ("|" + kind + "|").find("|" + text->str() + "|") == kind.npos)
    return path + ": `" + text->str() + "`";
  return "";
}

inline std::string sarif_problem(const llvm::json::Value &document) {
  return sarif_problem_of(document, "sarifLog", "");
}

} // namespace tritonc::test
