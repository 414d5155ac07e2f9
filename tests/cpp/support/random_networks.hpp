// Networks of known shapes with random weights, and random evidence for them: what methods of
// inference are tried on.
#pragma once

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
#include <feldspar/learn/edges.hpp>
#include <feldspar/model/markov_network.hpp>

#include "random_models.hpp"

namespace feldspar::testing {

inline std::vector<Edge> chain_edges(std::size_t n) {
  std::vector<Edge> edges;
  for (Variable v = 1; v < n; ++v) edges.push_back({v - 1, v});
  return edges;
}

inline std::vector<Edge> star_edges(std::size_t n) {
  std::vector<Edge> edges;
  for (Variable v = 1; v < n; ++v) edges.push_back({0, v});
  return edges;
}

// Each variable hangs on an earlier one; about one in six starts a tree of its own.
inline std::vector<Edge> forest_edges(Dice& dice, std::size_t n) {
  std::vector<Edge> edges;
  for (Variable v = 1; v < n; ++v)
    if (!dice.chance(1.0 / 6)) edges.push_back({static_cast<Variable>(dice.below(v)), v});
  return edges;
}

inline std::vector<Edge> grid_edges(std::size_t n_rows, std::size_t n_columns) {
  std::vector<Edge> edges;
  const auto at = [&](std::size_t r, std::size_t c) {
    return static_cast<Variable>(r * n_columns + c);
  };
  for (std::size_t r = 0; r < n_rows; ++r)
    for (std::size_t c = 0; c < n_columns; ++c) {
      if (c + 1 < n_columns) edges.push_back({at(r, c), at(r, c + 1)});
      if (r + 1 < n_rows) edges.push_back({at(r, c), at(r + 1, c)});
    }
  return edges;
}

inline std::vector<Edge> all_edges(std::size_t n) {
  std::vector<Edge> edges;
  for (Variable a = 0; a < n; ++a)
    for (Variable b = a + 1; b < n; ++b) edges.push_back({a, b});
  return edges;
}

// A feature for most values of every variable, and up to three features on each edge, some of them
// on sets of values.
inline MarkovNetwork pairwise_network(Dice& dice, const Schema& schema,
                                      const std::vector<Edge>& edges, double strength) {
  FeatureSetBuilder builder(schema);
  const auto some_values = [&](Variable v, std::vector<Value>& values) {
    const std::size_t n = dice.chance(0.3) ? 2 : 1;
    for (std::size_t i = 0; i < n; ++i)
      values.push_back(static_cast<Value>(dice.below(schema.cardinality(v))));
  };
  for (Variable v = 0; v < schema.n_variables(); ++v)
    for (Value a = 0; a < schema.cardinality(v); ++a)
      if (dice.chance(0.7)) builder.add({&v, 1}, {&a, 1});
  for (const auto& [a, b] : edges)
    for (std::size_t k = 0; k <= dice.below(3); ++k) {
      std::vector<Value> values;
      some_values(a, values);
      const std::size_t middle = values.size();
      some_values(b, values);
      builder.add(std::vector<Variable>{a, b}, std::vector<std::size_t>{0, middle, values.size()},
                  values);
    }
  FeatureSet features = std::move(builder).finish();
  std::vector<double> weights = dice.numbers(features.size(), -strength, strength);
  return {std::move(features), std::move(weights)};
}

// X_v = 1 with a random weight, and X_a = X_b with another, on a grid of binary variables.
inline MarkovNetwork ising_grid(Dice& dice, std::size_t n_rows, std::size_t n_columns, double field,
                                double coupling) {
  const std::size_t n = n_rows * n_columns;
  FeatureSetBuilder builder(binary_schema(n));
  std::vector<double> weights;
  const auto add = [&](std::vector<Variable> variables, std::vector<Value> values, double weight) {
    builder.add(variables, values);
    weights.push_back(weight);
  };
  for (Variable v = 0; v < n; ++v) add({v}, {1}, dice.between(-field, field));
  for (const auto& [a, b] : grid_edges(n_rows, n_columns)) {
    const double weight = dice.between(-coupling, coupling);
    add({a, b}, {0, 0}, weight);
    add({a, b}, {1, 1}, weight);
  }
  return {std::move(builder).finish(), std::move(weights)};
}

// Random conjunctions of up to `max_length` tests.
inline MarkovNetwork higher_order_network(Dice& dice, const Schema& schema, std::size_t n_features,
                                          std::size_t max_length, double strength) {
  FeatureSet features = random_features(dice, schema, n_features, max_length);
  std::vector<double> weights = dice.numbers(features.size(), -strength, strength);
  return {std::move(features), std::move(weights)};
}

struct NamedNetwork {
  std::string name;
  MarkovNetwork network;
  bool is_forest;  // pairwise without cycles
};

// Every shape, with binary and with multi-valued variables (one of them of one value).
inline std::vector<NamedNetwork> small_networks(std::uint64_t seed, double strength = 1.5) {
  Dice dice(seed);
  std::vector<NamedNetwork> list;
  for (const Value most : {Value{2}, Value{4}}) {
    const std::string kind = most == 2 ? "binary " : "multi-valued ";
    const std::size_t n = most == 2 ? 12 : 7;
    const auto schema = [&] {
      auto cardinalities = random_schema(dice, n, 2, most).cardinalities();
      if (most > 2) cardinalities[dice.below(n)] = 1;
      return Schema(cardinalities);
    };
    const auto pairwise = [&](const std::string& name, const std::vector<Edge>& edges,
                              bool forest) {
      list.push_back({kind + name, pairwise_network(dice, schema(), edges, strength), forest});
    };
    pairwise("chain", chain_edges(n), true);
    pairwise("star", star_edges(n), true);
    pairwise("forest", forest_edges(dice, n), true);
    pairwise("grid", grid_edges(most == 2 ? 3 : 2, most == 2 ? 4 : 3), false);
    pairwise("dense", all_edges(n), false);
    pairwise("unconnected", {}, true);
    list.push_back(
        {kind + "higher order", higher_order_network(dice, schema(), 30, 5, strength), false});
    list.push_back(
        {kind + "long conjunctions", higher_order_network(dice, schema(), 12, n, strength), false});
  }
  return list;
}

// Rows of evidence and, if asked for, log-likelihoods; keeps what views refer to.
struct RandomEvidence {
  Codes codes;
  std::vector<double> log_likelihoods;

  EvidenceView view() const { return {codes, log_likelihoods}; }
  EvidenceView row(const Schema& schema, std::size_t r) const {
    const std::size_t n = schema.n_variables(), width = value_offsets(schema).back();
    const std::span<const double> soft(log_likelihoods);
    return {std::span(codes).subspan(r * n, n),
            soft.empty() ? soft : soft.subspan(r * width, width)};
  }
};

// The first row knows nothing, the second everything, others each variable with a chance of `known`.
inline RandomEvidence random_evidence(Dice& dice, const Schema& schema, std::size_t n_rows,
                                      double known, bool soft) {
  RandomEvidence evidence;
  for (std::size_t r = 0; r < n_rows; ++r)
    for (Variable v = 0; v < schema.n_variables(); ++v) {
      const bool observed = r == 1 || (r > 1 && dice.chance(known));
      const auto code = static_cast<std::int32_t>(dice.below(schema.cardinality(v)));
      evidence.codes.push_back(observed ? code : kUnknown);
    }
  if (soft)
    evidence.log_likelihoods = dice.numbers(n_rows * value_offsets(schema).back(), -2.0, 2.0);
  return evidence;
}

// Rows that hide the same variables, the first `n_hidden`.
inline RandomEvidence same_pattern(Dice& dice, const Schema& schema, std::size_t n_rows,
                                   std::size_t n_hidden, bool soft) {
  RandomEvidence evidence = random_evidence(dice, schema, n_rows, 1.0, soft);
  for (std::size_t r = 0; r < n_rows; ++r)
    for (Variable v = 0; v < schema.n_variables(); ++v)
      evidence.codes[r * schema.n_variables() + v] =
          v < n_hidden ? kUnknown : static_cast<std::int32_t>(dice.below(schema.cardinality(v)));
  return evidence;
}

}  // namespace feldspar::testing
