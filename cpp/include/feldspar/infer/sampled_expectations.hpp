// Expectations from Gibbs samples, and differences of log Z.
//
// States are drawn at one place, the weights a; nearby, at w, they are reweighted by
// exp((w - a) . f(x)) (Geyer and Thompson 1992). The mean of these ratios estimates Z(w) / Z(a), and
// the reweighted means of the features are its derivatives: value and gradient of a likelihood belong
// together, and both are functions of w, not noise. infer() therefore gives log Z(w) - log Z(a). Where
// the effective number of states falls below a quarter of them there is no answer; the optimizer stays
// near a, and the next sample is drawn where it came to.
//
// Cost: (features x states) / 64 words and the states at which they hold, a call. Samples differ
// from one place to the next: each has a stream of its own.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/hash.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/packed_columns.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/infer/annealed_importance.hpp>
#include <feldspar/infer/evidence.hpp>
#include <feldspar/infer/expectation_engine.hpp>
#include <feldspar/infer/gibbs.hpp>
#include <feldspar/model/markov_network.hpp>

namespace feldspar {

struct SampledExpectationsOptions {
  std::size_t n_states = 10000;
  SampleOptions chains{.n_chains = 64, .burn_in = 200, .thinning = 5};

  void check() const {
    require(n_states >= 1, "n_states must be at least 1, got ", n_states);
    chains.check();
  }
};

class SampledExpectations final : public ExpectationEngine {
 public:
  SampledExpectations(const FeatureSet& features, const SampledExpectationsOptions& options)
      : features_(features), options_(options) {
    options.check();
    // Networks that grow shall not meet the same numbers again and again.
    options_.chains.seed = combine_hash(options.chains.seed, features.size());
  }

  std::string_view method() const noexcept override { return "gibbs"; }
  double sample_size() const noexcept override { return static_cast<double>(options_.n_states); }

  bool move_to(std::span<const double> weights, const Execution& execution) override {
    SampleOptions chains = options_.chains;
    chains.seed = combine_hash(chains.seed, n_moves_++);
    const std::vector<std::int32_t> unknown(features_.schema().n_variables(), kUnknown);
    const auto codes =
        sample(network(weights), {unknown, {}}, options_.n_states, chains, execution);
    columns_.emplace(features_.schema(), codes);
    place_.assign(weights.begin(), weights.end());
    holds_.resize(features_.size() * n_words());
    for (FeatureId j = 0; j < features_.size(); ++j) match(features_, j, holding(j));
    return true;
  }

  double infer(std::span<const double> weights, std::span<double> expectations,
               const Execution& execution) override {
    if (!columns_) move_to(weights, execution);
    execution.poll_or_throw();
    const double log_ratio = weigh_states(weights);
    double squares = 0;
    for (const double share : shares_) squares += share * share;
    if (!(squares * static_cast<double>(shares_.size()) <= kMostSquares))
      return std::numeric_limits<double>::quiet_NaN();
    for (FeatureId j = 0; j < features_.size(); ++j) expectations[j] = total_share(holding(j));
    return log_ratio;
  }

  std::vector<double> expectations_of(std::span<const double> weights, const FeatureSet& others,
                                      std::span<const FeatureId> wanted,
                                      const Execution& execution) override {
    if (!columns_) move_to(weights, execution);
    weigh_states(weights);
    std::vector<double> result;
    std::vector<Word> rows(n_words());
    for (const FeatureId j : wanted) {
      execution.poll_or_throw();
      match(others, j, rows);
      result.push_back(total_share(rows));
    }
    return result;
  }

  // By annealed importance sampling.
  double log_partition(std::span<const double> weights, const Execution& execution) override {
    AnnealingOptions options;
    options.seed = options_.chains.seed;
    options.reverse = false;
    const std::vector<std::int32_t> unknown(features_.schema().n_variables(), kUnknown);
    return annealed_log_partition(network(weights), {unknown, {}}, options, execution)
        .forward.log_partition;
  }

 private:
  static constexpr double kMostSquares = 4;  // number of states over their effective number

  MarkovNetwork network(std::span<const double> weights) const {
    return {features_, std::vector<double>(weights.begin(), weights.end())};
  }
  std::size_t n_words() const { return columns_->n_words(); }
  std::span<Word> holding(FeatureId j) { return {holds_.data() + j * n_words(), n_words()}; }
  void match(const FeatureSet& features, FeatureId j, std::span<Word> rows) const {
    fill_bits(rows, columns_->n_rows());
    for (const Test test : features[j])
      columns_->intersect(test.variable, features.values(test.values), rows);
  }
  double total_share(std::span<const Word> rows) const {
    double sum = 0;
    for_each_bit(rows, [&](std::size_t s) { sum += shares_[s]; });
    return sum;
  }

  // Makes each state's share of all; returns log Z(w) - log Z(a).
  double weigh_states(std::span<const double> weights) {
    shares_.assign(columns_->n_rows(), 0.0);
    for (FeatureId j = 0; j < features_.size(); ++j)
      if (const double change = weights[j] - place_[j]; change != 0)
        for_each_bit(holding(j), [&](std::size_t s) { shares_[s] += change; });
    const double top = std::ranges::max(shares_);
    double total = 0;
    for (double& share : shares_) total += share = std::exp(share - top);
    for (double& share : shares_) share /= total;
    return top + std::log(total / static_cast<double>(shares_.size()));
  }

  FeatureSet features_;
  SampledExpectationsOptions options_;
  std::uint64_t n_moves_ = 0;
  std::optional<PackedColumns> columns_;  // the states; none before the first move
  std::vector<double> place_;             // a
  std::vector<Word> holds_;               // by feature: the states where it holds
  std::vector<double> shares_;
};

}  // namespace feldspar
