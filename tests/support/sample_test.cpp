// Tests support/sample.h.

#include "support/sample.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <optional>
#include <set>

using namespace tritonc::test;

namespace {

std::vector<std::string> items(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; i++)
    names.push_back("item " + std::to_string(i));
  return names;
}

std::set<std::string> taken(const Sample &sample, const std::vector<std::string> &names) {
  std::set<std::string> taken;
  for (const std::string &name : names)
    if (sample.takes(name))
      taken.insert(name);
  return taken;
}

// Sets TRITONC_SEED during a scope; nullptr = not set.
class SeedVariable {
public:
  explicit SeedVariable(const char *value) {
    if (const char *old = std::getenv("TRITONC_SEED"))
      old_ = old;
    set(value);
  }
  ~SeedVariable() { set(old_ ? old_->c_str() : nullptr); }
  SeedVariable(const SeedVariable &) = delete;

private:
  static void set(const char *value) {
    if (value)
      ::setenv("TRITONC_SEED", value, 1);
    else
      ::unsetenv("TRITONC_SEED");
  }
  std::optional<std::string> old_;
};

} // namespace

TEST_CASE("hash_of: the same values on every machine") {
  CHECK(hash_of("") == 0xefd01f60ba992926);
  CHECK(hash_of("a") == 0x82a2a958a9bece5b);
  CHECK(hash_of("\xff") != hash_of("\x7f"));
}

TEST_CASE("Sample: takes about the given share of the items") {
  std::vector<std::string> names = items(10000);
  for (int percent : {1, 10, 33, 90}) {
    size_t count = taken(Sample("sweep", percent, "7"), names).size();
    CAPTURE(percent);
    CHECK(count > size_t(percent) * 100 * 8 / 10);
    CHECK(count < size_t(percent) * 100 * 12 / 10);
  }
  CHECK(taken(Sample("sweep", 0, "7"), names).empty());
}

TEST_CASE("Sample: 100 % takes every item, in order") {
  Sample sample("sweep", 100, "7");
  CHECK(sample.is_full());
  CHECK(taken(sample, items(1000)).size() == 1000);
  CHECK(sample.some_of(items(5)) == std::vector<size_t>{0, 1, 2, 3, 4});
  CHECK_FALSE(Sample("sweep", 99, "7").is_full());
}

TEST_CASE("Sample: new items do not change the choice") {
  Sample sample("sweep", 20, "7");
  std::set<std::string> before = taken(sample, items(100)), after = taken(sample, items(200));
  CHECK(std::includes(after.begin(), after.end(), before.begin(), before.end()));
  CHECK(after.size() > before.size());
}

TEST_CASE("Sample: another seed or sweep takes other items") {
  std::vector<std::string> names = items(1000);
  std::set<std::string> base = taken(Sample("sweep", 20, "7"), names);
  CHECK(taken(Sample("sweep", 20, "7"), names) == base);
  CHECK(taken(Sample("sweep", 20, "8"), names) != base);
  CHECK(taken(Sample("swee", 20, "p7"), names) != base);
  CHECK(taken(Sample("other", 20, "7"), names) != base);
}

TEST_CASE("Sample: the seeds of some weeks take every item") {
  std::set<std::string> all;
  for (int day = 0; day < 50; day++)
    all.merge(taken(Sample("sweep", 20, std::to_string(20261101 + day)), items(500)));
  CHECK(all.size() == 500);
}

TEST_CASE("Sample::order: all items, those that it takes first") {
  std::vector<std::string> names = items(100);
  Sample sample("sweep", 20, "7");
  std::vector<size_t> order = sample.order(names);
  CHECK(std::set<size_t>(order.begin(), order.end()).size() == 100);
  size_t count = taken(sample, names).size();
  REQUIRE(count > 0);
  for (size_t i = 0; i < order.size(); i++)
    CHECK(sample.takes(names[order[i]]) == (i < count));
  CHECK(sample.order({}).empty());
}

TEST_CASE("Sample::some_of: at least one item, ascending") {
  Sample sample("sweep", 20, "7"), none("sweep", 0, "7");
  std::vector<size_t> some = sample.some_of(items(100));
  CHECK(some.size() == taken(sample, items(100)).size());
  CHECK(std::is_sorted(some.begin(), some.end()));
  CHECK(none.some_of(items(100)) == std::vector<size_t>{none.order(items(100))[0]});
  CHECK(none.some_of({}).empty());
}

TEST_CASE("sample_seed: reads TRITONC_SEED") {
  SeedVariable variable("20261124");
  CHECK(sample_seed() == "20261124");
}

TEST_CASE("sample_seed: is fixed without TRITONC_SEED") {
  for (const char *value : {(const char *)nullptr, ""}) {
    SeedVariable variable(value);
    CHECK(sample_seed() == "1");
  }
}

TEST_CASE("sample_of_this_run: takes all items only with --no-skip") {
  bool all = doctest::getContextOptions()->no_skip;
  CHECK(sample_of_this_run("sweep", 20).is_full() == all);
}
