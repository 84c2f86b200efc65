// Relations between the results of launches, bit by bit. A relation needs no reference and no error
// bound, so it finds errors that are smaller than the bounds of the other tests.
//
// **Items.** A kernel computes its items independently: rows, columns, images, heads, batches. So
// the results of selected items are the selected results: in another order, of a part, of one item,
// and of all items again. These relations find
//
// - races, and registers or memory that the kernel has not set, if the result is nearly right;
// - a row that uses the maximum of another row, because only rounding makes a difference;
// - a part of the tile that adds with less precision. The bounds of 8-bit floats are wide.
//
// **Factors.** A factor of 4 in an argument is exact, except for subnormal results. These relations
// find terms that the bounds hide: an epsilon in the wrong place, small elements that count as 0.
//
// The other relations have a comment where the test checks them.
//
// Another variant or schedule may add in another order (docs/pages/kernels.md, "Repeatability"). So
// the test only compares launches of one variant with one schedule. Some schedules divide the work
// by the sizes, such as split-K. The test compares them only if no element changes its place.

#include "matmul_parts.h"
#include "relations.h"

#include <shipped_attention.hpp>
#include <shipped_batch_norm.hpp>
#include <shipped_conv2d.hpp>
#include <shipped_cross_entropy.hpp>
#include <shipped_dropout.hpp>
#include <shipped_matmul.hpp>
#include <shipped_norms.hpp>
#include <shipped_permute.hpp>
#include <shipped_product_matrix.hpp>
#include <shipped_reduce.hpp>
#include <shipped_softmax.hpp>
#include <shipped_transpose.hpp>

namespace {

using namespace device_tests;

// --- Matmuls: items are rows or columns of C, or batches -----------------------------------------

template <typename Kernel>
Results product(const Matrix &a, const Matrix &b, const Layout &layout,
                const typename Kernel::params &tile) {
  Matrix stored_a = layout.a_transposed ? transposed(a) : a,
         stored_b = layout.b_transposed ? transposed(b) : b;
  Launch<Kernel> launch;
  auto &to = launch.arguments;
  launch.read(to.A, stored_a);
  launch.read(to.B, stored_b);
  launch.write(to.C, a.rows, b.columns);
  to.M = a.rows, to.N = b.columns, to.K = a.columns;
  set_strides(to, layout, stored_a.columns, stored_b.columns, b.columns);
  if constexpr (requires { to.BATCH; })
    to.BATCH = 1;
  return launch.run(tile);
}

// Parts have multiples of m rows and n columns.
template <typename Kernel>
void products(const std::string &kernel, const Layout &layout, bool is_masked, int m, int n,
              const typename Kernel::params &tile, const Shape &shape) {
  using T = std::remove_cvref_t<decltype(*Kernel::args::A)>;
  using Sum = std::remove_cvref_t<decltype(*Kernel::args::C)>;
  std::string what = text("%s<%s, %s> TM=%d TN=%d TK=%d %d x %d x %d", kernel.c_str(), name_of<T>,
                          layout.name(), tile.TM, tile.TN, tile.TK, shape.m, shape.n, shape.k);
  Matrix a = random_matrix<T>(shape.m, shape.k), b = random_matrix<T>(shape.k, shape.n);
  auto run = [&](const Matrix &a, const Matrix &b) { return product<Kernel>(a, b, layout, tile); };
  check_items(what, "rows of A", shape.m, m, [&](auto &rows) { return run(selected(a, rows), b); });
  check_items(what, "columns of B", shape.n, n, [&](auto &columns) {
    return by_columns(run(a, transposed(selected(transposed(b), columns))));
  });
  Results first = run(a, b);
  check_relation(what, {.name = "4 A", .times = 4, .smallest = surely_normal<Sum>, .moves = false},
                 first, run(changed(a, 4), b));
  // C^T = B^T A^T, which is the same kernel in these layouts. Finds an operand that the kernel
  // rounds, and sums whose order depends on the operand.
  if (layout.a_transposed != layout.b_transposed)
    check_relation(what, {.name = "operands swapped"}, first,
                   by_columns(run(transposed(b), transposed(a))));
  // Finds elements after K that do not count as exactly 0.
  int k = (shape.k + tile.TK - 1) / tile.TK * tile.TK;
  if (is_masked)
    check_relation(what, {.name = "zeros after K"}, first,
                   run(resized(a, shape.m, k), resized(b, k, shape.n)));
}

// unit: the rows of all matrices have a multiple of this number of elements.
template <typename Kernel>
void masked_products(const std::string &kernel, const Layout &layout, int unit) {
  for (const auto &tile : Kernel::variants())
    for (Shape shape : {Shape{66, 40, 20}, Shape{261, 197, 203}, Shape{64, 128, 2112}})
      if (!emulated() || shape.k < 100) {
        for (int *size : {&shape.m, &shape.n, &shape.k})
          *size = (*size + unit - 1) / unit * unit;
        products<Kernel>(kernel, layout, true, unit, unit, tile, shape);
      }
}

template <typename Kernel> void whole_products(const std::string &kernel, const Layout &layout) {
  for (const auto &tile : Kernel::variants())
    for (const Shape &shape : {Shape{64, 128, 32}, Shape{256, 384, 160}, Shape{128, 128, 2112}})
      if (!emulated() || shape.k < 100)
        if (shape.m % tile.TM == 0)
          products<Kernel>(kernel, layout, false, tile.TM, tile.TN, tile, shape);
}

// Finds a matrix whose result depends on its number in the batch.
template <typename Batched, typename Single> void batches(const Layout &layout) {
  using T = std::remove_cvref_t<decltype(*Batched::args::A)>;
  constexpr int count = 5, m = 66, n = 50, k = 37;
  Matrix a = random_matrix<T>(count, m * k), b = random_matrix<T>(count, k * n);
  for (const auto &tile : Batched::variants()) {
    std::string what =
        text("matmul_batched<%s, %s> TM=%d TK=%d", name_of<T>, layout.name(), tile.TM, tile.TK);
    check_items(what, "batches", count, 1, [&](const std::vector<int> &items) {
      Launch<Batched> launch;
      auto &to = launch.arguments;
      launch.read(to.A, selected(a, items));
      launch.read(to.B, selected(b, items));
      launch.write(to.C, int(items.size()), m * n);
      to.BATCH = int(items.size()), to.M = m, to.N = n, to.K = k;
      to.batch_a = m * k, to.batch_b = k * n, to.batch_c = m * n;
      set_strides(to, layout, layout.a_transposed ? m : k, layout.b_transposed ? k : n, n);
      return launch.run(tile);
    });
    Matrix one_a = random_matrix<T>(m, k), one_b = random_matrix<T>(k, n);
    check_relation(what, {.name = "batch of one"},
                   product<Single>(one_a, one_b, layout, {tile.TM, tile.TN, tile.TK}),
                   product<Batched>(one_a, one_b, layout, tile));
  }
}

template <typename T> void masked() {
  in_layouts([]<Layout layout>() {
    using namespace shipped_matmul;
    constexpr auto a = layout.a<A>();
    constexpr auto b = layout.b<B>();
    using Any = matmul_masked<T, a, b, SIZES::any>;
    masked_products<Any>("matmul_masked any", layout, 1);
    if (!emulated())
      masked_products<matmul_masked<T, a, b, SIZES::aligned>>("matmul_masked aligned", layout,
                                                              16 / sizeof(T));
    batches<matmul_batched<T, a, b, SIZES::any>, Any>(layout);
  });
}

void whole() {
  in_layouts([]<Layout layout>() {
    using namespace shipped_product_matrix;
    constexpr auto a = layout.a<A>();
    constexpr auto b = layout.b<B>();
    whole_products<matmul<tritonc::half, a, b>>("matmul", layout);
    whole_products<matmul<float, a, b>>("matmul", layout);
    whole_products<matmul_double<a, b>>("matmul_double", layout);
    whole_products<matmul_float8<tritonc::float8_e4m3, a, b>>("matmul_float8", layout);
    whole_products<matmul_float8<tritonc::float8_e5m2, a, b>>("matmul_float8", layout);
  });
}

// --- Softmax, norms, losses: items are rows ------------------------------------------------------

// Each kernel has some of these inputs.
struct RowInputs {
  RowInputs(int m, int n)
      : x(sixteenths(m, n)), dy(random_matrix<tritonc::bfloat16>(m, n)),
        gain(random_matrix<tritonc::bfloat16>(1, n)), bias(random_matrix<tritonc::bfloat16>(1, n)),
        labels(zero_matrix(m, 1)), log_sums(changed(sixteenths(m, 1), 1, 6)),
        dloss(random_matrix<float>(m, 1)) {
    for (int row = 0; row < m; row++)
      labels.at(row, 0) = row % 5 == 3 ? -1 : double(generator() % unsigned(n));
  }
  RowInputs of(const std::vector<int> &rows) const {
    RowInputs result = *this;
    for (Matrix *matrix : {&result.x, &result.dy, &result.labels, &result.log_sums, &result.dloss})
      *matrix = selected(*matrix, rows);
    return result;
  }

  Matrix x, dy, gain, bias, labels, log_sums, dloss;
  float epsilon = 0x1p-14f;
};

template <typename Kernel>
Results rows(const RowInputs &inputs, const typename Kernel::params &tile) {
  const int m = inputs.x.rows, n = inputs.x.columns;
  Launch<Kernel> launch;
  auto &to = launch.arguments;
  to.M = m, to.N = n;
  if constexpr (requires { to.y, to.dy; }) // softmax_backward
    launch.read(to.y, inputs.x), to.ldy = n;
  else if constexpr (requires { to.y; })
    launch.write(to.y, m, n), to.ldy = n;
  if constexpr (requires { to.x; })
    launch.read(to.x, inputs.x), to.ldx = n;
  if constexpr (requires { to.dx; })
    launch.write(to.dx, m, n), to.lddx = n;
  if constexpr (requires { to.dy; })
    launch.read(to.dy, inputs.dy), to.lddy = n;
  if constexpr (requires { to.gain; })
    launch.read(to.gain, inputs.gain), to.epsilon = inputs.epsilon;
  if constexpr (requires { to.bias; })
    launch.read(to.bias, inputs.bias);
  if constexpr (requires { to.labels; })
    launch.read(to.labels, inputs.labels);
  if constexpr (requires { to.loss; })
    launch.write(to.loss, m, 1), launch.write(to.log_sums, m, 1);
  if constexpr (requires { to.dloss; })
    launch.read(to.dloss, inputs.dloss), launch.read(to.log_sums, inputs.log_sums);
  if constexpr (requires { to.factor; })
    launch.write(to.factor, m, 1);
  if constexpr (requires { to.mean; })
    launch.write(to.mean, m, 1);
  return launch.run(tile);
}

template <typename Kernel, typename T> void row_kernel(const std::string &kernel) {
  using Arguments = typename Kernel::args;
  constexpr bool is_norm = requires(Arguments a) { a.epsilon; };
  constexpr bool is_loss = requires(Arguments a) { a.labels; };
  constexpr bool is_gradient = requires(Arguments a) { a.dx; };
  for (const auto &tile : Kernel::variants())
    // All rows start at a multiple of 16 bytes: the order of a sum depends on the start of its row.
    for (auto [m, n] : {std::pair(6, 40), std::pair(5, 1104), std::pair(67, 3000)}) {
      if (emulated() && m > 6)
        continue;
      RowInputs inputs(m, n);
      std::string what =
          text("%s<%s> SIZE=%d %d x %d", kernel.c_str(), name_of<T>, tile.SIZE, m, n);
      check_items(what, "rows", m, 1,
                  [&](auto &items) { return rows<Kernel>(inputs.of(items), tile); });
      Results first = rows<Kernel>(inputs, tile);
      auto relation = [&, columns = n](const char *name, double times, const RowInputs &other) {
        check_relation(what,
                       {.name = name,
                        .times = times,
                        .smallest = times == 1 ? 0 : surely_normal<T>,
                        .moves = false},
                       first, first_columns(rows<Kernel>(other, tile), columns));
      };
      RowInputs larger = inputs, shifted = inputs, weighted = inputs, steeper = inputs;
      larger.x = changed(inputs.x, 4);
      larger.epsilon *= 16;
      shifted.x = changed(inputs.x, 1, 2);
      shifted.log_sums = changed(inputs.log_sums, 1, 2);
      weighted.gain = changed(inputs.gain, 4);
      weighted.bias = changed(inputs.bias, 4);
      steeper.dy = changed(inputs.dy, 4);
      steeper.dloss = changed(inputs.dloss, 4);
      if (is_norm) {
        relation("4 x, 16 epsilon", is_gradient ? 0.25 : 1, larger);
        relation("4 gain, 4 bias", 4, weighted);
      }
      if (is_gradient)
        relation("4 dy", 4, steeper);
      // All differences are exact. Finds exponents that are relative to a constant, or to the
      // maximum of another row.
      if (!is_norm && is_gradient == is_loss)
        relation("x + 2", 1, shifted);
    }
}

// Items are columns.
template <typename Kernel, typename T> void weight_gradient(const char *kernel) {
  const int m = emulated() ? 37 : 1003, n = 70;
  Matrix x = sixteenths(n, m), dy = random_matrix<T>(n, m), mean = sixteenths(m, 1),
         factor = random_matrix<float>(m, 1);
  for (const auto &tile : Kernel::variants())
    check_items(text("%s<%s> TN=%d", kernel, name_of<T>, tile.TN), "columns", n, 1,
                [&](const std::vector<int> &items) {
                  Launch<Kernel> launch;
                  auto &to = launch.arguments;
                  int columns = int(items.size());
                  launch.read(to.x, transposed(selected(x, items)));
                  launch.read(to.dy, transposed(selected(dy, items)));
                  launch.read(to.factor, factor);
                  launch.write(to.dgain, columns, 1);
                  if constexpr (requires { to.mean; })
                    launch.read(to.mean, mean), launch.write(to.dbias, columns, 1);
                  to.M = m, to.N = to.ldx = to.lddy = columns;
                  return launch.run(tile);
                });
}

template <typename T> void row_kernels() {
  row_kernel<shipped_softmax::softmax<T>, T>("softmax");
  row_kernel<shipped_softmax::softmax_backward<T>, T>("softmax_backward");
  row_kernel<shipped_softmax::log_softmax<T>, T>("log_softmax");
  row_kernel<shipped_norms::layer_norm<T>, T>("layer_norm");
  row_kernel<shipped_norms::layer_norm_backward<T>, T>("layer_norm_backward");
  row_kernel<shipped_norms::rms_norm<T>, T>("rms_norm");
  row_kernel<shipped_norms::rms_norm_backward<T>, T>("rms_norm_backward");
  row_kernel<shipped_cross_entropy::cross_entropy<T>, T>("cross_entropy");
  row_kernel<shipped_cross_entropy::cross_entropy_backward<T>, T>("cross_entropy_backward");
  weight_gradient<shipped_norms::layer_norm_backward_weights<T>, T>("layer_norm_backward_weights");
  weight_gradient<shipped_norms::rms_norm_backward_weights<T>, T>("rms_norm_backward_weights");
}

// --- Attention, convolution, batch norm ----------------------------------------------------------

// q, k and v have a row per head. Items are heads, or queries.
template <typename Kernel, int D>
Results attend(const Matrix &q, const Matrix &k, const Matrix &v, float scale, bool by_query,
               const typename Kernel::params &tile) {
  Launch<Kernel> launch;
  auto &to = launch.arguments;
  to.scale = scale, to.batches = 1, to.heads = q.rows, to.M = q.columns / D, to.N = k.columns / D;
  launch.read(to.Q, q);
  launch.read(to.K, k);
  launch.read(to.V, v);
  int queries = by_query ? 1 : to.M;
  launch.write(to.O, to.heads * to.M / queries, queries * D);
  launch.write(to.log_sums, to.heads * to.M / queries, queries);
  to.ldq = to.ldk = to.ldo = D;
  to.group = to.window = 1;
  to.q_head = to.o_head = q.columns;
  to.k_head = k.columns;
  return launch.run(tile);
}

template <typename T, int D, shipped_attention::SEEN seen> void attention() {
  using Kernel = shipped_attention::attention<T, D, seen>;
  constexpr bool is_causal = seen == shipped_attention::SEEN::causal;
  const int heads = 3, m = emulated() ? 35 : 201, n = emulated() ? 40 : 333;
  Matrix q = random_matrix<T>(heads, m * D), k = random_matrix<T>(heads, n * D),
         v = random_matrix<T>(heads, n * D);
  Matrix queries = {m, D, selected(q, {0}).elements};
  for (const auto &tile : Kernel::variants()) {
    std::string what = text("attention<%s, %d, %s> TM=%d TN=%d", name_of<T>, D,
                            is_causal ? "causal" : "all", tile.TM, tile.TN);
    auto run = [&](const Matrix &q, const Matrix &k, const Matrix &v, float scale,
                   bool by_query = false) {
      return attend<Kernel, D>(q, k, v, scale, by_query, tile);
    };
    check_items(what, "heads", heads, 1, [&](const std::vector<int> &items) {
      return run(selected(q, items), selected(k, items), selected(v, items), 0.125f);
    });
    if (!is_causal)
      check_items(what, "queries", m, 1, [&](const std::vector<int> &items) {
        Matrix some = selected(queries, items);
        return run({1, some.rows * D, some.elements}, selected(k, {0}), selected(v, {0}), 0.125f,
                   true);
      });
    Results first = run(q, k, v, 0.125f);
    check_relation(what, {.name = "4 Q, scale / 4", .moves = false}, first,
                   run(changed(q, 4), k, v, 0.03125f));
    check_relation(what, {.name = "4 V", .times = 4, .smallest = surely_normal<T>, .moves = false},
                   first, first_columns(run(q, k, changed(v, 4), 0.125f), m * D));
  }
}

// Items are images. If there is one image, items are filters in nchw.
template <typename T, shipped_conv2d::LAYOUT layout> void convolution() {
  using Kernel = shipped_conv2d::conv2d<T, layout>;
  constexpr bool is_nchw = layout == shipped_conv2d::LAYOUT::nchw;
  const int images = 3, filters = emulated() ? 9 : 70, channels = 5, size = 7, window = 3;
  Matrix x = random_matrix<T>(images, channels * size * size),
         f = random_matrix<T>(filters, channels * window * window);
  for (const auto &tile : Kernel::variants()) {
    if (tile.FILTER == shipped_conv2d::FILTER::point)
      continue;
    auto run = [&](const Matrix &x, const Matrix &f, int items) {
      Launch<Kernel> launch;
      auto &to = launch.arguments;
      launch.read(to.X, x);
      launch.read(to.F, f);
      launch.write(to.Y, items, x.rows * f.rows * size * size / items);
      to.N = x.rows, to.C = channels, to.K = f.rows;
      to.H = to.W = to.P = to.Q = size;
      to.R = to.S = window;
      to.stride_h = to.stride_w = to.pad_h = to.pad_w = to.dilation_h = to.dilation_w = 1;
      return launch.run(tile);
    };
    std::string what = text("conv2d<%s, %s> TM=%d TN=%d TK=%d", name_of<T>,
                            is_nchw ? "nchw" : "nhwc", tile.TM, tile.TN, tile.TK);
    check_items(what, "images", images, 1, [&](const std::vector<int> &items) {
      return run(selected(x, items), f, int(items.size()));
    });
    if (is_nchw)
      check_items(what, "filters", filters, 1, [&](const std::vector<int> &items) {
        return run(selected(x, {1}), selected(f, items), int(items.size()));
      });
  }
}

// Items are channels of one image.
template <typename Kernel, typename T> void batch_norm(const char *kernel) {
  constexpr int channels = 7, pixels = 1100;
  Matrix x = sixteenths(channels, pixels), dy = random_matrix<T>(channels, pixels);
  Matrix numbers[4];
  for (Matrix &matrix : numbers)
    matrix = changed(random_matrix<float>(channels, 1), 0.25, 0.5);
  for (const auto &tile : Kernel::variants())
    check_items(text("%s<%s> TS=%d SIZE=%d", kernel, name_of<T>, tile.TS, tile.SIZE), "channels",
                channels, 1, [&](const std::vector<int> &items) {
                  Launch<Kernel> launch;
                  auto &to = launch.arguments;
                  to.N = 1, to.C = int(items.size()), to.S = pixels;
                  launch.read(to.x, selected(x, items));
                  launch.read(to.gain, selected(numbers[0], items));
                  if constexpr (requires { to.bias; })
                    launch.read(to.bias, selected(numbers[1], items)), to.epsilon = 1e-5f;
                  if constexpr (requires { to.y; })
                    launch.write(to.y, to.C, pixels);
                  if constexpr (requires { to.variance; })
                    launch.read(to.mean, selected(numbers[2], items)),
                        launch.read(to.variance, selected(numbers[3], items));
                  if constexpr (requires { to.running_mean; }) {
                    to.momentum = 0.25f;
                    launch.write(to.mean, to.C, 1);
                    launch.write(to.factor, to.C, 1);
                    launch.update(to.running_mean, selected(numbers[2], items));
                    launch.update(to.running_variance, selected(numbers[3], items));
                  }
                  if constexpr (requires { to.dy; }) {
                    launch.read(to.mean, selected(numbers[2], items));
                    launch.read(to.factor, selected(numbers[3], items));
                    launch.read(to.dy, selected(dy, items));
                    launch.write(to.dx, to.C, pixels);
                    launch.write(to.dgain, to.C, 1);
                    launch.write(to.dbias, to.C, 1);
                  }
                  return launch.run(tile);
                });
}

template <typename T> void batch_norms() {
  batch_norm<shipped_batch_norm::batch_norm<T>, T>("batch_norm");
  batch_norm<shipped_batch_norm::batch_norm_training<T>, T>("batch_norm_training");
  batch_norm<shipped_batch_norm::batch_norm_backward<T>, T>("batch_norm_backward");
}

// --- Reductions: items are rows of x, which are in memory as they are, or transposed -------------

template <typename Kernel>
Results reduced(const Matrix &x, bool is_transposed, const typename Kernel::params &tile) {
  Launch<Kernel> launch;
  auto &to = launch.arguments;
  launch.read(to.X, is_transposed ? transposed(x) : x);
  launch.write(to.Y, x.rows, 1);
  if constexpr (requires { to.INDEX; })
    launch.write(to.INDEX, x.rows, 1);
  to.P = 1, to.Q = x.rows, to.K = x.columns;
  to.xq = is_transposed ? 1 : x.columns;
  to.xk = is_transposed ? x.rows : 1;
  return launch.run(tile);
}

template <typename T, typename Last, typename Inner> void reduction(const std::string &kernel) {
  const int q = emulated() ? 11 : 203, k = 200;
  Matrix x = zero_matrix(q, k); // integers, so that sums are exact; different, for argmax
  std::vector<int> values(256), order(k);
  std::iota(values.begin(), values.end(), -128);
  for (int row = 0; row < q; row++) {
    std::shuffle(values.begin(), values.end(), generator);
    std::copy_n(values.begin(), k, &x.at(row, 0));
  }
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), generator);
  Matrix permuted = transposed(selected(transposed(x), order));
  for (const auto &tile : Last::variants()) {
    std::string what = text("%s<%s> TQ=%d", kernel.c_str(), name_of<T>, tile.TQ);
    check_items(what, "results", q, 1,
                [&](auto &items) { return reduced<Last>(selected(x, items), false, tile); });
    Results first = reduced<Last>(x, false, tile), other = reduced<Last>(permuted, false, tile);
    for (int row = 0; row < q && kernel == "argmax"; row++)
      if (double &place = other.items.at(row, 1); place >= 0 && place < k)
        place = order[size_t(place)];
    // Finds an element that counts twice or never, where rounding the sum to T hides it.
    check_relation(what, {.name = "axis permuted"}, first, other);
    // Finds the same in one of the layouts.
    check_relation(what, {.name = "axis moved"}, first, reduced<Inner>(x, true, {tile.TQ}));
  }
}

template <typename T> void reductions() {
  using namespace shipped_reduce;
  reduction<T, reduce<T, OP::sum, AXIS::last>, reduce<T, OP::sum, AXIS::inner>>("sum");
  reduction<T, reduce<T, OP::max, AXIS::last>, reduce<T, OP::max, AXIS::inner>>("max");
  reduction<T, reduce<T, OP::min, AXIS::last>, reduce<T, OP::min, AXIS::inner>>("min");
  reduction<T, argmax<T, OF::max, AXIS::last>, argmax<T, OF::max, AXIS::inner>>("argmax");
}

// --- Moves and dropout ---------------------------------------------------------------------------

// Two transposes are the identity, and three rotations of three axes. The relations do not compute
// addresses, so they find an error that the reference of the other test has, too.
template <typename T> void moves() {
  using Transpose = shipped_transpose::transpose<T, shipped_transpose::SIZES::any>;
  using Permute =
      shipped_permute::permute<T, shipped_permute::SIZES::any, shipped_permute::LAST::i>;
  const int m = emulated() ? 37 : 1001, n = emulated() ? 70 : 515;
  const Matrix x = random_matrix<T>(m, n);
  for (const auto &tile : Transpose::variants()) {
    Results results = {"", "", x};
    for (int i = 0; i < 2; i++) {
      Launch<Transpose> launch;
      auto &to = launch.arguments;
      to.M = to.ldy = results.items.rows, to.N = to.ldx = results.items.columns;
      launch.read(to.X, results.items);
      launch.write(to.Y, to.N, to.M);
      results = launch.run(tile);
    }
    check_relation(text("transpose<%s> TM=%d TN=%d", name_of<T>, tile.TM, tile.TN),
                   {.name = "twice"}, {"", results.schedule, x}, results);
  }
  for (const auto &tile : Permute::variants()) {
    int extents[] = {m, 5, n / 5};
    Results results = {"", "", x};
    for (int i = 0; i < 3; i++) {
      Launch<Permute> launch;
      auto &to = launch.arguments;
      auto [d0, d1, d2] = extents; // becomes d1 x d2 x d0
      to.D0 = d0, to.D1 = d1, to.D2 = d2;
      to.x0 = d1 * d2, to.x1 = d2;
      to.y0 = 1, to.y1 = d2 * d0, to.y2 = d0;
      launch.read(to.X, results.items);
      launch.write(to.Y, m, n);
      results = launch.run(tile);
      std::rotate(extents, extents + 1, extents + 3);
    }
    check_relation(text("permute<%s> TM=%d TN=%d", name_of<T>, tile.TM, tile.TN),
                   {.name = "three times"}, {"", results.schedule, x}, results);
  }
}

template <typename T> void dropout() {
  using Kernel = shipped_dropout::dropout<T>;
  const Matrix x = random_matrix<T>(1, emulated() ? 3001 : 100003);
  for (const auto &tile : Kernel::variants()) {
    std::string what = text("dropout<%s> SIZE=%d", name_of<T>, tile.SIZE);
    auto run = [&](int n, float rate) {
      Launch<Kernel> launch;
      auto &to = launch.arguments;
      to.rate = rate, to.seed = 7, to.n = n;
      launch.read(to.x, x);
      launch.write(to.y, 1, n);
      return launch.run(tile);
    };
    // Finds a factor that is nearly 1.
    Results none = run(x.columns, 0);
    check_relation(what, {.name = "nothing dropped"}, {"", none.schedule, x}, none);
    // Finds random numbers that depend on the number of elements.
    check_relation(what, {.name = "shorter vector"}, run(x.columns, 0.5f),
                   run(x.columns / 3, 0.5f));
  }
}

void all_relations() {
  using tritonc::half, tritonc::bfloat16, shipped_attention::SEEN, shipped_conv2d::LAYOUT;
  masked<half>();
  masked<bfloat16>();
  masked<float>();
  whole();
  row_kernels<half>();
  row_kernels<bfloat16>();
  row_kernels<float>();
  attention<half, 64, SEEN::all>();
  attention<half, 64, SEEN::causal>();
  attention<bfloat16, 128, SEEN::all>();
  convolution<half, LAYOUT::nhwc>();
  convolution<half, LAYOUT::nchw>();
  convolution<float, LAYOUT::nhwc>();
  batch_norms<half>();
  batch_norms<float>();
  reductions<half>();
  reductions<bfloat16>();
  reductions<float>();
  moves<std::uint8_t>();
  moves<half>();
  moves<float>();
  moves<double>();
  dropout<half>();
  dropout<float>();
}

const KernelTest metamorphic("metamorphic", [] { check_relations(all_relations); });

} // namespace
