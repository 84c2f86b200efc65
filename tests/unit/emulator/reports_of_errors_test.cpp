// Tests reports of invalid accesses (bounds, alignment, unwritten memory) and their texts.

#include "unit/emulator/kernel.h"

#include <doctest/doctest.h>

using namespace tritonc::emulator;
using namespace tritonc::emulator::test;

namespace {

/// Returns the reports of a kernel in which only thread 5 runs `body`. Parameter x has 4 ints, and
/// y has 4 unwritten bytes.
struct Fixture {
  Kernel k;
  int *x;
  int *y;
  Fixture() {
    k.shared_bytes = 256;
    k.buffer("a", 0, 64);
    k.buffer("b", 64, 64);
    x = k.parameter<int>("x", {1, 2, 3, 4});
    y = k.unwritten<int>("y", 1);
  }
  std::string operator()(std::function<void(Gpu &)> body) {
    k.run([=](Gpu &gpu) {
      if (gpu.tid_x() == 5)
        body(gpu);
    });
    return k.reports();
  }
};

const std::string by_5 = " [kernel k, program (0, 0, 0), thread 5]\n";

} // namespace

TEST_CASE("global access: out of bounds") {
  Fixture f;
  int *x = f.x;
  CHECK(f([=](Gpu &gpu) { gpu.store(x + 3, gpu.load(x)); }) == "");
  CHECK(f([=](Gpu &gpu) { gpu.load(x + 4, 7); }) ==
        "k.tc:7:1: error: load of 4 bytes at byte 16 of `x`, which has 16 bytes" + by_5);
  CHECK(f.k.result.reports[0].kind == Report::Kind::out_of_bounds);
  CHECK(f([=](Gpu &gpu) { gpu.store(x - 1, 1, 7); }) ==
        "k.tc:7:1: error: store of 4 bytes at 4 bytes before `x`, which has 16 bytes" + by_5);
  CHECK(f([=](Gpu &gpu) { gpu.load(reinterpret_cast<long *>(x + 3), 7); }) != "");
  CHECK(f([=](Gpu &gpu) { gpu.load(x + 1'000'000, 7); }) ==
        "k.tc:7:1: error: load of 4 bytes at byte 3930368 of `y`, which has 4 bytes" + by_5);
  CHECK(f([=](Gpu &gpu) { gpu.load(static_cast<int *>(nullptr), 7); }) ==
        "k.tc:7:1: error: load of 4 bytes at address 0x0, a null pointer" + by_5);
  CHECK(f([=](Gpu &gpu) { gpu.load(gpu.shared<int>(4), 7); }).find("which is in shared memory") !=
        std::string::npos);
  int here = 0;
  CHECK(f([=, &here](Gpu &gpu) { gpu.load(&here, 7); }).find("which is not GPU memory") !=
        std::string::npos);
}

TEST_CASE("global access: partly out of bounds") {
  Fixture f;
  struct alignas(4) Four {
    int words[4];
  };
  int *x = f.x;
  CHECK(f([=](Gpu &gpu) { gpu.load(reinterpret_cast<Four *>(x + 2), 7); }) ==
        "k.tc:7:1: error: load of 16 bytes at byte 16 of `x`, which has 16 bytes" + by_5);
}

TEST_CASE("global access: interior, invalid and freed pointers") {
  Kernel k;
  auto *memory = static_cast<int *>(k.memory.allocate(400));
  k.memory.mark_initialized(memory, 400);
  k.value("z", memory + 10);
  auto run = [&](int *p) {
    k.run([=](Gpu &gpu) {
      if (gpu.tid_x() == 5)
        gpu.load(p, 7);
    });
    return k.reports();
  };
  CHECK(run(memory) == "");
  CHECK(run(memory + 100) == "k.tc:7:1: error: load of 4 bytes at byte 360 of `z`, which begins at "
                             "byte 40 of 400 allocated bytes" +
                                 by_5);
  CHECK(k.memory.release(memory));
  CHECK(run(memory + 11) ==
        "k.tc:7:1: error: load of 4 bytes at byte 4 of `z`, whose memory was freed" + by_5);
}

TEST_CASE("global access: misaligned") {
  Fixture f;
  auto *bytes = reinterpret_cast<std::byte *>(f.x);
  std::string text = f([=](Gpu &gpu) { gpu.load(reinterpret_cast<int *>(bytes + 2), 7); });
  CHECK(text.starts_with("k.tc:7:1: error: load of 4 bytes at byte 2 of `x`: the address 0x"));
  CHECK(text.ends_with("is not a multiple of 4" + by_5));
  CHECK(f([=](Gpu &gpu) { gpu.load(reinterpret_cast<short *>(bytes + 2), 7); }) == "");
}

TEST_CASE("global access: read of unwritten memory") {
  Fixture f;
  int *y = f.y;
  CHECK(f([=](Gpu &gpu) {
          gpu.store(y, 1);
          gpu.load(y);
        }) == "");
  f.k.memory.mark_uninitialized(y, 4);
  CHECK(f([=](Gpu &gpu) {
          gpu.load(y, 7);
          gpu.load(y, 7);
        }) ==
        "k.tc:7:1: error: load of 4 bytes at byte 0 of `y`: the memory is uninitialized" + by_5);
  f.k.options.uninitialized = false;
  CHECK(f([=](Gpu &gpu) { gpu.load(y, 7); }) == "");
}

TEST_CASE("global access: large allocation") {
  Kernel k;
  size_t count = 1'000'000;
  int *x = k.unwritten<int>("x", count);
  k.memory.mark_initialized(x + 3, 4);
  k.threads = 1024;
  k.run([=](Gpu &gpu) {
    uint32_t i = gpu.tid_x();
    if (i == 0)
      gpu.load(x + 3);
    for (size_t j = i; j < 100'000; j += 1024)
      gpu.store(x + j, 1);
    if (i == 1)
      gpu.load(x + 500'000, 7);
    if (i == 2)
      gpu.load(x + count, 8);
  });
  CHECK(k.reports() ==
        "k.tc:7:1: error: load of 4 bytes at byte 2000000 of `x`: the memory is uninitialized "
        "[kernel k, program (0, 0, 0), thread 1]\n"
        "k.tc:8:1: error: load of 4 bytes at byte 4000000 of `x`, which has 4000000 bytes [kernel "
        "k, program (0, 0, 0), thread 2]\n");
}

TEST_CASE("global access: read of a half-written word") {
  Fixture f;
  int *y = f.y;
  CHECK(f([=](Gpu &gpu) {
          gpu.store(reinterpret_cast<short *>(y), 1);
          gpu.load(y, 7);
        }) ==
        "k.tc:7:1: error: load of 4 bytes at byte 2 of `y`: the memory is uninitialized" + by_5);
}

TEST_CASE("shared access: out of bounds") {
  Fixture f;
  CHECK(f([](Gpu &gpu) { gpu.store_shared<int>(252, 1); }) == "");
  CHECK(f([](Gpu &gpu) { gpu.store_shared<int>(256, 1, 7); }) ==
        "k.tc:7:1: error: store of 4 bytes at offset 256 of shared memory, which has 256 bytes" +
            by_5);
  CHECK(f([](Gpu &gpu) { gpu.store_shared<int>(254, 1, 7); }) ==
        "k.tc:7:1: error: store of 4 bytes at offset 254 of shared memory, which has 256 bytes" +
            by_5);
  CHECK(f([](Gpu &gpu) { gpu.store_shared<int>(uint32_t(-4), 1, 7); }) ==
        "k.tc:7:1: error: store of 4 bytes at offset -4 of shared memory, which has 256 bytes" +
            by_5);
  CHECK(f([](Gpu &gpu) { gpu.store_shared<int>(66, 1, 7); }) ==
        "k.tc:7:1: error: store of 4 bytes at offset 66 of shared memory (byte 2 of `b`), which is "
        "not a multiple of 4" +
            by_5);
  CHECK(f([](Gpu &gpu) { gpu.load_shared<int>(68, 7); }) ==
        "k.tc:7:1: error: load of 4 bytes at offset 68 of shared memory (byte 4 of `b`): the "
        "memory is uninitialized" +
            by_5);
}

TEST_CASE("shared access: unwritten memory reads as NaN") {
  Fixture f;
  f.k.options.uninitialized = false;
  float *out = reinterpret_cast<float *>(f.y);
  CHECK(f([=](Gpu &gpu) { gpu.store(out, gpu.load_shared<float>(68)); }) == "");
  CHECK(*out != *out);
}

TEST_CASE("generic access: shared, global and stack addresses") {
  Fixture f;
  int *x = f.x;
  CHECK(f([=](Gpu &gpu) {
          gpu.store_generic(gpu.shared<int>(8), gpu.load_generic(x));
          CHECK(gpu.load_generic(gpu.shared<int>(8)) == 1);
          int own = 3;
          gpu.store_generic(&own, gpu.load_generic(&own) + 1);
        }) == "");
  CHECK(f([=](Gpu &gpu) { gpu.load_generic(gpu.shared<int>(256), 7); }) ==
        "k.tc:7:1: error: load of 4 bytes at offset 256 of shared memory, which has 256 bytes" +
            by_5);
  CHECK(f([=](Gpu &gpu) { gpu.load_generic(x + 4, 7); }) ==
        "k.tc:7:1: error: load of 4 bytes at byte 16 of `x`, which has 16 bytes" + by_5);
}

TEST_CASE("report: kind, sites, program and thread") {
  Kernel k;
  k.grid = {2, 2, 2};
  int *x = k.parameter<int>("x", {1});
  k.run([=](Gpu &gpu) {
    if (gpu.ctaid_x() && gpu.ctaid_y() && gpu.ctaid_z() && gpu.tid_x() == 9)
      gpu.load(x + 1, 77);
  });
  REQUIRE(k.result.reports.size() == 1);
  const Report &report = k.result.reports[0];
  CHECK(report.kind == Report::Kind::out_of_bounds);
  CHECK(report.site.line == 77);
  CHECK(report.other_site.line == 0);
  CHECK(report.program == Dim3{1, 1, 1});
  CHECK(report.thread == 9);
}

TEST_CASE("report: names the kernel when the site is unknown") {
  Kernel k;
  int *x = k.parameter<int>("x", {1});
  k.run([=](Gpu &gpu) {
    if (gpu.tid_x() == 0)
      gpu.load(x + 1, 0);
  });
  CHECK(k.reports() == "k: error: load of 4 bytes at byte 4 of `x`, which has 4 bytes [kernel k, "
                       "program (0, 0, 0), thread 0]\n");
}
