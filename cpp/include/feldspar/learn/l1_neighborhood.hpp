// Structure from a path of L1-penalised regressions: which pairs of variables are neighbours, the
// features of the Markov network that this suggests, and the choice of C without other data.
//
// A *choice* names a C, by its place in the path, for each target. On the side of target i there is
// an edge i - j if some weight between an indicator of j and a value of i is not zero at i's choice;
// the edge is in the graph if it is there on both sides, or on either.
//
// EBIC, the extended Bayesian information criterion of a target at a C, is
//
//   -2 log-likelihood + k log n + 2 gamma k log p,
//
// k the number of non-zero weights, n the total weight of the examples, p the number of indicators
// of the other variables. Smaller is better.
//
// References: Ravikumar, Wainwright, Lafferty: High-dimensional Ising model selection using
// l1-regularized logistic regression, Annals of Statistics 2010; Foygel, Drton: Extended Bayesian
// information criteria for Gaussian graphical models, NIPS 2010.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/learn/edges.hpp>
#include <feldspar/learn/l1_path.hpp>
#include <feldspar/model/markov_network.hpp>

namespace feldspar {

// The same C for all targets.
inline std::vector<std::size_t> uniform_choice(const L1Path& path, std::size_t c) {
  return std::vector<std::size_t>(path.schema().n_variables(), c);
}

namespace detail {

inline void check_choice(const L1Path& path, std::span<const std::size_t> choice) {
  require(choice.size() == path.schema().n_variables(), "choice: got ", choice.size(), " for ",
          path.schema().n_variables(), " variables");
}

}  // namespace detail

// In lexicographic order.
inline std::vector<Edge> neighborhood_edges(const L1Path& path, std::span<const std::size_t> choice,
                                            EdgeRule rule) {
  detail::check_choice(path, choice);
  const std::size_t n = path.schema().n_variables();
  std::vector<bool> linked(n * n, false);  // by target, then predictor
  for (Variable target = 0; target < n; ++target)
    for (const L1Weight& w : path.at(target, choice[target]).weights)
      linked[target * n + w.variable] = true;
  std::vector<Edge> edges;
  for (Variable i = 0; i < n; ++i)
    for (Variable j = i + 1; j < n; ++j) {
      if (joins(rule, linked[i * n + j], linked[j * n + i])) edges.push_back({i, j});
    }
  return edges;
}

// X_i = u for every variable and non-zero value, then X_i = u & X_j = v for every edge and pair of
// non-zero values.
inline FeatureSet neighborhood_features(const L1Path& path, std::span<const std::size_t> choice,
                                        EdgeRule rule) {
  const Schema& schema = path.schema();
  FeatureSetBuilder builder(schema);
  for (Variable i = 0; i < schema.n_variables(); ++i)
    for (Value u = 1; u < schema.cardinality(i); ++u) builder.add({&i, 1}, {&u, 1});
  for (const Edge& edge : neighborhood_edges(path, choice, rule))
    for (Value u = 1; u < schema.cardinality(edge.first); ++u)
      for (Value v = 1; v < schema.cardinality(edge.second); ++v)
        builder.add(std::array{edge.first, edge.second}, std::array{u, v});
  return std::move(builder).finish();
}

// By target, then C.
inline std::vector<double> ebic(const L1Path& path, double gamma) {
  require(gamma >= 0 && std::isfinite(gamma), "gamma must be finite and not negative, got ", gamma);
  const Schema& schema = path.schema();
  std::size_t n_indicators = 0;
  for (const Value c : schema.cardinalities()) n_indicators += c - 1u;
  std::vector<double> table;
  for (Variable target = 0; target < schema.n_variables(); ++target) {
    const auto p = static_cast<double>(n_indicators - (schema.cardinality(target) - 1u));
    const double price = std::log(path.total_weight()) + (p > 0 ? 2 * gamma * std::log(p) : 0.0);
    for (std::size_t c = 0; c < path.n_values(); ++c) {
      const L1Fit& fit = path.at(target, c);
      table.push_back(-2 * fit.log_likelihood + static_cast<double>(fit.weights.size()) * price);
    }
  }
  return table;
}

// For each target the C with the least EBIC, of equals the smallest C.
inline std::vector<std::size_t> choose_by_ebic(const L1Path& path, double gamma) {
  const std::vector<double> table = ebic(path, gamma);
  std::vector<std::size_t> choice;
  for (std::size_t target = 0; target < path.schema().n_variables(); ++target) {
    const double* own = table.data() + target * path.n_values();
    std::size_t best = 0;
    for (std::size_t c = 1; c < path.n_values(); ++c)
      if (std::pair(own[c], path.c_values()[c]) < std::pair(own[best], path.c_values()[best]))
        best = c;
    choice.push_back(best);
  }
  return choice;
}

// For each target its conditional distribution as weighted features: X_t = a with the intercept of
// a, and X_t = a & X_j = u with its weight. P(X_t = a | rest) is proportional to the exponential of
// the weights of those that hold with X_t = a.
inline std::vector<MarkovNetwork> conditional_networks(const L1Path& path,
                                                       std::span<const std::size_t> choice) {
  detail::check_choice(path, choice);
  std::vector<MarkovNetwork> networks;
  for (Variable target = 0; target < path.schema().n_variables(); ++target) {
    const L1Fit& fit = path.at(target, choice[target]);
    FeatureSetBuilder builder(path.schema());
    std::vector<double> weights;
    for (Value a = 0; a < fit.intercepts.size(); ++a) {
      if (fit.intercepts[a] == 0) continue;
      builder.add({&target, 1}, {&a, 1});
      weights.push_back(fit.intercepts[a]);
    }
    for (const L1Weight& w : fit.weights) {
      builder.add(std::array{target, w.variable}, std::array{w.target_value, w.value});
      weights.push_back(w.weight);
    }
    networks.emplace_back(std::move(builder).finish(), std::move(weights));
  }
  return networks;
}

}  // namespace feldspar
