// The largest elements of rows and their indices, with equal elements, NaN and infinities.

#include "rows.h"

#include <shipped_top_k.hpp>

namespace {

using namespace device_tests;
namespace kernels = shipped_top_k;

template <typename T> void find(const std::string &what, const Rows<T> &x, int k, int gap) {
  // The indices of the numbers of each row, the largest first.
  std::vector<std::vector<int>> order(size_t(x.m));
  for (int row = 0; row < x.m; row++) {
    std::vector<int> &places = order[size_t(row)];
    for (int i = 0; i < x.n; i++)
      if (!std::isnan(x.at(row, i)))
        places.push_back(i);
    std::stable_sort(places.begin(), places.end(),
                     [&](int a, int b) { return x.at(row, a) > x.at(row, b); });
  }
  auto index_of = [&](int row, int rank) {
    const std::vector<int> &places = order[size_t(row)];
    return rank < int(places.size()) ? places[size_t(rank)] : -1;
  };
  auto value_of = [&](int row, int rank) {
    int index = index_of(row, rank);
    return index < 0 ? NAN : x.at(row, index);
  };
  for (const auto &tile : kernels::top_k<T>::variants()) {
    Rows<T> values(x.m, k, gap);
    Rows<int> indices(x.m, k, gap);
    std::string problem = outcome(kernels::top_k<T>::launch({},
                                                            {.x = x.data(),
                                                             .values = values.data(),
                                                             .indices = indices.data(),
                                                             .M = x.m,
                                                             .N = x.n,
                                                             .K = k,
                                                             .ldx = x.ld,
                                                             .ldv = values.ld,
                                                             .ldi = indices.ld},
                                                            tile));
    if (problem.empty())
      problem = first_of(
          {values.wrong("values", value_of, 0, 0), indices.wrong("indices", index_of, 0, 0)});
    check(text("top_k<%s> SIZE=%d K=%d ", name_of<T>(), tile.SIZE, k) + what, problem);
  }
}

template <typename T> void top() {
  for (const RowSizes &sizes : row_sizes())
    if (!sizes.in_place)
      for (int k : {1, 3, 8}) {
        Rows<T> x(sizes.m, sizes.n, sizes.gap_in); // few different values; one in five is NaN
        x.set([](int, int) { return generator() % 5 ? float(int(generator() % 401) - 200) : NAN; });
        find(sizes.text(), x, k, sizes.gap_out);
      }
  find("of infinities", unusual<T>(200), 64, 0);
  for (auto [m, n, k] : {std::tuple(0, 5, 2), {5, 4, 0}})
    check_nothing<T>(text("top_k of %d x %d, K=%d", m, n, k), [m = m, n = n, k = k](T *memory) {
      typename kernels::top_k<T>::args arguments = {.x = memory, .values = memory};
      arguments.indices = reinterpret_cast<int *>(memory);
      arguments.M = m;
      arguments.N = n;
      arguments.K = k;
      return kernels::top_k<T>::launch({}, arguments);
    });
  find("of empty rows", Rows<T>(3, 0, 0), 2, 1);
}

void test() {
  top<tritonc::half>();
  top<tritonc::bfloat16>();
  top<float>();
}

const KernelTest top_k("top_k", test);

} // namespace
