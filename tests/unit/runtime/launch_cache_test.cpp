// Tests runtime/src/launch/launch_cache.cpp: a repeated launch skips all work, and no launch is
// mistaken for another one.

#include "launch/launch_cache.h"
#include "unit/runtime/config_kernel.h"
#include "unit/runtime/machine.h"
#include "unit/runtime/sample_kernel.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <thread>

using namespace tritonc;
using abi::hidden_kind;

namespace {

/// A tensor map of the source, and an integer that depends on the other arguments.
const std::vector<ConfigText> checked_schedule = {
    {"schedule", {}, "", {"1"}, 1, {TensorText(), {hidden_kind::i64, "n 3 * stride +"}}}};

std::atomic<int> wrong{0};

/// Checks that the hidden values match the arguments. In the fake driver's tensor maps, the address
/// is at byte 8 and the stride at byte 16.
void judge(const NotedLaunch &given) {
  std::uint64_t address, stride;
  std::memcpy(&address, given.hidden[0].data() + 8, 8);
  std::memcpy(&stride, given.hidden[0].data() + 16, 8);
  bool right = given.number(1) == given.args.n * 3 + given.args.stride &&
               address == reinterpret_cast<std::uintptr_t>(given.args.source) &&
               stride == std::uint64_t(given.args.stride * 2);
  wrong += !right;
}

struct Setting {
  explicit Setting(const std::vector<ConfigText> &schedules = checked_schedule,
                   const std::string &settings = "")
      : machine(Machine::as_driver, settings), kernel(schedules) {
    wrong = 0;
    on_noted = judge;
  }
  ~Setting() { on_noted = nullptr; }

  status launch(const ConfigArgs &args, stream where = {}) {
    return machine.runtime().launch(kernel.kernel(), where, &args, nullptr, nullptr);
  }
  /// Launches and returns the number of encoded tensor maps.
  int encoded(const ConfigArgs &args) {
    int before = driver().calls("cuTensorMapEncodeTiled");
    REQUIRE(launch(args).ok());
    return driver().calls("cuTensorMapEncodeTiled") - before;
  }
  StandIn &driver() { return machine.driver(); }

  Machine machine;
  ConfigKernel kernel;
};

} // namespace

TEST_CASE("launch_cache: repeat makes at most one extra driver call") {
  Setting s;
  s.driver().new_context();
  stream where;
  int questions = 1;
  SUBCASE("default stream") {}
  SUBCASE("created stream") {
    where = as_stream(s.driver().new_stream());
    questions = 0;
  }
  REQUIRE(s.launch(schedule_args(), where).ok());
  CHECK(s.driver().calls("cuTensorMapEncodeTiled") == 1);
  NotedLaunch first = noted_launch();
  s.driver().forget_calls();
  for (int round = 1; round <= 2; round++) {
    REQUIRE(s.launch(schedule_args(), where).ok());
    CHECK(s.driver().calls("cuCtxGetDevice") == questions * round);
    CHECK(s.driver().calls("cuLaunchKernelEx") == round);
    CHECK(s.driver().calls() == (questions + 1) * round);
    CHECK(s.driver().launches() == round + 1);
    CHECK(noted_launch().hidden == first.hidden);
  }
}

TEST_CASE("launch_cache: remembers 24 alternating launches") {
  Setting s;
  s.driver().new_context();
  stream where = as_stream(s.driver().new_stream());
  alignas(16) static char memory[16 * 24];
  auto launch_all = [&] {
    for (int i = 0; i < 24; i++) {
      ConfigArgs args = schedule_args();
      args.source = memory + 16 * i;
      REQUIRE(s.launch(args, where).ok());
      REQUIRE(noted_launch().args.source == args.source);
    }
  };
  launch_all();
  s.driver().forget_calls();
  for (int round = 0; round < 3; round++)
    launch_all();
  CHECK(s.driver().calls() == 3 * 24); // the launches alone
  CHECK(wrong == 0);
}

TEST_CASE("launch_cache: misses, when the stream differs") {
  Setting s;
  s.driver().new_context();
  cu::Stream *streams[] = {s.driver().new_stream(), s.driver().new_stream(), nullptr};
  for (int expected : {1, 0})
    for (cu::Stream *stream : streams) {
      int before = s.driver().calls("cuTensorMapEncodeTiled");
      REQUIRE(s.launch(schedule_args(), as_stream(stream)).ok());
      CHECK(s.driver().calls("cuTensorMapEncodeTiled") - before == expected);
      CHECK(s.driver().last_launch().stream == stream);
    }
}

TEST_CASE("launch_cache: misses, when an argument differs") {
  Setting s;
  alignas(16) static char other[64];
  ConfigArgs args = schedule_args();
  CHECK(s.encoded(args) == 1);
  ConfigArgs changed[] = {args, args, args, args};
  changed[0].source = other;
  changed[1].target = other;
  changed[2].n++;
  changed[3].stride += 8;
  for (const ConfigArgs &another : changed) {
    CHECK(s.encoded(another) == 1);
    CHECK(s.encoded(another) == 0);
  }
  CHECK(s.encoded(args) == 0);
  CHECK(wrong == 0);
}

TEST_CASE("launch_cache: compares every argument byte") {
  Machine machine;
  SampleKernel sample;
  SampleArgs args = good_args();
  SUBCASE("argument_bytes is set") { sample.kernel.argument_bytes = 20; }
  SUBCASE("argument_bytes is 0") {}
  StandIn &driver = machine.driver();
  driver.new_context();
  stream where = as_stream(driver.new_stream());
  /// Launches and returns whether the launch was in the cache.
  auto launch = [&](const SampleArgs &with) {
    int before = driver.calls("cuCtxGetCurrent");
    REQUIRE(machine.runtime().launch(sample.kernel, where, &with, nullptr, nullptr).ok());
    SampleArgs noted = noted_args();
    REQUIRE(noted.source == with.source);
    REQUIRE(noted.target == with.target);
    REQUIRE(noted.n == with.n);
    return driver.calls("cuCtxGetCurrent") == before;
  };
  CHECK_FALSE(launch(args));
  for (std::size_t byte = 0; byte < 20; byte++) {
    CAPTURE(byte);
    SampleArgs other = args;
    char *bytes = reinterpret_cast<char *>(&other);
    bool is_low = byte % 8 == 0; // pointers are multiples of 16; n is a positive multiple of 64
    bytes[byte] = char(bytes[byte] ^ (byte == 16 ? 64 : is_low ? 16 : 1));
    CHECK_FALSE(launch(other));
    CHECK(launch(other));
  }
  // The bytes after the arguments are ignored.
  std::memset(reinterpret_cast<char *>(&args) + 20, 0x77, sizeof args - 20);
  CHECK(launch(args));
}

TEST_CASE("launch_cache: ignores padding between arguments") {
  Setting s;
  ConfigArgs args;
  std::memset(static_cast<void *>(&args), 0x55, sizeof args);
  ConfigArgs good = schedule_args();
  args.source = good.source, args.target = good.target, args.n = good.n, args.stride = good.stride;
  CHECK(s.encoded(args) == 1);
  std::memset(reinterpret_cast<char *>(&args) + 20, 0xaa, 4);
  CHECK(s.encoded(args) == 0);
}

TEST_CASE("launch_cache: misses, when choice or grid differs") {
  Setting s;
  s.kernel.add_variant(16, checked_schedule);
  ConfigArgs args = schedule_args();
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
  abi::kernel without = kernel; // another kernel, which declares no grid
  abi::variant variant = kernel.variants[0];
  variant.grid[0] = nullptr;
  without.variants = &variant;
  without.variant_count = 1;
  for (int expected : {1, 0})
    for (grid extent : {grid{1, 2, 3}, grid{2, 2, 3}, grid{1, 3, 3}, grid{1, 2, 4}})
      CHECK(encoded(nullptr, &extent, without) == expected);
}

TEST_CASE("launch_cache: has separate entries per device") {
  Setting s(checked_schedule, "gpu=90a/80");
  cu::Context *contexts[] = {s.driver().new_context(0), s.driver().new_context(1)};
  for (int round = 0; round < 4; round++) {
    s.driver().make_current(contexts[round % 2]);
    on_noted = round % 2 ? nullptr : judge; // the code of the second device has no hidden values
    REQUIRE(s.launch(schedule_args()).ok());
    CHECK(noted_launch().schedule == (round % 2 ? "for 80" : "schedule"));
    CHECK(s.driver().last_launch().context == contexts[round % 2]);
  }
  CHECK(wrong == 0);
}

TEST_CASE("launch_cache: stores no refusals and no failures") {
  Setting s({{"schedule", {"n 128 % 0 =="}, "", {"1"}, 1, {TensorText()}}});
  on_noted = nullptr;
  ConfigArgs good = schedule_args(), bad = good;
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

TEST_CASE("launch_cache: evicts entries, when there are 1000 launches") {
  Setting s;
  alignas(16) static char memory[16 * 1000];
  for (int round = 0; round < 2; round++)
    for (int i = 0; i < 1000; i++) {
      ConfigArgs args = schedule_args();
      args.source = memory + 16 * i;
      args.n = i % 7 + 1;
      REQUIRE(s.launch(args).ok());
      REQUIRE(noted_launch().args.source == args.source);
    }
  CHECK(wrong == 0);
  // A few launches are all remembered.
  for (int i = 0; i < 20; i++) {
    ConfigArgs args = schedule_args();
    args.source = memory + 16 * i;
    REQUIRE(s.launch(args).ok());
  }
  int found = 0;
  for (int i = 0; i < 20; i++) {
    ConfigArgs args = schedule_args();
    args.source = memory + 16 * i;
    found += s.encoded(args) == 0;
  }
  CHECK(found >= 16);
}

TEST_CASE("launch_cache: unused, when arguments are unsized or too many") {
  Setting s;
  ConfigArgs args = schedule_args();
  SUBCASE("unknown sizes") { s.kernel.parameters[1].bytes = 0; }
  SUBCASE("too many arguments") {
    on_noted = nullptr; // the host code does not get these arguments
    while (s.kernel.parameters.size() < 60)
      s.kernel.parameters.push_back(s.kernel.parameters[1]);
    launch_cache::Key key(s.kernel.kernel(), nullptr, &args, nullptr, nullptr);
    CHECK_FALSE(key.is_usable());
    return;
  }
  CHECK(s.encoded(args) == 1);
  CHECK(s.encoded(args) == 1);
  CHECK(wrong == 0);
}

TEST_CASE("launch_cache: keeps the shared memory of each launch") {
  std::vector<ConfigText> schedules = checked_schedule;
  schedules[0].shared_bytes = "n 4 *";
  schedules[0].image_shared_bytes = 8192;
  Setting s(schedules);
  for (int round = 0; round < 3; round++)
    for (std::int32_t n : {64, 1024, 2048}) {
      ConfigArgs args = schedule_args();
      args.n = n;
      CHECK((s.encoded(args) == 0) == (round > 0)); // from the cache after the first round
      CHECK(s.driver().last_launch().shared_bytes == 4 * unsigned(n));
    }
}

TEST_CASE("launch_cache: threads get their own hidden values") {
  Setting s;
  alignas(16) static char memory[16 * 64];
  std::atomic<int> succeeded{0};
  const abi::kernel &kernel = s.kernel.kernel();
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 16; t++)
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 500; i++) {
        ConfigArgs args = schedule_args();
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

// ---- without a driver ----

namespace {

constexpr std::uint32_t map_count = 8, number_count = 8;

struct PlainArgs {
  std::int64_t number;
  std::int64_t again; // the same
};

std::atomic<int> mixed{0}, launches{0};
std::atomic<std::int64_t> launched_number{0};

/// A fake cuLaunchKernelEx. It checks twice that all values of the launch have the same number.
cuda::Result look(const cuda::LaunchConfig *config, cuda::Function, void **values, void **) {
  for (int time = 0; time < 2; time++) {
    std::int64_t number = 0, again = 0;
    std::memcpy(&number, values[0], sizeof number);
    std::memcpy(&again, values[1], sizeof again);
    bool whole = again == number && config->grid_x == unsigned(number) &&
                 config->attribute_count == 2 &&
                 config->attributes[0].value.cluster[0] == unsigned(number) &&
                 config->attributes[1].value.is_on == number;
    for (std::uint32_t i = 0; i < map_count; i++)
      for (std::uint64_t word : static_cast<cuda::TensorMapBytes *>(values[2 + 2 * i])->words)
        whole &= word == std::uint64_t(number);
    for (std::uint32_t i = 0; i < number_count; i++)
      whole &= *static_cast<std::int64_t *>(values[3 + 2 * i]) == number;
    mixed += !whole;
    std::this_thread::yield();
  }
  launches++;
  std::int64_t number = 0;
  std::memcpy(&number, values[0], sizeof number);
  launched_number = number;
  return cuda::success;
}

/// A kernel whose launches have the same number in all their values.
struct PlainKernel {
  explicit PlainKernel(bool is_whole) {
    for (std::uint32_t i = 0; i < map_count; i++) {
      hidden[2 * i].kind = hidden_kind::tensor_map;
      hidden[2 * i + 1].kind = hidden_kind::i64;
    }
    schedule.hidden = hidden;
    schedule.hidden_count = map_count + number_count;
    variant.parameters = parameters;
    kernel.variants = &variant;
    kernel.variant_count = 1;
    kernel.parameter_count = 2;
    kernel.argument_bytes = is_whole ? 16 : 0;
    driver.cuLaunchKernelEx = look;
  }

  launch_cache::Key key(int number) const { return key(number, number); }
  launch_cache::Key key(int number, int again) const {
    PlainArgs args = {number, again};
    return {kernel, nullptr, &args, nullptr, nullptr};
  }
  void remember(int number) { remember(number, number); }
  void remember(int number, int again) {
    launch_cache::Prepared prepared;
    prepared.config.grid_x = unsigned(number);
    prepared.add(cuda::cluster_dimension).cluster[0] = unsigned(number);
    prepared.add(cuda::programmatic_serialization).is_on = number;
    prepared.launch = &schedule;
    prepared.hidden.map_count = map_count;
    prepared.hidden.number_count = number_count;
    for (cuda::TensorMapBytes &map : prepared.hidden.maps)
      for (std::uint64_t &word : map.words)
        word = std::uint64_t(number);
    for (std::int64_t &value : prepared.hidden.numbers)
      value = number;
    launch_cache::remember(key(number, again), 0, kernel, prepared);
  }

  abi::parameter parameters[2] = {{"number", 0, 0, abi::parameter_kind::i64, false, 8, {}},
                                  {"again", 8, 0, abi::parameter_kind::i64, false, 8, {}}};
  abi::hidden_parameter hidden[map_count + number_count] = {};
  abi::launch_config schedule = {};
  abi::variant variant = {};
  abi::kernel kernel = {};
  cuda::Driver driver;
};

} // namespace

TEST_CASE("launch_cache: handles 1 to 64 argument bytes") {
  static const unsigned char *given; // the expected arguments, one byte each
  static std::uint32_t count;
  static bool right;
  cuda::Driver driver;
  driver.cuLaunchKernelEx = [](const cuda::LaunchConfig *, cuda::Function, void **values, void **) {
    right = true;
    for (std::uint32_t i = 0; i < count; i++)
      right &= *static_cast<unsigned char *>(values[i]) == given[i];
    return 0;
  };
  for (bool is_whole : {false, true})
    for (count = 1; count <= 64; count++) {
      CAPTURE(count);
      std::vector<abi::parameter> parameters;
      for (std::uint32_t i = 0; i < count; i++)
        parameters.push_back({"byte", i, 0, abi::parameter_kind::u8, false, 1, {}});
      abi::variant variant = {};
      variant.parameters = parameters.data();
      // Not deleted: kernels must stay at their addresses.
      abi::kernel &kernel = *new abi::kernel();
      kernel.variants = &variant;
      kernel.variant_count = 1;
      kernel.parameter_count = count;
      kernel.argument_bytes = is_whole ? count : 0;
      kernel.axis_count = 2;
      std::vector<unsigned char> bytes(count);
      for (std::uint32_t i = 0; i < count; i++)
        bytes[i] = static_cast<unsigned char>(i + 1);
      given = bytes.data();
      const std::int32_t choice[] = {3, 4}, another[] = {3, 5};
      const grid extent = {1, 2, 3};
      auto key = [&](const std::int32_t *chosen, const grid *said) {
        return launch_cache::Key(kernel, nullptr, bytes.data(), chosen, said);
      };
      bool is_kept = is_whole || count <= 48;
      CHECK(key(choice, &extent).is_usable() == is_kept);
      if (!is_kept)
        continue;
      launch_cache::remember(key(choice, &extent), 0, kernel, launch_cache::Prepared());
      CHECK_FALSE(bool(launch_cache::Again(key(another, &extent), 0)));
      CHECK_FALSE(bool(launch_cache::Again(key(nullptr, &extent), 0)));
      CHECK_FALSE(bool(launch_cache::Again(key(choice, nullptr), 0)));
      for (unsigned char &byte : bytes) {
        byte ^= 0x80;
        CHECK_FALSE(bool(launch_cache::Again(key(choice, &extent), 0)));
        byte ^= 0x80;
      }
      launch_cache::Again again(key(choice, &extent), 0);
      REQUIRE(bool(again));
      CHECK(again.launch(driver) == cuda::success);
      CHECK(right);
    }
}

TEST_CASE("launch_cache: does not evict an entry in use") {
  mixed = launches = 0;
  for (bool is_whole : {false, true}) {
    PlainKernel &plain = *new PlainKernel(is_whole);
    plain.remember(7);
    {
      launch_cache::Again first(plain.key(7), 0);
      REQUIRE(bool(first));
      for (int number = 100; number < 5000; number++)
        plain.remember(number);
      CHECK(first.launch(plain.driver) == cuda::success);
      CHECK(first.launch(plain.driver) == cuda::success);
    }
    CHECK(bool(launch_cache::Again(plain.key(7), 0)));
    CHECK_FALSE(bool(launch_cache::Again(plain.key(7), 1))); // another device
    // Now the entry may be evicted.
    for (int number = 100; number < 5000; number++)
      plain.remember(number);
    CHECK_FALSE(bool(launch_cache::Again(plain.key(7), 0)));
  }
  CHECK(mixed == 0);
  CHECK(launches == 4);
}

TEST_CASE("launch_cache: stores copies of a launch, when it is in use") {
  mixed = launches = 0;
  for (bool is_whole : {false, true}) {
    PlainKernel &plain = *new PlainKernel(is_whole);
    std::optional<launch_cache::Again> held[launch_cache::Set::ways];
    for (std::optional<launch_cache::Again> &one : held) {
      CHECK_FALSE(bool(launch_cache::Again(plain.key(7), 0)));
      plain.remember(7);
      one.emplace(plain.key(7), 0);
      REQUIRE(bool(*one));
    }
    plain.remember(7); // not stored: all entries are in use
    CHECK_FALSE(bool(launch_cache::Again(plain.key(7), 0)));
    for (std::optional<launch_cache::Again> &one : held)
      CHECK(one->launch(plain.driver) == cuda::success);
    for (std::optional<launch_cache::Again> &one : held) {
      one.reset();
      CHECK(bool(launch_cache::Again(plain.key(7), 0)));
    }
  }
  CHECK(mixed == 0);
  CHECK(launches == 2 * launch_cache::Set::ways);
}

TEST_CASE("launch_cache: stores a launch once, when it is not in use") {
  for (bool is_whole : {false, true}) {
    PlainKernel &plain = *new PlainKernel(is_whole);
    for (std::size_t i = 0; i < launch_cache::Set::ways; i++)
      plain.remember(7); // as by threads that make the same new launch
    launch_cache::Again only(plain.key(7), 0);
    CHECK(bool(only));
    CHECK_FALSE(bool(launch_cache::Again(plain.key(7), 0)));
  }
}

TEST_CASE("launch_cache: distinguishes launches with equal hashes") {
  mixed = launches = 0;
  for (bool is_whole : {false, true}) {
    PlainKernel &plain = *new PlainKernel(is_whole); // not deleted: kernels keep their addresses
    // In the hash, the third word has the factor 7 and the fourth the factor 9.
    plain.remember(1000, 2000);
    CHECK_FALSE(bool(launch_cache::Again(plain.key(1009, 1993), 0)));
    plain.remember(1009, 1993);
    for (auto [number, again] : {std::pair(1000, 2000), std::pair(1009, 1993)}) {
      launch_cache::Again found(plain.key(number, again), 0);
      REQUIRE(bool(found));
      launched_number = 0;
      CHECK(found.launch(plain.driver) == cuda::success);
      CHECK(launched_number == number);
    }
  }
}

TEST_CASE("launch_cache: eviction never mixes two launches") {
  // More launches than entries, so that entries are overwritten often. With -fsanitize=thread, this
  // test finds readers that ignore writers.
  mixed = launches = 0;
  PlainKernel &plain = *new PlainKernel(true);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 8; t++)
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 10000; i++) {
        int number = int(random() % 300);
        if (launch_cache::Again again(plain.key(number), 0); again)
          again.launch(plain.driver);
        else
          plain.remember(number);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(mixed == 0);
  CHECK(launches > 1000);
}
