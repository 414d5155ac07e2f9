// What weight learning minimises: the negative pseudo-log-likelihood plus the Gaussian prior's
// penalty,
//
//   f(w) = -PLL(w) + sum_j w_j^2 / (2 sd^2),
//
// written in scaled coordinates z_j = w_j / scale_j. With scale_j = 1 / sqrt(curvature_j + 1 /
// sd^2) a unit step in any coordinate changes f by about a half, whether the feature holds on ten
// rows or on a million: the optimizer needs far fewer steps, and the size of the scaled gradient
// measures the distance to the optimal value: f(w) - f* is about half its squared length. THE L1
// TERM IS NOT HERE: OWL-QN adds it.
//
// Fulfils SmoothObjective.
#pragma once

#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include <Eigen/Core>

#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/objective/pseudo_likelihood.hpp>

namespace feldspar {

class PenalizedPseudoLikelihood {
 public:
  // Keeps a reference to `likelihood`. `precision` is 1 / sd^2; 0 is no prior.
  PenalizedPseudoLikelihood(PseudoLikelihood& likelihood, double precision,
                            const Execution& execution)
      : likelihood_(likelihood), precision_(precision), execution_(execution) {
    const auto curvature = likelihood.curvature();
    scale_.resize(static_cast<Eigen::Index>(curvature.size()));
    for (std::size_t j = 0; j < curvature.size(); ++j) {
      const double total = curvature[j] + precision;
      // A feature without curvature and prior has no influence at all; any scale will do.
      scale_[static_cast<Eigen::Index>(j)] = total > 0 ? 1 / std::sqrt(total) : 1.0;
    }
  }

  Eigen::Index dimension() const noexcept { return scale_.size(); }
  const Eigen::VectorXd& scale() const noexcept { return scale_; }

  // At z = w / scale. A stop in the middle of an evaluation shows as NaN: the optimizer then looks
  // at the monitor and keeps its best point.
  double value_and_gradient(const Eigen::VectorXd& z, Eigen::VectorXd& gradient) {
    weights_ = z.cwiseProduct(scale_);
    try {
      const double value = at_weights(weights_, gradient);
      gradient = gradient.cwiseProduct(scale_);
      evaluated_ = true;
      return value;
    } catch (const Interrupted&) {
      if (!evaluated_) throw;
      return std::numeric_limits<double>::quiet_NaN();
    }
  }

  // f and its gradient at the weights themselves.
  double at_weights(const Eigen::VectorXd& weights, Eigen::VectorXd& gradient) {
    gradient.resize(dimension());
    const auto n = static_cast<std::size_t>(dimension());
    const double pll =
        likelihood_.value_and_gradient({weights.data(), n}, {gradient.data(), n}, execution_);
    gradient = precision_ * weights - gradient;
    return 0.5 * precision_ * weights.squaredNorm() - pll;
  }

 private:
  PseudoLikelihood& likelihood_;
  double precision_;
  Execution execution_;
  Eigen::VectorXd scale_, weights_;
  bool evaluated_ = false;
};

}  // namespace feldspar
