// Seeded workloads for the benchmarks: data from a mixture of latent classes (so that variables
// depend on each other and rows repeat, as real data do), and feature sets of the shapes that
// learners produce. A file in the benchmark's .data format can stand in for the made-up data.
#pragma once

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include <feldspar/base/hash.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/data/delimited.hpp>
#include <feldspar/feature/conjunctions.hpp>
#include <feldspar/feature/feature_set.hpp>

namespace feldspar::bench {

// Numbers from a counter: the same on every platform.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() { return mix_bits(state_ += 0x9e3779b97f4a7c15u); }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(next() % n); }

 private:
  std::uint64_t state_;
};

struct Shape {
  std::string name;
  std::size_t n_rows, n_variables;
  double density;  // mean share of ones
  std::size_t n_classes;
};

inline Dataset make_data(const Shape& shape, std::uint64_t seed = 1) {
  Numbers numbers(seed);
  std::vector<double> probability(shape.n_classes * shape.n_variables);
  for (double& p : probability) {
    const double u = numbers.uniform();
    // Mostly near 0 or 1, with the wanted mean.
    p = u < shape.density ? 0.75 + 0.24 * numbers.uniform()
                          : 0.15 * numbers.uniform() * shape.density * 2;
  }
  std::vector<std::int32_t> codes;
  codes.reserve(shape.n_rows * shape.n_variables);
  for (std::size_t r = 0; r < shape.n_rows; ++r) {
    const std::size_t c = numbers.below(shape.n_classes);
    for (std::size_t v = 0; v < shape.n_variables; ++v)
      codes.push_back(numbers.uniform() < probability[c * shape.n_variables + v]);
  }
  return Dataset::merge(Schema(std::vector<Value>(shape.n_variables, 2)), codes);
}

inline Dataset read_data(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  require(file.good(), path, ": cannot be read");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const DelimitedCodes parsed = parse_integers(text, ',');
  std::vector<Value> cardinalities(parsed.n_columns, 2);
  return Dataset::merge(Schema(cardinalities), parsed.codes, parsed.weights);
}

// Conjunctions of the paths of random trees, one tree for each variable: every leaf with either
// value of the target.
inline FeatureSet tree_features(const Dataset& data, std::size_t depth, std::size_t min_rows,
                                std::uint64_t seed = 2) {
  Numbers numbers(seed);
  FeatureSetBuilder builder(data.schema());
  std::vector<Variable> variables;
  std::vector<Value> values;
  const auto grow = [&](auto&& self, Variable target, std::span<const Word> rows) -> void {
    if (variables.size() < depth && count_bits(rows) >= 2 * min_rows) {
      for (int attempt = 0; attempt < 20; ++attempt) {
        const auto split = static_cast<Variable>(numbers.below(data.n_variables()));
        if (split == target || std::ranges::find(variables, split) != variables.end()) continue;
        std::vector<Word> sides[2];
        for (Value side = 0; side < 2; ++side) {
          sides[side].assign(rows.begin(), rows.end());
          data.columns().intersect(split, {&side, 1}, sides[side]);
        }
        if (std::min(count_bits(sides[0]), count_bits(sides[1])) < min_rows) continue;
        for (Value side = 0; side < 2; ++side) {
          variables.push_back(split);
          values.push_back(side);
          self(self, target, sides[side]);
          variables.pop_back();
          values.pop_back();
        }
        return;
      }
    }
    for (Value value = 0; value < 2; ++value) {
      variables.push_back(target);
      values.push_back(value);
      builder.add(variables, values);
      variables.pop_back();
      values.pop_back();
    }
  };
  std::vector<Word> all(data.columns().n_words());
  fill_bits(all, data.n_rows());
  for (Variable target = 0; target < data.n_variables(); ++target) grow(grow, target, all);
  return std::move(builder).finish();
}

}  // namespace feldspar::bench
