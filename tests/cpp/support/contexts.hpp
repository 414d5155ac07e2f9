// Families of contexts of one variable, from which the tests of the indexes draw: every index must
// multiply by the same 0/1 matrix, whatever its shape.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <feldspar/data/dataset.hpp>
#include <feldspar/feature/context_table.hpp>
#include <feldspar/feature/feature_set.hpp>

#include "support/brute_force.hpp"
#include "support/random_models.hpp"

namespace feldspar::testing {

// Features that all test variable 0, rows without repetition, and the contexts left behind.
struct ContextFamily {
  std::string name;
  FeatureSet features;
  Dataset data;
  Codes rows;  // of `data`, row-major

  ContextTable table() const { return ContextTable(features); }

  // The contexts under variable 0, by first use; none empty.
  std::vector<ContextId> contexts() const {
    const ContextTable contexts_of = table();
    std::vector<ContextId> contexts;
    for (FeatureId j = 0; j < features.size(); ++j) {
      const ContextId c = contexts_of.of_test(features.first_test(j));
      if (c != kEmptyContext && std::ranges::count(contexts, c) == 0) contexts.push_back(c);
    }
    return contexts;
  }

  // A: entry (r, c) is 1 where context number c of contexts() holds on row r.
  DenseMatrix matrix() const {
    const ContextTable contexts_of = table();
    const std::vector<ContextId> wanted = contexts();
    DenseMatrix a(data.n_rows(), wanted.size());
    for (FeatureId j = 0; j < features.size(); ++j) {
      const ContextId c = contexts_of.of_test(features.first_test(j));
      const auto column = static_cast<std::size_t>(std::ranges::find(wanted, c) - wanted.begin());
      if (column == wanted.size()) continue;
      for (std::size_t r = 0; r < data.n_rows(); ++r)
        a.at(r, column) = holds_without(features, j, 0, row_of(rows, data.n_variables(), r));
    }
    return a;
  }
};

inline Codes unpack(const Dataset& data) {
  Codes rows(data.n_rows() * data.n_variables());
  for (Variable v = 0; v < data.n_variables(); ++v) {
    const std::vector<Value> column = data.columns().codes(v);
    for (std::size_t r = 0; r < column.size(); ++r) rows[r * data.n_variables() + v] = column[r];
  }
  return rows;
}

inline ContextFamily make_family(std::string name, FeatureSet features, const Dataset& data) {
  return {std::move(name), std::move(features), data, unpack(data)};
}

// Binary rows; every entry is 1 with probability `density`.
inline Dataset binary_rows(Dice& dice, std::size_t n_variables, std::size_t n_rows,
                           double density) {
  Codes codes(n_rows * n_variables);
  for (auto& code : codes) code = dice.chance(density);
  return Dataset::merge(binary_schema(n_variables), codes, dice.numbers(n_rows, 0.1, 2.0));
}

// X_0 = 1 & X_i = 1 for every other variable.
inline FeatureSet pairs_with_first(std::size_t n_variables) {
  FeatureSetBuilder builder(binary_schema(n_variables));
  for (Variable i = 1; i < n_variables; ++i)
    builder.add(std::vector<Variable>{0, i}, std::vector<Value>{1, 1});
  return std::move(builder).finish();
}

// The nodes of a complete decision tree on X_1, X_2, ...: nested and exclusive contexts.
inline void add_tree(FeatureSetBuilder& builder, std::vector<Variable> variables,
                     std::vector<Value> values, std::size_t depth) {
  if (variables.size() > depth) return;
  const auto next = static_cast<Variable>(variables.size());
  for (const Value branch : {Value{0}, Value{1}}) {
    auto deeper = variables;
    auto deeper_values = values;
    deeper.push_back(next);
    deeper_values.push_back(branch);
    builder.add(deeper, deeper_values);
    add_tree(builder, deeper, deeper_values, depth);
  }
}

inline FeatureSet tree_under_first(std::size_t n_variables, std::size_t depth) {
  FeatureSetBuilder builder(binary_schema(n_variables));
  add_tree(builder, {0}, {1}, depth);
  return std::move(builder).finish();
}

// Random conjunctions of X_0 with value sets of the others.
inline FeatureSet random_under_first(Dice& dice, const Schema& schema, std::size_t n) {
  FeatureSetBuilder builder(schema);
  const FeatureSet random = random_features(dice, schema, n, 3);
  for (FeatureId j = 0; j < random.size(); ++j) {
    std::vector<Variable> variables{0};
    std::vector<std::size_t> begin{0, 1};
    std::vector<Value> values{static_cast<Value>(dice.below(schema.cardinality(0)))};
    for (const Test test : random[j]) {
      if (test.variable == 0) continue;
      const auto admitted = random.values(test.values);
      variables.push_back(test.variable);
      values.insert(values.end(), admitted.begin(), admitted.end());
      begin.push_back(values.size());
    }
    builder.add(variables, begin, values);
  }
  return std::move(builder).finish();
}

inline std::vector<ContextFamily> context_families() {
  Dice dice(77);
  std::vector<ContextFamily> families;
  families.push_back(make_family("dense", pairs_with_first(40), binary_rows(dice, 40, 500, 0.5)));
  families.push_back(make_family("sparse", pairs_with_first(60), binary_rows(dice, 60, 400, 0.03)));
  families.push_back(make_family("tree", tree_under_first(9, 8), binary_rows(dice, 9, 300, 0.5)));
  const Schema mixed = random_schema(dice, 7, 2, 6);
  families.push_back(make_family(
      "random", random_under_first(dice, mixed, 150),
      Dataset::merge(mixed, random_codes(dice, mixed, 250), dice.numbers(250, 0.1, 2))));
  families.push_back(make_family("nowhere", pairs_with_first(5), binary_rows(dice, 5, 40, 0.0)));
  families.push_back(make_family("none", pairs_with_first(1), binary_rows(dice, 1, 20, 0.5)));
  return families;
}

}  // namespace feldspar::testing
