// What can be minimised: a smooth function of a real vector that gives value and gradient together.
//
// AN OBJECTIVE KNOWS NOTHING OF AN L1 TERM, neither in value nor in gradient: that is the business
// of owlqn.hpp. A Gaussian prior is smooth and belongs to the objective.
#pragma once

#include <concepts>

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

}  // namespace feldspar
