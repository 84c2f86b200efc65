// Retired words must not return. retired_words.txt lists them and their replacements. This test
// reads the source tree.

#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

const fs::path root = fs::path(TRITONC_TESTS_DIR).parent_path();

struct Retired {
  std::string word, instead;
  std::vector<std::string> allowed; // path prefixes, from the root
};

// Lines "word | replacement | allowed paths, ..."; `#` begins a comment.
std::vector<Retired> retired_words(std::istream &&lines) {
  std::vector<Retired> words;
  auto trimmed = [](std::string text) {
    text.erase(0, text.find_first_not_of(' '));
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  };
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#')
      continue;
    std::istringstream columns(line);
    std::string word, instead, allowed, path;
    std::getline(columns, word, '|');
    std::getline(columns, instead, '|');
    std::getline(columns, allowed);
    Retired retired = {trimmed(word), trimmed(instead), {}};
    std::istringstream paths(allowed);
    while (std::getline(paths, path, ','))
      retired.allowed.push_back(trimmed(path));
    words.push_back(std::move(retired));
  }
  return words;
}

// The position of `word`, alone or between underscores in an identifier.
size_t find_word(const std::string &text, const std::string &word, size_t from = 0) {
  auto is_part = [&](size_t at) {
    return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at]));
  };
  for (size_t at = text.find(word, from); at != std::string::npos; at = text.find(word, at + 1))
    if ((at == 0 || !is_part(at - 1)) && !is_part(at + word.size()))
      return at;
  return std::string::npos;
}

std::string contents(const fs::path &file) {
  std::ifstream stream(file, std::ios::binary);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::vector<fs::path> texts() {
  std::vector<fs::path> found;
  for (const char *folder :
       {"generator", "cmake", "kernels", "runtime", "samples", "tests", "docs"})
    for (const auto &entry : fs::recursive_directory_iterator(root / folder)) {
      std::string path = fs::relative(entry.path(), root).generic_string();
      bool is_corpus =
          path.rfind("tests/fuzz/corpus", 0) == 0 || path.rfind("tests/fuzz/found", 0) == 0;
      if (entry.is_regular_file() && !is_corpus && entry.path().extension() != ".svg" &&
          path.rfind("tests/layout/", 0) != 0)
        found.push_back(entry.path());
    }
  for (const char *file : {"README.md", "CHANGELOG.md", "CMakeLists.txt"})
    found.push_back(root / file);
  return found;
}

} // namespace

TEST_CASE("retired words: tree has none") {
  std::vector<Retired> words =
      retired_words(std::ifstream(root / "tests" / "layout" / "retired_words.txt"));
  REQUIRE(words.size() > 50);
  for (const fs::path &file : texts()) {
    std::string path = fs::relative(file, root).generic_string(), text = contents(file);
    for (const Retired &retired : words) {
      auto begins = [&](const std::string &start) { return path.rfind(start, 0) == 0; };
      if (std::any_of(retired.allowed.begin(), retired.allowed.end(), begins))
        continue;
      size_t at = find_word(text, retired.word);
      if (at == std::string::npos)
        continue;
      auto line = 1 + std::count(text.begin(), text.begin() + std::ptrdiff_t(at), '\n');
      FAIL_CHECK(path << ":" << line << ": `" << retired.word << "` is retired: write "
                      << retired.instead);
    }
  }
}

TEST_CASE("find_word: matches words and parts of identifiers") {
  CHECK(find_word("a map_load b", "map_load") == 2);
  CHECK(find_word("lower_map_load_", "map_load") == 6);
  CHECK(find_word("roadmap_load", "map_load") == std::string::npos);
  CHECK(find_word("map_loads", "map_load") == std::string::npos);
  CHECK(find_word("map_loads map_load", "map_load") == 10);
}

TEST_CASE("retired_words: parses word, replacement and allowed paths") {
  std::vector<Retired> words =
      retired_words(std::istringstream("# comment\n\nring_slot | stage_index | tests/a, docs\n"));
  REQUIRE(words.size() == 1);
  CHECK(words[0].word == "ring_slot");
  CHECK(words[0].instead == "stage_index");
  CHECK(words[0].allowed == std::vector<std::string>{"tests/a", "docs"});
}
