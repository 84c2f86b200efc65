// Runs kernels with `print`, `assert` and checked indices on the GPU, and checks their output:
//
// - `print`: the lines on standard output;
// - a failed `assert`: its source line, the element, the message, and the status of the launch.
//
// Each case runs in a separate process, because a failed assertion ends the driver's context.
//
// The same program runs on the emulator. The emulator prints a tile on one line; a GPU prints one
// line per element.
//
//   checks_test            all cases
//   checks_test CASE       prints the output of one case

#include <device_checks.hpp>
#include <tritonc/device.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

namespace kernels = device_checks;

constexpr int programs = 2;

void require(tritonc::status status) {
  if (status.ok())
    return;
  std::printf("status %s %d: %s\n", status.name(), status.cuda_result(), status.message().c_str());
  std::fflush(stdout);
  std::_Exit(1);
}

template <typename T> class Memory {
public:
  explicit Memory(const std::vector<T> &values) : size_(values.size()) {
    require(buffer_.allocate(size_));
    require(buffer_.copy_from(values.data()));
  }
  T *data() { return buffer_.data(); }
  std::vector<T> read() {
    std::vector<T> values(size_);
    require(buffer_.copy_to(values.data()));
    return values;
  }

private:
  size_t size_;
  tritonc::buffer<T> buffer_;
};

template <typename T> std::vector<T> series(int count, float first, float step) {
  std::vector<T> values;
  for (int i = 0; i < count; i++)
    values.push_back(T(first + step * float(i)));
  return values;
}

// --- The cases, each in a separate process -------------------------------------------------------

void speak() {
  Memory<tritonc::half> h(series<tritonc::half>(8, -2.5f, 0.5f));
  Memory<float> x(series<float>(512, 0, 1));
  Memory<double> d({0.25});
  Memory<signed char> b({-100});
  Memory<tritonc::bfloat16> w(series<tritonc::bfloat16>(1, -3, 0));
  Memory<tritonc::float8_e4m3> e(series<tritonc::float8_e4m3>(1, 1.75f, 0));
  require(kernels::speaks::launch({}, {.h = h.data(),
                                       .x = x.data(),
                                       .d = d.data(),
                                       .b = b.data(),
                                       .w = w.data(),
                                       .e = e.data(),
                                       .n = -5,
                                       .u = 4000000000u,
                                       .programs = programs}));
  require(tritonc::synchronize());
}

// x has `count` elements of 1. x[wrong] is 9, if wrong >= 0.
template <typename Kernel> void launch_on_integers(int programs, int count, int wrong, int n) {
  std::vector<int> values(size_t(count), 1);
  if (wrong >= 0)
    values[size_t(wrong)] = 9;
  Memory<int> x(values);
  require(Kernel::launch({}, {.x = x.data(), .n = n, .programs = programs}));
  require(tritonc::synchronize());
}

void multiply() {
  constexpr int K = 128;
  Memory<tritonc::half> a(series<tritonc::half>(64 * K, 1, 0));
  Memory<tritonc::half> b(series<tritonc::half>(64 * K, 0.5f, 0));
  Memory<float> c(series<float>(64 * 64, 0, 0));
  require(kernels::multiplies::launch(
      {}, {.A = a.data(), .B = b.data(), .C = c.data(), .K = K, .programs = 1}));
  require(tritonc::synchronize());
  std::vector<float> sums = c.read();
  std::printf("all are 64: %s\n",
              std::all_of(sums.begin(), sums.end(), [](float sum) { return sum == 64; }) ? "yes"
                                                                                         : "no");
}

struct Case {
  const char *name;
  void (*run)();
};

const Case cases[] = {
    {"speaks", speak},
    {"scalar_holds", [] { launch_on_integers<kernels::asserts_a_number>(2, 2, -1, 5); }},
    {"scalar_fails", [] { launch_on_integers<kernels::asserts_a_number>(2, 2, -1, -5); }},
    {"tile_holds", [] { launch_on_integers<kernels::asserts_a_tile>(1, 64, -1, 5); }},
    {"tile_fails", [] { launch_on_integers<kernels::asserts_a_tile>(1, 64, 37, 5); }},
    {"index_holds", [] { launch_on_integers<kernels::looks_up>(1, 32, -1, 0); }},
    {"index_fails", [] { launch_on_integers<kernels::looks_up>(1, 32, -1, 1); }},
    {"multiplies", multiply},
};

int run_case(const char *name) {
  for (const Case &one : cases)
    if (std::strcmp(one.name, name) == 0) {
      one.run();
      std::printf("status ok\n");
      return 0;
    }
  std::fprintf(stderr, "unknown case %s\n", name);
  return 2;
}

// --- The checks of their output ------------------------------------------------------------------

int passed = 0, failed = 0;

struct Said {
  int code;
  std::string text; // stdout and stderr
  std::vector<std::string> lines;

  bool has(const std::string &part) const { return text.find(part) != std::string::npos; }
  long count(const std::string &line) const { return std::count(lines.begin(), lines.end(), line); }
};

Said say(const char *name) {
  Said said = {};
  std::string command = "exec /proc/" + std::to_string(getpid()) + "/exe " + name + " 2>&1";
  FILE *pipe = popen(command.c_str(), "r");
  char buffer[4096];
  for (size_t count; (count = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    said.text.append(buffer, count);
  int status = pclose(pipe);
  said.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  for (size_t begin = 0, end; (end = said.text.find('\n', begin)) != std::string::npos;
       begin = end + 1)
    said.lines.push_back(said.text.substr(begin, end - begin));
  return said;
}

void check(const Said &said, bool is_well, const std::string &what) {
  is_well ? passed++ : failed++;
  if (!is_well)
    std::printf("FAILED %s; the output is:\n%s\n", what.c_str(), said.text.c_str());
}

void check_lines(const Said &said, const std::vector<std::string> &lines) {
  for (const std::string &line : lines)
    check(said, said.count(line) == 1, "the line `" + line + "` once");
}

void check_speaks(bool emulated) {
  Said said = say("speaks");
  check(said, said.code == 0 && said.has("status ok"), "status of speaks");
  size_t expected = 1; // the status
  for (int p = 0; p < programs; p++) {
    std::string program = "program (" + std::to_string(p) + ", 0, 0): ";
    std::vector<std::string> lines = {
        program + "start of " + std::to_string(p) + " of 2",
        program + "n = -5, u = 4000000000, n < 0 = true, *d = 0.25, *b = -100, *w = -3, *e = 1.75",
        program + "turn 0",
        program + "turn 2",
    };
    expected += 7;
    if (emulated) {
      lines.push_back(program + "*(x + all) = [0, 1, 2, ..., 509, 510, 511]");
    } else {
      lines.push_back(program + "h f16[8] 100 % of x f32[8, 4]");
      lines.push_back(program + "*(x + all) = f32[512]");
      for (int i = 0; i < 8; i++) {
        char text[64];
        std::snprintf(text, sizeof text, "h[%d] = %g", i, -2.5 + 0.5 * i);
        lines.push_back(program + text);
        for (int j = 0; j < 4; j++) {
          std::snprintf(text, sizeof text, "100 %% of x[%d, %d] = %d", i, j, i + j);
          lines.push_back(program + text);
          std::snprintf(text, sizeof text, "i[newaxis, :] < j[:, newaxis][%d, %d] = %s", j, i,
                        i < j ? "true" : "false");
          lines.push_back(program + text);
        }
      }
      for (int i : {0, 1, 2, 509, 510, 511})
        lines.push_back(program + "*(x + all)[" + std::to_string(i) + "] = " + std::to_string(i));
      expected += 8 + 32 + 32 + 6;
    }
    check_lines(said, lines);
  }
  check(said, said.lines.size() == expected, std::to_string(expected) + " lines");
}

void check_holds(const char *name) {
  Said said = say(name);
  check(said, said.code == 0 && said.text == "status ok\n",
        std::string(name) + ": no output but `status ok`");
}

// `where`: the source line; `text`: the runtime's message; `by_driver`: the driver's message.
void check_fails(const char *name, bool emulated, const std::string &where, const std::string &text,
                 const std::string &by_driver) {
  Said said = say(name);
  std::string file = "checks.tc:" + where + ":";
  check(said, said.code == 1, std::string(name) + ": exit code 1");
  check(said, said.has("status device_lost 710: "), "the status of a failed assertion");
  check(said, said.has("an assertion in a kernel failed"), "the message");
  check(said, said.has(file) && said.has("error: " + text), "`" + text + "`");
  if (!emulated)
    check(said,
          said.has(file.substr(0, file.size() - 1) + ": ") &&
              said.has("Assertion `" + by_driver + "` failed"),
          "`" + by_driver + "`");
}

void check_multiplies(bool emulated) {
  Said said = say("multiplies");
  check(said, said.code == 0 && said.has("all are 64: yes"), "C == 64");
  check(said, !said.has("error"), "no error");
  const std::string program = "program (0, 0, 0): ";
  if (emulated) {
    check(said, said.has(program + "after 0 [[32, 32, 32, ..., 32, 32, 32], "), "iteration 0");
    check(said, said.has(program + "after 64 [[64, 64, 64, ..., 64, 64, 64], "), "iteration 1");
    return;
  }
  check_lines(said, {program + "after 0 f32[64, 64]", program + "after 64 f32[64, 64]"});
  for (int i : {0, 1, 2, 61, 62, 63})
    for (int j : {0, 1, 2, 61, 62, 63})
      for (const char *sum : {"32", "64"})
        check_lines(said,
                    {program + "[" + std::to_string(i) + ", " + std::to_string(j) + "] = " + sum});
  check(said, said.lines.size() == 2 * 37 + 2, "no other line");
}

} // namespace

int main(int count, char **arguments) {
  if (count > 1)
    return run_case(arguments[1]);
  const char *driver = std::getenv("TRITONC_DRIVER");
  bool emulated = driver && std::strstr(driver, "emulator");
  Said first = say("scalar_holds");
  if (first.has("no_driver") || first.has("no_device")) {
    std::printf("[SKIP] no GPU here: %s", first.text.c_str());
    return 77;
  }
  check_speaks(emulated);
  for (const char *name : {"scalar_holds", "tile_holds", "index_holds"})
    check_holds(name);
  check_fails("scalar_fails", emulated, "20", "assertion `n > 0` failed: a positive \"n\", 100 %",
              "n > 0: a positive \"n\", 100 %");
  check_fails("tile_fails", emulated, "27",
              "assertion `*(x + at) < n` failed: too large, at element (2, 5)",
              "*(x + at) < n: too large");
  check_fails("index_fails", emulated, "34",
              "`gather` index out of range for an axis of extent 32, at element (31)",
              "`gather` index out of range for an axis of extent 32");
  check_multiplies(emulated);
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
