// Steps of the optimizer Adam: parameters and moments, of one tensor and of many.

#include "rows.h"

#include <shipped_adam.hpp>

#include <deque>

namespace {

using namespace device_tests;
namespace kernels = shipped_adam;

struct Constants {
  double rate, beta1, beta2, epsilon, decay;
};

// A tensor, and what the next step makes of it.
template <typename T> struct Tensor {
  explicit Tensor(int n) : p(1, n, 0, draw<float>), g(1, n, 0), m(1, n, 0), v(1, n, 0) {
    m.set([](int, int) { return 0; });
    v.set([](int, int) { return 0; });
  }

  void begin(const Constants &c, double correction1, double correction2) {
    // One gradient in seven is 0.
    g.set([](int, int i) { return i % 7 == 3 ? 0 : uniform(-1, 1); });
    new_p.clear(), new_m.clear(), new_v.clear();
    for (int i = 0; i < p.n; i++) {
      new_m.push_back(c.beta1 * m.at(0, i) + (1 - c.beta1) * g.at(0, i));
      new_v.push_back(c.beta2 * v.at(0, i) + (1 - c.beta2) * g.at(0, i) * g.at(0, i));
      double root = std::sqrt(new_v.back() / correction2);
      double change = new_m.back() / correction1 / (root + c.epsilon);
      new_p.push_back(p.at(0, i) - c.rate * (change + c.decay * p.at(0, i)));
    }
  }

  std::string wrong(const Constants &c) {
    auto of = [](const std::vector<double> &values) {
      return [&](int, int i) { return values[size_t(i)]; };
    };
    // 1 - beta2 in float has a relative error of up to 2^-15.
    return first_of({m.wrong("m", of(new_m), 1e-5, 1e-7), v.wrong("v", of(new_v), 1e-4, 1e-9),
                     p.wrong("p", of(new_p), rounding<T>(), 1e-4 * c.rate)});
  }

  Rows<T> p, g;
  Rows<float> m, v;
  std::vector<double> new_p = {}, new_m = {}, new_v = {};
};

template <typename T> void steps(int n, const Constants &c) {
  for (const auto &tile : kernels::adam<T>::variants()) {
    Tensor<T> x(n);
    std::string problem;
    for (int step = 1; step <= 3 && problem.empty(); step++) {
      double correction1 = 1 - std::pow(c.beta1, step), correction2 = 1 - std::pow(c.beta2, step);
      x.begin(c, correction1, correction2);
      problem = outcome(kernels::adam<T>::launch({},
                                                 {.p = x.p.data(),
                                                  .g = x.g.data(),
                                                  .m = x.m.data(),
                                                  .v = x.v.data(),
                                                  .rate = float(c.rate),
                                                  .beta1 = float(c.beta1),
                                                  .beta2 = float(c.beta2),
                                                  .epsilon = float(c.epsilon),
                                                  .decay = float(c.decay),
                                                  .correction1 = float(correction1),
                                                  .correction2 = float(correction2),
                                                  .n = n},
                                                 tile));
      if (problem.empty())
        problem = x.wrong(c);
    }
    check(
        text("adam<%s> SIZE=%d n=%d rate=%g decay=%g", name_of<T>(), tile.SIZE, n, c.rate, c.decay),
        problem);
  }
}

// The addresses of one array of each tensor, in memory of the device.
template <typename T, typename Member>
Array<std::int64_t> addresses_of(const std::deque<Tensor<T>> &tensors, Member member) {
  Array<std::int64_t> addresses(tensors.size());
  size_t next = 0;
  addresses.fill([&] {
    return std::int64_t(reinterpret_cast<std::intptr_t>((tensors[next++].*member).data()));
  });
  return addresses;
}

template <typename T> void steps_of_tensors(const std::vector<int> &sizes, const Constants &c) {
  constexpr int part = 2048;
  std::deque<Tensor<T>> tensors;
  Array<int> counts(sizes.size()), ends(sizes.size());
  int parts = 0;
  for (size_t t = 0; t < sizes.size(); t++) {
    tensors.emplace_back(sizes[t]);
    counts[t] = sizes[t];
    ends[t] = parts += (sizes[t] + part - 1) / part;
  }
  counts.write();
  ends.write();
  auto ps = addresses_of(tensors, &Tensor<T>::p), gs = addresses_of(tensors, &Tensor<T>::g),
       ms = addresses_of(tensors, &Tensor<T>::m), vs = addresses_of(tensors, &Tensor<T>::v);
  std::string problem;
  for (int step = 1; step <= 3 && problem.empty(); step++) {
    double correction1 = 1 - std::pow(c.beta1, step), correction2 = 1 - std::pow(c.beta2, step);
    for (Tensor<T> &tensor : tensors)
      tensor.begin(c, correction1, correction2);
    problem = outcome(kernels::adam_tensors<T>::launch({}, {.ps = ps.data(),
                                                            .gs = gs.data(),
                                                            .ms = ms.data(),
                                                            .vs = vs.data(),
                                                            .sizes = counts.data(),
                                                            .ends = ends.data(),
                                                            .rate = float(c.rate),
                                                            .beta1 = float(c.beta1),
                                                            .beta2 = float(c.beta2),
                                                            .epsilon = float(c.epsilon),
                                                            .decay = float(c.decay),
                                                            .correction1 = float(correction1),
                                                            .correction2 = float(correction2),
                                                            .tensors = int(sizes.size()),
                                                            .parts = parts}));
    for (Tensor<T> &tensor : tensors)
      if (problem.empty())
        problem = tensor.wrong(c);
  }
  check(text("adam_tensors<%s> of %zu tensors", name_of<T>(), sizes.size()), problem);
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
  std::vector<int> many(emulated() ? 300 : 3000);
  for (size_t t = 0; t < many.size(); t++)
    many[t] = t % 50 == 0 ? 5000 : int(t % 3);
  steps_of_tensors<T>(many, {0.001, 0.9, 0.999, 1e-8, 0});
  steps_of_tensors<T>({2048, 3, 0, emulated() ? 5000 : 3000001, 1}, {0.125, 0.5, 0.75, 1e-3, 0.25});
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
