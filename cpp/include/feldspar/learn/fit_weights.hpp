// Weights that maximise  PLL(w) - sum_j w_j^2 / (2 sd^2) - l1 sum_j |w_j|,  for one penalty or a
// path of them; or the same with the likelihood for the pseudo-likelihood (fit_likelihood.hpp).
//
// OWL-QN with an L1 term; without, Newton's method where products with the Hessian are cheap, and
// L-BFGS elsewhere. A path shares the index and is solved from the strongest penalty to the weakest,
// each from the solution before; results come in the order asked for.
//
// Stopping: the gradient by the preconditioned coordinates (penalized.hpp) estimates how far the
// objective is from its optimum, and with a Gaussian prior there is a bound on that distance as
// well; the run ends when either, per unit of example weight, is below `tolerance`.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/objective/bias_directions.hpp>
#include <feldspar/objective/penalized.hpp>
#include <feldspar/objective/preconditioner.hpp>
#include <feldspar/objective/pseudo_likelihood.hpp>
#include <feldspar/optim/lbfgs.hpp>
#include <feldspar/optim/lbfgs_memory.hpp>
#include <feldspar/optim/newton_cg.hpp>
#include <feldspar/optim/owlqn.hpp>

namespace feldspar {

struct Penalty {
  double prior_sd = 1.0;  // infinity: no Gaussian prior
  double l1 = 0.0;

  double precision() const noexcept { return 1.0 / (prior_sd * prior_sd); }
  void check() const {
    require(prior_sd > 0, "prior_sd must be positive, got ", prior_sd);
    require(std::isfinite(precision()), "prior_sd is too small to compute with: ", prior_sd);
    require(l1 >= 0 && std::isfinite(l1), "l1 must be finite and not negative, got ", l1);
  }
};

struct FitWeightsOptions {
  int max_iterations = 1000;
  double tolerance = 1e-7;  // of the mean objective, see above
  int memory = 20;          // most pairs that L-BFGS and OWL-QN remember
  double max_seconds = std::numeric_limits<double>::infinity();

  void check() const {
    require(max_iterations >= 0, "max_iterations must not be negative, got ", max_iterations);
    require(tolerance > 0, "tolerance must be positive, got ", tolerance);
    require(memory >= 1, "memory must be at least 1, got ", memory);
    require(max_seconds > 0, "max_seconds must be positive, got ", max_seconds);
  }
};

struct WeightFit {
  Penalty penalty;
  std::vector<double> weights;
  double objective = 0;      // what is maximised, per unit of example weight
  double gradient_norm = 0;  // largest component of its (sub)gradient, per unit of example weight
  OptimizeResult run;        // in preconditioned coordinates; values are sums, to be minimised
};

namespace detail {

// The pairs are read twice an iteration. Where they outgrow every cache, fewer of them are faster:
// reading 20 pairs for a million weights takes as long as an evaluation.
inline int affordable_memory(int most, Eigen::Index dimension) {
  constexpr Eigen::Index kFloats = Eigen::Index{1} << 24;  // 64 MiB
  const Eigen::Index pairs = kFloats / (2 * std::max<Eigen::Index>(1, dimension));
  return static_cast<int>(std::clamp<Eigen::Index>(pairs, std::min(most, 5), most));
}

// Largest component of the subgradient of smallest norm.
inline double subgradient_norm(const Eigen::VectorXd& weights, const Eigen::VectorXd& gradient,
                               const Eigen::VectorXd& l1) {
  double norm = 0;
  for (Eigen::Index j = 0; j < weights.size(); ++j) {
    const double g = gradient[j];
    const double shrunk = weights[j] > 0   ? g + l1[j]
                          : weights[j] < 0 ? g - l1[j]
                                           : std::max(0.0, std::abs(g) - l1[j]);
    norm = std::max(norm, std::abs(shrunk));
  }
  return norm;
}

// `initial` as a vector; zeros where it is empty.
inline Eigen::VectorXd start_weights(std::size_t n_features, std::span<const double> initial) {
  require(initial.empty() || initial.size() == n_features, "initial_weights: got ", initial.size(),
          " for ", n_features, " features");
  for (std::size_t j = 0; j < initial.size(); ++j)
    require(std::isfinite(initial[j]), "initial_weights: feature ", j, " has weight ", initial[j],
            "; expected a finite number");
  Eigen::VectorXd weights = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(n_features));
  std::ranges::copy(initial, weights.data());
  return weights;
}

// What a penalty gets that was not begun: the weights as they are.
inline WeightFit not_begun(const Penalty& penalty, const Eigen::VectorXd& weights) {
  WeightFit fit;
  fit.penalty = penalty;
  fit.weights.assign(weights.data(), weights.data() + weights.size());
  fit.objective = fit.gradient_norm = std::numeric_limits<double>::quiet_NaN();
  fit.run.status = Status::interrupted;
  return fit;
}

struct NoCurvature {};

template <class LogLikelihood>
struct CurvatureType {
  using type = NoCurvature;
};
template <class LogLikelihood>
  requires requires { typename LogLikelihood::Curvature; }
struct CurvatureType<LogLikelihood> {
  using type = typename LogLikelihood::Curvature;
};

// A log-likelihood that remembers its last evaluation. A run that is taken further starts where it
// ended, and its report asks for the gradient there: neither is computed twice.
template <class LogLikelihood>
class LastEvaluation {
  using Curvature = typename CurvatureType<LogLikelihood>::type;

 public:
  // Whether there are products with the Hessian.
  static constexpr bool kCurved = !std::is_same_v<Curvature, NoCurvature>;

  // Keeps a reference.
  explicit LastEvaluation(LogLikelihood& likelihood) : likelihood_(likelihood) {}

  double value_and_gradient(std::span<const double> weights, std::span<double> gradient,
                            const Execution& execution) {
    if (weights_.empty() || !std::ranges::equal(weights, weights_)) {
      weights_.clear();  // should the next line throw, nothing is known
      value_ = evaluate(weights, gradient, execution);
      gradient_.assign(gradient.begin(), gradient.end());
      weights_.assign(weights.begin(), weights.end());
    } else {
      std::ranges::copy(gradient_, gradient.begin());
    }
    return value_;
  }

  // From now on evaluations keep what hessian_product has to know of them.
  void keep_curvature()
    requires kCurved
  {
    if (!keeps_curvature_) weights_.clear();
    keeps_curvature_ = true;
  }

  // Of the last evaluation.
  void hessian_product(std::span<const float> direction, std::span<float> product,
                       const Execution& execution)
    requires kCurved
  {
    likelihood_.hessian_product(curvature_, direction, product, execution);
  }

 private:
  double evaluate(std::span<const double> weights, std::span<double> gradient,
                  const Execution& execution) {
    if constexpr (kCurved)
      if (keeps_curvature_)
        return likelihood_.value_and_gradient(weights, gradient, curvature_, execution);
    return likelihood_.value_and_gradient(weights, gradient, execution);
  }

  LogLikelihood& likelihood_;
  std::vector<double> weights_, gradient_;
  double value_ = 0;
  bool keeps_curvature_ = false;
  Curvature curvature_;
};

}  // namespace detail

// Half the squared length of the gradient = tolerance * total weight, spread over all components.
inline double gradient_tolerance(double tolerance, double total_weight, std::size_t dimension) {
  return std::sqrt(2 * tolerance * total_weight / std::max(1.0, static_cast<double>(dimension)));
}

// Weight learning under one penalty that can be taken further: first to a loose tolerance, later, if
// the result is worth it, to a tight one. What L-BFGS has learned of the curvature is kept in
// between (the others start afresh). Keeps a reference to the likelihood.
template <class LogLikelihood>
class WeightRun {
 public:
  // `initial` is empty (start from zero) or has one weight per feature. `l1_factors` multiplies the
  // L1 penalty of each weight; empty: all alike.
  WeightRun(LogLikelihood& likelihood, const Penalty& penalty, std::span<const double> initial,
            const Eigen::VectorXd& l1_factors = {})
      : likelihood_(likelihood),
        last_(likelihood),
        penalty_(penalty),
        coordinates_(likelihood.geometry(), penalty.precision(), penalty.l1 == 0),
        directions_(std::make_shared<BiasDirections>(likelihood.geometry(), coordinates_)) {
    penalty_.check();
    const auto n = static_cast<Eigen::Index>(likelihood.n_features());
    l1_ = Eigen::VectorXd::Constant(n, penalty.l1);
    if (l1_factors.size() > 0) l1_ = penalty.l1 * l1_factors;
    coordinates_.to_coordinates(detail::start_weights(likelihood.n_features(), initial), z_);
    require(z_.allFinite(), "initial_weights: some are too large to compute with");
  }

  // Goes on from the best point so far until `options` say stop. Iterations, evaluations and seconds
  // are those of this call.
  WeightFit advance(const FitWeightsOptions& options, const Execution& execution) {
    options.check();
    Objective objective(last_, penalty_.precision(), coordinates_, execution);
    WeightFit fit;
    fit.penalty = penalty_;
    fit.run = minimize_from_here(objective, options, execution);
    z_ = fit.run.x;
    Eigen::VectorXd weights;
    coordinates_.to_weights(z_, weights);
    fit.weights.assign(weights.data(), weights.data() + weights.size());
    const double total = likelihood_.total_weight();
    fit.objective = -fit.run.value / total;
    fit.gradient_norm = std::numeric_limits<double>::quiet_NaN();
    if (fit.run.status == Status::interrupted) return fit;
    try {
      Eigen::VectorXd gradient;
      objective.at_weights(weights, gradient);
      fit.gradient_norm = detail::subgradient_norm(weights, gradient, l1_) / total;
    } catch (const Interrupted&) {
      fit.run.status = Status::interrupted;
    }
    return fit;
  }

 private:
  using Objective = Penalized<detail::LastEvaluation<LogLikelihood>>;

  OptimizeResult minimize_from_here(Objective& objective, const FitWeightsOptions& options,
                                    const Execution& execution) {
    OptimizeOptions optimize;
    optimize.max_iterations = options.max_iterations;
    optimize.max_evaluations = std::numeric_limits<int>::max();
    optimize.memory = detail::affordable_memory(options.memory, z_.size());
    optimize.max_seconds = options.max_seconds;
    optimize.gradient_tolerance = gradient_tolerance(options.tolerance, likelihood_.total_weight(),
                                                     static_cast<std::size_t>(z_.size()));
    optimize.gap_tolerance = options.tolerance * likelihood_.total_weight();
    if (penalty_.l1 > 0)
      return minimize_owlqn(objective, z_, l1_.cwiseProduct(coordinates_.scale()).eval(), optimize,
                            execution, initial_inverse());
    if constexpr (detail::LastEvaluation<LogLikelihood>::kCurved)
      if (likelihood_.has_cheap_products()) {
        last_.keep_curvature();
        // Where the prior rules, the objective is nearly quadratic from the start.
        const bool far_away = !likelihood_.geometry().outnumbers_data();
        return minimize_newton_cg(objective, z_, optimize, execution, initial_inverse(), far_away);
      }
    if (!memory_) memory_.emplace(z_.size(), optimize.memory, initial_inverse());
    return minimize_lbfgs(objective, z_, *memory_, optimize, execution);
  }

  InitialInverse initial_inverse() const {
    if (directions_->is_identity()) return {};
    return {[directions = directions_](Eigen::VectorXd& v) { directions->multiply(v); }, false,
            [directions = directions_](Eigen::VectorXd& v) { return directions->square(v); }};
  }

  LogLikelihood& likelihood_;
  detail::LastEvaluation<LogLikelihood> last_;
  Penalty penalty_;
  Preconditioner coordinates_;
  std::shared_ptr<const BiasDirections> directions_;  // the memory uses them too
  Eigen::VectorXd l1_;                                // by weight
  Eigen::VectorXd z_;
  std::optional<LbfgsMemory> memory_;
};

// One penalty, from `start`, in one go.
template <class LogLikelihood>
WeightFit fit_penalized(LogLikelihood& likelihood, const Penalty& penalty,
                        const Eigen::VectorXd& start, const FitWeightsOptions& options,
                        const Execution& execution, const Eigen::VectorXd& l1_factors = {}) {
  const std::span<const double> initial(start.data(), static_cast<std::size_t>(start.size()));
  return WeightRun<LogLikelihood>(likelihood, penalty, initial, l1_factors)
      .advance(options, execution);
}

// `initial` is empty (start from zero) or has one weight per feature. After an
// interruption, penalties not yet begun get the weights reached so far, with that status.
//
// fit(penalty, start, options) fits one of them.
template <class LogLikelihood, class Fit>
std::vector<WeightFit> fit_weight_path(LogLikelihood& likelihood,
                                       std::span<const Penalty> penalties,
                                       std::span<const double> initial,
                                       const FitWeightsOptions& options, Fit&& fit) {
  options.check();
  for (const Penalty& penalty : penalties) penalty.check();
  Eigen::VectorXd weights = detail::start_weights(likelihood.n_features(), initial);
  std::vector<std::size_t> order(penalties.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return std::pair(-penalties[a].l1, penalties[a].prior_sd) <
           std::pair(-penalties[b].l1, penalties[b].prior_sd);
  });
  std::vector<WeightFit> fits(penalties.size());
  FitWeightsOptions rest = options;
  bool begun = false;
  for (const std::size_t i : order) {
    try {
      fits[i] = fit(penalties[i], weights, rest);
    } catch (const Interrupted&) {
      if (!begun) throw;
      fits[i] = detail::not_begun(penalties[i], weights);
    }
    begun = true;
    rest.max_seconds = std::max(rest.max_seconds - fits[i].run.seconds, 1e-9);
    std::ranges::copy(fits[i].weights, weights.data());
  }
  return fits;
}

inline std::vector<WeightFit> fit_weight_path(PseudoLikelihood& likelihood,
                                              std::span<const Penalty> penalties,
                                              std::span<const double> initial,
                                              const FitWeightsOptions& options,
                                              const Execution& execution = {}) {
  return fit_weight_path(
      likelihood, penalties, initial, options,
      [&](const Penalty& penalty, const Eigen::VectorXd& start, const FitWeightsOptions& rest) {
        return fit_penalized(likelihood, penalty, start, rest, execution);
      });
}

}  // namespace feldspar
