// Tests runtime/src/select/variant_override.cpp: TRITONC_FORCE_VARIANT.

#include "unit/runtime/machine.h"
#include "unit/runtime/sample_kernel.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

using namespace tritonc;

namespace {

/// A machine with this value of TRITONC_FORCE_VARIANT.
struct Setting {
  explicit Setting(const char *forced) { setenv("TRITONC_FORCE_VARIANT", forced, 1); }
  ~Setting() { unsetenv("TRITONC_FORCE_VARIANT"); }

  status launch(const std::int32_t *choice = nullptr) {
    return machine.runtime().launch(sample.kernel, {}, &args, choice, nullptr);
  }
  std::string kernel() { return machine.driver().last_launch().kernel; }

  Machine machine;
  SampleKernel sample;
  SampleArgs args = good_args(); // by default, a launch chooses tile 64
};

} // namespace

TEST_CASE("find_forced: launch without a choice takes the variant") {
  for (const char *text : {"sample::copy=16", "other::copy=1;sample::copy=16;x=2",
                           "sample::copy=16;", "sample::copy= 16"}) {
    CAPTURE(text);
    Setting s(text);
    REQUIRE(s.launch().ok());
    CHECK(s.kernel() == "copy_16");
    REQUIRE(s.launch().ok()); // a repeated launch
    CHECK(s.kernel() == "copy_16");
    abi::prepared_launch ready;
    REQUIRE(
        s.machine.runtime().prepare(s.sample.kernel, {}, &s.args, nullptr, nullptr, ready).ok());
    REQUIRE(s.machine.runtime().launch_prepared(ready, {}, &s.args).ok());
    CHECK(s.kernel() == "copy_16");
  }
}

TEST_CASE("find_forced: a named choice takes precedence") {
  Setting s("sample::copy=16");
  std::int32_t large = 64;
  REQUIRE(s.launch(&large).ok());
  CHECK(s.kernel() == "copy_64");
}

TEST_CASE("find_forced: ignores entries of other kernels") {
  for (const char *text :
       {"", ";;", "=16", "16", "sample::copy", "sample::copying=16", "sample::cop=16", "copy=16"}) {
    CAPTURE(text);
    Setting s(text);
    REQUIRE(s.launch().ok());
    CHECK(s.kernel() == "copy_64");
  }
}

TEST_CASE("find_forced: matches with or without template arguments") {
  for (const char *text : {"sample::copy=16", "sample::copy<half, N>=16"}) {
    Setting s(text);
    s.sample.kernel.name = "sample::copy<half, N>";
    REQUIRE(s.launch().ok());
    CHECK(s.kernel() == "copy_16");
  }
  Setting s("sample::copy<float, N>=16");
  s.sample.kernel.name = "sample::copy<half, N>";
  REQUIRE(s.launch().ok());
  CHECK(s.kernel() == "copy_64");
}

TEST_CASE("find_forced: unknown variant returns no_variant") {
  for (const char *text : {"sample::copy=32", "sample::copy=", "sample::copy=16,1",
                           "sample::copy=x", "sample::copy=16x"}) {
    CAPTURE(text);
    Setting s(text);
    status refused = s.launch();
    CHECK(refused.code() == status_code::no_variant);
    CHECK(s.machine.message(refused) == "sample::copy: TRITONC_FORCE_VARIANT names a variant that "
                                        "was not compiled: variants() lists the variants");
    CHECK(s.machine.driver().launches() == 0);
    std::int32_t large = 64;
    CHECK(s.launch(&large).ok());
  }
}

TEST_CASE("find_forced: forced variant must meet its requirements") {
  Setting s("sample::copy=64");
  s.args.n = 16;
  CHECK(std::string(s.launch().argument()) == "n % 64 == 0");
}
