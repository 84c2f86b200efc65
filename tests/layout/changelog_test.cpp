// Tests the form of CHANGELOG.md: `## Unreleased`, then versions with dates, newest first. Each has
// the sections Added, Changed and Fixed, and each entry is one line of at most 100 columns.
//
// tests/package/version_test.sh compares the newest version with the version of the tool.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Version = std::array<int, 3>;

size_t columns(const std::string &utf8) {
  return size_t(std::count_if(utf8.begin(), utf8.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

// What is wrong with a changelog: "LINE: text".
std::vector<std::string> mistakes_of(std::istream &&lines) {
  static const std::regex version(R"(## (\d+)\.(\d+)\.(\d+) \((\d{4}-\d{2}-\d{2})\))");
  static const std::vector<std::string> sections = {"### Added", "### Changed", "### Fixed"};
  std::vector<std::string> mistakes;
  std::vector<Version> versions;
  std::string last_date = "9999-99-99";
  bool has_unreleased = false;
  size_t next_section = 0;
  bool in_section = false;
  int number = 0;
  auto mistake = [&](const std::string &text) {
    mistakes.push_back(std::to_string(number) + ": " + text);
  };
  for (std::string line; std::getline(lines, line);) {
    number++;
    std::smatch match;
    if (columns(line) > 100)
      mistake("more than 100 columns");
    if (line.rfind("## ", 0) == 0) {
      next_section = 0;
      in_section = false;
      if (line == "## Unreleased") {
        if (has_unreleased || !versions.empty())
          mistake("Unreleased is not the first heading");
        has_unreleased = true;
      } else if (!std::regex_match(line, match, version)) {
        mistake("not a version with a date");
      } else {
        Version found = {std::stoi(match[1]), std::stoi(match[2]), std::stoi(match[3])};
        if (!versions.empty() && found >= versions.back())
          mistake("newer than the version before it");
        if (match[4].str() > last_date)
          mistake("later than the version before it");
        versions.push_back(found);
        last_date = match[4];
      }
    } else if (line.rfind("### ", 0) == 0) {
      auto section =
          std::find(sections.begin() + std::ptrdiff_t(next_section), sections.end(), line);
      if (section == sections.end())
        mistake("expected Added, Changed, Fixed, in this order");
      else
        next_section = size_t(section - sections.begin()) + 1;
      in_section = true;
    } else if (line.rfind("- ", 0) == 0) {
      if (!in_section)
        mistake("entry outside of Added, Changed and Fixed");
    } else if (in_section && !line.empty() && line.rfind("#### ", 0) != 0) {
      mistake("more than one line for an entry");
    }
  }
  if (!has_unreleased)
    mistake("no Unreleased");
  if (versions.empty())
    mistake("no version");
  return mistakes;
}

std::vector<std::string> mistakes_in(const std::string &text) {
  return mistakes_of(std::istringstream(text));
}

using List = std::vector<std::string>;

} // namespace

TEST_CASE("CHANGELOG.md: has versions, sections, and one line per entry") {
  std::filesystem::path file =
      std::filesystem::path(TRITONC_TESTS_DIR).parent_path() / "CHANGELOG.md";
  CHECK(mistakes_of(std::ifstream(file)) == List{});
}

TEST_CASE("mistakes_of: accepts a changelog with all its parts") {
  CHECK(
      mistakes_in("# Changelog\n\nNewest first.\n\n## Unreleased\n\n### Fixed\n\n- A.\n\n"
                  "## 0.10.0 (2026-02-01)\n\n### Added\n\n#### Language\n\n- B.\n\n### Changed\n\n"
                  "- C.\n\n## 0.9.1 (2026-02-01)\n\n### Fixed\n\n- D.\n") == List{});
}

TEST_CASE("mistakes_of: reports headings") {
  const std::string unreleased = "## Unreleased\n";
  CHECK(mistakes_in("## 0.1.0 (2026-01-01)\n") == List{"1: no Unreleased"});
  CHECK(mistakes_in(unreleased) == List{"1: no version"});
  CHECK(mistakes_in("## 0.1.0 (2026-01-01)\n" + unreleased) ==
        List{"2: Unreleased is not the first heading"});
  CHECK(mistakes_in(unreleased + "## 0.2.0 (2026-01-01)\n## 0.1\n") ==
        List{"3: not a version with a date"});
  CHECK(mistakes_in(unreleased + "## 0.9.0 (2026-01-02)\n## 0.10.0 (2026-01-01)\n") ==
        List{"3: newer than the version before it"});
  CHECK(mistakes_in(unreleased + "## 0.2.0 (2026-01-01)\n## 0.1.0 (2026-01-02)\n") ==
        List{"3: later than the version before it"});
}

TEST_CASE("mistakes_of: reports sections and entries") {
  const std::string head = "## Unreleased\n## 0.1.0 (2026-01-01)\n";
  CHECK(mistakes_in(head + "### Removed\n") ==
        List{"3: expected Added, Changed, Fixed, in this order"});
  CHECK(mistakes_in(head + "### Fixed\n### Added\n") ==
        List{"4: expected Added, Changed, Fixed, in this order"});
  CHECK(mistakes_in(head + "- A.\n") == List{"3: entry outside of Added, Changed and Fixed"});
  CHECK(mistakes_in(head + "### Added\n- A\n  b.\n") == List{"5: more than one line for an entry"});
  std::string wide = "- ";
  for (int i = 0; i < 98; i++)
    wide += "³";
  CHECK(mistakes_in(head + "### Added\n" + wide + "\n") == List{});
  CHECK(mistakes_in(head + "### Added\n" + wide + ".\n") == List{"4: more than 100 columns"});
}
