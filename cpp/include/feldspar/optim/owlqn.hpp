// Orthant-wise limited-memory quasi-Newton: minimises
//
//   F(x) = f(x) + sum_i l1[i] |x[i]|,     f smooth, l1[i] >= 0.
//
// f comes without the L1 term (objective.hpp). F is smooth within an orthant. Each iteration picks
// the orthant into which the pseudo-gradient v (the steepest one-sided slope, 0 where 0 is a
// subgradient) points, takes a quasi-Newton direction built from f's curvature alone, and
// backtracks along it, setting coordinates that would leave the orthant to zero. Zeros are exact
// zeros. Coordinates with l1[i] = 0 belong to no orthant and move freely.
//
// Three departures from the paper, all for tight convergence on badly scaled problems:
// - Coordinates that rest at zero (x[i] = 0 and v[i] = 0) are taken out of the pairs, not only out
//   of the direction: once the zeros have settled this is L-BFGS on the remaining coordinates.
// - The paper drops every component of the direction whose sign disagrees with -v. Here only those
//   of them are dropped that would be cut at zero: where x[i] = 0 or the unit step crosses zero. If
//   what remains is no descent direction, the paper's rule, which always leaves one, is used.
// - When changes of F drown in rounding, acceptance goes by slopes (line_search.hpp).
// When no step decreases F, the memory is cleared and the search repeated along the (scaled)
// steepest descent before the run is called stalled.
//
// Cost per iteration: usually one evaluation, and about 6 memory n multiplications. Runs on the
// calling thread; no randomness.
//
// Reference: Andrew, Gao: Scalable training of L1-regularized log-linear models, ICML 2007.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include <Eigen/Core>

#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/optim/lbfgs_memory.hpp>
#include <feldspar/optim/line_search.hpp>
#include <feldspar/optim/objective.hpp>
#include <feldspar/optim/options.hpp>
#include <feldspar/optim/result.hpp>
#include <feldspar/optim/run.hpp>

namespace feldspar {

// v[i]: the derivative of F from the side to which F falls, 0 where neither side falls.
inline double pseudo_derivative(double x, double derivative, double l1) noexcept {
  if (x > 0) return derivative + l1;
  if (x < 0) return derivative - l1;
  if (derivative + l1 < 0) return derivative + l1;
  if (derivative - l1 > 0) return derivative - l1;
  return 0;
}

// Checks the penalties: one for each coordinate, finite, not negative.
inline void check_l1(const Eigen::VectorXd& l1, Eigen::Index dimension) {
  require(l1.size() == dimension, "l1 must have the objective's dimension ", dimension, ", got ",
          l1.size(), " values");
  for (Eigen::Index i = 0; i < l1.size(); ++i)
    require(l1[i] >= 0 && std::isfinite(l1[i]), "l1[", i, "] must be finite and at least 0, got ",
            l1[i]);
}

namespace detail {

// What one iteration knows about the place it starts from.
struct OrthantView {
  Eigen::VectorXd pseudo_gradient;  // v
  Eigen::VectorXd sign;             // -1 or 1: the orthant; 0: this coordinate is not penalised
  Eigen::VectorXd free;             // 0 where a coordinate rests at zero, else 1

  explicit OrthantView(Eigen::Index dimension)
      : pseudo_gradient(dimension), sign(dimension), free(dimension) {}

  void look_from(const Iterate& point, const Eigen::VectorXd& l1) {
    for (Eigen::Index i = 0; i < l1.size(); ++i) {
      const double x = point.x[i];
      const double v = pseudo_derivative(x, point.gradient[i], l1[i]);
      pseudo_gradient[i] = v;
      free[i] = x != 0 || v != 0 ? 1 : 0;
      sign[i] = l1[i] > 0 ? std::copysign(1.0, x != 0 ? x : -v) : 0;
    }
  }
};

// Fills an iterate: F, the gradient of f, the norm of the pseudo-gradient.
template <SmoothObjective Objective>
void evaluate_penalised(Objective& objective, const Eigen::VectorXd& l1, Iterate& point) {
  evaluate_smooth(objective, point);
  point.value += l1.dot(point.x.cwiseAbs());
  point.gradient_norm = 0;
  for (Eigen::Index i = 0; i < l1.size(); ++i)
    point.gradient_norm = std::max(
        point.gradient_norm, std::abs(pseudo_derivative(point.x[i], point.gradient[i], l1[i])));
}

// Makes `direction` one of descent from x, by the rules of the header comment.
inline void align_direction(const OrthantView& view, const Eigen::VectorXd& x,
                            Eigen::VectorXd& direction) {
  const Eigen::VectorXd& v = view.pseudo_gradient;
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    const bool climbs = direction[i] * v[i] >= 0;
    const bool is_cut = view.sign[i] != 0 && (x[i] + direction[i]) * view.sign[i] <= 0;
    if (climbs && is_cut) direction[i] = 0;
  }
  constexpr double kLeastCosine = 1e-8;
  if (-v.dot(direction) > kLeastCosine * v.norm() * direction.norm()) return;
  direction = (direction.array() * v.array() < 0).select(direction, 0.0);
}

// x + step * direction, with zero for what would leave the orthant.
inline void move_within_orthant(const OrthantView& view, const Eigen::VectorXd& x,
                                const Eigen::VectorXd& direction, double step,
                                Eigen::VectorXd& moved) {
  moved = x + step * direction;
  moved = (moved.array() * view.sign.array() < 0).select(0.0, moved);
}

// The factor for the next trial step: the minimiser of the parabola through value and slope at the
// start and the value at the trial, kept within bounds.
inline double shrink_factor(const LinePoint& start, const LinePoint& point) noexcept {
  if (!point.is_finite()) return 0.1;
  const double rise = point.value - start.value - start.slope;
  return rise > 0 ? std::clamp(-start.slope / (2 * rise), 0.1, 0.5) : 0.5;
}

// Backtracks from `current`; leaves the point it chose in `trial`. On the segment from one to the
// other F is smooth, so the conditions of the line search apply to it, with the segment as the unit
// step.
template <SmoothObjective Objective>
LineSearchResult backtrack(Objective& objective, const Eigen::VectorXd& l1, OptimizeRun& run,
                           const OrthantView& view, const Iterate& current,
                           const Eigen::VectorXd& direction, double first_step, Iterate& trial) {
  const auto evaluate = [&](Iterate& point) { evaluate_penalised(objective, l1, point); };
  Eigen::VectorXd segment(current.x.size());
  double step = first_step;
  for (int tried = 0; tried < run.options().max_trials; ++tried) {
    move_within_orthant(view, current.x, direction, step, trial.x);
    segment = trial.x - current.x;
    const double slope = view.pseudo_gradient.dot(segment);
    if (slope == 0) break;  // the step is too short to move x
    if (slope > 0) {        // cutting has turned the segment uphill; shorter steps are cut less
      step *= 0.5;
      continue;
    }
    if (!run.try_evaluate(evaluate, trial)) return {LineSearchOutcome::stopped, 0};
    const WolfeConditions wolfe{{0, current.value, slope},
                                run.options().sufficient_decrease,
                                run.options().curvature,
                                run.noise(current.value)};
    const double end_slope = segment.dot(trial.gradient) + segment.dot(l1.cwiseProduct(view.sign));
    const LinePoint point{1, trial.value, end_slope};
    if (point.is_finite() && wolfe.decreases(point)) return {LineSearchOutcome::found, step};
    step *= shrink_factor(wolfe.start, point);
  }
  return {LineSearchOutcome::failed, 0};
}

}  // namespace detail

// Minimises objective(x) + sum_i l1[i] |x[i]| from x0, `initial` being what is known of the inverse
// Hessian beforehand. value in the result includes the L1 term; gradient_norm is that of the
// pseudo-gradient. Throws InvalidInput for unusable arguments and NumericalFailure when the
// objective is not finite at x0.
template <SmoothObjective Objective>
OptimizeResult minimize_owlqn(Objective& objective, const Eigen::VectorXd& x0,
                              const Eigen::VectorXd& l1, const OptimizeOptions& options,
                              const Execution& execution, InitialInverse initial) {
  OptimizeRun run(options, execution);
  check_start(objective, x0, {});
  check_l1(l1, objective.dimension());
  Iterate current(x0);
  run.start([&](Iterate& point) { detail::evaluate_penalised(objective, l1, point); }, current);

  Iterate trial(x0);
  LbfgsMemory memory(x0.size(), options.memory, std::move(initial));
  detail::OrthantView view(x0.size());
  Eigen::VectorXd direction(x0.size());
  view.look_from(current, l1);
  while (run.goes_on(current, gap_bound(objective, view.pseudo_gradient))) {
    direction = -view.pseudo_gradient;
    memory.multiply_within(view.free, direction);
    detail::align_direction(view, current.x, direction);
    const LineSearchResult search = detail::backtrack(objective, l1, run, view, current, direction,
                                                      memory.natural_step(direction), trial);
    if (search.outcome == LineSearchOutcome::stopped) break;
    if (search.outcome == LineSearchOutcome::failed) {
      if (memory.empty()) run.stall();
      memory.clear();
      continue;
    }
    memory.push(trial.x - current.x, trial.gradient - current.gradient);
    std::swap(current, trial);
    run.accept(current, search.step);
    view.look_from(current, l1);
  }
  return std::move(run).finish(current);
}

// `inverse_diagonal` (empty: none) preconditions, as in minimize_lbfgs.
template <SmoothObjective Objective>
OptimizeResult minimize_owlqn(Objective& objective, const Eigen::VectorXd& x0,
                              const Eigen::VectorXd& l1, const OptimizeOptions& options = {},
                              const Execution& execution = {},
                              const Eigen::VectorXd& inverse_diagonal = {}) {
  check_start(objective, x0, inverse_diagonal);
  return minimize_owlqn(objective, x0, l1, options, execution, diagonal_inverse(inverse_diagonal));
}

// The same penalty for every coordinate.
template <SmoothObjective Objective>
OptimizeResult minimize_owlqn(Objective& objective, const Eigen::VectorXd& x0, double l1,
                              const OptimizeOptions& options = {}, const Execution& execution = {},
                              const Eigen::VectorXd& inverse_diagonal = {}) {
  require(l1 >= 0 && std::isfinite(l1), "l1 must be finite and at least 0, got ", l1);
  return minimize_owlqn(objective, x0, Eigen::VectorXd::Constant(x0.size(), l1), options, execution,
                        inverse_diagonal);
}

}  // namespace feldspar
