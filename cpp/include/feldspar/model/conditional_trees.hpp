// A decision tree for every variable, and what they say of complete rows.
//
// Cost: a row goes down each tree once, whatever is asked of it, also for several kappas. Parallel
// over the trees; the sum over the rows of a tree is made in their order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/parallel.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/data/packed_columns.hpp>
#include <feldspar/data/schema.hpp>
#include <feldspar/model/decision_tree.hpp>

namespace feldspar {

class ConditionalTrees {
 public:
  // trees[v] is that of variable v.
  ConditionalTrees(Schema schema, std::vector<DecisionTree> trees)
      : schema_(std::move(schema)), trees_(std::move(trees)) {
    require(trees_.size() == schema_.n_variables(), "trees: got ", trees_.size(), " for ",
            schema_.n_variables(), " variables");
    for (Variable v = 0; v < trees_.size(); ++v)
      require(trees_[v].target() == v && trees_[v].n_values() == schema_.cardinality(v),
              "trees: number ", v, " is of variable ", trees_[v].target(), " with ",
              trees_[v].n_values(), " values; expected variable ", v, " with ",
              schema_.cardinality(v));
  }

  const Schema& schema() const noexcept { return schema_; }
  std::span<const DecisionTree> trees() const noexcept { return trees_; }
  std::size_t n_leaves() const noexcept {
    std::size_t n = 0;
    for (const DecisionTree& tree : trees_) n += tree.n_leaves();
    return n;
  }

  // The trees of a kappa not above that which they were grown with.
  ConditionalTrees pruned(double kappa) const {
    std::vector<DecisionTree> cut;
    for (const DecisionTree& tree : trees_)
      cut.push_back(tree.pruned(least_gain(kappa, tree.n_values())));
    return {schema_, std::move(cut)};
  }

 private:
  Schema schema_;
  std::vector<DecisionTree> trees_;
};

namespace detail {

// Calls use(v, row, the leaf of tree v that it falls into) for all trees and rows; for each tree in
// the order of the rows. Blocks of rows that fit into a cache go down all trees.
template <class Use>
void for_each_leaf(const ConditionalTrees& trees, std::span<const std::int32_t> codes,
                   const Execution& execution, Use&& use) {
  constexpr std::size_t kBlockCodes = std::size_t{1} << 16;
  const std::size_t n_variables = trees.schema().n_variables(), n_rows = codes.size() / n_variables;
  const std::size_t block = std::max<std::size_t>(64, kBlockCodes / n_variables);
  for (std::size_t first = 0; first < n_rows; first += block) {
    parallel_for(n_variables, execution, [&](std::size_t v) {
      const DecisionTree& tree = trees.trees()[v];
      for (std::size_t r = first; r < std::min(first + block, n_rows); ++r)
        use(static_cast<Variable>(v), r, tree.leaf(codes.subspan(r * n_variables, n_variables)));
    });
    execution.throw_if_stopped();
  }
}

// Adds up w log P(target | leaf) over what fell into the leaves, weights[node][value], after the
// tree is cut back to splits that gain more than `least`.
inline double pruned_log_likelihood(const DecisionTree& tree, std::span<const double> weights,
                                    double least) {
  const auto nodes = tree.nodes();
  std::vector<NodeId> stop(nodes.size(),
                           0);  // the first node on the way to each that is a leaf now
  double sum = 0;
  for (NodeId id = 0; id < nodes.size(); ++id) {
    if (!nodes[id].is_leaf()) {
      const bool split = stop[id] == id && nodes[id].gain > least;
      stop[nodes[id].yes] = split ? nodes[id].yes : stop[id];
      stop[nodes[id].no] = split ? nodes[id].no : stop[id];
      continue;
    }
    const auto log_probabilities = tree.log_probabilities(stop[id]);
    for (std::size_t a = 0; a < tree.n_values(); ++a)
      sum += weights[id * tree.n_values() + a] * log_probabilities[a];
  }
  return sum;
}

}  // namespace detail

// The sum over rows (each `weights` times; empty: once) and variables of log P(X_v = x_v | rest),
// for the trees of every kappa in `kappas`. `codes` is row-major.
inline std::vector<double> log_likelihoods(const ConditionalTrees& trees,
                                           std::span<const std::int32_t> codes,
                                           std::span<const double> weights,
                                           std::span<const double> kappas,
                                           const Execution& execution = {}) {
  const std::size_t n_rows = check_codes(trees.schema(), codes);
  detail::check_weights(weights, n_rows);
  for (const double kappa : kappas) check_kappa(kappa);
  // fallen[v][node][value]: the weight that fell into a leaf of tree v.
  std::vector<std::vector<double>> fallen;
  for (const DecisionTree& tree : trees.trees())
    fallen.emplace_back(tree.nodes().size() * tree.n_values(), 0.0);
  detail::for_each_leaf(trees, codes, execution, [&](Variable v, std::size_t r, NodeId leaf) {
    const auto value = static_cast<std::size_t>(codes[r * fallen.size() + v]);
    fallen[v][leaf * trees.trees()[v].n_values() + value] += weights.empty() ? 1.0 : weights[r];
  });
  std::vector<double> sums(kappas.size(), 0.0);
  for (std::size_t k = 0; k < kappas.size(); ++k)
    for (const DecisionTree& tree : trees.trees())
      sums[k] += detail::pruned_log_likelihood(tree, fallen[tree.target()],
                                               least_gain(kappas[k], tree.n_values()));
  return sums;
}

}  // namespace feldspar
