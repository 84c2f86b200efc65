// Steps of the optimizer Adam: parameters and moments.

#include "rows.h"

#include <shipped_adam.hpp>

namespace {

using namespace device_tests;
namespace kernels = shipped_adam;

struct Constants {
  double rate, beta1, beta2, epsilon, decay;
};

template <typename T> void steps(int n, const Constants &c) {
  for (const auto &tile : kernels::adam<T>::variants()) {
    Rows<T> p(1, n, 0, draw<float>);
    Rows<float> m(1, n, 0), v(1, n, 0);
    m.set([](int, int) { return 0; });
    v.set([](int, int) { return 0; });
    std::string problem;
    for (int step = 1; step <= 3 && problem.empty(); step++) {
      // One gradient in seven is 0.
      Rows<T> g(1, n, 0);
      g.set([](int, int i) { return i % 7 == 3 ? 0 : uniform(-1, 1); });
      double correction1 = 1 - std::pow(c.beta1, step), correction2 = 1 - std::pow(c.beta2, step);
      std::vector<double> old_p, new_m, new_v;
      for (int i = 0; i < n; i++) {
        old_p.push_back(p.at(0, i));
        new_m.push_back(c.beta1 * m.at(0, i) + (1 - c.beta1) * g.at(0, i));
        new_v.push_back(c.beta2 * v.at(0, i) + (1 - c.beta2) * g.at(0, i) * g.at(0, i));
      }
      auto m_of = [&](int, int i) { return new_m[size_t(i)]; };
      auto v_of = [&](int, int i) { return new_v[size_t(i)]; };
      auto p_of = [&](int, int i) {
        double root = std::sqrt(new_v[size_t(i)] / correction2);
        double change = new_m[size_t(i)] / correction1 / (root + c.epsilon);
        return old_p[size_t(i)] - c.rate * (change + c.decay * old_p[size_t(i)]);
      };
      problem = outcome(kernels::adam<T>::launch({},
                                                 {.p = p.data(),
                                                  .g = g.data(),
                                                  .m = m.data(),
                                                  .v = v.data(),
                                                  .rate = float(c.rate),
                                                  .beta1 = float(c.beta1),
                                                  .beta2 = float(c.beta2),
                                                  .epsilon = float(c.epsilon),
                                                  .decay = float(c.decay),
                                                  .correction1 = float(correction1),
                                                  .correction2 = float(correction2),
                                                  .n = n},
                                                 tile));
      // 1 - beta2 in float has a relative error of up to 2^-15.
      if (problem.empty())
        problem = first_of({m.wrong("m", m_of, 1e-5, 1e-7), v.wrong("v", v_of, 1e-4, 1e-9),
                            p.wrong("p", p_of, rounding<T>(), 1e-4 * c.rate)});
    }
    check(
        text("adam<%s> SIZE=%d n=%d rate=%g decay=%g", name_of<T>(), tile.SIZE, n, c.rate, c.decay),
        problem);
  }
}

// A gradient with NaN or infinity changes only its own parameter.
template <typename T> void special() {
  constexpr int n = 40;
  for (const auto &tile : kernels::adam<T>::variants()) {
    Rows<T> p(1, n, 0), g(1, n, 0);
    Rows<float> m(1, n, 0), v(1, n, 0);
    p.set([](int, int) { return 1; });
    g.set([](int, int i) { return i == 5 ? NAN : i == 9 ? INFINITY : 1; });
    m.set([](int, int) { return 0; });
    v.set([](int, int) { return 0; });
    std::string problem = outcome(kernels::adam<T>::launch({},
                                                           {.p = p.data(),
                                                            .g = g.data(),
                                                            .m = m.data(),
                                                            .v = v.data(),
                                                            .rate = 0.5,
                                                            .beta1 = 0.5,
                                                            .beta2 = 0.75,
                                                            .epsilon = 0,
                                                            .correction1 = 0.5,
                                                            .correction2 = 0.25,
                                                            .n = n},
                                                           tile));
    if (problem.empty())
      problem = p.wrong("p", [](int, int i) { return i == 5 || i == 9 ? NAN : 0.5; }, 1e-6, 0);
    check(text("adam<%s> of NaN and infinity, SIZE=%d", name_of<T>(), tile.SIZE), problem);
  }
}

template <typename T> void adams() {
  special<T>();
  for (int n : {1, 255, 1024, 3001, emulated() ? 2048 : 1000003}) {
    steps<T>(n, {0.001, 0.9, 0.999, 1e-8, 0});
    steps<T>(n, {0.125, 0.5, 0.75, 1e-3, 0.25});
  }
  check_nothing<T>("adam with n=0", [](T *memory) {
    float *moments = reinterpret_cast<float *>(memory);
    return kernels::adam<T>::launch({}, {.p = memory, .g = memory, .m = moments, .v = moments});
  });
}

void test() {
  adams<tritonc::half>();
  adams<tritonc::bfloat16>();
  adams<float>();
}

const KernelTest adam("adam", test);

} // namespace
