// Tests campaign.cpp: the choice of mutants and the judgment.

#include "mutate/campaign.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace tritonc::mutate;

namespace {

std::vector<Mutant> many_mutants(unsigned count) {
  std::vector<Mutant> mutants;
  for (unsigned i = 0; i < count; i++)
    mutants.push_back({"x.cpp", i, 1, "integer", i, "1", "2", std::to_string(i)});
  return mutants;
}

std::vector<unsigned> lines_of(const std::vector<Mutant> &mutants) {
  std::vector<unsigned> lines;
  for (const Mutant &mutant : mutants)
    lines.push_back(mutant.line);
  return lines;
}

const std::vector<QuickTest> two_tests = {{"p", "test_1", "1"}, {"p", "test_2", "2"}};

// A tree in which some builds and tests fail. It keeps what was built and run.
struct FakeTree {
  std::string broken_target;
  std::string failing, hanging; // commands
  bool changes_code = true;
  std::vector<std::string> done = {};

  Verdict judge_mutant() {
    Trial trial;
    trial.build = [&](const std::string &target) {
      done.push_back("build " + target);
      return target != broken_target;
    };
    trial.changes_code = [&] { return changes_code; };
    trial.run = [&](const QuickTest &test) {
      done.push_back("run " + test.command);
      return test.command == failing ? End::failed
                                     : (test.command == hanging ? End::timed_out : End::passed);
    };
    return judge("x.o", two_tests, trial);
  }
};

} // namespace

TEST_CASE("shuffled: all mutants in an order that depends on the seed") {
  std::vector<Mutant> mutants = many_mutants(50);
  std::vector<unsigned> first = lines_of(shuffled(mutants, 1));
  CHECK(first == lines_of(shuffled(mutants, 1)));
  CHECK(first != lines_of(shuffled(mutants, 2)));
  std::sort(first.begin(), first.end());
  CHECK(first == lines_of(mutants));
  CHECK(shuffled({}, 1).empty());
}

TEST_CASE("shuffled: a new mutant does not change the order of the others") {
  std::vector<Mutant> mutants = many_mutants(20);
  std::vector<unsigned> with_new = lines_of(shuffled(mutants, 1));
  mutants.erase(mutants.begin() + 7);
  std::erase(with_new, 7u);
  CHECK(lines_of(shuffled(mutants, 1)) == with_new);
}

TEST_CASE("judge: caught by the first test that fails, the last one run") {
  FakeTree tree{"", "1", ""};
  Verdict verdict = tree.judge_mutant();
  CHECK(verdict.outcome == Outcome::caught);
  CHECK(verdict.by == "test_1");
  CHECK(tree.done == std::vector<std::string>{"build x.o", "build test_1", "run 1"});
}

TEST_CASE("judge: caught, when a test takes too long") {
  FakeTree tree{"", "", "2"};
  Verdict verdict = tree.judge_mutant();
  CHECK(verdict.outcome == Outcome::caught);
  CHECK(verdict.by == "test_2 (time limit)");
}

TEST_CASE("judge: survived, when all tests pass") {
  FakeTree tree{"", "", ""};
  CHECK(tree.judge_mutant().outcome == Outcome::survived);
  CHECK(tree.done ==
        std::vector<std::string>{"build x.o", "build test_1", "run 1", "build test_2", "run 2"});
}

TEST_CASE("judge: invalid, when it does not compile") {
  FakeTree tree{"x.o", "", ""};
  CHECK(tree.judge_mutant().outcome == Outcome::invalid);
  CHECK(tree.done == std::vector<std::string>{"build x.o"});
}

TEST_CASE("judge: equivalent, when the object code is the same") {
  FakeTree tree{"", "1", "", false};
  CHECK(tree.judge_mutant().outcome == Outcome::equivalent);
  CHECK(tree.done == std::vector<std::string>{"build x.o"});
}

TEST_CASE("run_mutants: another mutant replaces an invalid or equivalent one") {
  const Outcome outcomes[] = {Outcome::caught, Outcome::invalid, Outcome::equivalent,
                              Outcome::survived, Outcome::caught};
  size_t next = 0, appended = 0;
  std::vector<Result> results = run_mutants(
      many_mutants(5), 2, {{}, [&](const Result &) { appended++; }},
      [&](const Mutant &mutant) { return Result{mutant.name, "", "", outcomes[next++], "", 0}; });
  CHECK(results.size() == 4);
  CHECK(appended == 4);
}

TEST_CASE("run_mutants: ends, when there are no more mutants") {
  auto caught = [](const Mutant &mutant) {
    return Result{mutant.name, "", "", Outcome::caught, "", 0};
  };
  CHECK(run_mutants(many_mutants(3), 10, {{}, [](const Result &) {}}, caught).size() == 3);
}

TEST_CASE("run_mutants: does not try known mutants again") {
  std::vector<Mutant> mutants = many_mutants(3);
  mutants[1].line = 100; // its line has moved since
  Journal journal = {{{mutants[1].name, {mutants[1].name, "", "", Outcome::survived, "", 0}}},
                     [](const Result &) {}};
  std::vector<unsigned> tried;
  std::vector<Result> results = run_mutants(mutants, 3, journal, [&](const Mutant &mutant) {
    tried.push_back(mutant.line);
    return Result{mutant.name, "", "", Outcome::caught, "", 0};
  });
  CHECK(tried == std::vector<unsigned>{0, 2});
  REQUIRE(results.size() == 3);
  CHECK(results[1].outcome == Outcome::survived);
}
