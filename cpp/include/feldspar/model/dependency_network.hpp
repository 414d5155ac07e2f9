// A dependency network: for every variable a conditional distribution given all the others
// (Heckerman et al. 2000). The conditionals were learned or written down one by one and need not
// belong to any joint distribution; where they do, the network is called consistent.
//
// A conditional is a decision tree or log-linear:
//
//   P(X_t = a | rest) proportional to exp(sum of the weights of the terms that hold with X_t = a).
//
// Logistic regression is of that kind: terms (X_t = a) and (X_t = a & X_j = u).
#pragma once

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/schema.hpp>
#include <feldspar/model/decision_tree.hpp>
#include <feldspar/model/markov_network.hpp>

namespace feldspar {

class LogLinearConditional {
 public:
  // Every term tests the target: one that does not would weigh all of the target's values alike.
  LogLinearConditional(Variable target, MarkovNetwork terms);

  Variable target() const noexcept { return target_; }
  const MarkovNetwork& terms() const noexcept { return terms_; }

 private:
  Variable target_;
  MarkovNetwork terms_;
};

using Conditional = std::variant<DecisionTree, LogLinearConditional>;

inline Variable target_of(const Conditional& conditional) noexcept {
  return std::visit([](const auto& c) { return c.target(); }, conditional);
}

class DependencyNetwork {
 public:
  // One conditional for each variable, in the order of the variables, all over `schema`.
  DependencyNetwork(Schema schema, std::vector<Conditional> conditionals);

  const Schema& schema() const noexcept { return schema_; }
  std::span<const Conditional> conditionals() const noexcept { return conditionals_; }
  const Conditional& operator[](Variable v) const noexcept { return conditionals_[v]; }

 private:
  Schema schema_;
  std::vector<Conditional> conditionals_;
};

// The variables that the conditional of `v` looks at, in ascending order: splits that lead
// somewhere or terms of non-zero weight.
inline std::vector<Variable> parents(const DependencyNetwork& network, Variable v);

namespace detail {

inline void check_conditional(const Schema& schema, const DecisionTree& tree) {
  constexpr double kRounding = 1e-5;
  const Variable target = tree.target();
  require(tree.n_values() == schema.cardinality(target), "tree of variable ", target, ": it has ",
          tree.n_values(), " values, the schema ", schema.cardinality(target));
  for (NodeId node = 0; node < tree.nodes().size(); ++node) {
    const TreeNode& n = tree.nodes()[node];
    if (n.is_leaf()) {
      double sum = 0;
      for (const double p : tree.log_probabilities(node)) sum += std::exp(p);
      require(std::abs(sum - 1) <= kRounding, "tree of variable ", target, ": the probabilities ",
              "of leaf ", node, " add up to ", sum, "; expected 1");
    } else {
      require(n.variable < schema.n_variables() && n.value < schema.cardinality(n.variable),
              "tree of variable ", target, ": node ", node, " splits on variable ", n.variable,
              ", value ", n.value, ", which the schema does not have");
    }
  }
}

inline void check_conditional(const Schema& schema, const LogLinearConditional& conditional) {
  require(conditional.terms().schema() == schema, "terms of variable ", conditional.target(),
          ": they have another schema than the network");
}

inline void add_parents(const DecisionTree& tree, std::set<Variable>& parents) {
  for (const TreeNode& node : tree.nodes())
    if (!node.is_leaf()) parents.insert(node.variable);
}

inline void add_parents(const LogLinearConditional& conditional, std::set<Variable>& parents) {
  const MarkovNetwork& terms = conditional.terms();
  for (FeatureId j = 0; j < terms.features().size(); ++j)
    if (terms.weights()[j] != 0)
      for (const Test test : terms.features()[j])
        if (test.variable != conditional.target()) parents.insert(test.variable);
}

}  // namespace detail

inline LogLinearConditional::LogLinearConditional(Variable target, MarkovNetwork terms)
    : target_(target), terms_(std::move(terms)) {
  require(target < terms_.schema().n_variables(), "terms: variable ", target,
          " does not exist; there are ", terms_.schema().n_variables());
  for (FeatureId j = 0; j < terms_.features().size(); ++j)
    require(std::ranges::count(terms_.features()[j], target, &Test::variable) == 1,
            "terms of variable ", target, ": term ", j,
            " does not test it; expected a test of the variable whose conditional it belongs to");
}

inline DependencyNetwork::DependencyNetwork(Schema schema, std::vector<Conditional> conditionals)
    : schema_(std::move(schema)), conditionals_(std::move(conditionals)) {
  require(conditionals_.size() == schema_.n_variables(), "dependency network: got ",
          conditionals_.size(), " conditionals for ", schema_.n_variables(), " variables");
  for (Variable v = 0; v < schema_.n_variables(); ++v) {
    require(target_of(conditionals_[v]) == v, "dependency network: conditional ", v,
            " is that of variable ", target_of(conditionals_[v]), "; expected variable ", v);
    std::visit([&](const auto& c) { detail::check_conditional(schema_, c); }, conditionals_[v]);
  }
}

inline std::vector<Variable> parents(const DependencyNetwork& network, Variable v) {
  std::set<Variable> found;
  std::visit([&](const auto& c) { detail::add_parents(c, found); }, network[v]);
  return {found.begin(), found.end()};
}

}  // namespace feldspar
