// L1-penalised logistic regression of every variable on the indicators of all the others, along a
// path of C:
//
//   minimise  C * sum_r weight_r * loss_r + |w|_1,     loss_r = -log P(x_r,target | rest of row r).
//
// Predictors are the indicators X_j = u of the non-zero values u. A target with two values has one
// weight vector, for its value 1. One with more has a weight vector for every value,
//
//   P(X_t = a | rest) = exp(b_a + w_a'x) / sum_c exp(b_c + w_c'x),
//
// which the penalty makes unique. Intercepts are not penalised unless asked for; the first
// observed value's is then set to 0, which changes no probability.
//
// A value that the data do not show has no weights, and its best intercept is minus infinity: fits
// are those of the limit, and the intercept that is reported gives it the odds 1 : n + 1 that the
// rule of succession gives an unseen value, so that probabilities of other data stay positive.
//
// Accuracy. Let P be the objective, g the gradient of its smooth part and t the largest component of
// its subgradient. The residuals, scaled by 1 / (1 + t), are a feasible point of the dual problem;
// at them the dual objective is at least (P - |w|_1 - g'w) / (1 + t) >= (P - t |w|_1) / (1 + t) (it
// is concave and zero at zero), so P exceeds the optimum by at most t (P + |w|_1) <= 2 t P, but for
// t times the intercept. We stop at t <= tolerance / 2. The excess is in fact of the order t^2.
//
// Cost: see l1_newton.hpp. Parallel over the targets, each solved by one thread: the same bits for
// any number of them.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/parallel.hpp>
#include <feldspar/base/stop_sign.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/learn/l1_newton.hpp>
#include <feldspar/learn/l1_owlqn.hpp>
#include <feldspar/learn/l1_path.hpp>
#include <feldspar/learn/l1_problem.hpp>

namespace feldspar {

namespace detail {

// The values of a target that occur, and its codes as numbers of these.
struct ObservedValues {
  std::vector<Value> values;
  std::vector<Value> codes;

  ObservedValues(const Dataset& data, Variable target) : codes(data.columns().codes(target)) {
    std::vector<Value> number(data.schema().cardinality(target), 0);
    for (const Value code : codes) number[code] = 1;
    for (Value a = 0; a < number.size(); ++a)
      if (number[a] != 0) {
        number[a] = static_cast<Value>(values.size());
        values.push_back(a);
      }
    for (Value& code : codes) code = number[code];
  }
};

// By value of the target; see the header comment for the values that do not occur.
inline std::vector<double> all_intercepts(const std::vector<Value>& observed,
                                          const std::vector<double>& intercepts,
                                          std::size_t cardinality, double total_weight) {
  double sum = 0;
  for (const double b : intercepts) sum += std::exp(b);
  std::vector<double> all(cardinality, std::log(sum) - std::log(total_weight + 1));
  for (std::size_t i = 0; i < observed.size(); ++i) all[observed[i]] = intercepts[i];
  return all;
}

inline L1Fit describe_fit(const L1Problem& problem, const ObservedValues& target,
                          std::size_t cardinality, const Eigen::VectorXd& x,
                          const L1Outcome& outcome, double c) {
  const std::size_t first = target.values.size() - problem.n_channels();  // value of channel 0
  std::vector<double> intercepts(target.values.size(), 0.0);
  for (std::size_t k = 0; k < problem.n_channels(); ++k)
    intercepts[first + k] = x[problem.intercept(k)];
  if (!problem.is_penalized(problem.intercept(0))) {
    const double reference = intercepts[0];
    for (double& b : intercepts) b -= reference;
  }
  L1Fit fit;
  fit.intercepts =
      all_intercepts(target.values, intercepts, cardinality, problem.loss().total_weight());
  for (std::size_t column = 0; column < problem.n_columns(); ++column)
    for (std::size_t k = 0; k < problem.n_channels(); ++k) {
      const double weight = x[problem.weight(k, column)];
      if (weight == 0) continue;
      const Indicator predictor = problem.design().columns[column];
      fit.weights.push_back(
          {predictor.variable, predictor.value, target.values[first + k], weight});
    }
  fit.objective = c * outcome.loss + outcome.l1_norm;
  fit.log_likelihood = -outcome.loss;
  fit.violation = outcome.violation;
  fit.iterations = outcome.iterations;
  fit.status = outcome.status;
  return fit;
}

// The parameters of a fit, as describe_fit() made it.
inline Eigen::VectorXd parameters_of(const L1Problem& problem, const ObservedValues& target,
                                     const L1Fit& fit) {
  const std::size_t first = target.values.size() - problem.n_channels();
  Eigen::VectorXd x = Eigen::VectorXd::Zero(problem.dimension());
  for (std::size_t k = 0; k < problem.n_channels(); ++k)
    x[problem.intercept(k)] = fit.intercepts[target.values[first + k]];
  for (const L1Weight& w : fit.weights) {
    const auto value = static_cast<std::size_t>(std::ranges::find(target.values, w.target_value) -
                                                target.values.begin());
    require(value >= first && value < target.values.size(),
            "the path to go on from is of other data");
    const std::size_t column = problem.design().columns.first(w.variable) + w.value - 1u;
    x[problem.weight(value - first, column)] = w.weight;
  }
  return x;
}

// Whether a Hessian would be too much for a target: it has a row for each (column, value of the
// target), and with many values most of the path goes into it. OWL-QN needs none and was as fast for
// 500 such pairs, five times faster for 1,300 and eight times for 20,000 (docs/decisions/0007). Two
// values are another matter: working sets are small then.
inline bool has_many_channels(const L1Design& design, std::size_t cardinality) {
  constexpr std::size_t kMost = 1000;
  return cardinality > 2 && design.columns.size() * cardinality > kMost;
}

// One target, for all C; `order` has the C from small to large. Starts from a fit, if there is one.
template <class Solver, class Stop>
void fit_target(const Dataset& data, const L1Design& design, Variable target,
                std::span<const double> c_values, std::span<const std::size_t> order,
                const L1Options& options, const L1Fit* start, Stop&& stop, std::span<L1Fit> fits) {
  using Clock = std::chrono::steady_clock;
  const ObservedValues observed(data, target);
  const std::size_t cardinality = data.schema().cardinality(target);
  if (observed.values.size() == 1) {
    for (L1Fit& fit : fits)
      fit.intercepts = all_intercepts(observed.values, {0.0}, cardinality, data.total_weight());
    return;
  }
  const L1Problem problem(design, target, observed.codes, data.weights(), observed.values.size(),
                          options.penalize_intercept);
  Solver solver(
      problem, start == nullptr ? problem.start() : parameters_of(problem, observed, *start), stop);
  for (const std::size_t i : order) {
    const auto started = Clock::now();
    const L1Outcome outcome =
        solver.solve(c_values[i], 0.5 * options.tolerance, options.max_iterations);
    fits[i] =
        describe_fit(problem, observed, cardinality, solver.parameters(), outcome, c_values[i]);
    fits[i].seconds = std::chrono::duration<double>(Clock::now() - started).count();
  }
}

}  // namespace detail

// Fits come in the order of `c_values`. Throws Interrupted when the monitor asks to stop. With a
// path of the same data before, goes on from the solutions for its largest C.
inline L1Path fit_l1_path(const Dataset& data, std::span<const double> c_values,
                          const L1Options& options, const Execution& execution = {},
                          const L1Path* before = nullptr) {
  options.check();
  require(!c_values.empty(), "c_values: none given");
  for (std::size_t i = 0; i < c_values.size(); ++i)
    require(c_values[i] > 0 && std::isfinite(c_values[i]), "c_values: number ", i, " is ",
            c_values[i], "; expected a positive, finite number");
  std::vector<std::size_t> order(c_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return c_values[i]; });
  std::size_t last = 0;  // of the path before
  if (before != nullptr) {
    require(before->schema() == data.schema() && before->total_weight() == data.total_weight(),
            "the path to go on from is of other data");
    last = static_cast<std::size_t>(std::ranges::max_element(before->c_values()) -
                                    before->c_values().begin());
  }

  const L1Design design(data.columns());
  const std::size_t n_targets = data.n_variables(), n_values = c_values.size();
  std::vector<L1Fit> fits(n_targets * n_values);
  const StopSign sign(execution);
  const auto stop = [&] { return sign.interrupted(); };
  std::atomic<std::size_t> done{0};
  parallel_for(n_targets, execution, [&](std::size_t target) {
    const auto variable = static_cast<Variable>(target);
    const bool coordinate = options.solver == L1Solver::coordinate &&
                            !detail::has_many_channels(design, data.schema().cardinality(variable));
    const auto fit = coordinate ? &detail::fit_target<L1Newton, const decltype(stop)&>
                                : &detail::fit_target<L1Owlqn, const decltype(stop)&>;
    const L1Fit* start = before == nullptr ? nullptr : &before->at(variable, last);
    fit(data, design, variable, c_values, order, options, start, stop,
        std::span(fits).subspan(target * n_values, n_values));
    const std::size_t finished = ++done;
    if (sign.on_calling_thread())
      execution.report({.stage = "l1",
                        .done = static_cast<double>(finished),
                        .total = static_cast<double>(n_targets)});
  });
  execution.throw_if_stopped();
  return L1Path(data.schema(), {c_values.begin(), c_values.end()}, data.total_weight(),
                std::move(fits));
}

}  // namespace feldspar
