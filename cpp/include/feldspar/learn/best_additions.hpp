// Which conjunctions of a pool to add to a network: greedily, by their gain in
// PLL(w) - sum_j w_j^2 / (2 sd^2) with the other weights held fixed (feature_gain.hpp).
//
// All gains are found for the network as it is; then the conjunctions are gone through from the
// largest gain down, each judged again beside those added before it, with the weights that they
// were given, and added if it still gains more than `min_gain`. The weights of all are to be learned
// anew afterwards.
//
// Cost: an evaluation for each candidate, most of them a bound only. Parallel over candidates; the
// result does not depend on the number of threads. Ties go to the candidate that comes first.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/parallel.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/feature/context_rows.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/learn/feature_gain.hpp>
#include <feldspar/model/markov_network.hpp>
#include <feldspar/objective/margin_state.hpp>

namespace feldspar {

struct AdditionOptions {
  double prior_sd = 1;     // infinity: no prior
  double min_gain = 3;     // in units of log-likelihood of all examples
  std::size_t most = 100;  // how many to add at a time

  void check() const {
    require(prior_sd > 0, "prior_sd must be positive, got ", prior_sd);
    require(std::isfinite(1 / (prior_sd * prior_sd)),
            "prior_sd is too small to compute with: ", prior_sd);
    require(min_gain > 0 && std::isfinite(min_gain), "min_gain must be positive and finite, got ",
            min_gain);
    require(most >= 1, "most must be at least 1");
  }
};

struct Addition {
  FeatureId candidate;
  double weight, gain;
};

// In the order in which they are added.
inline std::vector<Addition> best_additions(const Dataset& data, const MarkovNetwork& network,
                                            const FeatureSet& candidates,
                                            const AdditionOptions& options,
                                            const Execution& execution = {}) {
  options.check();
  require(network.schema() == data.schema(),
          "network and data: their variables or numbers of values differ");
  require(candidates.schema() == data.schema(),
          "candidates and data: their variables or numbers of values differ");
  MarginState state(data);
  state.assign(network.features(), network.weights());
  const double precision = 1 / (options.prior_sd * options.prior_sd);
  const ValueSets& sets = candidates.value_sets();

  constexpr std::size_t kAtOnce = 256;
  std::vector<double> gains(candidates.size());
  const std::size_t n_tasks = (candidates.size() + kAtOnce - 1) / kAtOnce;
  parallel_for(n_tasks, execution, [&](std::size_t task) {
    GainEvaluator evaluator(state, sets, precision);
    const std::size_t last = std::min(candidates.size(), (task + 1) * kAtOnce);
    for (std::size_t j = task * kAtOnce; j < last; ++j) {
      const WeightGain best =
          evaluator.addition(candidates[static_cast<FeatureId>(j)], options.min_gain);
      gains[j] = best.solved ? best.gain : 0.0;
    }
  });
  execution.throw_if_stopped();

  std::vector<FeatureId> order;
  for (FeatureId j = 0; j < candidates.size(); ++j)
    if (gains[j] > options.min_gain) order.push_back(j);
  std::ranges::stable_sort(order, [&](FeatureId a, FeatureId b) { return gains[a] > gains[b]; });
  std::vector<Addition> added;
  GainEvaluator evaluator(state, sets, precision);
  for (const FeatureId j : order) {
    if (added.size() == options.most) break;
    execution.poll_or_throw();
    const WeightGain now = evaluator.addition(candidates[j], options.min_gain);
    if (!now.solved || !(now.gain > options.min_gain)) continue;
    state.add(candidates[j], sets, evaluator.rows(), now.weight);
    added.push_back({j, now.weight, now.gain});
  }
  return added;
}

}  // namespace feldspar
