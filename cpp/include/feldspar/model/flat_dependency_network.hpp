// Dependency networks as flat arrays, the form in which they cross borders (bindings, pickles).
//
// Tree i is that of variable targets[i] and has the nodes node_begin[i] ... node_begin[i + 1], with
// children numbered from the tree's own root; log_probabilities has a number for each node and value
// of its target, in this order. Log-linear conditional i is that of variable targets[i] and has the
// terms begin[i] ... begin[i + 1]: conjunctions with weights. Together they name each variable once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/schema.hpp>
#include <feldspar/feature/flat_conjunctions.hpp>
#include <feldspar/model/decision_tree.hpp>
#include <feldspar/model/dependency_network.hpp>

namespace feldspar {

struct FlatTrees {
  std::vector<Variable> targets;
  std::vector<std::int64_t> node_begin{0};
  std::vector<Variable> variables;  // by node, as are the next four
  std::vector<Value> values;
  std::vector<NodeId> yes, no;
  std::vector<double> gains;
  std::vector<double> log_probabilities;
};

struct FlatTerms {
  std::vector<Variable> targets;
  std::vector<std::int64_t> begin{0};
  FlatConjunctions conjunctions;
  std::vector<double> weights;
};

namespace detail {

inline void place(std::vector<std::optional<Conditional>>& places, Conditional conditional) {
  const Variable target = target_of(conditional);
  require(!places[target].has_value(), "dependency network: variable ", target,
          " has two conditionals");
  places[target].emplace(std::move(conditional));
}

inline void check_target(const Schema& schema, Variable target) {
  require(target < schema.n_variables(), "dependency network: a conditional of variable ", target,
          ", which does not exist; there are ", schema.n_variables());
}

inline void place_trees(const Schema& schema, const FlatTrees& flat,
                        std::vector<std::optional<Conditional>>& places) {
  const std::size_t n_nodes = flat.variables.size();
  check_offsets(flat.node_begin, n_nodes, "node_begin");
  require(flat.node_begin.size() == flat.targets.size() + 1, "node_begin must have ",
          flat.targets.size() + 1, " entries, got ", flat.node_begin.size());
  require(flat.values.size() == n_nodes && flat.yes.size() == n_nodes &&
              flat.no.size() == n_nodes && flat.gains.size() == n_nodes,
          "trees: expected as many values, children and gains as variables: ", n_nodes);
  std::size_t first_probability = 0;
  for (std::size_t i = 0; i < flat.targets.size(); ++i) {
    check_target(schema, flat.targets[i]);
    std::vector<TreeNode> nodes;
    for (auto k = static_cast<std::size_t>(flat.node_begin[i]);
         k < static_cast<std::size_t>(flat.node_begin[i + 1]); ++k)
      nodes.push_back({flat.variables[k], flat.values[k], flat.yes[k], flat.no[k], flat.gains[k]});
    const std::size_t n = nodes.size() * schema.cardinality(flat.targets[i]);
    require(first_probability + n <= flat.log_probabilities.size(),
            "trees: too few log-probabilities: got ", flat.log_probabilities.size());
    const auto first =
        flat.log_probabilities.begin() + static_cast<std::ptrdiff_t>(first_probability);
    place(places, DecisionTree(schema, flat.targets[i], std::move(nodes),
                               {first, first + static_cast<std::ptrdiff_t>(n)}));
    first_probability += n;
  }
  require(first_probability == flat.log_probabilities.size(),
          "trees: too many log-probabilities: got ", flat.log_probabilities.size(), "; expected ",
          first_probability);
}

// Equal terms are merged, those that never or always hold are left out.
inline MarkovNetwork merge_terms(const Schema& schema, const FlatTerms& flat, std::size_t first,
                                 std::size_t last) {
  const FlatConjunctions& all = flat.conjunctions;
  const std::span<const std::int64_t> test_begin(all.begin);
  const std::span<const Variable> variables(all.variables);
  const std::span<const std::int64_t> value_begin(all.value_begin);
  FeatureSetBuilder builder(schema);
  std::vector<double> weights;
  std::vector<std::size_t> own_begin;
  for (std::size_t j = first; j < last; ++j) {
    const auto from = static_cast<std::size_t>(test_begin[j]);
    const std::size_t n = static_cast<std::size_t>(test_begin[j + 1]) - from;
    const auto own = value_begin.subspan(from, n + 1);
    own_begin.assign(own.begin(), own.end());
    const AddResult added = builder.add(variables.subspan(from, n), own_begin, all.values);
    if (added.outcome == Added::new_feature)
      weights.push_back(flat.weights[j]);
    else if (added.outcome == Added::duplicate)
      weights[added.feature] += flat.weights[j];
  }
  return {std::move(builder).finish(), std::move(weights)};
}

inline void place_terms(const Schema& schema, const FlatTerms& flat,
                        std::vector<std::optional<Conditional>>& places) {
  const FlatConjunctions& all = flat.conjunctions;
  check_offsets(all.begin, all.variables.size(), "conjunctions: begin");
  check_offsets(all.value_begin, all.values.size(), "conjunctions: value_begin");
  require(all.value_begin.size() == all.variables.size() + 1,
          "conjunctions: value_begin must have ", all.variables.size() + 1, " entries, got ",
          all.value_begin.size());
  require(flat.weights.size() + 1 == all.begin.size(), "terms: got ", flat.weights.size(),
          " weights for ", all.begin.size() - 1, " conjunctions");
  check_offsets(flat.begin, flat.weights.size(), "terms: begin");
  require(flat.begin.size() == flat.targets.size() + 1, "terms: begin must have ",
          flat.targets.size() + 1, " entries, got ", flat.begin.size());
  for (std::size_t i = 0; i < flat.targets.size(); ++i) {
    check_target(schema, flat.targets[i]);
    place(places,
          LogLinearConditional(flat.targets[i],
                               merge_terms(schema, flat, static_cast<std::size_t>(flat.begin[i]),
                                           static_cast<std::size_t>(flat.begin[i + 1]))));
  }
}

inline void append(const DecisionTree& tree, FlatTrees& flat) {
  flat.targets.push_back(tree.target());
  for (NodeId node = 0; node < tree.nodes().size(); ++node) {
    const TreeNode& n = tree.nodes()[node];
    flat.variables.push_back(n.variable);
    flat.values.push_back(n.value);
    flat.yes.push_back(n.yes);
    flat.no.push_back(n.no);
    flat.gains.push_back(n.gain);
    const auto p = tree.log_probabilities(node);
    flat.log_probabilities.insert(flat.log_probabilities.end(), p.begin(), p.end());
  }
  flat.node_begin.push_back(static_cast<std::int64_t>(flat.variables.size()));
}

inline void append(const LogLinearConditional& conditional, FlatTerms& flat) {
  const FlatConjunctions own = flatten(conditional.terms().features());
  FlatConjunctions& all = flat.conjunctions;
  const auto n_tests = static_cast<std::int64_t>(all.variables.size());
  const auto n_values = static_cast<std::int64_t>(all.values.size());
  for (std::size_t i = 1; i < own.begin.size(); ++i) all.begin.push_back(n_tests + own.begin[i]);
  for (std::size_t i = 1; i < own.value_begin.size(); ++i)
    all.value_begin.push_back(n_values + own.value_begin[i]);
  all.variables.insert(all.variables.end(), own.variables.begin(), own.variables.end());
  all.values.insert(all.values.end(), own.values.begin(), own.values.end());
  const auto& weights = conditional.terms().weights();
  flat.weights.insert(flat.weights.end(), weights.begin(), weights.end());
  flat.targets.push_back(conditional.target());
  flat.begin.push_back(static_cast<std::int64_t>(flat.weights.size()));
}

}  // namespace detail

inline DependencyNetwork build_dependency_network(const Schema& schema, const FlatTrees& trees,
                                                  const FlatTerms& terms) {
  std::vector<std::optional<Conditional>> places(schema.n_variables());
  detail::place_trees(schema, trees, places);
  detail::place_terms(schema, terms, places);
  std::vector<Conditional> conditionals;
  for (std::size_t v = 0; v < places.size(); ++v) {
    require(places[v].has_value(), "dependency network: variable ", v, " has no conditional");
    conditionals.push_back(std::move(*places[v]));
  }
  return {schema, std::move(conditionals)};
}

inline std::pair<FlatTrees, FlatTerms> flatten(const DependencyNetwork& network) {
  std::pair<FlatTrees, FlatTerms> flat;
  for (const Conditional& conditional : network.conditionals())
    if (const auto* tree = std::get_if<DecisionTree>(&conditional))
      detail::append(*tree, flat.first);
    else
      detail::append(std::get<LogLinearConditional>(conditional), flat.second);
  return flat;
}

}  // namespace feldspar
