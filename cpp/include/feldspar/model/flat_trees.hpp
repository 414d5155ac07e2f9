// A decision tree for every variable as flat arrays, the form in which they cross borders
// (bindings, files, pickles).
//
// Tree v has the nodes begin[v] ... begin[v + 1], in preorder. A split's `yes` child follows it;
// `no` is the place of the other child within the tree, 0 at a leaf. log_probabilities holds, node
// after node, as many numbers as the tree's target has values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/schema.hpp>
#include <feldspar/feature/flat_conjunctions.hpp>
#include <feldspar/model/conditional_trees.hpp>
#include <feldspar/model/decision_tree.hpp>

namespace feldspar {

struct FlatTrees {
  std::vector<std::int64_t> begin{0};
  std::vector<Variable> variables;
  std::vector<Value> values;
  std::vector<NodeId> no;
  std::vector<double> gains;
  std::vector<double> log_probabilities;
};

inline FlatTrees flatten(const ConditionalTrees& trees) {
  FlatTrees flat;
  for (const DecisionTree& tree : trees.trees()) {
    for (NodeId id = 0; id < tree.nodes().size(); ++id) {
      const TreeNode& node = tree.nodes()[id];
      flat.variables.push_back(node.variable);
      flat.values.push_back(node.value);
      flat.no.push_back(node.no);
      flat.gains.push_back(node.gain);
      const auto p = tree.log_probabilities(id);
      flat.log_probabilities.insert(flat.log_probabilities.end(), p.begin(), p.end());
    }
    flat.begin.push_back(static_cast<std::int64_t>(flat.variables.size()));
  }
  return flat;
}

// The inverse of flatten.
inline ConditionalTrees build_trees(Schema schema, std::span<const std::int64_t> begin,
                                    std::span<const Variable> variables,
                                    std::span<const Value> values, std::span<const NodeId> no,
                                    std::span<const double> gains,
                                    std::span<const double> log_probabilities) {
  const std::size_t n_nodes = variables.size();
  require(begin.size() == schema.n_variables() + 1, "begin must have ", schema.n_variables() + 1,
          " entries, got ", begin.size());
  detail::check_offsets(begin, n_nodes, "begin");
  require(values.size() == n_nodes && no.size() == n_nodes && gains.size() == n_nodes,
          "variables, values, no and gains must have one entry a node, got ", n_nodes, ", ",
          values.size(), ", ", no.size(), " and ", gains.size());
  std::vector<DecisionTree> trees;
  std::size_t used = 0;  // log-probabilities
  for (Variable v = 0; v < schema.n_variables(); ++v) {
    const auto first = static_cast<std::size_t>(begin[v]);
    const std::size_t n = static_cast<std::size_t>(begin[v + 1]) - first;
    std::vector<TreeNode> nodes;
    for (std::size_t i = first; i < first + n; ++i)
      nodes.push_back({variables[i], values[i],
                       no[i] == 0 ? NodeId{0} : static_cast<NodeId>(i - first + 1), no[i],
                       gains[i]});
    const std::size_t needed = n * schema.cardinality(v);
    require(used + needed <= log_probabilities.size(), "log_probabilities: got ",
            log_probabilities.size(), ", too few for the nodes of variable ", v);
    const auto own = log_probabilities.subspan(used, needed);
    trees.emplace_back(schema, v, std::move(nodes), std::vector<double>(own.begin(), own.end()));
    used += needed;
  }
  require(used == log_probabilities.size(), "log_probabilities: got ", log_probabilities.size(),
          "; expected ", used);
  return {std::move(schema), std::move(trees)};
}

}  // namespace feldspar
