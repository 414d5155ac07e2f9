// Samples from a dependency network: Gibbs sampling in the fixed order 0, 1, ..., n - 1.
//
// The distribution of a dependency network is the stationary distribution of this sampler
// (Heckerman et al. 2000): the joint distribution where the conditionals belong to one, else one
// that depends on the order and need not have these conditionals.
//
// Each chain starts in a state drawn uniformly and has a random stream of its own; chains run in
// parallel, and the same seed gives the same samples for any number of threads. Cost of drawing one
// variable: a descent of its tree; or one table row for each other variable that a log-linear
// conditional pairs it with, and a look at each of its longer terms.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <variant>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/numeric.hpp>
#include <feldspar/base/parallel.hpp>
#include <feldspar/base/random.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/model/decision_tree.hpp>
#include <feldspar/model/dependency_network.hpp>

namespace feldspar {

struct DependencyGibbsOptions {
  std::int64_t n_samples = 1000;  // of all chains together
  int burn_in = 100;              // sweeps of each chain before its first sample
  int thinning = 1;               // sweeps from one sample of a chain to its next
  int n_chains = 10;              // they share the samples as evenly as may be
  std::uint64_t seed = 0;

  void check() const {
    require(n_samples >= 1, "n_samples must be at least 1, got ", n_samples);
    require(burn_in >= 0, "burn_in must not be negative, got ", burn_in);
    require(thinning >= 1, "thinning must be at least 1, got ", thinning);
    require(n_chains >= 1, "n_chains must be at least 1, got ", n_chains);
  }
};

namespace detail {

using State = std::span<const std::int32_t>;

// Draws the target of a tree given all other variables.
class TreeDraw {
 public:
  explicit TreeDraw(const DecisionTree& tree) : tree_(&tree) {
    for (NodeId node = 0; node < tree.nodes().size(); ++node)
      for (const double p : tree.log_probabilities(node))
        probabilities_.push_back(exp_negative(std::min(p, 0.0)));
  }

  std::size_t operator()(State state, Random& random, std::vector<double>&) const {
    const std::size_t n = tree_->n_values();
    return random.choose({probabilities_.data() + tree_->leaf(state) * n, n});
  }

 private:
  const DecisionTree* tree_;
  std::vector<double> probabilities_;  // by node and value
};

// The same for a log-linear conditional. Terms with one other test are added up beforehand in a
// table for each other variable: whatever their number, they cost one row of the table. A row has
// what the other variable's value adds to the score of each value of the target, less what it adds
// to that of value 0; for a binary target that is a single number. (No table where it would be much
// larger than the terms are.)
class LogLinearDraw {
 public:
  explicit LogLinearDraw(const LogLinearConditional& conditional);

  std::size_t operator()(State state, Random& random, std::vector<double>& scores) const {
    scores.assign(start_.begin(), start_.end());
    if (scores.size() == 2)
      scores[1] += margin(state);
    else
      add_rows(state, scores);
    for (const FeatureId j : long_terms_)
      if (holds_for(j, state))
        for (const Value a : target_values(j)) scores[a] += terms_->weights()[j];
    const double top = *std::ranges::max_element(scores);
    for (double& s : scores) s = exp_negative(s - top);
    return random.choose(scores);
  }

 private:
  struct Pair {
    Variable other;
    std::size_t table;  // where its table starts
  };

  double margin(State state) const noexcept {
    double sum = 0;
    for (const Pair& pair : pairs_)
      sum += tables_[pair.table + static_cast<std::size_t>(state[pair.other])];
    return sum;
  }

  void add_rows(State state, std::span<double> scores) const noexcept {
    const std::size_t width = scores.size() - 1;
    for (const Pair& pair : pairs_) {
      const double* row =
          tables_.data() + pair.table + static_cast<std::size_t>(state[pair.other]) * width;
      for (std::size_t a = 0; a < width; ++a) scores[a + 1] += row[a];
    }
  }

  // What a term's test of the target admits.
  std::span<const Value> target_values(FeatureId j) const noexcept {
    const auto tests = terms_->features()[j];
    return terms_->features().values(std::ranges::find(tests, target_, &Test::variable)->values);
  }

  bool holds_for(FeatureId j, State state) const noexcept {
    return std::ranges::all_of(terms_->features()[j], [&](Test test) {
      if (test.variable == target_) return true;
      const auto values = terms_->features().values(test.values);
      const auto value = static_cast<Value>(state[test.variable]);
      return values.size() == 1 ? values[0] == value : std::ranges::binary_search(values, value);
    });
  }

  void add_pairs(Variable other, std::span<const FeatureId> terms);

  Variable target_;
  const MarkovNetwork* terms_;
  std::vector<double> start_;  // by value of the target: what no other variable decides
  std::vector<Pair> pairs_;
  std::vector<double> tables_;  // of all pairs, by the other's value and the target's from 1 on
  std::vector<FeatureId> long_terms_;
};

inline LogLinearDraw::LogLinearDraw(const LogLinearConditional& conditional)
    : target_(conditional.target()),
      terms_(&conditional.terms()),
      start_(terms_->schema().cardinality(target_), 0.0) {
  const FeatureSet& features = terms_->features();
  std::map<Variable, std::vector<FeatureId>> by_other;
  for (FeatureId j = 0; j < features.size(); ++j) {
    const auto tests = features[j];
    if (tests.size() == 1)
      for (const Value a : target_values(j)) start_[a] += terms_->weights()[j];
    else if (tests.size() == 2)
      by_other[tests[tests[0].variable == target_ ? 1 : 0].variable].push_back(j);
    else
      long_terms_.push_back(j);
  }
  for (const auto& [other, terms] : by_other) add_pairs(other, terms);
}

inline void LogLinearDraw::add_pairs(Variable other, std::span<const FeatureId> terms) {
  const FeatureSet& features = terms_->features();
  const std::size_t width = start_.size() - 1;
  const std::size_t table_size = width * terms_->schema().cardinality(other);
  const auto other_values = [&](FeatureId j) {
    return features.values(std::ranges::find(features[j], other, &Test::variable)->values);
  };
  std::size_t n_entries = 0;
  for (const FeatureId j : terms) n_entries += other_values(j).size() * target_values(j).size();
  if (table_size > 64 + 4 * n_entries) {
    long_terms_.insert(long_terms_.end(), terms.begin(), terms.end());
    return;
  }
  pairs_.push_back({other, tables_.size()});
  tables_.resize(tables_.size() + table_size, 0.0);
  double* table = tables_.data() + pairs_.back().table;
  for (const FeatureId j : terms)
    for (const Value u : other_values(j))
      for (const Value a : target_values(j)) {
        double* row = table + u * width;
        if (a > 0)
          row[a - 1] += terms_->weights()[j];
        else
          for (std::size_t b = 0; b < width; ++b) row[b] -= terms_->weights()[j];
      }
}

using Draw = std::variant<TreeDraw, LogLinearDraw>;

inline std::vector<Draw> draws_of(const DependencyNetwork& network) {
  std::vector<Draw> draws;
  for (const Conditional& conditional : network.conditionals())
    if (const auto* tree = std::get_if<DecisionTree>(&conditional))
      draws.emplace_back(TreeDraw(*tree));
    else
      draws.emplace_back(LogLinearDraw(std::get<LogLinearConditional>(conditional)));
  return draws;
}

// A chain and what it still has to do; `out` takes its samples.
class Chain {
 public:
  Chain(const Schema& schema, const DependencyGibbsOptions& options, std::uint64_t number,
        std::span<std::int32_t> out)
      : random_(options.seed, {"dependency_gibbs", number}),
        out_(out),
        until_sample_(std::int64_t{options.burn_in} + options.thinning),
        thinning_(options.thinning) {
    for (const Value c : schema.cardinalities())
      state_.push_back(static_cast<std::int32_t>(random_.below(c)));
  }

  // Up to `n` sweeps, fewer if all samples are taken before.
  void run(std::span<const Draw> draws, std::int64_t n) {
    for (; n > 0 && !out_.empty(); --n) {
      for (std::size_t v = 0; v < state_.size(); ++v)
        state_[v] = static_cast<std::int32_t>(
            std::visit([&](const auto& draw) { return draw(state_, random_, scores_); }, draws[v]));
      if (--until_sample_ > 0) continue;
      std::ranges::copy(state_, out_.begin());
      out_ = out_.subspan(state_.size());
      until_sample_ = thinning_;
    }
  }

 private:
  Random random_;
  std::span<std::int32_t> out_;  // not yet filled
  std::int64_t until_sample_, thinning_;
  std::vector<std::int32_t> state_;
  std::vector<double> scores_;
};

// The samples come chain by chain.
inline std::vector<Chain> make_chains(const Schema& schema, const DependencyGibbsOptions& options,
                                      std::span<std::int32_t> samples) {
  std::vector<Chain> chains;
  for (std::int64_t c = 0; c < options.n_chains; ++c) {
    const std::int64_t share =
        options.n_samples / options.n_chains + (c < options.n_samples % options.n_chains);
    const std::size_t n_codes = static_cast<std::size_t>(share) * schema.n_variables();
    chains.emplace_back(schema, options, static_cast<std::uint64_t>(c), samples.first(n_codes));
    samples = samples.subspan(n_codes);
  }
  return chains;
}

}  // namespace detail

// States as rows of codes, row-major; those of the first chain first.
inline std::vector<std::int32_t> sample(const DependencyNetwork& network,
                                        const DependencyGibbsOptions& options,
                                        const Execution& execution = {}) {
  options.check();
  const std::size_t n_variables = network.schema().n_variables();
  require(n_variables > 0, "dependency network: no variables to sample");
  std::vector<std::int32_t> samples(static_cast<std::size_t>(options.n_samples) * n_variables);
  const std::vector<detail::Draw> draws = detail::draws_of(network);
  std::vector<detail::Chain> chains = detail::make_chains(network.schema(), options, samples);
  // Chains pause together now and then, so that the calling thread can report and be asked to stop.
  constexpr std::int64_t kDrawsToPause = 1 << 16;
  const std::int64_t step =
      std::max<std::int64_t>(1, kDrawsToPause / static_cast<std::int64_t>(n_variables));
  const std::int64_t most_samples = (options.n_samples + options.n_chains - 1) / options.n_chains;
  const std::int64_t total = options.burn_in + most_samples * options.thinning;
  for (std::int64_t done = 0; done < total; done += step) {
    parallel_for(chains.size(), execution, [&](std::size_t c) { chains[c].run(draws, step); });
    execution.throw_if_stopped();
    execution.report({.stage = "samples",
                      .done = static_cast<double>(std::min(done + step, total)),
                      .total = static_cast<double>(total)});
  }
  return samples;
}

}  // namespace feldspar
