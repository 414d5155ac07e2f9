// Definitions turned into code with no thought of speed: what the library's answers are held
// against. Nothing here uses packed rows, contexts or indexes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <feldspar/base/types.hpp>
#include <feldspar/data/schema.hpp>
#include <feldspar/feature/feature_set.hpp>

namespace feldspar::testing {

using CodeRow = std::span<const std::int32_t>;

inline CodeRow row_of(std::span<const std::int32_t> codes, std::size_t n_variables, std::size_t r) {
  return codes.subspan(r * n_variables, n_variables);
}

inline bool passes(const FeatureSet& features, Test test, CodeRow row) {
  const auto values = features.values(test.values);
  return std::ranges::find(values, static_cast<Value>(row[test.variable])) != values.end();
}

inline bool holds(const FeatureSet& features, FeatureId feature, CodeRow row) {
  return std::ranges::all_of(features[feature],
                             [&](Test test) { return passes(features, test, row); });
}

// Whether all tests but number `omitted` hold.
inline bool holds_without(const FeatureSet& features, FeatureId feature, std::size_t omitted,
                          CodeRow row) {
  for (std::size_t i = 0; i < features[feature].size(); ++i)
    if (i != omitted && !passes(features, features[feature][i], row)) return false;
  return true;
}

inline double log_potential(const FeatureSet& features, std::span<const double> weights,
                            CodeRow row) {
  double sum = 0;
  for (FeatureId j = 0; j < features.size(); ++j)
    if (holds(features, j, row)) sum += weights[j];
  return sum;
}

inline double log_sum_exp(std::span<const double> x) {
  const double top = *std::ranges::max_element(x);
  double sum = 0;
  for (const double term : x) sum += std::exp(term - top);
  return top + std::log(sum);
}

// log P(X_v = a | the rest of the row) for every a: log-potentials of all versions of the row.
inline std::vector<double> log_conditional(const FeatureSet& features,
                                           std::span<const double> weights, CodeRow row,
                                           Variable v) {
  std::vector<std::int32_t> changed(row.begin(), row.end());
  std::vector<double> result(features.schema().cardinality(v));
  for (std::size_t a = 0; a < result.size(); ++a) {
    changed[v] = static_cast<std::int32_t>(a);
    result[a] = log_potential(features, weights, changed);
  }
  const double normalizer = log_sum_exp(result);
  for (double& x : result) x -= normalizer;
  return result;
}

inline double pseudo_log_likelihood(const FeatureSet& features, std::span<const double> weights,
                                    std::span<const std::int32_t> codes,
                                    std::span<const double> row_weights) {
  const std::size_t n_variables = features.schema().n_variables();
  double sum = 0;
  for (std::size_t r = 0; r < codes.size() / n_variables; ++r) {
    const CodeRow row = row_of(codes, n_variables, r);
    for (Variable v = 0; v < n_variables; ++v)
      sum += row_weights[r] *
             log_conditional(features, weights, row, v)[static_cast<std::size_t>(row[v])];
  }
  return sum;
}

// The derivative of f by each coordinate, from four values around x; exact to the fourth order.
template <class Function>
std::vector<double> four_point_gradient(Function&& f, std::vector<double> x, double step) {
  std::vector<double> gradient(x.size());
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double middle = x[j];
    const auto at = [&](double shift) {
      x[j] = middle + shift;
      return f(x);
    };
    const double near = at(step) - at(-step), far = at(2 * step) - at(-2 * step);
    gradient[j] = (8 * near - far) / (12 * step);
    x[j] = middle;
  }
  return gradient;
}

// A dense matrix by rows, multiplied the slow way; vectors are `width` numbers an element.
struct DenseMatrix {
  std::size_t n_rows = 0, n_columns = 0;
  std::vector<double> entries;

  DenseMatrix(std::size_t rows, std::size_t columns)
      : n_rows(rows), n_columns(columns), entries(rows * columns, 0.0) {}

  double& at(std::size_t r, std::size_t c) { return entries[r * n_columns + c]; }
  double at(std::size_t r, std::size_t c) const { return entries[r * n_columns + c]; }

  std::vector<double> times(std::span<const double> u, std::size_t width) const {
    std::vector<double> product(n_rows * width, 0.0);
    for (std::size_t r = 0; r < n_rows; ++r)
      for (std::size_t c = 0; c < n_columns; ++c)
        for (std::size_t k = 0; k < width; ++k)
          product[r * width + k] += at(r, c) * u[c * width + k];
    return product;
  }

  std::vector<double> transpose_times(std::span<const double> g, std::size_t width) const {
    std::vector<double> product(n_columns * width, 0.0);
    for (std::size_t r = 0; r < n_rows; ++r)
      for (std::size_t c = 0; c < n_columns; ++c)
        for (std::size_t k = 0; k < width; ++k)
          product[c * width + k] += at(r, c) * g[r * width + k];
    return product;
  }
};

}  // namespace feldspar::testing
