// Examples as features: the conjunction of what is seen on a row.
#pragma once

#include <utility>
#include <vector>

#include <feldspar/base/types.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/feature/feature_set.hpp>

namespace feldspar {

// What an example becomes: a test for every variable, or only for those whose value is not 0.
enum class InitialFeatures { full, positive };

// One feature for each distinct example, in the order of the rows; examples without a test have
// none.
inline FeatureSet example_features(const Dataset& data, InitialFeatures initial) {
  std::vector<std::vector<Value>> codes;
  for (Variable v = 0; v < data.n_variables(); ++v) codes.push_back(data.columns().codes(v));
  FeatureSetBuilder builder(data.schema());
  std::vector<Variable> variables;
  std::vector<Value> values;
  for (Row r = 0; r < data.n_rows(); ++r) {
    variables.clear();
    values.clear();
    for (Variable v = 0; v < data.n_variables(); ++v)
      if (initial == InitialFeatures::full || codes[v][r] != 0) {
        variables.push_back(v);
        values.push_back(codes[v][r]);
      }
    builder.add(variables, values);
  }
  return std::move(builder).finish();
}

}  // namespace feldspar
