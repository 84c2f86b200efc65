// The generator's outermost level, variables, and shapes. See generate.h and generator.h.
//
// Tested by tests/random_kernels/generate_test.cpp.

#include "random_kernels/generate.h"

#include "random_kernels/generator.h"

#include <algorithm>

namespace tritonc::random {
namespace {

// Max cost of a kernel, as `evaluate` counts it, per unit of the policy's work. The cost is limited
// because a test interprets thousands of kernels dozens of times each.
constexpr double cost_of_work = 7;

} // namespace

Generator::Generator(uint64_t seed) : draw_(seed), policy_(draw_policy(seed, draw_)) {
  kernel_.data_seed = draw_.bits() >> 16;
  for (int &extent : kernel_.grid)
    extent = draw_.chance(45) ? int(draw_.between(2, 3)) : 1;
  if (draw_.chance(70))
    kernel_.grid[2] = 1;
  if (policy_.largest_tile > 4096)
    kernel_.grid = {int(draw_.between(1, 2)), 1, 1};
  if (policy_.whole) // sometimes more programs than SMs
    kernel_.grid = {int(draw_.between(1, 3)), int(draw_.between(1, 2)), 1};
  if (policy_.rows) {
    bool has_planes = draw_.chance(20);
    kernel_.grid = {int(draw_.between(1, 9)), has_planes ? int(draw_.between(2, 3)) : 1, 1};
  }
  kernel_.tf32 = draw_.chance(25);
  int count = int(draw_.between(1, 3));
  for (int i = 0; i < count; i++)
    shapes_.push_back(draw_shape());
}

Kernel Generator::run() {
  kernel_.body = collect([&] {
    if (policy_.rows)
      return row_kernel();
    statements(policy_.statements, policy_.nesting);
    store_results();
  });
  return std::move(kernel_);
}

// --- Variables. ----------------------------------------------------------------------------------

int Generator::declare_new(const char *stem, Type type, Known known) {
  int variable = kernel_.add_variable(stem + std::to_string(kernel_.variables.size()), type);
  known.loops = int(loops_.size());
  known_.resize(kernel_.variables.size());
  known_[size_t(variable)] = known;
  visible_.push_back(variable);
  return variable;
}

// Parameters are visible everywhere, so they come first.
int Generator::new_parameter(const char *stem, Type type, Parameter parameter, Known known) {
  int variable = declare_new(stem, std::move(type), known);
  known_[size_t(variable)].loops = 0;
  visible_.pop_back();
  visible_.insert(visible_.begin(), variable);
  parameter.variable = variable;
  // cuMemAlloc aligns buffers to 256 bytes.
  if (parameter.role != Parameter::Role::number && draw_.chance(12))
    parameter.aligned =
        std::max(bytes_of(kernel_.type_of(variable).scalar), draw_.pick({2, 4, 8, 16, 32, 128}));
  kernel_.parameters.push_back(parameter);
  return variable;
}

std::vector<Stmt> Generator::collect(const std::function<void()> &fill) {
  std::vector<Stmt> list;
  std::vector<int> outside = visible_;
  lists_.push_back(&list);
  fill();
  lists_.pop_back();
  // Keep parameters that were added meanwhile.
  std::vector<int> kept;
  for (int variable : visible_) {
    auto is = [&](const Parameter &parameter) { return parameter.variable == variable; };
    bool is_parameter = std::any_of(kernel_.parameters.begin(), kernel_.parameters.end(), is);
    if (is_parameter || std::find(outside.begin(), outside.end(), variable) != outside.end())
      kept.push_back(variable);
  }
  visible_ = std::move(kept);
  return list;
}

std::vector<int>
Generator::visible(const std::function<bool(const Variable &, const Known &)> &wanted) {
  std::vector<int> found;
  for (int variable : visible_)
    if (wanted(kernel_.variables[size_t(variable)], known(variable)))
      found.push_back(variable);
  return found;
}

// Declares a variable that always holds `value`.
int Generator::declare_value(const char *stem, Type type, Made value) {
  int variable = declare_new(stem, std::move(type), {.range = value.range, .is_fixed = true});
  emit(declare(variable, std::move(value.expr)));
  return variable;
}

// --- Shapes and cost. ----------------------------------------------------------------------------

Shape Generator::draw_shape() {
  if (!shapes_.empty() && draw_.chance(75)) {
    Shape shape = draw_.pick(shapes_);
    if (!shape.empty() && draw_.chance(15))
      shape.erase(shape.begin() + int64_t(draw_.index(shape.size())));
    else if (!shape.empty() && draw_.chance(10))
      shape[draw_.index(shape.size())] = 1;
    return shape;
  }
  Shape shape(size_t(draw_.pick(policy_.ranks)));
  for (int64_t &extent : shape)
    extent = draw_.pick(policy_.extents);
  while (elements_of(shape) > policy_.largest_tile)
    *std::max_element(shape.begin(), shape.end()) /= 2;
  return shape;
}

double Generator::iterations() const {
  double product = calls_ * kernel_.grid[0] * kernel_.grid[1] * kernel_.grid[2];
  for (const Loop &loop : loops_)
    product *= std::max(loop.iterations, 1.0);
  return product;
}

// Whether the kernel may compute `elements` more elements here; if so, adds them to the work.
bool Generator::afford(int64_t elements) {
  double cost = double(elements) * iterations();
  if (work_ + cost > policy_.work)
    return false;
  work_ += cost;
  return true;
}

// Stores most results, so that they are not dead code.
void Generator::store_results() {
  auto is_result = [](const Variable &variable, const Known &known) {
    return !variable.type.pointer && !known.is_index && !variable.name.starts_with("n");
  };
  std::vector<int> results = visible(is_result);
  while (results.size() > 5)
    results.erase(results.begin() + int64_t(draw_.index(results.size())));
  for (int result : results)
    if (draw_.chance(85) && (afford(3 * elements_of(type(result).shape)) || draw_.chance(40)))
      store_value(of(result), type(result));
  auto is_written = [](const Parameter &p) { return p.role > Parameter::Role::input; };
  if (std::none_of(kernel_.parameters.begin(), kernel_.parameters.end(), is_written)) {
    Type type{draw_scalar(), false, draw_shape()};
    store_value(convertible(type, policy_.depth), type);
  }
}

// --- Valid kernels. ------------------------------------------------------------------------------

Generated generate(uint64_t seed) {
  // The generator's kernels are almost always valid. After an invalid one, it tries again.
  for (uint64_t attempt = 0;; attempt++) {
    Generator generator(mixed(seed) + attempt);
    Generated made{generator.run(), {}, generator.policy().name};
    if (!settle(made.kernel))
      continue;
    int64_t max_cost = int64_t(cost_of_work * generator.policy().work);
    made.evaluation = evaluate(made.kernel, max_cost);
    bool is_bitwise = generator.policy().may_round || made.evaluation.is_exact();
    if (made.evaluation.invalid.empty() && is_bitwise)
      return made;
  }
}

} // namespace tritonc::random
