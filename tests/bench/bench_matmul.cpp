// Compares the speed of our matmul kernels with cuBLAS, Triton and our baseline kernel, and
// measures the launch overhead. README.md describes the method.

#include "cublas.h"
#include "driver.h"
#include "launch_cost.h"
#include "matmul.h"
#include "matrices.h"
#include "report.h"
#include "triton_run.h"

#include <tritonc/device.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <vector>

namespace {

using namespace bench;

const char usage[] = R"(bench_matmul [options]
  --rows REGEX     only rows whose "group/name" it matches; --list shows them
  --triton FILE    what triton_peer.py measured; or `run`: runs it first
  --python FILE    the Python that has Triton (python3)
  --cublas FILE    the cuBLAS to compare with, if it is not found by itself
  --json FILE      writes all numbers
  --svg FILE       draws TFLOP/s over size
  --repeat N       turns of each (40)
  --tiles          also times each compiled variant (into --json)
  --list           prints the rows and ends
  --list-triton    prints those that triton_peer.py takes and ends
  --largest N      shrinks all products to N at most: to see whether everything runs
)";

struct Options {
  std::string rows, triton, python = "python3", cublas, json, svg;
  Effort effort;
  bool tiles = false, list = false, list_triton = false;
  int largest = 0;
};

[[noreturn]] void wrong_use(const std::string &what) {
  std::fprintf(stderr, "bench_matmul: %s\n%s", what.c_str(), usage);
  std::exit(2);
}

Effort effort_of(int rounds) {
  Effort result;
  result.rounds = rounds;
  result.slow_rounds = std::min(rounds, result.slow_rounds);
  result.max_late_rounds = rounds;
  return result;
}

Options parse(int count, char **arguments) {
  Options options;
  for (int i = 1; i < count; i++) {
    std::string option = arguments[i];
    auto value = [&]() -> std::string {
      if (i + 1 == count)
        wrong_use(option + " has no value");
      return arguments[++i];
    };
    auto positive = [&] {
      int number = std::atoi(value().c_str());
      if (number <= 0)
        wrong_use(option + " needs a number");
      return number;
    };
    if (option == "--rows")
      options.rows = value();
    else if (option == "--triton")
      options.triton = value();
    else if (option == "--python")
      options.python = value();
    else if (option == "--cublas")
      options.cublas = value();
    else if (option == "--json")
      options.json = value();
    else if (option == "--svg")
      options.svg = value();
    else if (option == "--repeat")
      options.effort = effort_of(positive());
    else if (option == "--largest")
      options.largest = positive();
    else if (option == "--tiles")
      options.tiles = true;
    else if (option == "--list")
      options.list = true;
    else if (option == "--list-triton")
      options.list_triton = true;
    else
      wrong_use("unknown option " + option);
  }
  return options;
}

std::vector<Row> rows_of(const Options &options) {
  std::vector<Row> rows;
  try {
    rows = selected(all_rows(), options.rows);
  } catch (const std::regex_error &error) {
    wrong_use("--rows " + options.rows + ": " + error.what());
  }
  if (options.largest > 0)
    for (Row &row : rows)
      row = shrunk(row, options.largest);
  return rows;
}

// --- One row -------------------------------------------------------------------------------------

class Bench {
public:
  Bench(const Options &options, const std::vector<Row> &rows, const std::string &cublas)
      : options_(options), queue_(driver_), cublas_(cublas), matrices_(rows) {}

  const Driver &driver() const { return driver_; }
  const Cublas &cublas() const { return cublas_; }

  Result run(const Row &row) {
    Result result;
    result.row = row;
    try {
      measure(result);
    } catch (const std::exception &error) {
      result.state = Result::State::failed;
      result.note = error.what();
    }
    return result;
  }

  LaunchCost launch() {
    try {
      matrices_.fill(Type::float16);
      return launch_cost(driver_, matrices_.ours());
    } catch (const std::exception &error) {
      LaunchCost result;
      result.note = error.what();
      return result;
    }
  }

private:
  // Null without cuBLAS.
  Launch peer_of(const Row &row) {
    if (std::string(peer(row)) == "cuBLAS") {
      if (!cublas_.is_there())
        return nullptr;
      Operands operands = matrices_.peers();
      return cublas_.product(row, operands.a, operands.b, operands.c);
    }
    Row baseline = row;
    baseline.form = Form::plain;
    return matmul_of(baseline, matrices_.peers())->launch;
  }

  void measure(Result &result) {
    const Row &row = result.row;
    matrices_.fill(row.type);
    std::optional<Product> ours = matmul_of(row, matrices_.ours());
    if (!ours)
      return measure_peer_alone(result);
    Launch peer = peer_of(row);
    if (!peer) {
      time(result, ours->launch, ours->launch);
      result.state = Result::State::no_peer;
      return;
    }
    Difference difference = matrices_.compare(row, ours->launch, peer);
    result.difference = difference.mean;
    result.largest = difference.largest;
    if (!is_acceptable(row.type, difference)) {
      result.state = Result::State::wrong;
      char text[80];
      std::snprintf(text, sizeof text, "differs by %.1e, one element by %.1e", difference.mean,
                    difference.largest);
      result.note = text;
      return;
    }
    time(result, ours->launch, peer);
    result.state = Result::State::measured;
    if (options_.tiles)
      time_tiles(result, *ours, peer);
  }

  // Without our kernel, the speed of the peer is the goal. A failure of the peer is only a note.
  void measure_peer_alone(Result &result) {
    result.state = Result::State::not_compiled;
    try {
      if (Launch peer = peer_of(result.row))
        time(result, peer, peer);
    } catch (const std::exception &error) {
      result.note = error.what();
    }
  }

  void time(Result &result, const Launch &ours, const Launch &peer) {
    Samples samples = alternate(queue_, ours, peer, options_.effort);
    result.times = compared(samples);
    result.rounds = int(samples.first.size());
    result.launches = samples.launches;
    result.late_rounds = samples.late_rounds;
  }

  // With few rounds. Omits variants that do not fit the shape of the row.
  void time_tiles(Result &result, const Product &ours, const Launch &peer) {
    Effort brief = options_.effort;
    brief.rounds = brief.slow_rounds = 7;
    brief.warm_up = 1;
    for (const auto &[tile, launch] : ours.tiles)
      try {
        result.tiles.emplace_back(tile, compared(alternate(queue_, launch, peer, brief)).first);
      } catch (const std::exception &) {
      }
  }

  const Options &options_;
  Driver driver_;
  DeviceQueue queue_;
  Cublas cublas_;
  Matrices matrices_;
};

// --- All rows ------------------------------------------------------------------------------------

void read_triton(const Options &options, const std::vector<Row> &rows, Report &report) {
  if (options.triton.empty()) {
    report.triton_note = "see --triton";
    return;
  }
  std::string text, error;
  bool done = options.triton == "run"
                  ? run_triton_peer(options.python, triton_request(rows), text, error)
                  : read_file(options.triton, text, error);
  std::optional<TritonResults> results;
  if (done)
    results = parse_triton(text, error);
  if (results)
    report.triton = *results;
  else
    report.triton_note = error;
}

// The cuBLAS that Triton was compared with, if installed. It links both comparisons.
std::string cublas_of(const Options &options, const TritonResults &triton) {
  bool is_here = options.cublas.empty() && std::filesystem::exists(triton.cublas);
  return is_here ? triton.cublas : options.cublas;
}

std::string today() {
  std::time_t now = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

void write(const std::string &path, const std::string &text) {
  if (path.empty())
    return;
  std::ofstream file(path);
  file << text;
  if (!file.flush()) {
    std::fprintf(stderr, "bench_matmul: cannot write %s\n", path.c_str());
    std::exit(1);
  }
}

void write_plot(const Options &options, const Report &report) {
  std::string caption = report.machine.device + ", driver " + report.machine.driver + ", cuBLAS " +
                        report.machine.cublas;
  if (!report.triton.versions.empty())
    caption += ", " + report.triton.versions;
  write(options.svg, svg("Square matrix products, TFLOP/s over size", caption, panels(report)));
}

Report run(const Options &options, const std::vector<Row> &rows,
           const tritonc::device_info &device) {
  Report report;
  read_triton(options, rows, report); // before our data use the GPU
  Bench bench(options, rows, cublas_of(options, report.triton));
  report.machine = {device.name, "CUDA " + bench.driver().version(), bench.cublas().what(),
                    today()};
  std::printf("%s; driver: %s; cuBLAS: %s; Triton: %s\n\n%s", device.name,
              report.machine.driver.c_str(), report.machine.cublas.c_str(),
              report.triton.versions.empty() ? report.triton_note.c_str()
                                             : report.triton.versions.c_str(),
              table_head().c_str());
  for (const Row &row : rows) {
    report.results.push_back(bench.run(row));
    std::fputs(table_line(report.results.back(), report.triton).c_str(), stdout);
    std::fflush(stdout);
  }
  if (is_selected("launch/launch", options.rows))
    report.launch = bench.launch();
  return report;
}

} // namespace

int main(int count, char **arguments) {
  Options options = parse(count, arguments);
  std::vector<Row> rows = rows_of(options);
  if (options.list_triton) {
    std::fputs(triton_request(rows).c_str(), stdout);
    return 0;
  }
  if (options.list) {
    for (const Row &row : rows)
      std::printf("%s/%s\n", row.group.c_str(), name(row).c_str());
    std::printf("launch/launch\n");
    return 0;
  }
  tritonc::device_info device;
  tritonc::status status = tritonc::current_device(device);
  if (status.code() == tritonc::status_code::no_driver ||
      status.code() == tritonc::status_code::no_device) {
    std::printf("[SKIP] no GPU here: %s\n", status.message().c_str());
    return 77;
  }
  if (!status.ok()) {
    std::fprintf(stderr, "bench_matmul: %s\n", status.message().c_str());
    return 1;
  }
  try {
    auto start = std::chrono::steady_clock::now();
    Report report = run(options, rows, device);
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::printf("\n%s%.0f seconds\n", summary(report).c_str(), seconds.count());
    write(options.json, json(report));
    write_plot(options, report);
    return is_right(report) ? 0 : 1;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "bench_matmul: %s\n", error.what());
    return 1;
  }
}
