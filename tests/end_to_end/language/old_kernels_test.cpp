// Tests kernels in the style of the old compiler's users: macros defined by -D, masked prefetches,
// tables of pointer increments, locks around sums. Each must compile unchanged and compute the same
// as plain C++ code.

#include "end_to_end/language/small_kernel.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

using namespace tritonc;
using namespace tritonc::test;
using tritonc::ir::Elem;

namespace {

// Small integers, so that sums and products are exact.
std::vector<double> numbers(size_t count, int modulus = 7) {
  std::vector<double> values;
  for (size_t i = 0; i < count; i++)
    values.push_back(double(int(i * 5 % 23 % size_t(modulus)) - modulus / 2));
  return values;
}

std::string text(int number) { return std::to_string(number); }

} // namespace

TEST_CASE("old kernels: reorder the axes of a 3-D tensor") {
  const std::string source = R"(
    void reorder(TYPE *from __noalias __readonly __aligned(16), TYPE *to __noalias __writeonly __aligned(16),
                 int E0 __multipleof(8) __retune, int E1 __multipleof(8) __retune, int E2 __multipleof(8) __retune) {
      int i[T0] = get_program_id(0) * T0 + 0 ... T0;
      int j[T1] = get_program_id(1) * T1 + 0 ... T1;
      int k[T2] = get_program_id(2) * T2 + 0 ... T2;
      TYPE *source[T0, T1, T2] =
          from + i[:, newaxis, newaxis] * FROM_0 + j[newaxis, :, newaxis] * FROM_1 + k[newaxis, newaxis, :] * FROM_2;
      TYPE *target[T0, T1, T2] =
          to + i[:, newaxis, newaxis] * TO_0 + j[newaxis, :, newaxis] * TO_1 + k[newaxis, newaxis, :] * TO_2;
      *target = *source;
    })";
  const int extents[3] = {8, 16, 8};
  const char *parameters[3] = {"E0", "E1", "E2"};
  // Axes, contiguous axis first.
  const int orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 0, 2}};
  for (const auto &from : orders)
    for (const auto &to : orders) {
      std::vector<Define> defines = {{"TYPE", "half"}, {"T0", "8"}, {"T1", "8"}, {"T2", "4"}};
      int x_strides[3], y_strides[3];
      auto define = [&](const std::string &prefix, const int (&order)[3], int (&strides)[3]) {
        std::string stride = "1";
        for (int i = 0, size = 1; i < 3; i++) {
          defines.push_back({prefix + text(order[i]), stride});
          strides[order[i]] = size;
          size *= extents[order[i]];
          stride = i ? stride + "*" + parameters[order[i]] : parameters[order[i]];
        }
      };
      define("FROM_", from, x_strides);
      define("TO_", to, y_strides);
      SmallKernel kernel(source, defines);
      std::vector<double> x = numbers(1024), y(1024);
      for (int a = 0; a < extents[0]; a++)
        for (int b = 0; b < extents[1]; b++)
          for (int c = 0; c < extents[2]; c++)
            y[size_t(a * y_strides[0] + b * y_strides[1] + c * y_strides[2])] =
                x[size_t(a * x_strides[0] + b * x_strides[1] + c * x_strides[2])];
      kernel.add(Elem::f16, x);
      int result = kernel.add_unwritten(Elem::f16, 1024);
      for (int extent : extents)
        kernel.add(extent);
      kernel.set_grid(1, 2, 2);
      kernel.must_give(result, y);
    }
}

TEST_CASE("old kernels: 1-D copy, 2-D copy with masks") {
  SmallKernel one("void same(TYPE *from __noalias, TYPE *to __noalias, int n __retune) {\n"
                  "  int part = get_program_id(0);\n  int i[SIZE] = part * SIZE + 0 ... SIZE;\n"
                  "  TYPE *source[SIZE] = from + i;\n  *(to + i) = *source;\n}",
                  {{"TYPE", "float"}, {"SIZE", "128"}});
  one.add(Elem::f32, numbers(256));
  int copied = one.add_unwritten(Elem::f32, 256);
  one.add(256);
  one.set_grid(2);
  one.must_give(copied, numbers(256));

  SmallKernel two(R"(
    void turn(TYPE *from __noalias __readonly, TYPE *to __noalias __writeonly, int M, int N) {
      int m[TM] = get_program_id(0) * TM + 0 ... TM;
      int n[TN] = get_program_id(1) * TN + 0 ... TN;
      bool inside[TM, TN] = m[:, newaxis] < M && n[newaxis, :] < N;
      TYPE *source[TM, TN] = from + m[:, newaxis] * FROM_M + n[newaxis, :] * FROM_N;
      TYPE *target[TM, TN] = to + m[:, newaxis] * TO_M + n[newaxis, :] * TO_N;
      *?(inside)target = *?(inside)source;
    })",
                  {{"TYPE", "float"},
                   {"TM", "8"},
                   {"TN", "16"},
                   {"FROM_M", "1"},
                   {"FROM_N", "M"},
                   {"TO_M", "N"},
                   {"TO_N", "1"}});
  const int rows = 13, columns = 21;
  std::vector<double> x = numbers(rows * columns), y(x.size());
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < columns; j++)
      y[size_t(i * columns + j)] = x[size_t(i + j * rows)];
  two.add(Elem::f32, x);
  int transposed = two.add_unwritten(Elem::f32, x.size());
  two.add(rows);
  two.add(columns);
  two.set_grid(2, 2);
  two.must_give(transposed, y);
}

TEST_CASE("old kernels: reductions with a macro axis and operator") {
  struct {
    const char *reduced, *rank, *result;
    std::vector<double> (*right)(const std::vector<double> &);
  } cases[] = {
      {"+", "1", "Y",
       [](const std::vector<double> &x) {
         double sum = 0;
         for (int i = 0; i < 32; i++)
           sum += x[size_t(i)];
         return std::vector<double>{sum};
       }},
      {"max, :", "2", "Y + rn",
       [](const std::vector<double> &x) {
         std::vector<double> y;
         for (size_t j = 0; j < 8; j++)
           y.push_back(std::max({x[j], x[8 + j], x[16 + j], x[24 + j]}));
         return y;
       }},
      {":, +, :", "3", "Y + (0 ... 4)[:, newaxis] * 2 + (0 ... 2)[newaxis, :]",
       [](const std::vector<double> &x) {
         std::vector<double> y;
         for (size_t i = 0; i < 4; i++)
           for (size_t k = 0; k < 2; k++) {
             double sum = 0;
             for (size_t j = 0; j < 4; j++)
               sum += x[i * 8 + j * 2 + k];
             y.push_back(sum);
           }
         return y;
       }},
  };
  for (const auto &test : cases) {
    CAPTURE(test.reduced);
    SmallKernel kernel(
        R"(
      void reduce(TYPE * X __noalias __readonly, TYPE * Y __noalias __writeonly) {
        int rn[8] = 0 ... 8;
      #if (RANK == 1)
        TYPE* px[32] = X + 0 ... 32;
      #elif (RANK == 2)
        TYPE* px[4, 8] = X + (0 ... 4)[:, newaxis] * 8 + rn[newaxis, :];
      #else
        TYPE* px[4, 4, 2] = X + (0 ... 4)[:, newaxis, newaxis] * 8 + (0 ... 4)[newaxis, :, newaxis] * 2
                              + (0 ... 2)[newaxis, newaxis, :];
      #endif
        *(RESULT) = (*px)[RED];
      })",
        {{"TYPE", "float"}, {"RANK", test.rank}, {"RED", test.reduced}, {"RESULT", test.result}});
    std::vector<double> x = numbers(32), y = test.right(x);
    kernel.add(Elem::f32, x);
    int result = kernel.add_unwritten(Elem::f32, y.size());
    kernel.must_give(result, y);
  }
}

TEST_CASE("old kernels: matmul with macro layouts, masked prefetch") {
  const std::string source = R"(
    #if TRANSPOSED
    #define LEFT ^x
    #define X_SHAPE TK, TM
    #define ALONG_K :, newaxis
    #define ALONG_M newaxis, :
    #define STEP_K 1
    #define STEP_M ldx
    #else
    #define LEFT x
    #define X_SHAPE TM, TK
    #define ALONG_K newaxis, :
    #define ALONG_M :, newaxis
    #define STEP_K ldx
    #define STEP_M 1
    #endif
    void product(TYPE *X, TYPE *Y, TYPE *Z, int M __retune, int N __retune, int K __retune,
                 int ldx __multipleof(8), int ldy __multipleof(8), int ldz, int *turns) {
      int row = get_program_id(0), column = get_program_id(1), part = get_program_id(2);
      int tile = row + column * (M / TM); // tiles in another order than their programs
      row = tile / (N / TN);
      column = tile % (N / TN);
      K /= PARTS;
      int i[TM] = row * TM + 0 ... TM;
      int j[TN] = column * TN + 0 ... TN;
      int l[TK] = part * K + 0 ... TK;
      TYPE *px[X_SHAPE] = X + l[ALONG_K] * STEP_K + i[ALONG_M] * STEP_M;
      TYPE *py[TK, TN] = Y + l[:, newaxis] + j[newaxis, :] * ldy;
      TYPE x[X_SHAPE] = *px;
      TYPE y[TK, TN] = *py;
      float sum[TM, TN] = 0;
      for (int rest = K; rest > 0; rest -= TK) {
        sum += LEFT @ y;
        px += TK * STEP_K;
        py = py + TK;
        bool unused[X_SHAPE] = rest > TK;
        x = (bool[X_SHAPE])(rest > TK) ? *px : 0;
        y = *?((bool[TK, TN])(rest > TK))py;
      }
      TYPE *pz[TM, TN] = Z + i[:, newaxis] + j[newaxis, :] * ldz;
      bool inside[TM, TN] = i[:, newaxis] < M && j[newaxis, :] < N;
    #if PARTS == 1
      *?(inside)pz = sum;
    #else
      int *turn = turns + tile;
      int *seen = turn + get_num_programs(0) * get_num_programs(1);
      for (int taken = 1; taken == 1; taken = atomic_cas(turn, 0, 1));
      int before = *seen;
      if (before)
        *?(inside)pz = sum + *?(inside)pz;
      else
        *?(inside)pz = sum;
      atomic_xchg(seen, (before + 1) % PARTS);
      atomic_xchg(turn, 0);
    #endif
    })";
  const int m = 32, n = 16, k = 64;
  for (bool transposed : {false, true})
    for (int parts : {1, 2}) {
      CAPTURE(transposed);
      CAPTURE(parts);
      SmallKernel kernel(source, {{"TYPE", "half"},
                                  {"TRANSPOSED", transposed ? "1" : "0"},
                                  {"TM", "16"},
                                  {"TN", "16"},
                                  {"TK", "16"},
                                  {"PARTS", text(parts)}});
      std::vector<double> a = numbers(m * k, 5), b = numbers(k * n), c(m * n);
      for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
          for (int l = 0; l < k; l++)
            c[size_t(i + j * m)] +=
                a[size_t(transposed ? i * k + l : i + l * m)] * b[size_t(l + j * k)];
      kernel.add(Elem::f16, a);
      kernel.add(Elem::f16, b);
      int result = kernel.add_unwritten(Elem::f16, c.size());
      for (int value : {m, n, k, transposed ? k : m, k, m})
        kernel.add(value);
      kernel.add(Elem::i32, std::vector<double>(4));
      kernel.set_grid(m / 16, n / 16, parts);
      if (parts > 1)
        kernel.without_races();
      kernel.must_give(result, c);
    }
}

TEST_CASE("old kernels: implicit GEMM convolution, increment table") {
  const std::string source = R"(
    // A row of the product is a place of the output, a column its channel, and sums run over the
    // taps of all channels.
    __global__ void convolve(TYPE *image __noalias __readonly, TYPE *weights __noalias __readonly, TYPE *out __noalias,
                             float scale, int places, int channels, int taps, int pad, int stride, int *jumps,
                             int image_size, int plane_size, int out_size, int out_plane) {
      int place[TM] = get_program_id(0) * TM + 0 ... TM;
      int channel[TN] = get_program_id(1) * TN + 0 ... TN;
      int tap[TK] = 0 ... TK;
      int top[TM] = place / OUT_WIDTH % OUT_HEIGHT * stride - pad;
      int left[TM] = place % OUT_WIDTH * stride - pad;
      int y[TM, TK] = top[:, newaxis] + (tap / TAPS_X % TAPS_Y)[newaxis, :];
      int x[TM, TK] = left[:, newaxis] + (tap % TAPS_X)[newaxis, :];
      TYPE *from[TM, TK] = image + (place / (OUT_HEIGHT * OUT_WIDTH))[:, newaxis] * image_size +
                           (tap / (TAPS_Y * TAPS_X))[newaxis, :] * plane_size + y * WIDTH + x;
      TYPE *weight[TK, TN] = weights + tap[:, newaxis] * channels + channel[newaxis, :];
      int *jump[TK] = jumps + tap;
      bool is_place[TM, TK] = place[:, newaxis] < places;
      bool there[TM, TK] = is_place && y >= 0 && y < HEIGHT && x >= 0 && x < WIDTH;
      bool used[TK, TN] = tap[:, newaxis] < taps && channel[newaxis, :] < channels;
      TYPE a[TM, TK] = there ? *from : 0;
      TYPE b[TK, TN] = used ? *weight : 0;
      float sum[TM, TN] = 0;
      for (int rest = taps; rest > 0; rest -= TK) {
        sum += a @ b;
        from += (*jump)[newaxis, :];
        jump += TK;
        weight += TK * channels;
        tap += TK;
        y = top[:, newaxis] + (tap / TAPS_X % TAPS_Y)[newaxis, :];
        x = left[:, newaxis] + (tap % TAPS_X)[newaxis, :];
        bool there[TM, TK] = is_place && tap[newaxis, :] < taps && y >= 0 && y < HEIGHT && x >= 0 && x < WIDTH;
        bool used[TK, TN] = tap[:, newaxis] < taps && channel[newaxis, :] < channels;
        a = there ? *from : 0;
        b = used ? *weight : 0;
      }
      sum = sum * scale;
      TYPE result[TM, TN] = sum;
      place = get_program_id(0) * TM + 0 ... TM;
      TYPE *to[TM, TN] = out + (place / (OUT_HEIGHT * OUT_WIDTH))[:, newaxis] * out_size + channel[newaxis, :] * out_plane +
                         (place % (OUT_HEIGHT * OUT_WIDTH))[:, newaxis];
      bool inside[TM, TN] = place[:, newaxis] < places && channel[newaxis, :] < channels;
      *?(inside)to = result;
    })";
  const int z = 2, ci = 4, h = 5, w = 6, co = 7, r = 2, s = 2, pad = 1, p = h + 2 * pad - r + 1,
            q = w + 2 * pad - s + 1, m = z * p * q, k = ci * r * s, tk = 8;
  SmallKernel kernel(source, {{"TYPE", "half"},
                              {"TM", "32"},
                              {"TN", "16"},
                              {"TK", text(tk)},
                              {"HEIGHT", text(h)},
                              {"WIDTH", text(w)},
                              {"OUT_HEIGHT", text(p)},
                              {"OUT_WIDTH", text(q)},
                              {"TAPS_Y", text(r)},
                              {"TAPS_X", text(s)}});
  std::vector<double> a = numbers(size_t(z * ci * h * w), 5), b = numbers(size_t(k * co)),
                      c(size_t(z * co * p * q)), jumps;
  auto offset = [&](int at) { return (at / (r * s)) * h * w + at / s % r * w + at % s; };
  for (int i = 0; i < k + tk; i++)
    jumps.push_back(offset(i + tk) - offset(i));
  for (int iz = 0; iz < z; iz++)
    for (int ic = 0; ic < co; ic++)
      for (int ip = 0; ip < p; ip++)
        for (int iq = 0; iq < q; iq++)
          for (int l = 0; l < k; l++) {
            int y = ip - pad + l / s % r, x = iq - pad + l % s;
            if (y >= 0 && y < h && x >= 0 && x < w)
              c[size_t(((iz * co + ic) * p + ip) * q + iq)] +=
                  a[size_t(((iz * ci + l / (r * s)) * h + y) * w + x)] * b[size_t(l * co + ic)] * 2;
          }
  kernel.add(Elem::f16, a);
  kernel.add(Elem::f16, b);
  int result = kernel.add_unwritten(Elem::f16, c.size());
  kernel.add_value(Elem::f32, 2);
  for (int value : {m, co, k, pad, 1})
    kernel.add(value);
  kernel.add(Elem::i32, jumps);
  for (int value : {ci * h * w, h * w, co * p * q, p * q})
    kernel.add(value);
  kernel.set_grid((m + 31) / 32, 1);
  kernel.must_give(result, c);
}

TEST_CASE("old kernels: mask from an optional pointer") {
  SmallKernel kernel(R"(
    void add_bias(float *x, float *bias, float *y, bool *is_there) {
      int i[8] = 0 ... 8;
      bool has_bias[2, 4] = bias, has_x[8] = x + i, has_y = (float *)0;
      float v[8] = *(x + i);
      v += has_x ? *(bias + i) : 0;
      *(y + i) = v;
      *is_there = has_bias[any, any] && !has_y;
    })");
  kernel.add(Elem::f32, {1, 2, 3, 4, 5, 6, 7, 8});
  kernel.add(Elem::f32, std::vector<double>(8, 10));
  int y = kernel.add_unwritten(Elem::f32, 8), is_there = kernel.add_unwritten(Elem::i1, 1);
  kernel.must_give(y, {11, 12, 13, 14, 15, 16, 17, 18});
  kernel.must_give(is_there, {1});
}

TEST_CASE("old kernels: store through a __readonly pointer") {
  SmallKernel kernel(R"(
    void scale(TYPE *x __readonly __noalias __aligned(16), TYPE *sums __writeonly __noalias, float by, int n) {
      int i[TN] = 0 ... TN;
      bool inside[TN] = i < n;
      TYPE v[TN] = inside ? *(x + i) : 0;
      *?(inside)(x + i) = v * by;
      *sums = *sums + v[+];
    })",
                     {{"TYPE", "half"}, {"TN", "8"}});
  int x = kernel.add(Elem::f16, {1, 2, 3, 4, 5});
  int sums = kernel.add(Elem::f16, {100});
  kernel.add_value(Elem::f32, 2);
  kernel.add(5);
  kernel.must_give(x, {2, 4, 6, 8, 10});
  kernel.must_give(sums, {115});
}

TEST_CASE("old kernels: transpose by ^ with masks") {
  SmallKernel kernel(R"(
    __global__ void transpose(TYPE * X, TYPE * Y, int M, int N, int ldx __multipleof(8), int ldy __multipleof(8)) {
      int rm[TM] = get_program_id(0) * TM + 0 ... TM;
      int rn[TN] = get_program_id(1) * TN + 0 ... TN;
      TYPE* px[TM, TN] = X + rm[:, newaxis] + rn[newaxis, :] * ldx;
      TYPE* py[TN, TM] = Y + rm[newaxis, :] * ldy + rn[:, newaxis];
      bool checkx[TM, TN] = (rm[:, newaxis] < M) && (rn[newaxis, :] < N);
      bool checky[TN, TM] = (rm[newaxis, :] < M) && (rn[:, newaxis] < N);
      *?(checky)py = ^(*?(checkx)px);
    })",
                     {{"TYPE", "half"}, {"TM", "16"}, {"TN", "32"}});
  const int m = 21, n = 35, ldx = 24, ldy = 40;
  std::vector<double> x = numbers(n * ldx), y(m * ldy, 9);
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++)
      y[size_t(j + i * ldy)] = x[size_t(i + j * ldx)];
  kernel.add(Elem::f16, x);
  int result = kernel.add(Elem::f16, std::vector<double>(y.size(), 9));
  for (int value : {m, n, ldx, ldy})
    kernel.add(value);
  kernel.set_grid(2, 2);
  kernel.must_give(result, y);
}

TEST_CASE("old kernels: matmul with grouped programs, source macros") {
  SmallKernel kernel(R"(
    #define STM 2
    #define STN 2
    __global__ void matmul(TYPE *A __noalias __readonly, TYPE *B __noalias __readonly, TYPE *C __noalias,
                           float alpha, int M, int N, int K, int lda __multipleof(8), int ldb __multipleof(8),
                           int ldc) {
      int pid = get_program_id(0);
      int gridm = (M + TM - 1) / TM, gridn = (N + TN - 1) / TN;
      int width = STM * gridn;
      int stm = pid / width;
      int RSTM = min(gridm - stm * STM, STM);
      int stn = (pid % width) / (RSTM * STN);
      int RSTN = min(gridn - stn * STN, STN);
      int laneid = pid % (RSTM * RSTN);
      int pidm = stm * STM + laneid / RSTN, pidn = stn * STN + laneid % RSTN;
      int rm[TM] = pidm * TM + 0 ... TM;
      int rn[TN] = pidn * TN + 0 ... TN;
      int rk[TK] = 0 ... TK;
      float acc[TM, TN] = 0;
      TYPE *pa[TM, TK] = A + rk[newaxis, :] * STRIDE_AK + rm[:, newaxis] * STRIDE_AM;
      TYPE *pb[TK, TN] = B + rk[:, newaxis] * STRIDE_BK + rn[newaxis, :] * STRIDE_BN;
      for (int k = K; k > 0; k -= TK) {
        acc += (*pa) @ (*pb);
        pa += TK * STRIDE_AK;
        pb += TK * STRIDE_BK;
      }
      rm = pidm * TM + 0 ... TM;
      rn = pidn * TN + 0 ... TN;
      TYPE *pc[TM, TN] = C + rm[:, newaxis] * ldc + rn[newaxis, :];
      TYPE c[TM, TN] = acc * alpha;
      *?(rm[:, newaxis] < M && rn[newaxis, :] < N) pc = c;
    })",
                     {{"TYPE", "half"},
                      {"STM", "8"},
                      {"TM", "16"},
                      {"TN", "16"},
                      {"TK", "16"},
                      {"STRIDE_AK", "1"},
                      {"STRIDE_AM", "lda"},
                      {"STRIDE_BK", "ldb"},
                      {"STRIDE_BN", "1"}});
  const int m = 48, n = 32, k = 32;
  std::vector<double> a = numbers(m * k, 5), b = numbers(k * n, 5), c(m * n);
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++)
      for (int l = 0; l < k; l++)
        c[size_t(i * n + j)] += a[size_t(i * k + l)] * b[size_t(l * n + j)] / 2;
  kernel.add(Elem::f16, a);
  kernel.add(Elem::f16, b);
  int result = kernel.add_unwritten(Elem::f16, c.size());
  kernel.add_value(Elem::f32, 0.5);
  for (int value : {m, n, k, k, n, n})
    kernel.add(value);
  kernel.set_grid(6);
  kernel.must_give(result, c, 1e-3);
}

TEST_CASE("old kernels: softmax, cross entropy with a barrier") {
  SmallKernel softmax(R"(
    __global__ void softmax(TYPE * X, TYPE * Y, int stride_m, int N) {
      int m = get_program_id(0);
      int n[BLOCK] = 0 ... BLOCK;
      TYPE* px[BLOCK] = X + n + m * stride_m;
      bool check[BLOCK] = n < N;
      float x[BLOCK] = check ? *px : -F32_INFINITY;
      float shifted[BLOCK] = exp(x - x[max]);
      float sum = shifted[+];
      *?(check)(Y + n + m * stride_m) = shifted / sum;
    })",
                      {{"TYPE", "half"}, {"BLOCK", "32"}});
  const int rows = 2, columns = 21, stride = 24;
  std::vector<double> x = numbers(rows * stride), y(x.size(), 9);
  for (int i = 0; i < rows; i++) {
    double sum = 0;
    for (int j = 0; j < columns; j++)
      sum += std::exp(x[size_t(i * stride + j)]);
    for (int j = 0; j < columns; j++)
      y[size_t(i * stride + j)] = std::exp(x[size_t(i * stride + j)]) / sum;
  }
  softmax.add(Elem::f16, x);
  int result = softmax.add(Elem::f16, std::vector<double>(y.size(), 9));
  softmax.add(stride);
  softmax.add(columns);
  softmax.set_grid(rows);
  softmax.must_give(result, y, 1e-3);

  SmallKernel entropy(R"(
    // The loss is read where another thread of the program has stored it.
    __global__ void losses(TYPE *scores, TYPE *costs, long *labels, TYPE *loss, int classes) {
      int row = get_program_id(0);
      bool exists[TILE] = 0 ... TILE < classes;
      int at[TILE] = exists ? 0 ... TILE : classes - 1;
      float x[TILE] = exists ? *(scores + row * classes + at) : -F32_INFINITY;
      float below[TILE] = x - x[max];
      float cost[TILE] = log((exp(below))[+]) - below;
      TYPE *to[TILE] = costs + row * classes + at;
      *?(exists)to = cost;
      __debug_barrier();
      int label = *(labels + row);
      *(loss + row) = *(costs + (row * classes + label));
    })",
                      {{"TYPE", "float"}, {"TILE", "16"}});
  const int classes = 11;
  std::vector<double> logits = numbers(2 * classes), losses;
  const int chosen[] = {3, 10};
  for (size_t i = 0; i < 2; i++) {
    double sum = 0;
    for (size_t j = 0; j < classes; j++)
      sum += std::exp(logits[i * classes + j]);
    losses.push_back(std::log(sum) - logits[i * classes + size_t(chosen[i])]);
  }
  entropy.add(Elem::f32, logits);
  entropy.add_unwritten(Elem::f32, logits.size());
  entropy.add(Elem::i64, {3, 10});
  int loss = entropy.add_unwritten(Elem::f32, 2);
  entropy.add(classes);
  entropy.set_grid(2);
  entropy.must_give(loss, losses, 1e-5);
}

TEST_CASE("old kernels: block-sparse matmul with a lookup table") {
  SmallKernel kernel(R"(
    // Of each column of blocks the table says where its list is, how many blocks it has, and which
    // column it is; the list, by how much to go on in X and in the blocks.
    __global__ void NAME(TYPE *X __readonly __noalias __aligned(16), TYPE *blocks __readonly __noalias __aligned(16),
                         TYPE *Z __noalias __aligned(16), int ldx __multipleof(8), int ldz __multipleof(8),
                         int *table, int *locks, int lock_count) {
      int *entry = table + get_program_id(0) * 4;
      int count = *(entry + 1), column = *(entry + 2);
      int *steps = table + *entry;
      int is_shared = select(PARTS > 1, 1, 0);
      int first_x __multipleof(8) = *steps;
      int first_block __multipleof(8) = *(steps + 1);
      int i[TM] = 0 ... TM, j[TN] = 0 + (0 ... TN), l[TK] = 0 ... TK;
      TYPE *px[TM, TK] = X + i[:, newaxis] * X_ROW + (first_x + l)[newaxis, :] * X_COLUMN;
      TYPE *pb[TK, TN] = blocks + first_block + l[:, newaxis] * BLOCK_ROW + j[newaxis, :] * BLOCK_COLUMN;
      bool any[TK, TN] = count > 0;
      TYPE x[TM, TK] = any[max, max] ? *px : 0;
      TYPE b[TK, TN] = any ? *pb : 0;
      float sum[TM, TN] = 0;
      for (int left = count; left > 0; left -= 1) {
        sum += x @ b;
        steps += 2;
        int by_x __multipleof(8) = *steps, by_block __multipleof(8) = *(steps + 1);
        by_x = by_x * X_COLUMN;
        px += by_x;
        pb += by_block;
        bool any[TK, TN] = left > 1;
        bool more[TM, TK] = left > 1;
        x = *?(more)px;
        b = *?(any)pb;
      }
      TYPE z[TM, TN] = sum;
      TYPE *pz[TM, TN] = Z + i[:, newaxis] * ldz + (column * TN + j)[newaxis, :];
      bool everywhere[TM, TN] = 1;
      if (is_shared == 0) {
        *?(everywhere)pz = z;
      }
    })",
                     {{"NAME", "y_kernel"},
                      {"TYPE", "half"},
                      {"TM", "16"},
                      {"TN", "16"},
                      {"TK", "16"},
                      {"PARTS", "1"},
                      {"X_ROW", "ldx"},
                      {"X_COLUMN", "1"},
                      {"BLOCK_COLUMN", "1"},
                      {"BLOCK_ROW", "16"}});
  CHECK(kernel.function().name == "y_kernel");
  // Column 0 has the blocks at rows 0 and 2, column 1 the block at row 1. Each block is contiguous
  // in memory.
  const int k = 48, n = 32;
  const int blocks[][2] = {{0, 0}, {2, 0}, {1, 1}};
  std::vector<double> a = numbers(16 * k, 5), b = numbers(3 * 256), c(16 * n);
  for (int block = 0; block < 3; block++)
    for (int i = 0; i < 16; i++)
      for (int j = 0; j < 16; j++)
        for (int l = 0; l < 16; l++)
          c[size_t(i * n + blocks[block][1] * 16 + j)] +=
              a[size_t(i * k + blocks[block][0] * 16 + l)] * b[size_t(block * 256 + l * 16 + j)];
  kernel.add(Elem::f16, a);
  kernel.add(Elem::f16, b);
  int result = kernel.add_unwritten(Elem::f16, c.size());
  kernel.add(k);
  kernel.add(n);
  kernel.add(Elem::i32, {8, 2, 0, 0, 14, 1, 1, 0, 0, 0, 32, 256, 0, 0, 16, 512, 0, 0});
  kernel.add(Elem::i32, {0});
  kernel.add(0);
  kernel.set_grid(2);
  kernel.must_give(result, c);
}

TEST_CASE("old kernels: matmul with a batch axis, select in the loop") {
  SmallKernel kernel(R"(
    __global__ void contract(TYPE *X, TYPE *Y, TYPE *Z, int M, int N, int K __multipleof(16), int step, int first_step) {
      int i[TM] = 0 ... TM, j[TN] = 0 ... TN, l[TK] = 0 ... TK, batch[TB] = 0 ... TB;
      TYPE *px[TM, TK, TB] =
          X + (i[:, newaxis, newaxis] * K + l[newaxis, :, newaxis] + batch[newaxis, newaxis, :] * 0);
      TYPE *py[TK, TN, TB] =
          Y + (l[:, newaxis, newaxis] * N + j[newaxis, :, newaxis] + batch[newaxis, newaxis, :] * 0);
      int rest = K % TK;
      int width = select(rest > 0, rest, TK);
      bool is_row[TM] = i < M, is_column[TN] = j < N, is_inner[TK] = l < width;
      bool in_x[TM, TK, TB] = is_row[:, newaxis, newaxis] && is_inner[newaxis, :, newaxis];
      bool in_y[TK, TN, TB] = is_inner[:, newaxis, newaxis] && is_column[newaxis, :, newaxis];
      TYPE x[TM, TK, TB] = in_x ? *px : 0;
      TYPE y[TK, TN, TB] = in_y ? *py : 0;
      px += first_step;
      py += first_step * N;
      float sum[TM, TN, TB] = 0;
      for (int left = K; left > 0; left -= TK) {
        sum += x @ y;
        is_inner = left > TK;
        in_x = is_row[:, newaxis, newaxis] && is_inner[newaxis, :, newaxis];
        in_y = is_inner[:, newaxis, newaxis] && is_column[newaxis, :, newaxis];
        x = *?(in_x)px;
        y = *?(in_y)py;
        px += step;
        py += step * N;
      }
      TYPE z[TM, TN, TB] = sum;
      TYPE *pz[TM, TN, TB] = Z + (i[:, newaxis, newaxis] * N + j[newaxis, :, newaxis]);
      *?(is_row[:, newaxis, newaxis] && is_column[newaxis, :, newaxis])pz = z;
    })",
                     {{"TYPE", "float"}, {"TM", "16"}, {"TN", "16"}, {"TK", "8"}, {"TB", "1"}});
  const int m = 13, n = 11, k = 32;
  std::vector<double> a = numbers(m * k), b = numbers(k * n), c(m * n);
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++)
      for (int l = 0; l < k; l++)
        c[size_t(i * n + j)] += a[size_t(i * k + l)] * b[size_t(l * n + j)];
  kernel.add(Elem::f32, a);
  kernel.add(Elem::f32, b);
  int result = kernel.add_unwritten(Elem::f32, c.size());
  for (int value : {m, n, k, 8, 8})
    kernel.add(value);
  kernel.must_give(result, c);
}

TEST_CASE("old kernels: increment tables in constant memory") {
  const std::string source = R"(
    char __constant__ *columns = calloc(4 * STEPS * TK);
    char __constant__ *rows = calloc(4 * STEPS * TK);
    __global__ void contract(TYPE *X __noalias __readonly __aligned(16), TYPE *Y __noalias __readonly,
                             TYPE *Z, int ldz __multipleof(8)) {
      int i[TM] = get_program_id(0) * TM + 0 ... TM;
      int j[TN] = 0 ... TN;
      int l[TK] = 0 ... TK;
      int __constant__ *column[TK] = (int __constant__ *)columns + l;
      int __constant__ *row[TK] = (int __constant__ *)rows + l;
      TYPE *px[TM, TK] = X + i[:, newaxis] + (*column)[newaxis, :];
      TYPE *py[TK, TN] = Y + (*row)[:, newaxis] + j[newaxis, :];
      float sum[TM, TN] = 0;
      for (int left = STEPS; left > 0; left -= 1) {
        TYPE x[TM, TK] = *px;
        TYPE y[TK, TN] = *py;
        sum += x @ y;
        column += TK;
        row += TK;
        bool more[TK] = left > 1;
        px = X + i[:, newaxis] + (more ? *column : 0)[newaxis, :];
        py = Y + (more ? *row : 0)[:, newaxis] + j[newaxis, :];
      }
      *(Z + i[:, newaxis] * ldz + j[newaxis, :]) = sum;
    })";
  SmallKernel kernel(source,
                     {{"TYPE", "half"}, {"TM", "16"}, {"TN", "16"}, {"TK", "16"}, {"STEPS", "2"}});
  const int m = 32, n = 16, k = 32;
  std::vector<double> a = numbers(m * k), b = numbers(n * k), c(m * n);
  std::vector<double> a_bytes, b_bytes;
  auto add_int = [](std::vector<double> &bytes, int value) {
    for (int i = 0; i < 4; i++)
      bytes.push_back(double(int8_t(value >> 8 * i)));
  };
  for (int l = 0; l < k; l++) { // column l of A is column 5 l modulo 32, row l of B row l xor 3
    add_int(a_bytes, l * 5 % k * m);
    add_int(b_bytes, (l ^ 3) * n);
    for (int i = 0; i < m; i++)
      for (int j = 0; j < n; j++)
        c[size_t(i * n + j)] += a[size_t(l * 5 % k * m + i)] * b[size_t((l ^ 3) * n + j)];
  }
  kernel.fill("columns", a_bytes);
  kernel.fill("rows", b_bytes);
  kernel.set_grid(2);
  kernel.add(Elem::f16, a);
  kernel.add(Elem::f16, b);
  int result = kernel.add_unwritten(Elem::f16, c.size());
  kernel.add(n);
  kernel.must_give(result, c);
}

TEST_CASE("old kernels: promoted shapes, full reduction") {
  SmallKernel kernel(R"(
    __global__ void shapes(float * X, float * Y, float * Z) {
      int r16[16] = 0 ... 16, r32[32] = 0 ... 32;
      float a[16] = *(X + r16);
      float b[32, 16] = *(X + r32[:, newaxis] + r16[newaxis, :]);
      float c[16, 1] = (*(X + r16))[:, newaxis];
      float d[32, 16] = a + b;
      float e[16, 16] = a + c;
      int columns[16, 32] = r32[newaxis, :];
      float f[TM * TN] = (float[TM * TN])d;
      *Y = f[+];
      *(Y + 1) = e[max, max] + columns[+, +];
      *(Z + r16[:, newaxis] * 16 + r16[newaxis, :]) = e;
    })",
                     {{"TM", "32"}, {"TN", "16"}});
  std::vector<double> x = numbers(64), z;
  double sum = 0, largest = -100;
  for (size_t i = 0; i < 32; i++)
    for (size_t j = 0; j < 16; j++)
      sum += x[j] + x[i + j];
  for (size_t i = 0; i < 16; i++)
    for (size_t j = 0; j < 16; j++) {
      z.push_back(x[i] + x[j]);
      largest = std::max(largest, z.back());
    }
  kernel.add(Elem::f32, x);
  int y = kernel.add_unwritten(Elem::f32, 2), tile = kernel.add_unwritten(Elem::f32, 256);
  kernel.must_give(y, {sum, largest + 16 * 496});
  kernel.must_give(tile, z);
}
