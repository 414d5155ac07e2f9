// optim/lbfgs.hpp, lbfgs_memory.hpp and the bookkeeping of optim/run.hpp on functions with known
// optima.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <Eigen/Core>
#include <Eigen/LU>

#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/monitor.hpp>
#include <feldspar/optim/lbfgs.hpp>
#include <feldspar/optim/lbfgs_memory.hpp>

#include "support/optimization_problems.hpp"

namespace test_lbfgs {

using namespace feldspar;
using namespace feldspar::testing;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

const VectorXd kRosenbrockStart{{-1.2, 1.0}};

OptimizeOptions with_tolerance(double gradient_tolerance) {
  OptimizeOptions options;
  options.gradient_tolerance = gradient_tolerance;
  return options;
}

// f(x) = x'x / 2 wherever `allowed(x)`, elsewhere NaN.
template <class Allowed>
struct PartialBowl {
  Allowed allowed;
  Eigen::Index dimension() const { return 2; }
  double value_and_gradient(const VectorXd& x, VectorXd& gradient) const {
    gradient = x;
    return allowed(x) ? 0.5 * x.squaredNorm() : std::numeric_limits<double>::quiet_NaN();
  }
};

// Asks to stop once it was polled `patience` times.
class ImpatientMonitor : public Monitor {
 public:
  explicit ImpatientMonitor(int patience) : patience_(patience) {}
  void report(const Progress& progress) override { reports.push_back(progress); }
  std::vector<Progress> reports;

 protected:
  bool wants_stop() override { return patience_-- <= 0; }

 private:
  int patience_;
};

// BFGS written with full matrices: H <- (I - r s y') H (I - r y s') + r s s', r = 1 / s'y.
MatrixXd dense_bfgs(MatrixXd h, const std::vector<VectorXd>& s, const std::vector<VectorXd>& y) {
  for (std::size_t k = 0; k < s.size(); ++k) {
    const double r = 1 / s[k].dot(y[k]);
    const MatrixXd left = MatrixXd::Identity(h.rows(), h.cols()) - r * s[k] * y[k].transpose();
    h = left * h * left.transpose() + r * s[k] * s[k].transpose();
  }
  return h;
}

// The same product by the two loops of the textbook.
VectorXd two_loops(const VectorXd& h0, const std::vector<VectorXd>& s,
                   const std::vector<VectorXd>& y, VectorXd v) {
  std::vector<double> alpha(s.size());
  for (std::size_t k = s.size(); k-- > 0;) {
    alpha[k] = s[k].dot(v) / s[k].dot(y[k]);
    v -= alpha[k] * y[k];
  }
  v = h0.cwiseProduct(v).eval();
  for (std::size_t k = 0; k < s.size(); ++k) v += (alpha[k] - y[k].dot(v) / s[k].dot(y[k])) * s[k];
  return v;
}

}  // namespace

TEST_CASE("the memory equals BFGS with full matrices") {
  Numbers numbers(3);
  const Eigen::Index n = 6;
  const MatrixXd root = numbers.matrix(n, n);
  const MatrixXd hessian = root * root.transpose() + MatrixXd::Identity(n, n);
  const MatrixXd factor = numbers.matrix(n, n);
  const MatrixXd full = factor * factor.transpose() + MatrixXd::Identity(n, n);
  const VectorXd diagonal = numbers.vector(n).array() + 1.5;
  struct Initial {
    MatrixXd d;
    InitialInverse given;
  };
  for (const auto& [d, given] :
       {Initial{MatrixXd::Identity(n, n), {}},
        Initial{MatrixXd(diagonal.asDiagonal()), diagonal_inverse(diagonal)},
        Initial{full, {[&full](VectorXd& v) { v = (full * v).eval(); }}}}) {
    LbfgsMemory memory(n, 3, given);
    std::vector<VectorXd> s, y;
    for (int k = 0; k < 5; ++k) {
      s.push_back(numbers.vector(n));
      y.push_back(hessian * s.back());
      REQUIRE(memory.push(s.back(), y.back()));
    }
    s.erase(s.begin(), s.begin() + 2);  // the memory holds three
    y.erase(y.begin(), y.begin() + 2);
    CHECK(memory.size() == 3);
    const double gamma = s.back().dot(y.back()) / y.back().dot(d * y.back());
    const VectorXd v = numbers.vector(n);
    VectorXd product = v;
    memory.multiply(product);
    // Pairs are kept in single precision.
    const VectorXd expected = dense_bfgs(gamma * d, s, y) * v;
    CHECK((product - expected).norm() < 1e-5 * expected.norm());

    // The secant equation: the newest y is mapped to its s.
    product = y.back();
    memory.multiply(product);
    CHECK((product - s.back()).norm() < 1e-5 * s.back().norm());
  }
}

TEST_CASE("the memory equals the two loops to the last digits where rounding loses none") {
  // Small whole numbers, so that pairs are the same in single precision. The dimension is no multiple
  // of a pack or a block, and the pairs are neither few nor a multiple of those taken together.
  Numbers numbers(5);
  const Eigen::Index n = 1031;
  const VectorXd diagonal = numbers.vector(n).array() + 1.5;
  const VectorXd hessian =
      VectorXd::NullaryExpr(n, [](Eigen::Index k) { return 1.0 + static_cast<double>(k % 4); });
  for (const int capacity : {1, 4, 7}) {
    for (const bool preconditioned : {false, true}) {
      CAPTURE(capacity);
      CAPTURE(preconditioned);
      LbfgsMemory memory(n, capacity,
                         preconditioned ? diagonal_inverse(diagonal) : InitialInverse{});
      std::vector<VectorXd> s, y;
      for (int k = 0; k < 9; ++k) {
        s.push_back((20 * numbers.vector(n)).array().round());
        y.push_back(hessian.cwiseProduct(s.back()));
        REQUIRE(memory.push(s.back(), y.back()));
      }
      s.erase(s.begin(), s.end() - capacity);
      y.erase(y.begin(), y.end() - capacity);
      const VectorXd d = preconditioned ? diagonal : VectorXd::Ones(n);
      const double gamma = s.back().dot(y.back()) / y.back().dot(d.cwiseProduct(y.back()));
      const VectorXd v = numbers.vector(n);
      const VectorXd expected = two_loops(gamma * d, s, y, v);
      VectorXd product = v;
      memory.multiply(product);
      CHECK((product - expected).norm() < 1e-12 * expected.norm());
      product = v;
      memory.multiply_within(VectorXd::Ones(n), product);
      CHECK((product - expected).norm() < 1e-12 * expected.norm());
      product = y.back();
      memory.multiply(product);  // the secant equation
      CHECK((product - s.back()).norm() < 1e-12 * s.back().norm());
    }
  }
}

TEST_CASE("a product within free coordinates is one in the smaller space") {
  Numbers numbers(4);
  const Eigen::Index n = 5;
  const std::vector<Eigen::Index> kept{0, 2, 4};
  const VectorXd free{{1, 0, 1, 0, 1}};
  const MatrixXd factor = numbers.matrix(n, n);
  const MatrixXd d = factor * factor.transpose() + MatrixXd::Identity(n, n);
  const MatrixXd d_kept = d(kept, kept);
  LbfgsMemory large(n, 4, {[&d](VectorXd& v) { v = (d * v).eval(); }});
  LbfgsMemory small(3, 4, {[&d_kept](VectorXd& v) { v = (d_kept * v).eval(); }});
  for (int k = 0; k < 4; ++k) {
    const VectorXd s = numbers.vector(n);
    const VectorXd y = s + 0.3 * numbers.vector(n).cwiseProduct(s);
    REQUIRE(large.push(s, y));
    REQUIRE(small.push(s(kept), y(kept)));
  }
  VectorXd v = numbers.vector(n);
  VectorXd expected = v(kept);
  small.multiply(expected);
  large.multiply_within(free, v);
  CHECK((VectorXd(v(kept)) - expected).norm() < 1e-5 * expected.norm());  // single precision
  CHECK(v[1] == 0);
  CHECK(v[3] == 0);
}

TEST_CASE("pairs without positive curvature are refused") {
  LbfgsMemory memory(2, 3);
  const VectorXd s{{1.0, 0.0}};
  CHECK_FALSE(memory.push(s, -s));
  CHECK_FALSE(memory.push(s, VectorXd{{0.0, 1.0}}));
  CHECK_FALSE(memory.push(s, VectorXd::Zero(2)));
  CHECK_FALSE(memory.push(s, VectorXd{{std::nan(""), 0.0}}));
  CHECK_FALSE(memory.push(s, 1e-170 * s));  // y'y underflows: gamma would be infinite
  CHECK(memory.empty());
  CHECK(memory.push(1e-200 * s, 1e-100 * s));  // units do not matter
  VectorXd v{{2.0, 3.0}};
  memory.multiply(v);
  CHECK(v[0] == doctest::Approx(2e-100).epsilon(1e-6));
  CHECK(v[1] == doctest::Approx(3e-100).epsilon(1e-6));
  CHECK(memory.push(1e-320 * s, s));
  memory.multiply(v);
  CHECK(v.allFinite());
}

TEST_CASE("a cleared memory keeps the scale") {
  LbfgsMemory memory(2, 3);
  const VectorXd s{{1.0, 2.0}};
  REQUIRE(memory.push(s, 4 * s));
  memory.clear();
  CHECK(memory.empty());
  VectorXd v{{1.0, 1.0}};
  memory.multiply(v);
  CHECK(v == VectorXd{{0.25, 0.25}});
  CHECK(memory.natural_step(v) == 1.0);
}

TEST_CASE("Rosenbrock's valley is followed to its end") {
  for (const int memory : {1, 3, 10}) {
    CAPTURE(memory);
    OptimizeOptions options = with_tolerance(1e-9);
    options.memory = memory;
    const Rosenbrock narrow;
    const OptimizeResult result = minimize_lbfgs(narrow, kRosenbrockStart, options);
    CHECK(result.status == Status::converged);
    CHECK((result.x - VectorXd::Ones(2)).lpNorm<Eigen::Infinity>() < 1e-8);
    CHECK(result.iterations < 100);
  }
  const Rosenbrock wide{50};
  const OptimizeResult result =
      minimize_lbfgs(wide, VectorXd::Constant(50, 2.0), with_tolerance(1e-9));
  CHECK(result.status == Status::converged);
  CHECK(result.value < 1e-15);
}

TEST_CASE("a badly scaled quadratic needs few iterations with the right diagonal") {
  const Quadratic problem = badly_scaled_quadratic(50, 1e6);
  const VectorXd optimum = problem.a.lu().solve(problem.b);
  const VectorXd x0 = VectorXd::Zero(50);
  const OptimizeOptions options = with_tolerance(1e-8);
  const OptimizeResult with = minimize_lbfgs(problem, x0, options, {}, problem.inverse_diagonal());
  CHECK(with.status == Status::converged);
  CHECK(with.iterations <= 25);
  CHECK(with.evaluations <= with.iterations + 2);
  CHECK((with.x - optimum).lpNorm<Eigen::Infinity>() < 1e-8);

  const OptimizeResult without = minimize_lbfgs(problem, x0, options);
  CHECK(without.iterations > 10 * with.iterations);
}

TEST_CASE("logistic regression ends with a zero gradient, one evaluation per iteration") {
  Logistic problem = random_logistic(11, 300, 12, 1.0);
  const OptimizeResult result = minimize_lbfgs(problem, VectorXd::Zero(12), with_tolerance(1e-9));
  CHECK(result.status == Status::converged);
  CHECK(gradient_at(problem, result.x).lpNorm<Eigen::Infinity>() <= 1e-9);
  CHECK(result.gradient_norm == gradient_at(problem, result.x).lpNorm<Eigen::Infinity>());
  CHECK(result.evaluations <= result.iterations + 4);
}

TEST_CASE("the gradient goes to rounding level where values have long ceased to change") {
  // The constant takes ten digits away from the values, none from the gradient.
  Quadratic problem = badly_scaled_quadratic(20, 1e2);
  problem.c = 1e6;
  const OptimizeResult result = minimize_lbfgs(problem, VectorXd::Zero(20), with_tolerance(1e-12));
  CHECK(result.status == Status::converged);
}

TEST_CASE("dimensions 0 and 1") {
  const Quadratic nothing{MatrixXd(0, 0), VectorXd(0), 3.5};
  const OptimizeResult empty = minimize_lbfgs(nothing, VectorXd(0));
  CHECK(empty.status == Status::converged);
  CHECK(empty.value == 3.5);
  CHECK(empty.x.size() == 0);
  CHECK(empty.iterations == 0);

  const Quadratic line{MatrixXd::Constant(1, 1, 4.0), VectorXd::Constant(1, 2.0)};
  const OptimizeResult one = minimize_lbfgs(line, VectorXd::Constant(1, 100.0));
  CHECK(one.status == Status::converged);
  CHECK(one.x[0] == doctest::Approx(0.5));
}

TEST_CASE("a start at the optimum takes no step") {
  const Rosenbrock problem;
  const OptimizeResult result = minimize_lbfgs(problem, VectorXd::Ones(2));
  CHECK(result.status == Status::converged);
  CHECK(result.evaluations == 1);
  REQUIRE(result.history.size() == 1);
  CHECK(result.history[0].iteration == 0);
}

TEST_CASE("an objective that knows its distance to the minimum ends the run") {
  const SharpQuadratic problem = sharp_quadratic(20, 1e4);
  const double minimum = problem.minimum();
  for (const double gap : {1e-2, 1e-6}) {
    OptimizeOptions options = with_tolerance(0);
    options.gap_tolerance = gap;
    const OptimizeResult result = minimize_lbfgs(problem, VectorXd::Zero(20), options);
    CHECK(result.status == Status::converged);
    CHECK(result.value - minimum < gap);
    CHECK(result.iterations <
          minimize_lbfgs(problem, VectorXd::Zero(20), with_tolerance(0)).iterations);
  }
}

TEST_CASE("a small relative decrease over five iterations converges") {
  const Rosenbrock problem{20};
  OptimizeOptions options = with_tolerance(0);
  options.relative_decrease = 1e-3;
  const OptimizeResult result = minimize_lbfgs(problem, VectorXd::Constant(20, -1.0), options);
  REQUIRE(result.status == Status::converged);
  const auto& history = result.history;
  const auto decrease = [&](std::size_t k) {
    return (history[k - 5].value - history[k].value) / std::max(std::abs(history[k].value), 1.0);
  };
  CHECK(decrease(history.size() - 1) < 1e-3);
  for (std::size_t k = 5; k + 1 < history.size(); ++k) CHECK(decrease(k) >= 1e-3);
}

TEST_CASE("status stalled: no tolerance, so floating point ends the run") {
  OptimizeOptions options = with_tolerance(0);
  const Quadratic problem = badly_scaled_quadratic(20, 1e2);
  const OptimizeResult result = minimize_lbfgs(problem, VectorXd::Zero(20), options);
  CHECK(result.status == Status::stalled);
  CHECK(result.gradient_norm < 1e-12);
  CHECK(result.iterations < 400);
}

TEST_CASE("status max_iterations, max_evaluations and time_limit return the best point") {
  const Rosenbrock problem;
  OptimizeOptions few_iterations;
  few_iterations.max_iterations = 3;
  OptimizeOptions few_evaluations;
  few_evaluations.max_evaluations = 7;
  OptimizeOptions no_time;
  no_time.max_seconds = 0;

  const OptimizeResult a = minimize_lbfgs(problem, kRosenbrockStart, few_iterations);
  CHECK(a.status == Status::max_iterations);
  CHECK(a.iterations == 3);
  CHECK(a.history.size() == 4);

  const OptimizeResult b = minimize_lbfgs(problem, kRosenbrockStart, few_evaluations);
  CHECK(b.status == Status::max_evaluations);
  CHECK(b.evaluations == 7);
  VectorXd gradient(2);
  CHECK(b.value == problem.value_and_gradient(b.x, gradient));
  CHECK(b.value <= b.history.back().value);

  const OptimizeResult c = minimize_lbfgs(problem, kRosenbrockStart, no_time);
  CHECK(c.status == Status::time_limit);
  CHECK(c.x == kRosenbrockStart);
  CHECK(c.evaluations == 1);
}

TEST_CASE("status interrupted: the monitor is polled at each evaluation and hears each iteration") {
  const Rosenbrock problem;
  ImpatientMonitor monitor(6);
  const OptimizeResult result =
      minimize_lbfgs(problem, kRosenbrockStart, {}, Execution{.monitor = &monitor});
  CHECK(result.status == Status::interrupted);
  CHECK(result.evaluations == 7);  // the start is not asked about
  CHECK(result.value < result.history.front().value);
  REQUIRE(monitor.reports.size() == result.history.size());
  for (std::size_t k = 0; k < monitor.reports.size(); ++k) {
    CHECK(monitor.reports[k].done == static_cast<double>(k));
    CHECK(monitor.reports[k].value == result.history[k].value);
  }
}

TEST_CASE("every status has a name and a sentence of its own") {
  const std::vector<Status> all{Status::converged,       Status::stalled,    Status::max_iterations,
                                Status::max_evaluations, Status::time_limit, Status::interrupted};
  for (const Status status : all) {
    CHECK(describe(status).back() == '.');
    for (const Status other : all) {
      CHECK((name(status) == name(other)) == (status == other));
      CHECK((describe(status) == describe(other)) == (status == other));
    }
  }
}

TEST_CASE("NaN at the start is a failure, on the way a reason for shorter steps") {
  const PartialBowl nowhere{[](const VectorXd&) { return false; }};
  CHECK_THROWS_AS(minimize_lbfgs(nowhere, VectorXd::Ones(2)), NumericalFailure);

  // A wall between the first trial point and the start; the optimum is on the near side.
  const PartialBowl wall{[](const VectorXd& x) { return x[0] > -0.1; }};
  const OptimizeResult around =
      minimize_lbfgs(wall, VectorXd{{0.5, 0.2}}, {}, {}, VectorXd::Constant(2, 50.0));
  CHECK(around.status == Status::converged);
  CHECK(around.x.norm() < 1e-5);

  const VectorXd start{{3.0, 4.0}};
  const PartialBowl hopeless{[&](const VectorXd& x) { return x == start; }};
  const OptimizeResult stuck = minimize_lbfgs(hopeless, start);
  CHECK(stuck.status == Status::stalled);
  CHECK(stuck.x == start);
  CHECK(stuck.value == 12.5);
}

TEST_CASE("a gradient that is not finite is treated like a value that is not") {
  struct BrokenGradient {
    Eigen::Index dimension() const { return 1; }
    double value_and_gradient(const VectorXd&, VectorXd& gradient) const {
      gradient[0] = std::numeric_limits<double>::infinity();
      return 1.0;
    }
  };
  const BrokenGradient problem;
  CHECK_THROWS_AS(minimize_lbfgs(problem, VectorXd::Ones(1)), NumericalFailure);
}

TEST_CASE("history: values never rise by more than rounding, counts never fall") {
  const Rosenbrock problem{10};
  const OptimizeResult result = minimize_lbfgs(problem, VectorXd::Constant(10, -1.0));
  CHECK(static_cast<int>(result.history.size()) == result.iterations + 1);
  CHECK(result.history.back().evaluations == result.evaluations);
  for (std::size_t k = 1; k < result.history.size(); ++k) {
    const OptimizeStep& before = result.history[k - 1];
    const OptimizeStep& now = result.history[k];
    CHECK(now.iteration == static_cast<int>(k));
    CHECK(now.value <= before.value + 1e-12);
    CHECK(now.evaluations > before.evaluations);
    CHECK(now.seconds >= before.seconds);
    CHECK(now.step > 0);
  }
}

TEST_CASE("two runs give the same bits") {
  const Logistic problem = random_logistic(5, 200, 20, 10.0);
  const OptimizeResult a = minimize_lbfgs(problem, VectorXd::Zero(20));
  const OptimizeResult b = minimize_lbfgs(problem, VectorXd::Zero(20));
  CHECK(a.x == b.x);
  CHECK(a.value == b.value);
  CHECK(a.evaluations == b.evaluations);
}

TEST_CASE("unusable arguments are named") {
  const Rosenbrock problem;
  const auto message = [&](const VectorXd& x0, const OptimizeOptions& options = {},
                           const VectorXd& diagonal = {}) -> std::string {
    try {
      minimize_lbfgs(problem, x0, options, {}, diagonal);
    } catch (const InvalidInput& error) {
      return error.what();
    }
    return "accepted";
  };
  CHECK(message(VectorXd::Zero(3)) == "x0 must have the objective's dimension 2, got 3 values");
  CHECK(message(VectorXd{{0.0, std::nan("")}}) == "x0[1] must be finite, got nan");
  CHECK(message(kRosenbrockStart, {}, VectorXd::Ones(1)) ==
        "inverse_diagonal must be empty or have the objective's dimension 2, got 1 values");
  CHECK(message(kRosenbrockStart, {}, VectorXd{{1.0, 0.0}}) ==
        "inverse_diagonal[1] must be positive and finite, got 0");

  const auto rejected = [&](auto member, auto value) {
    OptimizeOptions options;
    options.*member = value;
    return message(kRosenbrockStart, options);
  };
  using Options = OptimizeOptions;
  CHECK(rejected(&Options::max_iterations, -1) == "max_iterations must be at least 0, got -1");
  CHECK(rejected(&Options::max_evaluations, 0) == "max_evaluations must be at least 1, got 0");
  CHECK(rejected(&Options::gradient_tolerance, std::nan("")) ==
        "gradient_tolerance must be at least 0, got nan");
  CHECK(rejected(&Options::relative_decrease, -1.0) ==
        "relative_decrease must be finite and at least 0, got -1");
  CHECK(rejected(&Options::memory, 0) == "memory must be at least 1, got 0");
  CHECK(rejected(&Options::max_seconds, -1.0) == "max_seconds must be at least 0, got -1");
  CHECK(rejected(&Options::sufficient_decrease, 0.5) ==
        "sufficient_decrease must be between 0 and 0.5, got 0.5");
  CHECK(rejected(&Options::curvature, 1.0) ==
        "curvature must be between sufficient_decrease (0.0001) and 1, got 1");
  CHECK(rejected(&Options::max_trials, 0) == "max_trials must be at least 1, got 0");
  CHECK(rejected(&Options::value_noise, 1.0) == "value_noise must be between 0 and 1, got 1");
}

}  // namespace test_lbfgs
