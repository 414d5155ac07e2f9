// Marginals and log Z by going through all states: what sampling is held against.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <feldspar/base/types.hpp>
#include <feldspar/data/schema.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/infer/evidence.hpp>
#include <feldspar/model/markov_network.hpp>

#include "brute_force.hpp"
#include "random_models.hpp"

namespace feldspar::testing {

// Calls visit(state) for all states that agree with the observed codes of a row.
template <class Visit>
void for_each_state(const Schema& schema, CodeRow evidence, Visit&& visit) {
  Codes state(evidence.begin(), evidence.end());
  for (std::int32_t& code : state) code = std::max(code, 0);
  for (;;) {
    visit(state);
    std::size_t v = 0;
    for (; v < state.size(); ++v) {
      if (evidence[v] != kUnknown) continue;
      if (++state[v] < schema.cardinalities()[v]) break;
      state[v] = 0;
    }
    if (v == state.size()) return;
  }
}

struct StateSums {
  std::vector<double> marginals;  // at value_offsets(schema)[v] + value
  double log_partition = 0;       // log of the sum over the states that agree with the evidence
};

// Of one row of evidence.
inline StateSums sum_over_states(const MarkovNetwork& network, const EvidenceView& evidence) {
  const auto offsets = value_offsets(network.schema());
  std::vector<double> logs;
  std::vector<Codes> states;
  for_each_state(network.schema(), evidence.codes, [&](const Codes& state) {
    double value = log_potential(network.features(), network.weights(), state);
    if (!evidence.log_likelihoods.empty())
      for (std::size_t v = 0; v < state.size(); ++v)
        value += evidence.log_likelihoods[offsets[v] + static_cast<std::size_t>(state[v])];
    logs.push_back(value);
    states.push_back(state);
  });
  StateSums sums{std::vector<double>(offsets.back(), 0.0), log_sum_exp(logs)};
  for (std::size_t i = 0; i < states.size(); ++i)
    for (std::size_t v = 0; v < states[i].size(); ++v)
      sums.marginals[offsets[v] + static_cast<std::size_t>(states[i][v])] +=
          std::exp(logs[i] - sums.log_partition);
  return sums;
}

struct EnumeratedNetwork {
  std::string name;
  MarkovNetwork network;
};

// Every value of every variable on its own, and every pair of values of every edge.
inline MarkovNetwork enumerated_pairs(Dice& dice, const Schema& schema,
                                      const std::vector<std::pair<Variable, Variable>>& edges,
                                      double strength) {
  FeatureSetBuilder builder(schema);
  for (Variable v = 0; v < schema.n_variables(); ++v)
    for (Value a = 1; a < schema.cardinality(v); ++a)
      builder.add(std::vector<Variable>{v}, std::vector<Value>{a});
  for (const auto& [u, v] : edges)
    for (Value a = 0; a < schema.cardinality(u); ++a)
      for (Value b = 1; b < schema.cardinality(v); ++b)
        builder.add(std::vector<Variable>{u, v}, std::vector<Value>{a, b});
  FeatureSet features = std::move(builder).finish();
  auto weights = dice.numbers(features.size(), -strength, strength);
  return {std::move(features), std::move(weights)};
}

// Chain, star, grid and dense pairs, and features of up to six tests with sets of values; binary, or
// of up to `most_values` (in the last also of a single one).
inline std::vector<EnumeratedNetwork> enumerated_networks(std::uint64_t seed, Value most_values) {
  Dice dice(seed);
  const bool binary = most_values == 2;
  const auto schema = [&](std::size_t n) { return random_schema(dice, n, 2, most_values); };
  std::vector<std::pair<Variable, Variable>> chain, star, grid, dense;
  const Variable n = binary ? 10 : 6;
  for (Variable v = 0; v + 1 < n; ++v) chain.emplace_back(v, v + 1);
  for (Variable v = 1; v < n; ++v) star.emplace_back(0, v);
  for (Variable v = 0; v < 9; ++v) {
    if (v % 3 != 2) grid.emplace_back(v, v + 1);
    if (v < 6) grid.emplace_back(v, v + 3);
  }
  for (Variable u = 0; u < n; ++u)
    for (Variable v = u + 1; v < n; ++v) dense.emplace_back(u, v);
  std::vector<EnumeratedNetwork> networks;
  networks.push_back({"chain", enumerated_pairs(dice, schema(n), chain, 1.2)});
  networks.push_back({"star", enumerated_pairs(dice, schema(n), star, 1.0)});
  networks.push_back(
      {"grid", enumerated_pairs(dice, random_schema(dice, 9, 2, binary ? 2 : 3), grid, 1.0)});
  networks.push_back({"dense", enumerated_pairs(dice, schema(n), dense, 0.5)});
  FeatureSet features = random_features(
      dice, random_schema(dice, binary ? 12 : 7, binary ? 2 : 1, most_values), 120, 6);
  auto weights = dice.numbers(features.size(), -0.8, 0.8);
  networks.push_back({"higher order", MarkovNetwork(std::move(features), std::move(weights))});
  return networks;
}

// A row of evidence with each variable observed by chance, and soft evidence if asked for.
struct SmallEvidence {
  Codes codes;
  std::vector<double> log_likelihoods;

  EvidenceView view() const { return {codes, log_likelihoods}; }
};

inline SmallEvidence small_evidence(Dice& dice, const Schema& schema, double observed, bool soft) {
  SmallEvidence evidence;
  for (const Value c : schema.cardinalities())
    evidence.codes.push_back(dice.chance(observed) ? static_cast<std::int32_t>(dice.below(c))
                                                   : kUnknown);
  if (soft) evidence.log_likelihoods = dice.numbers(value_offsets(schema).back(), -2.0, 0.5);
  return evidence;
}

// Distances between estimates and truth in standard errors, of many runs. If errors are what they say
// these are standard normal numbers, but for batches that still remember each other a little: of N
// numbers N / 16000 are beyond four. So single runs are judged by how their deviations are spread
// (root_mean_square, beyond_four against the number there), the mean of many by its distance.
class Deviations {
 public:
  void add(double estimate, double truth, double standard_error) {
    const double difference = std::abs(estimate - truth);
    if (difference <= kRounding && standard_error <= kRounding) return;  // known exactly
    const double z = difference / std::max(standard_error, kRounding);
    squares_ += z * z;
    worst_ = std::max(worst_, z);
    beyond_four_ += z > 4;
    ++n_;
  }

  // All values of all variables; of two values the second says it all.
  void add(const Schema& schema, std::span<const double> estimates, std::span<const double> truth,
           std::span<const double> standard_errors) {
    const auto offsets = value_offsets(schema);
    for (std::size_t v = 0; v + 1 < offsets.size(); ++v)
      for (std::size_t i = offsets[v] + (offsets[v + 1] - offsets[v] == 2); i < offsets[v + 1]; ++i)
        add(estimates[i], truth[i], standard_errors[i]);
  }

  // One question asked with several seeds: the mean answer, with the error that the runs' own make.
  void add_mean(const Schema& schema, std::span<const std::vector<double>> estimates,
                std::span<const std::vector<double>> standard_errors,
                std::span<const double> truth) {
    const auto n = static_cast<double>(estimates.size());
    std::vector<double> means(truth.size(), 0.0), errors(truth.size(), 0.0);
    for (std::size_t i = 0; i < truth.size(); ++i) {
      for (std::size_t run = 0; run < estimates.size(); ++run) {
        means[i] += estimates[run][i] / n;
        errors[i] += standard_errors[run][i] * standard_errors[run][i];
      }
      errors[i] = std::sqrt(errors[i]) / n;
    }
    add(schema, means, truth, errors);
  }

  std::size_t size() const { return n_; }
  double worst() const { return worst_; }
  std::size_t beyond_four() const { return beyond_four_; }
  double root_mean_square() const { return std::sqrt(squares_ / static_cast<double>(n_)); }

 private:
  static constexpr double kRounding = 1e-7;

  std::size_t n_ = 0, beyond_four_ = 0;
  double squares_ = 0, worst_ = 0;
};

}  // namespace feldspar::testing
