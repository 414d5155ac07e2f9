// Random schemas, rows, weights and features: the same on every platform for the same seed, and
// made to be awkward (rows repeat, value sets overlap, variables may have a single value).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/base/hash.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/data/schema.hpp>
#include <feldspar/feature/feature_set.hpp>

namespace feldspar::testing {

// A small generator of our own: those of the standard library differ between platforms.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(mix_bits(seed)) {}

  std::uint64_t bits() { return mix_bits(state_ += 0x9e3779b97f4a7c15u); }
  std::size_t below(std::size_t n) { return bits() % n; }
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }  // in [0, 1)
  double between(double low, double high) { return low + (high - low) * uniform(); }
  bool chance(double p) { return uniform() < p; }

  std::vector<double> numbers(std::size_t n, double low = -1.0, double high = 1.0) {
    std::vector<double> result(n);
    for (double& x : result) x = between(low, high);
    return result;
  }

  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  std::uint64_t state_;
};

using Codes = std::vector<std::int32_t>;

inline Schema binary_schema(std::size_t n_variables) {
  return Schema(std::vector<Value>(n_variables, 2));
}

// Cardinalities from `least` to `most`.
inline Schema random_schema(Dice& dice, std::size_t n_variables, Value least, Value most) {
  std::vector<Value> cardinalities(n_variables);
  for (Value& c : cardinalities)
    c = static_cast<Value>(least + dice.below(static_cast<std::size_t>(most - least) + 1));
  return Schema(cardinalities);
}

// Row-major codes. A row is a copy of an earlier one with a chance of `repeat`; neighbouring
// variables depend on each other, so that models have something to learn.
inline Codes random_codes(Dice& dice, const Schema& schema, std::size_t n_rows,
                          double repeat = 0.2) {
  const std::size_t n = schema.n_variables();
  Codes codes;
  codes.reserve(n_rows * n);
  for (std::size_t r = 0; r < n_rows; ++r) {
    const bool copied = r > 0 && dice.chance(repeat);
    const std::size_t original = copied ? dice.below(r) : 0;
    for (std::size_t v = 0; v < n; ++v) {
      const auto cardinality = static_cast<std::size_t>(schema.cardinalities()[v]);
      std::size_t code = dice.below(cardinality);
      if (v > 0 && dice.chance(0.4)) code = static_cast<std::size_t>(codes.back()) % cardinality;
      codes.push_back(copied ? codes[original * n + v] : static_cast<std::int32_t>(code));
    }
  }
  return codes;
}

// Features of up to `max_length` tests, each admitting one value or, with a chance of `sets`, a
// random set. Not canonical yet: that is the builder's work. Fewer than asked for if they collide.
inline FeatureSet random_features(Dice& dice, const Schema& schema, std::size_t n,
                                  std::size_t max_length, double sets = 0.5) {
  FeatureSetBuilder builder(schema);
  for (std::size_t j = 0; j < n; ++j) {
    std::vector<Variable> variables;
    std::vector<std::size_t> begin{0};
    std::vector<Value> values;
    const std::size_t length = 1 + dice.below(max_length);
    for (std::size_t i = 0; i < length; ++i) {
      const auto v = static_cast<Variable>(dice.below(schema.n_variables()));
      const std::size_t cardinality = schema.cardinality(v);
      const std::size_t n_values = dice.chance(sets) ? 1 + dice.below(cardinality) : 1;
      variables.push_back(v);
      for (std::size_t k = 0; k < n_values; ++k)
        values.push_back(static_cast<Value>(dice.below(cardinality)));
      begin.push_back(values.size());
    }
    builder.add(variables, begin, values);
  }
  return std::move(builder).finish();
}

// X_a = 1 & X_b = 1 for all pairs, after X_a = 1 for all variables.
inline void add_pairs(FeatureSetBuilder& builder, std::size_t n_variables) {
  const std::vector<Value> ones{1, 1};
  for (Variable a = 0; a < n_variables; ++a)
    builder.add(std::vector<Variable>{a}, std::span(ones).first(1));
  for (Variable a = 0; a < n_variables; ++a)
    for (Variable b = a + 1; b < n_variables; ++b) builder.add(std::vector<Variable>{a, b}, ones);
}

// Adds X_a = 1 & X_b = 1 & X_c = 1 for n random triples.
inline void add_triples(FeatureSetBuilder& builder, std::size_t n_variables, std::size_t n,
                        Dice& dice) {
  const std::vector<Value> ones{1, 1, 1};
  for (std::size_t j = 0; j < n; ++j) {
    std::vector<Variable> variables(n_variables);
    for (Variable v = 0; v < n_variables; ++v) variables[v] = v;
    dice.shuffle(variables);
    builder.add(std::span(variables).first(3), ones);
  }
}

// Rows, weights, features and their weights that belong together.
struct Problem {
  Schema schema;
  Codes codes;
  std::vector<double> row_weights;
  FeatureSet features;
  std::vector<double> weights;

  Dataset dataset() const { return Dataset::merge(schema, codes, row_weights); }
};

inline Problem random_problem(std::uint64_t seed, std::size_t n_variables, Value least, Value most,
                              std::size_t n_rows, std::size_t n_features, std::size_t max_length) {
  Dice dice(seed);
  Problem problem;
  problem.schema = random_schema(dice, n_variables, least, most);
  problem.codes = random_codes(dice, problem.schema, n_rows);
  problem.row_weights = dice.numbers(n_rows, 0.0, 3.0);
  problem.features = random_features(dice, problem.schema, n_features, max_length);
  problem.weights = dice.numbers(problem.features.size(), -1.5, 1.5);
  return problem;
}

}  // namespace feldspar::testing
