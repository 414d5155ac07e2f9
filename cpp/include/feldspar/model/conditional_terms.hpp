// Any conditional of a dependency network as weighted conjunctions: one form for whatever has to
// treat trees and log-linear conditionals alike.
//
// A leaf of a tree becomes, for each value a of the target, the conjunction of the tests on its
// path and X_t = a, with the weight log P(X_t = a | leaf). Tests of one variable on a path are
// intersected to one set of values; a leaf that no row can reach has no terms.
//
// Cost: O(tests on all paths), and the sizes of their value sets.
#pragma once

#include <algorithm>
#include <cstddef>
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

namespace feldspar {

namespace detail {

// One step down a tree: X_variable = value, or not.
struct Branch {
  Variable variable;
  Value value;
  bool equal;
};

// Calls visit(leaf, branches from the root) for all leaves from left to right.
template <class Visit>
void for_each_leaf(const DecisionTree& tree, Visit&& visit) {
  std::vector<Branch> path;
  std::vector<std::size_t> open;  // places in `path` where the other branch is still to come
  const auto nodes = tree.nodes();
  for (NodeId node = 0; node < nodes.size(); ++node) {  // preorder: the next node is the next visit
    if (!nodes[node].is_leaf()) {
      open.push_back(path.size());
      path.push_back({nodes[node].variable, nodes[node].value, true});
      continue;
    }
    visit(node, std::span<const Branch>(path));
    if (open.empty()) return;
    path.resize(open.back() + 1);
    path.back().equal = false;
    open.pop_back();
  }
}

// The tests of a path, at most one for each variable.
struct PathTests {
  std::vector<Variable> variables;
  std::vector<std::size_t> value_begin{0};
  std::vector<Value> values;

  // False if the path contradicts itself.
  bool assign(const Schema& schema, std::span<const Branch> path) {
    sorted_.assign(path.begin(), path.end());
    std::ranges::sort(sorted_, {}, &Branch::variable);
    variables.clear();
    value_begin.assign(1, 0);
    values.clear();
    for (auto first = sorted_.begin(); first != sorted_.end();) {
      const auto last = std::find_if(
          first, sorted_.end(), [&](const Branch& b) { return b.variable != first->variable; });
      append_admitted(schema.cardinality(first->variable), {first, last});
      if (values.size() == value_begin.back()) return false;
      variables.push_back(first->variable);
      value_begin.push_back(values.size());
      first = last;
    }
    return true;
  }

 private:
  // The values that all branches, of one variable, let through.
  void append_admitted(Value cardinality, std::span<const Branch> branches) {
    const auto admitted = [&](Value a) {
      return std::ranges::all_of(branches,
                                 [&](const Branch& b) { return (a == b.value) == b.equal; });
    };
    const auto equal = std::ranges::find(branches, true, &Branch::equal);
    if (equal != branches.end()) {
      if (admitted(equal->value)) values.push_back(equal->value);
      return;
    }
    for (Value a = 0; a < cardinality; ++a)
      if (admitted(a)) values.push_back(a);
  }

  std::vector<Branch> sorted_;
};

inline MarkovNetwork terms_of(const Schema& schema, const DecisionTree& tree) {
  FeatureSetBuilder builder(schema);
  std::vector<double> weights;
  PathTests tests;
  const bool decided = tree.n_values() == 1;  // nothing to say of a variable with a single value
  for_each_leaf(tree, [&](NodeId leaf, std::span<const Branch> path) {
    if (decided || !tests.assign(schema, path)) return;
    tests.variables.push_back(tree.target());
    tests.values.push_back(0);
    tests.value_begin.push_back(tests.values.size());
    for (Value a = 0; a < tree.n_values(); ++a) {
      tests.values.back() = a;
      builder.add(tests.variables, tests.value_begin, tests.values);  // new: leaves are disjoint
      weights.push_back(tree.log_probabilities(leaf)[a]);
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
