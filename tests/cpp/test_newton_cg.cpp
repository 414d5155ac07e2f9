// optim/newton_cg.hpp on functions with known optima, and beside L-BFGS.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <utility>

#include <Eigen/Core>
#include <Eigen/LU>

#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/optim/lbfgs.hpp>
#include <feldspar/optim/newton_cg.hpp>

#include "support/optimization_problems.hpp"
#include "support/stop_after.hpp"

namespace test_newton_cg {

using namespace feldspar;
using namespace feldspar::testing;
using Eigen::VectorXd;
using Eigen::VectorXf;

namespace {

// A logistic regression with a small prior, and the Hessian of its last point.
struct CurvedLogistic {
  Logistic logistic;
  double precision = 0.01;
  int products = 0;
  VectorXd curvature = {};

  Eigen::Index dimension() const { return logistic.dimension(); }

  double value_and_gradient(const VectorXd& x, VectorXd& gradient) {
    const double value = logistic.value_and_gradient(x, gradient);
    const Eigen::ArrayXd tail = (-(logistic.rows * x).array().abs()).exp();
    curvature = (tail / (1 + tail).square()).matrix();
    gradient += precision * x;
    return value + 0.5 * precision * x.squaredNorm();
  }

  bool hessian_product(const VectorXf& direction, VectorXf& product) {
    ++products;
    const VectorXd exact = direction.cast<double>();
    const VectorXd by_row = curvature.cwiseProduct(logistic.rows * exact);
    product = (logistic.rows.transpose() * by_row + precision * exact).cast<float>();
    return true;
  }
};
static_assert(CurvedObjective<CurvedLogistic>);
static_assert(!CurvedObjective<Logistic>);

OptimizeOptions with_tolerance(double gradient_tolerance) {
  OptimizeOptions options;
  options.gradient_tolerance = gradient_tolerance;
  return options;
}

}  // namespace

TEST_CASE("a quadratic's minimum solves its linear system") {
  const Quadratic quadratic = badly_scaled_quadratic(30, 1e4);
  const VectorXd expected = quadratic.a.lu().solve(quadratic.b);
  Quadratic objective = quadratic;
  const OptimizeResult plain =
      minimize_newton_cg(objective, VectorXd::Zero(30), with_tolerance(1e-9));
  CHECK(plain.converged());
  CHECK((plain.x - expected).norm() < 1e-8 * expected.norm());
  // The diagonal heals its scales.
  const OptimizeResult scaled =
      minimize_newton_cg(objective, VectorXd::Zero(30), with_tolerance(1e-9), {},
                         diagonal_inverse(quadratic.inverse_diagonal()));
  CHECK(scaled.converged());
  CHECK((scaled.x - expected).norm() < 1e-8 * expected.norm());
  CHECK(scaled.evaluations < plain.evaluations);
}

TEST_CASE("it ends where L-BFGS ends") {
  for (const auto& [spread, far_away] :
       {std::pair{1.0, false}, {1.0, true}, {30.0, false}, {30.0, true}}) {
    CAPTURE(spread);
    CAPTURE(far_away);
    CurvedLogistic objective{random_logistic(11, 200, 25, spread)};
    const OptimizeResult newton =
        minimize_newton_cg(objective, VectorXd::Zero(25), with_tolerance(1e-9), {}, {}, far_away);
    const OptimizeResult lbfgs =
        minimize_lbfgs(objective, VectorXd::Zero(25), with_tolerance(1e-9));
    REQUIRE(newton.converged());
    REQUIRE(lbfgs.converged());
    CHECK((newton.x - lbfgs.x).norm() < 1e-7 * lbfgs.x.norm());
    CHECK(newton.value == doctest::Approx(lbfgs.value).epsilon(1e-12));
    CHECK(newton.iterations < lbfgs.iterations);
    if (!far_away) CHECK(objective.products > newton.iterations);
    CHECK(newton.evaluations > objective.products);  // both are counted
  }
}

TEST_CASE("directions are the more exact the better the last model was") {
  // Quadratic: every model is exact, only the first is not trusted.
  Quadratic objective = badly_scaled_quadratic(100, 1e3);
  const OptimizeResult result =
      minimize_newton_cg(objective, VectorXd::Zero(100), with_tolerance(1e-6), {}, {}, false);
  CHECK(result.converged());
  CHECK(result.iterations < 15);  // 26 if none is
}

TEST_CASE("conjugate gradients end where the run would") {
  struct Bounded : Quadratic {
    double gap_bound(const VectorXd& gradient) const { return 0.5 * gradient.squaredNorm(); }
  } objective{badly_scaled_quadratic(100, 1e3)};
  static_assert(GapBoundingObjective<Bounded>);
  OptimizeOptions options = with_tolerance(1e-12);
  options.gap_tolerance = 1e-2;
  const OptimizeResult result =
      minimize_newton_cg(objective, VectorXd::Zero(100), options, {}, {}, false);
  REQUIRE(result.converged());
  options.gap_tolerance = 0;
  options.max_iterations = result.iterations;
  const OptimizeResult further =
      minimize_newton_cg(objective, VectorXd::Zero(100), options, {}, {}, false);
  CHECK(further.status == Status::max_iterations);
  CHECK(further.evaluations > result.evaluations);  // of the last direction
}

TEST_CASE("functions of any size and number of variables are minimised") {
  for (const double size : {1e-6, 1.0, 1e20})
    for (const Eigen::Index n : {1, 3, 4, 6, 17}) {
      CAPTURE(size);
      CAPTURE(n);
      Quadratic objective = badly_scaled_quadratic(n + 1, 100.0);
      const VectorXd expected = objective.a.lu().solve(objective.b);
      objective.a *= size;
      objective.b *= size;
      const OptimizeResult result =
          minimize_newton_cg(objective, VectorXd::Zero(n + 1), with_tolerance(1e-9 * size));
      CHECK(result.converged());
      CHECK((result.x - expected).norm() < 1e-7 * expected.norm());
    }
}

TEST_CASE("a start at the minimum stays there") {
  Quadratic bowl{Eigen::MatrixXd::Identity(3, 3), VectorXd::Zero(3)};
  const OptimizeResult result = minimize_newton_cg(bowl, VectorXd::Zero(3));
  CHECK(result.converged());
  CHECK(result.evaluations == 1);
  CHECK(result.iterations == 0);
}

TEST_CASE("where nothing curves, the steepest descent is followed") {
  // |x - 1| + |x + 1|, rounded off; a straight line far away from its minimum.
  struct Vee {
    Eigen::Index dimension() const { return 1; }
    double value_and_gradient(const VectorXd& x, VectorXd& gradient) {
      const double far = std::abs(x[0]);
      curves = far < 1;
      gradient[0] = curves ? x[0] : std::copysign(1.0, x[0]);
      return curves ? 0.5 * far * far : far - 0.5;
    }
    bool hessian_product(const VectorXf& direction, VectorXf& product) const {
      product = curves ? direction : VectorXf::Zero(1);
      return true;
    }
    bool curves = false;
  } vee;
  const OptimizeResult result = minimize_newton_cg(vee, VectorXd::Constant(1, 20.0));
  CHECK(result.converged());
  CHECK(std::abs(result.x[0]) < 1e-4);
}

TEST_CASE("limits and stops leave the best point so far") {
  CurvedLogistic objective{random_logistic(12, 200, 25, 30.0)};
  VectorXd gradient(25);
  const double start = objective.value_and_gradient(VectorXd::Zero(25), gradient);
  OptimizeOptions few;
  few.max_evaluations = 12;
  const OptimizeResult limited =
      minimize_newton_cg(objective, VectorXd::Zero(25), few, {}, {}, false);
  CHECK(limited.status == Status::max_evaluations);
  CHECK(limited.evaluations == 12);
  CHECK(limited.value < start);
  few = {};
  few.max_iterations = 2;
  CHECK(minimize_newton_cg(objective, VectorXd::Zero(25), few).status == Status::max_iterations);
  few = {};
  few.max_seconds = 0;
  CHECK(minimize_newton_cg(objective, VectorXd::Zero(25), few).status == Status::time_limit);
  for (const int allowed : {0, 1, 5, 9, 15}) {
    CAPTURE(allowed);
    StopAfter monitor(allowed);
    const OptimizeResult stopped =
        minimize_newton_cg(objective, VectorXd::Zero(25), {}, {.n_threads = 1, .monitor = &monitor},
                           {}, allowed % 2 == 0);
    CHECK(stopped.status == Status::interrupted);
    CHECK(stopped.value <= start);
    CHECK(stopped.x.allFinite());
  }
}

TEST_CASE("a product that was stopped ends the run") {
  struct Stopped : Quadratic {
    bool hessian_product(const VectorXf&, VectorXf&) const { return false; }
  } objective{badly_scaled_quadratic(5, 10.0)};
  const OptimizeResult result = minimize_newton_cg(objective, VectorXd::Zero(5), {}, {}, {}, false);
  CHECK(result.status == Status::interrupted);
  CHECK(result.x == VectorXd::Zero(5));
}

TEST_CASE("what cannot be begun is refused") {
  Quadratic bowl{Eigen::MatrixXd::Identity(3, 3), VectorXd::Zero(3)};
  CHECK_THROWS_AS(minimize_newton_cg(bowl, VectorXd::Zero(2)), InvalidInput);
  bowl.c = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(minimize_newton_cg(bowl, VectorXd::Zero(3)), NumericalFailure);
}

}  // namespace test_newton_cg
