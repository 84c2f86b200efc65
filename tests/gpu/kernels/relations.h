// Common parts of metamorphic.cpp: launches of kernels with matrices on the host, and relations
// between their results.

#pragma once

#include "kernel_test.h"

#include <tritonc/hooks.hpp>

#include <map>
#include <memory>
#include <numeric>

namespace device_tests {

// --- Launches and their results ------------------------------------------------------------------

/// One row per item.
struct Results {
  std::string problem, schedule;
  Matrix items;
};

inline std::string chosen_schedule; // of the last launch

/// A launch whose arguments are matrices on the host.
template <typename Kernel> class Launch {
public:
  typename Kernel::args arguments = {};

  template <typename T> void read(const T *&argument, const Matrix &values) {
    argument = stored<T>(values).data();
  }
  /// A result: one row per item, one after the other.
  template <typename T> void write(T *&argument, int items, int columns) {
    double unset = std::is_integral_v<T> ? 99 : NAN;
    update(argument, Matrix{items, columns, std::vector<double>(size_t(items) * columns, unset)});
  }
  /// A result that is also an input.
  template <typename T> void update(T *&argument, const Matrix &values) {
    Array<T> &array = stored<T>(values);
    argument = array.data();
    results_.push_back([&array, columns = values.columns](Matrix &items) {
      array.read();
      Matrix wider = zero_matrix(int(array.size()) / std::max(columns, 1), items.columns + columns);
      for (int row = 0; row < wider.rows; row++) {
        for (int column = 0; column < items.columns; column++)
          wider.at(row, column) = items.at(row, column);
        for (int column = 0; column < columns; column++)
          wider.at(row, items.columns + column) =
              array.at(size_t(row) * size_t(columns) + size_t(column));
      }
      items = wider;
    });
  }

  Results run(const typename Kernel::params &tile) {
    typename Kernel::prepared ready;
    tritonc::status status = Kernel::prepare({}, arguments, tile, ready);
    Results results = {outcome(status.ok() ? ready.launch({}) : status), chosen_schedule, {}};
    for (const auto &add : results_)
      add(results.items);
    return results;
  }

private:
  template <typename T> Array<T> &stored(const Matrix &values) {
    auto array = std::make_shared<Array<T>>(values.elements.size());
    size_t next = 0;
    array->fill([&] { return from_double<T>(values.elements[next++]); });
    memory_.push_back(array);
    return *array;
  }

  std::vector<std::shared_ptr<void>> memory_;
  std::vector<std::function<void(Matrix &)>> results_;
};

// --- Relations -----------------------------------------------------------------------------------

struct Relation {
  std::string name;
  std::vector<int> from = {}; // item i is item from[i] of the first launch; empty: item i
  double times = 1;           // factor of the results
  double smallest = 0;        // smaller results may differ
  bool moves = true;          // elements change their places
};

/// The number of comparisons of each relation.
inline std::map<std::string, int> comparisons;

/// Whether the order of additions depends on the sizes, or on the place in C.
inline bool divides_work(const std::string &schedule) {
  for (const char *part : {"split-K", "stream-K"})
    if (schedule.find(part) != std::string::npos)
      return true;
  return false;
}

inline void check_relation(const std::string &what, const Relation &relation, const Results &first,
                           const Results &second) {
  int &count = comparisons[relation.name];
  std::string problem = first.problem.empty() ? second.problem : first.problem;
  if (problem.empty() &&
      (first.schedule != second.schedule || (relation.moves && divides_work(first.schedule))))
    return;
  count++;
  for (int i = 0; i < second.items.rows; i++)
    for (int j = 0; j < second.items.columns && problem.empty(); j++) {
      double before = first.items.at(relation.from.empty() ? i : relation.from[size_t(i)], j),
             right = before * relation.times, found = second.items.at(i, j);
      bool is_small = std::min(std::fabs(before), std::fabs(right)) < relation.smallest;
      if (!is_small && !same_bits(found, right) && !(std::isnan(found) && std::isnan(right)))
        problem = text("element %d of item %d is %.17g, not %.17g", j, i, found, right);
    }
  check(what + ": " + relation.name, problem);
}

/// launch(items) returns the results of these items. Parts have a multiple of `unit` items.
template <typename Launch>
void check_items(const std::string &what, const std::string &name, int count, int unit,
                 Launch launch) {
  std::vector<int> all(static_cast<size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  std::vector<int> mixed = all;
  std::shuffle(mixed.begin(), mixed.end(), generator);
  auto cut = all.begin() + (count / unit + 1) / 2 * unit;
  Results first = launch(all);
  check_relation(what, {.name = name + ", again", .moves = false}, first, launch(all));
  for (const auto &[how, items] : std::initializer_list<std::pair<const char *, std::vector<int>>>{
           {", mixed", mixed},
           {", first part", {all.begin(), cut}},
           {", second part", {cut, all.end()}},
           {", one", {all.end() - unit, all.end()}}})
    if (!items.empty() && !divides_work(first.schedule))
      check_relation(what, {.name = name + how, .from = items}, first, launch(items));
}

// --- Matrices ------------------------------------------------------------------------------------

inline Matrix selected(const Matrix &matrix, const std::vector<int> &rows) {
  Matrix result = zero_matrix(int(rows.size()), matrix.columns);
  for (int row = 0; row < result.rows; row++)
    for (int column = 0; column < matrix.columns; column++)
      result.at(row, column) = matrix.at(rows[size_t(row)], column);
  return result;
}

/// times * matrix + plus
inline Matrix changed(Matrix matrix, double times, double plus = 0) {
  for (double &element : matrix.elements)
    element = element * times + plus;
  return matrix;
}

/// The first rows and columns. The rest is 0 if the result is larger.
inline Matrix resized(const Matrix &matrix, int rows, int columns) {
  Matrix result = zero_matrix(rows, columns);
  for (int row = 0; row < std::min(rows, matrix.rows); row++)
    for (int column = 0; column < std::min(columns, matrix.columns); column++)
      result.at(row, column) = matrix.at(row, column);
  return result;
}

/// Multiples of 1/16 from -4 to 4. Each type represents them, also times 4 or plus 2.
inline Matrix sixteenths(int rows, int columns) {
  Matrix matrix = zero_matrix(rows, columns);
  for (double &element : matrix.elements)
    element = (int(generator() % 129) - 64) / 16.0;
  return matrix;
}

inline Results by_columns(Results results) {
  results.items = transposed(results.items);
  return results;
}

inline Results first_columns(Results results, int columns) {
  results.items = resized(results.items, results.items.rows, columns);
  return results;
}

/// From this magnitude on, a T is not the result of rounding a subnormal value.
template <typename T>
inline const double surely_normal = std::ldexp(1, Format<T>::min_exponent + 1);

/// Calls test(). Each relation must have been compared at least once.
template <typename Test> void check_relations(Test test) {
  static const tritonc::hooks hooks = {.on_choice = [](const tritonc::choice_event &what, void *) {
    chosen_schedule = what.schedule;
  }};
  tritonc::set_hooks(&hooks);
  test();
  tritonc::set_hooks(nullptr);
  for (const auto &[relation, count] : comparisons)
    if (count == 0)
      fail(relation, "schedules always differ or divide the work, so nothing was compared");
}

} // namespace device_tests
