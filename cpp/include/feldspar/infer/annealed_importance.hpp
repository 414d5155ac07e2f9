// The partition function by annealed importance sampling (Neal 2001), from below and from above.
//
// Between a base model of known sum, at beta = 0, and the network, at beta = 1, lie the models
//
//   log f_beta(x) = log f_base(x) + beta * E(x),      E = log f_network - log f_base.
//
// A chain starts with a draw from the base and follows beta upwards: at each step its log weight grows
// by the step times E(x), then a Gibbs sweep at the new beta follows. The mean weight estimates
// Z / Z_base without bias, so its logarithm is below log Z on average. The reverse estimate runs
// downwards from states of the network, with sweeps in reverse order, and estimates Z_base / Z: its
// log Z is above on average if these states are draws from the network. They come from Gibbs chains of
// `reverse_burn_in` sweeps; where those do not reach everything that matters, the reverse estimate is
// too low. A gap between the two tells that more temperatures are needed.
//
// Bases: the product of the features of single variables ("independent"), or uniform states.
// Evidence: log Z is then the log of the sum over the hidden variables, features that are all observed
// and soft evidence included.
//
// Cost: n_chains * n_temperatures * n_sweeps sweeps each way. Chains run in parallel, each with a
// stream of its own that depends on seed, evidence and number; equal bits for any number of
// threads. A time limit leaves the chains that are finished; a stop throws Interrupted.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/hash.hpp>
#include <feldspar/base/parallel.hpp>
#include <feldspar/base/random.hpp>
#include <feldspar/base/stop_sign.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/infer/chains.hpp>
#include <feldspar/infer/condition.hpp>
#include <feldspar/infer/conditional_scores.hpp>
#include <feldspar/infer/evidence.hpp>
#include <feldspar/infer/evidence_rows.hpp>
#include <feldspar/infer/hidden_model.hpp>
#include <feldspar/infer/sampled_marginals.hpp>
#include <feldspar/model/markov_network.hpp>

namespace feldspar {

enum class AnnealingBase { independent, uniform };

// How beta goes from 0 to 1 in n steps, with t = k / n: linear, t; geometric, steps that grow
// by one factor, a thousandfold in all; sigmoid, small steps at both ends.
enum class AnnealingSchedule { linear, geometric, sigmoid };

struct AnnealingOptions {
  int n_chains = 100;
  int n_temperatures = 1000;
  int n_sweeps = 1;  // at each temperature
  AnnealingBase base = AnnealingBase::independent;
  AnnealingSchedule schedule = AnnealingSchedule::sigmoid;
  bool reverse = true;         // whether to make the reverse estimate
  int reverse_burn_in = 1000;  // sweeps at beta = 1 before a reverse chain
  std::uint64_t seed = 0;
  double max_seconds = std::numeric_limits<double>::infinity();

  void check() const {
    require(n_chains >= 2, "n_chains must be at least 2, got ", n_chains);
    require(n_temperatures >= 1, "n_temperatures must be at least 1, got ", n_temperatures);
    require(n_sweeps >= 1, "n_sweeps must be at least 1, got ", n_sweeps);
    require(reverse_burn_in >= 0, "reverse_burn_in must not be negative, got ", reverse_burn_in);
    require(max_seconds > 0, "max_seconds must be positive, got ", max_seconds);
  }
};

// From the chains finished, NaN if there are fewer than two.
struct AnnealedEstimate {
  double log_partition = std::numeric_limits<double>::quiet_NaN();
  double standard_error = std::numeric_limits<double>::quiet_NaN();  // of log_partition
  double effective_size = 0;  // of the weights: (sum w)^2 / sum w^2
  int n_chains = 0;           // finished
};

struct AnnealedPartition {
  AnnealedEstimate forward, reverse;  // reverse has no chains if not asked for
  SamplingStatus status = SamplingStatus::finished;
  double seconds = 0;
};

// beta_0 = 0 ... beta_n = 1.
inline std::vector<double> annealing_temperatures(AnnealingSchedule schedule, int n) {
  const auto shape = [schedule](double t) {
    switch (schedule) {
      case AnnealingSchedule::linear:
        return t;
      case AnnealingSchedule::geometric:
        return std::expm1(t * std::log(1000.0)) / 999.0;
      case AnnealingSchedule::sigmoid: {
        const double steepness = 4;
        return 0.5 + 0.5 * std::tanh(steepness * (t - 0.5)) / std::tanh(steepness * 0.5);
      }
    }
    return t;
  };
  std::vector<double> betas;
  for (int k = 0; k <= n; ++k) betas.push_back(shape(static_cast<double>(k) / n));
  betas.front() = 0;
  betas.back() = 1;
  return betas;
}

namespace detail {

inline double log_total(std::span<const double> x) {
  const double top = *std::ranges::max_element(x);
  double sum = 0;
  for (const double term : x) sum += std::exp(term - top);
  return top + std::log(sum);
}

// log of the mean of exp(log_weights), and how sure that is.
inline AnnealedEstimate estimate_mean(std::span<const double> log_weights) {
  AnnealedEstimate estimate;
  estimate.n_chains = static_cast<int>(log_weights.size());
  if (log_weights.size() < 2) return estimate;
  const auto n = static_cast<double>(log_weights.size());
  const double log_sum = log_total(log_weights);
  double squares = 0;
  for (const double w : log_weights) squares += std::exp(2 * (w - log_sum));
  estimate.log_partition = log_sum - std::log(n);
  estimate.effective_size = 1 / squares;
  estimate.standard_error = std::sqrt(std::max(0.0, n * squares - 1) / (n - 1));
  return estimate;
}

class AnnealedChain {
 public:
  AnnealedChain(AnnealingBase base, const FeatureSet& features, const HiddenModel& model,
                const ConditionalScores& scores, const Random& random)
      : uniform_base_(base == AnnealingBase::uniform),
        features_(features),
        model_(model),
        scores_(scores),
        state_(scores, 1),
        random_(random) {
    for (std::size_t h = 0; h < features.schema().n_variables(); ++h) {
      probabilities_.assign(scores.unary(h).begin(), scores.unary(h).end());
      if (uniform_base_) std::ranges::fill(probabilities_, 0.0);
      normalize_scores(probabilities_);
      state_.assign(h, 0, static_cast<Value>(random_.choose(probabilities_)));
    }
    energy_ = compute_energy();
  }

  double energy() const noexcept { return energy_; }

  void sweep(double beta) {
    for (std::size_t h = 0; h < features_.schema().n_variables(); ++h) visit(h, beta);
  }
  void sweep_backwards(double beta) {
    for (std::size_t h = features_.schema().n_variables(); h-- > 0;) visit(h, beta);
  }

 private:
  // E of the state, from the model itself.
  double compute_energy() const {
    double sum = 0;
    for (const WeightedPart& part : model_.parts) {
      const bool holds = std::ranges::all_of(features_[part.part], [&](const Test& test) {
        return features_.admits(test.values, state_.value(test.variable, 0));
      });
      if (holds) sum += part.weight;
    }
    if (uniform_base_)
      for (std::size_t h = 0; h < features_.schema().n_variables(); ++h)
        sum += scores_.unary(h)[state_.value(h, 0)];
    return sum;
  }

  void visit(std::size_t h, double beta) {
    const std::size_t cardinality = features_.schema().cardinalities()[h];
    if (cardinality == 1) return;
    const auto unary = scores_.unary(h);
    energies_.resize(cardinality);
    probabilities_.resize(cardinality);
    state_.scores(scores_.local(h), 0, energies_.data());
    for (std::size_t a = 0; a < cardinality; ++a) {
      if (uniform_base_) energies_[a] += unary[a];
      probabilities_[a] = beta * energies_[a] + (uniform_base_ ? 0.0 : unary[a]);
    }
    normalize_scores(probabilities_);
    const auto value = static_cast<Value>(random_.choose(probabilities_));
    energy_ += energies_[value] - energies_[state_.value(h, 0)];
    state_.assign(h, 0, value);
  }

  bool uniform_base_;
  const FeatureSet& features_;
  const HiddenModel& model_;
  const ConditionalScores& scores_;
  Chains state_;
  Random random_;
  double energy_ = 0;
  std::vector<double> energies_, probabilities_;
};

class Annealing {
 public:
  Annealing(const MarkovNetwork& network, const EvidenceView& evidence,
            const AnnealingOptions& options, const Execution& execution)
      : options_(options),
        execution_(execution),
        stop_(execution, options.max_seconds),
        row_hash_(hash_evidence(network.schema(), evidence, 0)),
        conditioner_(network, evidence.codes, !evidence.log_likelihoods.empty()),
        model_(hidden_models(conditioner_, evidence, std::vector<std::size_t>{0})[0]),
        scores_(conditioner_.features(), model_,
                {.visits = n_visits(options), .probabilities = false}),
        betas_(annealing_temperatures(options.schedule, options.n_temperatures)) {}

  AnnealedPartition run() {
    AnnealedPartition result;
    const double base = model_.constant + log_base();
    result.forward = estimate_mean(run_chains(&Annealing::forward_weight, "annealing"));
    result.forward.log_partition += base;
    if (options_.reverse) {
      result.reverse = estimate_mean(run_chains(&Annealing::reverse_weight, "reverse annealing"));
      result.reverse.log_partition = base - result.reverse.log_partition;
    }
    const int expected = options_.reverse ? 2 * options_.n_chains : options_.n_chains;
    if (result.forward.n_chains + result.reverse.n_chains < expected)
      result.status = SamplingStatus::time_limit;
    result.seconds = stop_.seconds();
    return result;
  }

 private:
  static constexpr double kUnfinished = std::numeric_limits<double>::quiet_NaN();

  static std::size_t n_visits(const AnnealingOptions& options) {
    return static_cast<std::size_t>(options.n_chains) *
           static_cast<std::size_t>(options.n_temperatures) *
           static_cast<std::size_t>(options.n_sweeps);
  }

  double log_base() const {
    double sum = 0;
    const Schema& schema = conditioner_.features().schema();
    for (std::size_t h = 0; h < schema.n_variables(); ++h)
      sum += options_.base == AnnealingBase::uniform
                 ? std::log(static_cast<double>(schema.cardinalities()[h]))
                 : log_total(scores_.unary(h));
    return sum;
  }

  // The log weights of the chains that are finished, in their order.
  std::vector<double> run_chains(double (Annealing::*weight)(AnnealedChain&) const,
                                 std::string_view name) {
    std::vector<double> weights(static_cast<std::size_t>(options_.n_chains), kUnfinished);
    parallel_for(weights.size(), execution_, [&](std::size_t c) {
      const Random random(options_.seed, {name, combine_hash(row_hash_, c)});
      AnnealedChain chain(options_.base, conditioner_.features(), model_, scores_, random);
      weights[c] = (this->*weight)(chain);
    });
    execution_.throw_if_stopped();
    std::erase_if(weights, [](double w) { return std::isnan(w); });
    return weights;
  }

  double forward_weight(AnnealedChain& chain) const {
    double weight = 0;
    for (std::size_t k = 1; k < betas_.size(); ++k) {
      weight += (betas_[k] - betas_[k - 1]) * chain.energy();
      if (k + 1 == betas_.size()) break;  // the last state is not looked at
      for (int i = 0; i < options_.n_sweeps; ++i) {
        if (stop_.is_up()) return kUnfinished;
        chain.sweep(betas_[k]);
      }
    }
    return weight;
  }

  double reverse_weight(AnnealedChain& chain) const {
    for (int i = 0; i < options_.reverse_burn_in; ++i) {
      if (stop_.is_up()) return kUnfinished;
      chain.sweep(1.0);
    }
    double weight = 0;
    for (std::size_t k = betas_.size() - 1; k >= 1; --k) {
      weight -= (betas_[k] - betas_[k - 1]) * chain.energy();
      if (k == 1) break;
      for (int i = 0; i < options_.n_sweeps; ++i) {
        if (stop_.is_up()) return kUnfinished;
        chain.sweep_backwards(betas_[k - 1]);
      }
    }
    return weight;
  }

  AnnealingOptions options_;
  Execution execution_;
  StopSign stop_;
  std::uint64_t row_hash_;
  Conditioner conditioner_;
  HiddenModel model_;
  ConditionalScores scores_;
  std::vector<double> betas_;
};

}  // namespace detail

// `evidence` is one row; all unknown: log Z of the network.
inline AnnealedPartition annealed_log_partition(const MarkovNetwork& network,
                                                const EvidenceView& evidence,
                                                const AnnealingOptions& options,
                                                const Execution& execution = {}) {
  options.check();
  const std::size_t n_rows = check_evidence(network.schema(), evidence);
  require(n_rows == 1, "evidence: expected one row, got ", n_rows);
  return detail::Annealing(network, evidence, options, execution).run();
}

}  // namespace feldspar
