// Tests runtime/src/recent.cpp: the same launch again finds out nothing, and no launch is taken for
// another.

#include "recent.h"
#include "runtime/form_kernel.h"
#include "runtime/machine.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <thread>

using namespace tritonc;
using abi::hidden_kind;

namespace {

/// A map of the source, and a number that follows from the other arguments.
const std::vector<FormText> checked_form = {
    {"form", {}, "", {"1"}, 1, {TensorText(), {hidden_kind::i64, "n 3 * stride +"}}}};

std::atomic<int> wrong{0};

/// Whether what is hidden follows from the arguments. The stand-in's maps have the tensor's address
/// behind 8 bytes, then the stride.
void judge(const NotedForm &given) {
  std::uint64_t address, stride;
  std::memcpy(&address, given.hidden[0].data() + 8, 8);
  std::memcpy(&stride, given.hidden[0].data() + 16, 8);
  bool right = given.number(1) == given.args.n * 3 + given.args.stride &&
               address == reinterpret_cast<std::uintptr_t>(given.args.source) &&
               stride == std::uint64_t(given.args.stride * 2);
  wrong += !right;
}

struct Setting {
  explicit Setting(const std::vector<FormText> &forms = checked_form,
                   const std::string &settings = "")
      : machine(Machine::as_driver, settings), kernel(forms) {
    wrong = 0;
    on_noted = judge;
  }
  ~Setting() { on_noted = nullptr; }

  status launch(const FormArgs &args) {
    return machine.runtime().launch(kernel.kernel(), {}, &args, nullptr, nullptr);
  }
  /// How many maps were encoded for it.
  int encoded(const FormArgs &args) {
    int before = driver().calls("cuTensorMapEncodeTiled");
    REQUIRE(launch(args).ok());
    return driver().calls("cuTensorMapEncodeTiled") - before;
  }
  StandIn &driver() { return machine.driver(); }

  Machine machine;
  FormKernel kernel;
};

} // namespace

TEST_CASE("the same launch again asks the driver for the context and the launch alone") {
  Setting s;
  s.driver().new_context();
  REQUIRE(s.launch(form_args()).ok());
  CHECK(s.driver().calls("cuTensorMapEncodeTiled") == 1);
  NotedForm first = noted_form();
  s.driver().forget_calls();
  REQUIRE(s.launch(form_args()).ok());
  CHECK(s.driver().calls("cuCtxGetCurrent") == 1);
  CHECK(s.driver().calls("cuCtxGetDevice") == 1);
  CHECK(s.driver().calls("cuLaunchKernelEx") == 1);
  CHECK(s.driver().calls() == 3);
  CHECK(noted_form().hidden == first.hidden);
}

TEST_CASE("with any argument another one, it is another launch") {
  Setting s;
  alignas(16) static char other[64];
  FormArgs args = form_args();
  CHECK(s.encoded(args) == 1);
  FormArgs changed[] = {args, args, args, args};
  changed[0].source = other;
  changed[1].target = other;
  changed[2].n++;
  changed[3].stride += 8;
  for (const FormArgs &another : changed) {
    CHECK(s.encoded(another) == 1);
    CHECK(s.encoded(another) == 0);
  }
  CHECK(s.encoded(args) == 0);
  CHECK(wrong == 0);
}

TEST_CASE("what lies between the arguments does not count") {
  Setting s;
  FormArgs args;
  std::memset(static_cast<void *>(&args), 0x55, sizeof args);
  FormArgs good = form_args();
  args.source = good.source, args.target = good.target, args.n = good.n, args.stride = good.stride;
  CHECK(s.encoded(args) == 1);
  std::memset(reinterpret_cast<char *>(&args) + 20, 0xaa, 4);
  CHECK(s.encoded(args) == 0);
}

TEST_CASE("the named variant and the caller's grid count") {
  Setting s;
  s.kernel.add_variant(16, checked_form);
  FormArgs args = form_args();
  auto encoded = [&](const std::int32_t *choice, const grid *extent, const abi::kernel &kernel) {
    int before = s.driver().calls("cuTensorMapEncodeTiled");
    REQUIRE(s.machine.runtime().launch(kernel, {}, &args, choice, extent).ok());
    return s.driver().calls("cuTensorMapEncodeTiled") - before;
  };
  const std::int32_t large = 64, small = 16;
  const abi::kernel &kernel = s.kernel.kernel();
  for (int expected : {1, 0}) {
    CHECK(encoded(nullptr, nullptr, kernel) == expected);
    CHECK(encoded(&large, nullptr, kernel) == expected);
    CHECK(encoded(&small, nullptr, kernel) == expected);
  }
  abi::kernel without = kernel; // another kernel, and it declares no grid
  abi::variant variant = kernel.variants[0];
  variant.grid[0] = nullptr;
  without.variants = &variant;
  without.variant_count = 1;
  for (int expected : {1, 0})
    for (grid extent : {grid{1, 2, 3}, grid{2, 2, 3}, grid{1, 3, 3}, grid{1, 2, 4}})
      CHECK(encoded(nullptr, &extent, without) == expected);
}

TEST_CASE("a device's decisions are its own") {
  Setting s(checked_form, "gpu=90a/80");
  cu::Context *contexts[] = {s.driver().new_context(0), s.driver().new_context(1)};
  for (int round = 0; round < 4; round++) {
    s.driver().make_current(contexts[round % 2]);
    on_noted = round % 2 ? nullptr : judge; // what runs on the second has nothing hidden
    REQUIRE(s.launch(form_args()).ok());
    CHECK(noted_form().form == (round % 2 ? "for 80" : "form"));
    CHECK(s.driver().last_launch().context == contexts[round % 2]);
  }
  CHECK(wrong == 0);
}

TEST_CASE("what was refused is refused again, and what failed is tried again") {
  Setting s({{"form", {"n 128 % 0 =="}, "", {"1"}, 1, {TensorText()}}});
  on_noted = nullptr;
  FormArgs good = form_args(), bad = good;
  bad.n = 64;
  for (int round = 0; round < 2; round++) {
    CHECK(s.launch(bad).code() == status_code::requirement_failed);
    CHECK(s.launch(good).ok());
  }
  s.driver().configure("fail=cuLaunchKernelEx:*:1");
  CHECK(s.launch(good).cuda_result() == 1);
  s.driver().configure("fail=none");
  CHECK(s.launch(good).ok());
  CHECK(s.driver().calls("cuTensorMapEncodeTiled") == 1);
}

TEST_CASE("more launches than are remembered are all right") {
  Setting s;
  alignas(16) static char memory[16 * 1000];
  for (int round = 0; round < 2; round++)
    for (int i = 0; i < 1000; i++) {
      FormArgs args = form_args();
      args.source = memory + 16 * i;
      args.n = i % 7 + 1;
      REQUIRE(s.launch(args).ok());
      REQUIRE(noted_form().args.source == args.source);
    }
  CHECK(wrong == 0);
  // A few are remembered side by side.
  for (int i = 0; i < 20; i++) {
    FormArgs args = form_args();
    args.source = memory + 16 * i;
    REQUIRE(s.launch(args).ok());
  }
  int found = 0;
  for (int i = 0; i < 20; i++) {
    FormArgs args = form_args();
    args.source = memory + 16 * i;
    found += s.encoded(args) == 0;
  }
  CHECK(found >= 16);
}

TEST_CASE("a kernel with too many arguments, or of unknown sizes, is prepared each time") {
  Setting s;
  FormArgs args = form_args();
  SUBCASE("unknown sizes") { s.kernel.parameters[1].bytes = 0; }
  SUBCASE("too many") {
    on_noted = nullptr; // the host code is not given them
    while (s.kernel.parameters.size() < 60)
      s.kernel.parameters.push_back(s.kernel.parameters[1]);
    recent::Key key(s.kernel.kernel(), &args, nullptr, nullptr);
    CHECK_FALSE(key.is_usable());
    return;
  }
  CHECK(s.encoded(args) == 1);
  CHECK(s.encoded(args) == 1);
  CHECK(wrong == 0);
}

TEST_CASE("threads that launch the same and other things get what is theirs") {
  Setting s;
  alignas(16) static char memory[16 * 64];
  std::atomic<int> succeeded{0};
  const abi::kernel &kernel = s.kernel.kernel();
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 16; t++)
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 500; i++) {
        FormArgs args = form_args();
        args.source = memory + 16 * (random() % 64);
        args.n = std::int32_t(random() % 4) + 1;
        args.stride = 64 + 8 * std::int64_t(random() % 2);
        succeeded += s.machine.runtime().launch(kernel, {}, &args, nullptr, nullptr).ok();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(succeeded == 16 * 500);
  CHECK(wrong == 0);
}

TEST_CASE("readers and writers of a few entries never see parts of two decisions") {
  // The kernel has no parameters, its launches differ by their grids alone: more of them than there
  // are entries, so that these are written again and again.
  static const abi::variant variant = {};
  abi::kernel kernel = {};
  kernel.variants = &variant;
  kernel.variant_count = 1;
  std::atomic<int> mixed{0}, found{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 8; t++)
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      auto decision = std::make_unique<recent::Decision>();
      for (int i = 0; i < 20000; i++) {
        grid extent = {std::int64_t(random() % 300), 1, 1};
        recent::Key key(kernel, nullptr, nullptr, &extent);
        if (recent::recall(key, *decision)) {
          bool whole = decision->blocks.x == extent.x && decision->hidden.map_count == 8 &&
                       decision->hidden.number_count == 16;
          for (const cuda::TensorMapBytes &map : decision->hidden.maps)
            for (std::uint64_t word : map.words)
              whole &= word == std::uint64_t(extent.x);
          for (std::int64_t number : decision->hidden.numbers)
            whole &= number == extent.x;
          mixed += !whole;
          found++;
          continue;
        }
        decision->blocks = extent;
        decision->hidden.map_count = 8;
        decision->hidden.number_count = 16;
        for (cuda::TensorMapBytes &map : decision->hidden.maps)
          for (std::uint64_t &word : map.words)
            word = std::uint64_t(extent.x);
        for (std::int64_t &number : decision->hidden.numbers)
          number = extent.x;
        recent::remember(key, *decision);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(mixed == 0);
  CHECK(found > 0);
}
