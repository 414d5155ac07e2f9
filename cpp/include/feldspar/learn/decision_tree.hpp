// Grows a probabilistic decision tree for every variable, with all the others as predictors.
//
// A split sends X_j = v one way and the rest the other; for a binary X_j, v = 1. Its gain is that in
// log-likelihood of the target, leaves being multinomials smoothed by a Dirichlet prior:
//
//   LL(node) = sum_a n_a log((n_a + prior) / (n + l prior)),   l the target's number of values.
//
// The best split (ties: the lower variable, then the lower value) is made if its gain exceeds
// -(l - 1) log kappa, what the structure prior kappa^parameters takes for it, and both sides weigh
// at least min_leaf_weight. Which split is best does not depend on kappa: the tree of a smaller kappa
// is DecisionTree::pruned(least_gain(kappa, l)) of a larger one's, bit for bit.
// (Lowd and Davis, 2014, section 4.1; Chickering, Heckerman and Meek, 1997.)
//
// Cost: a node of n rows reads and packs n / 64 words for every test that can still split it; tests
// that leave too little on one side are dropped for the whole subtree. Weights are summed exactly
// (data/exact_weights.hpp), so equal counts give equal gains and ties are ties. Parallel over the
// targets; a tree depends on nothing but data and options. Without randomness.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/parallel.hpp>
#include <feldspar/base/simd.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/counts.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/data/exact_weights.hpp>
#include <feldspar/learn/split_bits.hpp>
#include <feldspar/model/decision_tree.hpp>

namespace feldspar {

struct TreeOptions {
  double kappa = 1.0;           // what each free parameter multiplies the prior of a tree by
  double min_leaf_weight = 10;  // of the examples in a leaf
  double prior = 1;             // of the Dirichlet distribution: what is added to every count

  void check() const {
    check_kappa(kappa);
    require(min_leaf_weight >= 0 && std::isfinite(min_leaf_weight),
            "min_leaf_weight must be finite and not negative, got ", min_leaf_weight);
    require(prior > 0 && std::isfinite(prior), "prior must be positive and finite, got ", prior);
  }
};

namespace detail {

// n log(n + added) of a count n: the parts that log-likelihoods are made of. Looked up where counts
// are few, with the same bits as computed.
class CountTerm {
 public:
  CountTerm(const ExactWeights& weights, double added) : unit_(weights.unit), added_(added) {
    constexpr std::uint64_t kMaxEntries = std::uint64_t{1} << 20;
    // With finer units, counts hardly repeat.
    const bool repeating = weights.unit >= 1.0 / 64;
    table_.resize(repeating ? std::min(weights.total + 1, kMaxEntries) : 0);
    for (std::uint64_t n = 0; n < table_.size(); ++n) table_[n] = compute(n);
  }

  FELDSPAR_ALWAYS_INLINE double operator()(std::uint64_t units) const noexcept {
    return units < table_.size() ? table_[units] : compute(units);
  }

 private:
  double compute(std::uint64_t units) const noexcept {
    const double n = static_cast<double>(units) * unit_;
    return n * std::log(n + added_);
  }

  double unit_, added_;
  std::vector<double> table_;
};

// What all trees are grown from.
struct TreeGround {
  const Dataset& data;
  const TreeOptions& options;
  const ExactWeights weights;
  const SplitData bits;
  const std::optional<PairCounts> pairs;  // none if weights had to be rounded
  const CountTerm value_term;
  std::map<Value, CountTerm> total_terms;  // by cardinality of the target
  std::uint64_t least_units = 0;           // in a leaf
  double rounding = 0;                     // see rounded()

  TreeGround(const Dataset& dataset, const TreeOptions& tree_options, const Execution& execution)
      : data(dataset),
        options(tree_options),
        weights(exact_weights(data.weights(), data.total_weight())),
        bits(data, weights),
        pairs(weights.unrounded(data.weights()) ? std::optional<PairCounts>(std::in_place, data, execution)
                                                : std::nullopt),
        value_term(weights, options.prior) {
    for (const Value l : data.schema().cardinalities())
      if (!total_terms.contains(l)) total_terms.try_emplace(l, weights, l * options.prior);
    // A leaf of 100 rows of weight 0.1 shall weigh 10.
    const double least = std::ceil(options.min_leaf_weight * (1 - 1e-12) / weights.unit);
    least_units = std::max<std::uint64_t>(1, least > static_cast<double>(weights.total) ? weights.total + 1 : static_cast<std::uint64_t>(least));
    const double n = data.total_weight() + 2;
    int exponent = 0;
    std::frexp(n * std::log(n), &exponent);
    rounding = std::ldexp(1.5, exponent - 48 + 52);
  }

  // Gains to the nearest multiple of 2^-48 of n log n, the size of the log-likelihoods whose difference they are:
  // what is equal on paper, above all to zero, is equal here too, in spite of rounding.
  double rounded(double gain) const noexcept { return (gain + rounding) - rounding; }
};

class TreeGrower {
 public:
  TreeGrower(const TreeGround& ground, Variable target)
      : ground_(ground),
        target_(target),
        n_values_(ground.data.schema().cardinality(target)),
        n_groups_(ground.bits.n_digits() * n_values_),
        total_term_(ground.total_terms.at(ground.data.schema().cardinality(target))),
        least_gain_(least_gain(ground.options.kappa, n_values_)) {}

  // `stopped` is asked before every node.
  template <class Stopped>
  DecisionTree grow(Stopped&& stopped) {
    grow_root();
    while (!open_.empty()) {
      if (stopped()) throw Interrupted();
      grow_next();
    }
    return {ground_.data.schema(), target_, std::move(nodes_), std::move(log_probabilities_)};
  }

 private:
  static constexpr NodeId kNone = ~NodeId{0};

  struct OpenNode {
    NodeId no_child_of = kNone;
    std::vector<std::uint64_t> values;  // units by value of the target
    NodeBits bits;                      // without tests: a leaf
  };
  struct Split {
    std::size_t test = 0;  // its place among the node's tests
    double gain = 0;
  };

  void grow_root();
  void grow_next();
  NodeId add_node(const OpenNode& node);
  void count(const NodeRows& rows);
  void count_root(const NodeRows& rows);
  std::optional<Split> best_split(std::span<const std::uint64_t> values, std::size_t n_tests);
  void split(NodeId id, const NodeRows& rows, std::span<const std::uint32_t> tests, std::span<const std::uint64_t> values, const Split& split);
  bool may_split(std::span<const std::uint64_t> values) const;
  double log_likelihood(std::span<const std::uint64_t> values) const;
  OpenNode fresh_node();

  const TreeGround& ground_;
  const Variable target_;
  const std::size_t n_values_, n_groups_;
  const CountTerm& total_term_;
  const double least_gain_;
  const SimdLevel simd_ = simd_level();

  std::vector<TreeNode> nodes_;
  std::vector<double> log_probabilities_;
  std::vector<OpenNode> open_;   // the next one last
  std::vector<OpenNode> spare_;  // their memory is used again

  // Of the node at hand.
  std::vector<Piece> pieces_;
  std::vector<Run> runs_;
  std::vector<std::uint64_t> counts_;  // [value][test]
  std::vector<std::uint32_t> kept_;    // places of the tests that leave enough on both sides
  std::vector<Word> gathered_;
};

inline TreeGrower::OpenNode TreeGrower::fresh_node() {
  if (spare_.empty()) return {};
  OpenNode node = std::move(spare_.back());
  spare_.pop_back();
  return node;
}

inline double TreeGrower::log_likelihood(std::span<const std::uint64_t> values) const {
  double sum = 0;
  std::uint64_t total = 0;
  for (const std::uint64_t n : values) {
    sum += ground_.value_term(n);
    total += n;
  }
  return sum - total_term_(total);
}

// A node with one value only cannot gain: n log((n + prior) / (n + l prior)) is convex and zero at
// zero, so two parts of it are never more than the whole.
inline bool TreeGrower::may_split(std::span<const std::uint64_t> values) const {
  const std::uint64_t total = std::accumulate(values.begin(), values.end(), std::uint64_t{0});
  return total >= 2 * ground_.least_units && std::ranges::find(values, total) == values.end();
}

inline NodeId TreeGrower::add_node(const OpenNode& node) {
  const auto id = static_cast<NodeId>(nodes_.size());
  if (node.no_child_of != kNone) nodes_[node.no_child_of].no = id;
  nodes_.emplace_back();
  const std::uint64_t total =
      std::accumulate(node.values.begin(), node.values.end(), std::uint64_t{0});
  const double prior = ground_.options.prior;
  const double whole = ground_.weights.weight(total) + static_cast<double>(n_values_) * prior;
  for (const std::uint64_t n : node.values)
    log_probabilities_.push_back(std::log((ground_.weights.weight(n) + prior) / whole));
  return id;
}

inline void TreeGrower::count(const NodeRows& rows) {
  counts_.resize(n_values_ * rows.n_tests);
  run_kernel<CountKernel>(simd_, &rows, counts_.data());
}

inline void TreeGrower::count_root(const NodeRows& rows) {
  const auto& tests = ground_.bits.tests();
  if (!ground_.pairs) count(rows);
  counts_.resize(n_values_ * tests.size());
  for (Value a = 0; a < n_values_; ++a)
    for (std::size_t t = 0; t < tests.size(); ++t) {
      std::uint64_t& n = counts_[a * tests.size() + t];
      if (tests[t].variable == target_)
        n = 0;  // so that it is dropped
      else if (ground_.pairs)
        n = static_cast<std::uint64_t>(
            ground_.pairs->count(target_, a, tests[t].variable, tests[t].value) / ground_.weights.unit);
    }
}

inline std::optional<TreeGrower::Split> TreeGrower::best_split(
    std::span<const std::uint64_t> values, std::size_t n_tests) {
  const std::uint64_t total = std::accumulate(values.begin(), values.end(), std::uint64_t{0});
  const std::uint64_t least = ground_.least_units, room = total - 2 * least;
  kept_.resize(n_tests);
  std::size_t n_kept = 0;
  for (std::size_t t = 0; t < n_tests; ++t) {
    std::uint64_t yes = 0;
    for (std::size_t a = 0; a < n_values_; ++a) yes += counts_[a * n_tests + t];
    kept_[n_kept] = static_cast<std::uint32_t>(t);
    n_kept += yes - least <= room;  // least <= yes <= total - least
  }
  kept_.resize(n_kept);
  const double whole = log_likelihood(values);
  std::optional<Split> best;
  for (const std::uint32_t t : kept_) {
    double yes = 0, no = 0;
    std::uint64_t n_yes = 0;
    for (std::size_t a = 0; a < n_values_; ++a) {
      const std::uint64_t n = counts_[a * n_tests + t];
      yes += ground_.value_term(n);
      no += ground_.value_term(values[a] - n);
      n_yes += n;
    }
    const double gain = ground_.rounded((yes - total_term_(n_yes)) + (no - total_term_(total - n_yes)) - whole);
    if (!best || gain > best->gain) best = Split{t, gain};
  }
  if (best && best->gain > least_gain_) return best;
  return std::nullopt;
}

inline void TreeGrower::split(NodeId id, const NodeRows& rows, std::span<const std::uint32_t> tests, std::span<const std::uint64_t> values, const Split& split) {
  const SplitTest& test = ground_.bits.tests()[tests[split.test]];
  nodes_[id] = {test.variable, test.value, id + 1, 0, split.gain};
  std::erase(kept_, split.test);  // the same for all rows on either side
  OpenNode yes = fresh_node(), no = fresh_node();
  yes.no_child_of = kNone;
  no.no_child_of = id;
  yes.values.clear(); no.values.clear();
  for (std::size_t a = 0; a < n_values_; ++a) {
    yes.values.push_back(counts_[a * rows.n_tests + split.test]);
    no.values.push_back(values[a] - yes.values.back());
  }
  const bool yes_open = may_split(yes.values), no_open = may_split(no.values);
  yes.bits.lengths.assign(n_groups_, 0); no.bits.lengths.assign(n_groups_, 0);
  std::size_t n_yes = 0, n_no = 0;
  for (const Piece& piece : rows.pieces) {
    const Word passed = rows.passed(piece.word, split.test);
    const auto ny = static_cast<std::uint32_t>(std::popcount(piece.rows & passed));
    const auto nn = static_cast<std::uint32_t>(std::popcount(piece.rows & ~passed));
    yes.bits.lengths[piece.group] += ny;
    no.bits.lengths[piece.group] += nn;
    n_yes += ny; n_no += nn;
  }
  yes.bits.tests.clear(); no.bits.tests.clear();
  yes.bits.words.clear(); no.bits.words.clear();
  if (yes_open) {
    for (auto k : kept_) yes.bits.tests.push_back(tests[k]);
    yes.bits.words.assign(words_for(n_yes) * kept_.size(), 0);
  }
  if (no_open) {
    for (auto k : kept_) no.bits.tests.push_back(tests[k]);
    no.bits.words.assign(words_for(n_no) * kept_.size(), 0);
  }
  gathered_.resize(kept_.size());
  if (yes_open || no_open)
    run_kernel<PartitionKernel>(simd_, &rows, split.test, std::span<const std::uint32_t>(kept_), gathered_.data(),
      yes_open ? yes.bits.words.data() : nullptr, no_open ? no.bits.words.data() : nullptr);
  open_.push_back(std::move(no));
  open_.push_back(std::move(yes));
}

inline void TreeGrower::grow_root() {
  const SplitData& bits = ground_.bits;
  pieces_ = bits.pieces(ground_.data.columns(), target_);
  OpenNode root;
  root.values.assign(n_values_, 0);
  for (const Piece& piece : pieces_) {
    runs_.push_back({piece.word, piece.rows});
    root.values[piece.group % n_values_] +=
        static_cast<std::uint64_t>(std::popcount(piece.rows)) << (piece.group / n_values_);
  }
  const NodeId id = add_node(root);
  if (!may_split(root.values)) return;
  const NodeRows rows{bits.words(), bits.tests().size(), pieces_, runs_, n_values_};
  count_root(rows);
  std::vector<std::uint32_t> tests(bits.tests().size());
  std::iota(tests.begin(), tests.end(), 0u);
  if (const auto best = best_split(root.values, tests.size())) split(id, rows, tests, root.values, *best);
}

inline void TreeGrower::grow_next() {
  OpenNode node = std::move(open_.back());
  open_.pop_back();
  const NodeId id = add_node(node);
  if (!node.bits.tests.empty()) {
    node.bits.list_rows(pieces_, runs_);
    const NodeRows rows{node.bits.words.data(), node.bits.tests.size(), pieces_, runs_, n_values_};
    count(rows);
    if (const auto best = best_split(node.values, rows.n_tests)) split(id, rows, node.bits.tests, node.values, *best);
  }
  spare_.push_back(std::move(node));
}

}  // namespace detail

inline std::vector<DecisionTree> grow_trees(const Dataset& data, const TreeOptions& options,
                                            const Execution& execution = {}) {
  options.check();
  const detail::TreeGround ground(data, options, execution);
  const auto caller = std::this_thread::get_id();
  std::vector<std::optional<DecisionTree>> grown(data.n_variables());
  std::atomic<std::size_t> n_done{0};
  const auto total = static_cast<double>(grown.size());
  parallel_for(grown.size(), execution, [&](std::size_t target) {
    const bool calling = std::this_thread::get_id() == caller;
    detail::TreeGrower grower(ground, static_cast<Variable>(target));
    grown[target] = grower.grow([&] {
      return calling ? execution.poll_stop()
                     : execution.monitor != nullptr && execution.monitor->stopped();
    });
    const std::size_t done = ++n_done;
    if (calling) execution.report({"trees", static_cast<double>(done), total});
  });
  execution.throw_if_stopped();
  std::vector<DecisionTree> trees;
  for (auto& tree : grown) trees.push_back(std::move(*tree));
  return trees;
}

}  // namespace feldspar
