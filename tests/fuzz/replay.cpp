// Runs the fuzz targets on files, without libFuzzer and in every build: the corpus, and inputs that
// once failed.
//
//     test_fuzz_inputs <target> <file or folder>...
//
// The program prints each path before it runs the file, so a crash follows its path. Exit code 1:
// an input took too much CPU time, or the process used more than 1 GiB.

#include "fuzz/targets.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#ifndef __has_feature // of clang, which builds with sanitizers
#define __has_feature(feature) 0
#endif

namespace fuzz = tritonc::fuzz;
namespace fs = std::filesystem;

namespace {

using Target = void(std::string_view);
const std::map<std::string, Target *> targets = {{"front_end", fuzz::front_end},
                                                 {"grammar", fuzz::grammar},
                                                 {"tile_ir", fuzz::tile_ir},
                                                 {"ptx", fuzz::ptx}};

// CPU time. The goal is 1 second without sanitizers, and a machine may be slow.
#if __has_feature(address_sanitizer)
constexpr double max_seconds = 21; // up to 7 times as long: README.md
#else
constexpr double max_seconds = 3;
#endif
constexpr long max_kilobytes = 1024 * 1024;

// CPU time, because the machine may be busy.
double cpu_seconds() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

double seconds_for(Target *target, const std::string &input) {
  double start = cpu_seconds();
  target(input);
  return cpu_seconds() - start;
}

// Max memory in kilobytes. getrusage() also counts the process that started this one.
long peak_kilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmHWM:", 0) == 0)
      return std::stol(line.substr(6));
  return 0;
}

std::vector<fs::path> files_in(const fs::path &path) {
  if (!fs::exists(path)) // a target without failures so far
    return {};
  if (!fs::is_directory(path))
    return {path};
  std::vector<fs::path> files;
  for (const fs::directory_entry &entry : fs::recursive_directory_iterator(path))
    if (entry.is_regular_file())
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

} // namespace

int main(int argc, char **argv) {
  auto found = argc > 2 ? targets.find(argv[1]) : targets.end();
  if (found == targets.end()) {
    std::fprintf(stderr, "usage: %s front_end|grammar|tile_ir|ptx <file or folder>...\n", argv[0]);
    return 2;
  }
  int files = 0, failures = 0;
  for (int i = 2; i < argc; i++)
    for (const fs::path &path : files_in(argv[i])) {
      std::ifstream in(path, std::ios::binary);
      std::stringstream input;
      input << in.rdbuf();
      std::printf("%s\n", path.c_str());
      std::fflush(stdout);
      double seconds = seconds_for(found->second, input.str());
      if (seconds > max_seconds) {
        std::printf("took %.1f seconds\n", seconds);
        failures++;
      }
      files++;
    }
  if (long kilobytes = peak_kilobytes(); kilobytes > max_kilobytes) {
    std::printf("took %ld kilobytes\n", kilobytes);
    failures++;
  }
  std::printf("%d files, %d failures\n", files, failures);
  return files == 0 || failures > 0;
}
