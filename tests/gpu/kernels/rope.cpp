// Rotary position embeddings: both orders of pairs, positions, strides, in place, and the inverse.

#include "rows.h"

#include <shipped_rope.hpp>

namespace {

using namespace device_tests;
namespace kernels = shipped_rope;
using kernels::ORDER;

struct Shape {
  int tokens, heads, pairs, gap; // gap: elements after the pairs of a head, and after a token
  bool in_place = false, joined = false, with_positions = true;
};

template <typename T, ORDER order> void rotate(const Shape &shape) {
  auto [tokens, heads, pairs, gap, in_place, joined, with_positions] = shape;
  constexpr int table_rows = 11;
  int head = 2 * pairs + gap, row = heads * head + gap;
  auto first = [&](int d) { return order == ORDER::halves ? d : 2 * d; };
  const int apart = order == ORDER::halves ? pairs : 1;

  Rows<T> x(tokens, heads * head, gap, draw<float>);
  Rows<T> cosines(table_rows, joined ? 2 * pairs : pairs, 3), sines(table_rows, pairs, 3);
  auto angle = [](int position, int d) { return position * std::pow(0.7, d) + 0.1; };
  cosines.set([&](int p, int d) {
    return d < pairs ? std::cos(angle(p, d)) : std::sin(angle(p, d - pairs));
  });
  sines.set([&](int p, int d) { return std::sin(angle(p, d)); });
  auto sine = [&](int p, int d) { return joined ? cosines.at(p, pairs + d) : sines.at(p, d); };
  Array<int> positions{size_t(tokens)};
  for (int t = 0; t < tokens; t++)
    positions[size_t(t)] = with_positions ? (t * 7 + 3) % table_rows : t;
  positions.write();

  for (bool inverse : {false, true})
    for (const auto &tile : kernels::rope<T, order>::variants()) {
      Rows<T> given(tokens, heads * head, gap), y(tokens, heads * head, gap);
      given.set([&](int t, int i) { return x.at(t, i); });
      Rows<T> &result = in_place ? given : y;
      std::string problem = outcome(
          kernels::rope<T, order>::launch({},
                                          {.x = given.data(),
                                           .positions = with_positions ? positions.data() : nullptr,
                                           .cosines = cosines.data(),
                                           .sines = joined ? cosines.data() + pairs : sines.data(),
                                           .y = result.data(),
                                           .inverse = inverse,
                                           .tokens = tokens,
                                           .heads = heads,
                                           .pairs = pairs,
                                           .x_token = row,
                                           .x_head = head,
                                           .y_token = row,
                                           .y_head = head,
                                           .ldt = cosines.ld},
                                          tile));
      Expected expected(result.size());
      for (int t = 0; t < tokens; t++)
        for (int i = 0; in_place && i < heads * head; i++) // the gaps keep their elements
          expected.set(x.index(t, i), x.at(t, i));
      for (int t = 0; t < tokens; t++)
        for (int h = 0; h < heads; h++)
          for (int d = 0; d < pairs; d++) {
            int p = positions[size_t(t)], at = h * head + first(d);
            double a = x.at(t, at), b = x.at(t, at + apart);
            double c = cosines.at(p, d), s = inverse ? -sine(p, d) : sine(p, d);
            expected.set(x.index(t, at), a * c - b * s);
            expected.set(x.index(t, at + apart), a * s + b * c);
          }
      if (problem.empty()) // terms may cancel
        problem = compare(result, expected, rounding<T>(), 1e-6);
      check(text("rope<%s, %s> TH=%d TD=%d %d x %d x %d pairs, gap %d%s%s%s%s", name_of<T>(),
                 order == ORDER::halves ? "halves" : "interleaved", tile.TH, tile.TD, tokens, heads,
                 pairs, gap, in_place ? " in place" : "", joined ? " joined" : "",
                 with_positions ? "" : " in order", inverse ? " inverse" : ""),
            problem);
    }
}

template <typename T, ORDER order> void nothing() {
  for (auto [tokens, heads, pairs] : {std::tuple(0, 2, 8), {2, 0, 8}, {2, 2, 0}})
    check_nothing<T>(text("rope of %d x %d x %d", tokens, heads, pairs),
                     [&, tokens = tokens, heads = heads, pairs = pairs](T *y) {
                       return kernels::rope<T, order>::launch({}, {.x = y,
                                                                   .cosines = y,
                                                                   .sines = y,
                                                                   .y = y,
                                                                   .tokens = tokens,
                                                                   .heads = heads,
                                                                   .pairs = pairs,
                                                                   .ldt = 0});
                     });
}

template <typename T> void ropes() {
  nothing<T, ORDER::halves>();
  nothing<T, ORDER::interleaved>();
  for (const Shape &shape : {Shape{3, 5, 8, 0},
                             {2, 17, 64, 16},
                             {2, 1, 72, 8, true},
                             {7, 4, 32, 0, true, true},
                             {5, 3, 16, 8, false, true, false}}) {
    rotate<T, ORDER::halves>(shape);
    rotate<T, ORDER::interleaved>(shape);
  }
  rotate<T, ORDER::halves>({3, 5, 7, 3});
  rotate<T, ORDER::halves>({1, 1, 1, 0, true});
  if (!emulated()) {
    rotate<T, ORDER::halves>({4099, 32, 64, 0});
    rotate<T, ORDER::interleaved>({4099, 32, 64, 0});
  }
}

void test() {
  ropes<tritonc::half>();
  ropes<tritonc::bfloat16>();
  ropes<float>();
}

const KernelTest rope("rope", test);

} // namespace
