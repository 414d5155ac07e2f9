// Trees grown the obvious way: every node adds up the weights of its rows for every test. Sums run
// over the rows in order, on either side of a split, so that equal sets of rows have equal sums.
#pragma once

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include <feldspar/base/types.hpp>
#include <feldspar/learn/decision_tree.hpp>
#include <feldspar/model/decision_tree.hpp>

#include "random_models.hpp"

namespace feldspar::testing {

class SlowTree {
 public:
  SlowTree(const Schema& schema, const Codes& codes, const std::vector<double>& weights,
           const TreeOptions& options, Variable target)
      : schema_(schema), codes_(codes), weights_(weights), options_(options), target_(target) {
    std::vector<std::size_t> rows(codes.size() / schema.n_variables());
    for (std::size_t r = 0; r < rows.size(); ++r) rows[r] = r;
    grow(rows);
  }

  DecisionTree tree() const { return {schema_, target_, nodes_, log_probabilities_}; }

 private:
  using Rows = std::vector<std::size_t>;

  std::vector<double> counts(const Rows& rows) const {
    std::vector<double> n(schema_.cardinality(target_), 0.0);
    for (const std::size_t r : rows) n[code(r, target_)] += weights_[r];
    return n;
  }
  std::size_t code(std::size_t r, Variable v) const {
    return static_cast<std::size_t>(codes_[r * schema_.n_variables() + v]);
  }
  static double sum(const std::vector<double>& n) {
    double total = 0;
    for (const double x : n) total += x;
    return total;
  }
  double log_probability(const std::vector<double>& n, std::size_t a) const {
    const double l = schema_.cardinality(target_);
    return std::log((n[a] + options_.leaf_prior) / (sum(n) + l * options_.leaf_prior));
  }
  double log_likelihood(const Rows& rows) const {
    const std::vector<double> n = counts(rows);
    double total = 0;
    for (std::size_t a = 0; a < n.size(); ++a) total += n[a] * log_probability(n, a);
    return total;
  }
  std::pair<Rows, Rows> sides(const Rows& rows, Variable v, Value value) const {
    std::pair<Rows, Rows> result;
    for (const std::size_t r : rows)
      (code(r, v) == value ? result.first : result.second).push_back(r);
    return result;
  }
  bool large_enough(const Rows& rows) const {
    return !rows.empty() && sum(counts(rows)) >= options_.min_leaf_weight * (1 - 1e-9);
  }

  void grow(const Rows& rows) {
    const auto id = static_cast<NodeId>(nodes_.size());
    nodes_.emplace_back();
    const std::vector<double> n = counts(rows);
    for (std::size_t a = 0; a < n.size(); ++a) log_probabilities_.push_back(log_probability(n, a));
    TreeNode best;
    for (Variable v = 0; v < schema_.n_variables(); ++v)
      for (Value value = 0; v != target_ && value < schema_.cardinality(v); ++value) {
        if (schema_.cardinality(v) == 2 && value == 0) continue;
        const auto [yes, no] = sides(rows, v, value);
        if (!large_enough(yes) || !large_enough(no)) continue;
        const double gain = (log_likelihood(yes) + log_likelihood(no)) - log_likelihood(rows);
        // A larger gain by rounding alone is a tie.
        if (best.yes == 0 || gain > best.gain + 1e-9) best = {v, value, id + 1, 0, gain};
      }
    const double l = schema_.cardinality(target_);
    if (best.yes == 0 || !(best.gain + (l - 1) * std::log(options_.kappa) > 1e-9)) return;
    const auto [yes, no] = sides(rows, best.variable, best.value);
    grow(yes);
    best.no = static_cast<NodeId>(nodes_.size());
    grow(no);
    nodes_[id] = best;
  }

  const Schema& schema_;
  const Codes& codes_;
  const std::vector<double>& weights_;
  const TreeOptions options_;
  const Variable target_;
  std::vector<TreeNode> nodes_;
  std::vector<double> log_probabilities_;
};

}  // namespace feldspar::testing
