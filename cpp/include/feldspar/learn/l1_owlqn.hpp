// The quasi-Newton solver of an L1Problem: OWL-QN on all parameters at once. Slower than L1Newton,
// and a check of it: the two share the problem and nothing else.
//
// Cost: per iteration one product with all columns and one with their transpose.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/monitor.hpp>
#include <feldspar/learn/l1_problem.hpp>
#include <feldspar/optim/options.hpp>
#include <feldspar/optim/owlqn.hpp>

namespace feldspar {

class L1Owlqn {
 public:
  // As for L1Newton.
  L1Owlqn(const L1Problem& problem, Eigen::VectorXd start, std::function<bool()> stop)
      : problem_(problem), stop_(std::move(stop)), x_(std::move(start)), at_(problem.loss()) {}

  L1Outcome solve(double c, double tolerance, int max_iterations) {
    Loss objective{problem_, at_, c};
    OptimizeOptions options;
    options.max_iterations = max_iterations;
    options.max_evaluations = std::numeric_limits<int>::max();
    options.gradient_tolerance = tolerance;
    options.memory = kMemory;
    Eigen::VectorXd l1(x_.size());
    for (Eigen::Index i = 0; i < x_.size(); ++i) l1[i] = problem_.is_penalized(i) ? 1.0 : 0.0;
    StopMonitor monitor(stop_);
    const OptimizeResult run =
        minimize_owlqn(objective, x_, l1, options, Execution{1, &monitor}, inverse_diagonal(c));
    if (run.status == Status::interrupted) throw Interrupted();
    x_ = run.x;
    L1Outcome outcome;
    outcome.l1_norm = problem_.l1_norm(x_);
    outcome.loss = (run.value - outcome.l1_norm) / c;
    outcome.violation = run.gradient_norm;
    outcome.iterations = run.iterations;
    outcome.status = run.status;
    return outcome;
  }

  const Eigen::VectorXd& parameters() const noexcept { return x_; }

 private:
  static constexpr int kMemory = 20;

  // C * loss.
  struct Loss {
    const L1Problem& problem;
    L1Margins& at;
    double c;

    Eigen::Index dimension() const { return problem.dimension(); }
    double value_and_gradient(const Eigen::VectorXd& x, Eigen::VectorXd& gradient) {
      problem.set_margins(x, at.margins);
      at.evaluate(problem.loss());
      problem.set_gradient(at, gradient);
      gradient *= c;
      return c * at.loss;
    }
  };

  // Hands a question on.
  class StopMonitor : public Monitor {
   public:
    explicit StopMonitor(const std::function<bool()>& stop) : stop_(stop) {}

   protected:
    bool wants_stop() override { return stop_(); }

   private:
    const std::function<bool()>& stop_;
  };

  // Of the second derivatives at the start; columns without rows get any number.
  Eigen::VectorXd inverse_diagonal(double c) {
    Eigen::VectorXd start = problem_.start(), diagonal(x_.size());
    problem_.set_margins(start, at_.margins);
    at_.evaluate(problem_.loss());
    std::vector<double> curvature(problem_.n_rows());
    for (std::size_t k = 0; k < problem_.n_channels(); ++k) {
      const auto p = problem_.channel(at_.probabilities, k);
      const auto weights = problem_.loss().weights();
      for (std::size_t r = 0; r < p.size(); ++r) curvature[r] = weights[r] * p[r] * (1 - p[r]);
      diagonal[problem_.intercept(k)] = std::accumulate(curvature.begin(), curvature.end(), 0.0);
      problem_.design().groups.transpose_product(
          curvature, {diagonal.data() + problem_.weight(k, 0), problem_.n_columns()});
    }
    const double least = 1e-9 * diagonal.maxCoeff();
    return (c * diagonal.array().max(least)).inverse();
  }

  const L1Problem& problem_;
  std::function<bool()> stop_;
  Eigen::VectorXd x_;
  L1Margins at_;
};

}  // namespace feldspar
