// Tests generator/diagnose/diagnostics_format.cpp, and the options --diagnostics-format and -W.

#include "diagnose/diagnostics_format.h"

#include "compile.h"
#include "sarif_rules.h"
#include "support/child_process.h"
#include "support/contains.h"
#include "support/temporary_folder.h"
#include "support/tool_run.h"

#include "llvm/Support/JSON.h"

#include <doctest/doctest.h>

using namespace tritonc;

namespace {

constexpr const char *wrong_source = "#define TWO(x) ((x) + b)\n"
                                     "__global__ void f(float *p) {\n"
                                     "  float a[8] = 0;\n"
                                     "  float b[4] = 0;\n"
                                     "  *(p + 0 ... 8) = /* \xc3\xa4 */ TWO(a);\n"
                                     "}\n";

constexpr const char *warned_source = "__global__ void f(float *p) { *p = *p * 2.5; }\n";

ToolRun compile_with(const TemporaryFolder &files, std::vector<std::string> more,
                     const std::string &source = "k.tc") {
  // --quiet: a slow machine would show progress
  std::vector<std::string> arguments = {
      TRITONC_TOOL, "compile", files.path(source), "--arch", "80", "--emit",
      "tile-ir",    "-o",      files.path("out"),  "--quiet"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_program(arguments);
}

llvm::json::Value parsed(const std::string &text) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  REQUIRE_MESSAGE(bool(value), text);
  return *value;
}

} // namespace

TEST_CASE("--diagnostics-format=json: location, marks, notes, text") {
  TemporaryFolder files;
  files.write("k.tc", wrong_source);
  ToolRun run = compile_with(files, {"--diagnostics-format=json"});
  CHECK(run.code == 1);
  llvm::json::Value value = parsed(run.output);
  const llvm::json::Object &log = *value.getAsObject();
  CHECK(log.getInteger("version") == 1);
  CHECK(log.getInteger("exit_code") == 1);
  const llvm::json::Array &all = *log.getArray("diagnostics");
  REQUIRE(all.size() == 1);
  const llvm::json::Object &error = *all[0].getAsObject();
  CHECK(error.getString("severity") == "error");
  CHECK(error.getString("id") == "shapes-differ");
  CHECK(error.getString("message") == "shapes differ in `+`: [8] and [4]");
  CHECK(contains(error.getString("text")->str(), ":5:29: error: shapes differ in `+`"));
  const llvm::json::Object &at = *error.getObject("at");
  CHECK(at.getString("file") == files.path("k.tc"));
  CHECK(at.getInteger("line") == 5);
  CHECK(at.getInteger("column") == 28); // counts characters: one has two bytes
  CHECK(at.getInteger("end_line") == 5);
  CHECK(at.getInteger("end_column") == 34);
  CHECK(error.getArray("marks")->size() == 2);
  const llvm::json::Array &notes = *error.getArray("notes");
  REQUIRE(notes.size() == 4); // the macro, the origins of both shapes, the fix
  CHECK(notes[0].getAsObject()->getString("message") == "expanded from macro 'TWO'");
  CHECK(notes[0].getAsObject()->getObject("at")->getInteger("line") == 1);
  CHECK(notes[1].getAsObject()->getString("message") == "`a` has shape [8] here");
  CHECK(notes[1].getAsObject()->getObject("at")->getInteger("line") == 3);
}

TEST_CASE("--diagnostics-format=json: empty list without diagnostics") {
  TemporaryFolder files;
  files.write("k.tc", "__global__ void f(float *p) { *p = 1; }\n");
  ToolRun run = compile_with(files, {"--diagnostics-format", "json"});
  CHECK(run.code == 0);
  llvm::json::Value value = parsed(run.output);
  CHECK(value.getAsObject()->getInteger("exit_code") == 0);
  CHECK(value.getAsObject()->getArray("diagnostics")->empty());
}

TEST_CASE("--diagnostics-format=sarif: rules, results, notes") {
  TemporaryFolder files;
  files.write("k.tc", wrong_source);
  ToolRun run = compile_with(files, {"--diagnostics-format=sarif"});
  CHECK(run.code == 1);
  llvm::json::Value value = parsed(run.output);
  const llvm::json::Object &log = *value.getAsObject();
  CHECK(log.getString("version") == "2.1.0");
  const llvm::json::Object &one = *(*log.getArray("runs"))[0].getAsObject();
  const llvm::json::Object &driver = *one.getObject("tool")->getObject("driver");
  CHECK(driver.getString("name") == "tritonc");
  REQUIRE(driver.getArray("rules")->size() == 1);
  CHECK((*driver.getArray("rules"))[0].getAsObject()->getString("id") == "shapes-differ");
  REQUIRE(one.getArray("results")->size() == 1);
  const llvm::json::Object &result = *(*one.getArray("results"))[0].getAsObject();
  CHECK(result.getString("ruleId") == "shapes-differ");
  CHECK(result.getInteger("ruleIndex") == 0);
  CHECK(result.getString("level") == "error");
  const llvm::json::Object &place =
      *(*result.getArray("locations"))[0].getAsObject()->getObject("physicalLocation");
  CHECK(place.getObject("artifactLocation")->getString("uri") == "file://" + files.path("k.tc"));
  CHECK(place.getObject("region")->getInteger("startColumn") == 28);
  CHECK(result.getArray("relatedLocations")->size() == 4);
}

TEST_CASE("--diagnostics-format: has fixes of messages and notes") {
  TemporaryFolder files;
  files.write("k.tc", "__global__ void f(float *p, int count) {\n"
                      "  /* \xc3\xa4 */ if (coutn = 1)\n"
                      "    *p = p[count];\n"
                      "}\n");
  ToolRun run = compile_with(files, {"--diagnostics-format=json"});
  llvm::json::Value value = parsed(run.output);
  const llvm::json::Array &all = *value.getAsObject()->getArray("diagnostics");
  REQUIRE(all.size() == 3);
  auto edits_of = [](const llvm::json::Value &message) {
    std::string text;
    const llvm::json::Array *edits = message.getAsObject()->getArray("fix");
    for (const llvm::json::Value &edit : edits ? *edits : llvm::json::Array()) {
      const llvm::json::Object &at = *edit.getAsObject()->getObject("at");
      text += std::to_string(*at.getInteger("line")) + ":" +
              std::to_string(*at.getInteger("column")) + "-" +
              std::to_string(*at.getInteger("end_column")) + " `" +
              edit.getAsObject()->getString("text")->str() + "`\n";
    }
    return text;
  };
  CHECK(edits_of(all[0]) == ""); // only the note suggests `==`; a user must confirm it
  CHECK(edits_of((*all[0].getAsObject()->getArray("notes"))[0]) == "2:21-22 `==`\n");
  CHECK(edits_of(all[1]) == "2:15-20 `count`\n"); // counts characters: one has two bytes
  CHECK(edits_of(all[2]) == "3:10-10 `*(`\n3:11-12 ` + `\n3:17-18 `)`\n");

  llvm::json::Value log = parsed(compile_with(files, {"--diagnostics-format=sarif"}).output);
  const llvm::json::Array &results =
      *(*log.getAsObject()->getArray("runs"))[0].getAsObject()->getArray("results");
  for (const llvm::json::Value &result : results) {
    const llvm::json::Array &fixes = *result.getAsObject()->getArray("fixes");
    CHECK(fixes.size() == 1);
    const llvm::json::Array &changes = *fixes[0].getAsObject()->getArray("artifactChanges");
    CHECK(changes.size() == 1);
  }
  CHECK(test::sarif_problem(log) == "");
}

TEST_CASE("--diagnostics-format=json: no fix inside a macro") {
  TemporaryFolder files;
  files.write("k.tc", "#define COUNT coutn\n"
                      "__global__ void f(int *p, int count) { *p = COUNT + coutn; }\n");
  llvm::json::Value value = parsed(compile_with(files, {"--diagnostics-format=json"}).output);
  const llvm::json::Array &all = *value.getAsObject()->getArray("diagnostics");
  REQUIRE(all.size() == 1);
  CHECK(all[0].getAsObject()->getArray("fix") == nullptr);
}

TEST_CASE("--diagnostics-format=sarif: follows the standard") {
  TemporaryFolder files;
  int count = 0;
  for (const auto &entry : std::filesystem::directory_iterator(TRITONC_TESTS_DIR "/diagnostics")) {
    if (entry.path().extension() != ".tc")
      continue;
    CAPTURE(entry.path().filename().string());
    std::ifstream file(entry.path(), std::ios::binary);
    files.write("k.tc", {std::istreambuf_iterator<char>(file), {}});
    ToolRun run = compile_with(files, {"--diagnostics-format=sarif", "--max-errors", "0"});
    CHECK(test::sarif_problem(parsed(run.output)) == "");
    count++;
  }
  CHECK(count > 40);
  CHECK(test::sarif_problem(parsed(formatted({}, DiagnosticsFormat::sarif, ExitCode::ok))) == "");
}

TEST_CASE("sarif_problem: finds each violated rule") {
  auto problem = [](const std::string &result) {
    return test::sarif_problem(
        parsed(R"({"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "t"}}, "results": [)" +
               result + "]}]}"));
  };
  CHECK(problem(R"({"message": {"text": "x"}})") == "");
  CHECK(problem(R"({"level": "error"})") == "runs[0].results[0].message: missing");
  CHECK(problem(R"({"message": {"text": "x"}, "level": "fatal"})") ==
        "runs[0].results[0].level: `fatal`");
  CHECK(problem(R"({"message": {"text": "x"}, "place": 1})") ==
        "runs[0].results[0].place: unknown");
  CHECK(problem(R"({"message": {"text": "x"}, "fixes": [{"artifactChanges": []}]})") ==
        "runs[0].results[0].fixes[0].artifactChanges: no list, or too short");
  CHECK(problem(R"({"message": {"text": "x"}, "relatedLocations": [{}, {}]})") ==
        "runs[0].results[0].relatedLocations[1]: twice");
  CHECK(problem(R"({"message": {"text": "x"}, "locations": [{"physicalLocation":
        {"artifactLocation": {"uri": "a b"}}}]})") ==
        "runs[0].results[0].locations[0].physicalLocation.artifactLocation.uri: no plain URI "
        "reference");
  CHECK(test::sarif_problem(parsed(R"({"version": "2.0", "runs": []})")) == "version: `2.0`");
  CHECK(problem(R"({"message": {"text": ""}})") == "runs[0].results[0].message.text: empty");
  CHECK(problem(R"({"message": {"text": "{{ and }}"}})") == "");
  for (const char *text : {"{", "}", "{0}", "{{{", "a}}}"}) {
    CAPTURE(text);
    CHECK(problem(R"({"message": {"text": ")" + std::string(text) + "\"}}") ==
          "runs[0].results[0].message.text: a brace that is not doubled");
  }
  CHECK(problem(R"({"message": {"text": "x"}, "ruleId": "a", "ruleIndex": 0})") ==
        "runs[0]: a result of another rule than it says");
  auto problem_at = [&](const std::string &uri, const std::string &region) {
    return problem(R"({"message": {"text": "x"}, "locations": [{"physicalLocation":
        {"artifactLocation": {"uri": ")" +
                   uri + "\"}, \"region\": {" + region + "}}}]}");
  };
  const std::string here = R"("startLine": 2, "startColumn": 3, "endLine": 2, "endColumn": 3)";
  for (const char *uri : {"k.tc", "a/k.tc", "file:///a/%C3%A4.tc"})
    CHECK(problem_at(uri, here) == "");
  for (const char *uri : {"/k.tc", "../k.tc", "a/./k.tc", "file:///a//k.tc", "file:///a/../k.tc",
                          "%", "%g0", "a:k.tc", "\xc3\xa4", "[k]"}) {
    CAPTURE(uri);
    CHECK(contains(problem_at(uri, here), "uri: no plain URI reference"));
  }
  for (const char *region :
       {R"("endLine": 2)", R"("startLine": 2, "startColumn": 3, "endLine": 2, "endColumn": 2)"})
    CHECK(contains(problem_at("k.tc", region), "region: ends before it begins"));
}

TEST_CASE("formatted: escapes file names and messages") {
  Diagnostic odd = diagnostic(Message::undeclared, {"\"\n\xff</script>"});
  odd.at = {"/a b%\"#\\\xc3\xa4.tc", 1, 1, 1, 2};
  for (DiagnosticsFormat format : {DiagnosticsFormat::json, DiagnosticsFormat::sarif})
    parsed(formatted({odd}, format, ExitCode::source_error));
  CHECK(contains(formatted({odd}, DiagnosticsFormat::sarif, ExitCode::source_error),
                 "file:///a%20b%25%22%23%5C%C3%A4.tc"));
}

TEST_CASE("formatted: SARIF doubles braces in messages, not in fixes") {
  Diagnostic brace = diagnostic(Message::expected, {"`}`", "`{0}`"});
  brace.at = {"k.tc", 1, 1, 1, 2};
  brace.fix = {{brace.at, "{ }"}};
  add_note(brace, diagnostic(Message::unclosed, {"{"}));
  std::string log = formatted({brace}, DiagnosticsFormat::sarif, ExitCode::source_error);
  CHECK(test::sarif_problem(parsed(log)) == "");
  CHECK(contains(log, "expected `}}`, found `{{0}}`"));
  CHECK(contains(log, "to match this `{{`"));
  CHECK(contains(log, "\"text\": \"{ }\""));
  CHECK(contains(formatted({brace}, DiagnosticsFormat::json, ExitCode::source_error),
                 "expected `}`, found `{0}`"));
}

TEST_CASE("--diagnostics-format=sarif: normalizes file names") {
  TemporaryFolder files;
  std::filesystem::create_directory(files.path("sub"));
  files.write("sub/h.tch", "int a = b;\n");
  files.write("k.tc", "#include \"sub/../sub/./h.tch\"\n__global__ void f(int *p) { *p = c; }\n");
  std::filesystem::create_directory_symlink(files.path("sub"), files.path("link"));
  const std::string folder = std::filesystem::path(files.path("k.tc")).parent_path().string();
  auto uris_of = [&](const std::string &source, const std::string &place) {
    std::string command = "cd '" + place + "' && '" TRITONC_TOOL "' compile '" + source +
                          "' --arch 80 --emit tile-ir -o '" + files.path("out") +
                          "' --diagnostics-format=sarif";
    ChildResult child = run_child({"/bin/sh", "-c", command}, "/tmp");
    llvm::json::Value log = parsed(child.output);
    CHECK(test::sarif_problem(log) == "");
    std::string uris;
    for (const llvm::json::Value &result :
         *(*log.getAsObject()->getArray("runs"))[0].getAsObject()->getArray("results"))
      uris += (*result.getAsObject()->getArray("locations"))[0]
                  .getAsObject()
                  ->getObject("physicalLocation")
                  ->getObject("artifactLocation")
                  ->getString("uri")
                  ->str() +
              "\n";
    return uris;
  };
  const std::string root = "file://" + std::filesystem::canonical(folder).string();
  const std::string header = root + "/sub/h.tch\n"; // included as sub/../sub/./h.tch
  CHECK(uris_of("k.tc", folder) == header + "k.tc\n");
  CHECK(uris_of("./k.tc", folder) == header + "k.tc\n");
  CHECK(uris_of("../k.tc", folder + "/sub") == header + root + "/k.tc\n");
  CHECK(uris_of(folder + "//sub/../k.tc", folder) == header + root + "/k.tc\n");
  CHECK(uris_of("link/../k.tc", folder) == header + root + "/k.tc\n");
}

TEST_CASE("--diagnostics-format=json: columns skip a byte order mark") {
  TemporaryFolder files;
  files.write("k.tc", "\xef\xbb\xbf__global__ void f(int *p) { *p = c; }\n");
  llvm::json::Value log = parsed(compile_with(files, {"--diagnostics-format=json"}).output);
  const llvm::json::Object &error = *(*log.getAsObject()->getArray("diagnostics"))[0].getAsObject();
  CHECK(error.getObject("at")->getInteger("column") == 34);
}

TEST_CASE("--diagnostics-format=json: has command-line errors") {
  TemporaryFolder files;
  files.write("k.tc", wrong_source);
  struct {
    std::vector<std::string> more;
    const char *id;
  } cases[] = {{{"--diagnostics-format=json", "--no-such-option"}, "usage"},
               {{"--diagnostics-format", "json", "--explain"}, "usage"},
               {{"--diagnostics-format=json", "-Wno-such-name"}, "unknown-warning"},
               {{"--diagnostics-format=json", "--where", "TM <"}, "condition-syntax"}};
  for (const auto &[more, id] : cases) {
    CAPTURE(more.back());
    ToolRun run = compile_with(files, more);
    CHECK(run.code == 2);
    llvm::json::Value value = parsed(run.output);
    CHECK(value.getAsObject()->getInteger("exit_code") == 2);
    const llvm::json::Array &all = *value.getAsObject()->getArray("diagnostics");
    REQUIRE(all.size() == 1);
    CHECK(all[0].getAsObject()->getString("id") == id);
  }
}

TEST_CASE("--diagnostics-to: writes the document, prints text") {
  TemporaryFolder files;
  files.write("k.tc", wrong_source);
  ToolRun run = compile_with(files, {"--diagnostics-format=sarif", "--diagnostics-to",
                                     files.path("k.sarif"), "--explain"});
  CHECK(run.code == 1);
  CHECK(contains(run.output, "error: shapes differ in `+`"));
  CHECK(parsed(files.read("k.sarif")).getAsObject()->getString("version") == "2.1.0");
  run = compile_with(files, {"--diagnostics-to", files.path("k.tc")}); // the source
  CHECK(run.code == 2);
  CHECK(files.read("k.tc") == wrong_source);
}

TEST_CASE("-Wno-NAME: disables the warning that names it") {
  TemporaryFolder files;
  files.write("k.tc", warned_source);
  ToolRun run = compile_with(files, {});
  CHECK(run.code == 0);
  CHECK(contains(run.output, "literal has no suffix `f` [-Wdouble-arithmetic]\n"));
  for (const char *option : {"-Wno-double-arithmetic", "-w"}) {
    CAPTURE(option);
    run = compile_with(files, {option, "--werror"});
    CHECK(run.code == 0);
    CHECK(run.output == ""); // its notes are also gone
  }
  run = compile_with(files, {"-Wno-double-arithmetic", "-Wdouble-arithmetic"});
  CHECK(contains(run.output, "warning: "));
  run = compile_with(files, {"-Wno-spills"});
  CHECK(contains(run.output, "warning: "));
  run = compile_with(files, {"-Wno-nothing"});
  CHECK(run.code == 2);
  CHECK(contains(run.output, "error: unknown warning `-Wnothing`; known warnings: "));
  CHECK(contains(run.output, ", double-arithmetic, "));
}

TEST_CASE("-Werror=NAME: makes one warning an error") {
  TemporaryFolder files;
  files.write("k.tc", warned_source);
  ToolRun run = compile_with(files, {"-Werror=double-arithmetic"});
  CHECK(run.code == 5);
  CHECK(
      contains(run.output, "error: -Werror=double-arithmetic treats warnings as errors (1 found)"));
  CHECK(compile_with(files, {"-Werror"}).code == 5);
  CHECK(compile_with(files, {"-Werror=spills"}).code == 0);
}

TEST_CASE("-Wno-macro-redefined: disables a preprocessor warning") {
  TemporaryFolder files;
  files.write("k.tc", "#define N 1\n#define N 2\n__global__ void f(int *p) { *p = N; }\n");
  CHECK(contains(compile_with(files, {}).output, "[-Wmacro-redefined]\n"));
  CHECK(compile_with(files, {"-Wno-macro-redefined"}).output == "");
}

TEST_CASE("--max-errors: limits the number of errors") {
  TemporaryFolder files;
  std::string source = "__global__ void f(float *p) {\n";
  for (int i = 0; i < 30; i++)
    source += "  *p = x" + std::to_string(i) + ";\n";
  files.write("k.tc", source + "}\n");
  auto errors = [&](std::vector<std::string> more) {
    more.push_back("--diagnostics-format=json");
    llvm::json::Value value = parsed(compile_with(files, more).output);
    return value.getAsObject()->getArray("diagnostics")->size();
  };
  CHECK(errors({}) == 20);
  CHECK(errors({"--max-errors", "5"}) == 5);
  CHECK(errors({"--max-errors", "0"}) == 30);
  CHECK(contains(compile_with(files, {"--max-errors=5"}).output,
                 "\nnote: too many errors: only the first 5 are shown"));
}
