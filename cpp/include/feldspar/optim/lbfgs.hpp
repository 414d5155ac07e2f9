// Limited-memory BFGS for smooth functions: x <- x - a H gradient(x), H from the last pairs of
// steps and gradient differences (lbfgs_memory.hpp), a by a strong Wolfe line search
// (line_search.hpp).
//
// Cost per iteration: usually one evaluation, and about 4 memory n multiplications. Runs on the
// calling thread (the objective may use more); no randomness.
//
// Reference: Liu, Nocedal: On the limited memory BFGS method for large scale optimization,
// Mathematical Programming 45 (1989).
#pragma once

#include <optional>
#include <utility>

#include <Eigen/Core>

#include <feldspar/base/execution.hpp>
#include <feldspar/optim/lbfgs_memory.hpp>
#include <feldspar/optim/line_search.hpp>
#include <feldspar/optim/objective.hpp>
#include <feldspar/optim/options.hpp>
#include <feldspar/optim/result.hpp>
#include <feldspar/optim/run.hpp>

namespace feldspar {

namespace detail {

// Searches from `current` along `direction`; leaves the point it chose in `trial`.
template <SmoothObjective Objective>
LineSearchResult search_along(Objective& objective, OptimizeRun& run, const Iterate& current,
                              const Eigen::VectorXd& direction, double first_step, Iterate& trial) {
  const double slope = current.gradient.dot(direction);
  if (!(slope < 0)) return {LineSearchOutcome::failed, 0};  // rounding has spoilt the direction
  const auto evaluate = [&](Iterate& point) { evaluate_smooth(objective, point); };
  const auto line = [&](double step) -> std::optional<LinePoint> {
    trial.x = current.x + step * direction;
    if (!run.try_evaluate(evaluate, trial)) return std::nullopt;
    return LinePoint{step, trial.value, trial.gradient.dot(direction)};
  };
  const WolfeConditions wolfe{{0, current.value, slope},
                              run.options().sufficient_decrease,
                              run.options().curvature,
                              run.noise(current.value)};
  return search_line(line, wolfe, first_step, run.options().max_trials);
}

}  // namespace detail

// Minimises `objective` from x0 with what `memory` knows of its curvature, and adds to that: a run
// that was ended by a loose tolerance goes on where it was. Throws as below.
template <SmoothObjective Objective>
OptimizeResult minimize_lbfgs(Objective& objective, const Eigen::VectorXd& x0, LbfgsMemory& memory,
                              const OptimizeOptions& options, const Execution& execution) {
  OptimizeRun run(options, execution);
  check_start(objective, x0, {});
  Iterate current(x0);
  run.start([&](Iterate& point) { evaluate_smooth(objective, point); }, current);

  Iterate trial(x0);
  Eigen::VectorXd direction(x0.size());
  while (run.goes_on(current, gap_bound(objective, current.gradient))) {
    direction = -current.gradient;
    memory.multiply(direction);
    const LineSearchResult search = detail::search_along(objective, run, current, direction,
                                                         memory.natural_step(direction), trial);
    if (search.outcome == LineSearchOutcome::stopped) break;
    if (search.outcome == LineSearchOutcome::failed) {
      if (memory.empty()) run.stall();
      memory.clear();  // once more, along the steepest descent
      continue;
    }
    memory.push(trial.x - current.x, trial.gradient - current.gradient);
    std::swap(current, trial);
    run.accept(current, search.step);
  }
  return std::move(run).finish(current);
}

// Minimises `objective` from x0. `inverse_diagonal` (empty: none) preconditions: positive numbers,
// ideally the inverse of the Hessian's diagonal. Throws InvalidInput for unusable arguments and
// NumericalFailure when the objective is not finite at x0.
template <SmoothObjective Objective>
OptimizeResult minimize_lbfgs(Objective& objective, const Eigen::VectorXd& x0,
                              const OptimizeOptions& options = {}, const Execution& execution = {},
                              const Eigen::VectorXd& inverse_diagonal = {}) {
  options.check();
  check_start(objective, x0, inverse_diagonal);
  LbfgsMemory memory(x0.size(), options.memory, diagonal_inverse(inverse_diagonal));
  return minimize_lbfgs(objective, x0, memory, options, execution);
}

}  // namespace feldspar
