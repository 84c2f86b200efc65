// Asks this machine's driver questions that its documentation leaves open and that matter for the
// runtime. Prints one line per answer. docs/pages/reference/runtime.md, "What drivers do", has the
// answers.
//
//     driver_facts IMAGES [QUESTION...]    IMAGES: the folder that driver_facts_images.cmake makes
//     driver_facts --launch                one launch of a kernel by the runtime, for a profiler
//
// Each part of a question runs in a separate process. So a crash is an answer, and process state
// (loaded code, a broken context) does not affect the other parts. Questions about two devices
// print "needs two devices" if the machine has one.
//
// Times are host times, medians. A line that begins with CONTRADICTED means that the driver breaks
// an assumption of the runtime. The exit code is then 1. Exit code 77: no GPU.

#include "random_kernels/isolate.h"

#include "unit/runtime/fake_driver.h"

#include <driver_facts_kernels.hpp>
#include <tritonc/device.hpp>

#include <algorithm>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

namespace cu = tritonc::cu;
using tritonc::random::Isolated;
using tritonc::random::isolated;

constexpr int seconds_per_part = 60;
constexpr char contradicted[] = "CONTRADICTED: ";

std::string folder; // of the images

// ---- the driver ----

// The driver functions of this process, set by `open`. null = the driver lacks the function.
cu::Functions driver;
void *driver_library = nullptr;

struct Failed {
  std::string text;
};

std::string name_of(int result) {
  const char *name = nullptr;
  if (result == 0)
    return "works";
  if (driver.cuGetErrorName(result, &name) != 0 || !name)
    return std::to_string(result);
  return std::to_string(result) + " " + name;
}

void check(int result, const char *what) {
  if (result != 0)
    throw Failed{std::string(what) + ": " + name_of(result)};
}

// False if there is no device.
bool open() {
  const char *named = std::getenv("TRITONC_DRIVER");
  driver_library = dlopen(named && *named ? named : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!driver_library)
    return false;
#define FUNCTION(name, symbol, since, parameters)                                                  \
  driver.symbol = reinterpret_cast<decltype(driver.symbol)>(dlsym(driver_library, #symbol));
#include "emulator/fake_driver/functions.def"
  return driver.cuInit && driver.cuInit(0) == 0;
}

int device_count() {
  int count = 0;
  check(driver.cuDeviceGetCount(&count), "cuDeviceGetCount");
  return count;
}

// Retains the primary context of a device and makes it current.
cu::Context *enter(int device = 0) {
  cu::Context *context = nullptr;
  check(driver.cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  check(driver.cuCtxSetCurrent(context), "cuCtxSetCurrent");
  return context;
}

bool is_active(int device) {
  unsigned flags = 0;
  int active = 0;
  check(driver.cuDevicePrimaryCtxGetState(device, &flags, &active), "cuDevicePrimaryCtxGetState");
  return active != 0;
}

cu::Stream *new_stream() {
  constexpr unsigned non_blocking = 1;
  cu::Stream *stream = nullptr;
  check(driver.cuStreamCreate(&stream, non_blocking), "cuStreamCreate");
  return stream;
}

void drain(cu::Stream *stream) { check(driver.cuStreamSynchronize(stream), "cuStreamSynchronize"); }

// ---- code ----

std::string read(const std::string &file) {
  std::ifstream in(folder + "/" + file, std::ios::binary);
  if (!in)
    throw Failed{"cannot read " + folder + "/" + file};
  return {std::istreambuf_iterator<char>(in), {}};
}

enum class Copy { preserved, copied };

int load(cu::Library *&library, const std::string &image, Copy copy = Copy::preserved) {
  int is_preserved = 1; // CU_LIBRARY_BINARY_IS_PRESERVED
  void *yes = reinterpret_cast<void *>(1);
  return driver.cuLibraryLoadData(&library, image.c_str(), nullptr, nullptr, 0, &is_preserved, &yes,
                                  copy == Copy::preserved ? 1 : 0);
}

// The image stays in memory until the process ends, because the driver does not copy it.
cu::Kernel *new_kernel(const char *name, const char *file = "driver_facts.fatbin") {
  cu::Library *library = nullptr;
  cu::Kernel *kernel = nullptr;
  check(load(library, *new std::string(read(file))), "cuLibraryLoadData");
  check(driver.cuLibraryGetKernel(&kernel, library, name), "cuLibraryGetKernel");
  return kernel;
}

cu::Kernel *function_of(cu::Kernel *kernel) {
  cu::Kernel *function = nullptr;
  check(driver.cuKernelGetFunction(&function, kernel), "cuKernelGetFunction");
  return function;
}

cu::Pointer new_memory(std::size_t bytes) {
  cu::Pointer memory = 0;
  check(driver.cuMemAlloc_v2(&memory, bytes), "cuMemAlloc");
  check(driver.cuMemsetD8_v2(memory, 0, bytes), "cuMemsetD8");
  return memory;
}

unsigned value_at(cu::Pointer memory) {
  unsigned value = 0;
  check(driver.cuMemcpyDtoH_v2(&value, memory, sizeof value), "cuMemcpyDtoH");
  return value;
}

cu::LaunchConfig one_thread(cu::Stream *stream, unsigned shared_bytes = 0) {
  return {1, 1, 1, 1, 1, 1, shared_bytes, stream, nullptr, 0};
}

// *target = n
int put(cu::Kernel *kernel, cu::Stream *stream, cu::Pointer target, unsigned n,
        unsigned shared_bytes = 0) {
  void *arguments[] = {&target, &n};
  cu::LaunchConfig config = one_thread(stream, shared_bytes);
  return driver.cuLaunchKernelEx(&config, kernel, arguments, nullptr);
}

// Runs `put` and describes the outcome.
std::string put_and_look(cu::Kernel *kernel, cu::Stream *stream, cu::Pointer target, unsigned n,
                         unsigned shared_bytes = 0) {
  if (int result = put(kernel, stream, target, n, shared_bytes))
    return name_of(result);
  if (int result = driver.cuStreamSynchronize(stream))
    return "launched, then " + name_of(result);
  return value_at(target) == n ? "works" : "launched, but wrote nothing";
}

constexpr int max_dynamic_shared_size = 8; // CU_FUNC_ATTRIBUTE_...
constexpr int ptx_version = 5, binary_version = 6;
constexpr unsigned much_shared = 100 * 1024; // bytes; needs a raised limit

// ---- answers ----

[[gnu::format(printf, 1, 2)]] void answer(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vprintf(format, arguments);
  va_end(arguments);
  std::printf("\n");
}

void count_on(bool holds, const char *what) {
  if (!holds)
    std::printf("%s%s\n", contradicted, what);
}

double milliseconds() {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count();
}

double milliseconds_of(const std::function<void()> &work) {
  double before = milliseconds();
  work();
  return milliseconds() - before;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// The time of one call, measured over 10,000 calls without a pause.
double nanoseconds(const std::function<void()> &call) {
  std::vector<double> batches;
  for (int batch = 0; batch < 21; batch++)
    batches.push_back(1e6 / 10000 * milliseconds_of([&] {
                        for (int i = 0; i < 10000; i++)
                          call();
                      }));
  return median(batches);
}

// ---- 1: the first use of code during a capture ----

constexpr int capture_relaxed = 2;
const char *const capture_modes[] = {"global", "thread-local", "relaxed"};

// The first use of code by the runtime: it loads the library and raises the shared-memory limit,
// with the thread's capture mode set to relaxed or unchanged.
struct FirstUse {
  cu::Library *library = nullptr;
  cu::Kernel *kernel = nullptr;
  int loaded = 0, raised = 0;

  FirstUse(const std::string &image, bool in_relaxed_mode) {
    int mode = capture_relaxed;
    if (in_relaxed_mode)
      check(driver.cuThreadExchangeStreamCaptureMode(&mode), "cuThreadExchangeStreamCaptureMode");
    loaded = load(library, image);
    if (!loaded)
      check(driver.cuLibraryGetKernel(&kernel, library, "put"), "cuLibraryGetKernel");
    if (kernel)
      raised = driver.cuKernelSetAttribute(max_dynamic_shared_size, much_shared, kernel, 0);
    if (in_relaxed_mode)
      check(driver.cuThreadExchangeStreamCaptureMode(&mode), "cuThreadExchangeStreamCaptureMode");
  }

  std::string text() const {
    return "load " + name_of(loaded) + (kernel ? ", limit " + name_of(raised) : "");
  }
};

void capture_here(int mode, bool in_relaxed_mode, const std::string &how) {
  enter();
  cu::Stream *stream = new_stream();
  cu::Pointer target = new_memory(4);
  std::string image = read("driver_facts.fatbin");
  check(driver.cuStreamBeginCapture_v2(stream, mode), "cuStreamBeginCapture");
  FirstUse use(image, in_relaxed_mode);
  std::string launched = "-";
  if (use.kernel)
    launched = name_of(put(use.kernel, stream, target, 42, much_shared));
  cu::Graph *graph = nullptr;
  int ended = driver.cuStreamEndCapture(stream, &graph);
  std::string ran = "-";
  if (!ended && use.kernel) {
    cu::GraphExec *exec = nullptr;
    check(driver.cuGraphInstantiateWithFlags(&exec, graph, 0), "cuGraphInstantiateWithFlags");
    check(driver.cuGraphLaunch(exec, stream), "cuGraphLaunch");
    drain(stream);
    ran = value_at(target) == 42 ? "works" : "wrote nothing";
  }
  answer("%s: %s, launch %s, end of capture %s, graph %s", how.c_str(), use.text().c_str(),
         launched.c_str(), name_of(ended).c_str(), ran.c_str());
  if (in_relaxed_mode)
    count_on(ran == "works", "first use during a capture, with relaxed mode while loading");
}

// This thread captures in the strictest mode, and another thread uses code for the first time. The
// other thread must not synchronize: a synchronization would make the capture invalid.
void capture_elsewhere(bool in_relaxed_mode, const std::string &how) {
  cu::Context *context = enter();
  cu::Stream *stream = new_stream(), *captured = new_stream();
  cu::Pointer target = new_memory(4);
  std::string image = read("driver_facts.fatbin");
  check(driver.cuStreamBeginCapture_v2(captured, 0), "cuStreamBeginCapture");
  std::string used;
  std::thread other([&] {
    check(driver.cuCtxSetCurrent(context), "cuCtxSetCurrent");
    FirstUse use(image, in_relaxed_mode);
    used = use.text();
    if (use.kernel)
      used += ", launch " + name_of(put(use.kernel, stream, target, 42, much_shared));
  });
  other.join();
  cu::Graph *graph = nullptr;
  int ended = driver.cuStreamEndCapture(captured, &graph);
  drain(stream);
  bool is_right = value_at(target) == 42;
  answer("%s: %s, %s, end of capture %s", how.c_str(), used.c_str(),
         is_right ? "right" : "wrote nothing", name_of(ended).c_str());
  if (in_relaxed_mode)
    count_on(is_right && ended == 0, "first use while another thread captures");
}

// ---- 2: compressed images ----

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * std::size_t(sysconf(_SC_PAGESIZE));
}

std::size_t free_bytes() {
  std::size_t free = 0, total = 0;
  check(driver.cuMemGetInfo_v2(&free, &total), "cuMemGetInfo");
  return free;
}

void packing(const char *mode, Copy copy) {
  enter();
  cu::Stream *stream = new_stream();
  check(put(new_kernel("put"), stream, new_memory(4), 1), "launch"); // one-time initialization
  drain(stream);
  std::vector<std::string> names, images;
  for (const auto &entry : std::filesystem::directory_iterator(folder + "/" + mode))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  std::size_t bytes = 0;
  for (const std::string &name : names) {
    images.push_back(read(std::string(mode) + "/" + name));
    bytes += images.back().size();
  }
  std::vector<double> loading, into_context, unloading;
  long host_bytes = 0, device_bytes = 0;
  constexpr int repetitions = 7;
  for (int repetition = 0; repetition < repetitions; repetition++) {
    std::vector<cu::Library *> libraries(images.size());
    std::vector<cu::Kernel *> kernels(images.size());
    std::size_t resident = resident_bytes(), free = free_bytes();
    loading.push_back(milliseconds_of([&] {
      for (std::size_t i = 0; i < images.size(); i++) {
        check(load(libraries[i], images[i], copy), "cuLibraryLoadData");
        check(driver.cuLibraryEnumerateKernels(&kernels[i], 1, libraries[i]),
              "cuLibraryEnumerateKernels");
      }
    }));
    into_context.push_back(milliseconds_of([&] {
      for (cu::Kernel *kernel : kernels)
        check(driver.cuFuncLoad(function_of(kernel)), "cuFuncLoad");
    }));
    if (repetition == 0) {
      host_bytes = long(resident_bytes()) - long(resident);
      device_bytes = long(free) - long(free_bytes());
    }
    for (cu::Library *library : libraries)
      check(driver.cuLibraryUnload(library), "cuLibraryUnload");
  }
  answer("%zu images, %s, %s (%zu KB): load %.2f ms (first time %.2f), into the context %.2f ms "
         "(first time %.2f); host memory %+ld KB, device memory %+ld KB",
         images.size(), mode, copy == Copy::preserved ? "preserved" : "copied", bytes / 1024,
         median(loading), loading[0], median(into_context), into_context[0], host_bytes / 1024,
         device_bytes / 1024);
}

// ---- 3: the cost of a launch ----

struct Way {
  std::string name;
  std::function<void()> launch;
};

// Alternates between the ways. Draining the stream is not part of the measured time.
std::vector<double> medians_of(const std::vector<Way> &ways, cu::Stream *stream) {
  constexpr int batches = 120, warm_up = 5, launches = 100;
  std::vector<std::vector<double>> times(ways.size());
  for (int batch = -warm_up; batch < batches; batch++)
    for (std::size_t way = 0; way < ways.size(); way++) {
      double time = milliseconds_of([&] {
        for (int i = 0; i < launches; i++)
          ways[way].launch();
      });
      drain(stream);
      if (batch >= 0)
        times[way].push_back(time * 1e6 / launches);
    }
  std::vector<double> medians;
  for (const std::vector<double> &of_way : times)
    medians.push_back(median(of_way));
  return medians;
}

void compare(const std::vector<Way> &ways, cu::Stream *stream) {
  std::vector<double> medians = medians_of(ways, stream);
  for (std::size_t way = 0; way < ways.size(); way++)
    answer("%s: %.0f ns", ways[way].name.c_str(), medians[way]);
}

// Up to three launch attributes: programmatic serialization, cluster, priority.
struct Attributes {
  cu::LaunchAttribute all[3] = {};
  Attributes() {
    all[0].id = cu::LaunchAttribute::programmatic_serialization;
    all[0].value.may_start_early = 1;
    all[1].id = cu::LaunchAttribute::cluster_dimension;
    all[1].value.cluster[0] = all[1].value.cluster[1] = all[1].value.cluster[2] = 1;
    all[2].id = 8; // priority: 0
  }
};

// Arguments of kernel `nine`.
struct Nine {
  cu::Pointer memory = 0;
  unsigned size = 4096;
  void *arguments[9] = {&memory, &memory, &memory, &size, &size, &size, &size, &size, &size};
};

std::vector<Way> ways_of(cu::Kernel *kernel, cu::Kernel *function, cu::Stream *stream, Nine &nine,
                         Attributes &attributes) {
  auto basic = [=, &nine](cu::Kernel *handle) {
    return [=, &nine] {
      check(driver.cuLaunchKernel(handle, 1, 1, 1, 1, 1, 1, 0, stream, nine.arguments, nullptr),
            "cuLaunchKernel");
    };
  };
  auto extended = [=, &nine, &attributes](cu::Kernel *handle, unsigned count) {
    return [=, &nine, &attributes] {
      cu::LaunchConfig config = one_thread(stream);
      config.attributes = attributes.all;
      config.attribute_count = count;
      check(driver.cuLaunchKernelEx(&config, handle, nine.arguments, nullptr), "cuLaunchKernelEx");
    };
  };
  return {
      {"cuLaunchKernel, CUfunction", basic(function)},
      {"cuLaunchKernel, CUkernel", basic(kernel)},
      {"cuLaunchKernelEx, CUfunction, no attribute", extended(function, 0)},
      {"cuLaunchKernelEx, CUkernel, no attribute", extended(kernel, 0)},
      {"cuLaunchKernelEx, CUfunction, 1 attribute (starts early)", extended(function, 1)},
      {"cuLaunchKernelEx, CUkernel, 1 attribute (starts early)", extended(kernel, 1)},
      {"cuLaunchKernelEx, CUfunction, 3 attributes (and cluster, priority)", extended(function, 3)},
      {"cuLaunchKernelEx, CUkernel, 3 attributes (and cluster, priority)", extended(kernel, 3)}};
}

void launches() {
  enter();
  cu::Stream *stream = new_stream();
  Nine nine;
  Attributes attributes;
  cu::Kernel *kernel = new_kernel("nine");
  compare(ways_of(kernel, function_of(kernel), stream, nine, attributes), stream);
}

// The same, with the kernel loaded in more than one context.
void launches_among_contexts() {
  cu::Context *first = enter();
  Nine nine;
  Attributes attributes;
  cu::Kernel *kernel = new_kernel("nine");
  cu::Stream *stream = new_stream();
  std::vector<Way> ways = ways_of(kernel, function_of(kernel), stream, nine, attributes);
  cu::Context *other = nullptr;
  check(driver.cuCtxCreate_v2(&other, 0, 0), "cuCtxCreate");
  check(driver.cuFuncLoad(function_of(kernel)), "cuFuncLoad");
  bool has_two = device_count() > 1;
  if (has_two) {
    enter(1);
    check(driver.cuFuncLoad(function_of(kernel)), "cuFuncLoad");
  }
  check(driver.cuCtxSetCurrent(first), "cuCtxSetCurrent");
  answer("with %s:",
         has_two ? "two contexts of one device and one of another" : "two contexts of one device");
  compare({ways[2], ways[3]}, stream);
}

// Repeats a launch of the runtime by direct driver calls, to compare their times. A captured graph
// node gives the parameters that the runtime has passed. For kernels without tensor maps.
class BareLaunch {
public:
  BareLaunch(cu::Graph *graph, cu::Stream *stream) {
    cu::Node *node = nullptr;
    std::size_t count = 1;
    check(driver.cuGraphGetNodes(graph, &node, &count), "cuGraphGetNodes");
    auto get = reinterpret_cast<int (*)(cu::Node *, Parameters *)>(
        dlsym(driver_library, "cuGraphKernelNodeGetParams_v2"));
    if (!get)
      throw Failed{"the driver has no cuGraphKernelNodeGetParams"};
    check(get(node, &parameters_), "cuGraphKernelNodeGetParams");
    const auto &[function, grid, block, shared_bytes, values, extra, kernel, context] = parameters_;
    config_ = {grid[0],  grid[1],      grid[2], block[0], block[1],
               block[2], shared_bytes, stream,  all_.all, starts_early() ? 1u : 0u};
  }
  BareLaunch(const BareLaunch &) = delete;

  /// A launch by CUfunction (valid in one context), or by CUkernel (valid in every context). If the
  /// graph node has only one handle, both use it.
  void launch_function() {
    launch_by(parameters_.function ? parameters_.function : parameters_.kernel);
  }
  void launch_kernel() {
    launch_by(parameters_.kernel ? parameters_.kernel : parameters_.function);
  }
  bool has_both() const { return parameters_.function && parameters_.kernel; }

private:
  struct Parameters { // CUDA_KERNEL_NODE_PARAMS_v2
    cu::Kernel *function;
    unsigned grid[3], block[3];
    unsigned shared_bytes;
    void **values, **extra;
    cu::Kernel *kernel; // used if `function` is null
    cu::Context *context;
  };

  void launch_by(cu::Kernel *handle) {
    check(driver.cuLaunchKernelEx(&config_, handle, parameters_.values, nullptr),
          "cuLaunchKernelEx");
  }

  // The graph node does not have this attribute. The runtime sets it for sm_90 and later, where the
  // kernel itself waits for its dependency.
  static bool starts_early() {
    int major = 0;
    check(driver.cuDeviceGetAttribute(&major, 75, 0), "cuDeviceGetAttribute");
    return major >= 9;
  }

  Parameters parameters_ = {};
  cu::LaunchConfig config_ = {};
  Attributes all_;
};

void require(const tritonc::status &status) {
  if (!status.ok())
    throw Failed{status.message().c_str()};
}

// The launch times of one process, in nanoseconds: two by the driver alone, three by the runtime.
enum RuntimeWay { by_function, by_kernel, again, in_turn, prepared, runtime_ways };

std::vector<double> times_by_runtime() {
  enter();
  cu::Stream *stream = new_stream();
  tritonc::stream where = tritonc::as_stream(stream);
  constexpr int columns = 1024;
  using softmax = driver_facts_kernels::softmax<tritonc::half>;
  softmax::args arguments[3];
  for (softmax::args &each : arguments) {
    auto *x = reinterpret_cast<tritonc::half *>(new_memory(2 * columns));
    each = {x, x, 1, columns, columns, columns};
    require(softmax::launch(where, each));
  }
  cu::Graph *graph = nullptr;
  check(driver.cuStreamBeginCapture_v2(stream, capture_relaxed), "cuStreamBeginCapture");
  tritonc::status captured = softmax::launch(where, arguments[0]);
  check(driver.cuStreamEndCapture(stream, &graph), "cuStreamEndCapture");
  require(captured);
  BareLaunch bare(graph, stream);
  if (!bare.has_both())
    throw Failed{"the graph's node has one handle only"};
  softmax::prepared ready;
  require(softmax::prepare(where, arguments[0], ready));
  int count = 0;
  std::vector<Way> ways(runtime_ways);
  ways[by_function].launch = [&] { bare.launch_function(); };
  ways[by_kernel].launch = [&] { bare.launch_kernel(); };
  ways[again].launch = [&] { require(softmax::launch(where, arguments[0])); };
  ways[in_turn].launch = [&] { require(softmax::launch(where, arguments[count++ % 3])); };
  ways[prepared].launch = [&] { require(ready.launch(where)); };
  return medians_of(ways, stream);
}

// Prints how much longer one way takes than another, over all processes.
void tell_difference(const char *what, const std::vector<std::vector<double>> &processes,
                     RuntimeWay way, RuntimeWay other) {
  std::vector<double> more;
  for (const std::vector<double> &times : processes)
    more.push_back(times[way] - times[other]);
  std::sort(more.begin(), more.end());
  std::size_t count = more.size();
  answer("%s: %.0f ns more (half of %zu processes: %.0f to %.0f; all: %.0f to %.0f)", what,
         more[count / 2], count, more[count / 4], more[count - 1 - count / 4], more.front(),
         more.back());
}

// The address layout of a process changes the times by up to 30 ns, which is more than the
// differences to measure. So this measures in many processes.
void launches_by_runtime() {
  constexpr int process_count = 21;
  std::vector<std::vector<double>> processes;
  for (int i = 0; i < process_count; i++) {
    Isolated one = isolated(
        [] {
          std::string text;
          try {
            if (open())
              for (double time : times_by_runtime())
                text += std::to_string(time) + " ";
          } catch (const Failed &failure) {
            text = failure.text;
          }
          return text;
        },
        seconds_per_part);
    std::istringstream words(one.text);
    std::vector<double> times{std::istream_iterator<double>(words), {}};
    if (times.size() != runtime_ways)
      throw Failed{one.text};
    processes.push_back(times);
  }
  std::vector<double> bare;
  for (const std::vector<double> &times : processes)
    bare.push_back(times[by_kernel]);
  answer("softmax, cuLaunchKernelEx, CUkernel: %.0f ns", median(bare));
  tell_difference("CUkernel, versus CUfunction", processes, by_kernel, by_function);
  tell_difference("launch again, versus CUkernel", processes, again, by_kernel);
  tell_difference("launch again, 3 arguments in turn, versus CUkernel", processes, in_turn,
                  by_kernel);
  tell_difference("prepared, versus CUfunction", processes, prepared, by_function);
}

void small_calls() {
  enter();
  cu::Stream *stream = new_stream();
  int device = 0, number = 0, mode = capture_relaxed;
  unsigned flags = 0;
  cu::Context *context = nullptr;
  auto tell = [](const char *name, const std::function<void()> &call) {
    answer("%s: %.0f ns", name, nanoseconds(call));
  };
  tell("cuCtxGetDevice", [&] { driver.cuCtxGetDevice(&device); });
  tell("cuCtxGetCurrent", [&] { driver.cuCtxGetCurrent(&context); });
  tell("cuStreamGetCtx", [&] { driver.cuStreamGetCtx(stream, &context); });
  if (driver.cuStreamGetDevice)
    tell("cuStreamGetDevice", [&] { driver.cuStreamGetDevice(stream, &device); });
  tell("cuStreamIsCapturing", [&] { driver.cuStreamIsCapturing(stream, &number); });
  tell("cuThreadExchangeStreamCaptureMode",
       [&] { driver.cuThreadExchangeStreamCaptureMode(&mode); });
  tell("cuDevicePrimaryCtxGetState",
       [&] { driver.cuDevicePrimaryCtxGetState(0, &flags, &number); });
  tell("cuDeviceGetAttribute", [&] { driver.cuDeviceGetAttribute(&number, 16, 0); });
}

void replay(int count) {
  enter();
  cu::Stream *stream = new_stream();
  Nine nine;
  cu::Kernel *kernel = new_kernel("nine");
  check(driver.cuStreamBeginCapture_v2(stream, capture_relaxed), "cuStreamBeginCapture");
  for (int i = 0; i < count; i++)
    check(driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, nine.arguments, nullptr),
          "cuLaunchKernel");
  cu::Graph *graph = nullptr;
  cu::GraphExec *exec = nullptr;
  check(driver.cuStreamEndCapture(stream, &graph), "cuStreamEndCapture");
  check(driver.cuGraphInstantiateWithFlags(&exec, graph, 0), "cuGraphInstantiateWithFlags");
  std::vector<double> calls, whole;
  for (int i = -5; i < 200; i++) {
    double before = milliseconds();
    check(driver.cuGraphLaunch(exec, stream), "cuGraphLaunch");
    double between = milliseconds();
    drain(stream);
    if (i >= 0) {
      calls.push_back(1e6 * (between - before));
      whole.push_back(1e3 * (milliseconds() - before));
    }
  }
  answer("graph of %d launches: cuGraphLaunch %.0f ns; until completion %.1f us", count,
         median(calls), median(whole));
}

// ---- 4: loading by cuKernelSetAttribute ----

void attribute_here() {
  enter();
  cu::Kernel *kernel = new_kernel("put");
  std::size_t free = free_bytes();
  int set = 0, mode = 0;
  double time = milliseconds_of(
      [&] { set = driver.cuKernelSetAttribute(max_dynamic_shared_size, much_shared, kernel, 0); });
  long taken = long(free) - long(free_bytes());
  check(driver.cuModuleGetLoadingMode(&mode), "cuModuleGetLoadingMode");
  cu::Kernel *function = nullptr;
  double getting = milliseconds_of([&] { function = function_of(kernel); });
  int is_loaded = -1;
  if (driver.cuFuncIsLoaded)
    check(driver.cuFuncIsLoaded(&is_loaded, function), "cuFuncIsLoaded");
  double loading = milliseconds_of([&] { check(driver.cuFuncLoad(function), "cuFuncLoad"); });
  answer("device with a context, loading %s: %s in %.3f ms, device memory %+ld KB; afterwards "
         "cuKernelGetFunction takes %.3f ms, the function is %s, cuFuncLoad takes %.3f ms",
         mode == 2 ? "lazily" : "eagerly", name_of(set).c_str(), time, taken / 1024, getting,
         is_loaded == 1 ? "loaded" : "not loaded", loading);
  cu::Stream *stream = new_stream();
  cu::Pointer target = new_memory(4);
  std::string here = put_and_look(kernel, stream, target, 1, much_shared);
  cu::Context *other = nullptr;
  check(driver.cuCtxCreate_v2(&other, 0, 0), "cuCtxCreate");
  std::string there = put_and_look(kernel, new_stream(), new_memory(4), 2, much_shared);
  answer("its launch: %s; in a context of the same device made later: %s", here.c_str(),
         there.c_str());
  count_on(here == "works" && there == "works", "a limit is per device, in all contexts");
}

// For comparison: loading without cuKernelSetAttribute.
void no_attribute() {
  enter();
  cu::Kernel *function = nullptr, *kernel = new_kernel("put");
  double getting = milliseconds_of([&] { function = function_of(kernel); });
  int is_loaded = -1;
  if (driver.cuFuncIsLoaded)
    check(driver.cuFuncIsLoaded(&is_loaded, function), "cuFuncIsLoaded");
  answer("without it: cuKernelGetFunction takes %.3f ms, the function is %s", getting,
         is_loaded == 1 ? "loaded" : "not loaded");
}

// Sets the attribute for device 1, while a context of device 0 is current.
void attribute_there(bool has_context) {
  if (device_count() < 2)
    return answer("needs two devices");
  if (has_context)
    enter(1);
  enter(0);
  cu::Kernel *kernel = new_kernel("put"), *without = new_kernel("put");
  int set = 0;
  double time = milliseconds_of(
      [&] { set = driver.cuKernelSetAttribute(max_dynamic_shared_size, much_shared, kernel, 1); });
  answer("another device, %s a context: %s in %.3f ms; afterwards it has %s",
         has_context ? "with" : "without", name_of(set).c_str(), time,
         is_active(1) ? "one" : "none");
  count_on(is_active(1) == has_context, "raising a limit creates no context");
  enter(1);
  cu::Stream *stream = new_stream();
  cu::Pointer target = new_memory(4);
  enter(0);
  int launched = put(kernel, stream, target, 1, much_shared);
  enter(1);
  drain(stream);
  bool is_right = value_at(target) == 1;
  std::string none = put_and_look(without, stream, target, 2, much_shared);
  answer("a launch there: %s, %s; of a kernel whose limit was not raised: %s",
         name_of(launched).c_str(), is_right ? "right" : "wrong", none.c_str());
  count_on(is_right, "a limit can be raised for any device");
}

// ---- 5: tensor maps ----

// A 1-D tensor of 64 int32 elements.
int encode_line(void *map, cu::Pointer address) {
  std::uint64_t size = 64, stride = 0;
  std::uint32_t box = 64, step = 1;
  return driver.cuTensorMapEncodeTiled(static_cast<cu::TensorMapBytes *>(map), 3 /* int32 */, 1,
                                       reinterpret_cast<void *>(address), &size, &stride, &box,
                                       &step, 0, 0, 0, 0);
}

void tensor_maps() {
  enter();
  cu::Stream *stream = new_stream();
  std::vector<unsigned> values(64);
  for (unsigned i = 0; i < 64; i++)
    values[i] = 1000 + i;
  cu::Pointer source = new_memory(256), target = new_memory(256);
  check(driver.cuMemcpyHtoD_v2(source, values.data(), 256), "cuMemcpyHtoD");
  alignas(256) static char bytes[512];
  for (std::size_t alignment : {128, 64, 32, 16, 8})
    answer("cuTensorMapEncodeTiled to an address that is aligned to exactly %zu bytes: %s",
           alignment, name_of(encode_line(bytes + alignment, source)).c_str());
  count_on(encode_line(bytes + 64, source) == 0, "tensor maps can be encoded at 64-byte alignment");
  cu::Kernel *kernel = new_kernel("mapped", "driver_facts_sm90.fatbin");
  check(encode_line(bytes, source), "cuTensorMapEncodeTiled");
  for (std::size_t alignment : {128, 64, 16, 8, 1}) {
    char *copy = bytes + 128 + alignment;
    std::memcpy(copy, bytes, 128);
    check(driver.cuMemsetD8_v2(target, 0, 256), "cuMemsetD8");
    void *arguments[] = {&target, copy};
    cu::LaunchConfig config = one_thread(stream);
    config.block_x = 64;
    int launched = driver.cuLaunchKernelEx(&config, kernel, arguments, nullptr);
    drain(stream);
    std::vector<unsigned> copied(64);
    check(driver.cuMemcpyDtoH_v2(copied.data(), target, 256), "cuMemcpyDtoH");
    answer("a launch with a copy of it, aligned to %zu bytes: %s, %s", alignment,
           name_of(launched).c_str(), copied == values ? "right" : "wrong");
  }
  std::uint64_t sizes[] = {8192, 8192}, strides[] = {16384};
  std::uint32_t box[] = {64, 128}, steps[] = {1, 1};
  auto map = reinterpret_cast<cu::TensorMapBytes *>(bytes);
  cu::Pointer matrix = new_memory(2 * 8192 * 8192);
  auto encode = [&] {
    return driver.cuTensorMapEncodeTiled(map, 6 /* half */, 2, reinterpret_cast<void *>(matrix),
                                         sizes, strides, box, steps, 0, 3 /* 128 bytes */, 3, 0);
  };
  check(encode(), "cuTensorMapEncodeTiled");
  answer("cuTensorMapEncodeTiled of a matrix: %.0f ns", nanoseconds(encode));
}

// ---- 6: one handle, several contexts ----

struct Place {
  std::string name;
  cu::Context *context;
  cu::Stream *stream;
  cu::Pointer target;
};

void one_kernel() {
  std::vector<Place> places;
  auto add = [&](const char *name, cu::Context *context) {
    places.push_back({name, context, new_stream(), new_memory(4)});
  };
  cu::Context *first = enter(0);
  add("the current context", first);
  cu::Context *other = nullptr;
  check(driver.cuCtxCreate_v2(&other, 0, 0), "cuCtxCreate");
  add("another context of its device", other);
  if (device_count() > 1)
    add("another device", enter(1));
  else
    answer("needs two devices: a stream of another device");
  check(driver.cuCtxSetCurrent(first), "cuCtxSetCurrent");
  cu::Kernel *kernel = new_kernel("put");
  for (const Place &place : places) {
    int launched = put(kernel, place.stream, place.target, 7);
    int ended = driver.cuStreamSynchronize(place.stream);
    check(driver.cuCtxSetCurrent(place.context), "cuCtxSetCurrent");
    bool is_right = value_at(place.target) == 7;
    check(driver.cuCtxSetCurrent(first), "cuCtxSetCurrent");
    answer("CUkernel on a stream of %s: %s, then %s, %s", place.name.c_str(),
           name_of(launched).c_str(), name_of(ended).c_str(), is_right ? "right" : "wrong");
    count_on(is_right, "a CUkernel is valid in each context");
  }
  check(driver.cuCtxSetCurrent(nullptr), "cuCtxSetCurrent");
  int launched = put(kernel, places[0].stream, places[0].target, 8);
  answer("CUkernel on a stream, without a current context: %s", name_of(launched).c_str());
}

// A CUfunction belongs to one context.
void function_elsewhere(bool is_destroyed, bool on_other_device) {
  if (on_other_device && device_count() < 2)
    return answer("needs two devices: CUfunction of another device");
  cu::Context *first = enter(0), *other = nullptr;
  cu::Kernel *kernel = new_kernel("put");
  if (on_other_device)
    other = enter(1);
  else
    check(driver.cuCtxCreate_v2(&other, 0, 0), "cuCtxCreate");
  cu::Kernel *function = function_of(kernel);
  check(driver.cuFuncLoad(function), "cuFuncLoad");
  if (is_destroyed)
    check(driver.cuCtxDestroy_v2(other), "cuCtxDestroy");
  check(driver.cuCtxSetCurrent(first), "cuCtxSetCurrent");
  cu::Stream *stream = new_stream();
  cu::Pointer target = new_memory(4);
  std::string how = on_other_device ? "of another device"
                    : is_destroyed  ? "of a destroyed context"
                                    : "of another context";
  std::printf("CUfunction %s, on a stream of the current one: ", how.c_str());
  std::fflush(stdout);
  answer("%s", put_and_look(function, stream, target, 9).c_str());
}

// ---- 7: PTX that the driver compiles ----

void compile_ptx(const std::string &file) {
  enter();
  cu::Stream *stream = new_stream();
  check(put(new_kernel("put"), stream, new_memory(4), 1), "launch"); // one-time initialization
  drain(stream);
  std::string text = read(file);
  cu::Library *library = nullptr;
  cu::Kernel *kernel = nullptr;
  int loaded = 0, binary = 0, ptx = 0;
  double loading = milliseconds_of([&] { loaded = load(library, text); });
  if (loaded)
    return answer("%s (%zu KB): %s", file.c_str(), text.size() / 1024, name_of(loaded).c_str());
  check(driver.cuLibraryEnumerateKernels(&kernel, 1, library), "cuLibraryEnumerateKernels");
  double rest = milliseconds_of([&] { loaded = driver.cuFuncLoad(function_of(kernel)); });
  check(loaded, "cuFuncLoad");
  check(driver.cuKernelGetAttribute(&binary, binary_version, kernel, 0), "cuKernelGetAttribute");
  check(driver.cuKernelGetAttribute(&ptx, ptx_version, kernel, 0), "cuKernelGetAttribute");
  answer("%s (%zu KB): cuLibraryLoadData %.2f ms, into the context %.2f ms; BINARY_VERSION %d, "
         "PTX_VERSION %d",
         file.c_str(), text.size() / 1024, loading, rest, binary, ptx);
}

// ---- 9: little free memory ----

// Allocates all device memory but a few KB, and frees it step by step.
class FullMemory {
public:
  FullMemory() {
    for (std::size_t bytes = std::size_t(4) << 30; bytes >= 4096;) {
      cu::Pointer memory = 0;
      if (driver.cuMemAlloc_v2(&memory, bytes) == 0)
        taken_.push_back({memory, bytes});
      else
        bytes /= 2;
    }
  }
  // Frees the smallest allocation first. False if there is none.
  bool give_back() {
    if (taken_.empty())
      return false;
    driver.cuMemFree_v2(taken_.back().memory);
    taken_.pop_back();
    return true;
  }

private:
  struct Block {
    cu::Pointer memory;
    std::size_t bytes;
  };
  std::vector<Block> taken_;
};

// Loads, launches and synchronizes, up to the first error. A repeated make() continues from there.
class Attempt {
public:
  Attempt(const std::string &image, const char *name) : image_(image), name_(name) {}

  void make(cu::Stream *stream, cu::Pointer target) {
    launched_ = ended_ = -1;
    if (!library_)
      loaded_ = load(library_, image_);
    if (!loaded_ && !kernel_)
      check(driver.cuLibraryGetKernel(&kernel_, library_, name_), "cuLibraryGetKernel");
    if (kernel_)
      launched_ = put(kernel_, stream, target, 77);
    if (launched_ == 0)
      ended_ = driver.cuStreamSynchronize(stream);
  }
  bool worked() const { return ended_ == 0; }
  // Whether another make() can succeed after memory is freed.
  bool lacked_memory() const {
    return loaded_ == cu::out_of_memory || launched_ == cu::out_of_memory;
  }
  std::string text() const {
    if (loaded_)
      return "load " + name_of(loaded_);
    return launched_ ? "launch " + name_of(launched_) : "the kernel " + name_of(ended_);
  }

private:
  const std::string &image_;
  const char *name_;
  cu::Library *library_ = nullptr;
  cu::Kernel *kernel_ = nullptr;
  int loaded_ = -1, launched_ = -1, ended_ = -1;
};

void little_memory(const char *name, bool is_first) {
  enter();
  cu::Stream *stream = new_stream();
  cu::Pointer target = new_memory(4);
  std::string image = read("driver_facts.fatbin");
  if (!is_first)
    check(put(new_kernel("put"), stream, target, 1), "launch");
  drain(stream);
  FullMemory memory;
  Attempt attempt(image, name);
  std::printf("%s, %s, %zu KB free: ", name,
              is_first ? "the context's first launch" : "a later launch", free_bytes() / 1024);
  std::fflush(stdout);
  double time = milliseconds_of([&] { attempt.make(stream, target); });
  std::printf("%s after %.1f ms", attempt.text().c_str(), time);
  std::size_t free = free_bytes();
  while (!attempt.worked() && attempt.lacked_memory() && memory.give_back()) {
    free = free_bytes();
    attempt.make(stream, target);
  }
  bool is_right = attempt.worked() && value_at(target) == 77;
  answer("; with %zu KB free: %s", free / 1024, is_right ? "works" : attempt.text().c_str());
  count_on(is_right, "too little memory gives CUDA_ERROR_OUT_OF_MEMORY, and a retry works");
}

// ---- all questions ----

struct Part {
  char question;
  std::string environment; // NAME=value; "" = none
  std::function<void()> ask;
  bool opens_driver = true; // false: `ask` opens it, in further processes
};

std::vector<Part> parts() {
  std::vector<Part> all;
  for (const char *loading : {"LAZY", "EAGER"}) {
    std::string environment = std::string("CUDA_MODULE_LOADING=") + loading;
    for (bool in_relaxed_mode : {false, true}) {
      std::string how = std::string(loading) + (in_relaxed_mode ? ", loads in relaxed mode" : "");
      for (int mode = 0; mode < 3; mode++)
        all.push_back({'1', environment, [=] {
                         capture_here(mode, in_relaxed_mode,
                                      std::string(capture_modes[mode]) + ", " + how);
                       }});
      all.push_back({'1', environment, [=] {
                       capture_elsewhere(in_relaxed_mode, "global, in another thread, " + how);
                     }});
    }
  }
  for (const char *mode : {"none", "speed", "balance", "size"})
    for (Copy copy : {Copy::preserved, Copy::copied})
      all.push_back({'2', "", [=] { packing(mode, copy); }});
  all.push_back({'3', "", launches});
  all.push_back({'3', "", launches_among_contexts});
  all.push_back({'3', "", launches_by_runtime, false});
  all.push_back({'3', "", small_calls});
  for (int count : {1, 10, 100})
    all.push_back({'3', "", [=] { replay(count); }});
  for (const char *loading : {"LAZY", "EAGER"})
    all.push_back({'4', std::string("CUDA_MODULE_LOADING=") + loading, attribute_here});
  all.push_back({'4', "CUDA_MODULE_LOADING=LAZY", no_attribute});
  for (bool has_context : {false, true})
    all.push_back({'4', "", [=] { attribute_there(has_context); }});
  all.push_back({'5', "", tensor_maps});
  all.push_back({'6', "", one_kernel});
  all.push_back({'6', "", [] { function_elsewhere(false, false); }});
  all.push_back({'6', "", [] { function_elsewhere(false, true); }});
  all.push_back({'6', "", [] { function_elsewhere(true, false); }});
  for (const char *file : {"driver_facts.ptx", "short_80.ptx", "long_80.ptx", "short_90a.ptx",
                           "long_90a.ptx", "driver_facts.fatbin", "none/100"})
    all.push_back({'7', "CUDA_CACHE_DISABLE=1", [=] { compile_ptx(file); }});
  for (const char *time : {"first time", "second time"})
    all.push_back({'7', "CUDA_CACHE_PATH=" + std::string(folder) + ".cache", [=] {
                     std::printf("with a cache, %s: ", time);
                     compile_ptx("long_80.ptx");
                   }});
  for (const char *name : {"put", "deep"})
    for (bool is_first : {true, false})
      all.push_back({'9', "", [=] { little_memory(name, is_first); }});
  return all;
}

std::string ask(const Part &part) {
  std::setvbuf(stdout, nullptr, _IONBF, 0); // a crash must not lose output
  if (std::size_t end = part.environment.find('='); end != std::string::npos)
    setenv(part.environment.substr(0, end).c_str(), part.environment.c_str() + end + 1, 1);
  try {
    if (part.opens_driver && !open())
      return "no GPU";
    part.ask();
  } catch (const Failed &failure) {
    answer("FAILED: %s", failure.text.c_str());
  }
  return "";
}

std::string describe_machine() {
  int version = 0;
  char name[100] = "";
  try {
    if (!open() || device_count() == 0)
      return "";
    check(driver.cuDriverGetVersion(&version), "cuDriverGetVersion");
    check(driver.cuDeviceGetName(name, sizeof name, 0), "cuDeviceGetName");
    return std::string(name) + ", " + std::to_string(device_count()) +
           " devices, driver for CUDA " + std::to_string(version / 1000) + "." +
           std::to_string(version % 1000 / 10);
  } catch (const Failed &) {
    return "";
  }
}

// Prints the lines of a part, each with its question. False if one is CONTRADICTED.
bool print(char question, const Isolated &result) {
  std::string text = result.printed;
  if (result.end == Isolated::End::crashed)
    text += "ENDED: " + result.text.substr(std::min(result.text.size(), result.printed.size()));
  else if (result.end == Isolated::End::timed_out)
    text += "ENDED: timeout after " + std::to_string(seconds_per_part) + " seconds";
  std::string line;
  for (char c : text + "\n") {
    if (c != '\n') {
      line += c;
      continue;
    }
    if (!line.empty())
      std::printf("%c  %s\n", question, line.c_str());
    line.clear();
  }
  std::fflush(stdout);
  return text.find(contradicted) == std::string::npos;
}

int launch_once() {
  constexpr int rows = 264, columns = 4096;
  tritonc::buffer<tritonc::half> x, y;
  std::vector<tritonc::half> ones(rows * columns, tritonc::half(1.0f));
  using softmax = driver_facts_kernels::softmax<tritonc::half>;
  tritonc::status status = x.allocate(rows * columns);
  if (status.ok())
    status = y.allocate(rows * columns);
  if (status.ok())
    status = x.copy_from(ones.data());
  if (status.ok())
    status = softmax::launch({}, {x.data(), y.data(), rows, columns, columns, columns});
  if (status.ok())
    status = y.copy_to(ones.data());
  std::printf("%s\n", status.ok() ? "launched" : status.message().c_str());
  return status.ok() ? 0 : 1;
}

} // namespace

int main(int count, char **arguments) {
  if (count > 1 && std::strcmp(arguments[1], "--launch") == 0)
    return launch_once();
  if (count < 2) {
    std::fprintf(stderr, "usage: driver_facts IMAGES [QUESTION...] or driver_facts --launch\n");
    return 2;
  }
  folder = arguments[1];
  std::string questions;
  for (int i = 2; i < count; i++)
    questions += arguments[i];
  Isolated machine = isolated(describe_machine, seconds_per_part);
  if (machine.text.empty()) {
    std::printf("[SKIP] no GPU\n");
    return 77;
  }
  std::printf("%s\n", machine.text.c_str());
  bool is_as_expected = true;
  for (const Part &part : parts())
    if (questions.empty() || questions.find(part.question) != std::string::npos)
      is_as_expected &= print(part.question, isolated([&] { return ask(part); }, seconds_per_part));
  std::error_code ignored;
  std::filesystem::remove_all(folder + ".cache", ignored);
  return is_as_expected ? 0 : 1;
}
