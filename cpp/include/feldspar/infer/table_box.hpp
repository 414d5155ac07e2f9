// Where a conjunction holds in a table over some variables: a box of entries.
//
// A table over variables x_0, x_1, ... is row-major, the last variable fastest. A conjunction leaves
// the variables it does not test free; with the tests in the table's order, the entries are
//   free run, test, free run, test, ..., free run,
// which is a loop nest: each step walks over the free entries before a test and over the values
// that the test admits; the last run is contiguous.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <feldspar/base/types.hpp>
#include <feldspar/data/schema.hpp>
#include <feldspar/feature/feature_set.hpp>

namespace feldspar {

struct BoxStep {
  std::size_t n_free;        // combinations of the free variables before the test
  std::size_t free_stride;   // from one of these to the next
  std::size_t value_stride;  // from one value of the tested variable to the next
  ValueSetId values;
};

struct TableBox {
  std::vector<BoxStep> steps;
  std::size_t run = 1;  // contiguous entries after the last test
};

// The box of `feature` in the table over `variables`, which has all the variables it tests.
inline TableBox table_box(const FeatureSet& features, FeatureId feature,
                          std::span<const Variable> variables) {
  TableBox box;
  std::size_t stride = 1;
  for (const Variable v : variables) stride *= features.schema().cardinality(v);
  std::size_t n_free = 1;
  for (const Variable v : variables) {
    const Value cardinality = features.schema().cardinality(v);
    const std::size_t outer_stride = stride;
    stride /= cardinality;
    bool tested = false;
    for (const Test test : features[feature])
      if (test.variable == v) {
        box.steps.push_back({n_free, outer_stride, stride, test.values});
        tested = true;
      }
    n_free = tested ? 1 : n_free * cardinality;
  }
  box.run = n_free;
  return box;
}

// Adds `weight` to the entries of the box, `first_step` steps in, that start at `table`.
inline void add_to_box(const FeatureSet& features, const TableBox& box, double weight,
                       double* table, std::size_t first_step = 0) {
  if (first_step == box.steps.size()) {
    for (std::size_t i = 0; i < box.run; ++i) table[i] += weight;
    return;
  }
  const BoxStep& step = box.steps[first_step];
  const auto values = features.values(step.values);
  if (first_step + 1 == box.steps.size() && box.run == 1 && values.size() == 1) {
    table += values[0] * step.value_stride;
    for (std::size_t f = 0; f < step.n_free; ++f) table[f * step.free_stride] += weight;
    return;
  }
  for (std::size_t f = 0; f < step.n_free; ++f)
    for (const Value a : values)
      add_to_box(features, box, weight, table + f * step.free_stride + a * step.value_stride,
                 first_step + 1);
}

// The sum of the entries of the box, `first_step` steps in, that start at `table`.
inline double sum_of_box(const FeatureSet& features, const TableBox& box, const double* table,
                         std::size_t first_step = 0) {
  double sum = 0;
  if (first_step == box.steps.size()) {
    for (std::size_t i = 0; i < box.run; ++i) sum += table[i];
    return sum;
  }
  const BoxStep& step = box.steps[first_step];
  const auto values = features.values(step.values);
  if (first_step + 1 == box.steps.size() && box.run == 1 && values.size() == 1) {
    table += values[0] * step.value_stride;
    for (std::size_t f = 0; f < step.n_free; ++f) sum += table[f * step.free_stride];
    return sum;
  }
  for (std::size_t f = 0; f < step.n_free; ++f)
    for (const Value a : values)
      sum += sum_of_box(features, box, table + f * step.free_stride + a * step.value_stride,
                        first_step + 1);
  return sum;
}

}  // namespace feldspar
