// Rows of a table by their ids, and the gradient of the table.

#include "rows.h"

#include <shipped_embedding.hpp>

namespace {

using namespace device_tests;
namespace kernels = shipped_embedding;

constexpr int table_rows = 13;

// Repeated ids; one of five is no row of the table.
int id_of(int row) { return row % 5 == 4 ? (row % 2 ? -1 : table_rows) : row * 7 % table_rows; }
bool exists(int id) { return id >= 0 && id < table_rows; }

Array<int> make_ids(int count) {
  Array<int> ids{size_t(count)};
  int next = 0;
  ids.fill([&] { return id_of(next++); });
  return ids;
}

template <typename T> void gather(const RowSizes &sizes) {
  Rows<T> table(table_rows, sizes.n, sizes.gap_in, draw<float>);
  Array<int> ids = make_ids(sizes.m);
  for (const auto &tile : kernels::embedding<T>::variants()) {
    Rows<T> y(sizes.m, sizes.n, sizes.gap_out);
    std::string problem = outcome(kernels::embedding<T>::launch({},
                                                                {.table = table.data(),
                                                                 .ids = ids.data(),
                                                                 .y = y.data(),
                                                                 .V = table_rows,
                                                                 .M = sizes.m,
                                                                 .N = sizes.n,
                                                                 .ldt = table.ld,
                                                                 .ldy = y.ld},
                                                                tile));
    auto right = [&](int row, int i) { return exists(id_of(row)) ? table.at(id_of(row), i) : 0; };
    if (problem.empty())
      problem = y.wrong("y", right, 0, 0);
    check(text("embedding<%s> TM=%d TN=%d", name_of<T>(), tile.TM, tile.TN) + sizes.text(),
          problem);
  }
}

// Checks launch(dy, ids, dtable), which adds the gradient to numbers that are there.
template <typename T, typename Launch>
void check_gradient(const std::string &what, const RowSizes &sizes, Launch launch) {
  Rows<T> dy(sizes.m, sizes.n, sizes.gap_in, draw<float>);
  Array<int> ids = make_ids(sizes.m);
  Rows<float> dtable(table_rows, sizes.n, sizes.gap_out);
  dtable.set([](int row, int) { return row; });
  std::vector<double> sums(size_t(table_rows) * size_t(sizes.n));
  for (int row = 0; row < table_rows; row++)
    for (int i = 0; i < sizes.n; i++)
      sums[size_t(row) * size_t(sizes.n) + size_t(i)] = row;
  for (int row = 0; row < sizes.m; row++)
    for (int i = 0; i < sizes.n && exists(id_of(row)); i++)
      sums[size_t(id_of(row)) * size_t(sizes.n) + size_t(i)] += dy.at(row, i);
  std::string problem = outcome(launch(dy, ids, dtable));
  auto right = [&](int row, int i) { return sums[size_t(row) * size_t(sizes.n) + size_t(i)]; };
  if (problem.empty()) // partial sums are up to 13 + M / 13
    problem = dtable.wrong("dtable", right, 1e-6, 1e-6 * (13 + sizes.m));
  check(what + sizes.text(), problem);
}

template <typename T> void scatter(const RowSizes &sizes) {
  for (const auto &tile : kernels::embedding_backward<T>::variants())
    check_gradient<T>(text("embedding_backward<%s> TM=%d TN=%d", name_of<T>(), tile.TM, tile.TN),
                      sizes, [&](const auto &dy, const auto &ids, const auto &dtable) {
                        return kernels::embedding_backward<T>::launch({},
                                                                      {.dy = dy.data(),
                                                                       .ids = ids.data(),
                                                                       .dtable = dtable.data(),
                                                                       .V = table_rows,
                                                                       .M = dy.m,
                                                                       .N = dy.n,
                                                                       .lddy = dy.ld,
                                                                       .lddt = dtable.ld},
                                                                      tile);
                      });
}

template <typename T> void sorted(const RowSizes &sizes) {
  std::vector<int> rows(size_t(sizes.m)), different, ends;
  for (int row = 0; row < sizes.m; row++)
    rows[size_t(row)] = row;
  std::stable_sort(rows.begin(), rows.end(), [](int a, int b) { return id_of(a) < id_of(b); });
  for (int k = 0; k < sizes.m; k++) {
    if (int id = id_of(rows[size_t(k)]); different.empty() || different.back() != id) {
      different.push_back(id);
      ends.push_back(k);
    }
    ends.back()++;
  }
  auto copied = [](const std::vector<int> &values) {
    Array<int> array(values.size());
    size_t next = 0;
    array.fill([&] { return values[next++]; });
    return array;
  };
  Array<int> order = copied(rows), ids = copied(different), lasts = copied(ends);
  check_gradient<T>(text("embedding_backward_sorted<%s>", name_of<T>()), sizes,
                    [&](const auto &dy, const auto &, const auto &dtable) {
                      return kernels::embedding_backward_sorted<T>::launch({},
                                                                           {.dy = dy.data(),
                                                                            .order = order.data(),
                                                                            .ids = ids.data(),
                                                                            .ends = lasts.data(),
                                                                            .dtable = dtable.data(),
                                                                            .V = table_rows,
                                                                            .S = int(ids.size()),
                                                                            .N = dy.n,
                                                                            .lddy = dy.ld,
                                                                            .lddt = dtable.ld});
                    });
}

// Only the rows that have NaN or infinity get it.
template <typename T> void special() {
  constexpr int n = 200;
  Rows<T> table = unusual<T>(n), y(table.m, n, 0);
  Array<int> ids(size_t(table.m));
  int next = table.m;
  ids.fill([&] { return --next; });
  std::string problem = outcome(kernels::embedding<T>::launch({}, {.table = table.data(),
                                                                   .ids = ids.data(),
                                                                   .y = y.data(),
                                                                   .V = table.m,
                                                                   .M = table.m,
                                                                   .N = n,
                                                                   .ldt = n,
                                                                   .ldy = n}));
  if (problem.empty())
    problem = y.wrong("y", [&](int row, int i) { return table.at(table.m - 1 - row, i); }, 0, 0);
  check(text("embedding<%s> of NaN and infinities", name_of<T>()), problem);
}

template <typename T> void nothing() {
  for (auto [m, n] : {std::pair(0, 5), std::pair(5, 0)})
    check_nothing<float>(text("embedding_backward of %d x %d", m, n), [m = m, n = n](float *y) {
      return kernels::embedding_backward<T>::launch({}, {.dy = reinterpret_cast<T *>(y),
                                                         .ids = reinterpret_cast<int *>(y),
                                                         .dtable = y,
                                                         .V = 1,
                                                         .M = m,
                                                         .N = n});
    });
}

template <typename T> void gathers() {
  special<T>();
  for (const RowSizes &sizes : row_sizes())
    gather<T>(sizes);
  for (auto [m, n] : {std::pair(0, 5), std::pair(5, 0)})
    check_nothing<T>(text("embedding of %d x %d", m, n), [m = m, n = n](T *y) {
      return kernels::embedding<T>::launch(
          {}, {.table = y, .ids = reinterpret_cast<int *>(y), .y = y, .V = 1, .M = m, .N = n});
    });
}

template <typename T> void scatters() {
  nothing<T>();
  for (const RowSizes &sizes : row_sizes())
    scatter<T>(sizes), sorted<T>(sizes);
  scatter<T>({40, 300, 0, 1});
  sorted<T>({400, 300, 0, 1});
}

void test() {
  gathers<tritonc::half>();
  gathers<float>();
  scatters<tritonc::half>();
  scatters<tritonc::bfloat16>();
  scatters<float>();
}

const KernelTest embedding("embedding", test);

} // namespace
