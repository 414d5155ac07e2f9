// Weights one at a time: the relearning of searches that change a few features between two.
//
// A sweep sets each weight to the best value given the others (feature_gain.hpp) and keeps the
// margins up to date. It needs no index of the features, which costs more to build than the
// handful of sweeps that a few changes call for. For weights from scratch, and for the last digits,
// fit_weights.hpp is the better tool.
//
// Sequential: each weight depends on those before it.
#pragma once

#include <span>
#include <vector>

#include <feldspar/base/execution.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/learn/feature_gain.hpp>
#include <feldspar/objective/margin_state.hpp>

namespace feldspar {

struct WeightedConjunction {
  std::vector<Test> tests;
  double weight = 0;
};

// One sweep over all features of the network that `state` holds; returns about how much the
// objective rose. An adjustment that would gain less than `tolerance` is not made. Throws
// Interrupted where the monitor asks to stop; weights and state then still belong together.
inline double ascend_weights(std::span<WeightedConjunction> features, const ValueSets& sets,
                             double precision, double tolerance, MarginState& state,
                             const Execution& execution = {}) {
  GainEvaluator evaluator(state, sets, precision);
  double gain = 0;
  for (WeightedConjunction& feature : features) {
    execution.poll_or_throw();
    const WeightGain best = evaluator.adjustment(feature.tests, feature.weight, tolerance);
    if (best.weight == feature.weight) continue;
    state.add(feature.tests, sets, evaluator.rows(), best.weight - feature.weight);
    feature.weight = best.weight;
    gain += best.gain;
  }
  return gain;
}

}  // namespace feldspar
