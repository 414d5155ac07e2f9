// MC-SAT (Poon and Domingos 2006): slice sampling with a satisfiability sampler inside. It crosses
// from one mode to another where strong weights make Gibbs sampling stay for ever.
//
// A step turns each weight into a constraint by chance, such that the state satisfies them all, and
// draws the next state uniformly from those that do:
//
// - a conjunction of weight w > 0 that holds must go on holding, with probability 1 - exp(-w);
// - one of weight w < 0 that does not hold (its negation does) must go on not holding, with
//   probability 1 - exp(w);
// - the scores of single values, u, leave the values a with u_a > u_x + log(uniform).
//
// sample_sat.hpp tells how states are drawn, and when exactly uniformly: always while the components
// of the constraints are small or easy. Chains start from a random state that was climbed from to a
// state which no change of one variable improves, so that strong weights are satisfied.
//
// A step costs O(tests of the features that survive the evidence) and the draw. Results, threads,
// streams and stops as for Gibbs sampling; Rao-Blackwell averages P(value | rest) at the states that
// are reached.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <feldspar/base/execution.hpp>
#include <feldspar/base/hash.hpp>
#include <feldspar/base/random.hpp>
#include <feldspar/base/stop_sign.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/infer/chain_diagnostics.hpp>
#include <feldspar/infer/chains.hpp>
#include <feldspar/infer/conditional_scores.hpp>
#include <feldspar/infer/evidence.hpp>
#include <feldspar/infer/hidden_model.hpp>
#include <feldspar/infer/sample_sat.hpp>
#include <feldspar/infer/sampled_marginals.hpp>
#include <feldspar/model/markov_network.hpp>

namespace feldspar {

struct McSatOptions {
  ChainOptions chains;
  SampleSatOptions sat;

  void check() const {
    chains.check();
    sat.check();
  }
};

namespace detail {

class McSatChain {
 public:
  McSatChain(const SampleSatOptions& options, const FeatureSet& features, const HiddenModel& model,
             const ConditionalScores& scores, const Random& random)
      : features_(features),
        model_(model),
        scores_(scores),
        conditionals_(scores, 1),
        random_(random),
        problem_(features.schema().cardinalities()),
        sat_(options, features.schema().n_variables()),
        state_(features.schema().n_variables()) {
    for (std::size_t h = 0; h < state_.size(); ++h)
      set(h, static_cast<Value>(random_.below(features.schema().cardinalities()[h])));
    for (int i = 0; i < kMostClimbs && climb(); ++i) {
    }
  }

  void step() {
    problem_.begin();
    slice_unary();
    for (const WeightedPart& part : model_.parts) slice_part(part);
    next_ = state_;
    sat_.draw(problem_, next_, random_);
    for (std::size_t h = 0; h < state_.size(); ++h) set(h, next_[h]);
  }

  Value value(std::size_t h) const noexcept { return state_[h]; }

  // P(X_h = a | the rest of the state).
  std::span<const double> conditional(std::size_t h) {
    probabilities_.resize(features_.schema().cardinalities()[h]);
    conditionals_.scores(scores_.local(h), 0, probabilities_.data());
    for (std::size_t a = 0; a < probabilities_.size(); ++a)
      probabilities_[a] += scores_.unary(h)[a];
    normalize_scores(probabilities_);
    return probabilities_;
  }

 private:
  static constexpr int kMostClimbs = 100;

  void set(std::size_t h, Value a) {
    conditionals_.assign(h, 0, a);
    state_[h] = a;
  }

  // Each variable to its most probable value; whether any changed.
  bool climb() {
    bool changed = false;
    for (std::size_t h = 0; h < state_.size(); ++h) {
      if (features_.schema().cardinalities()[h] == 1) continue;
      const auto p = conditional(h);
      const auto best = static_cast<Value>(std::ranges::max_element(p) - p.begin());
      if (p[best] <= p[state_[h]]) continue;
      set(h, best);
      changed = true;
    }
    return changed;
  }

  // log of a number uniform in (0, 1].
  double log_uniform() { return std::log(1 - random_.uniform()); }

  void slice_unary() {
    for (std::size_t h = 0; h < state_.size(); ++h) {
      const auto unary = scores_.unary(h);
      const double level = unary[state_[h]] + log_uniform();
      for (Value a = 0; a < unary.size(); ++a)
        if (unary[a] < level) problem_.exclude(h, a);
    }
  }

  void slice_part(const WeightedPart& part) {
    const auto tests = features_[part.part];
    const bool holds = std::ranges::all_of(tests, [&](const Test& test) {
      return features_.admits(test.values, state_[test.variable]);
    });
    // Not a constraint, with probability exp(-|w|); nor where the weight speaks against the state.
    if (holds != (part.weight > 0) || log_uniform() <= -std::abs(part.weight)) return;
    for (const Test& test : tests) {
      if (!holds) {
        problem_.add_test(test.variable, features_.values(test.values));
        continue;
      }
      for (Value a = 0; a < features_.schema().cardinalities()[test.variable]; ++a)
        if (!features_.admits(test.values, a)) problem_.exclude(test.variable, a);
    }
    if (!holds) problem_.forbid();
  }

  const FeatureSet& features_;
  const HiddenModel& model_;
  const ConditionalScores& scores_;
  Chains conditionals_;
  Random random_;
  ConstraintProblem problem_;
  SampleSat sat_;
  std::vector<Value> state_, next_;
  std::vector<double> probabilities_;
};

inline void record_state(McSatChain& chain, const FeatureSet& features, bool rao_blackwell,
                         std::span<const std::size_t> series, BatchSums& sums) {
  for (std::size_t h = 0; h < features.schema().n_variables(); ++h) {
    const std::size_t cardinality = features.schema().cardinalities()[h];
    if (cardinality == 1) continue;
    const std::size_t first = cardinality == 2 ? 1 : 0;  // value of the first series
    if (rao_blackwell) {
      const auto p = chain.conditional(h);
      for (std::size_t a = first; a < cardinality; ++a) sums.add(series[h] + a - first, 0, p[a]);
    } else if (chain.value(h) >= first) {
      sums.add(series[h] + chain.value(h) - first, 0, 1);
    }
  }
}

inline void run_mcsat(const McSatOptions& options, const FeatureSet& features,
                      const HiddenModel& model, std::uint64_t row_hash, ChainRange range,
                      SeriesMoments& moments, const StopSign& stop) {
  const ChainOptions& chains = options.chains;
  const ConditionalScores scores(features, model,
                                 {.visits = chains.n_draws(), .probabilities = false});
  const auto series = series_offsets(features.schema());
  for (std::size_t c = range.first; c < range.last; ++c) {
    const Random random(chains.seed, {"mcsat", combine_hash(row_hash, c)});
    McSatChain chain(options.sat, features, model, scores, random);
    BatchSums sums(moments, c, 1);
    for (int i = 0; i < chains.burn_in; ++i) {
      if (stop.is_up()) return;
      chain.step();
    }
    for (int s = 0; s < chains.n_samples; ++s) {
      for (int i = 0; i < chains.thinning; ++i) {
        if (stop.is_up()) return;
        chain.step();
      }
      record_state(chain, features, chains.rao_blackwell, series, sums);
      sums.next();
    }
  }
}

}  // namespace detail

inline SampledMarginals mcsat_marginals(const MarkovNetwork& network, const EvidenceView& evidence,
                                        const McSatOptions& options,
                                        const Execution& execution = {}) {
  options.check();
  const auto run = [&](auto&&... arguments) { detail::run_mcsat(options, arguments...); };
  return detail::MarginalSampler(network, evidence, options.chains, execution, run).sample();
}

}  // namespace feldspar
