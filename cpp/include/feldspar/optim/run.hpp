// The bookkeeping that every optimizer shares: counting, limits, the best point, history, and the
// tests that end a run. A solver only proposes points:
//
//   OptimizeRun run(options, execution);
//   run.start(evaluate, current);              // value and gradient at x0
//   while (run.goes_on(current, gap)) {
//     ... run.try_evaluate(evaluate, trial) ...  // false: a limit was met, leave the loop
//     run.accept(current, step);
//   }
//   return run.finish(current);
//
// `evaluate(iterate)` fills value, gradient and gradient_norm of an iterate from its x.
// The monitor is polled before every evaluation and told of every iteration.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/optim/objective.hpp>
#include <feldspar/optim/options.hpp>
#include <feldspar/optim/result.hpp>

namespace feldspar {

// A point with all that is known about it.
struct Iterate {
  Eigen::VectorXd x;
  Eigen::VectorXd gradient;  // of the smooth part
  double value = 0;          // of the whole function; NaN when value or gradient is not finite
  double gradient_norm = 0;  // what the convergence test looks at

  explicit Iterate(Eigen::VectorXd point)
      : x(std::move(point)), gradient(Eigen::VectorXd::Zero(x.size())) {}

  bool is_finite() const noexcept { return std::isfinite(value); }
};

// Fills an iterate from a smooth objective.
template <SmoothObjective Objective>
void evaluate_smooth(Objective& objective, Iterate& point) {
  point.value = objective.value_and_gradient(point.x, point.gradient);
  // Largest component and a look for what is not finite in one pass: x * 0 is 0 for numbers only.
  double largest = 0, zero = 0;
  for (const double x : point.gradient) {
    largest = std::max(largest, std::abs(x));
    zero += x * 0;
  }
  point.gradient_norm = largest;
  if (zero != 0) point.value = std::numeric_limits<double>::quiet_NaN();
}

// Checks what the solvers are given besides the options.
template <SmoothObjective Objective>
void check_start(Objective& objective, const Eigen::VectorXd& x0,
                 const Eigen::VectorXd& inverse_diagonal) {
  const Eigen::Index dimension = objective.dimension();
  require(x0.size() == dimension, "x0 must have the objective's dimension ", dimension, ", got ",
          x0.size(), " values");
  for (Eigen::Index i = 0; i < x0.size(); ++i)
    require(std::isfinite(x0[i]), "x0[", i, "] must be finite, got ", x0[i]);
  require(inverse_diagonal.size() == 0 || inverse_diagonal.size() == dimension,
          "inverse_diagonal must be empty or have the objective's dimension ", dimension, ", got ",
          inverse_diagonal.size(), " values");
  for (Eigen::Index i = 0; i < inverse_diagonal.size(); ++i)
    require(inverse_diagonal[i] > 0 && std::isfinite(inverse_diagonal[i]), "inverse_diagonal[", i,
            "] must be positive and finite, got ", inverse_diagonal[i]);
}

class OptimizeRun {
 public:
  OptimizeRun(const OptimizeOptions& options, const Execution& execution)
      : options_(options), execution_(execution) {
    options_.check();
  }

  const OptimizeOptions& options() const noexcept { return options_; }

  // Changes of the value up to this may be rounding.
  double noise(double value) const noexcept {
    return options_.value_noise * std::max(std::abs(value), 1.0);
  }

  // Evaluates the start, whatever the limits: a run always has a point to return.
  template <class Evaluate>
  void start(Evaluate&& evaluate, Iterate& point) {
    evaluate(point);
    ++evaluations_;
    if (!point.is_finite())
      throw NumericalFailure("the objective's value or gradient at x0 is not finite");
    keep_if_best(point);
    record(point, 0.0);
  }

  // Evaluates a trial point and remembers it if it is the best; false when a limit forbids it.
  template <class Evaluate>
  [[nodiscard]] bool try_evaluate(Evaluate&& evaluate, Iterate& point) {
    if (limit_reached()) return false;
    evaluate(point);
    ++evaluations_;
    keep_if_best(point);
    return true;
  }

  // Computes a product with the Hessian, which counts as an evaluation; false when a limit forbids it
  // or it was stopped in the middle.
  template <CurvedObjective Objective>
  [[nodiscard]] bool try_product(Objective& objective, const Eigen::VectorXf& direction,
                                 Eigen::VectorXf& product) {
    if (limit_reached()) return false;
    ++evaluations_;
    if (objective.hessian_product(direction, product)) return true;
    status_ = Status::interrupted;
    return false;
  }

  // `point` is the next iterate, reached with `step`.
  void accept(const Iterate& point, double step) {
    ++iterations_;
    record(point, step);
  }

  void stall() noexcept { status_ = Status::stalled; }

  // Whether the last kDecreasePeriod iterations decreased the value by less than this share of it.
  bool decreases_less_than(double share) const {
    if (share <= 0 || iterations_ < kDecreasePeriod) return false;
    const double now = history_.back().value;
    const double before = history_[history_.size() - 1 - kDecreasePeriod].value;
    return before - now < share * std::max(std::abs(now), 1.0);
  }

  // Whether to take another step from `current`, whose value is at most `gap` above the minimum.
  bool goes_on(const Iterate& current, double gap) {
    if (status_) return false;
    if (current.gradient_norm <= options_.gradient_tolerance || gap < options_.gap_tolerance ||
        decreases_less_than(options_.relative_decrease))
      status_ = Status::converged;
    else if (iterations_ >= options_.max_iterations)
      status_ = Status::max_iterations;
    else if (iterations_ - best_.iterations >= kPatience)
      status_ = Status::stalled;
    return !status_;
  }

  // `current` when its gradient passes the test, else the best point seen.
  OptimizeResult finish(const Iterate& current) && {
    OptimizeResult result = std::move(best_);
    if (current.gradient_norm <= options_.gradient_tolerance) {
      result.x = current.x;
      result.value = current.value;
      result.gradient_norm = current.gradient_norm;
    }
    result.iterations = iterations_;
    result.evaluations = evaluations_;
    result.seconds = seconds();
    result.status = status_.value_or(Status::stalled);
    result.history = std::move(history_);
    return result;
  }

 private:
  using Clock = std::chrono::steady_clock;

  // Iterations without a better point, in value or in gradient, after which only rounding is left.
  static constexpr int kPatience = 50;

  double seconds() const { return std::chrono::duration<double>(Clock::now() - started_).count(); }

  bool limit_reached() {
    if (execution_.poll_stop())
      status_ = Status::interrupted;
    else if (evaluations_ >= options_.max_evaluations)
      status_ = Status::max_evaluations;
    else if (seconds() >= options_.max_seconds)
      status_ = Status::time_limit;
    return status_.has_value();
  }

  // Of points whose values rounding cannot tell apart, the one with the smaller gradient is better.
  // All are measured against the lowest value seen, so that many such choices cannot add up.
  void keep_if_best(const Iterate& point) {
    if (!point.is_finite()) return;
    const bool clearly_lower = point.value < best_.value - noise(point.value);
    const bool as_low = point.value <= lowest_ + noise(point.value);
    lowest_ = std::min(lowest_, point.value);
    if (!clearly_lower && !(as_low && point.gradient_norm < best_.gradient_norm)) return;
    best_.x = point.x;
    best_.value = point.value;
    best_.gradient_norm = point.gradient_norm;
    best_.iterations = iterations_;
  }

  void record(const Iterate& point, double step) {
    history_.push_back(
        {iterations_, point.value, point.gradient_norm, step, evaluations_, seconds()});
    execution_.report({.stage = "optimize",
                       .done = static_cast<double>(iterations_),
                       .total = static_cast<double>(options_.max_iterations),
                       .value = point.value});
  }

  OptimizeOptions options_;
  Execution execution_;
  Clock::time_point started_ = Clock::now();
  int iterations_ = 0;
  int evaluations_ = 0;
  double lowest_ = std::numeric_limits<double>::infinity();
  OptimizeResult best_;
  std::vector<OptimizeStep> history_;
  std::optional<Status> status_;
};

}  // namespace feldspar
