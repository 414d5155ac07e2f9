// Weights that maximise  LL(w) - sum_j w_j^2 / (2 sd^2) - l1 sum_j |w_j|,  LL the log-likelihood, for
// one penalty or a path of them: fit_weights.hpp with inference inside.
//
// With exact inference LL is what it says. With belief propagation log Z is the Bethe estimate, which
// is what line searches go by, and weights at which messages do not converge are not entered: a run
// that ends at such a border has status `stalled`. With Gibbs samples the objective is that of a fixed
// sample, maximised near the place where it was drawn, then drawn anew (Geyer and Thompson 1992),
// until the gradient on a fresh sample is within what chance explains.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/stop_sign.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/infer/expectation_engine.hpp>
#include <feldspar/infer/expectation_method.hpp>
#include <feldspar/learn/fit_weights.hpp>
#include <feldspar/objective/likelihood.hpp>

namespace feldspar {

// A likelihood with its engine.
class InferredLikelihood : public Likelihood {
 public:
  InferredLikelihood(const FeatureSet& features, const Dataset& data,
                     const ExpectationOptions& options, const Execution& execution = {})
      : InferredLikelihood(features, data, make_expectation_engine(features, options, execution),
                           execution) {}

  ExpectationEngine& engine() const noexcept { return *engine_; }
  // Inferences so far, and those of them that had no answer.
  int n_inferences() const noexcept { return calls_->n; }
  int n_failures() const noexcept { return calls_->failed; }

 private:
  struct Calls {
    int n = 0, failed = 0;
  };

  InferredLikelihood(const FeatureSet& features, const Dataset& data,
                     std::shared_ptr<ExpectationEngine> engine, const Execution& execution)
      : InferredLikelihood(features, data, std::move(engine), std::make_shared<Calls>(),
                           execution) {}
  InferredLikelihood(const FeatureSet& features, const Dataset& data,
                     std::shared_ptr<ExpectationEngine> engine, std::shared_ptr<Calls> calls,
                     const Execution& execution)
      : Likelihood(
            features, data,
            [engine, calls](std::span<const double> weights, std::span<double> expectations,
                            const Execution& how) {
              const double log_partition = engine->infer(weights, expectations, how);
              ++calls->n;
              calls->failed += !std::isfinite(log_partition);
              return log_partition;
            },
            execution),
        engine_(std::move(engine)),
        calls_(std::move(calls)) {}

  std::shared_ptr<ExpectationEngine> engine_;
  std::shared_ptr<Calls> calls_;
};

namespace detail {

// Whether the subgradient at `weights` could be zero but for the sample's standard errors.
inline bool within_chance(InferredLikelihood& likelihood, const Penalty& penalty,
                          const Eigen::VectorXd& l1, const Eigen::VectorXd& weights,
                          const Execution& execution) {
  const auto n = static_cast<std::size_t>(weights.size());
  const double total = likelihood.total_weight();
  std::vector<double> gradient(n);
  likelihood.value_and_gradient({weights.data(), n}, gradient, execution);
  constexpr double kStandardErrors = 4;  // few of thousands of features are off by more
  for (std::size_t j = 0; j < n; ++j) {
    const double p = std::clamp((likelihood.counts()[j] - gradient[j]) / total, 0.0, 1.0);
    const double error = total * std::sqrt(p * (1 - p) / likelihood.engine().sample_size());
    const auto i = static_cast<Eigen::Index>(j);
    const double smooth = gradient[j] - penalty.precision() * weights[i];
    const double left = weights[i] != 0 ? std::abs(smooth - std::copysign(l1[i], weights[i]))
                                        : std::max(0.0, std::abs(smooth) - l1[i]);
    if (left > kStandardErrors * error + 1e-3 * total) return false;
  }
  return true;
}

// LL less penalties per unit of example weight, with log Z estimated for itself.
inline double objective_for_the_record(InferredLikelihood& likelihood, const Penalty& penalty,
                                       const Eigen::VectorXd& l1, const Eigen::VectorXd& weights,
                                       const Execution& execution) {
  const auto n = static_cast<std::size_t>(weights.size());
  double value = -likelihood.total_weight() *
                 likelihood.engine().log_partition({weights.data(), n}, execution);
  for (std::size_t j = 0; j < n; ++j)
    value += likelihood.counts()[j] * weights[static_cast<Eigen::Index>(j)];
  value -= 0.5 * penalty.precision() * weights.squaredNorm() + l1.dot(weights.cwiseAbs());
  return value / likelihood.total_weight();
}

}  // namespace detail

// One penalty, from `start`; `l1_factors` as in fit_penalized.
inline WeightFit fit_likelihood(InferredLikelihood& likelihood, const Penalty& penalty,
                                const Eigen::VectorXd& start, const FitWeightsOptions& options,
                                const Execution& execution = {},
                                const Eigen::VectorXd& l1_factors = {}) {
  const auto n = static_cast<std::size_t>(start.size());
  ExpectationEngine& engine = likelihood.engine();
  if (!engine.move_to({start.data(), n}, execution))
    return fit_penalized(likelihood, penalty, start, options, execution, l1_factors);
  Eigen::VectorXd l1 = Eigen::VectorXd::Constant(start.size(), penalty.l1);
  if (l1_factors.size() > 0) l1 = penalty.l1 * l1_factors;
  FitWeightsOptions rest = options;
  // A hundredth of the squared length that chance gives the gradient.
  rest.tolerance =
      std::max(options.tolerance, 0.005 * static_cast<double>(n) / engine.sample_size());
  constexpr int kMostSamples = 30;
  const StopSign stop(execution, options.max_seconds);  // sampling takes time, too
  Eigen::VectorXd weights = start;
  WeightFit fit;
  bool has_fit = false;
  int iterations = 0, evaluations = 0;
  try {
    for (int sample = 1;; ++sample) {
      fit = fit_penalized(likelihood, penalty, weights, rest, execution, l1_factors);
      has_fit = true;
      iterations += fit.run.iterations;
      evaluations += fit.run.evaluations;
      std::ranges::copy(fit.weights, weights.data());
      if (fit.run.status == Status::interrupted || fit.run.status == Status::time_limit) break;
      rest.max_iterations -= fit.run.iterations;
      engine.move_to({weights.data(), n}, execution);
      // A stall is the end of the sample's reach, not of the road.
      fit.run.status = Status::converged;
      if (detail::within_chance(likelihood, penalty, l1, weights, execution)) break;
      fit.run.status = Status::max_iterations;
      if (rest.max_iterations <= 0 || sample == kMostSamples) break;
      fit.run.status = Status::time_limit;
      if (stop.out_of_time()) break;
      rest.max_seconds = std::max(options.max_seconds - stop.seconds(), 1e-9);
    }
    if (fit.run.status != Status::interrupted)
      fit.objective = detail::objective_for_the_record(likelihood, penalty, l1, weights, execution);
  } catch (const Interrupted&) {  // while sampling: the weights of the sample before are there
    if (!has_fit) throw;
    fit.run.status = Status::interrupted;
  }
  fit.run.iterations = iterations;
  fit.run.evaluations = evaluations;
  fit.run.seconds = stop.seconds();
  return fit;
}

// As fit_weight_path with the pseudo-likelihood.
inline std::vector<WeightFit> fit_likelihood_path(InferredLikelihood& likelihood,
                                                  std::span<const Penalty> penalties,
                                                  std::span<const double> initial,
                                                  const FitWeightsOptions& options,
                                                  const Execution& execution = {}) {
  return fit_weight_path(
      likelihood, penalties, initial, options,
      [&](const Penalty& penalty, const Eigen::VectorXd& start, const FitWeightsOptions& rest) {
        return fit_likelihood(likelihood, penalty, start, rest, execution);
      });
}

}  // namespace feldspar
