// Speed of the matrix multiplication beside cuBLAS: half precision, both operands row by row.
//
// For every size all tuning variants are timed briefly; then the fastest, the one that the library
// chooses by itself, and cuBLAS take turns on the same random matrices, and the medians count. Big
// products are limited by the GPU's power, which changes from minute to minute: only ratios within
// one run mean anything.
//
//   bench_matmul [--sizes 1024,2048] [--repeat 30] [--cublas libcublas.so] [--json FILE]

#include "cublas.h"

#include <device_kernels.hpp>
#include <tritonc/device.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Half = tritonc::half;
using Kernel = device_kernels::matmul<Half, device_kernels::A::N, device_kernels::B::N>;
using Tile = std::decay_t<decltype(Kernel::variants()[0])>;

constexpr size_t contenders = 3; // how many variants are timed at length

struct Options {
  std::vector<int> sizes = {1024, 2048, 4096, 8192};
  int repeat = 30;
  std::string cublas, json;
};

void require(tritonc::status status) {
  if (status.ok())
    return;
  std::fprintf(stderr, "bench_matmul: %s\n", status.message().c_str());
  std::exit(1);
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

std::string text(const Tile &tile) {
  return std::to_string(tile.TM) + "x" + std::to_string(tile.TN) + "x" + std::to_string(tile.TK);
}

// --- One size ------------------------------------------------------------------------------------

using Launch = std::function<void()>;

// Milliseconds of one launch, from `launches` in a row.
double time_of(const Launch &launch, int launches) {
  static tritonc::timer timer;
  require(timer.start());
  for (int i = 0; i < launches; i++)
    launch();
  require(timer.stop());
  float elapsed = 0;
  require(timer.milliseconds(elapsed));
  return elapsed / launches;
}

class Problem {
public:
  explicit Problem(int size) : size_(size) {
    fill(a_);
    fill(b_);
    require(c_.allocate(elements()));
    require(c_.fill(0xff));
  }

  typename Kernel::args arguments() const {
    return {.A = a_.data(),
            .B = b_.data(),
            .C = c_.data(),
            .M = size_,
            .N = size_,
            .K = size_,
            .lda = size_,
            .ldb = size_,
            .ldc = size_};
  }
  Launch variant(Tile tile) const {
    return [=, this] { require(Kernel::launch({}, arguments(), tile)); };
  }
  Launch chosen() const {
    return [=, this] { require(Kernel::launch({}, arguments())); };
  }
  Launch peer(Cublas &cublas) const {
    return [&cublas, this] {
      if (!cublas.multiply(a_.data(), b_.data(), c_.data(), size_, size_, size_))
        require({tritonc::status_code::cuda, nullptr, "cublasGemmEx"});
    };
  }

  double teraflops(double milliseconds) const {
    return 2.0 * size_ * size_ * size_ / (milliseconds * 1e-3) * 1e-12;
  }
  // So many that an event's own cost does not show.
  int launches_per_sample(double milliseconds) const {
    return std::clamp(int(std::ceil(0.5 / milliseconds)), 1, 50);
  }

  // What `launch` computes; NaN where it writes nothing.
  std::vector<Half> result_of(const Launch &launch) {
    require(c_.fill(0xff));
    launch();
    std::vector<Half> host(elements());
    require(c_.copy_to(host.data()));
    return host;
  }

private:
  size_t elements() const { return size_t(size_) * size_; }

  void fill(tritonc::buffer<Half> &matrix) {
    static std::mt19937 generator(1);
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<Half> host(elements());
    for (Half &element : host)
      element = Half(uniform(generator));
    require(matrix.allocate(elements()));
    require(matrix.copy_from(host.data()));
  }

  int size_;
  tritonc::buffer<Half> a_, b_, c_;
};

struct Timed {
  std::string name;
  double teraflops;
};

// All variants, fastest first. Short: it only has to find the few that are worth a closer look.
std::vector<std::pair<Tile, double>> screen(const Problem &problem) {
  std::vector<std::pair<Tile, double>> result;
  for (const Tile &tile : Kernel::variants()) {
    Launch launch = problem.variant(tile);
    launch(); // loads the kernel
    int launches = problem.launches_per_sample(time_of(launch, 1));
    std::vector<double> samples;
    for (int i = 0; i < 5; i++)
      samples.push_back(time_of(launch, launches));
    result.emplace_back(tile, problem.teraflops(median(samples)));
  }
  std::sort(result.begin(), result.end(),
            [](const auto &a, const auto &b) { return a.second > b.second; });
  return result;
}

// All contestants in turn, `repeat` times.
std::vector<Timed> alternate(const Problem &problem,
                             const std::vector<std::pair<std::string, Launch>> &contestants,
                             int repeat) {
  std::vector<int> launches;
  for (const auto &[name, launch] : contestants) {
    launch();
    launches.push_back(problem.launches_per_sample(time_of(launch, 3)));
  }
  std::vector<std::vector<double>> samples(contestants.size());
  for (int round = 0; round < repeat; round++)
    for (size_t i = 0; i < contestants.size(); i++)
      samples[i].push_back(time_of(contestants[i].second, launches[i]));
  std::vector<Timed> result;
  for (size_t i = 0; i < contestants.size(); i++)
    result.push_back({contestants[i].first, problem.teraflops(median(samples[i]))});
  return result;
}

// The relative distance between what both compute, so that nobody times a wrong kernel.
double distance(Problem &problem, const Launch &ours, const Launch &peer) {
  std::vector<Half> a = problem.result_of(ours), b = problem.result_of(peer);
  double difference = 0, length = 0;
  for (size_t i = 0; i < a.size(); i++) {
    double x = float(a[i]), y = float(b[i]);
    difference += (x - y) * (x - y);
    length += y * y;
  }
  return std::sqrt(difference / length);
}

struct SizeResult {
  int size;
  std::vector<Timed> contest;                    // the chosen variant, the best ones, cuBLAS
  std::vector<std::pair<Tile, double>> variants; // all, from the screening
  double error = 0;                              // of the chosen variant against cuBLAS
};

SizeResult run_size(int size, Cublas &cublas, int repeat) {
  Problem problem(size);
  SizeResult result = {size, {}, screen(problem)};
  std::vector<std::pair<std::string, Launch>> contestants = {{"chosen", problem.chosen()}};
  for (size_t i = 0; i < std::min(contenders, result.variants.size()); i++)
    contestants.emplace_back(text(result.variants[i].first),
                             problem.variant(result.variants[i].first));
  if (cublas.is_there()) {
    contestants.emplace_back("cuBLAS", problem.peer(cublas));
    result.error = distance(problem, problem.chosen(), problem.peer(cublas));
  }
  result.contest = alternate(problem, contestants, repeat);
  return result;
}

// --- Output --------------------------------------------------------------------------------------

Timed best_of(const SizeResult &result) {
  auto first = result.contest.begin() + 1; // after the chosen one
  auto last = first + std::min(contenders, result.variants.size());
  return *std::max_element(
      first, last, [](const Timed &a, const Timed &b) { return a.teraflops < b.teraflops; });
}

void print_row(const SizeResult &result, bool has_peer) {
  Timed chosen = result.contest.front(), best = best_of(result);
  std::printf("%6d  %8.1f  %8.1f  %-12s", result.size, chosen.teraflops, best.teraflops,
              best.name.c_str());
  if (has_peer) {
    double peer = result.contest.back().teraflops;
    std::printf("  %8.1f  %10.2f  %10.1e", peer, best.teraflops / peer, result.error);
  }
  std::printf("\n");
  std::fflush(stdout);
}

std::string json_of(const tritonc::device_info &device, const std::vector<SizeResult> &results,
                    const Options &options) {
  std::ostringstream out;
  out << "{\n  \"device\": \"" << device.name << "\",\n  \"kernel\": \"matmul<half, N, N>\",\n"
      << "  \"unit\": \"TFLOP/s\",\n  \"repeat\": " << options.repeat << ",\n  \"sizes\": [";
  for (const SizeResult &result : results) {
    out << (&result == results.data() ? "\n" : ",\n") << "    {\"size\": " << result.size;
    for (const Timed &timed : result.contest)
      out << ", \"" << timed.name << "\": " << timed.teraflops;
    out << ",\n     \"variants\": {";
    for (size_t i = 0; i < result.variants.size(); i++)
      out << (i ? ", " : "") << "\"" << text(result.variants[i].first)
          << "\": " << result.variants[i].second;
    out << "}}";
  }
  out << "\n  ]\n}\n";
  return out.str();
}

Options parse(int count, char **arguments) {
  Options options;
  for (int i = 1; i + 1 < count; i += 2) {
    std::string option = arguments[i], value = arguments[i + 1];
    if (option == "--repeat")
      options.repeat = std::max(1, std::atoi(value.c_str()));
    if (option == "--cublas")
      options.cublas = value;
    if (option == "--json")
      options.json = value;
    if (option == "--sizes") {
      options.sizes.clear();
      std::istringstream list(value);
      for (std::string size; std::getline(list, size, ',');)
        options.sizes.push_back(std::atoi(size.c_str()));
    }
  }
  return options;
}

} // namespace

int main(int count, char **arguments) {
  Options options = parse(count, arguments);
  tritonc::device_info device;
  tritonc::status status = tritonc::current_device(device);
  if (status.code() == tritonc::status_code::no_driver ||
      status.code() == tritonc::status_code::no_device) {
    std::printf("[SKIP] no GPU here: %s\n", status.message().c_str());
    return 77;
  }
  require(status);

  Cublas cublas(options.cublas);
  std::printf("%s; matmul<half, N, N> in TFLOP/s, medians of %d; cuBLAS: %s\n\n", device.name,
              options.repeat, cublas.what().c_str());
  std::printf("%6s  %8s  %8s  %-12s", "size", "chosen", "best", "(its tile)");
  if (cublas.is_there())
    std::printf("  %8s  %10s  %10s", "cuBLAS", "best/peer", "difference");
  std::printf("\n");

  std::vector<SizeResult> results;
  for (int size : options.sizes) {
    results.push_back(run_size(size, cublas, options.repeat));
    print_row(results.back(), cublas.is_there());
  }
  if (options.json.empty())
    return 0;
  std::FILE *file = std::fopen(options.json.c_str(), "w");
  if (!file || std::fputs(json_of(device, results, options).c_str(), file) < 0 ||
      std::fclose(file) != 0) {
    std::fprintf(stderr, "bench_matmul: cannot write %s\n", options.json.c_str());
    return 1;
  }
  return 0;
}
