// Newton's method for smooth convex functions of very many variables: x <- x + a d, where d solves
//
//   Hessian(x) d = -gradient(x)
//
// roughly, by conjugate gradients that need products with the Hessian only; a by a strong Wolfe line
// search (line_search.hpp).
//
// How roughly: the quadratic model of the function that d minimises, q, is worth no more than the
// function follows it. The gradients end once a step of theirs decreases q by less than a share of what
// their steps did on average (Nash and Sofer), a half at first. Where the function decreased nearly as
// the last model said, the share is smaller: each end forgets what the gradients know of the Hessian.
// And they end when the gradient that q has where they are would end the run.
//
// Far from the minimum that model is worth little, and L-BFGS gets ahead faster: a run begins with its
// steps, with few pairs, until some of them together decrease the value by a small share only.
//
// Beside L-BFGS: as many products as that has evaluations, or somewhat more. It pays where a product
// costs less than an evaluation, and where n is so large that reading the pairs of L-BFGS takes as
// long as the function does: an iteration of conjugate gradients reads eight vectors of n floats.
//
// Runs on the calling thread (the objective may use more); no randomness.
//
// References: Nash, Sofer: Assessing a search direction within a truncated-Newton method, Operations
// Research Letters 9 (1990); Nocedal, Wright: Numerical Optimization (2006), algorithm 7.1.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include <Eigen/Core>

#include <feldspar/base/execution.hpp>
#include <feldspar/base/pack.hpp>
#include <feldspar/base/simd.hpp>
#include <feldspar/optim/lbfgs.hpp>
#include <feldspar/optim/lbfgs_memory.hpp>
#include <feldspar/optim/line_search.hpp>
#include <feldspar/optim/objective.hpp>
#include <feldspar/optim/options.hpp>
#include <feldspar/optim/result.hpp>
#include <feldspar/optim/run.hpp>

namespace feldspar {

namespace detail {

// The steps of conjugate gradients: numbers are stored in single precision and summed in double.
struct MultiplyKernel {
  FELDSPAR_ALWAYS_INLINE double operator()(const float* a, const float* b,
                                           std::size_t n) const noexcept {
    Pack sums = broadcast(0.0);
    std::size_t i = 0;
    for (; i + kPackSize <= n; i += kPackSize) sums += load_pack(a + i) * load_pack(b + i);
    double rest = 0;
    for (; i < n; ++i) rest += static_cast<double>(a[i]) * b[i];
    return sum_of(sums) + rest;
  }

  static FELDSPAR_ALWAYS_INLINE double sum_of(const Pack& pack) noexcept {
    double lanes[kPackSize];
    store_pack(lanes, pack);
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
  }
};

// solution += step * search, residual -= step * product; returns |residual|^2.
struct StepKernel {
  FELDSPAR_ALWAYS_INLINE double operator()(float* solution, float* residual, const float* search,
                                           const float* product, std::size_t n,
                                           double step) const noexcept {
    Pack sums = broadcast(0.0);
    std::size_t i = 0;
    for (; i + kPackSize <= n; i += kPackSize) {
      store_pack(solution + i, load_pack(solution + i) + step * load_pack(search + i));
      const Pack left = load_pack(residual + i) - step * load_pack(product + i);
      sums += left * left;
      store_pack(residual + i, left);
    }
    double rest = 0;
    for (; i < n; ++i) {
      solution[i] = static_cast<float>(solution[i] + step * search[i]);
      const double left = residual[i] - step * product[i];
      rest += left * left;
      residual[i] = static_cast<float>(left);
    }
    return MultiplyKernel::sum_of(sums) + rest;
  }
};

// search = residual + factor * search
struct TurnKernel {
  FELDSPAR_ALWAYS_INLINE void operator()(float* search, const float* residual, std::size_t n,
                                         float factor) const noexcept {
    for (std::size_t i = 0; i < n; ++i) search[i] = residual[i] + factor * search[i];
  }
};

// Pairs of L-BFGS on the way there, and the share of the value by which kDecreasePeriod of its steps
// decrease it when the minimum is near.
inline constexpr int kFewPairs = 5;
inline constexpr double kNear = 0.05;

// Finds directions; keeps its vectors from one to the next.
class ConjugateGradients {
 public:
  ConjugateGradients(Eigen::Index dimension, const InitialInverse& preconditioner)
      : preconditioner_(preconditioner), search_(dimension), product_(dimension) {}

  // Solves Hessian d = -gradient roughly, where the value is at most `gap` above the minimum. False:
  // there is no direction, a limit was met.
  template <CurvedObjective Objective>
  bool solve(Objective& objective, OptimizeRun& run, const Eigen::VectorXd& gradient, double gap,
             Eigen::VectorXd& direction) {
    constexpr double kMostWorthwhile = 0.5, kLeastWorthwhile = 0.05, kDistrust = 10, kEnough = 0.5;
    const double worthwhile = std::clamp(kDistrust * distrust_, kLeastWorthwhile, kMostWorthwhile);
    // In units of the gradient's length, lest its numbers are too small or too large for single
    // precision.
    const double length = gradient.norm();
    residual_ = (gradient * (-1 / length)).cast<float>();
    solution_.setZero(gradient.size());
    search_ = preconditioned();
    const auto n = static_cast<std::size_t>(gradient.size());
    const SimdLevel simd = simd_level();
    const auto multiply = [&](const Eigen::VectorXf& a, const Eigen::VectorXf& b) {
      return run_kernel<MultiplyKernel>(simd, a.data(), b.data(), n);
    };
    double square = multiply(residual_, search_), decrease = 0;
    for (int k = 1;; ++k) {
      if (!run.try_product(objective, search_, product_)) return false;
      const double curvature = multiply(search_, product_);
      // Rounding, or a function that is flat that way: what has been found must do.
      if (!(curvature > 0)) break;
      const double step = square / curvature;
      double next_square = run_kernel<StepKernel>(simd, solution_.data(), residual_.data(),
                                                  std::as_const(search_).data(),
                                                  std::as_const(product_).data(), n, step);
      const double gained = 0.5 * step * square;
      decrease += gained;
      if (k * gained < worthwhile * decrease) break;
      // The bound is about as many times the gradient's square as before.
      if (gap * next_square < kEnough * run.options().gap_tolerance) break;
      const Eigen::VectorXf& next = preconditioned();
      if (preconditioner_.multiply) next_square = multiply(residual_, next);
      if (!(next_square > 0)) break;
      run_kernel<TurnKernel>(simd, search_.data(), next.data(), n,
                             static_cast<float>(next_square / square));
      square = next_square;
    }
    predicted_ = length * length * decrease;
    // If not even one step was made: the steepest descent.
    direction = length * (decrease > 0 ? solution_ : search_).cast<double>();
    return true;
  }

  // What came of the last direction: the step and by how much it decreased the function.
  void learn(double step, double decrease) {
    distrust_ = step == 1 && predicted_ > 0 ? std::abs(decrease - predicted_) / predicted_ : 1.0;
  }

 private:
  const Eigen::VectorXf& preconditioned() {
    if (!preconditioner_.multiply) return residual_;
    Eigen::VectorXd exact = residual_.cast<double>();
    preconditioner_.multiply(exact);
    preconditioned_ = exact.cast<float>();
    return preconditioned_;
  }

  InitialInverse preconditioner_;
  double predicted_ = 0;  // decrease of the last direction's model
  double distrust_ = 1;   // by what share the function differed from it
  Eigen::VectorXf solution_, residual_, search_, product_, preconditioned_;
};

}  // namespace detail

// Minimises `objective` from x0; `preconditioner` ideally multiplies by nearly the inverse of the
// Hessian. Where `far_away` is false, the function is nearly quadratic from x0 on, and all steps are
// Newton's. Products with the Hessian count as evaluations. Throws as minimize_lbfgs.
template <CurvedObjective Objective>
OptimizeResult minimize_newton_cg(Objective& objective, const Eigen::VectorXd& x0,
                                  const OptimizeOptions& options = {},
                                  const Execution& execution = {},
                                  const InitialInverse& preconditioner = {}, bool far_away = true) {
  OptimizeRun run(options, execution);
  check_start(objective, x0, {});
  Iterate current(x0);
  run.start([&](Iterate& point) { evaluate_smooth(objective, point); }, current);

  Iterate trial(x0);
  Eigen::VectorXd direction(x0.size());
  std::optional<LbfgsMemory> memory;
  if (far_away) memory.emplace(x0.size(), detail::kFewPairs, preconditioner);
  detail::ConjugateGradients gradients(x0.size(), preconditioner);
  for (;;) {
    const double gap = gap_bound(objective, current.gradient);
    if (!run.goes_on(current, gap)) break;
    double first_step = 1;
    if (memory) {
      direction = -current.gradient;
      memory->multiply(direction);
      first_step = memory->natural_step(direction);
    } else if (!gradients.solve(objective, run, current.gradient, gap, direction)) {
      break;
    }
    const LineSearchResult search =
        detail::search_along(objective, run, current, direction, first_step, trial);
    if (search.outcome == LineSearchOutcome::stopped) break;
    if (search.outcome == LineSearchOutcome::failed) {
      if (!memory) {
        run.stall();
        continue;
      }
      memory.reset();
      trial.x = current.x;  // products with the Hessian are those of the last evaluation
      if (!run.try_evaluate([&](Iterate& point) { evaluate_smooth(objective, point); }, trial))
        break;
      continue;
    }
    if (memory)
      memory->push(trial.x - current.x, trial.gradient - current.gradient);
    else
      gradients.learn(search.step, current.value - trial.value);
    std::swap(current, trial);
    run.accept(current, search.step);
    if (memory && run.decreases_less_than(detail::kNear)) memory.reset();
  }
  return std::move(run).finish(current);
}

}  // namespace feldspar
