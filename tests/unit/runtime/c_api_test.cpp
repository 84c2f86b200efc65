// Tests runtime/src/api/c_api.cpp and tritonc/runtime.h: each function of the C API.
//
// The tests of the C++ functions test the behavior in detail. These tests find a function that
// passes wrong arguments on, and a struct with another layout.

#include "unit/runtime/machine.h"
#include "unit/runtime/sample_kernel.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

using namespace tritonc;

namespace {

/// A machine with one kernel, as a C program sees it.
struct Setting {
  explicit Setting(Machine::Kind kind = Machine::as_driver, const std::string &settings = "")
      : machine(kind, settings) {}

  StandIn &driver() { return machine.driver(); }
  const tritonc_kernel *code() const {
    return reinterpret_cast<const tritonc_kernel *>(&sample.kernel);
  }
  tritonc_status launch(tritonc_stream stream = nullptr, const std::int32_t *choice = nullptr,
                        const tritonc_grid *extent = nullptr) {
    return c.launch(code(), stream, &args, choice, extent);
  }
  /// The kernel then takes the grid of the launch.
  void remove_declared_grid() {
    for (abi::variant &variant : sample.variants)
      variant.grid[0] = nullptr;
  }
  std::string message(const tritonc_status &status) const {
    std::string text(c.status_message(status, nullptr, 0) + 1, '\0');
    c.status_message(status, text.data(), text.size());
    text.pop_back();
    return text;
  }
  /// "sm_90a copy_64"
  std::string image() {
    return driver().last_launch().gpu + std::string(" ") + driver().last_launch().kernel;
  }

  Machine machine;
  const CFunctions &c = machine.runtime().c;
  SampleKernel sample;
  SampleArgs args = good_args();
};

tritonc_stream in_c(cu::Stream *stream) { return reinterpret_cast<tritonc_stream>(stream); }

bool is(const tritonc_grid &grid, int x, int y, int z) {
  return grid.x == x && grid.y == y && grid.z == z;
}

} // namespace

// ---- numbers ----

TEST_CASE("C numbers: each type has its own conversions") {
  Machine machine(Machine::no_file); // they need no driver
  const CFunctions &c = machine.runtime().c;
  CHECK(c.to_half(-1.5f).bits == 0xbe00);
  CHECK(c.to_bfloat16(-1.5f).bits == 0xbfc0);
  CHECK(c.to_float8_e4m3(-1.5f).bits == 0xbc);
  CHECK(c.to_float8_e5m2(-1.5f).bits == 0xbe);
  CHECK(c.from_half({0xbe00}) == -1.5f);
  CHECK(c.from_bfloat16({0xbfc0}) == -1.5f);
  CHECK(c.from_float8_e4m3({0xbc}) == -1.5f);
  CHECK(c.from_float8_e5m2({0xbe}) == -1.5f);
}

TEST_CASE("C numbers: large values become infinity, or 448 in float8_e4m3") {
  Machine machine(Machine::no_file);
  const CFunctions &c = machine.runtime().c;
  CHECK(std::isinf(c.from_half(c.to_half(65520.0f))));
  CHECK(c.from_half(c.to_half(65504.0f)) == 65504.0f);
  CHECK(std::isinf(c.from_bfloat16(c.to_bfloat16(3.4028235e38f))));
  CHECK(c.from_float8_e4m3(c.to_float8_e4m3(1e6f)) == 448.0f);
  CHECK(std::isinf(c.from_float8_e5m2(c.to_float8_e5m2(1e6f))));
  CHECK(std::isnan(c.from_half(c.to_half(NAN))));
  CHECK(std::isnan(c.from_bfloat16(c.to_bfloat16(NAN))));
  CHECK(std::isnan(c.from_float8_e4m3(c.to_float8_e4m3(NAN))));
  CHECK(std::isnan(c.from_float8_e5m2(c.to_float8_e5m2(NAN))));
}

// ---- status ----

TEST_CASE("C status: success has no kernel, argument or result") {
  Setting s;
  tritonc_status status = s.launch();
  CHECK(status.code == TRITONC_OK);
  CHECK(std::string(s.c.status_name(status)) == "ok");
  CHECK(std::string(s.c.status_kernel(status)) == "");
  CHECK(std::string(s.c.status_argument(status)) == "");
  CHECK(s.c.status_cuda_result(status) == 0);
  CHECK(s.message(status) == "ok");
}

TEST_CASE("C status: names kernel, argument and driver result") {
  Setting s;
  s.driver().configure("fail=cuLaunchKernelEx:*:1");
  tritonc_status status = s.launch();
  CHECK(status.code == TRITONC_CUDA);
  CHECK(status.kernel == s.code());
  CHECK(std::string(s.c.status_name(status)) == "cuda");
  CHECK(std::string(s.c.status_kernel(status)) == "sample::copy");
  CHECK(std::string(s.c.status_argument(status)) == "cuLaunchKernelEx");
  CHECK(s.c.status_cuda_result(status) == 1);
  CHECK(s.message(status) ==
        "sample::copy: cuLaunchKernelEx failed: CUDA_ERROR_INVALID_VALUE (1) invalid argument");
}

TEST_CASE("C status: each code of the enum has the name of its constant") {
  Machine machine(Machine::no_file);
  const CFunctions &c = machine.runtime().c;
  struct {
    int code;
    const char *name;
  } cases[] = {
      {TRITONC_OK, "ok"},
      {TRITONC_NO_DRIVER, "no_driver"},
      {TRITONC_DRIVER_TOO_OLD, "driver_too_old"},
      {TRITONC_WRONG_EMULATOR, "wrong_emulator"},
      {TRITONC_NO_DEVICE, "no_device"},
      {TRITONC_NO_IMAGE_FOR_DEVICE, "no_image_for_device"},
      {TRITONC_NO_HOST_CODE, "no_host_code"},
      {TRITONC_NO_VARIANT, "no_variant"},
      {TRITONC_REQUIREMENT_FAILED, "requirement_failed"},
      {TRITONC_NULL_POINTER, "null_pointer"},
      {TRITONC_MISALIGNED_POINTER, "misaligned_pointer"},
      {TRITONC_INVALID_ARGUMENT, "invalid_argument"},
      {TRITONC_UNSUITABLE_TENSOR, "unsuitable_tensor"},
      {TRITONC_NOT_PREPARED, "not_prepared"},
      {TRITONC_INVALID_CONSTANT, "invalid_constant"},
      {TRITONC_CAPTURING, "capturing"},
      {TRITONC_CORRUPT_IMAGE, "corrupt_image"},
      {TRITONC_NO_BUNDLE, "no_bundle"},
      {TRITONC_WRONG_BUNDLE, "wrong_bundle"},
      {TRITONC_CORRUPT_BUNDLE, "corrupt_bundle"},
      {TRITONC_NOT_PRELOADED_IN_CAPTURE, "not_preloaded_in_capture"},
      {TRITONC_FORKED_CHILD, "forked_child"},
      {TRITONC_OUT_OF_MEMORY, "out_of_memory"},
      {TRITONC_DEVICE_LOST, "device_lost"},
      {TRITONC_CUDA, "cuda"},
  };
  for (const auto &[code, name] : cases) {
    tritonc_status status = {};
    status.code = code;
    CHECK(std::string(c.status_name(status)) == name);
  }
}

TEST_CASE("C status: the message is cut to the buffer, with NUL") {
  Setting s;
  s.args.target = nullptr;
  tritonc_status status = s.launch();
  const std::string whole = s.message(status);
  CHECK(whole.rfind("sample::copy: argument `target`", 0) == 0);
  char buffer[8];
  std::memset(buffer, 'x', sizeof buffer);
  CHECK(s.c.status_message(status, buffer, sizeof buffer) == whole.size());
  CHECK(std::string(buffer) == whole.substr(0, 7));
  std::memset(buffer, 'x', sizeof buffer);
  CHECK(s.c.status_message(status, buffer, 0) == whole.size());
  CHECK(buffer[0] == 'x');
}

// ---- kernels ----

TEST_CASE("tritonc_launch: passes stream, arguments and choice") {
  Setting s;
  cu::Context *context = s.driver().new_context();
  cu::Stream *stream = s.driver().new_stream();
  REQUIRE(s.launch(in_c(stream)).code == TRITONC_OK);
  CHECK(s.image() == "sm_90a copy_64");
  CHECK(s.driver().last_launch().stream == stream);
  CHECK(s.driver().last_launch().context == context);
  CHECK(s.driver().last_launch().grid[0] == 16);
  CHECK(noted_args().source == s.args.source);
  CHECK(noted_args().target == s.args.target);
  CHECK(noted_args().n == 64 * 16);
  const std::int32_t narrow = 16;
  REQUIRE(s.launch(in_c(stream), &narrow).code == TRITONC_OK);
  CHECK(s.image() == "sm_90a copy_16");
  CHECK(s.driver().launches() == 2);
}

TEST_CASE("tritonc_launch: passes the grid") {
  Setting s;
  s.remove_declared_grid();
  const tritonc_grid grid = {2, 3, 4}, empty = {2, 0, 4}, negative = {2, -1, 4};
  REQUIRE(s.launch(nullptr, nullptr, &grid).code == TRITONC_OK);
  const cu::LastLaunch launch = s.driver().last_launch();
  CHECK(launch.grid[0] == 2);
  CHECK(launch.grid[1] == 3);
  CHECK(launch.grid[2] == 4);
  CHECK(s.launch(nullptr, nullptr, &empty).code == TRITONC_OK);
  CHECK(s.launch(nullptr, nullptr, &negative).code == TRITONC_INVALID_ARGUMENT);
  CHECK(s.driver().launches() == 1);
}

TEST_CASE("tritonc_launch: an error enqueues nothing") {
  Setting s;
  auto check_refused = [&](int code, const std::string &argument,
                           const std::int32_t *choice = nullptr) {
    tritonc_status status = s.launch(nullptr, choice);
    CHECK(status.code == code);
    CHECK(status.kernel == s.code());
    CHECK(s.c.status_argument(status) == argument);
  };
  const std::int32_t unknown = 5;
  check_refused(TRITONC_NO_VARIANT, "", &unknown);
  s.args.n = 17;
  check_refused(TRITONC_REQUIREMENT_FAILED, "n % 16 == 0");
  s.args = good_args();
  s.args.source = nullptr;
  check_refused(TRITONC_NULL_POINTER, "source");
  s.args = good_args();
  s.args.target = static_cast<char *>(s.args.target) + 2;
  check_refused(TRITONC_MISALIGNED_POINTER, "target");
  CHECK(s.driver().calls() == 0);
}

TEST_CASE("tritonc_prepare: loads the code, tritonc_launch_prepared launches it") {
  Setting s;
  cu::Stream *stream = (s.driver().new_context(), s.driver().new_stream());
  cu::Stream *other = s.driver().new_stream();
  tritonc_prepared_launch ready;
  const std::int32_t narrow = 16;
  REQUIRE(s.c.prepare(s.code(), in_c(stream), &s.args, &narrow, nullptr, &ready).code ==
          TRITONC_OK);
  CHECK(ready.code == s.code());
  CHECK(s.driver().launches() == 0);
  CHECK(s.driver().counters().libraries == 1);
  tritonc_prepared_launch copy = ready; // it owns nothing
  for (const tritonc_prepared_launch *one : {&ready, &copy}) {
    REQUIRE(s.c.launch_prepared(one, in_c(other), &s.args).code == TRITONC_OK);
    CHECK(s.image() == "sm_90a copy_16");
    CHECK(s.driver().last_launch().stream == other);
    CHECK(noted_args().target == s.args.target);
  }
  CHECK(s.driver().launches() == 2);
  CHECK(s.driver().counters().libraries == 1);
}

TEST_CASE("tritonc_prepare: passes the grid") {
  Setting s;
  s.remove_declared_grid();
  const tritonc_grid grid = {2, 3, 4};
  tritonc_prepared_launch ready;
  REQUIRE(s.c.prepare(s.code(), nullptr, &s.args, nullptr, &grid, &ready).code == TRITONC_OK);
  REQUIRE(s.c.launch_prepared(&ready, nullptr, &s.args).code == TRITONC_OK);
  CHECK(s.driver().last_launch().grid[1] == 3);
  CHECK(s.driver().last_launch().grid[2] == 4);
}

TEST_CASE("tritonc_prepare: an error leaves it not prepared") {
  Setting s;
  tritonc_prepared_launch ready;
  s.args.target = nullptr;
  tritonc_status status = s.c.prepare(s.code(), nullptr, &s.args, nullptr, nullptr, &ready);
  CHECK(status.code == TRITONC_NULL_POINTER);
  CHECK(ready.code == nullptr);
  CHECK(s.c.launch_prepared(&ready, nullptr, &s.args).code == TRITONC_NOT_PREPARED);
  CHECK(s.driver().launches() == 0);
}

TEST_CASE("tritonc_preload: loads one variant, or all") {
  Setting s(Machine::as_driver, "devices=2");
  const std::int32_t narrow = 16, unknown = 5;
  REQUIRE(s.c.preload(s.code(), &narrow, 0).code == TRITONC_OK);
  CHECK(s.driver().counters().libraries == 1);
  REQUIRE(s.c.preload(s.code(), nullptr, TRITONC_CURRENT_DEVICE).code == TRITONC_OK);
  CHECK(s.driver().counters().libraries == 2);
  s.driver().forget_calls();
  REQUIRE(s.launch(nullptr, &narrow).code == TRITONC_OK);
  CHECK(s.driver().calls("cuLibraryLoadData") == 0);
  CHECK(s.c.preload(s.code(), &unknown, 0).code == TRITONC_NO_VARIANT);
  CHECK(s.c.preload(s.code(), nullptr, 1).code == TRITONC_OK);
  CHECK(s.c.preload(s.code(), nullptr, 2).code == TRITONC_NO_DEVICE);
}

TEST_CASE("tritonc_set_constant: copies values to the stream's context") {
  Setting s;
  const std::int32_t compiled[2] = {7, 8};
  static std::int32_t found[2];
  for (abi::host_code &code : s.sample.codes) {
    code.entry = [](const abi::host_operation *, abi::host_thread *thread, void *const *) {
      std::memcpy(found, thread->constants, sizeof found);
    };
    code.constants = compiled;
    code.constant_bytes = sizeof compiled;
  }
  s.sample.set_threads(32); // rebuilds the images
  const abi::constant constant = {"table", 0, sizeof compiled};
  for (abi::variant &variant : s.sample.variants) {
    variant.constants = &constant;
    variant.constant_count = 1;
  }
  REQUIRE(s.launch().code == TRITONC_OK);
  CHECK(found[0] == 7);
  CHECK(found[1] == 8);

  const std::int32_t values[3] = {30, 31, 32};
  auto set = [&](const char *name, std::size_t count, cu::Stream *stream = nullptr) {
    return s.c.set_constant(s.code(), in_c(stream), name, values, count, sizeof *values);
  };
  REQUIRE(set("table", 2).code == TRITONC_OK);
  REQUIRE(s.launch().code == TRITONC_OK);
  CHECK(found[0] == 30);
  CHECK(found[1] == 31);

  for (const tritonc_status &status : {set("table", 3), set("other", 1)}) {
    CHECK(status.code == TRITONC_INVALID_CONSTANT);
    CHECK(status.kernel == s.code());
  }
  CHECK(std::string(s.c.status_argument(set("table", 3))) == "table");
  CHECK(std::string(s.c.status_argument(set("other", 1))) == "other");
  s.driver().new_context();
  cu::Stream *capturing = s.driver().new_stream();
  REQUIRE(s.driver().cuStreamBeginCapture_v2(capturing, 0) == cu::success);
  CHECK(set("table", 2, capturing).code == TRITONC_CAPTURING);
}

TEST_CASE("tritonc_variants, tritonc_info: list what was compiled") {
  Setting s(Machine::no_file);
  s.sample.infos[1][1].registers = 40;
  s.sample.infos[1][1].static_shared_bytes = 48;
  s.sample.infos[1][1].spill_stores = 4;
  s.sample.infos[1][1].spill_loads = 12;
  s.sample.infos[1][1].stack_bytes = 8;
  s.sample.infos[1][1].cubin_bytes = 5000;
  s.sample.infos[1][1].schedule = "baseline";
  s.sample.infos[1][1].specialization = "n % 64";
  std::size_t count = 0;
  const std::int32_t *variants = s.c.variants(s.code(), &count);
  REQUIRE(count == 2);
  CHECK(variants[0] == 64);
  CHECK(variants[1] == 16);

  const tritonc_image_info *infos = s.c.info(s.code(), &variants[1], &count);
  REQUIRE(count == 2);
  CHECK(std::string(infos[0].gpu) == "sm_80");
  CHECK(infos[0].registers == 0);
  CHECK(std::string(infos[1].gpu) == "sm_90a");
  CHECK(std::string(infos[1].schedule) == "baseline");
  CHECK(std::string(infos[1].specialization) == "n % 64");
  CHECK(infos[1].threads == 32);
  CHECK(infos[1].registers == 40);
  CHECK(infos[1].shared_bytes == 1024);
  CHECK(infos[1].static_shared_bytes == 48);
  CHECK(infos[1].spill_stores == 4);
  CHECK(infos[1].spill_loads == 12);
  CHECK(infos[1].stack_bytes == 8);
  CHECK(infos[1].cubin_bytes == 5000);

  infos = s.c.info(s.code(), nullptr, &count); // the first variant
  REQUIRE(count == 2);
  CHECK(infos[1].registers == 0);
  const std::int32_t unknown = 5;
  s.c.info(s.code(), &unknown, &count);
  CHECK(count == 0);
}

// ---- hooks ----

namespace {

/// The events, one line each.
using Log = std::vector<std::string>;

void on_error(const tritonc_status *what, void *data) {
  static_cast<Log *>(data)->push_back("error " + std::to_string(what->code) + " " + what->argument);
}

void on_load(const tritonc_load_event *what, void *data) {
  CHECK(what->nanoseconds >= 0);
  CHECK(std::string(what->specialization) == "");
  static_cast<Log *>(data)->push_back(std::string("load ") + what->kernel + " " + what->gpu + " " +
                                      what->schedule + std::to_string(what->bytes));
}

void on_choice(const tritonc_choice_event *what, void *data) {
  CHECK(what->variant_count == 1);
  CHECK(is(what->programs, 16, 1, 1));
  CHECK(what->cost == -1);
  CHECK(std::string(what->specialization) == "");
  static_cast<Log *>(data)->push_back(std::string("choice ") + what->kernel + " " +
                                      std::to_string(what->variant[0]) + " " + what->gpu + " " +
                                      what->schedule);
}

void on_jit(const tritonc_load_event *what, void *data) {
  static_cast<Log *>(data)->push_back(std::string("jit ") + what->kernel + " " + what->gpu);
}

} // namespace

TEST_CASE("tritonc_set_hooks: each event has its members") {
  Setting s;
  s.sample.make_ptx();
  Log log;
  const tritonc_hooks hooks = {on_error, on_load, on_choice, on_jit, &log};
  s.c.set_hooks(&hooks);
  REQUIRE(s.launch().code == TRITONC_OK);
  const std::string bytes = std::to_string(s.sample.bytes[1].size() - sizeof(abi::image_header));
  CHECK(log == Log{"choice sample::copy 64 compute_80 ", "load sample::copy compute_80 " + bytes,
                   "jit sample::copy compute_80"});
  log.clear();
  s.args.target = nullptr;
  CHECK(s.launch().code == TRITONC_NULL_POINTER);
  CHECK(log == Log{"error " + std::to_string(TRITONC_NULL_POINTER) + " target"});
}

TEST_CASE("tritonc_set_hooks: null disables one callback, or all") {
  Setting s;
  Log log;
  const tritonc_hooks only_choice = {nullptr, nullptr, on_choice, nullptr, &log};
  s.c.set_hooks(&only_choice);
  REQUIRE(s.launch().code == TRITONC_OK);
  CHECK(log.size() == 1);
  s.c.set_hooks(nullptr);
  tritonc_prepared_launch ready;
  REQUIRE(s.c.prepare(s.code(), nullptr, &s.args, nullptr, nullptr, &ready).code == TRITONC_OK);
  CHECK(log.size() == 1);
}

// ---- device memory and synchronization ----

TEST_CASE("tritonc_current_device: describes the device") {
  Setting s(Machine::emulator, "gpu=86,sms=84");
  tritonc_device_info info;
  REQUIRE(s.c.current_device(&info).code == TRITONC_OK);
  CHECK(std::string(info.name) == "TritonC emulator (sm_86)");
  CHECK(info.emulated);
  CHECK(info.major == 8);
  CHECK(info.minor == 6);
  CHECK(info.num_sms == 84);
  Setting on_driver;
  REQUIRE(on_driver.c.current_device(&info).code == TRITONC_OK);
  CHECK_FALSE(info.emulated);
}

TEST_CASE("C device memory: copies both ways, fills, releases") {
  Setting s;
  void *memory = nullptr;
  REQUIRE(s.c.allocate(&memory, 4).code == TRITONC_OK);
  CHECK(s.driver().counters().bytes >= 4);
  REQUIRE(s.c.copy_to_device(memory, "abc", 4).code == TRITONC_OK);
  REQUIRE(s.c.fill(memory, 'x', 2).code == TRITONC_OK);
  char back[4] = {};
  REQUIRE(s.c.copy_to_host(back, memory, 4).code == TRITONC_OK);
  CHECK(std::string(back) == "xxc");
  CHECK(s.c.synchronize(nullptr).code == TRITONC_OK);
  CHECK(s.c.release(memory).code == TRITONC_OK);
  CHECK(s.c.release(nullptr).code == TRITONC_OK);
  CHECK(s.driver().calls("cuMemFree") == 1);
  CHECK(s.driver().counters().allocations == 0);
}

TEST_CASE("C device memory: failures name the driver function and reach no hook") {
  Setting s;
  Log log;
  const tritonc_hooks hooks = {on_error, nullptr, nullptr, nullptr, &log};
  s.c.set_hooks(&hooks);
  void *memory = nullptr;
  REQUIRE(s.c.allocate(&memory, 4).code == TRITONC_OK);
  char byte = 0;
  auto check_failed = [&](const char *function, auto &&call) {
    s.driver().configure(std::string("fail=none,fail=") + function + ":1:999");
    tritonc_status status = call();
    CHECK(status.code == TRITONC_CUDA);
    CHECK(s.c.status_cuda_result(status) == 999);
    CHECK(std::string(s.c.status_argument(status)) == function);
    CHECK(status.kernel == nullptr);
  };
  check_failed("cuMemcpyHtoD", [&] { return s.c.copy_to_device(memory, &byte, 1); });
  check_failed("cuMemcpyDtoH", [&] { return s.c.copy_to_host(&byte, memory, 1); });
  check_failed("cuMemsetD8", [&] { return s.c.fill(memory, 1, 1); });
  check_failed("cuStreamSynchronize", [&] { return s.c.synchronize(nullptr); });
  check_failed("cuMemFree", [&] { return s.c.release(memory); });
  check_failed("cuMemAlloc", [&] {
    void *more = memory;
    tritonc_status status = s.c.allocate(&more, 1);
    CHECK(more == nullptr);
    return status;
  });
  CHECK(s.driver().counters().allocations == 1);
  CHECK(log.empty());
}

TEST_CASE("tritonc_synchronize: passes its stream") {
  Setting s;
  s.driver().new_context();
  cu::Stream *stream = s.driver().new_stream(), *other = s.driver().new_stream(1);
  REQUIRE(s.c.synchronize(in_c(stream)).code == TRITONC_OK);
  const int relaxed = 2;
  REQUIRE(s.driver().cuStreamBeginCapture_v2(stream, relaxed) == cu::success);
  CHECK(s.c.synchronize(in_c(other)).code == TRITONC_OK);
  CHECK(s.c.synchronize(in_c(stream)).code == TRITONC_CUDA); // it is being captured
}

TEST_CASE("C API: without a driver, each function returns no_driver") {
  Setting s(Machine::no_file);
  tritonc_device_info info;
  tritonc_prepared_launch ready;
  void *memory = &s;
  char byte = 0;
  CHECK(s.launch().code == TRITONC_NO_DRIVER);
  CHECK(s.c.prepare(s.code(), nullptr, &s.args, nullptr, nullptr, &ready).code ==
        TRITONC_NO_DRIVER);
  CHECK(s.c.preload(s.code(), nullptr, 0).code == TRITONC_NO_DRIVER);
  CHECK(s.c.current_device(&info).code == TRITONC_NO_DRIVER);
  CHECK(s.c.copy_to_device(memory, &byte, 1).code == TRITONC_NO_DRIVER);
  CHECK(s.c.copy_to_host(&byte, memory, 1).code == TRITONC_NO_DRIVER);
  CHECK(s.c.fill(memory, 1, 1).code == TRITONC_NO_DRIVER);
  CHECK(s.c.synchronize(nullptr).code == TRITONC_NO_DRIVER);
  CHECK(s.c.release(memory).code == TRITONC_NO_DRIVER);
  CHECK(s.c.allocate(&memory, 1).code == TRITONC_NO_DRIVER);
  CHECK(memory == nullptr);
}
