// Dependency networks to test with: consistent ones, made of the conditionals of a Markov network,
// and arbitrary ones; and what they say, by definition and enumeration.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include <feldspar/model/decision_tree.hpp>
#include <feldspar/model/dependency_network.hpp>
#include <feldspar/model/markov_network.hpp>

#include "support/brute_force.hpp"
#include "support/random_models.hpp"

namespace feldspar::testing {

// All joint states, row-major; the last variable changes fastest.
inline Codes all_states(const Schema& schema) {
  Codes states, state(schema.n_variables(), 0);
  for (;;) {
    states.insert(states.end(), state.begin(), state.end());
    std::size_t v = state.size();
    while (v > 0 && state[v - 1] + 1 == schema.cardinalities()[v - 1]) state[--v] = 0;
    if (v == 0) return states;
    ++state[v - 1];
  }
}

// The probability of every state, in the order of all_states.
inline std::vector<double> joint(const MarkovNetwork& network) {
  const Codes states = all_states(network.schema());
  const std::size_t n = network.schema().n_variables();
  std::vector<double> result;
  for (std::size_t r = 0; r < states.size() / n; ++r)
    result.push_back(log_potential(network.features(), network.weights(), row_of(states, n, r)));
  const double total = log_sum_exp(result);
  for (double& p : result) p = std::exp(p - total);
  return result;
}

inline MarkovNetwork random_network(Dice& dice, const Schema& schema, std::size_t n_features,
                                    std::size_t max_length) {
  FeatureSet features = random_features(dice, schema, n_features, max_length);
  std::vector<double> weights = dice.numbers(features.size(), -1.5, 1.5);
  return {std::move(features), std::move(weights)};
}

// The terms of a network that test v.
inline LogLinearConditional terms_with(const MarkovNetwork& network, Variable v) {
  FeatureSetBuilder builder(network.schema());
  std::vector<double> weights;
  for (FeatureId j = 0; j < network.features().size(); ++j)
    if (std::ranges::count(network.features()[j], v, &Test::variable) != 0) {
      builder.add(network.features(), j);
      weights.push_back(network.weights()[j]);
    }
  return {v, MarkovNetwork(std::move(builder).finish(), std::move(weights))};
}

// Grows a tree, full or at random; inner nodes are uniform.
class TreeMaker {
 public:
  TreeMaker(const Schema& schema, Variable target) : schema_(schema), target_(target) {}

  template <class Leaf>
  DecisionTree full(Leaf&& leaf) && {
    Codes state(schema_.n_variables(), -1);
    grow_full(state, 0, 0, leaf);
    return {schema_, target_, std::move(nodes_), std::move(log_probabilities_)};
  }

  DecisionTree random(Dice& dice, std::size_t depth) && {
    grow_random(dice, depth);
    return {schema_, target_, std::move(nodes_), std::move(log_probabilities_)};
  }

 private:
  NodeId open() {
    nodes_.emplace_back();
    const std::size_t n = schema_.cardinality(target_);
    log_probabilities_.insert(log_probabilities_.end(), n, -std::log(static_cast<double>(n)));
    return static_cast<NodeId>(nodes_.size() - 1);
  }

  void close(NodeId node, Variable v, Value value, NodeId no) {
    nodes_[node] = {v, value, node + 1, no, 1.0};
  }

  void set_leaf(NodeId node, std::span<const double> p) {
    std::ranges::copy(p, log_probabilities_.begin() +
                             static_cast<std::ptrdiff_t>(node * schema_.cardinality(target_)));
  }

  // Asks for v = value, value + 1, ..., then for the next variable.
  template <class Leaf>
  void grow_full(Codes& state, Variable v, Value value, Leaf& leaf) {
    if (v == target_) return grow_full(state, v + 1, 0, leaf);
    if (v >= schema_.n_variables()) {
      state[target_] = 0;
      return set_leaf(open(), leaf(state));
    }
    state[v] = value;
    if (value + 1 == schema_.cardinality(v)) return grow_full(state, v + 1, 0, leaf);
    const NodeId node = open();
    grow_full(state, v + 1, 0, leaf);
    const auto no = static_cast<NodeId>(nodes_.size());
    grow_full(state, v, static_cast<Value>(value + 1), leaf);
    close(node, v, value, no);
  }

  // May split on what is decided already: then one side is reached by no row.
  void grow_random(Dice& dice, std::size_t depth) {
    const NodeId node = open();
    const auto v = static_cast<Variable>(dice.below(schema_.n_variables()));
    if (depth == 0 || v == target_ || dice.chance(0.1)) {
      std::vector<double> p = dice.numbers(schema_.cardinality(target_), 0.05, 1.0);
      double sum = 0;
      for (const double x : p) sum += x;
      for (double& x : p) x = std::log(x / sum);
      return set_leaf(node, p);
    }
    grow_random(dice, depth - 1);
    const auto no = static_cast<NodeId>(nodes_.size());
    grow_random(dice, depth - 1);
    close(node, v, static_cast<Value>(dice.below(schema_.cardinality(v))), no);
  }

  const Schema& schema_;
  Variable target_;
  std::vector<TreeNode> nodes_;
  std::vector<double> log_probabilities_;
};

// A leaf for every state of the other variables.
inline DecisionTree full_tree(const MarkovNetwork& network, Variable v) {
  return TreeMaker(network.schema(), v).full([&](const Codes& state) {
    return log_conditional(network.features(), network.weights(), state, v);
  });
}

// The conditionals of a Markov network: log-linear, as trees, or by turns.
enum class Form { terms, trees, mixed };

inline DependencyNetwork consistent(const MarkovNetwork& network, Form form) {
  std::vector<Conditional> conditionals;
  for (Variable v = 0; v < network.schema().n_variables(); ++v)
    if (form == Form::trees || (form == Form::mixed && v % 2 == 0))
      conditionals.emplace_back(full_tree(network, v));
    else
      conditionals.emplace_back(terms_with(network, v));
  return {network.schema(), std::move(conditionals)};
}

// Trees and log-linear conditionals that know nothing of each other.
inline DependencyNetwork inconsistent(Dice& dice, const Schema& schema) {
  std::vector<Conditional> conditionals;
  for (Variable v = 0; v < schema.n_variables(); ++v)
    if (v % 2 == 0)
      conditionals.emplace_back(TreeMaker(schema, v).random(dice, 5));
    else
      conditionals.emplace_back(terms_with(random_network(dice, schema, 15, 4), v));
  return {schema, std::move(conditionals)};
}

// log P(X_v = a | the rest of the state) for every a.
inline std::vector<double> local_conditional(const DependencyNetwork& network, CodeRow state,
                                             Variable v) {
  if (const auto* terms = std::get_if<LogLinearConditional>(&network[v]))
    return log_conditional(terms->terms().features(), terms->terms().weights(), state, v);
  const auto& tree = std::get<DecisionTree>(network[v]);
  NodeId node = 0;
  while (tree.nodes()[node].yes != 0) {
    const TreeNode& split = tree.nodes()[node];
    node = state[split.variable] == split.value ? split.yes : split.no;
  }
  const auto p = tree.log_probabilities(node);
  return {p.begin(), p.end()};
}

}  // namespace feldspar::testing
