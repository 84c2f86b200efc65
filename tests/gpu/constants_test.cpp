// Tests constant memory with the kernels of constants/, on the GPU or the emulator:
//
// - the initial values, before any set_<name> call;
// - set_<name> calls that fill all of a constant, or its first elements;
// - set_<name> calls between launches, in stream order;
// - all variants of a kernel, and launches that were prepared earlier.
//
// Prints one line per failure, then the counts. Exits with 77 without a GPU.

#include "matrices.h"

#include <constant_kernels.hpp>

#include <numeric>
#include <vector>

namespace {

using namespace device_tests;
namespace kernels = constant_kernels;

template <typename T> std::vector<T> read(const tritonc::buffer<T> &from, size_t count) {
  std::vector<T> values(count);
  require(from.copy_to(values.data()), "copy");
  return values;
}

std::string outcome(tritonc::status launched) {
  if (!launched.ok())
    return launched.message().c_str();
  require(tritonc::synchronize(), "launch");
  return "";
}

/// The host copy of lookup's constant memory.
struct Tables {
  std::vector<int32_t> steps = std::vector<int32_t>(300, 0);
  std::vector<float> weights = {1, -2.5f, 0.125f, 0, 0};
  std::vector<uint8_t> codes = std::vector<uint8_t>(100, 0);
  int32_t scale = 1;
};

template <typename T> class Lookup {
public:
  using Kernel = kernels::lookup<T>;

  explicit Lookup(int n) : n_(n), x_(size_t(n) + 300) {
    require(device_x_.allocate(x_.size()), "allocation");
    require(y_.allocate(size_t(n)), "allocation");
    require(where_.allocate(size_t(n)), "allocation");
    for (size_t i = 0; i < x_.size(); i++)
      x_[i] = T(float(int(i % 37) - 18));
    require(device_x_.copy_from(x_.data()), "copy");
    poison();
  }

  typename Kernel::args args() {
    return {.x = device_x_.data(), .y = y_.data(), .where = where_.data(), .first = 2, .n = n_};
  }

  std::string compare(const Tables &tables) {
    std::vector<T> y = read(y_, size_t(n_));
    std::vector<int32_t> where = read(where_, size_t(n_));
    poison();
    for (int i = 0; i < n_; i++) {
      float x = float(x_[size_t(tables.steps[size_t(i % 300)])]);
      float code = float(tables.codes[size_t(i % 100)]);
      float expected = float(T((tables.weights[size_t(i % 5)] * x + code) * float(tables.scale)));
      if (float(y[size_t(i)]) != expected)
        return text("element %d is %g, not %g", i, float(y[size_t(i)]), expected);
      if (where[size_t(i)] != (code == 0))
        return text("element %d of where is %d", i, where[size_t(i)]);
    }
    return "";
  }

private:
  void poison() {
    require(y_.fill(0xff), "fill");
    require(where_.fill(0xff), "fill");
  }

  int n_;
  std::vector<T> x_;
  tritonc::buffer<T> device_x_, y_;
  tritonc::buffer<int32_t> where_;
};

/// Launches each variant, then the variant that the runtime chooses.
template <typename T>
void launch_all(const char *type, const char *when, Lookup<T> &lookup, const Tables &tables) {
  using Kernel = kernels::lookup<T>;
  for (const auto &tile : Kernel::variants()) {
    std::string problem = outcome(Kernel::launch({}, lookup.args(), tile));
    check(text("lookup<%s> TILE=%d, %s", type, tile.TILE, when),
          problem.empty() ? lookup.compare(tables) : problem);
  }
  std::string problem = outcome(Kernel::launch({}, lookup.args()));
  check(text("lookup<%s>, %s", type, when), problem.empty() ? lookup.compare(tables) : problem);
}

template <typename T> void lookups(const char *type) {
  using Kernel = kernels::lookup<T>;
  Lookup<T> lookup(1003);
  Tables tables;
  launch_all(type, "initial values", lookup, tables);

  typename Kernel::prepared ready;
  require(Kernel::prepare({}, lookup.args(), ready), "prepare");

  for (size_t i = 0; i < tables.steps.size(); i++)
    tables.steps[i] = int32_t(i * 7 % 300);
  for (size_t i = 0; i < tables.codes.size(); i++)
    tables.codes[i] = uint8_t(i % 3 ? 200 + i % 50 : 0);
  require(Kernel::set_steps({}, tables.steps.data(), 4 * tables.steps.size()), "set_steps");
  require(Kernel::set_codes({}, tables.codes.data(), tables.codes.size()), "set_codes");
  launch_all(type, "two constants set", lookup, tables);

  // Sets the first two weights; the others keep their values.
  std::vector<T> weights = {T(4.0f), T(-1.0f)};
  tables.weights[0] = 4, tables.weights[1] = -1;
  require(Kernel::set_weights({}, weights.data(), weights.size()), "set_weights");
  tables.scale = -2;
  require(Kernel::set_scale({}, &tables.scale, 1), "set_scale");
  launch_all(type, "a constant set in part", lookup, tables);
  check(text("lookup<%s>, launch prepared earlier", type), [&] {
    std::string problem = outcome(ready.launch({}));
    return problem.empty() ? lookup.compare(tables) : problem;
  }());

  // set_scale is in stream order: the launch uses scale 3, not the later 5.
  tables.scale = 3;
  require(Kernel::set_scale({}, &tables.scale, 1), "set_scale");
  tritonc::status launched = Kernel::launch({}, lookup.args());
  int32_t later = 5;
  require(Kernel::set_scale({}, &later, 1), "set_scale");
  std::string problem = outcome(launched);
  check(text("lookup<%s>, constant set after the launch", type),
        problem.empty() ? lookup.compare(tables) : problem);

  auto refuses = [&](const char *what, tritonc::status status, tritonc::status_code code) {
    check(text("lookup<%s>, %s", type, what),
          status.code() == code ? "" : text("status %s", status.name()));
  };
  refuses("too many bytes", Kernel::set_steps({}, tables.steps.data(), 1201),
          tritonc::status_code::invalid_constant);
  refuses("too many values", Kernel::set_scale({}, &later, SIZE_MAX),
          tritonc::status_code::invalid_constant);
  refuses("a null pointer", Kernel::set_scale({}, nullptr, 1), tritonc::status_code::null_pointer);
  refuses("zero values", Kernel::set_scale({}, nullptr, 0), tritonc::status_code::ok);
  tables.scale = later;
  launch_all(type, "after failed set calls", lookup, tables);
}

void matmuls() {
  using Kernel = kernels::visited;
  for (auto [m, n, k] :
       {std::tuple(64, 64, 32), std::tuple(33, 130, 96), std::tuple(100, 70, 512)}) {
    Matrix a = random_matrix<tritonc::half>(m, k), b = random_matrix<tritonc::half>(k, n);
    DeviceMatrix<tritonc::half> device_a(m, k, k + 3, 0), device_b(k, n, n + 5, 0);
    device_a.write(a);
    device_b.write(b);
    std::vector<int32_t> order(static_cast<size_t>(k));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), generator);
    require(Kernel::set_delta({}, order.data(), order.size()), "set_delta");
    std::vector<Bounded> expected = stored_as<float>(bounded_product<tritonc::half>(a, b));
    for (const auto &tile : Kernel::variants()) {
      DeviceMatrix<float> device_c(m, n, n + 1, 0);
      device_c.poison();
      std::string problem = outcome(Kernel::launch({},
                                                   {.A = device_a.data(),
                                                    .B = device_b.data(),
                                                    .C = device_c.data(),
                                                    .M = m,
                                                    .N = n,
                                                    .K = k,
                                                    .lda = k + 3,
                                                    .ldb = n + 5,
                                                    .ldc = n + 1},
                                                   tile));
      if (problem.empty()) {
        device_c.read();
        problem = compare(device_c, expected, m, n);
      }
      if (problem.empty() && !device_c.gaps_are_untouched())
        problem = "wrote between the rows of C";
      check(text("visited TM=%d %d x %d x %d", tile.TM, m, n, k), problem);
    }
  }
}

} // namespace

int main() {
  if (!find_device())
    return 77;
  lookups<float>("float");
  lookups<tritonc::half>("half");
  matmuls();
  return report();
}
