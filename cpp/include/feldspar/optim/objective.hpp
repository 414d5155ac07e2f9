// What can be minimised: a smooth function of a real vector that gives value and gradient together.
//
// AN OBJECTIVE KNOWS NOTHING OF AN L1 TERM, neither in value nor in gradient: that is the business
// of owlqn.hpp. A Gaussian prior is smooth and belongs to the objective.
#pragma once

#include <concepts>
#include <limits>

#include <Eigen/Core>

namespace feldspar {

// value_and_gradient(x, gradient) returns f(x) and overwrites `gradient`, which comes with the
// right size and unspecified content. A value or gradient that is not finite says "x is outside the
// domain": solvers then try a shorter step. Not const, since objectives may keep buffers.
template <class T>
concept SmoothObjective =
    requires(T& objective, const Eigen::VectorXd& x, Eigen::VectorXd& gradient) {
      { objective.value_and_gradient(x, gradient) } -> std::same_as<double>;
      { objective.dimension() } -> std::convertible_to<Eigen::Index>;
    };

// An objective may also know how far a point can be from the minimum at most: gap_bound(gradient)
// is then no less than f(x) - min f for the gradient at x, and no less than the same for f plus an
// L1 term if it is given the pseudo-gradient. Strongly convex functions have such a bound, half the
// squared gradient over the least curvature.
template <class T>
concept GapBoundingObjective =
    SmoothObjective<T> && requires(const T& objective, const Eigen::VectorXd& gradient) {
      { objective.gap_bound(gradient) } -> std::same_as<double>;
    };

// An objective may also multiply by its Hessian: hessian_product(direction, product) overwrites
// `product`, which comes with the right size, with the Hessian at the point of the last
// value_and_gradient times the direction. In single precision: a few digits are enough. False: it was
// stopped.
template <class T>
concept CurvedObjective =
    SmoothObjective<T> &&
    requires(T& objective, const Eigen::VectorXf& direction, Eigen::VectorXf& product) {
      { objective.hessian_product(direction, product) } -> std::same_as<bool>;
    };

// What the objective knows of the distance to its minimum; infinity if nothing.
template <SmoothObjective Objective>
double gap_bound(const Objective& objective, const Eigen::VectorXd& gradient) {
  if constexpr (GapBoundingObjective<Objective>)
    return objective.gap_bound(gradient);
  else
    return std::numeric_limits<double>::infinity();
}

}  // namespace feldspar
