// The bare launch must have the same function, grid and arguments as the launch of our runtime. So
// a graph captures one launch of the runtime, and the bare launch uses the parameters of its node.
//
// The queue holds about a thousand launches. The code drains it before it is full, outside of the
// measured time.

#include "launch_cost.h"

#include "statistics.h"

#include <bench_main.hpp>
#include <tritonc/device.hpp>

#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

namespace {

constexpr int batches = 300, warm_up = 10, launches_per_batch = 100;

using Smallest = bench_main::matmul<tritonc::half, bench_main::A::N, bench_main::B::N>;

// One K iteration.
Smallest::args smallest(const void *a, const void *b, void *c) {
  auto half = [](const void *matrix) { return static_cast<const tritonc::half *>(matrix); };
  constexpr int n = smallest_size;
  return {half(a), half(b), static_cast<tritonc::half *>(c), n, n, n, n, n, n};
}

void require(tritonc::status status) {
  if (!status.ok())
    throw std::runtime_error(status.message().c_str());
}

class Stream {
public:
  explicit Stream(const Driver &driver) : driver_(driver) {
    driver.check(driver.cuStreamCreate(&handle_, 1 /* does not wait for the default stream */),
                 "cuStreamCreate");
  }
  ~Stream() { driver_.cuStreamDestroy(handle_); }
  Stream(const Stream &) = delete;

  Driver::Handle handle() const { return handle_; }
  tritonc::stream of_library() const { return static_cast<CUstream_st *>(handle_); }
  void drain() const { driver_.check(driver_.cuStreamSynchronize(handle_), "cuStreamSynchronize"); }

private:
  const Driver &driver_;
  Driver::Handle handle_ = nullptr;
};

// Repeats a launch of our runtime without the runtime.
class BareLaunch {
public:
  BareLaunch(const Driver &driver, const Stream &stream, const Smallest::args &arguments)
      : driver_(driver) {
    capture(stream, arguments);
    Driver::Handle node = only_node();
    driver.check(driver.cuGraphKernelNodeGetParams(node, &node_), "cuGraphKernelNodeGetParams");
    for (int axis = 0; axis < 3; axis++) {
      config_.grid[axis] = node_.grid[axis];
      config_.block[axis] = node_.block[axis];
    }
    config_.shared_bytes = node_.shared_bytes;
    config_.stream = stream.handle();
    config_.attributes = attributes_;
    add_cluster(node);
    if (starts_early())
      add(programmatic_serialization).value[0] = 1;
  }
  ~BareLaunch() { driver_.cuGraphDestroy(graph_); }
  BareLaunch(const BareLaunch &) = delete;

  /// Launches the CUfunction, which belongs to one context.
  void launch() const { launch_by(node_.function ? node_.function : node_.kernel); }
  /// Launches the CUkernel, which is valid in all contexts.
  void launch_kernel() const { launch_by(node_.kernel ? node_.kernel : node_.function); }

private:
  static constexpr int capture_relaxed = 2;
  static constexpr int cluster_dimension = 4, programmatic_serialization = 6; // CUlaunchAttributeID

  struct Attribute { // CUlaunchAttribute
    int id = 0;
    int padding = 0;
    unsigned value[16] = {};
  };
  static_assert(sizeof(Attribute) == 72);

  // Whether the runtime uses programmatic dependent launch, as on GPUs that support it. A graph
  // node does not have this attribute, and it reduces the host time of a launch.
  static bool starts_early() {
    tritonc::device_info device;
    require(tritonc::current_device(device));
    return device.major >= 9;
  }

  void launch_by(Driver::Handle function) const {
    driver_.check(driver_.cuLaunchKernelEx(&config_, function, node_.parameters, nullptr),
                  "cuLaunchKernelEx");
  }

  Attribute &add(int id) {
    Attribute &attribute = attributes_[config_.attribute_count++];
    attribute.id = id;
    return attribute;
  }

  void capture(const Stream &stream, const Smallest::args &arguments) {
    driver_.check(driver_.cuStreamBeginCapture(stream.handle(), capture_relaxed),
                  "cuStreamBeginCapture");
    tritonc::status launched = Smallest::launch(stream.of_library(), arguments);
    driver_.check(driver_.cuStreamEndCapture(stream.handle(), &graph_), "cuStreamEndCapture");
    require(launched);
  }

  Driver::Handle only_node() const {
    std::size_t count = 0;
    driver_.check(driver_.cuGraphGetNodes(graph_, nullptr, &count), "cuGraphGetNodes");
    if (count != 1)
      throw std::runtime_error("a launch is " + std::to_string(count) + " nodes");
    Driver::Handle node = nullptr;
    driver_.check(driver_.cuGraphGetNodes(graph_, &node, &count), "cuGraphGetNodes");
    return node;
  }

  void add_cluster(Driver::Handle node) {
    Attribute found;
    int result = driver_.cuGraphKernelNodeGetAttribute(node, cluster_dimension, found.value);
    if (result == 0 && found.value[0] != 0)
      add(cluster_dimension) = {cluster_dimension, 0, {found.value[0], 1, 1}};
  }

  const Driver &driver_;
  Driver::Handle graph_ = nullptr; // owns the arguments
  Driver::KernelNode node_ = {};
  Driver::LaunchConfig config_ = {};
  Attribute attributes_[2];
};

// Host time of one launch. The argument of `launch` is its index.
template <typename Launch> double nanoseconds(Queue &queue, const Launch &launch) {
  double before = queue.now();
  for (int i = 0; i < launches_per_batch; i++)
    launch(i);
  return (queue.now() - before) * 1e6 / launches_per_batch;
}

} // namespace

LaunchCost launch_cost(const Driver &driver, const Operands &operands) {
  LaunchCost result;
  if (!driver.cuGraphKernelNodeGetParams || !driver.cuGraphKernelNodeGetAttribute) {
    result.note = "the driver lacks cuGraphKernelNodeGetParams";
    return result;
  }
  const auto [a, b, c] = operands;
  const Smallest::args arguments[] = {smallest(a, b, c), smallest(b, a, c), smallest(a, a, c)};
  DeviceQueue clock(driver);
  Stream stream(driver);
  tritonc::stream where = stream.of_library();
  for (const Smallest::args &each : arguments)
    require(Smallest::launch(where, each)); // the first launch loads the kernel
  stream.drain();
  Smallest::prepared ready;
  require(Smallest::prepare(where, arguments[0], ready));
  BareLaunch bare(driver, stream, arguments[0]);
  std::vector<double> of_ours, of_bare, of_bare_kernel, of_three, of_prepared;
  for (int batch = -warm_up; batch < batches; batch++) {
    double ours = nanoseconds(clock, [&](int) { require(Smallest::launch(where, arguments[0])); });
    stream.drain();
    double by_driver = nanoseconds(clock, [&](int) { bare.launch(); });
    stream.drain();
    double by_kernel = nanoseconds(clock, [&](int) { bare.launch_kernel(); });
    stream.drain();
    double three =
        nanoseconds(clock, [&](int i) { require(Smallest::launch(where, arguments[i % 3])); });
    stream.drain();
    double prepared = nanoseconds(clock, [&](int) { require(ready.launch(where)); });
    stream.drain();
    if (batch < 0)
      continue;
    of_ours.push_back(ours);
    of_bare.push_back(by_driver);
    of_bare_kernel.push_back(by_kernel);
    of_three.push_back(three);
    of_prepared.push_back(prepared);
  }
  result.measured = true;
  result.ours = median(of_ours);
  result.bare = median(of_bare);
  result.bare_kernel = median(of_bare_kernel);
  result.three = median(of_three);
  result.prepared = median(of_prepared);
  result.launches = batches * launches_per_batch;
  return result;
}

} // namespace bench
