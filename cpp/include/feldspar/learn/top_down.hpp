// Top-down induction of features (Della Pietra, Della Pietra and Lafferty 1997), by
// pseudo-likelihood and with the support restriction of Davis and Domingos (2010).
//
// The network starts with the features X_v = a, a > 0. In each round every feature is conjoined
// with every other and with every atomic test: those with a > 0 are features that never leave, those
// with a = 0 are tests if the options say so (Davis and Domingos have positive tests only). A
// candidate must hold on some example, must not be in the network, and must not test a variable in
// two ways. The gain of a candidate is that of the penalised PLL with all other weights held fixed
// (feature_gain.hpp). The `additions` candidates that gain most, less alpha for each test, are added
// one after another, each if it still gains in the network as it has become; then all weights are
// relearned. The search ends when no candidate gains more than alpha for each of its tests.
//
// Candidates are judged in parallel, block by block; those that cannot be among the best by an
// upper bound are not solved, which does not change who wins. Ties go to the candidate that is made
// first. Cost of a round: features^2 / 2 candidates, the rows of their contexts each.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/parallel.hpp>
#include <feldspar/base/stop_sign.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/feature/context_rows.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/learn/feature_gain.hpp>
#include <feldspar/learn/fit_weights.hpp>
#include <feldspar/learn/search_status.hpp>
#include <feldspar/objective/margin_state.hpp>

namespace feldspar {

struct TopDownOptions {
  double alpha = 1.0;  // what a test costs
  int additions = 1;   // most features that a round adds
  // Atomic tests are of values above 0 only. Else of 0 too: that one value excludes another, which
  // no example shows, can be told by a conjunction that examples do show.
  bool positive = true;
  double prior_sd = 1.0;
  FitWeightsOptions weights;

  void check() const {
    require(alpha >= 0 && std::isfinite(alpha), "alpha must be finite and not negative, got ",
            alpha);
    require(additions >= 1, "additions must be at least 1, got ", additions);
    Penalty{prior_sd, 0.0}.check();
    weights.check();
  }
};

class TopDownSearch {
 public:
  // The atomic features. Keeps a reference to `data`.
  TopDownSearch(const Dataset& data, const TopDownOptions& options);

  // The weights of the start, or a round.
  SearchStatus advance(double max_seconds, const Execution& execution = {});

  const FeatureSet& features() const noexcept { return features_; }
  const std::vector<double>& weights() const noexcept { return weights_; }
  std::size_t n_rounds() const noexcept { return n_rounds_; }

 private:
  struct Scored {
    double score;  // gain less the cost of the tests
    FeatureId candidate;
  };
  static bool comes_before(const Scored& a, const Scored& b) noexcept {
    return a.score != b.score ? a.score > b.score : a.candidate < b.candidate;
  }

  FeatureSet candidates(const StopSign& stop) const;
  std::vector<Scored> best_candidates(const FeatureSet& pool, const StopSign& stop,
                                      const Execution& execution);
  bool add(const FeatureSet& pool, std::span<const Scored> best);
  void relearn(const StopSign& stop, double max_seconds, const Execution& execution);
  double cost(std::size_t n_tests) const noexcept {
    return options_.alpha * static_cast<double>(n_tests);
  }

  const Dataset& data_;
  TopDownOptions options_;
  FeatureSet features_;
  std::vector<double> weights_;
  MarginState margins_;
  std::size_t n_rounds_ = 0;
  bool learned_ = false;
};

inline TopDownSearch::TopDownSearch(const Dataset& data, const TopDownOptions& options)
    : data_(data), options_((options.check(), options)), margins_(data) {
  FeatureSetBuilder builder(data.schema());
  for (Variable v = 0; v < data.n_variables(); ++v)
    for (Value a = 1; a < data.schema().cardinality(v); ++a) builder.add({&v, 1}, {&a, 1});
  features_ = std::move(builder).finish();
  weights_.assign(features_.size(), 0.0);
}

inline SearchStatus TopDownSearch::advance(double max_seconds, const Execution& execution) {
  const StopSign stop(execution, max_seconds);
  try {
    if (stop.out_of_time()) return SearchStatus::time_limit;
    if (!learned_) {
      relearn(stop, max_seconds, execution);
      learned_ = true;
      return SearchStatus::advanced;
    }
    const FeatureSet pool = candidates(stop);
    const std::vector<Scored> best = best_candidates(pool, stop, execution);
    if (stop.out_of_time()) return SearchStatus::time_limit;
    if (!add(pool, best)) return SearchStatus::finished;
    relearn(stop, max_seconds, execution);
    ++n_rounds_;
  } catch (const Interrupted&) {
    return SearchStatus::interrupted;
  }
  return SearchStatus::advanced;
}

// The network's features, and after them the candidates; not all of these where time runs out.
inline FeatureSet TopDownSearch::candidates(const StopSign& stop) const {
  FeatureSetBuilder builder(data_.schema());
  for (FeatureId j = 0; j < features_.size(); ++j) builder.add(features_, j);
  std::vector<Test> zeros, both;  // all value sets are single values: their numbers stay the same
  for (Variable v = 0; v < data_.n_variables() && !options_.positive; ++v)
    if (data_.schema().cardinality(v) > 1) zeros.push_back({v, 0});
  const auto conjoin = [&](std::span<const Test> one, std::span<const Test> other) {
    both.clear();
    std::ranges::merge(one, other, std::back_inserter(both), {}, &Test::variable, &Test::variable);
    both.erase(std::unique(both.begin(), both.end()), both.end());
    const bool twice = std::ranges::adjacent_find(both, {}, &Test::variable) != both.end();
    if (!twice) builder.add_canonical(both);
  };
  for (FeatureId j = 0; j < features_.size() && !stop.out_of_time(); ++j) {
    stop.throw_if_interrupted();
    for (FeatureId k = 0; k < j; ++k) conjoin(features_[j], features_[k]);
    for (const Test& zero : zeros) conjoin(features_[j], {&zero, 1});
  }
  return std::move(builder).finish();
}

inline std::vector<TopDownSearch::Scored> TopDownSearch::best_candidates(
    const FeatureSet& pool, const StopSign& stop, const Execution& execution) {
  constexpr std::size_t kBlock = 512, kTask = 16;
  const auto wanted = static_cast<std::size_t>(options_.additions);
  const Penalty penalty{options_.prior_sd, 0.0};
  margins_.assign(features_, weights_);
  std::vector<std::unique_ptr<GainEvaluator>> evaluators;
  for (std::size_t i = 0; i < kBlock / kTask; ++i)
    evaluators.push_back(
        std::make_unique<GainEvaluator>(margins_, pool.value_sets(), penalty.precision()));
  std::vector<Scored> best, block;
  for (std::size_t first = features_.size(); first < pool.size(); first += kBlock) {
    if (stop.out_of_time()) break;
    const double least = best.size() == wanted ? best.back().score : 0.0;
    block.assign(std::min(kBlock, pool.size() - first), {0.0, 0});
    parallel_for((block.size() + kTask - 1) / kTask, execution, [&](std::size_t task) {
      for (std::size_t i = task * kTask; i < std::min(block.size(), (task + 1) * kTask); ++i) {
        const auto candidate = static_cast<FeatureId>(first + i);
        const double price = cost(pool[candidate].size());
        const WeightGain found = evaluators[task]->addition(pool[candidate], least + price);
        const bool supported = !evaluators[task]->rows().matched().empty();
        if (found.solved && supported) block[i] = {found.gain - price, candidate};
      }
    });
    execution.throw_if_stopped();
    for (const Scored& scored : block)
      if (scored.score > 0) best.push_back(scored);
    std::ranges::sort(best, comes_before);
    best.resize(std::min(best.size(), wanted));
    execution.report({"candidates", static_cast<double>(first + block.size()),
                      static_cast<double>(pool.size()), static_cast<double>(features_.size())});
  }
  return best;
}

// Whether any was worth adding.
inline bool TopDownSearch::add(const FeatureSet& pool, std::span<const Scored> best) {
  GainEvaluator evaluator(margins_, pool.value_sets(), Penalty{options_.prior_sd, 0.0}.precision());
  FeatureSetBuilder builder(data_.schema());
  for (FeatureId j = 0; j < features_.size(); ++j) builder.add(features_, j);
  const std::size_t before = builder.size();
  for (const Scored& scored : best) {
    const auto tests = pool[scored.candidate];
    const WeightGain found = evaluator.addition(tests);
    if (found.gain <= cost(tests.size())) continue;
    margins_.add(tests, pool.value_sets(), evaluator.rows(), found.weight);
    builder.add(pool, scored.candidate);
    weights_.push_back(found.weight);
  }
  const bool added = builder.size() > before;
  if (added) features_ = std::move(builder).finish();
  return added;
}

inline void TopDownSearch::relearn(const StopSign& stop, double max_seconds,
                                   const Execution& execution) {
  if (stop.out_of_time()) return;
  FitWeightsOptions options = options_.weights;
  options.max_seconds = std::min(options.max_seconds, std::max(max_seconds - stop.seconds(), 1e-9));
  PseudoLikelihood likelihood(features_, data_, execution);
  const Penalty penalty{options_.prior_sd, 0.0};
  weights_ = fit_weight_path(likelihood, {&penalty, 1}, weights_, options, execution)[0].weights;
  execution.throw_if_stopped();
}

}  // namespace feldspar
