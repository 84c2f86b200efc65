// Tests mutant.cpp: an edit at its place, and its text for people.

#include "mutate/mutant.h"

#include <doctest/doctest.h>

using namespace tritonc::mutate;

namespace {

const std::string text = "int f(int a) {\n  return a < 4;\n}\n";
const Mutant mutant = {"f.cpp", 2, 12, "comparison", 26, "<", "<="};

} // namespace

TEST_CASE("planted: replaces the text at its place") {
  CHECK(planted(text, mutant) == "int f(int a) {\n  return a <= 4;\n}\n");
}

TEST_CASE("planted: inserts and removes text") {
  CHECK(planted("ab", {"f.cpp", 1, 2, "x", 1, "", "-"}) == "a-b");
  CHECK(planted("a-b", {"f.cpp", 1, 2, "x", 1, "-", ""}) == "ab");
}

TEST_CASE("planted: nothing, when the file has changed") {
  CHECK(planted("int f(int a) {\n  return b + a < 4;\n}\n", mutant) == std::nullopt);
  CHECK(planted("", mutant) == std::nullopt);
}

TEST_CASE("id_of: place, mutation operator and edit") {
  CHECK(id_of(mutant) == "f.cpp:2:12: comparison: `<` -> `<=`");
}

TEST_CASE("id_of: one line for a longer edit") {
  CHECK(id_of({"f.cpp", 1, 3, "dropped operand", 1, " &&\n    b", ""}) ==
        "f.cpp:1:3: dropped operand: ` && b` -> ``");
}

TEST_CASE("diff_of: the changed line without indentation") {
  CHECK(diff_of(text, mutant) == "- return a < 4;\n+ return a <= 4;\n");
  CHECK(diff_of("a < b", {"f.cpp", 1, 3, "x", 2, "<", ">"}) == "- a < b\n+ a > b\n");
}

TEST_CASE("diff_of: all lines of a longer edit") {
  Mutant dropped = {"f.cpp", 1, 3, "dropped operand", 1, " &&\n    b", ""};
  CHECK(diff_of("a &&\n    b;\nc;\n", dropped) == "- a &&\n- b;\n+ a;\n");
}

TEST_CASE("diff_of: does not depend on the place of the lines") {
  Mutant moved = mutant;
  moved.offset += 5;
  moved.line++;
  CHECK(diff_of("// a\n" + text, moved) == diff_of(text, mutant));
}

TEST_CASE("name_mutants: a name stays, when other lines change") {
  std::vector<Mutant> mutants = {mutant};
  name_mutants(text, mutants);
  Mutant moved = mutant;
  moved.offset += 5;
  moved.line++;
  std::vector<Mutant> after = {moved};
  name_mutants("// a\n" + text, after);
  CHECK(after[0].name == mutants[0].name);
}

TEST_CASE("name_mutants: unique names, also for the same edit of equal lines") {
  Mutant greater = mutant, again = mutant;
  greater.after = ">";
  again.offset += text.size();
  std::vector<Mutant> mutants = {mutant, greater, again};
  name_mutants(text + text, mutants);
  CHECK(mutants[0].name != mutants[1].name);
  CHECK(mutants[0].name != mutants[2].name);
}
