// Newton's method for smooth convex functions of very many variables: x <- x + a d, where d solves
//
//   Hessian(x) d = -gradient(x)
//
// roughly, by conjugate gradients that need products with the Hessian only; a by a strong Wolfe line
// search (line_search.hpp).
//
// How roughly: the quadratic model of the function that d minimises, q, is worth no more than the
// function follows it. The gradients end once a step of theirs decreases q by less than half of what
// their steps did on average (Nash and Sofer).
//
// Beside L-BFGS: as many products as that has evaluations, or somewhat more. It pays where a product
// costs less than an evaluation, and where n is so large that reading the pairs of L-BFGS takes as
// long as the function does: an iteration of conjugate gradients reads seven vectors of n numbers.
//
// Runs on the calling thread (the objective may use more); no randomness.
//
// References: Nash, Sofer: Assessing a search direction within a truncated-Newton method, Operations
// Research Letters 9 (1990); Nocedal, Wright: Numerical Optimization (2006), algorithm 7.1.
#pragma once

#include <utility>

#include <Eigen/Core>

#include <feldspar/base/execution.hpp>
#include <feldspar/optim/lbfgs.hpp>
#include <feldspar/optim/lbfgs_memory.hpp>
#include <feldspar/optim/line_search.hpp>
#include <feldspar/optim/objective.hpp>
#include <feldspar/optim/options.hpp>
#include <feldspar/optim/result.hpp>
#include <feldspar/optim/run.hpp>

namespace feldspar {

namespace detail {

// Finds directions; keeps its vectors from one to the next.
class ConjugateGradients {
 public:
  ConjugateGradients(Eigen::Index dimension, const InitialInverse& preconditioner)
      : preconditioner_(preconditioner),
        residual_(dimension),
        search_(dimension),
        product_(dimension) {}

  // Solves Hessian d = -gradient roughly. False: there is no direction, a limit was met.
  template <CurvedObjective Objective>
  bool solve(Objective& objective, OptimizeRun& run, const Eigen::VectorXd& gradient,
             Eigen::VectorXd& direction) {
    constexpr double kWorthwhile = 0.5;
    direction.setZero(gradient.size());
    residual_ = -gradient;
    search_ = preconditioned();
    double square = residual_.dot(search_), decrease = 0;
    for (int k = 1;; ++k) {
      if (!run.try_product() || !objective.hessian_product(search_, product_)) return false;
      const double curvature = search_.dot(product_);
      // Rounding, or a function that is flat that way: what has been found must do.
      if (!(curvature > 0)) break;
      const double step = square / curvature;
      direction += step * search_;
      residual_ -= step * product_;
      const double gained = 0.5 * step * square;
      decrease += gained;
      if (k * gained < kWorthwhile * decrease) break;
      const Eigen::VectorXd& next = preconditioned();
      const double next_square = residual_.dot(next);
      if (!(next_square > 0)) break;
      search_ = next + (next_square / square) * search_;
      square = next_square;
    }
    if (decrease == 0) direction = search_;  // the steepest descent
    return true;
  }

 private:
  const Eigen::VectorXd& preconditioned() {
    if (!preconditioner_.multiply) return residual_;
    preconditioned_ = residual_;
    preconditioner_.multiply(preconditioned_);
    return preconditioned_;
  }

  InitialInverse preconditioner_;
  Eigen::VectorXd residual_, search_, product_, preconditioned_;
};

}  // namespace detail

// Minimises `objective` from x0; `preconditioner` ideally multiplies by nearly the inverse of the
// Hessian. An iteration is a step of Newton's; products with the Hessian count as evaluations. Throws
// as minimize_lbfgs.
template <CurvedObjective Objective>
OptimizeResult minimize_newton_cg(Objective& objective, const Eigen::VectorXd& x0,
                                  const OptimizeOptions& options = {},
                                  const Execution& execution = {},
                                  const InitialInverse& preconditioner = {}) {
  OptimizeRun run(options, execution);
  check_start(objective, x0, {});
  Iterate current(x0);
  run.start([&](Iterate& point) { evaluate_smooth(objective, point); }, current);

  Iterate trial(x0);
  Eigen::VectorXd direction(x0.size());
  detail::ConjugateGradients gradients(x0.size(), preconditioner);
  while (run.goes_on(current, gap_bound(objective, current.gradient))) {
    if (!gradients.solve(objective, run, current.gradient, direction)) break;
    const LineSearchResult search =
        detail::search_along(objective, run, current, direction, 1.0, trial);
    if (search.outcome == LineSearchOutcome::stopped) break;
    if (search.outcome == LineSearchOutcome::failed) {
      run.stall();
      continue;
    }
    std::swap(current, trial);
    run.accept(current, search.step);
  }
  return std::move(run).finish(current);
}

}  // namespace feldspar
