// Independent variables: one distribution for each, P(x) = prod_v P_v(x_v).
//
// A single state is one too, with all of the probability on its values, so that what works with
// product distributions works with states.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/data/packed_columns.hpp>
#include <feldspar/data/schema.hpp>

namespace feldspar {

class ProductDistribution {
 public:
  // `probabilities` side by side, P(X_v = a) at [value_offsets(schema)[v] + a]. Each variable's add
  // up to 1, but for rounding, which is mended.
  ProductDistribution(Schema schema, std::vector<double> probabilities);

  static ProductDistribution uniform(const Schema& schema);
  // All probability on one state: a code for each variable.
  static ProductDistribution point(const Schema& schema, std::span<const std::int32_t> state);
  // How often each value occurs, by weight.
  static ProductDistribution marginals(const Dataset& data);

  const Schema& schema() const noexcept { return schema_; }
  // Those of all variables side by side.
  std::span<const double> probabilities() const noexcept { return probabilities_; }

  std::span<const double> operator[](Variable v) const noexcept {
    return {probabilities_.data() + offsets_[v], offsets_[v + 1] - offsets_[v]};
  }

  // P(X_v in `values`), for distinct values.
  double probability(Variable v, std::span<const Value> values) const noexcept {
    double sum = 0;
    for (const Value a : values) sum += probabilities_[offsets_[v] + a];
    return sum;
  }

  // The most probable value of each variable, the lowest of equals.
  std::vector<std::int32_t> mode() const {
    std::vector<std::int32_t> state;
    for (Variable v = 0; v < schema_.n_variables(); ++v)
      state.push_back(
          static_cast<std::int32_t>(std::ranges::max_element((*this)[v]) - (*this)[v].begin()));
    return state;
  }

 private:
  Schema schema_;
  std::vector<std::size_t> offsets_;
  std::vector<double> probabilities_;
};

inline ProductDistribution::ProductDistribution(Schema schema, std::vector<double> probabilities)
    : schema_(std::move(schema)),
      offsets_(value_offsets(schema_)),
      probabilities_(std::move(probabilities)) {
  constexpr double kRounding = 1e-6, kExact = 1e-12;
  require(probabilities_.size() == offsets_.back(), "distribution: got ", probabilities_.size(),
          " probabilities for ", offsets_.back(), " values of all variables");
  for (Variable v = 0; v < schema_.n_variables(); ++v) {
    const std::span<double> own(probabilities_.data() + offsets_[v], offsets_[v + 1] - offsets_[v]);
    for (std::size_t a = 0; a < own.size(); ++a)
      require(own[a] >= 0 && own[a] <= 1 + kRounding, "distribution of variable ", v, ": value ", a,
              " has probability ", own[a], "; expected a number from 0 to 1");
    const double sum = std::accumulate(own.begin(), own.end(), 0.0);
    require(std::abs(sum - 1) <= kRounding, "distribution of variable ", v,
            ": the probabilities add up to ", sum, "; expected 1");
    // What is exact but for the last bits stays as it is, and so survives being written and read.
    if (std::abs(sum - 1) > kExact)
      for (double& p : own) p /= sum;
  }
}

inline ProductDistribution ProductDistribution::uniform(const Schema& schema) {
  std::vector<double> probabilities;
  for (const Value c : schema.cardinalities())
    probabilities.insert(probabilities.end(), c, 1.0 / static_cast<double>(c));
  return {schema, std::move(probabilities)};
}

inline ProductDistribution ProductDistribution::point(const Schema& schema,
                                                      std::span<const std::int32_t> state) {
  require(check_codes(schema, state) == 1, "state: got ", state.size(), " codes for ",
          schema.n_variables(), " variables");
  const auto offsets = value_offsets(schema);
  std::vector<double> probabilities(offsets.back(), 0.0);
  for (std::size_t v = 0; v < state.size(); ++v)
    probabilities[offsets[v] + static_cast<std::size_t>(state[v])] = 1;
  return {schema, std::move(probabilities)};
}

inline ProductDistribution ProductDistribution::marginals(const Dataset& data) {
  const auto offsets = value_offsets(data.schema());
  std::vector<double> probabilities(offsets.back(), 0.0);
  for (Variable v = 0; v < data.n_variables(); ++v) {
    const std::vector<Value> codes = data.columns().codes(v);
    for (std::size_t r = 0; r < codes.size(); ++r)
      probabilities[offsets[v] + codes[r]] += data.weights()[r];
  }
  for (double& p : probabilities) p /= data.total_weight();
  return {data.schema(), std::move(probabilities)};
}

}  // namespace feldspar
