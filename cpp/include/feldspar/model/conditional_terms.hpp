// Any conditional of a dependency network as weighted conjunctions: one form for whatever has to
// treat trees and log-linear conditionals alike.
//
// A leaf of a tree becomes, for each value a of the target, the conjunction of the tests on its
// path and X_t = a, with the weight log P(X_t = a | leaf). Tests of one variable on a path are
// intersected to one set of values; a leaf that no row can reach has no terms.
//
// Cost: O(tests on all paths), and the sizes of their value sets.
#pragma once

#include <span>
#include <utility>
#include <variant>
#include <vector>

#include <feldspar/base/types.hpp>
#include <feldspar/data/schema.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/model/decision_tree.hpp>
#include <feldspar/model/dependency_network.hpp>
#include <feldspar/model/markov_network.hpp>
#include <feldspar/model/tree_paths.hpp>

namespace feldspar {

namespace detail {

inline MarkovNetwork terms_of(const Schema& schema, const DecisionTree& tree) {
  FeatureSetBuilder builder(schema);
  std::vector<double> weights;
  PathTests tests;
  const bool decided = tree.n_values() == 1;  // nothing to say of a variable with a single value
  for_each_path(tree, [&](NodeId node, std::span<const Branch> path) {
    if (decided || !tree.nodes()[node].is_leaf() || !tests.assign(schema, path)) return;
    for (Value a = 0; a < tree.n_values(); ++a) {
      tests.push(tree.target(), {&a, 1});
      tests.add_to(builder);  // new: leaves are disjoint
      tests.pop();
      weights.push_back(tree.log_probabilities(node)[a]);
    }
  });
  return {std::move(builder).finish(), std::move(weights)};
}

inline MarkovNetwork terms_of(const Schema&, const LogLinearConditional& conditional) {
  return conditional.terms();
}

}  // namespace detail

// The weights of the terms that hold with X_v = a add up to log P(X_v = a | rest), but for a number
// that is the same for all a (and zero for a tree).
inline MarkovNetwork conditional_terms(const DependencyNetwork& network, Variable v) {
  return std::visit([&](const auto& c) { return detail::terms_of(network.schema(), c); },
                    network[v]);
}

}  // namespace feldspar
