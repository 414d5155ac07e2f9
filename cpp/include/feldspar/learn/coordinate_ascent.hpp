// Weights one at a time: the relearning of searches that change a few features between two.
//
// A sweep takes each weight in turn towards its best value given the others and keeps the margins up
// to date. With slope g and curvature h of the objective by the weight, a step t gains at least
//
//   |g| t - h (exp(t) - t - 1),
//
// since the curvature of a logistic function cannot grow faster than exp(|t|): it is greatest at
// t = log(1 + |g| / h), Newton's step where that is short. So every step is safe without a trial.
// A sweep needs no index of the features, which costs more to build than the handful of sweeps that
// a few changes call for. For weights from scratch, and for the last digits, fit_weights.hpp is the
// better tool.
//
// Most weights are good enough as they are. Which ones, the slopes that the state keeps tell, and
// a feature's contexts are found once and kept, if they are not too long: a sweep that finds nothing
// to do costs an addition for each row of each context. This is found out for a block of features
// at once, in parallel; the block is a constant, and so the result does not depend on threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <feldspar/base/execution.hpp>
#include <feldspar/base/parallel.hpp>
#include <feldspar/feature/context_rows.hpp>
#include <feldspar/feature/feature_set.hpp>
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

namespace detail {

// Whether the best step may gain more than `tolerance`, by the quadratic expansion.
inline bool may_gain(const WeightedConjunction& feature, const ContextRows& rows,
                     const ValueSets& sets, double precision, double tolerance,
                     const MarginState& state) {
  const MarginState::Slope here = state.slope(feature.tests, sets, rows);
  const double slope = here.miss - precision * feature.weight;
  return slope * slope > 2 * tolerance * (here.curvature + precision);
}

// A step of one weight; returns what it gains at least.
inline double ascend_weight(WeightedConjunction& feature, const ContextRows& rows,
                            const ValueSets& sets, double precision, MarginState& state) {
  constexpr double kLongest = 50.0;  // where there is no prior, and none fails or none passes
  const MarginState::Slope here = state.slope(feature.tests, sets, rows);
  const double slope = here.miss - precision * feature.weight;
  const double curvature = here.curvature + precision;
  const double ratio = slope / std::max(curvature, 1e-300);
  const double step =
      on_grid(std::copysign(std::min(std::log1p(std::abs(ratio)), kLongest), slope));
  if (step == 0) return 0;
  state.add(feature.tests, sets, rows, step);
  feature.weight += step;
  const double length = std::abs(step);
  return std::abs(slope) * length - curvature * (std::expm1(length) - length);
}

}  // namespace detail

// One sweep over all features of the network that `state` holds, whose weights are on the grid;
// returns how much the objective rose, at least. A step that would gain less than `tolerance` is not
// made. Throws Interrupted where the monitor asks to stop; weights and state then still belong
// together.
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
  std::vector<std::uint8_t> gains(kBlock);
  double gain = 0;
  for (std::size_t first = 0; first < present.size(); first += kBlock) {
    const auto block = std::span(present).subspan(first, std::min(kBlock, present.size() - first));
    parallel_for((block.size() + kTask - 1) / kTask, execution, [&](std::size_t task) {
      for (std::size_t j = task * kTask; j < std::min(block.size(), (task + 1) * kTask); ++j)
        gains[j] = detail::may_gain(*block[j], keepers[task].rows(*block[j], sets, columns), sets,
                                    precision, tolerance, state);
    });
    execution.throw_if_stopped();
    for (std::size_t j = 0; j < block.size(); ++j)
      if (gains[j])
        gain += detail::ascend_weight(*block[j], keepers[0].rows(*block[j], sets, columns), sets,
                                      precision, state);
  }
  return gain;
}

}  // namespace feldspar
