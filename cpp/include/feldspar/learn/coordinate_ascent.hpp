// Weights one at a time: the relearning of searches that change a few features between two.
//
// A sweep sets each weight to the best value given the others (feature_gain.hpp) and keeps the
// margins up to date. It needs no index of the features, which costs more to build than the
// handful of sweeps that a few changes call for. For weights from scratch, and for the last digits,
// fit_weights.hpp is the better tool.
//
// Most weights are as good as they can be. Which ones, the slopes that the state keeps tell, and
// a feature's contexts are found once and kept, if they are not too long: a sweep that finds nothing
// to do costs an addition for each row of each context. Slopes are computed for a block of features
// at once, in parallel; the block is a constant, and so the result does not depend on threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <feldspar/base/execution.hpp>
#include <feldspar/base/parallel.hpp>
#include <feldspar/feature/context_rows.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/learn/feature_gain.hpp>
#include <feldspar/objective/margin_state.hpp>

namespace feldspar {

// Without tests: none.
struct WeightedConjunction {
  std::vector<Test> tests;
  double weight = 0;
  ContextRows rows;  // its contexts, where known
};

// Finds contexts, and keeps them with their features as long as these are of up to `most_rows` rows.
class ContextKeeper {
 public:
  explicit ContextKeeper(std::size_t most_rows) : most_rows_(most_rows) {}

  // Valid until the next call.
  const ContextRows& rows(WeightedConjunction& feature, const ValueSets& sets,
                          const PackedColumns& columns) {
    if (feature.rows.known()) return feature.rows;
    finder_.find(feature.tests, sets, columns, found_);
    if (found_.n_rows() > most_rows_) return found_;
    feature.rows = found_;  // a copy, which has no room to spare
    return feature.rows;
  }

 private:
  std::size_t most_rows_;
  ContextFinder finder_;
  ContextRows found_;
};

// The contexts of all features of a search are to take up to about 256 MB.
inline std::size_t most_rows_to_keep(std::size_t n_features) noexcept {
  constexpr std::size_t kMostRows = std::size_t{1} << 26;
  return kMostRows / std::max<std::size_t>(n_features, 1);
}

// One sweep over all features of the network that `state` holds; returns about how much the
// objective rose. An adjustment that would gain less than `tolerance` is not made. Throws
// Interrupted where the monitor asks to stop; weights and state then still belong together.
inline double ascend_weights(std::span<WeightedConjunction> features, const ValueSets& sets,
                             double precision, double tolerance, MarginState& state,
                             const Execution& execution = {}) {
  constexpr std::size_t kBlock = 256, kTask = 32;
  const PackedColumns& columns = state.data().columns();
  std::vector<WeightedConjunction*> present;
  for (WeightedConjunction& feature : features)
    if (!feature.tests.empty()) present.push_back(&feature);
  std::vector<ContextKeeper> keepers(kBlock / kTask,
                                     ContextKeeper(most_rows_to_keep(features.size())));
  GainEvaluator evaluator(state, sets, precision);
  std::vector<std::uint8_t> may_gain(kBlock);
  double gain = 0;
  for (std::size_t first = 0; first < present.size(); first += kBlock) {
    const auto block = std::span(present).subspan(first, std::min(kBlock, present.size() - first));
    parallel_for((block.size() + kTask - 1) / kTask, execution, [&](std::size_t task) {
      for (std::size_t j = task * kTask; j < std::min(block.size(), (task + 1) * kTask); ++j) {
        const ContextRows& rows = keepers[task].rows(*block[j], sets, columns);
        const MarginState::Slope here = state.slope(block[j]->tests, sets, rows);
        const double slope = here.miss - precision * block[j]->weight;
        may_gain[j] = slope * slope > 2 * tolerance * (here.curvature + precision);
      }
    });
    execution.throw_if_stopped();
    for (std::size_t j = 0; j < block.size(); ++j) {
      if (!may_gain[j]) continue;
      WeightedConjunction& feature = *block[j];
      const ContextRows& rows = keepers[0].rows(feature, sets, columns);
      const WeightGain best = evaluator.adjustment(feature.tests, rows, feature.weight, tolerance);
      if (best.weight == feature.weight) continue;
      state.add(feature.tests, sets, rows, best.weight - feature.weight);
      feature.weight = best.weight;
      gain += best.gain;
    }
  }
  return gain;
}

}  // namespace feldspar
