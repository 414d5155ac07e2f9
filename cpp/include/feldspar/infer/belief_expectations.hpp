// The Bethe estimate of log Z and expectations by loopy belief propagation.
//
// Each call starts from the messages of the last one that converged. If it does not converge, it is
// tried again from nothing with heavier damping; if that does not either, there is no answer: the
// value of a line search would not belong to its gradient (factor_beliefs.hpp). Weights at which
// messages do not settle are thus outside the domain, and optimizers stay inside.
#pragma once

#include <algorithm>
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
    const FactorGraph graph(layout_, all);
    for (const bool again : {false, true}) {
      Propagation<SumOfLogs> run(graph, again ? careful() : options_);
      if (!again) messages_.start(graph, run);
      if (run.run(stop).status != RowStatus::converged) continue;
      messages_.keep(graph, run);
      read_beliefs(graph, run, beliefs_);
      std::copy_n(beliefs_.begin(), expectations.size(), expectations.begin());
      return run.bethe_log_partition();
    }
    return std::numeric_limits<double>::quiet_NaN();
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
};

}  // namespace feldspar
