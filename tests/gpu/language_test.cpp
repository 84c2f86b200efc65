// Runs the kernels of language/ on the GPU: functions, reductions, scans, gathers in tiles, cache
// hints, random numbers, and programs that share memory. The errors of functions must be within the
// bounds in docs/pages/language/operators.md.

#include "matrices.h"
#include "support/philox.h"

#include <device_language.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace {

using namespace device_tests;
namespace kernels = device_language;

std::vector<int> random_ints(int n, int below) {
  std::vector<int> values(n);
  for (int &value : values)
    value = int(generator() % unsigned(below));
  return values;
}

/// Device memory of exactly n elements.
template <typename T> struct Memory {
  explicit Memory(size_t n) : size(n) { require(buffer.allocate(n), "allocation"); }
  explicit Memory(const std::vector<T> &values) : Memory(values.size()) {
    require(buffer.copy_from(values.data()), "copy");
  }
  void poison() { require(buffer.fill(0xff), "fill"); }
  void clear() { require(buffer.fill(0), "fill"); }
  std::vector<T> read() const {
    std::vector<T> values(size);
    require(buffer.copy_to(values.data()), "copy");
    return values;
  }
  T *data() { return buffer.data(); }

  size_t size;
  tritonc::buffer<T> buffer;
};

std::string outcome(tritonc::status launched) {
  if (!launched.ok())
    return launched.message().c_str();
  require(tritonc::synchronize(), "launch");
  return "";
}

// ---- functions ----

struct Function {
  const char *name;
  double (*of)(double x, double w);
  double units; // the maximum error, in units in the last place
  /// Replaces `units` if set: returns the maximum error.
  double (*error)(double x, double unit) = nullptr;
};

double error_of_float_exp(double x, double unit) { return (2 + 1.3 * std::fabs(x)) * unit; }
double error_of_float_log(double x, double unit) { return x > 0.5 && x < 2 ? 0x1p-22 : 5 * unit; }

template <typename T>
std::string judge(const Function &function, const std::vector<T> &x, const std::vector<T> &w,
                  const T *results) {
  for (size_t i = 0; i < x.size(); i++) {
    double right = function.of(double(x[i]), double(w[i]));
    double of_result = double(results[i]);
    double one = unit_in_last_place<T>(right);
    double allowed = function.error ? function.error(double(x[i]), one) : function.units * one;
    if (!is_within<T>(of_result, right, allowed))
      return text("%s of %.17g, %.17g is %.17g, not %.17g", function.name, double(x[i]),
                  double(w[i]), of_result, right);
  }
  return "";
}

template <typename T, size_t count> void functions(const char *type, const Function (&all)[count]) {
  constexpr int n = 5003;
  std::vector<T> x(n);
  for (int i = 0; i < n; i++) // all magnitudes up to e^4
    x[i] = T(std::exp(std::uniform_real_distribution<double>(i % 2 ? -80 : -4, 4)(generator)));
  Memory<T> given(x), results(size_t(n) * count);
  for (const auto &tile : kernels::functions<T>::variants()) {
    results.poison();
    std::string problem = outcome(
        kernels::functions<T>::launch({}, {.x = given.data(), .y = results.data(), .n = n}, tile));
    std::vector<T> y = results.read();
    for (size_t which = 0; which < count && problem.empty(); which++)
      problem = judge(all[which], x, x, y.data() + which * n);
    check(text("functions<%s> SIZE=%d", type, tile.SIZE), problem);
  }
}

constexpr Function float_functions_of_both[] = {
    {"exp", [](double x, double) { return std::exp(x); }, 0, error_of_float_exp},
    {"log", [](double x, double) { return std::log(x); }, 0, error_of_float_log},
    {"sqrt", [](double x, double) { return std::sqrt(x); }, 0.501},
    {"exp2", [](double x, double) { return std::exp2(x); }, 2},
    {"log2", [](double x, double) { return std::log2(x); }, 0, error_of_float_log},
    {"rsqrt", [](double x, double) { return 1 / std::sqrt(x); }, 2},
    {"floor", [](double x, double) { return std::floor(-x); }, 0},
    {"ceil", [](double x, double) { return std::ceil(-x); }, 0},
    {"trunc", [](double x, double) { return std::trunc(-x); }, 0},
    {"round", [](double x, double) { return std::round(-x); }, 0},
};
// The host's functions are in double, too, and may be wrong by one unit in the last place.
constexpr Function double_functions[] = {
    {"exp", [](double x, double) { return std::exp(x); }, 3},
    {"log", [](double x, double) { return std::log(x); }, 3},
    {"sqrt", [](double x, double) { return std::sqrt(x); }, 0},
    {"exp2", [](double x, double) { return std::exp2(x); }, 3},
    {"log2", [](double x, double) { return std::log2(x); }, 4},
    {"rsqrt", [](double x, double) { return 1 / std::sqrt(x); }, 3},
    {"floor", [](double x, double) { return std::floor(-x); }, 0},
    {"ceil", [](double x, double) { return std::ceil(-x); }, 0},
    {"trunc", [](double x, double) { return std::trunc(-x); }, 0},
    {"round", [](double x, double) { return std::round(-x); }, 0},
};
constexpr Function float_functions_alone[] = {
    {"sin", [](double x, double) { return std::sin(x); }, 2},
    {"cos", [](double x, double) { return std::cos(x); }, 2},
    {"tanh", [](double x, double) { return std::tanh(x); }, 4},
    {"erf", [](double x, double) { return std::erf(x); }, 4},
    {"pow", [](double x, double w) { return std::pow(std::fabs(x), w); }, 1},
    {"fma", [](double x, double w) { return x * w - x; }, 0.501},
};

void functions_of_float() {
  constexpr int n = 8009;
  constexpr size_t count = std::size(float_functions_alone);
  std::vector<float> x(n), w(n);
  for (int i = 0; i < n; i++) { // every fourth x up to 2^50
    double most = i % 4 ? 8 : std::exp2(std::uniform_real_distribution<double>(3, 50)(generator));
    x[i] = float(std::uniform_real_distribution<double>(-most, most)(generator));
    w[i] = float(std::uniform_real_distribution<double>(-20, 20)(generator));
  }
  Memory<float> given(x), powers(w), results(size_t(n) * count);
  for (const auto &tile : kernels::float_functions::variants()) {
    results.poison();
    std::string problem = outcome(kernels::float_functions::launch(
        {}, {.x = given.data(), .w = powers.data(), .y = results.data(), .n = n}, tile));
    std::vector<float> y = results.read();
    for (size_t which = 0; which < count && problem.empty(); which++)
      problem = judge(float_functions_alone[which], x, w, y.data() + which * n);
    check(text("float_functions SIZE=%d", tile.SIZE), problem);
  }
}

// ---- programs that share memory ----

template <typename T>
std::string compare(const char *what, const std::vector<T> &is, const std::vector<T> &right) {
  for (size_t i = 0; i < right.size(); i++)
    if (!(is[i] == right[i]))
      return text("%s[%zu] is %g, not %g", what, i, double(is[i]), double(right[i]));
  return "";
}

void histograms(int n) {
  constexpr int bins = 37;
  std::vector<int> x = random_ints(n, 100000), counts(bins), largest(bins);
  for (int v : x) {
    counts[v % bins]++;
    largest[v % bins] = std::max(largest[v % bins], v);
  }
  Memory<int> given(x), device_counts(bins), device_largest(bins);
  for (const auto &tile : kernels::histogram::variants()) {
    device_counts.clear();
    device_largest.clear();
    std::string problem = outcome(kernels::histogram::launch({},
                                                             {.x = given.data(),
                                                              .counts = device_counts.data(),
                                                              .largest = device_largest.data(),
                                                              .n = n,
                                                              .bins = bins},
                                                             tile));
    if (problem.empty())
      problem = compare("counts", device_counts.read(), counts);
    if (problem.empty())
      problem = compare("largest", device_largest.read(), largest);
    check(text("histogram SIZE=%d n=%d", tile.SIZE, n), problem);
  }
}

void locks(int n) {
  std::vector<int> x = random_ints(n, 1000);
  Memory<int> given(x), lock(1);
  for (const auto &tile : kernels::locked::variants()) {
    std::vector<int> right(tile.SIZE);
    for (int i = 0; i < n; i++)
      right[i % tile.SIZE] += x[i];
    Memory<int> c(right.size());
    c.clear();
    lock.clear();
    std::string problem = outcome(kernels::locked::launch(
        {}, {.x = given.data(), .lock = lock.data(), .c = c.data(), .n = n}, tile));
    if (problem.empty())
      problem = compare("c", c.read(), right);
    check(text("locked SIZE=%d n=%d", tile.SIZE, n), problem);
  }
}

void last_programs(int n) {
  std::vector<int> x = random_ints(n, 1000), right = {0};
  for (int v : x)
    right[0] += v;
  Memory<int> given(x), done(1), sum(1);
  for (const auto &tile : kernels::last_one_adds::variants()) {
    Memory<int> parts(size_t((n + tile.SIZE - 1) / tile.SIZE));
    parts.poison();
    sum.poison();
    done.clear();
    std::string problem = outcome(kernels::last_one_adds::launch(
        {},
        {.x = given.data(), .parts = parts.data(), .done = done.data(), .sum = sum.data(), .n = n},
        tile));
    if (problem.empty())
      problem = compare("sum", sum.read(), right);
    check(text("last_one_adds SIZE=%d n=%d", tile.SIZE, n), problem);
  }
}

// ---- reductions ----

template <typename T> void reductions(const char *type, int rows) {
  for (const auto &tile : kernels::reductions<T>::variants()) {
    int columns = tile.COLUMNS;
    std::vector<T> x(size_t(rows) * columns);
    for (T &v : x) // exact sums, and some equal elements
      v = T(float(int(generator() % 257) - 128) / 4);
    std::vector<float> sums(rows);
    std::vector<T> largest(rows);
    std::vector<int> smallest_at(rows), positive(rows);
    for (int m = 0; m < rows; m++) {
      const T *row = x.data() + size_t(m) * columns;
      largest[m] = row[0];
      for (int k = 0; k < columns; k++) {
        sums[m] += float(row[k]);
        if (float(row[k]) > float(largest[m]))
          largest[m] = row[k];
        if (float(row[k]) < float(row[smallest_at[m]]))
          smallest_at[m] = k;
        positive[m] += float(row[k]) > 0;
      }
    }
    Memory<T> given(x), device_largest(largest.size());
    Memory<float> device_sums(sums.size());
    Memory<int> device_at(sums.size()), device_positive(sums.size());
    device_sums.poison();
    device_largest.poison();
    device_at.poison();
    device_positive.poison();
    std::string problem =
        outcome(kernels::reductions<T>::launch({},
                                               {.x = given.data(),
                                                .sums = device_sums.data(),
                                                .largest = device_largest.data(),
                                                .smallest_at = device_at.data(),
                                                .positive = device_positive.data(),
                                                .rows = rows},
                                               tile));
    std::vector<float> is_largest, right_largest;
    for (T v : device_largest.read())
      is_largest.push_back(float(v));
    for (T v : largest)
      right_largest.push_back(float(v));
    if (problem.empty())
      problem = compare("sums", device_sums.read(), sums);
    if (problem.empty())
      problem = compare("largest", is_largest, right_largest);
    if (problem.empty())
      problem = compare("smallest_at", device_at.read(), smallest_at);
    if (problem.empty())
      problem = compare("positive", device_positive.read(), positive);
    check(text("reductions<%s> ROWS=%d COLUMNS=%d rows=%d", type, tile.ROWS, columns, rows),
          problem);
  }
}

// ---- scans, gathers, single columns ----

template <typename T> void scans(const char *type, int rows) {
  for (const auto &tile : kernels::scans<T>::variants()) {
    const int columns = tile.COLUMNS;
    const size_t count = size_t(rows) * size_t(columns);
    std::vector<T> x(count);
    std::vector<float> sums(count), largest(count), moved(count), third(rows);
    for (T &v : x) // exact sums, also in half
      v = T(float(int(generator() % 5) - 2));
    for (size_t i = 0; i < count; i++) {
      size_t m = i / size_t(columns), k = i % size_t(columns);
      float own = float(x[i]);
      sums[i] = k > 0 ? sums[i - 1] + own : own;
      bool is_first = m % size_t(tile.ROWS) == 0;
      largest[i] = is_first ? own : std::max(largest[i - size_t(columns)], own);
      moved[i] = float(x[m * size_t(columns) + (k * 5 + m) % size_t(columns)]);
      if (k == 3)
        third[m] = own;
    }
    Memory<T> given(x), device_sums(count), device_largest(count), device_moved(count),
        device_third(third.size());
    for (Memory<T> *memory : {&device_sums, &device_largest, &device_moved, &device_third})
      memory->poison();
    std::string problem = outcome(kernels::scans<T>::launch({},
                                                            {.x = given.data(),
                                                             .sums = device_sums.data(),
                                                             .largest = device_largest.data(),
                                                             .moved = device_moved.data(),
                                                             .third = device_third.data(),
                                                             .rows = rows},
                                                            tile));
    auto must_be = [&](const char *what, const Memory<T> &memory, const std::vector<float> &right) {
      std::vector<float> is;
      for (T v : memory.read())
        is.push_back(float(v));
      if (problem.empty())
        problem = compare(what, is, right);
    };
    must_be("sums", device_sums, sums);
    must_be("largest", device_largest, largest);
    must_be("moved", device_moved, moved);
    must_be("third", device_third, third);
    check(text("scans<%s> ROWS=%d COLUMNS=%d rows=%d", type, tile.ROWS, columns, rows), problem);
  }
}

// ---- cache hints ----

template <typename T> void cache_hints(const char *type, int n) {
  std::vector<T> x(n), right;
  for (T &v : x)
    v = T(float(int(generator() % 200) - 100));
  Memory<T> given(x), copied(2 * x.size());
  for (const auto &tile : kernels::cache_hints<T>::variants()) {
    copied.poison();
    std::string problem = outcome(
        kernels::cache_hints<T>::launch({}, {.x = given.data(), .y = copied.data(), .n = n}, tile));
    std::vector<T> y = copied.read();
    for (size_t i = 0; i < y.size() && problem.empty(); i++)
      if (std::memcmp(&y[i], &x[i % x.size()], sizeof(T)) != 0)
        problem = text("element %zu differs from x", i);
    check(text("cache_hints<%s> SIZE=%d n=%d", type, tile.SIZE, n), problem);
  }
}

// ---- random numbers ----

void random_numbers(long seed, long first, int n) {
  std::vector<uint32_t> words(n);
  std::vector<float> uniforms(n);
  for (int i = 0; i < n; i++) {
    words[i] = tritonc::test::philox(uint64_t(seed), uint64_t(first + i))[3];
    uniforms[i] = tritonc::test::uniform(tritonc::test::philox(uint64_t(seed), uint64_t(i))[0]);
  }
  Memory<uint32_t> device_words(words.size());
  Memory<float> device_uniforms(words.size());
  for (const auto &tile : kernels::random_numbers::variants()) {
    device_words.poison();
    device_uniforms.poison();
    std::string problem =
        outcome(kernels::random_numbers::launch({},
                                                {.words = device_words.data(),
                                                 .uniforms = device_uniforms.data(),
                                                 .seed = seed,
                                                 .first = first,
                                                 .n = n},
                                                tile));
    if (problem.empty())
      problem = compare("words", device_words.read(), words);
    if (problem.empty())
      problem = compare("uniforms", device_uniforms.read(), uniforms);
    check(text("random_numbers SIZE=%d seed=%ld first=%ld n=%d", tile.SIZE, seed, first, n),
          problem);
  }
}

} // namespace

int main(int count, char **arguments) {
  for (int i = 1; i + 1 < count; i += 2)
    if (std::strcmp(arguments[i], "--seed") == 0)
      generator.seed(std::strtoull(arguments[i + 1], nullptr, 10));
  if (!find_device())
    return 77;
  functions<float>("float", float_functions_of_both);
  functions<double>("double", double_functions);
  functions_of_float();
  for (int n : {1, 511, 512, 100003}) {
    histograms(n);
    locks(n);
    last_programs(n);
  }
  for (int rows : {1, 15, 16, 1001}) {
    reductions<float>("float", rows);
    reductions<tritonc::half>("half", rows);
    scans<float>("float", rows);
    scans<tritonc::half>("half", rows);
    scans<int>("int", rows);
  }
  for (int n : {1, 1023, 4096, 100003}) {
    cache_hints<int8_t>("char", n);
    cache_hints<tritonc::half>("half", n);
    cache_hints<float>("float", n);
    cache_hints<double>("double", n);
  }
  random_numbers(0, 0, 1);
  random_numbers(0x123456789abcdef, -3, 100003);
  return report();
}
