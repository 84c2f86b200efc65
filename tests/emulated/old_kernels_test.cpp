// Kernels in the ways of the old compiler's users: everything in macros that -D defines, prefetches
// under masks, tables of pointer increments, locks around sums. Each must compile as it stands, and
// give what the same in plain C++ gives.

#include "emulated/small_kernel.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

using namespace tritonc;
using namespace tritonc::test;
using tritonc::ir::Elem;

namespace {

// Small integers: sums and products of them are exact.
std::vector<double> numbers(size_t count, int modulus = 7) {
  std::vector<double> values;
  for (size_t i = 0; i < count; i++)
    values.push_back(double(int(i * 5 % 23 % size_t(modulus)) - modulus / 2));
  return values;
}

std::string text(int number) { return std::to_string(number); }

} // namespace

TEST_CASE("copies of tensors of three axes, from one order to another") {
  const std::string source = R"(
    void copy3d(TYPE * X __noalias __readonly __aligned(16), TYPE * Y __noalias __writeonly __aligned(16),
                int S0 __multipleof(8) __retune, int S1 __multipleof(8) __retune,
                int S2 __multipleof(8) __retune) {
      int rs0[TS0] = get_program_id(0) * TS0 + 0 ... TS0;
      int rs1[TS1] = get_program_id(1) * TS1 + 0 ... TS1;
      int rs2[TS2] = get_program_id(2) * TS2 + 0 ... TS2;
      TYPE* px[TS0, TS1, TS2] = X + rs0[:, newaxis, newaxis] * STRIDE_XS0
                                  + rs1[newaxis, :, newaxis] * STRIDE_XS1
                                  + rs2[newaxis, newaxis, :] * STRIDE_XS2;
      TYPE* py[TS0, TS1, TS2] = Y + rs0[:, newaxis, newaxis] * STRIDE_YS0
                                  + rs1[newaxis, :, newaxis] * STRIDE_YS1
                                  + rs2[newaxis, newaxis, :] * STRIDE_YS2;
      *py = *px;
    })";
  const int extents[3] = {8, 16, 8};
  const char *parameters[3] = {"S0", "S1", "S2"};
  // Axes from the fastest on.
  const int orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 0, 2}};
  for (const auto &from : orders)
    for (const auto &to : orders) {
      std::vector<Define> defines = {{"TYPE", "half"}, {"TS0", "8"}, {"TS1", "8"}, {"TS2", "4"}};
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
      define("STRIDE_XS", from, x_strides);
      define("STRIDE_YS", to, y_strides);
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

TEST_CASE("copies of one axis, and of two with a mask on both sides") {
  SmallKernel one("void copy1d(TYPE *X __noalias, TYPE *Y __noalias, int S0 __retune) {\n"
                  "  int pid0 = get_program_id(0);\n  int rs0[TS0] = pid0 * TS0 + 0 ... TS0;\n"
                  "  TYPE *px[TS0] = X + rs0;\n  TYPE *py[TS0] = Y + rs0;\n  *py = *px;\n}",
                  {{"TYPE", "float"}, {"TS0", "128"}});
  one.add(Elem::f32, numbers(256));
  int copied = one.add_unwritten(Elem::f32, 256);
  one.add(256);
  one.set_grid(2);
  one.must_give(copied, numbers(256));

  SmallKernel two(R"(
    void copy2d(TYPE * X __noalias __readonly, TYPE * Y __noalias __writeonly, int S0, int S1) {
      int rs0[TS0] = get_program_id(0) * TS0 + 0 ... TS0;
      int rs1[TS1] = get_program_id(1) * TS1 + 0 ... TS1;
      bool in_bounds[TS0, TS1] = rs0[:, newaxis] < S0 && rs1[newaxis, :] < S1;
      TYPE* px[TS0, TS1] = X + rs0[:, newaxis] * STRIDE_XS0 + rs1[newaxis, :] * STRIDE_XS1;
      TYPE* py[TS0, TS1] = Y + rs0[:, newaxis] * STRIDE_YS0 + rs1[newaxis, :] * STRIDE_YS1;
      *?(in_bounds)py = *?(in_bounds)px;
    })",
                  {{"TYPE", "float"},
                   {"TS0", "8"},
                   {"TS1", "16"},
                   {"STRIDE_XS0", "1"},
                   {"STRIDE_XS1", "S0"},
                   {"STRIDE_YS0", "S1"},
                   {"STRIDE_YS1", "1"}});
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

TEST_CASE("reductions, whose axis and operator are a macro") {
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

TEST_CASE("a product whose layouts are macros, prefetched under a condition cast to a tile") {
  const std::string source = R"(
    #if AT == 1
    #define USEA ^a
    #define STRIDE_AK 1
    #define STRIDE_AM lda
    #define BROADCAST_AK :, newaxis
    #define BROADCAST_AM newaxis, :
    #define SHAPE_A TK, TM
    #else
    #define USEA a
    #define STRIDE_AK lda
    #define STRIDE_AM 1
    #define BROADCAST_AK newaxis, :
    #define BROADCAST_AM :, newaxis
    #define SHAPE_A TM, TK
    #endif
    void dot(TYPE * A, TYPE * B, TYPE * C, int M __retune, int N __retune, int K __retune,
             int lda __multipleof(8), int ldb __multipleof(8), int ldc, int *locks) {
      int ridx = get_program_id(0), ridy = get_program_id(1), ridz = get_program_id(2);
      int gridx = M / TM, gridy = N / TN;
      int rid = ridx + ridy * gridx;
      ridx = rid / gridy;
      ridy = rid % gridy;
      int rm[TM] = ridx * TM + 0 ... TM;
      int rn[TN] = ridy * TN + 0 ... TN;
      K = K / TZ;
      int rk[TK] = ridz * K + 0 ... TK;
      float c[TM, TN] = 0;
      TYPE* pa[SHAPE_A] = A + rk[BROADCAST_AK] * STRIDE_AK + rm[BROADCAST_AM] * STRIDE_AM;
      TYPE* pb[TK, TN] = B + rk[:, newaxis] + rn[newaxis, :] * ldb;
      TYPE a[SHAPE_A] = *pa;
      TYPE b[TK, TN] = *pb;
      for(int k = K; k > 0; k-= TK){
        c += USEA @ b;
        pa = pa + TK * STRIDE_AK;
        pb = pb + TK;
        bool checka[SHAPE_A] = k > TK;
        a = ((bool[SHAPE_A])(k > TK)) ? *pa : 0;
        b = *?((bool[TK, TN])(k > TK))pb;
      }
      int rxc[TM] = ridx * TM + 0 ... TM;
      int ryc[TN] = ridy * TN + 0 ... TN;
      TYPE* pc[TM, TN] = C + rxc[:, newaxis] + ryc[newaxis, :] * ldc;
      bool checkc[TM, TN] = rxc[:, newaxis] < M && ryc[newaxis, :] < N;
    #if (TZ == 1)
      *?(checkc) pc = c;
    #else
      int *plock = locks + rid;
      int *pcount = plock + get_num_programs(0) * get_num_programs(1);
      for(int repeat = 1; repeat == 1; repeat = atomic_cas(plock, 0, 1));
      int count = *pcount;
      if(count == 0)
        *?(checkc) pc = c;
      else
        *?(checkc) pc = c + *?(checkc)pc;
      atomic_xchg(pcount, (count + 1) % TZ);
      atomic_xchg(plock, 0);
    #endif
    })";
  const int m = 32, n = 16, k = 64;
  for (bool transposed : {false, true})
    for (int parts : {1, 2}) {
      CAPTURE(transposed);
      CAPTURE(parts);
      SmallKernel kernel(source, {{"TYPE", "half"},
                                  {"AT", transposed ? "1" : "0"},
                                  {"TM", "16"},
                                  {"TN", "16"},
                                  {"TK", "16"},
                                  {"TZ", text(parts)}});
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

TEST_CASE("a convolution as a product, with a table of pointer increments") {
  const std::string source = R"(
    __global__ void conv(TYPE *A __noalias __readonly, TYPE *B __noalias __readonly, TYPE *C __noalias,
                         float alpha, int M, int N, int K, int pad_h, int pad_w, int stride_h, int stride_w,
                         int *ADELTA, int lda_z, int lda_ci, int lda_h, int ldb_ci, int ldb_r, int ldb_s,
                         int ldc_z, int ldc_co, int ldc_p) {
      int rm[TM] = get_program_id(0) * TM + 0 ... TM;
      int rn[TN] = get_program_id(1) * TN + 0 ... TN;
      int rk[TK] = 0 ... TK;
      int rq[TM] = rm % QQ, rzp[TM] = rm / QQ;
      int rp[TM] = rzp % PP, rz[TM] = rzp / PP;
      int rs[TK] = rk % SS, rcir[TK] = rk / SS;
      int rr[TK] = rcir % RR, rci[TK] = rcir / RR;
      int rh_0[TM] = rp * stride_h - pad_h;
      int rw_0[TM] = rq * stride_w - pad_w;
      int rh[TM, TK] = rh_0[:, newaxis] + rr[newaxis, :];
      int rw[TM, TK] = rw_0[:, newaxis] + rs[newaxis, :];
      int offa[TM, TK] = rz[:, newaxis] * lda_z + rci[newaxis, :] * lda_ci + rh * lda_h + rw * 1;
      TYPE *pa[TM, TK] = A + offa;
      int *padelta[TK] = ADELTA + rk;
      int offb[TK, TN] = rci[:, newaxis] * ldb_ci + rr[:, newaxis] * ldb_r + rs[:, newaxis] * ldb_s + rn[newaxis, :] * 1;
      TYPE *pb[TK, TN] = B + offb;
      bool checkam[TM, TK] = rm[:, newaxis] < M;
      bool checka[TM, TK] = checkam && rh >= 0 && rh < HH && rw >= 0 && rw < WW;
      bool checkb[TK, TN] = rk[:, newaxis] < K && rn[newaxis, :] < N;
      TYPE a[TM, TK] = checka ? *pa : 0;
      TYPE b[TK, TN] = checkb ? *pb : 0;
      float acc[TM, TN] = 0;
      for (int k = K; k > 0; k -= TK) {
        acc += a @ b;
        int adelta[TK] = *padelta;
        padelta += TK;
        pa += adelta[newaxis, :];
        rk += TK;
        rs = rk % SS;
        rcir = rk / SS;
        rr = rcir % RR;
        rh = rh_0[:, newaxis] + rr[newaxis, :];
        rw = rw_0[:, newaxis] + rs[newaxis, :];
        bool checka[TM, TK] = checkam && rk[newaxis, :] < K && rh >= 0 && rh < HH && rw >= 0 && rw < WW;
        pb += TK * ldb_s;
        bool checkb[TK, TN] = rk[:, newaxis] < K && rn[newaxis, :] < N;
        a = checka ? *pa : 0;
        b = checkb ? *pb : 0;
      }
      acc = acc * alpha;
      TYPE c[TM, TN] = acc;
      rm = get_program_id(0) * TM + 0 ... TM;
      rq = rm % QQ;
      rzp = rm / QQ;
      rp = rzp % PP;
      rz = rzp / PP;
      int offc[TM, TN] = rz[:, newaxis] * ldc_z + rn[newaxis, :] * ldc_co + rp[:, newaxis] * ldc_p + rq[:, newaxis] * 1;
      TYPE *pc[TM, TN] = C + offc;
      bool checkc[TM, TN] = rm[:, newaxis] < M && rn[newaxis, :] < N;
      *?(checkc)pc = c;
    })";
  const int z = 2, ci = 4, h = 5, w = 6, co = 7, r = 2, s = 2, pad = 1, p = h + 2 * pad - r + 1,
            q = w + 2 * pad - s + 1, m = z * p * q, k = ci * r * s, tk = 8;
  SmallKernel kernel(source, {{"TYPE", "half"},
                              {"TM", "32"},
                              {"TN", "16"},
                              {"TK", text(tk)},
                              {"HH", text(h)},
                              {"WW", text(w)},
                              {"PP", text(p)},
                              {"QQ", text(q)},
                              {"RR", text(r)},
                              {"SS", text(s)}});
  std::vector<double> a = numbers(size_t(z * ci * h * w), 5), b = numbers(size_t(k * co)),
                      c(size_t(z * co * p * q)), delta;
  auto offset = [&](int at) { return (at / (r * s)) * h * w + at / s % r * w + at % s; };
  for (int i = 0; i < k + tk; i++)
    delta.push_back(offset(i + tk) - offset(i));
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
  for (int value : {m, co, k, pad, pad, 1, 1})
    kernel.add(value);
  kernel.add(Elem::i32, delta);
  for (int value : {ci * h * w, h * w, w, r * s * co, s * co, co, co * p * q, p * q, q})
    kernel.add(value);
  kernel.set_grid((m + 31) / 32, 1);
  kernel.must_give(result, c);
}

TEST_CASE("a mask of whether there is a pointer") {
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

TEST_CASE("what is marked as only read, and stored through") {
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

TEST_CASE("transposition through ^, masked on both sides") {
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

TEST_CASE(
    "a product in groups of programs, whose sizes the source defines over those of the host") {
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

TEST_CASE("softmax, cross entropy and what a barrier is for") {
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
    __global__ void forward(TYPE* logit, TYPE* modified, long* indices, TYPE* result, int n_cols) {
      int row = get_program_id(0);
      bool check[TILE] = ((0 ... TILE) < n_cols);
      int offset[TILE] = ((0 ... TILE) < n_cols) ? (0 ... TILE) : n_cols - 1;
      TYPE* px[TILE] = logit + row * n_cols + offset;
      TYPE* write[TILE] = modified + row * n_cols + offset;
      float x[TILE] = check ? *px : -F32_INFINITY;
      float shifted[TILE] = x - x[max];
      float neg_logprob[TILE] = log((exp(shifted))[+]) - shifted;
      *?(check)write = neg_logprob;
      __debug_barrier();
      int local_ind = *(indices + row);
      *(result + row) = *(modified + (local_ind + row * n_cols));
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

TEST_CASE("a product of blocks, of which a table says where they are") {
  SmallKernel kernel(R"(
    __global__ void NAME(TYPE* A __readonly __noalias __aligned(16), TYPE* B __readonly __noalias __aligned(16),
                         TYPE* C __noalias __aligned(16), int lda __multipleof(8), int ldc __multipleof(8),
                         int* lut, int* locks, int nlocks) {
      int *header = lut + get_program_id(0) * 4;
      int offset = *(header + 0);
      int K      = *(header + 1);
      int column = *(header + 2);
      int lockid = select(TZ > 1, 1, 0);
      int *pinc   = lut + offset;
      int offka __multipleof(8) = *pinc;
      int offkb __multipleof(8) = *(pinc + 1);
      int rka[TK] = offka + 0 ... TK;
      int ram[TM] = 0 ... TM;
      int rkb[TK] = 0 ... TK;
      int rbn[TN] = 0 + (0 ... TN);
      TYPE* pa[TM, TK] = A + ram[:, newaxis] * STRIDE_AM + rka[newaxis, :] * STRIDE_AK;
      TYPE* pb[TK, TN] = B + offkb + rbn[newaxis, :] * STRIDE_BN + rkb[:, newaxis] * STRIDE_BK;
      bool checkb[TK, TN] = K > 0;
      TYPE a[TM, TK] = checkb[max, max] ? *pa : 0;
      TYPE b[TK, TN] = checkb ? *pb : 0;
      float acc[TM, TN] = 0;
      for (int k = K; k > 0; k -= 1) {
        acc += a @ b;
        pinc += 2;
        int inc_a __multipleof(8) = *pinc;
        int inc_b __multipleof(8) = *(pinc + 1);
        inc_a = inc_a * STRIDE_AK;
        pa += inc_a;
        pb += inc_b;
        bool checka[TM, TK] = k > 1;
        bool checkb[TK, TN] = k > 1;
        a = *?(checka)pa;
        b = *?(checkb)pb;
      }
      TYPE c[TM, TN] = acc;
      TYPE* pc[TM, TN] = C + ram[:, newaxis] * ldc + (column * TN + rbn)[newaxis, :];
      bool checkc[TM, TN] = 1;
      if (lockid == 0) {
        *?(checkc) pc = c;
      }
    })",
                     {{"NAME", "y_kernel"},
                      {"TYPE", "half"},
                      {"TM", "16"},
                      {"TN", "16"},
                      {"TK", "16"},
                      {"TZ", "1"},
                      {"STRIDE_AM", "lda"},
                      {"STRIDE_AK", "1"},
                      {"STRIDE_BN", "1"},
                      {"STRIDE_BK", "16"}});
  CHECK(kernel.function().name == "y_kernel");
  // Column 0 has the blocks at rows 0 and 2, column 1 that at row 1; each block by itself in
  // memory.
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

TEST_CASE("a product with a batch axis of one, split by select, as einsum wrote it") {
  SmallKernel kernel(R"(
    __global__ void einsum(TYPE * A, TYPE * B, TYPE * C, int matmul_m, int matmul_n, int matmul_k __multipleof(16),
                           int stride_a_inner, int rem_delta_a) {
      int rem_k = matmul_k % TK;
      int rm[TM] = 0 ... TM, rn[TN] = 0 ... TN, rb[TB] = 0 ... TB, rk[TK] = 0 ... TK;
      TYPE *pa[TM, TK, TB] = A + (rm[:, newaxis, newaxis] * matmul_k + rk[newaxis, :, newaxis] + rb[newaxis, newaxis, :] * 0);
      TYPE *pb[TK, TN, TB] = B + (rk[:, newaxis, newaxis] * matmul_n + rn[newaxis, :, newaxis] + rb[newaxis, newaxis, :] * 0);
      int prefetch_k = select(rem_k > 0, rem_k, TK);
      bool checkam[TM] = rm < matmul_m, checkbn[TN] = rn < matmul_n;
      bool checkk[TK] = rk < prefetch_k;
      bool checka[TM, TK, TB] = checkam[:, newaxis, newaxis] && checkk[newaxis, :, newaxis];
      bool checkb[TK, TN, TB] = checkk[:, newaxis, newaxis] && checkbn[newaxis, :, newaxis];
      TYPE a[TM, TK, TB] = checka ? *pa : 0;
      TYPE b[TK, TN, TB] = checkb ? *pb : 0;
      pa += rem_delta_a;
      pb += rem_delta_a * matmul_n;
      float acc[TM, TN, TB] = 0;
      for (int k = matmul_k; k > 0; k -= TK) {
        acc += a @ b;
        checkk = k > TK;
        checka = checkam[:, newaxis, newaxis] && checkk[newaxis, :, newaxis];
        checkb = checkk[:, newaxis, newaxis] && checkbn[newaxis, :, newaxis];
        a = *?(checka)pa;
        b = *?(checkb)pb;
        pa += stride_a_inner;
        pb += stride_a_inner * matmul_n;
      }
      TYPE c[TM, TN, TB] = acc;
      TYPE *pc[TM, TN, TB] = C + (rm[:, newaxis, newaxis] * matmul_n + rn[newaxis, :, newaxis]);
      bool checkc[TM, TN, TB] = checkam[:, newaxis, newaxis] && checkbn[newaxis, :, newaxis];
      *?(checkc)pc = c;
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

TEST_CASE("tables of pointer increments in constant memory, which the host fills as bytes") {
  const std::string source = R"(
    char __constant__* AD = calloc(4 * STEPS * TK);
    char __constant__* BD = calloc(4 * STEPS * TK);
    __global__ void contract(TYPE * A __noalias __readonly __aligned(16), TYPE * B __noalias __readonly,
                             TYPE * C, int stride_c __multipleof(8)) {
      int rm[TM] = get_program_id(0) * TM + 0 ... TM;
      int rn[TN] = 0 ... TN;
      int offadelta[TK] = 0 ... TK;
      int __constant__ *padelta[TK] = (int __constant__*)AD + offadelta;
      int __constant__ *pbdelta[TK] = (int __constant__*)BD + offadelta;
      int incda[TM, TK] = (*padelta)[newaxis, :];
      int incdb[TK, TN] = (*pbdelta)[:, newaxis];
      TYPE *pa[TM, TK] = A + rm[:, newaxis] + incda;
      TYPE *pb[TK, TN] = B + rn[newaxis, :] + incdb;
      float acc[TM, TN] = 0;
      for (int k = STEPS; k > 0; k -= 1) {
        TYPE a[TM, TK] = *pa;
        TYPE b[TK, TN] = *pb;
        acc += a @ b;
        padelta += TK;
        pbdelta += TK;
        bool check[TK] = k > 1;
        incda = (check ? *padelta : 0)[newaxis, :];
        incdb = (check ? *pbdelta : 0)[:, newaxis];
        pa = A + rm[:, newaxis] + incda;
        pb = B + rn[newaxis, :] + incdb;
      }
      *(C + rm[:, newaxis] * stride_c + rn[newaxis, :]) = acc;
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
  kernel.fill("AD", a_bytes);
  kernel.fill("BD", b_bytes);
  kernel.set_grid(2);
  kernel.add(Elem::f16, a);
  kernel.add(Elem::f16, b);
  int result = kernel.add_unwritten(Elem::f16, c.size());
  kernel.add(n);
  kernel.must_give(result, c);
}

TEST_CASE("shapes that are promoted, and flattened for a reduction of everything") {
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
