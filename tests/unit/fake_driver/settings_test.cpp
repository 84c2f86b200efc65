// Tests runtime/emulator/fake_driver/settings.cpp and gpu.cpp: valid values of TRITONC_EMULATOR,
// and the messages for invalid values.

#include "unit/runtime/fake_driver.h"

#include <doctest/doctest.h>

#include "emulator/fake_driver/settings.h"

using namespace tritonc;
using namespace tritonc::emulator::driver;

namespace {

std::string wrong(std::string_view text) {
  Settings settings;
  return apply(text, settings);
}

Settings applied(std::string_view text) {
  Settings settings;
  CHECK(apply(text, settings) == "");
  return settings;
}

} // namespace

TEST_CASE("settings: empty text gives the defaults") {
  Settings settings = applied("");
  CHECK(settings.options.order == emulator::Order::forward);
  CHECK(settings.options.async == emulator::Async::early);
  CHECK(settings.options.races);
  CHECK(settings.options.uninitialized);
  CHECK(settings.gpu(0).sm == 90);
  CHECK_FALSE(settings.fixes_gpu);
  CHECK(settings.devices == 1);
  CHECK(settings.memory == std::size_t(16) << 30);
  CHECK(settings.pools);
  CHECK(settings.version == 12040);
  CHECK(settings.report.empty());
}

TEST_CASE("settings: applies each setting") {
  CHECK(applied("order=reversed").options.order == emulator::Order::reversed);
  CHECK(applied("order=random").options.order == emulator::Order::random);
  CHECK(applied("async=late").options.async == emulator::Async::late);
  CHECK(applied("async=random").options.async == emulator::Async::random);
  CHECK(applied("seed=18446744073709551615").options.seed == UINT64_MAX);
  CHECK_FALSE(applied("races=off").options.races);
  CHECK_FALSE(applied("uninitialized=off").options.uninitialized);
  CHECK(applied("max_steps=5").options.max_steps == 5);
  CHECK(applied("workers=3").options.workers == 3);
  CHECK(applied("devices=4").devices == 4);
  CHECK(applied("sms=7").gpu(0).num_sms == 7);
  CHECK(applied("memory=4096").memory == 4096);
  CHECK(applied("memory=3K").memory == 3072);
  CHECK(applied("memory=2G").memory == std::size_t(2) << 30);
  CHECK_FALSE(applied("pools=off").pools);
  CHECK(applied("version=13000").version == 13000);
  CHECK(applied("report=some file").report == "some file");
  CHECK(applied("missing=cuMemAlloc,missing=cuInit").missing.size() == 2);
  CHECK(applied("missing=cuMemAlloc,missing=none").missing.empty());
  Settings settings = applied("order=random,,seed=7,");
  CHECK(settings.options.order == emulator::Order::random);
  CHECK(settings.options.seed == 7);
}

TEST_CASE("settings: fail= adds failures, fail=none removes them") {
  Settings settings = applied("fail=cuMemAlloc:3:2,fail=cuMemFree:*:700");
  REQUIRE(settings.failures.size() == 2);
  CHECK(settings.failures[0].function == "cuMemAlloc");
  CHECK(settings.failures[0].call == 3);
  CHECK(settings.failures[0].result == 2);
  CHECK(settings.failures[1].call == 0);
  CHECK(applied("fail=cuMemAlloc:3:2,fail=none").failures.empty());
}

TEST_CASE("settings: gpu= sets the architectures of the devices") {
  CHECK(applied("gpu=90a").gpu(0).architecture() == "sm_90a");
  CHECK(applied("gpu=sm_80").gpu(0).architecture() == "sm_80");
  CHECK(applied("gpu=80").fixes_gpu);
  CHECK_FALSE(applied("gpu=80,gpu=any").fixes_gpu);
  Settings two = applied("gpu=90a/86");
  CHECK(two.devices == 2);
  CHECK(two.gpu(0).sm == 90);
  CHECK(two.gpu(1).sm == 86);
  CHECK(two.gpu(5).sm == 86);
}

TEST_CASE("settings: error names the wrong and the valid values") {
  CHECK(wrong("order=backwards") ==
        "`order=backwards`: the value must be one of forward, reversed, random");
  CHECK(wrong("races=yes") == "`races=yes`: the value must be one of on, off");
  CHECK(wrong("workers=-1") == "`workers=-1`: the value must be a number from 0 to 4096");
  CHECK(wrong("seed=7x") == "`seed=7x`: the value must be a number from 0 to 18446744073709551615");
  CHECK(wrong("memory=lots") ==
        "`memory=lots`: the value must be a number of bytes, such as 1048576 or 512M");
  CHECK(wrong("gpu=42").find("any, or one or more of 75, 80,") != std::string::npos);
  CHECK(wrong("speed=7").find("unknown setting `speed`: expected order, async,") == 0);
  CHECK(wrong("order").find("one of forward") != std::string::npos);
  CHECK(wrong("fail=cuMemAlocc:1:2").find("name of a driver function") != std::string::npos);
  CHECK(wrong("fail=cuMemAlloc:0:2").find("function:call:result") != std::string::npos);
  CHECK(wrong("fail=cuMemAlloc:1").find("function:call:result") != std::string::npos);
  CHECK(wrong("missing=cuSwim").find("name of a driver function") != std::string::npos);
  CHECK(wrong("memory=99999999999G") != "");
}

TEST_CASE("settings: a wrong setting discards the whole text") {
  Settings settings;
  CHECK(apply("seed=7,order=backwards,devices=2", settings) != "");
  CHECK(settings.options.seed == 0);
  CHECK(settings.devices == 1);
}

TEST_CASE("runs_on: accepts only compatible architectures") {
  auto runs = [](const char *code, const char *gpu) { return runs_on(code, *find_gpu(gpu)); };
  CHECK(runs("sm_90a", "90a"));
  CHECK(runs("sm_90", "90a"));
  CHECK(runs("sm_80", "86"));
  CHECK(runs("sm_100f", "103"));
  CHECK_FALSE(runs("sm_86", "80"));
  CHECK_FALSE(runs("sm_80", "90"));
  CHECK_FALSE(runs("sm_90a", "100"));
  CHECK_FALSE(runs("sm_100a", "103"));
  CHECK_FALSE(runs("nonsense", "90"));
  CHECK(runs("compute_80", "80"));
  CHECK(runs("compute_80", "120"));
  CHECK_FALSE(runs("compute_90", "89"));
  CHECK_FALSE(runs("compute_90a", "90"));
  CHECK_FALSE(find_gpu("compute_80"));
}
