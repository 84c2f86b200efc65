// Defines the policies and draws one. See policy.h.

#include "random_kernels/policy.h"

namespace tritonc::random {
namespace {

Policy everything() { return {.name = "everything"}; }

Policy products() {
  Policy policy{.name = "products"};
  policy.products = 40;
  policy.dots = 25;
  policy.declarations = 10;
  policy.counted_loops = 4;
  policy.statements = 4;
  policy.depth = 2;
  policy.extents = {8, 16, 16, 32, 32, 64};
  policy.ranks = {1, 2, 2, 2};
  policy.scalars = {Scalar::half, Scalar::float_, Scalar::bfloat16, Scalar::int32};
  return policy;
}

// Only matmuls, each in a loop: most passes work on them.
Policy plain_products() {
  Policy policy = products();
  policy.name = "plain products";
  policy.products = 100;
  policy.declarations = policy.assignments = policy.branches = policy.other_loops = 2;
  policy.statements = 2;
  policy.depth = 1;
  policy.masks = 10;
  return policy;
}

// Tiles for eight or sixteen warps.
Policy large() {
  Policy policy = plain_products();
  policy.name = "large";
  policy.largest_tile = 16384;
  policy.work = 600'000;
  policy.extents = {64, 128};
  return policy;
}

// Matmuls for warp-specialized wgmma schedules, if no other feature prevents them.
Policy whole_products() {
  Policy policy = plain_products();
  policy.name = "whole products";
  policy.whole = true;
  policy.declarations = policy.assignments = policy.other_loops = policy.branches = 0;
  policy.stores = policy.in_place = policy.dots = 1;
  policy.odd_steps = 2;
  policy.work = 300'000;
  policy.extents = {16, 32, 64};
  return policy;
}
constexpr int percent_of_whole_products = 5;

// Kernels for the batched and split-loop schedules, if no other feature prevents them.
Policy row_kernels() {
  Policy policy{.name = "rows"};
  policy.rows = true;
  policy.work = 100'000;
  policy.loads = 35;
  policy.reductions = policy.moves = policy.gathers = policy.dots = policy.hints = 5;
  policy.depth = 2;
  policy.extents = {1, 4, 8, 16, 32};
  policy.ranks = {0, 1, 1, 2};
  policy.scalars = {Scalar::float_, Scalar::float_,   Scalar::half,    Scalar::int32,
                    Scalar::int32,  Scalar::bfloat16, Scalar::int8,    Scalar::uint8,
                    Scalar::int16,  Scalar::uint32,   Scalar::uint32,  Scalar::int64,
                    Scalar::uint64, Scalar::bool_,    Scalar::double_, Scalar::e4m3};
  return policy;
}
constexpr int percent_of_rows = 13; // of the kernels without whole products

Policy reductions() {
  Policy policy{.name = "reductions"};
  policy.reductions = 50;
  policy.statements = 6;
  policy.ranks = {1, 1, 2, 2, 3};
  return policy;
}

Policy shapes() {
  Policy policy{.name = "shapes"};
  policy.moves = 45;
  policy.odd_steps = 40;
  policy.extents = {1, 1, 2, 4, 8, 16, 32, 64, 128, 256};
  policy.ranks = {1, 2, 3, 3, 4};
  return policy;
}

Policy control() {
  Policy policy{.name = "control"};
  policy.branches = 30;
  policy.counted_loops = 25;
  policy.other_loops = 15;
  policy.nesting = 4;
  policy.statements = 6;
  policy.depth = 2;
  policy.extents = {1, 4, 16, 32};
  policy.ranks = {0, 0, 0, 1, 1, 2};
  return policy;
}

Policy memory() {
  Policy policy{.name = "memory"};
  policy.loads = 80;
  policy.gathers = 40;
  policy.odd_steps = 30;
  policy.masks = 45;
  policy.pointers = 60;
  policy.stores = 30;
  policy.in_place = 20;
  return policy;
}

Policy masks() {
  Policy policy{.name = "masks"};
  policy.masks = 90;
  policy.loads = 70;
  policy.stores = 20;
  return policy;
}

Policy integers() {
  Policy policy{.name = "integers"};
  policy.depth = 5;
  policy.scalars = {Scalar::int8,  Scalar::uint8,  Scalar::int16,  Scalar::uint16,
                    Scalar::int32, Scalar::int32,  Scalar::uint32, Scalar::uint32,
                    Scalar::int64, Scalar::uint64, Scalar::bool_};
  return policy;
}

Policy rounded() {
  Policy policy{.name = "rounded"};
  policy.may_round = true;
  policy.products = 8;
  policy.dots = 15;
  policy.scalars = {Scalar::float_,   Scalar::float_,  Scalar::half,
                    Scalar::bfloat16, Scalar::double_, Scalar::int32};
  return policy;
}

// Features that the other policies omit.

Policy positions() {
  Policy policy{.name = "positions"};
  policy.positions = 45;
  policy.random_numbers = 8;
  policy.functions = 10;
  policy.constants = 20;
  policy.ranks = {1, 1, 2, 2, 3};
  policy.extents = {1, 2, 4, 8, 16, 32, 64, 128};
  return policy;
}

Policy atomics() {
  Policy policy{.name = "atomics"};
  policy.atomics = 40;
  policy.checks = 10;
  policy.constants = 10;
  policy.hints = 20;
  policy.scalars = {Scalar::int32,  Scalar::uint32,  Scalar::int64, Scalar::uint64,
                    Scalar::float_, Scalar::double_, Scalar::half,  Scalar::bfloat16};
  return policy;
}

Policy calls() {
  Policy policy = control();
  policy.name = "calls";
  policy.calls = 30;
  policy.functions = 5;
  policy.checks = 10;
  policy.atomics = 3;
  policy.ranks = {0, 0, 1, 1, 2};
  return policy;
}

Policy narrow() {
  Policy policy{.name = "narrow"};
  policy.dots = 15;
  policy.other_dots = true;
  policy.positions = 10;
  policy.hints = 30;
  policy.constants = 15;
  policy.extents = {4, 8, 16, 16, 32, 32};
  policy.ranks = {1, 2, 2, 2, 3};
  policy.scalars = {Scalar::e4m3, Scalar::e5m2,  Scalar::float_, Scalar::int8,    Scalar::uint8,
                    Scalar::half, Scalar::int32, Scalar::int16,  Scalar::double_, Scalar::uint32};
  return policy;
}

Policy functions() {
  Policy policy = rounded();
  policy.name = "functions";
  policy.functions = 30;
  policy.products = policy.dots = 2;
  policy.scalars = {Scalar::float_, Scalar::float_, Scalar::double_, Scalar::half};
  return policy;
}

Policy sundry() {
  Policy policy = everything();
  policy.name = "sundry";
  policy.positions = 10;
  policy.random_numbers = 10;
  policy.calls = 8;
  policy.functions = 8;
  policy.constants = 30;
  policy.hints = 30;
  policy.atomics = 6;
  policy.checks = 6;
  policy.dots = 10;
  policy.other_dots = true;
  policy.scalars.insert(policy.scalars.end(), {Scalar::e4m3, Scalar::e5m2});
  return policy;
}
constexpr int percent_of_newer_ones = 40; // of the policies other than matmuls

} // namespace

Policy draw_policy(uint64_t seed, Draw &draw) {
  using Make = Policy (*)();
  struct Row {
    Make make;
    int weight;
  };
  static constexpr Row rows[] = {{everything, 20}, {products, 14},   {plain_products, 12},
                                 {large, 2},       {reductions, 10}, {shapes, 10},
                                 {control, 10},    {memory, 10},     {masks, 8},
                                 {integers, 8},    {rounded, 8}};
  std::vector<int> weights;
  for (const Row &row : rows)
    weights.push_back(row.weight);
  Policy policy = rows[draw.weighted(weights)].make();
  // Drawn from separate streams, so that they do not change the other kernels.
  if (Draw(~seed).chance(percent_of_whole_products))
    policy = whole_products();
  else if (Draw(~seed ^ 0x20175).chance(percent_of_rows))
    policy = row_kernels();
  else if (Draw apart(~seed ^ 0x5eed); policy.products == 0 && apart.chance(percent_of_newer_ones))
    policy = apart.pick({positions, atomics, calls, narrow, functions, sundry})();
  for (int *percentage : {&policy.masks, &policy.gathers, &policy.moves, &policy.odd_steps})
    if (draw.chance(30))
      *percentage = 0;
  policy.statements = policy.whole || policy.rows ? 1 : int(draw.between(1, 2 * policy.statements));
  return policy;
}

} // namespace tritonc::random
