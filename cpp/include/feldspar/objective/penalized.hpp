// What weight learning minimises: the negative pseudo-log-likelihood, or log-likelihood, plus the
// Gaussian prior's penalty,
//
//   f(w) = -PLL(w) + sum_j w_j^2 / (2 sd^2),
//
// as a function of preconditioned coordinates z (preconditioner.hpp), in which a unit step in a
// typical direction changes f by about a half. The gradient by z therefore tells the distance to
// the optimal value: f(w) - f* is of the order of half its squared length. THE L1 TERM IS NOT HERE:
// OWL-QN adds it.
//
// Fulfils GapBoundingObjective.
#pragma once

#include <cstddef>
#include <limits>
#include <span>

#include <Eigen/Core>

#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/objective/preconditioner.hpp>
#include <feldspar/objective/pseudo_likelihood.hpp>

namespace feldspar {

// Multiplies by minus the Hessian of its last evaluation.
template <class T>
concept CurvedLogLikelihood = requires(T& likelihood, std::span<const float> direction,
                                       std::span<float> product, const Execution& execution) {
  likelihood.hessian_product(direction, product, execution);
};

// `LogLikelihood` is PseudoLikelihood or Likelihood, or a CurvedLogLikelihood made of one.
template <class LogLikelihood>
class Penalized {
 public:
  // Keeps references to `likelihood` and `coordinates`. `precision` is 1 / sd^2; 0 is no prior.
  Penalized(LogLikelihood& likelihood, double precision, const Preconditioner& coordinates,
            const Execution& execution)
      : likelihood_(likelihood),
        precision_(precision),
        coordinates_(coordinates),
        execution_(execution) {}

  Eigen::Index dimension() const noexcept { return coordinates_.dimension(); }

  // A stop in the middle of an evaluation shows as NaN: the optimizer then looks at the monitor and
  // keeps its best point.
  double value_and_gradient(const Eigen::VectorXd& z, Eigen::VectorXd& gradient) {
    const bool mapped = !coordinates_.is_identity();
    if (mapped) coordinates_.to_weights(z, weights_);
    try {
      const double value = at_weights(mapped ? weights_ : z, gradient);
      if (mapped) coordinates_.pull_back(gradient);
      evaluated_ = true;
      return value;
    } catch (const Interrupted&) {
      if (!evaluated_) throw;
      return std::numeric_limits<double>::quiet_NaN();
    }
  }

  // Minus the Hessian of the last point's log-likelihood, plus the prior's.
  bool hessian_product(const Eigen::VectorXf& direction, Eigen::VectorXf& product)
    requires CurvedLogLikelihood<LogLikelihood>
  {
    const bool mapped = !coordinates_.is_identity();
    if (mapped) coordinates_.to_weights(direction, direction_);
    const Eigen::VectorXf& by_weights = mapped ? direction_ : direction;
    const auto n = static_cast<std::size_t>(dimension());
    try {
      likelihood_.hessian_product({by_weights.data(), n}, {product.data(), n}, execution_);
    } catch (const Interrupted&) {
      return false;
    }
    product += static_cast<float>(precision_) * by_weights;
    if (mapped) coordinates_.pull_back(product);
    return true;
  }

  // The prior alone curves f by `precision` in every direction of the weights.
  double gap_bound(const Eigen::VectorXd& gradient) const {
    if (precision_ == 0) return std::numeric_limits<double>::infinity();
    return coordinates_.squared_length_by_weights(gradient) / (2 * precision_);
  }

  // f and its gradient at the weights themselves.
  double at_weights(const Eigen::VectorXd& weights, Eigen::VectorXd& gradient) {
    gradient.resize(dimension());
    const auto n = static_cast<std::size_t>(dimension());
    const double value =
        likelihood_.value_and_gradient({weights.data(), n}, {gradient.data(), n}, execution_);
    gradient = precision_ * weights - gradient;
    return 0.5 * precision_ * weights.squaredNorm() - value;
  }

 private:
  LogLikelihood& likelihood_;
  double precision_;
  const Preconditioner& coordinates_;
  Execution execution_;
  Eigen::VectorXd weights_;
  Eigen::VectorXf direction_;
  bool evaluated_ = false;
};

using PenalizedPseudoLikelihood = Penalized<PseudoLikelihood>;

}  // namespace feldspar
