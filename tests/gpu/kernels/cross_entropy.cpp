// Cross-entropy of rows with labels, its gradient, and both in one launch.

#include "rows.h"

#include <shipped_cross_entropy.hpp>

namespace {

using namespace device_tests;
namespace kernels = shipped_cross_entropy;

// One of five labels is invalid (too large or negative), so its row has no loss.
std::vector<int> labels(const RowSizes &sizes) {
  std::vector<int> result(size_t(sizes.m));
  for (int row = 0; row < sizes.m; row++)
    result[size_t(row)] = row % 5 != 3 ? int(generator() % unsigned(sizes.n))
                          : row % 2    ? sizes.n
                                       : -100;
  return result;
}

template <typename T> void losses(const RowSizes &sizes) {
  Rows<T> x(sizes.m, sizes.n, sizes.gap_in);
  x.set([](int row, int) { return uniform(-8, 8) + (row % 3 == 2 ? 200 : 0); });
  std::vector<int> label = labels(sizes);
  Array<int> given(label.size());
  size_t next = 0;
  given.fill([&] { return label[next++]; });
  std::vector<double> log_sums(size_t(sizes.m));
  for (int row = 0; row < sizes.m; row++) {
    double sum = 0, top = x.at(row, 0);
    for (int i = 0; i < sizes.n; i++)
      sum += std::exp(x.at(row, i) - top);
    log_sums[size_t(row)] = top + std::log(sum);
  }
  auto counts = [&](int row) { return label[size_t(row)] >= 0 && label[size_t(row)] < sizes.n; };
  auto log_sum = [&](int, int row) { return log_sums[size_t(row)]; };
  auto loss = [&](int, int row) {
    return counts(row) ? log_sums[size_t(row)] - x.at(row, label[size_t(row)]) : 0;
  };
  for (const auto &tile : kernels::cross_entropy<T>::variants()) {
    Rows<float> device_loss(1, sizes.m, 0), device_log_sums(1, sizes.m, 0);
    std::string problem =
        outcome(kernels::cross_entropy<T>::launch({},
                                                  {.x = x.data(),
                                                   .labels = given.data(),
                                                   .loss = device_loss.data(),
                                                   .log_sums = device_log_sums.data(),
                                                   .M = sizes.m,
                                                   .N = sizes.n,
                                                   .ldx = x.ld},
                                                  tile));
    if (problem.empty()) // relative to the terms of the difference
      problem = first_of({device_loss.wrong("loss", loss, 1e-5, 5e-5),
                          device_log_sums.wrong("log_sums", log_sum, 1e-6, 1e-5)});
    check(text("cross_entropy<%s> SIZE=%d", name_of<T>(), tile.SIZE) + sizes.text(), problem);
  }

  Rows<float> sums(1, sizes.m, 0), dloss(1, sizes.m, 0, draw<float>);
  sums.set(log_sum);
  for (const auto &tile : kernels::cross_entropy_backward<T>::variants()) {
    Rows<T> copy(sizes.m, sizes.n, sizes.gap_in), dx(sizes.m, sizes.n, sizes.gap_out);
    copy.set([&](int row, int column) { return x.at(row, column); });
    Rows<T> &result = sizes.in_place ? copy : dx;
    std::string problem =
        outcome(kernels::cross_entropy_backward<T>::launch({},
                                                           {.x = copy.data(),
                                                            .labels = given.data(),
                                                            .log_sums = sums.data(),
                                                            .dloss = dloss.data(),
                                                            .dx = result.data(),
                                                            .M = sizes.m,
                                                            .N = sizes.n,
                                                            .ldx = copy.ld,
                                                            .lddx = result.ld},
                                                           tile));
    auto right = [&](int row, int column) {
      double probability = std::exp(x.at(row, column) - log_sums[size_t(row)]);
      return counts(row) ? (probability - (column == label[size_t(row)] ? 1 : 0)) * dloss.at(0, row)
                         : 0;
    };
    if (problem.empty()) // rounding errors of the logarithms: up to 2^-17
      problem = result.wrong("dx", right, rounding<T>() + 2e-5, 1e-7);
    check(text("cross_entropy_backward<%s> SIZE=%d", name_of<T>(), tile.SIZE) + sizes.text(),
          problem);
  }

  const double factor = 0.125;
  for (const auto &tile : kernels::cross_entropy_gradient<T>::variants()) {
    Rows<T> copy(sizes.m, sizes.n, sizes.gap_in), dx(sizes.m, sizes.n, sizes.gap_out);
    copy.set([&](int row, int column) { return x.at(row, column); });
    Rows<T> &result = sizes.in_place ? copy : dx;
    Rows<float> device_loss(1, sizes.m, 0);
    std::string problem =
        outcome(kernels::cross_entropy_gradient<T>::launch({},
                                                           {.x = copy.data(),
                                                            .labels = given.data(),
                                                            .loss = device_loss.data(),
                                                            .dx = result.data(),
                                                            .factor = float(factor),
                                                            .M = sizes.m,
                                                            .N = sizes.n,
                                                            .ldx = copy.ld,
                                                            .lddx = result.ld},
                                                           tile));
    auto right = [&](int row, int column) {
      double probability = std::exp(x.at(row, column) - log_sums[size_t(row)]);
      return counts(row) ? (probability - (column == label[size_t(row)] ? 1 : 0)) * factor : 0;
    };
    if (problem.empty())
      problem = first_of({device_loss.wrong("loss", loss, 1e-5, 5e-5),
                          result.wrong("dx", right, rounding<T>(), 1e-6)});
    check(text("cross_entropy_gradient<%s> SIZE=%d", name_of<T>(), tile.SIZE) + sizes.text(),
          problem);
  }
}

// The losses, and NaN in each element of the gradient of a row whose sum is not a finite number > 0.
template <typename T, typename Loss>
void check_unusual_gradient(Rows<T> &x, Array<int> &labels, int label, Loss loss_of) {
  using Kernel = kernels::cross_entropy_gradient<T>;
  for (const auto &tile : Kernel::variants()) {
    Rows<T> dx(x.m, x.n, 0);
    Rows<float> loss(1, x.m, 0);
    std::string problem = outcome(Kernel::launch({},
                                                 {.x = x.data(),
                                                  .labels = labels.data(),
                                                  .loss = loss.data(),
                                                  .dx = dx.data(),
                                                  .factor = 1,
                                                  .M = x.m,
                                                  .N = x.n,
                                                  .ldx = x.ld,
                                                  .lddx = dx.ld},
                                                 tile));
    auto right = [&](int row, int column) {
      double sum = 0;
      for (int i = 0; i < x.n; i++)
        sum += std::exp(x.at(row, i));
      if (label < 0)
        return 0.0;
      if (std::isinf(sum) || sum == 0)
        return double(NAN);
      return std::exp(x.at(row, column)) / sum - (column == label);
    };
    if (problem.empty())
      problem = first_of(
          {loss.wrong("loss", loss_of, 1e-5, 1e-5), dx.wrong("dx", right, rounding<T>(), 1e-5)});
    check(text("cross_entropy_gradient<%s> of NaN and infinities, SIZE=%d label=%d", name_of<T>(),
               tile.SIZE, label),
          problem);
  }
}

// Rows with NaN and infinities: the loss is that of the sum of exponentials, for every valid label.
// A row with an invalid label has no loss.
template <typename T> void special() {
  using Kernel = kernels::cross_entropy<T>;
  for (const auto &tile : Kernel::variants())
    for (int label : {0, 1, -1}) {
      constexpr int n = 200;
      Rows<T> x = unusual<T>(n);
      Array<int> given(unusual_count);
      given.fill([&] { return label; });
      Rows<float> loss(1, x.m, 0), log_sums(1, x.m, 0);
      std::string problem = outcome(Kernel::launch({},
                                                   {.x = x.data(),
                                                    .labels = given.data(),
                                                    .loss = loss.data(),
                                                    .log_sums = log_sums.data(),
                                                    .M = x.m,
                                                    .N = n,
                                                    .ldx = n},
                                                   tile));
      auto log_sum = [&](int, int row) {
        double sum = 0;
        for (int i = 0; i < n; i++)
          sum += std::exp(x.at(row, i));
        return std::isinf(sum) ? double(NAN) : std::log(sum);
      };
      auto loss_of = [&](int, int row) {
        return label < 0 ? 0 : log_sum(0, row) - x.at(row, label);
      };
      if (problem.empty())
        problem = first_of({log_sums.wrong("log_sums", log_sum, 1e-5, 1e-5),
                            loss.wrong("loss", loss_of, 1e-5, 1e-5)});
      check(text("cross_entropy<%s> of NaN and infinities, SIZE=%d label=%d", name_of<T>(),
                 tile.SIZE, label),
            problem);
      check_unusual_gradient(x, given, label, loss_of);
    }
}

// M = 0: the launch does nothing. N = 0: it fails.
template <typename T> void nothing() {
  using Kernel = kernels::cross_entropy_gradient<T>;
  auto launch = [](T *memory, int m, int n) {
    typename Kernel::args arguments = {.x = memory, .dx = memory, .factor = 1, .M = m, .N = n};
    arguments.labels = reinterpret_cast<int *>(memory);
    arguments.loss = reinterpret_cast<float *>(memory);
    return Kernel::launch({}, arguments);
  };
  check_nothing<T>("cross_entropy_gradient with M=0",
                   [&](T *memory) { return launch(memory, 0, 5); });
  Array<T> memory(8);
  bool is_refused = launch(memory.data(), 5, 0).code() == tritonc::status_code::requirement_failed;
  check("cross_entropy_gradient with N=0", is_refused ? "" : "the launch succeeds");
}

void test() {
  nothing<tritonc::half>();
  nothing<float>();
  special<tritonc::half>();
  special<tritonc::bfloat16>();
  special<float>();
  for (const RowSizes &sizes : row_sizes()) {
    losses<tritonc::half>(sizes);
    losses<tritonc::bfloat16>(sizes);
    losses<float>(sizes);
  }
}

const KernelTest cross_entropy("cross_entropy", test);

} // namespace
