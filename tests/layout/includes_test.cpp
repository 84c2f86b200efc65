// Tests the includes of generator/ and runtime/: a folder includes only itself and earlier folders,
// and there are no include cycles. This test reads the source tree.

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

const fs::path root = fs::path(TRITONC_TESTS_DIR).parent_path();

// The folders of generator/ in order of dependency (docs/pages/contributing/architecture.md). Files
// next to the folders have their own ranks.
const std::vector<std::string> generator_order = {
    "diagnostics", "support",  "target",  "language", "ir",   "analysis", "translate",
    "passes",      "schedule", "backend", "lower",    "emit", "diagnose", "variants",
    "tune",        "jobs",     "compile", "tool",     "main"};
const std::vector<std::string> runtime_order = {"load", "select", "launch", "api"};

struct Include {
  fs::path file, header; // relative to the root of the search
};

bool is_source(const fs::path &file) {
  return file.extension() == ".h" || file.extension() == ".hpp" || file.extension() == ".cpp" ||
         file.extension() == ".def";
}

// All #include "..." lines under `folder` that resolve to a file there.
std::vector<Include> includes_of(const fs::path &folder) {
  static const std::regex directive(R"x(^\s*#\s*include\s*"([^"]+)")x");
  std::vector<Include> found;
  for (const auto &entry : fs::recursive_directory_iterator(folder)) {
    if (!is_source(entry.path()))
      continue;
    std::ifstream stream(entry.path());
    std::smatch match;
    for (std::string line; std::getline(stream, line);)
      if (std::regex_search(line, match, directive))
        for (const fs::path &from : {folder, entry.path().parent_path()}) {
          fs::path header = (from / match[1].str()).lexically_normal();
          if (!fs::exists(header))
            continue;
          found.push_back({fs::relative(entry.path(), folder), fs::relative(header, folder)});
          break;
        }
  }
  return found;
}

// A header and its source are one unit.
std::string unit_of(const fs::path &file) {
  return (file.parent_path() / file.stem()).generic_string();
}
std::string name_of(const fs::path &file) { return file.generic_string(); }

using Graph = std::map<std::string, std::set<std::string>>;

Graph graph_of(const std::vector<Include> &includes,
               const std::function<std::string(const fs::path &)> &node_of) {
  Graph graph;
  for (const Include &include : includes)
    if (node_of(include.file) != node_of(include.header))
      graph[node_of(include.file)].insert(node_of(include.header));
  return graph;
}

// For example "a -> b -> a" for one cycle; empty = none.
std::string circle_in(const Graph &graph) {
  std::set<std::string> done;
  std::vector<std::string> path;
  std::function<std::string(const std::string &)> visit = [&](const std::string &node) {
    auto at = std::find(path.begin(), path.end(), node);
    if (at != path.end()) {
      std::string text;
      for (; at != path.end(); ++at)
        text += *at + " -> ";
      return text + node;
    }
    if (!done.insert(node).second)
      return std::string();
    path.push_back(node);
    if (auto found = graph.find(node); found != graph.end())
      for (const std::string &next : found->second)
        if (std::string circle = visit(next); !circle.empty())
          return circle;
    path.pop_back();
    return std::string();
  };
  for (const auto &[node, targets] : graph)
    if (std::string circle = visit(node); !circle.empty())
      return circle;
  return "";
}

size_t rank(const std::vector<std::string> &order, const fs::path &file) {
  std::string top = file.begin()->stem().string();
  return size_t(std::find(order.begin(), order.end(), top) - order.begin());
}

void check_order(const fs::path &folder, const std::vector<std::string> &order) {
  for (const Include &include : includes_of(folder)) {
    CAPTURE(include.file.string());
    CAPTURE(include.header.string());
    CHECK(rank(order, include.header) <= rank(order, include.file));
  }
  for (const auto &entry : fs::directory_iterator(folder))
    if (entry.is_directory() || is_source(entry.path())) {
      CAPTURE(entry.path().string());
      CHECK(rank(order, entry.path().filename()) < order.size());
    }
}

bool starts_with(const std::string &text, const std::string &start) {
  return text.rfind(start, 0) == 0;
}

} // namespace

TEST_CASE("includes: generator/ folders include only earlier folders") {
  check_order(root / "generator", generator_order);
}

TEST_CASE("includes: runtime/src folders include only earlier folders") {
  check_order(root / "runtime" / "src", runtime_order);
}

TEST_CASE("includes: no cycle of units in generator/ and runtime/src") {
  CHECK(circle_in(graph_of(includes_of(root / "generator"), unit_of)) == "");
  CHECK(circle_in(graph_of(includes_of(root / "runtime" / "src"), unit_of)) == "");
}

// Files, not units: the emulator's classes share one state, machine.h, so its sources include each
// other's headers.
TEST_CASE("includes: no cycle of files in runtime/") {
  CHECK(circle_in(graph_of(includes_of(root / "runtime"), name_of)) == "");
}

TEST_CASE("circle_in: finds and names a cycle") {
  CHECK(circle_in({{"a", {"b"}}, {"b", {"c"}}, {"c", {"b"}}}) == "b -> c -> b");
  CHECK(circle_in({{"a", {"b", "c"}}, {"b", {"c"}}}) == "");
}

TEST_CASE("includes: top of generator/ has four files") {
  std::set<std::string> files;
  for (const auto &entry : fs::directory_iterator(root / "generator"))
    if (!entry.is_directory())
      files.insert(entry.path().filename().string());
  CHECK(files == std::set<std::string>{"CMakeLists.txt", "compile.cpp", "compile.h", "main.cpp"});
}

TEST_CASE("includes: only some folders use clang, LLVM IR and GPUs") {
  const std::set<std::string> with_clang = {"diagnostics", "language"};
  const std::set<std::string> with_llvm_ir = {"backend", "lower", "jobs"};
  const std::set<std::string> plain = {"target",   "ir",     "translate",
                                       "analysis", "passes", "schedule"};
  static const std::regex directive(R"(^\s*#\s*include\s*[<"]([^">]+)[">])");
  for (const auto &entry : fs::recursive_directory_iterator(root / "generator")) {
    if (!is_source(entry.path()))
      continue;
    fs::path file = fs::relative(entry.path(), root / "generator");
    std::string folder = file.begin()->string();
    CAPTURE(file.string());
    std::ifstream stream(entry.path());
    std::smatch match;
    for (std::string line; std::getline(stream, line);) {
      if (!std::regex_search(line, match, directive))
        continue;
      std::string header = match[1];
      CAPTURE(header);
      if (starts_with(header, "clang/"))
        CHECK(with_clang.count(folder));
      if (starts_with(header, "llvm/IR/"))
        CHECK(with_llvm_ir.count(folder));
      if (starts_with(header, "llvm/"))
        CHECK_FALSE(plain.count(folder));
      if (starts_with(header, "target/"))
        CHECK((folder != "ir" && folder != "analysis" && folder != "language"));
    }
  }
}

TEST_CASE("includes: every source includes its own header first") {
  std::set<fs::path> seen;
  for (const Include &include : includes_of(root / "generator")) {
    if (include.file.extension() != ".cpp" || !seen.insert(include.file).second)
      continue;
    fs::path own = fs::path(include.file).replace_extension(".h");
    if (!fs::exists(root / "generator" / own))
      continue;
    CAPTURE(include.file.string());
    CHECK(include.header == own);
  }
}
