// A probabilistic decision tree: the distribution of one variable, the target, given the others.
//
// A split sends the rows with X_variable = value to its `yes` child and the others to its `no`
// child. Every node, not only a leaf, has the distribution of the target among the examples that
// reach it and the gain of its split, so that a tree can be cut back without going to the data
// again.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/schema.hpp>

namespace feldspar {

using NodeId = std::uint32_t;

inline void check_kappa(double kappa) {
  require(kappa > 0 && kappa <= 1, "kappa must be above 0 and at most 1, got ", kappa);
}

// What a split must gain if each free parameter multiplies the prior probability of a tree by kappa
// and a split adds one distribution over `n_values` values.
inline double least_gain(double kappa, std::size_t n_values) {
  check_kappa(kappa);
  return -static_cast<double>(n_values - 1) * std::log(kappa);
}

struct TreeNode {
  Variable variable = 0;  // of the split, as are the next fields; all zero at a leaf
  Value value = 0;
  NodeId yes = 0, no = 0;
  double gain = 0;  // of log-likelihood, in the data that the tree was grown from

  bool is_leaf() const noexcept { return yes == 0; }

  friend bool operator==(const TreeNode&, const TreeNode&) = default;
};

class DecisionTree {
 public:
  // `nodes` in preorder: a split is followed by its `yes` subtree, then by its `no` subtree; node 0
  // is the root. `log_probabilities` holds log P(target = a | node) at [node][a].
  DecisionTree(const Schema& schema, Variable target, std::vector<TreeNode> nodes,
               std::vector<double> log_probabilities);

  Variable target() const noexcept { return target_; }
  std::size_t n_values() const noexcept { return n_values_; }
  std::span<const TreeNode> nodes() const noexcept { return nodes_; }
  std::size_t n_leaves() const noexcept { return (nodes_.size() + 1) / 2; }

  std::span<const double> log_probabilities(NodeId node) const noexcept {
    return {log_probabilities_.data() + node * n_values_, n_values_};
  }

  // The leaf that a row of codes, one for each variable, falls into.
  NodeId leaf(std::span<const std::int32_t> row) const noexcept {
    NodeId node = 0;
    while (!nodes_[node].is_leaf())
      node = row[nodes_[node].variable] == nodes_[node].value ? nodes_[node].yes : nodes_[node].no;
    return node;
  }

  // The tree cut off at the first node, on every path, whose gain does not exceed `least_gain`.
  DecisionTree pruned(double least_gain) const;

  friend bool operator==(const DecisionTree&, const DecisionTree&) = default;

 private:
  DecisionTree() = default;

  Variable target_ = 0;
  std::size_t n_values_ = 0;
  std::vector<TreeNode> nodes_;
  std::vector<double> log_probabilities_;
};

namespace detail {

// Checks the subtree at `node`, whose nodes must follow each other, and returns where it ends.
inline NodeId check_subtree(const Schema& schema, Variable target, std::span<const TreeNode> nodes,
                            NodeId node) {
  // Not recursive: a path may be as long as the tree. `open` holds the splits whose `no` child is
  // still to come.
  std::vector<NodeId> open;
  for (;; ++node) {
    require(node < nodes.size(), "tree of variable ", target, ": node ", node, " is missing");
    const TreeNode& n = nodes[node];
    if (!n.is_leaf()) {
      require(n.variable < schema.n_variables() && n.variable != target, "tree of variable ",
              target, ": node ", node, " splits on variable ", n.variable,
              "; expected another variable below ", schema.n_variables());
      require(n.value < schema.cardinality(n.variable), "tree of variable ", target, ": node ",
              node, " splits on value ", n.value, "; expected 0 to ",
              schema.cardinality(n.variable) - 1);
      require(n.yes == node + 1 && n.no > n.yes && std::isfinite(n.gain), "tree of variable ",
              target, ": node ", node, " is not in preorder or has no finite gain");
      open.push_back(node);
      continue;
    }
    require(n.no == 0, "tree of variable ", target, ": node ", node, " has one child");
    if (open.empty()) return node + 1;
    require(nodes[open.back()].no == node + 1, "tree of variable ", target, ": node ", open.back(),
            " has its `no` child at ", nodes[open.back()].no, "; expected ", node + 1);
    open.pop_back();
  }
}

}  // namespace detail

inline DecisionTree::DecisionTree(const Schema& schema, Variable target,
                                  std::vector<TreeNode> nodes,
                                  std::vector<double> log_probabilities)
    : target_(target), nodes_(std::move(nodes)), log_probabilities_(std::move(log_probabilities)) {
  require(target < schema.n_variables(), "tree: variable ", target, " does not exist; there are ",
          schema.n_variables());
  n_values_ = schema.cardinality(target);
  const NodeId end = detail::check_subtree(schema, target, nodes_, 0);
  require(end == nodes_.size(), "tree of variable ", target, ": got ", nodes_.size(),
          " nodes, of which ", end, " are reached");
  require(log_probabilities_.size() == nodes_.size() * n_values_, "tree of variable ", target,
          ": got ", log_probabilities_.size(), " log-probabilities for ", nodes_.size(),
          " nodes and ", n_values_, " values");
  for (const double p : log_probabilities_)
    require(std::isfinite(p) && p <= 1e-9, "tree of variable ", target, ": log-probability ", p,
            "; expected a finite number, not positive");
}

inline DecisionTree DecisionTree::pruned(double least_gain) const {
  DecisionTree cut;
  cut.target_ = target_;
  cut.n_values_ = n_values_;
  std::vector<NodeId> open;   // splits of the new tree whose `no` child is still to come
  std::vector<NodeId> later;  // and where it comes from in the old tree
  for (NodeId from = 0;;) {
    const auto here = static_cast<NodeId>(cut.nodes_.size());
    const auto p = log_probabilities(from);
    cut.log_probabilities_.insert(cut.log_probabilities_.end(), p.begin(), p.end());
    if (!nodes_[from].is_leaf() && nodes_[from].gain > least_gain) {
      cut.nodes_.push_back(nodes_[from]);
      cut.nodes_.back().yes = here + 1;
      open.push_back(here);
      later.push_back(nodes_[from].no);
      from = nodes_[from].yes;
      continue;
    }
    cut.nodes_.emplace_back();
    if (open.empty()) return cut;
    cut.nodes_[open.back()].no = here + 1;
    from = later.back();
    open.pop_back();
    later.pop_back();
  }
}

}  // namespace feldspar
