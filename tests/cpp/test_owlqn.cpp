// optim/owlqn.hpp and optim/minimize.hpp against closed forms, coordinate descent and the
// subgradient condition.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <Eigen/Core>

#include <feldspar/base/error.hpp>
#include <feldspar/base/monitor.hpp>
#include <feldspar/optim/minimize.hpp>
#include <feldspar/optim/owlqn.hpp>

#include "support/optimization_problems.hpp"

namespace test_owlqn {

using namespace feldspar;
using namespace feldspar::testing;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

OptimizeOptions with_tolerance(double gradient_tolerance) {
  OptimizeOptions options;
  options.gradient_tolerance = gradient_tolerance;
  return options;
}

double soft_threshold(double z, double l1) {
  return std::copysign(std::max(std::abs(z) - l1, 0.0), z);
}

// Cyclic coordinate descent for |Ax - b|^2 / 2 + sum l1 |x|: slow, simple, sure.
VectorXd lasso_by_coordinates(const LeastSquares& problem, const VectorXd& l1) {
  VectorXd x = VectorXd::Zero(problem.dimension());
  VectorXd residual = problem.b;
  for (int sweep = 0; sweep < 5000; ++sweep)
    for (Eigen::Index j = 0; j < x.size(); ++j) {
      const auto column = problem.a.col(j);
      const double square = column.squaredNorm();
      const double moved = soft_threshold(column.dot(residual) + square * x[j], l1[j]) / square;
      residual += column * (x[j] - moved);
      x[j] = moved;
    }
  return x;
}

Eigen::Index zeros(const VectorXd& x) { return (x.array() == 0).count(); }

}  // namespace

TEST_CASE("the pseudo-derivative is the one-sided slope that falls") {
  CHECK(pseudo_derivative(2.0, 0.5, 1.0) == 1.5);
  CHECK(pseudo_derivative(-2.0, 0.5, 1.0) == -0.5);
  CHECK(pseudo_derivative(0.0, 0.5, 1.0) == 0.0);
  CHECK(pseudo_derivative(0.0, 3.0, 1.0) == 2.0);
  CHECK(pseudo_derivative(0.0, -3.0, 1.0) == -2.0);
  CHECK(pseudo_derivative(-0.0, 3.0, 0.0) == 3.0);
}

TEST_CASE("a separable quadratic is soft-thresholded") {
  const Eigen::Index n = 30;
  Numbers numbers(1);
  const VectorXd curvature = 2.0 + numbers.vector(n).array();
  const VectorXd b = 3.0 * numbers.vector(n);
  VectorXd l1 = numbers.vector(n).cwiseAbs();
  l1.head(5).setZero();
  const Quadratic problem{MatrixXd(curvature.asDiagonal()), b};
  for (const bool scaled : {false, true})
    for (const double start : {0.0, 1.0, -5.0}) {
      CAPTURE(scaled);
      CAPTURE(start);
      const OptimizeResult result =
          minimize_owlqn(problem, VectorXd::Constant(n, start), l1, with_tolerance(1e-10), {},
                         scaled ? problem.inverse_diagonal() : VectorXd());
      CHECK(result.status == Status::converged);
      for (Eigen::Index i = 0; i < n; ++i) {
        const double expected = soft_threshold(b[i], l1[i]) / curvature[i];
        CHECK(result.x[i] == doctest::Approx(expected).epsilon(1e-9));
        CHECK((result.x[i] == 0) == (expected == 0));  // zeros are exact
      }
    }
}

TEST_CASE("a coordinate without penalty passes zero in one step") {
  const Quadratic problem{MatrixXd(VectorXd{{2.0, 4.0}}.asDiagonal()), VectorXd{{6.0, 8.0}}};
  const OptimizeResult result = minimize_owlqn(
      problem, VectorXd{{-4.0, 1.75}}, VectorXd{{0.0, 1.0}}, {}, {}, problem.inverse_diagonal());
  CHECK(result.status == Status::converged);
  CHECK(result.iterations == 1);
  CHECK(result.x[0] == 3.0);
}

TEST_CASE("a direction loses the components that climb and would be cut at zero") {
  Iterate point(VectorXd{{0.0, 0.5, 5.0, -4.0, 0.5}});
  point.gradient = VectorXd{{-3.0, -3.0, -3.0, 1.0, -3.0}};
  const VectorXd l1{{1.0, 1.0, 1.0, 1.0, 0.0}};  // the last is in no orthant
  detail::OrthantView view(5);
  view.look_from(point, l1);
  REQUIRE(view.pseudo_gradient == VectorXd{{-2.0, -2.0, -2.0, 0.0, -3.0}});

  VectorXd direction{{-1.0, -1.0, -1.0, 9.0, 90.0}};
  detail::align_direction(view, point.x, direction);
  CHECK(direction == VectorXd{{0.0, 0.0, -1.0, 0.0, 90.0}});

  // What is left would climb: only the components that fall stay.
  direction = VectorXd{{1.0, 1.0, -1.0, 1.0, -90.0}};
  detail::align_direction(view, point.x, direction);
  CHECK(direction == VectorXd{{1.0, 1.0, 0.0, 0.0, 0.0}});
}

TEST_CASE("a lasso agrees with coordinate descent") {
  Numbers numbers(2);
  const LeastSquares problem{numbers.matrix(20, 30), 2.0 * numbers.vector(20)};
  VectorXd l1 = VectorXd::Constant(30, 0.8);
  l1[4] = 0;
  const VectorXd expected = lasso_by_coordinates(problem, l1);
  REQUIRE(zeros(expected) > 5);
  const OptimizeResult result =
      minimize_owlqn(problem, VectorXd::Zero(30), l1, with_tolerance(1e-10));
  CHECK(result.status == Status::converged);
  CHECK((result.x - expected).lpNorm<Eigen::Infinity>() < 1e-7);
  CHECK(zeros(result.x) == zeros(expected));
  VectorXd gradient(30);
  const double smooth = problem.value_and_gradient(result.x, gradient);
  CHECK(result.value == doctest::Approx(smooth + l1.dot(result.x.cwiseAbs())).epsilon(1e-14));
}

TEST_CASE("badly scaled logistic problems meet the subgradient condition tightly") {
  for (const double spread : {1e-3, 1.0, 1e3})
    for (const double strength : {0.1, 1.0, 10.0})
      for (const std::uint64_t seed : {1u, 2u}) {
        CAPTURE(spread);
        CAPTURE(strength);
        CAPTURE(seed);
        const Eigen::Index n = 60;
        const Logistic problem = random_logistic(seed, 300, n, spread);
        VectorXd l1(n);  // in the units of each column; the intercept is free
        for (Eigen::Index j = 0; j < n; ++j)
          l1[j] = strength * problem.rows.col(j).cwiseAbs().mean();
        l1[0] = 0;
        const VectorXd x0 = VectorXd::Zero(n);
        const double scale = gradient_at(problem, x0).lpNorm<Eigen::Infinity>();
        const OptimizeResult result = minimize_owlqn(problem, x0, l1, with_tolerance(1e-9 * scale),
                                                     {}, problem.inverse_diagonal());
        CHECK(result.status == Status::converged);
        const double violation =
            subgradient_violation(result.x, gradient_at(problem, result.x), l1);
        CHECK(violation <= 1e-9 * scale);
        CHECK(result.gradient_norm == doctest::Approx(violation).epsilon(1e-6));
        CHECK(result.iterations < 400);
      }
}

TEST_CASE("correlated columns do not stall it, with or without a diagonal") {
  Logistic problem = random_logistic(8, 300, 40, 1.0);
  for (Eigen::Index j = 2; j < 40; ++j)
    problem.rows.col(j) = 0.3 * problem.rows.col(j) + 0.7 * problem.rows.col(j - 1);
  const VectorXd l1 = VectorXd::Constant(40, 0.5);
  for (const bool scaled : {false, true}) {
    CAPTURE(scaled);
    const OptimizeResult result =
        minimize_owlqn(problem, VectorXd::Zero(40), l1, with_tolerance(1e-8), {},
                       scaled ? problem.inverse_diagonal() : VectorXd());
    CHECK(result.status == Status::converged);
    CHECK(result.iterations < 400);
  }
}

TEST_CASE("the optimum does not depend on the start or on the memory") {
  const Logistic problem = random_logistic(3, 200, 15, 1.0);
  const OptimizeOptions options = with_tolerance(1e-9);
  const double expected = minimize_owlqn(problem, VectorXd::Zero(15), 2.0, options).value;
  for (const int memory : {1, 5}) {
    OptimizeOptions changed = options;
    changed.memory = memory;
    changed.max_iterations = 5000;
    const OptimizeResult result =
        minimize_owlqn(problem, VectorXd::Constant(15, 1.0), 2.0, changed);
    CHECK(result.status == Status::converged);
    CHECK(result.value == doctest::Approx(expected).epsilon(1e-12));
  }
}

TEST_CASE("a penalty above every derivative leaves the start at zero") {
  const Logistic problem = random_logistic(3, 100, 10, 1.0);
  const VectorXd zero = VectorXd::Zero(10);
  const double largest = gradient_at(problem, zero).lpNorm<Eigen::Infinity>();
  const OptimizeResult none = minimize_owlqn(problem, zero, 1.001 * largest);
  CHECK(none.status == Status::converged);
  CHECK(none.evaluations == 1);
  CHECK(none.x == zero);
  CHECK(none.gradient_norm == 0);
  CHECK(minimize_owlqn(problem, zero, 0.999 * largest).x != zero);
}

TEST_CASE("dimensions 0 and 1") {
  const Quadratic nothing{MatrixXd(0, 0), VectorXd(0), 1.5};
  CHECK(minimize_owlqn(nothing, VectorXd(0), VectorXd(0)).value == 1.5);

  const Quadratic line{MatrixXd::Constant(1, 1, 2.0), VectorXd::Constant(1, 3.0)};
  const OptimizeResult one = minimize_owlqn(line, VectorXd::Constant(1, -4.0), 1.0);
  CHECK(one.status == Status::converged);
  CHECK(one.x[0] == doctest::Approx(1.0));
}

TEST_CASE("the bound on the gap is that of the whole function, by the pseudo-gradient") {
  const SharpQuadratic problem = sharp_quadratic(20, 1e4);
  const double l1 = 0.1;
  const OptimizeResult best =
      minimize_owlqn(problem, VectorXd::Zero(20), l1, with_tolerance(1e-12));
  REQUIRE(zeros(best.x) > 0);
  for (const double gap : {1e-2, 1e-6}) {
    OptimizeOptions options = with_tolerance(0);
    options.gap_tolerance = gap;
    const OptimizeResult result = minimize_owlqn(problem, VectorXd::Zero(20), l1, options);
    CHECK(result.status == Status::converged);
    CHECK(result.value - best.value < gap);
    CHECK(result.iterations < best.iterations);
  }
}

TEST_CASE("without tolerance it stalls at rounding level") {
  const LeastSquares problem{Numbers(5).matrix(30, 10), Numbers(6).vector(30)};
  const OptimizeResult result = minimize_owlqn(problem, VectorXd::Zero(10), 0.3, with_tolerance(0));
  CHECK((result.status == Status::stalled || result.gradient_norm == 0));
  CHECK(result.gradient_norm < 1e-12);
  CHECK(result.iterations < 200);
}

TEST_CASE("limits and interruption keep the best point") {
  const Logistic problem = random_logistic(3, 200, 15, 100.0);
  const VectorXd x0 = VectorXd::Constant(15, 0.5);
  OptimizeOptions options;
  options.max_evaluations = 5;
  const OptimizeResult few = minimize_owlqn(problem, x0, 1.0, options);
  CHECK(few.status == Status::max_evaluations);
  CHECK(few.evaluations == 5);
  CHECK(few.value <= few.history.back().value);

  class Stop : public Monitor {
    bool wants_stop() override { return true; }
  } stop;
  const OptimizeResult none = minimize_owlqn(problem, x0, 1.0, {}, Execution{.monitor = &stop});
  CHECK(none.status == Status::interrupted);
  CHECK(none.x == x0);
}

TEST_CASE("NaN at the start is a failure, on the way a reason for shorter steps") {
  struct LogBarrier {  // -sum log(1 - x) + x: NaN from 1 on, minimum at 0
    Eigen::Index dimension() const { return 2; }
    double value_and_gradient(const VectorXd& x, VectorXd& gradient) const {
      gradient = (1 - x.array()).inverse() - 3;
      return -(1 - x.array()).log().sum() - 3 * x.sum();
    }
  };
  const LogBarrier barrier;
  CHECK_THROWS_AS(minimize_owlqn(barrier, VectorXd::Constant(2, 2.0), 1.0), NumericalFailure);
  const OptimizeResult result = minimize_owlqn(
      barrier, VectorXd::Zero(2), 1.0, with_tolerance(1e-9), {}, VectorXd::Constant(2, 100.0));
  CHECK(result.status == Status::converged);
  CHECK(result.x[0] == doctest::Approx(0.5));  // 1 / (1 - x) = 3 - l1
}

TEST_CASE("two runs give the same bits") {
  const Logistic problem = random_logistic(5, 200, 20, 10.0);
  const OptimizeResult a = minimize_owlqn(problem, VectorXd::Zero(20), 1.0);
  const OptimizeResult b = minimize_owlqn(problem, VectorXd::Zero(20), 1.0);
  CHECK(a.x == b.x);
  CHECK(a.value == b.value);
}

TEST_CASE("minimize takes L-BFGS exactly when nothing is penalised") {
  const Logistic problem = random_logistic(5, 200, 20, 1.0);
  const VectorXd x0 = VectorXd::Zero(20);
  VectorXd l1 = VectorXd::Zero(20);
  CHECK(minimize(problem, x0, l1).x == minimize_lbfgs(problem, x0).x);
  l1[3] = 0.5;
  CHECK(minimize(problem, x0, l1).x == minimize_owlqn(problem, x0, l1).x);
}

TEST_CASE("unusable penalties are named") {
  const Rosenbrock problem;
  const VectorXd x0 = VectorXd::Zero(2);
  const auto message = [&](const auto& l1) -> std::string {
    try {
      minimize_owlqn(problem, x0, l1);
    } catch (const InvalidInput& error) {
      return error.what();
    }
    return "accepted";
  };
  CHECK(message(-1.0) == "l1 must be finite and at least 0, got -1");
  CHECK(message(VectorXd{{0.0, -2.0}}) == "l1[1] must be finite and at least 0, got -2");
  CHECK(message(VectorXd{{std::nan(""), 0.0}}) == "l1[0] must be finite and at least 0, got nan");
  CHECK(message(VectorXd(VectorXd::Ones(3))) ==
        "l1 must have the objective's dimension 2, got 3 values");
}

}  // namespace test_owlqn
