// When the optimizers stop, and how they search. The defaults suit smooth convex functions whose
// gradient costs far more than a few vector operations.
#pragma once

#include <cmath>
#include <limits>

#include <feldspar/base/error.hpp>

namespace feldspar {

struct OptimizeOptions {
  // Accepted steps at most; 0 only evaluates the start.
  int max_iterations = 1000;

  // Calls of the objective at most, the one at the start included.
  int max_evaluations = 10000;

  // Converged when no component of the gradient (OWL-QN: of the pseudo-gradient) is larger than
  // this in absolute value. 0 asks for all that floating point gives and mostly ends with
  // `stalled`.
  double gradient_tolerance = 1e-5;

  // Converged when the objective itself knows that its value is above the minimum by no more than
  // this (see GapBoundingObjective). 0 turns the test off.
  double gap_tolerance = 0.0;

  // Converged when (f[k-p] - f[k]) / max(|f[k]|, 1) is below this, p = kDecreasePeriod iterations.
  // 0 turns the test off.
  double relative_decrease = 0.0;

  // Pairs of steps and gradient differences that approximate the Hessian. Costs memory * dimension
  // floats twice, and about 4 * memory * dimension multiplications per iteration.
  int memory = 10;

  // Wall time at most; looked at before each evaluation, so one evaluation may overrun it.
  double max_seconds = std::numeric_limits<double>::infinity();

  // A step of length a along a slope s must decrease the value by at least this times a |s|
  // (Armijo).
  double sufficient_decrease = 1e-4;

  // A step must bring the slope's size down to this share of its size at the start (strong Wolfe).
  double curvature = 0.9;

  // Trial points per line search at most.
  int max_trials = 40;

  // Rounding error of values, relative to max(|f|, 1). Changes of the value below it are not
  // believed; the line search then goes by slopes, which stay accurate much longer.
  double value_noise = 1e-12;

  void check() const;
};

// Iterations over which OptimizeOptions::relative_decrease is measured: one short step is no sign
// of convergence, several in a row are.
inline constexpr int kDecreasePeriod = 5;

inline void OptimizeOptions::check() const {
  require(max_iterations >= 0, "max_iterations must be at least 0, got ", max_iterations);
  require(max_evaluations >= 1, "max_evaluations must be at least 1, got ", max_evaluations);
  require(gradient_tolerance >= 0, "gradient_tolerance must be at least 0, got ",
          gradient_tolerance);
  require(gap_tolerance >= 0 && std::isfinite(gap_tolerance),
          "gap_tolerance must be finite and at least 0, got ", gap_tolerance);
  require(relative_decrease >= 0 && std::isfinite(relative_decrease),
          "relative_decrease must be finite and at least 0, got ", relative_decrease);
  require(memory >= 1, "memory must be at least 1, got ", memory);
  require(max_seconds >= 0, "max_seconds must be at least 0, got ", max_seconds);
  require(sufficient_decrease > 0 && sufficient_decrease < 0.5,
          "sufficient_decrease must be between 0 and 0.5, got ", sufficient_decrease);
  require(curvature > sufficient_decrease && curvature < 1,
          "curvature must be between sufficient_decrease (", sufficient_decrease, ") and 1, got ",
          curvature);
  require(max_trials >= 1, "max_trials must be at least 1, got ", max_trials);
  require(value_noise >= 0 && value_noise < 1, "value_noise must be between 0 and 1, got ",
          value_noise);
}

}  // namespace feldspar
