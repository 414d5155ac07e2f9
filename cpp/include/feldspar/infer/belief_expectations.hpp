// The Bethe estimate of log Z and expectations by loopy belief propagation.
//
// Each call starts from the messages of the last one that converged. If it does not converge, it is
// tried again from nothing with heavier damping, and a first call also by way of weaker networks. If
// nothing helps there is no answer: the value of a line search would not belong to its gradient
// (factor_beliefs.hpp). Weights at which messages do not settle are thus outside the domain, and
// optimizers stay inside.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include <feldspar/base/execution.hpp>
#include <feldspar/base/stop_sign.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/infer/conditioned_expectations.hpp>
#include <feldspar/infer/expectation_engine.hpp>
#include <feldspar/infer/factor_beliefs.hpp>
#include <feldspar/infer/factor_graph.hpp>
#include <feldspar/infer/factor_messages.hpp>
#include <feldspar/infer/marginals.hpp>
#include <feldspar/infer/propagation.hpp>
#include <feldspar/infer/stored_messages.hpp>

namespace feldspar {

class BeliefExpectations final : public ExpectationEngine {
 public:
  BeliefExpectations(const FeatureSet& features, const BeliefPropagationOptions& options)
      : clampable_(features),
        layout_(clampable_.features()),
        options_(options),
        messages_(layout_),
        beliefs_(clampable_.features().size()) {
    options.check();
  }

  std::string_view method() const noexcept override { return "bp"; }

  double infer(std::span<const double> weights, std::span<double> expectations,
               const Execution& execution) override {
    const StopSign stop(execution, options_.max_seconds);
    const std::vector<double> all = clampable_.weights(weights);
    double log_partition = settle(all, options_, /*from_stored=*/true, stop);
    if (std::isnan(log_partition)) log_partition = settle(all, careful(), false, stop);
    if (std::isnan(log_partition) && !has_settled_) log_partition = approach(all, stop);
    has_settled_ = has_settled_ || !std::isnan(log_partition);
    std::copy_n(beliefs_.begin(), expectations.size(), expectations.begin());
    return log_partition;
  }

  // Clamped runs that do not converge count as far as they came.
  std::vector<double> expectations_of(std::span<const double> weights, const FeatureSet& others,
                                      std::span<const FeatureId> wanted,
                                      const Execution& execution) override {
    const StopSign stop(execution, options_.max_seconds);
    return conditioned_expectations(clampable_, weights, others, wanted, execution,
                                    [&](std::span<const double> clamped) {
                                      const FactorGraph graph(layout_, clamped);
                                      Propagation<SumOfLogs> run(graph, options_);
                                      messages_.start(graph, run);
                                      run.run(stop);
                                      return run.probabilities();
                                    });
  }

 private:
  // log Z, messages and beliefs kept; not a number if the messages do not converge.
  double settle(std::span<const double> weights, const BeliefPropagationOptions& options,
                bool from_stored, const StopSign& stop) {
    const FactorGraph graph(layout_, weights);
    Propagation<SumOfLogs> run(graph, options);
    if (from_stored) messages_.start(graph, run);
    if (run.run(stop).status != RowStatus::converged)
      return std::numeric_limits<double>::quiet_NaN();
    messages_.keep(graph, run);
    read_beliefs(graph, run, beliefs_);
    return run.bethe_log_partition();
  }

  // By way of weaker networks.
  double approach(std::span<const double> weights, const StopSign& stop) {
    std::vector<double> weaker(weights.size());
    double log_partition = 0;
    for (int quarter = 1; quarter <= 4 && !std::isnan(log_partition); ++quarter) {
      for (std::size_t j = 0; j < weaker.size(); ++j) weaker[j] = 0.25 * quarter * weights[j];
      log_partition = settle(weaker, careful(), true, stop);
    }
    return log_partition;
  }

  BeliefPropagationOptions careful() const {
    BeliefPropagationOptions options = options_;
    options.damping = 0.5 + 0.5 * options_.damping;
    return options;
  }

  ClampableFeatures clampable_;
  FactorLayout layout_;
  BeliefPropagationOptions options_;
  StoredMessages messages_;
  std::vector<double> beliefs_;
  bool has_settled_ = false;
};

}  // namespace feldspar
