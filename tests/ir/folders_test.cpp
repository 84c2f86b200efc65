// The folders of generator/ are in order of dependency: each includes those before it and none
// behind. This looks at the source tree.

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

// generator/README.md explains the order.
const std::vector<std::string> folders = {"source",    "target", "language", "ir",    "analysis",
                                          "translate", "passes", "backend",  "lower", "emit"};

struct Include {
  std::string file, folder, header;
};

std::filesystem::path generator() {
  return std::filesystem::path(TRITONC_TESTS_DIR).parent_path() / "generator";
}

// All #include lines of the files in the folders.
std::vector<Include> includes() {
  static const std::regex directive(R"(^\s*#\s*include\s*[<"]([^">]+)[">])");
  std::vector<Include> found;
  for (const std::string &folder : folders)
    for (const auto &entry : std::filesystem::directory_iterator(generator() / folder)) {
      std::ifstream stream(entry.path());
      std::smatch match;
      for (std::string line; std::getline(stream, line);)
        if (std::regex_search(line, match, directive))
          found.push_back({folder + "/" + entry.path().filename().string(), folder, match[1]});
    }
  return found;
}

size_t rank(const std::string &folder) {
  return size_t(std::find(folders.begin(), folders.end(), folder) - folders.begin());
}

std::string folder_of(const std::string &header) { return header.substr(0, header.find('/')); }

bool starts_with(const std::string &text, const std::string &start) {
  return text.rfind(start, 0) == 0;
}

} // namespace

TEST_CASE("a folder includes only itself and those before it") {
  for (const Include &include : includes()) {
    std::string from = folder_of(include.header);
    if (rank(from) == folders.size())
      continue; // not one of ours
    CAPTURE(include.file);
    CAPTURE(include.header);
    CHECK(rank(from) <= rank(include.folder));
  }
}

TEST_CASE("every folder is in the order") {
  for (const auto &entry : std::filesystem::directory_iterator(generator()))
    if (entry.is_directory()) {
      CAPTURE(entry.path().string());
      CHECK(rank(entry.path().filename().string()) < folders.size());
    }
}

TEST_CASE("what a folder knows nothing about") {
  const std::set<std::string> with_clang = {"source", "language"};
  const std::set<std::string> with_llvm_ir = {"backend", "lower"};
  const std::set<std::string> plain = {"target", "ir", "translate", "analysis", "passes"};
  for (const Include &include : includes()) {
    CAPTURE(include.file);
    CAPTURE(include.header);
    if (starts_with(include.header, "clang/"))
      CHECK(with_clang.count(include.folder));
    if (starts_with(include.header, "llvm/IR/"))
      CHECK(with_llvm_ir.count(include.folder));
    if (starts_with(include.header, "llvm/"))
      CHECK_FALSE(plain.count(include.folder));
    if (folder_of(include.header) == "target")
      CHECK(
          (include.folder != "ir" && include.folder != "analysis" && include.folder != "language"));
  }
}

TEST_CASE("every source includes its own header first") {
  std::set<std::string> seen;
  for (const Include &include : includes()) {
    std::filesystem::path file = include.file;
    if (file.extension() != ".cpp" || !seen.insert(include.file).second)
      continue;
    std::string own = file.replace_extension(".h").string();
    std::string stem = own.substr(0, own.size() - 2); // an inner header may come in its place
    if (!std::filesystem::exists(generator() / own))
      continue;
    CAPTURE(include.file);
    CHECK(starts_with(include.header, stem));
  }
}
