// The tuner's commands. See tuner.h.
//
// Tested by tests/end_to_end/tuning/loop_test.sh, on the emulator.

#include "tuner.h"

#include "tuned_kernel.h"

#include <chrono>
#include <cmath>
#include <new>
#include <ostream>

namespace tritonc::v1::tuner {

namespace {

const registration *all_registered = nullptr; // initialized before any constructor runs

const kernel &find_kernel(const Problem &problem) {
  for (const registration *one = registration::first(); one; one = one->next())
    for (const kernel &found : one->kernels())
      if (problem.kernel == found.name && problem.types == found.types)
        return found;
  fail("unknown kernel " + problem.kernel + " " + problem.types);
}

/// The queue of the default stream.
class DeviceQueue : public Queue {
public:
  explicit DeviceQueue(bool is_emulated) : is_emulated_(is_emulated) {
    // More than the GPU's caches hold, so that a fill evicts their contents.
    constexpr std::size_t bytes = std::size_t(256) << 20;
    require(workspace_.allocate(is_emulated ? 1 : bytes));
    require(workspace_.fill(0));
    mark_begin();
    require(workspace_.fill(0));
    mark_end();
    filling_ = std::max(wait(), 1e-3);
  }

  double now() override {
    auto time = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double, std::milli>(time).count();
  }
  void delay(double milliseconds) override {
    for (double done = 0; done == 0 || (done < milliseconds && !is_emulated_); done += filling_)
      require(workspace_.fill(0));
  }
  void mark_begin() override { require(timer_.start()); }
  void mark_end() override { require(timer_.stop()); }
  bool has_begun() override {
    bool begun = false;
    if (!is_emulated_) // the emulator runs each launch immediately
      require(timer_.has_started(begun));
    return begun;
  }
  double wait() override {
    float elapsed = 0;
    require(timer_.milliseconds(elapsed));
    return elapsed;
  }

private:
  const bool is_emulated_;
  buffer<char> workspace_;
  timer timer_;
  double filling_ = 1; // time of one fill; milliseconds
};

bool run_one(const kernel &of, const Problem &problem, const Settings &settings, Queue &queue,
             std::ostream &out) {
  TunedKernel tuned_kernel(of, problem);
  out << "problem\t" << of.name << "\t" << of.types << "\t" << of.signature << "\t" << problem.name
      << "\t" << (settings.effort.is_cold ? "cold" : "warm") << "\n";
  std::vector<double> apart(tuned_kernel.ready().size(), 0);
  if (settings.is_checked) {
    auto launch = [&](std::size_t i, int inputs) {
      return tuned_kernel.results_of(tuned_kernel.ready()[i], inputs);
    };
    apart = differences(tuned_kernel.ready().size(), tuned_kernel.buffers(), launch);
    tuned_kernel.use_inputs(0);
  }
  bool all_same = true;
  std::vector<const TunedKernel::Ready *> right;
  for (std::size_t i = 0; i < apart.size(); i++) {
    const TunedKernel::Ready &one = tuned_kernel.ready()[i];
    all_same &= apart[i] == 0;
    if (apart[i] != 0) {
      out << "differs\t" << one.which->name << "\t" << apart[i] << "\n";
      continue;
    }
    right.push_back(&one);
    if (!settings.is_timed)
      out << "agrees\t" << one.which->name << "\n";
  }
  std::vector<Enqueue> launches;
  for (const TunedKernel::Ready *one : right)
    launches.push_back([&tuned_kernel, one] { tuned_kernel.launch(*one); });
  std::vector<double> times;
  if (settings.is_timed)
    times = measure(queue, launches, settings.effort);
  for (std::size_t i = 0; i < times.size(); i++) {
    const TunedKernel::Ready &one = *right[i];
    out << "time\t" << one.which->name << "\t" << std::llround(times[i] * 1e6) << "\t"
        << (one.cost < 0 ? "-" : std::to_string(one.cost)) << "\t" << one.schedule << "\n";
  }
  for (const TunedKernel::Refused &one : tuned_kernel.refused())
    out << "refused\t" << one.which->name << "\t" << one.why << "\n";
  if (tuned_kernel.chosen())
    out << "choice\t" << tuned_kernel.chosen()->name << "\n";
  out << "end\n" << std::flush;
  return all_same;
}

} // namespace

registration::registration(const kernel *kernels, std::size_t count) noexcept
    : kernels_(kernels, count), next_(all_registered) {
  all_registered = this;
}

const registration *registration::first() noexcept { return all_registered; }

void describe(std::ostream &out) {
  for (const registration *one = registration::first(); one; one = one->next())
    for (const kernel &of : one->kernels()) {
      out << "kernel\t" << of.name << "\t" << of.types << "\t" << of.signature << "\n";
      for (std::size_t i = 0; i < of.variant_count; i++)
        out << "variant\t" << of.variants[i].name << "\n";
    }
}

bool run(const std::vector<Problem> &problems, const Settings &settings, std::ostream &out) {
  for (const Problem &problem : problems)
    find_kernel(problem);
  device_info device;
  require(current_device(device));
  out << "gpu\t" << device.name << "\t" << device.major * 10 + device.minor << "\t"
      << device.num_sms << "\n"
      << std::flush;
  DeviceQueue queue(device.emulated);
  bool all_same = true;
  for (const Problem &problem : problems) {
    const kernel &of = find_kernel(problem);
    try {
      all_same &= run_one(of, problem, settings, queue, out);
    } catch (const std::bad_alloc &) {
      fail(name_of(of, problem) + ": the host has too little memory for copies of the buffers (" +
           memory_of(of, problem) + "); use smaller problems");
    }
  }
  return all_same;
}

} // namespace tritonc::v1::tuner
