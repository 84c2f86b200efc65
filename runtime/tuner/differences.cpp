// Compares the results of a kernel's variants. See differences.h.
//
// Tested by tests/unit/tuner/differences_test.cpp.

#include "differences.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tritonc::v1::tuner {

namespace {

// The max distances of all elements, one entry per pointer; empty for integers and for memory that
// the kernel only reads.
using Bounds = std::vector<std::vector<float>>;

Bounds smaller(Bounds first, const Bounds &second) {
  if (first.empty())
    return second;
  if (second.empty())
    return first;
  for (std::size_t i = 0; i < first.size(); i++)
    for (std::size_t k = 0; k < first[i].size(); k++)
      first[i][k] = std::min(first[i][k], second[i][k]);
  return first;
}

class Comparison {
public:
  Comparison(const std::vector<Buffer> &buffers, const Launch &launch)
      : buffers_(buffers), launch_(launch) {}

  void add(std::size_t variant) {
    Results results = launch_(variant, 0);
    Bounds bounds;
    std::size_t group = 0;
    while (group < groups_.size() && !have_equal_bits(groups_[group].results, results))
      group++;
    if (group == groups_.size()) {
      group = 0;
      while (group < groups_.size() && !agrees(groups_[group], variant, results, bounds))
        group++;
    }
    if (group == groups_.size())
      groups_.push_back({variant, std::move(results), std::move(bounds)});
    groups_[group].size++;
    group_of_.push_back(group);
  }

  std::vector<double> differences() const {
    std::size_t largest = 0;
    for (std::size_t group = 1; group < groups_.size(); group++)
      if (groups_[group].size > groups_[largest].size)
        largest = group;
    std::vector<double> out;
    for (std::size_t group : group_of_)
      out.push_back(group == largest ? 0 : distance_between(groups_[largest], groups_[group]));
    return out;
  }

private:
  struct Group {
    std::size_t founder; // the variant whose results all others of the group agree with
    Results results;
    Bounds bounds;             // empty: not measured yet
    bool is_confirmed = false; // the bounds are those of two variants
    std::size_t size = 0;      // variants
  };

  bool have_equal_bits(const Results &first, const Results &second) const {
    for (std::size_t i = 0; i < first.size(); i++)
      if (!first[i].empty() && std::memcmp(first[i].data(), second[i].data(), bytes_of(i)) != 0)
        return false;
    return true;
  }

  bool have_equal_integers(const Results &first, const Results &second) const {
    for (std::size_t i = 0; i < first.size(); i++)
      if (!first[i].empty() && buffers_[i].element->is_integer() &&
          std::memcmp(first[i].data(), second[i].data(), bytes_of(i)) != 0)
        return false;
    return true;
  }

  std::size_t bytes_of(std::size_t i) const {
    return buffers_[i].count * buffers_[i].element->bytes;
  }

  // Whether a variant's results agree with those of the group. Measures the group's and the
  // variant's bounds if necessary.
  bool agrees(Group &group, std::size_t variant, const Results &results, Bounds &bounds) {
    if (!have_equal_integers(group.results, results))
      return false;
    if (group.is_confirmed)
      return excess(group.results, results, group.bounds) <= 1;
    measure({{group.founder, &group.results, &group.bounds}, {variant, &results, &bounds}});
    Bounds of_both = smaller(group.bounds, bounds);
    if (excess(group.results, results, of_both) > 1)
      return false;
    group.bounds = std::move(of_both);
    group.is_confirmed = true;
    return true;
  }

  struct Measurement {
    std::size_t variant;
    const Results *results;
    Bounds *bounds; // measured if they are empty
  };

  // Launches all variants on each of the changed inputs, because these are expensive to make.
  void measure(std::vector<Measurement> all) const {
    all.erase(std::remove_if(all.begin(), all.end(),
                             [](const Measurement &one) { return !one.bounds->empty(); }),
              all.end());
    for (const auto &[variant, results, bounds] : all) {
      bounds->resize(buffers_.size());
      for (std::size_t i = 0; i < buffers_.size(); i++)
        if (!(*results)[i].empty() && !buffers_[i].element->is_integer())
          (*bounds)[i].resize(buffers_[i].count);
    }
    for (int number = 1; number <= changes; number++)
      for (const auto &[variant, results, bounds] : all) {
        Results changed = launch_(variant, number);
        for (std::size_t i = 0; i < buffers_.size(); i++)
          if (!(*bounds)[i].empty())
            buffers_[i].element->widen((*bounds)[i].data(), (*results)[i].data(), changed[i].data(),
                                       buffers_[i].count);
      }
    float part = weight();
    for (const auto &[variant, results, bounds] : all)
      for (std::vector<float> &buffer : *bounds)
        for (float &bound : buffer)
          bound *= part;
  }

  float weight() const {
    double weight = 1;
    for (const Buffer &buffer : buffers_)
      if (!buffer.is_written)
        weight = std::min(weight, buffer.element->weight);
    return float(weight);
  }

  double excess(const Results &first, const Results &second, const Bounds &bounds) const {
    double max_excess = 0;
    for (std::size_t i = 0; i < first.size(); i++)
      if (!first[i].empty()) {
        const float *own = bounds.empty() || bounds[i].empty() ? nullptr : bounds[i].data();
        max_excess =
            std::max(max_excess, buffers_[i].element->excess(first[i].data(), second[i].data(), own,
                                                             buffers_[i].count));
      }
    return max_excess;
  }

  // Bounds only become smaller, so the result is greater than 1: one of the two groups refused the
  // other group's founder.
  double distance_between(const Group &first, const Group &second) const {
    return excess(first.results, second.results, smaller(first.bounds, second.bounds));
  }

  const std::vector<Buffer> &buffers_;
  const Launch &launch_;
  std::vector<Group> groups_;
  std::vector<std::size_t> group_of_; // per variant
};

} // namespace

double change_of(const std::vector<Buffer> &buffers) {
  double change = 0;
  for (const Buffer &buffer : buffers)
    change = std::max(change, buffer.element->change);
  return change;
}

void make_inputs(const Buffer &buffer, void *to, std::uint64_t seed, int number, double change) {
  const Element &element = *buffer.element;
  element.fill(to, buffer.count, seed);
  if (number == 0 || element.is_integer())
    return;
  if (number == 1)
    element.enlarge(to, buffer.count, change);
  else
    element.perturb(to, buffer.count, change, seed * 1000 + std::uint64_t(number));
}

std::vector<double> differences(std::size_t variants, const std::vector<Buffer> &buffers,
                                const Launch &launch) {
  Comparison comparison(buffers, launch);
  for (std::size_t variant = 0; variant < variants; variant++)
    comparison.add(variant);
  return comparison.differences();
}

} // namespace tritonc::v1::tuner
