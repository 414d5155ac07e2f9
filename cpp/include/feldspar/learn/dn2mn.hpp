// DN2MN: a dependency network becomes a Markov network, in closed form (Lowd 2012).
//
// The idea. Turn a state x into a base state x' one variable after the other, in an order o. Each
// step changes one variable, so the ratio of probabilities is that of one conditional:
//
//   P(x) / P(x') = prod_i P(x_t | z_i) / P(x'_t | z_i),   t = o[i],                (equation 4)
//
// z_i holding x' in the variables that come before t in the order and x in those after it. As a
// function of x, each factor is a log-linear model: a term of the conditional loses the tests of
// earlier variables where x' passes them, and vanishes where x' fails one; the denominator has the
// target at its base value too. If the network is consistent, the result is its joint distribution,
// whatever the order and the base state. If not, averages over orders and base states are better:
// a geometric mean of models is a mean of weights.
//
// - Base states are drawn from a product distribution; a term then keeps the share of its weight
//   that is the probability that the removed tests hold. A single base state is the case that puts
//   all probability on it.
// - Orders: one, also its opposite, or all rotations of one or both. Going round from the target in
//   the order, the tests kept are always the first few: a term with k tests has k sub-terms for all
//   n rotations, the one that keeps m others weighted by the number of rotations that begin behind
//   the m-th and not behind the (m+1)-th.
//
// Which way round: the paper fixes "the first i - 1 variables" in section 4.1 and drops the tests of
// variables before the target in table 2, both as in equation 4 and here. The example of section
// 4.2 (x^(2) = [X1, X2, T, T]) and a sentence of 5.2 have it the other way: what they describe is
// our result for the opposite order. The list in 5.2 leaves out the rotation that begins with X13,
// where X13 comes before X7 as well; its last share is 6/n, and the shares then add up to 1.
//
// Equal features are merged, always-true ones are left out as they change nothing, and so are those
// whose weights add up to exactly zero.
//
// Cost: for each order kept apart (one, or two opposite ones), O(tests of all terms) to find the
// sub-terms, which go into a tree of prefixes, and O(tests of the result) to write them down.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/hash.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/model/conditional_terms.hpp>
#include <feldspar/model/dependency_network.hpp>
#include <feldspar/model/markov_network.hpp>
#include <feldspar/model/product_distribution.hpp>

namespace feldspar {

enum class Orders {
  one,                 // the base order
  opposite,            // it and its reverse
  rotations,           // all rotations of the base order
  opposite_rotations,  // all rotations of both
};

inline Orders orders_named(std::string_view name) {
  if (name == "one") return Orders::one;
  if (name == "opposite") return Orders::opposite;
  if (name == "rotations") return Orders::rotations;
  require(name == "opposite-rotations",
          "orders: expected 'one', 'opposite', 'rotations' or 'opposite-rotations', got '", name,
          "'");
  return Orders::opposite_rotations;
}

struct Dn2mnOptions {
  Orders orders = Orders::opposite_rotations;
  std::vector<Variable> base_order;  // a permutation of the variables; empty: 0, 1, ..., n - 1

  void check(std::size_t n_variables) const {
    if (base_order.empty()) return;
    std::vector<Variable> sorted = base_order;
    std::ranges::sort(sorted);
    bool permutation = sorted.size() == n_variables;
    for (std::size_t i = 0; permutation && i < n_variables; ++i) permutation = sorted[i] == i;
    require(permutation, "base_order must name each of the ", n_variables, " variables once, got ",
            base_order.size(), " entries that do not");
  }
};

namespace detail {

// Sequences of tests, prefixes shared: node 0 is the empty sequence, every other node its parent's
// sequence and one more test. Parents come before their children.
class PrefixTree {
 public:
  static constexpr std::uint32_t kRoot = 0;

  // At most `n_tests` nodes will be added.
  explicit PrefixTree(std::size_t n_tests) : nodes_(1) {
    std::size_t capacity = 16;
    while (capacity < 2 * n_tests) capacity *= 2;
    table_.assign(capacity, kRoot);
  }

  std::size_t size() const noexcept { return nodes_.size(); }
  std::uint32_t parent(std::uint32_t node) const noexcept { return nodes_[node].parent; }
  Test last(std::uint32_t node) const noexcept { return nodes_[node].last; }

  // The node that adds `test` to `parent`, made if need be.
  std::uint32_t child(std::uint32_t parent, Test test) {
    const Node wanted{parent, test};
    const std::uint64_t key = (static_cast<std::uint64_t>(test.variable) << 32) | test.values;
    std::size_t place = combine_hash(key, parent) & (table_.size() - 1);
    for (; table_[place] != kRoot; place = (place + 1) & (table_.size() - 1))
      if (nodes_[table_[place]] == wanted) return table_[place];
    table_[place] = static_cast<std::uint32_t>(size());
    nodes_.push_back(wanted);
    return table_[place];
  }

 private:
  struct Node {
    std::uint32_t parent = kRoot;
    Test last{};

    friend bool operator==(const Node&, const Node&) = default;
  };

  std::vector<Node> nodes_;
  std::vector<std::uint32_t> table_;  // open addressing; kRoot marks a free place
};

// An order of the variables, or all rotations of one, as seen from a target.
class Orientation {
 public:
  Orientation(std::vector<std::size_t> positions, bool rotated)
      : positions_(std::move(positions)), rotated_(rotated) {}

  // How many steps round from the target to another variable, 1 ... n - 1.
  std::size_t distance(Variable target, Variable other) const noexcept {
    const std::size_t n = positions_.size();
    return (positions_[other] + n - positions_[target]) % n;
  }

  // The share of the orders that keep just the variables up to distance `kept`, where the next
  // variable of a term is at distance `next`: n if there is none. Such orders begin at a distance in
  // (kept, next]; the one that begins with the target, at distance n, keeps all.
  double share(Variable target, std::size_t kept, std::size_t next) const noexcept {
    const std::size_t n = positions_.size();
    if (rotated_) return static_cast<double>(next - kept) / static_cast<double>(n);
    const std::size_t beginning = n - positions_[target];
    return beginning > kept && beginning <= next ? 1 : 0;
  }

 private:
  std::vector<std::size_t> positions_;  // by variable
  bool rotated_;
};

inline std::vector<Orientation> orientations(std::size_t n_variables, const Dn2mnOptions& options) {
  std::vector<std::size_t> forward(n_variables), backward(n_variables);
  std::iota(forward.begin(), forward.end(), std::size_t{0});
  for (std::size_t i = 0; i < options.base_order.size(); ++i) forward[options.base_order[i]] = i;
  for (std::size_t v = 0; v < n_variables; ++v) backward[v] = n_variables - 1 - forward[v];
  const bool rotated =
      options.orders == Orders::rotations || options.orders == Orders::opposite_rotations;
  std::vector<Orientation> result{{std::move(forward), rotated}};
  if (options.orders == Orders::opposite || options.orders == Orders::opposite_rotations)
    result.emplace_back(std::move(backward), rotated);
  return result;
}

// Weighted features that add up.
class WeightedFeatures {
 public:
  explicit WeightedFeatures(const Schema& schema) : builder_(schema) {}

  ValueSetId intern(std::span<const Value> values) { return builder_.intern(values); }

  // `tests` in canonical form, their sets interned here.
  void add(std::span<const Test> tests, double weight) {
    const AddResult added = builder_.add_canonical(tests);
    if (added.outcome == Added::new_feature)
      weights_.push_back(weight);
    else if (added.outcome == Added::duplicate)
      weights_[added.feature] += weight;
  }

  MarkovNetwork finish() && {
    FeatureSet all = std::move(builder_).finish();
    if (std::ranges::count(weights_, 0.0) == 0) return {std::move(all), std::move(weights_)};
    FeatureSetBuilder kept(all.schema());
    for (FeatureId j = 0; j < all.size(); ++j)
      if (weights_[j] != 0) kept.add(all, j);
    std::erase(weights_, 0.0);
    return {std::move(kept).finish(), std::move(weights_)};
  }

 private:
  FeatureSetBuilder builder_;
  std::vector<double> weights_;
};

// The logarithm of one factor of equation 4, averaged over the orders of one orientation and over
// base states.
class ConvertedFactor {
 public:
  ConvertedFactor(Variable target, const MarkovNetwork& terms, const ProductDistribution& base,
                  const Orientation& orientation)
      : target_(target),
        terms_(terms.features()),
        base_(base),
        orientation_(orientation),
        contexts_(terms.features().n_tests()) {
    find_target_sets();
    for (FeatureId j = 0; j < terms_.size(); ++j)
      if (terms.weights()[j] != 0) add_term(j, terms.weights()[j]);
  }

  // Numerator and denominator, times `scale`.
  void write(double scale, WeightedFeatures& out) {
    std::vector<ValueSetId> numbers;  // of the target's tests, in the result
    for (const ValueSetId set : target_sets_) numbers.push_back(out.intern(terms_.values(set)));
    for (std::uint32_t context = 0; context < contexts_.size(); ++context) {
      gather(context, out);
      double at_base = 0;
      for (std::size_t s = 0; s < target_sets_.size(); ++s) {
        const double weight = scale * weights_[context * target_sets_.size() + s];
        if (weight == 0) continue;
        at_base += weight * base_.probability(target_, terms_.values(target_sets_[s]));
        target_test_->values = numbers[s];
        out.add(numerator_, weight);
      }
      if (at_base != 0) out.add(denominator_, -at_base);
    }
  }

 private:
  struct OtherTest {
    std::size_t distance;
    Test test;
  };

  // Numbers the different tests of the target.
  void find_target_sets() {
    for (const Test test : terms_.tests())
      if (test.variable == target_) target_sets_.push_back(test.values);
    std::ranges::sort(target_sets_);
    target_sets_.erase(std::unique(target_sets_.begin(), target_sets_.end()), target_sets_.end());
    weights_.assign(target_sets_.size(), 0.0);
  }

  // Adds the sub-terms of a term to their contexts.
  void add_term(FeatureId j, double weight) {
    const std::size_t set = split(j);
    // chances_[m]: that the base state passes all tests from the m-th on, which are removed.
    chances_.assign(others_.size() + 1, 1.0);
    for (std::size_t m = others_.size(); m-- > 0;)
      chances_[m] = chances_[m + 1] * base_.probability(others_[m].test.variable,
                                                        terms_.values(others_[m].test.values));
    std::uint32_t context = PrefixTree::kRoot;
    std::size_t reached = 0;  // tests in `context`: sub-terms without weight need no node
    for (std::size_t m = 0; m <= others_.size(); ++m) {
      const std::size_t kept = m == 0 ? 0 : others_[m - 1].distance;
      const std::size_t next =
          m == others_.size() ? base_.schema().n_variables() : others_[m].distance;
      const double part = orientation_.share(target_, kept, next) * chances_[m];
      if (part == 0) continue;
      for (; reached < m; ++reached) context = contexts_.child(context, others_[reached].test);
      weights_.resize(contexts_.size() * target_sets_.size(), 0.0);
      weights_[context * target_sets_.size() + set] += weight * part;
    }
  }

  // The other tests of a term, in the order from the target on; returns the number of the target's.
  std::size_t split(FeatureId j) {
    others_.clear();
    std::size_t set = 0;
    for (const Test test : terms_[j])
      if (test.variable == target_)
        set = static_cast<std::size_t>(std::ranges::lower_bound(target_sets_, test.values) -
                                       target_sets_.begin());
      else
        others_.push_back({orientation_.distance(target_, test.variable), test});
    std::ranges::sort(others_, {}, &OtherTest::distance);
    return set;
  }

  // The tests of a context, with and without one of the target.
  void gather(std::uint32_t context, WeightedFeatures& out) {
    denominator_.clear();
    for (; context != PrefixTree::kRoot; context = contexts_.parent(context)) {
      const auto [variable, values] = contexts_.last(context);
      denominator_.push_back({variable, out.intern(terms_.values(values))});
    }
    std::ranges::sort(denominator_, {}, &Test::variable);
    numerator_ = denominator_;
    const auto place = std::ranges::lower_bound(numerator_, target_, {}, &Test::variable);
    target_test_ = numerator_.insert(place, Test{target_, 0});
  }

  Variable target_;
  const FeatureSet& terms_;
  const ProductDistribution& base_;
  const Orientation& orientation_;
  PrefixTree contexts_;                  // what sub-terms keep besides their test of the target
  std::vector<ValueSetId> target_sets_;  // the different tests of the target, ascending
  std::vector<double> weights_;          // by context and test of the target
  std::vector<OtherTest> others_;        // of the term being added
  std::vector<double> chances_;
  std::vector<Test> numerator_, denominator_;  // being written
  std::vector<Test>::iterator target_test_;    // in the numerator
};

}  // namespace detail

// `base` is the distribution of base states: the training marginals do well, see above.
inline MarkovNetwork dn2mn(const DependencyNetwork& network, const ProductDistribution& base,
                           const Dn2mnOptions& options, const Execution& execution = {}) {
  const std::size_t n_variables = network.schema().n_variables();
  options.check(n_variables);
  require(base.schema() == network.schema(),
          "base: it has another schema than the dependency network");
  const auto orientations = detail::orientations(n_variables, options);
  const double scale = 1.0 / static_cast<double>(orientations.size());
  detail::WeightedFeatures result(network.schema());
  for (Variable v = 0; v < n_variables; ++v) {
    execution.poll_or_throw();
    const MarkovNetwork terms = conditional_terms(network, v);
    for (const detail::Orientation& orientation : orientations)
      detail::ConvertedFactor(v, terms, base, orientation).write(scale, result);
  }
  return std::move(result).finish();
}

}  // namespace feldspar
