// Gated linear units, and their gradients: two matrices, and halves of the rows of one matrix.

#include "gate.h"
#include "rows.h"

#include <shipped_glu.hpp>

namespace {

using namespace device_tests;
namespace kernels = shipped_glu;
using kernels::FUNCTION;

// gate and up in one matrix with 2 n columns, or in two matrices with the same stride.
template <typename T> struct Halves {
  Halves(const RowSizes &sizes, bool joined, int gap)
      : joined(joined), n(sizes.n), a(sizes.m, joined ? 2 * n : n, gap),
        b(joined ? 0 : sizes.m, n, gap) {}
  template <typename Value> void set(Value value) { // value(half, row, column)
    a.set([&](int row, int i) { return value(i / n, row, i % n); });
    b.set([&](int row, int i) { return value(1, row, i); });
  }
  T *gate() const { return a.data(); }
  T *up() const { return joined ? a.data() + n : b.data(); }
  double at(int half, int row, int i) const {
    return half && !joined ? b.at(row, i) : a.at(row, half * n + i);
  }
  template <typename Value>
  std::string wrong(const char *name, Value value, double relative, double absolute) {
    return first_of(
        {a.wrong(
             name, [&](int row, int i) { return value(i / n, row, i % n); }, relative, absolute),
         b.wrong(name, [&](int row, int i) { return value(1, row, i); }, relative, absolute)});
  }

  const bool joined;
  const int n;
  Rows<T> a, b;
};

template <typename T, FUNCTION f> void units(const RowSizes &sizes, bool joined) {
  int m = sizes.m, n = sizes.n;
  Halves<T> x(sizes, joined, sizes.gap_in);
  x.set([](int, int row, int) { return uniform(-1, 1) * (row % 2 ? 40 : 3); });
  std::string what =
      text("<%s, %d> ", name_of<T>(), int(f)) + sizes.text() + (joined ? " joined" : "");
  for (const auto &tile : kernels::glu<T, f>::variants()) {
    Halves<T> given(sizes, joined, sizes.gap_in);
    given.set([&](int half, int row, int i) { return x.at(half, row, i); });
    Rows<T> y(m, n, sizes.gap_out);
    bool onto_up = sizes.in_place && !joined;
    std::string problem = outcome(kernels::glu<T, f>::launch({},
                                                             {.gate = given.gate(),
                                                              .up = given.up(),
                                                              .y = onto_up ? given.up() : y.data(),
                                                              .M = m,
                                                              .N = n,
                                                              .ldx = given.a.ld,
                                                              .ldy = onto_up ? given.b.ld : y.ld},
                                                             tile));
    auto right = [&](int row, int i) {
      double gate = x.at(0, row, i);
      return gate * gate_of(f, gate) * x.at(1, row, i);
    };
    if (problem.empty()) // up is at most 40; gelu of a negative number has an absolute error
      problem = (onto_up ? given.b : y).wrong("y", right, rounding<T>(), 2e-4);
    check(text("glu SIZE=%d", tile.SIZE) + what, problem);
  }
  for (const auto &tile : kernels::glu_backward<T, f>::variants()) {
    Halves<T> given(sizes, joined, sizes.gap_in), dx(sizes, joined, sizes.gap_out);
    given.set([&](int half, int row, int i) { return x.at(half, row, i); });
    Rows<T> dy(m, n, 2, draw<float>);
    Halves<T> &result = sizes.in_place ? given : dx;
    std::string problem = outcome(kernels::glu_backward<T, f>::launch({},
                                                                      {.gate = given.gate(),
                                                                       .up = given.up(),
                                                                       .dy = dy.data(),
                                                                       .dgate = result.gate(),
                                                                       .dup = result.up(),
                                                                       .M = m,
                                                                       .N = n,
                                                                       .ldx = given.a.ld,
                                                                       .lddy = dy.ld,
                                                                       .lddx = result.a.ld},
                                                                      tile));
    auto right = [&](int half, int row, int i) {
      double gate = x.at(0, row, i), up = x.at(1, row, i);
      return dy.at(row, i) * (half ? gate * gate_of(f, gate) : up * slope_of(f, gate));
    };
    if (problem.empty())
      problem = result.wrong("dx", right, rounding<T>(), 2e-4);
    check(text("glu_backward SIZE=%d", tile.SIZE) + what, problem);
  }
}

// NaN and infinities of the gate do not change other elements. f(infinity) is infinity.
template <typename T, FUNCTION f> void special() {
  constexpr int n = 200;
  for (const auto &tile : kernels::glu<T, f>::variants()) {
    Rows<T> x = unusual<T>(n), up(x.m, n, 0), y(x.m, n, 0);
    up.set([](int, int) { return 1; });
    std::string problem = outcome(kernels::glu<T, f>::launch(
        {},
        {.gate = x.data(), .up = up.data(), .y = y.data(), .M = x.m, .N = n, .ldx = n, .ldy = n},
        tile));
    auto right = [&](int row, int i) {
      double gate = x.at(row, i);
      return gate == -INFINITY ? NAN : gate == INFINITY ? gate : gate * gate_of(f, gate);
    };
    if (problem.empty())
      problem = y.wrong("y", right, rounding<T>(), 1e-5);
    check(text("glu<%s, %d> of NaN and infinities", name_of<T>(), int(f)), problem);
  }
}

template <typename T, FUNCTION f> void function() {
  special<T, f>();
  for (const RowSizes &sizes : row_sizes())
    for (bool joined : {false, true})
      if (emulated() || sizes.n < 100000)
        units<T, f>(sizes, joined);
  using Unit = kernels::glu<T, f>;
  using Gradient = kernels::glu_backward<T, f>;
  for (auto [m, n] : {std::pair(0, 5), std::pair(5, 0)}) {
    auto nothing = [m = m, n = n](T *y) {
      return Unit::launch({}, {.gate = y, .up = y, .y = y, .M = m, .N = n});
    };
    auto no_gradients = [m = m, n = n](T *y) {
      return Gradient::launch({},
                              {.gate = y, .up = y, .dy = y, .dgate = y, .dup = y, .M = m, .N = n});
    };
    check_nothing<T>(text("glu of %d x %d", m, n), nothing);
    check_nothing<T>(text("glu_backward of %d x %d", m, n), no_gradients);
  }
}

template <typename T> void functions() {
  function<T, FUNCTION::silu>();
  function<T, FUNCTION::gelu>();
  function<T, FUNCTION::gelu_tanh>();
}

void test() {
  functions<tritonc::half>();
  functions<tritonc::bfloat16>();
  functions<float>();
}

const KernelTest glu("glu", test);

} // namespace
