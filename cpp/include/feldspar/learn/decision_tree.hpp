// Grows a probabilistic decision tree for every variable, with all the others as predictors.
//
// A split sends X_j = v one way and the rest the other; for a binary X_j, v = 1. Of the splits
// whose sides weigh at least min_leaf_weight, that with the largest gain in log-likelihood
// (split_gain.hpp; ties: the lower variable, then the lower value) is made if its gain exceeds
// -(l - 1) log kappa, what the structure prior kappa^parameters takes for it, l being the target's
// number of values.
// Which split is best does not depend on kappa: the tree of a smaller kappa is
// DecisionTree::pruned(least_gain(kappa, l)) of a larger one's, bit for bit.
// (Lowd and Davis, 2014, section 4.1; Chickering, Heckerman and Meek, 1997.)
//
// Cost: a node adds up the bits of the rows on the shorter side of its split (split_counts.hpp);
// the other side is the difference; the root takes the counts of all pairs, made once for all
// trees. A test that leaves too little on one side is dropped for the whole subtree. Weights are
// summed exactly (data/exact_weights.hpp), so equal counts give equal gains and ties are ties.
// Parallel over the targets; a tree depends on nothing but data and options. No randomness.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/parallel.hpp>
#include <feldspar/base/stop_sign.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/counts.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/data/exact_weights.hpp>
#include <feldspar/learn/split_counts.hpp>
#include <feldspar/learn/split_gain.hpp>
#include <feldspar/model/decision_tree.hpp>

namespace feldspar {

struct TreeOptions {
  double kappa = 1.0;           // what each free parameter multiplies the prior of a tree by
  double min_leaf_weight = 10;  // of the examples in a leaf
  double leaf_prior = 1;        // of the Dirichlet distribution: what is added to every count

  void check() const {
    check_kappa(kappa);
    require(min_leaf_weight >= 0 && std::isfinite(min_leaf_weight),
            "min_leaf_weight must be finite and not negative, got ", min_leaf_weight);
    require(leaf_prior > 0 && std::isfinite(leaf_prior),
            "leaf_prior must be positive and finite, got ", leaf_prior);
  }
};

namespace detail {

// What all trees are grown from.
struct TreeGround {
  TreeGround(const Dataset& dataset, const TreeOptions& tree_options, const Execution& execution)
      : data(dataset),
        options(tree_options),
        weights(exact_weights(data.weights(), data.total_weight())),
        digits(digit_rows(weights)),
        rows(data.columns()) {
    constexpr std::size_t kMostTests = 1 << 13;  // half a gigabyte of pairs
    if (rows.tests().size() <= kMostTests && weights.unrounded(data.weights()))
      pairs.emplace(data, execution);
    for (const Value l : data.schema().cardinalities())
      if (!gains.contains(l)) gains.try_emplace(l, weights, l, options.leaf_prior);
    // Not quite min_leaf_weight: a leaf of 100 rows of weight 0.1 shall weigh 10.
    const double least = std::ceil(options.min_leaf_weight * (1 - 1e-12) / weights.unit);
    const std::uint64_t too_much = weights.total + 1;
    least_units =
        least < static_cast<double>(too_much) ? static_cast<std::uint64_t>(least) : too_much;
    least_units = std::max<std::uint64_t>(least_units, 1);
  }

  const Dataset& data;
  const TreeOptions& options;
  ExactWeights weights;
  DigitRows digits;
  SplitRows rows;
  std::optional<PairCounts> pairs;   // none if too many; or if weights were rounded: not exact
  std::map<Value, SplitGain> gains;  // by number of values of the target
  std::uint64_t least_units = 0;     // in a leaf
};

// Grows one tree, depth first. A node is a stretch of the list of rows, which a split sorts.
class TreeGrower {
 public:
  TreeGrower(const TreeGround& ground, Variable target)
      : ground_(ground),
        target_(target),
        n_values_(ground.data.schema().cardinality(target)),
        gains_(ground.gains.at(ground.data.schema().cardinality(target))),
        least_gain_(least_gain(ground.options.kappa, n_values_)),
        counter_(ground.rows) {}

  // `stopped` is asked before every split.
  template <class Stopped>
  DecisionTree grow(Stopped&& stopped) {
    open_root();
    while (!open_.empty()) {
      Node node = std::move(open_.back());
      open_.pop_back();
      write(node);
      if (node.split) {
        if (stopped()) throw Interrupted();
        split(node);
      }
      spare_.push_back(std::move(node));
    }
    return {ground_.data.schema(), target_, std::move(nodes_), std::move(log_probabilities_)};
  }

 private:
  static constexpr NodeId kNone = ~NodeId{0};

  struct Node {
    NodeId no_child_of = kNone;          // its parent, if it is the `no` child
    std::size_t first = 0;               // its rows in list_, by value of the target, then digit
    std::vector<std::uint32_t> lengths;  // [value][digit]: how many rows
    std::vector<std::uint64_t> values;   // units by value of the target
    std::optional<BestSplit> split;      // none: a leaf; the rest is for splits only
    std::vector<std::uint32_t> tests;    // those that leave enough on both sides
    std::vector<std::uint64_t> counts;   // [value][test]: units that pass

    std::size_t n_rows() const noexcept {
      return std::accumulate(lengths.begin(), lengths.end(), std::size_t{0});
    }
  };

  void open_root();
  void list_rows(Node& root);
  void count_root(const Node& root, std::span<const std::uint32_t> tests);
  void split(Node& node);
  void sort_rows(const Node& node, Node& yes, Node& no);
  void count(const Node& node, std::span<const std::uint32_t> tests);
  void choose_split(Node& node, std::span<const std::uint32_t> tests,
                    std::span<const std::uint64_t> counts);
  bool may_split(const Node& node) const;
  Node fresh_node(NodeId no_child_of);
  void write(const Node& node);

  const TreeGround& ground_;
  const Variable target_;
  const std::size_t n_values_;
  const SplitGain& gains_;
  const double least_gain_;
  SplitCounter counter_;

  std::vector<TreeNode> nodes_;  // the tree so far
  std::vector<double> log_probabilities_;
  std::vector<Row> list_;    // rows, once for every digit of their weight
  std::vector<Node> open_;   // nodes whose split is chosen and not yet made; the next one last
  std::vector<Node> spare_;  // done; their memory is used again

  std::vector<Row> no_rows_;           // used in sort_rows
  std::vector<std::uint64_t> counts_;  // [value][test] of the node at hand
  std::vector<std::uint32_t> kept_;    // used in choose_split
};

inline void TreeGrower::open_root() {
  Node root;
  list_rows(root);
  std::vector<std::uint32_t> tests;
  for (std::uint32_t t = 0; t < ground_.rows.tests().size(); ++t)
    if (ground_.rows.tests()[t].variable != target_) tests.push_back(t);
  count_root(root, tests);
  choose_split(root, tests, counts_);
  open_.push_back(std::move(root));
}

// All rows by value of the target, then digit.
inline void TreeGrower::list_rows(Node& root) {
  const std::vector<Value> codes = ground_.data.columns().codes(target_);
  const std::size_t n_digits = ground_.digits.n_digits();
  root.lengths.assign(n_values_ * n_digits, 0);
  for (std::size_t d = 0; d < n_digits; ++d)
    for (const Row r : ground_.digits[d]) ++root.lengths[codes[r] * n_digits + d];
  root.values.assign(n_values_, 0);
  std::vector<std::size_t> next{0};
  for (std::size_t a = 0; a < n_values_; ++a)
    for (std::size_t d = 0; d < n_digits; ++d) {
      const std::uint32_t length = root.lengths[a * n_digits + d];
      root.values[a] += static_cast<std::uint64_t>(length) << d;
      next.push_back(next.back() + length);
    }
  list_.resize(next.back());
  no_rows_.resize(next.back());
  for (std::size_t d = 0; d < n_digits; ++d)
    for (const Row r : ground_.digits[d]) list_[next[codes[r] * n_digits + d]++] = r;
}

inline void TreeGrower::count_root(const Node& root, std::span<const std::uint32_t> tests) {
  if (!ground_.pairs) {
    count(root, tests);
    return;
  }
  counts_.clear();
  for (Value a = 0; a < n_values_; ++a)
    for (const std::uint32_t t : tests) {
      const SplitTest test = ground_.rows.tests()[t];
      const double weight = ground_.pairs->count(target_, a, test.variable, test.value);
      counts_.push_back(static_cast<std::uint64_t>(weight / ground_.weights.unit));
    }
}

// counts_ of a node for the given tests.
inline void TreeGrower::count(const Node& node, std::span<const std::uint32_t> tests) {
  const std::size_t n_digits = ground_.digits.n_digits();
  counts_.resize(n_values_ * tests.size());
  std::span<const Row> rest(list_.data() + node.first, node.n_rows());
  for (std::size_t a = 0; a < n_values_; ++a) {
    const auto lengths = std::span(node.lengths).subspan(a * n_digits, n_digits);
    const std::size_t n = std::accumulate(lengths.begin(), lengths.end(), std::size_t{0});
    counter_.count(rest.first(n), lengths, node.values[a], tests,
                   std::span(counts_).subspan(a * tests.size(), tests.size()));
    rest = rest.subspan(n);
  }
}

// A node with one value only cannot gain: n log((n + prior) / (n + l prior)) is convex and zero at
// zero, so two parts of it are never more than the whole.
inline bool TreeGrower::may_split(const Node& node) const {
  const auto& values = node.values;
  const std::uint64_t total = std::accumulate(values.begin(), values.end(), std::uint64_t{0});
  return total >= 2 * ground_.least_units && std::ranges::find(values, total) == values.end();
}

// From the tests of the parent and their counts in the node.
inline void TreeGrower::choose_split(Node& node, std::span<const std::uint32_t> tests,
                                     std::span<const std::uint64_t> counts) {
  node.split.reset();
  if (!may_split(node)) return;
  const std::size_t n_tests = tests.size();
  const std::uint64_t least = ground_.least_units;
  const std::uint64_t most =
      std::accumulate(node.values.begin(), node.values.end(), std::uint64_t{0}) - least;
  kept_.resize(n_tests);
  std::size_t n_kept = 0;
  for (std::uint32_t t = 0; t < n_tests; ++t) {
    std::uint64_t n_yes = 0;
    for (std::size_t a = 0; a < n_values_; ++a) n_yes += counts[a * n_tests + t];
    kept_[n_kept] = t;  // without a branch: it would be hard to predict
    n_kept += static_cast<std::size_t>(n_yes >= least) & static_cast<std::size_t>(n_yes <= most);
  }
  kept_.resize(n_kept);
  node.split = gains_.best(node.values, counts, kept_, least_gain_);
  if (!node.split) return;
  node.tests.resize(n_kept);
  for (std::size_t i = 0; i < n_kept; ++i) node.tests[i] = tests[kept_[i]];
  node.counts.resize(n_values_ * n_kept);
  for (std::size_t a = 0; a < n_values_; ++a)
    for (std::size_t i = 0; i < n_kept; ++i)
      node.counts[a * n_kept + i] = counts[a * n_tests + kept_[i]];
}

// Opens the children of a node that was written last. Its counts are used up.
inline void TreeGrower::split(Node& node) {
  const std::size_t n_tests = node.tests.size();
  Node yes = fresh_node(kNone), no = fresh_node(static_cast<NodeId>(nodes_.size() - 1));
  for (std::size_t a = 0; a < n_values_; ++a) {
    yes.values.push_back(node.counts[a * n_tests + node.split->place]);
    no.values.push_back(node.values[a] - yes.values[a]);
  }
  if (may_split(yes) || may_split(no)) {
    sort_rows(node, yes, no);
    const bool yes_is_smaller = no.first - yes.first <= node.n_rows() / 2;
    Node& small = yes_is_smaller ? yes : no;
    Node& large = yes_is_smaller ? no : yes;
    count(small, node.tests);
    for (std::size_t i = 0; i < counts_.size(); ++i) node.counts[i] -= counts_[i];
    choose_split(small, node.tests, counts_);
    choose_split(large, node.tests, node.counts);
  }
  open_.push_back(std::move(no));
  open_.push_back(std::move(yes));
}

// Moves the rows that pass before those that do not, both in the order they had.
inline void TreeGrower::sort_rows(const Node& node, Node& yes, Node& no) {
  const auto column = ground_.rows.column(node.tests[node.split->place]);
  const Row* next = list_.data() + node.first;
  Row *yes_end = list_.data() + node.first, *no_end = no_rows_.data();
  for (const std::uint32_t length : node.lengths) {
    const Row* const yes_begin = yes_end;
    for (std::uint32_t i = 0; i < length; ++i) {
      const Row r = *next++;
      const bool passes = test_bit(column, r);
      *yes_end = r;  // to both sides, so that nothing depends on a branch
      *no_end = r;
      yes_end += passes;
      no_end += !passes;
    }
    yes.lengths.push_back(static_cast<std::uint32_t>(yes_end - yes_begin));
    no.lengths.push_back(length - yes.lengths.back());
  }
  std::copy(no_rows_.data(), no_end, yes_end);
  yes.first = node.first;
  no.first = static_cast<std::size_t>(yes_end - list_.data());
}

inline TreeGrower::Node TreeGrower::fresh_node(NodeId no_child_of) {
  Node node;
  if (!spare_.empty()) {
    node = std::move(spare_.back());
    spare_.pop_back();
  }
  node.no_child_of = no_child_of;
  node.lengths.clear();
  node.values.clear();
  node.split.reset();
  return node;
}

// Adds a node to the tree.
inline void TreeGrower::write(const Node& node) {
  const auto id = static_cast<NodeId>(nodes_.size());
  if (node.no_child_of != kNone) nodes_[node.no_child_of].no = id;
  nodes_.emplace_back();
  if (node.split) {
    const SplitTest test = ground_.rows.tests()[node.tests[node.split->place]];
    nodes_.back() = {test.variable, test.value, id + 1, 0, node.split->gain};
  }
  double total = 0;
  for (const std::uint64_t n : node.values)
    total += ground_.weights.weight(n) + ground_.options.leaf_prior;
  for (const std::uint64_t n : node.values)
    log_probabilities_.push_back(
        std::log((ground_.weights.weight(n) + ground_.options.leaf_prior) / total));
}

}  // namespace detail

// One tree for each variable, in their order. Throws Interrupted if the monitor asks to stop.
inline std::vector<DecisionTree> grow_trees(const Dataset& data, const TreeOptions& options,
                                            const Execution& execution = {}) {
  options.check();
  const detail::TreeGround ground(data, options, execution);
  const auto total = static_cast<double>(data.n_variables());
  const StopSign stop(execution);
  std::atomic<int> n_done{0};
  std::vector<std::optional<DecisionTree>> grown(data.n_variables());
  parallel_for(grown.size(), execution, [&](std::size_t target) {
    detail::TreeGrower grower(ground, static_cast<Variable>(target));
    grown[target] = grower.grow([&] { return stop.interrupted(); });
    const int done = ++n_done;
    if (stop.on_calling_thread()) execution.report({"trees", static_cast<double>(done), total});
  });
  execution.throw_if_stopped();
  std::vector<DecisionTree> trees;
  for (auto& tree : grown) trees.push_back(std::move(*tree));
  return trees;
}

}  // namespace feldspar
