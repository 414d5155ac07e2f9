// optim/l1_quadratic.hpp: the optimality conditions of its own problem.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include <Eigen/Core>
#include <Eigen/LU>

#include <feldspar/optim/l1_quadratic.hpp>

#include "support/compare.hpp"
#include "support/optimization_problems.hpp"
#include "support/simd_levels.hpp"

namespace test_l1_quadratic {

using namespace feldspar;
using namespace feldspar::testing;
using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

// B'B + shift I: the smaller the shift, the worse conditioned.
MatrixXd random_hessian(Numbers& numbers, Index n, Index rank, double shift) {
  const MatrixXd b = numbers.matrix(rank, n);
  return b.transpose() * b + shift * MatrixXd::Identity(n, n);
}

double violation(const MatrixXd& h, const VectorXd& g, const VectorXd& x0, const VectorXd& x,
                 double l1, const std::vector<bool>& penalized) {
  const VectorXd slope = g + h * (x - x0);
  double worst = 0;
  for (Index i = 0; i < x.size(); ++i) {
    const double by = penalized[static_cast<std::size_t>(i)] ? l1 : 0.0;
    worst = std::max(
        worst, x[i] != 0 ? std::abs(slope[i] + std::copysign(by, x[i])) : std::abs(slope[i]) - by);
  }
  return worst;
}

}  // namespace

TEST_CASE("the subgradient vanishes, with and without free coordinates") {
  Numbers numbers(1);
  for (const double shift : {1.0, 1e-3, 1e-6})
    for (const Index n_free : {Index{0}, Index{1}, Index{3}}) {
      CAPTURE(shift);
      CAPTURE(n_free);
      const Index n = 30;
      const MatrixXd h = random_hessian(numbers, n, 20, shift);
      // In the range of B', as gradients of losses are: solutions stay bounded as the shift falls.
      const VectorXd g = h * numbers.vector(n), x0 = numbers.vector(n);
      std::vector<bool> penalized(static_cast<std::size_t>(n), true);
      for (Index i = 0; i < n_free; ++i) penalized[static_cast<std::size_t>(7 * i + 2)] = false;
      VectorXd x = x0;
      L1Quadratic model(h, penalized);
      model.minimize(g, 1.5, 1e-9, 1000, x);
      CHECK(violation(h, g, x0, x, 1.5, penalized) < 1e-7);
      CHECK((x.array() == 0).count() > 0);
      CHECK((x.array() != 0).count() > n_free);
    }
}

TEST_CASE("one H serves many gradients, starts and penalties") {
  Numbers numbers(2);
  const MatrixXd h = random_hessian(numbers, 25, 40, 0.1);
  const std::vector<bool> penalized(25, true);
  L1Quadratic model(h, penalized);
  for (int round = 0; round < 20; ++round) {
    const VectorXd g = 4 * numbers.vector(25), x0 = numbers.vector(25);
    const double l1 = 1.0 + numbers.next();
    VectorXd x = x0;
    model.minimize(g, l1, 1e-9, 1000, x);
    CHECK(violation(h, g, x0, x, l1, penalized) < 1e-7);
  }
}

TEST_CASE("without penalised coordinates it is Newton's step") {
  Numbers numbers(3);
  const MatrixXd h = random_hessian(numbers, 6, 9, 0.5);
  const VectorXd g = numbers.vector(6), x0 = numbers.vector(6);
  VectorXd x = x0;
  L1Quadratic(h, std::vector<bool>(6, false)).minimize(g, 1.0, 1e-12, 10, x);
  CHECK((x - (x0 - h.inverse() * g)).norm() < 1e-9);
}

TEST_CASE("nearly equal columns do not keep it from the minimum") {
  // Coordinate descent alone gains next to nothing in the direction (1, -1).
  MatrixXd h(2, 2);
  h << 1, 1 - 1e-7, 1 - 1e-7, 1;
  const VectorXd g{{-3.0, -3.0 - 5e-8}}, x0 = VectorXd::Zero(2);
  VectorXd x = x0;
  L1Quadratic(h, {true, true}).minimize(g, 1.0, 1e-11, 50, x);
  CHECK(violation(h, g, x0, x, 1.0, {true, true}) < 1e-10);
  CHECK(std::abs(x[1] - x[0]) > 0.1);
}

TEST_CASE("free coordinates that may move together stay finite") {
  // Intercepts of all values of a variable: adding the same number to all changes nothing.
  MatrixXd h(3, 3);
  h << 2, -1, -1, -1, 2, -1, -1, -1, 2;
  VectorXd x = VectorXd::Zero(3);
  const VectorXd g{{1.0, -0.5, -0.5}};
  L1Quadratic(h, {false, false, false}).minimize(g, 1.0, 1e-12, 10, x);
  CHECK(x.allFinite());
  CHECK((g + h * x).cwiseAbs().maxCoeff() < 1e-6);
  CHECK(x.cwiseAbs().maxCoeff() < 1);
}

TEST_CASE("a coordinate without curvature goes to zero, unless its slope pulls it further away") {
  const MatrixXd h{{1.0, 0.0, 0.0}, {0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}};
  VectorXd x{{0.0, 0.25, 0.25}};
  L1Quadratic(h, {true, true, true}).minimize(VectorXd{{-3.0, -5.0, -0.5}}, 1.0, 1e-12, 10, x);
  CHECK(x[0] == doctest::Approx(2.0));
  CHECK(x[1] == 0.25);
  CHECK(x[2] == 0);
}

TEST_CASE("a sweep gives the same bits on every instruction set") {
  Numbers numbers(4);
  const Index n = 10, stride = 12;
  const MatrixXd h = random_hessian(numbers, n, 12, 0.1);
  MatrixXd rows = MatrixXd::Zero(stride, n);
  rows.topRows(n) = h;
  const VectorXd g = 3 * numbers.vector(n);
  std::vector<std::vector<double>> results;
  for (const SimdLevel level : simd_levels()) {
    std::vector<double> slopes(g.begin(), g.end()), x(static_cast<std::size_t>(n), 0.0);
    slopes.resize(static_cast<std::size_t>(stride), 0.0);
    for (int sweep = 0; sweep < 5; ++sweep)
      run_kernel<detail::CoordinateSweepKernel>(level, static_cast<const double*>(rows.data()),
                                                slopes.size(), 1.0, slopes.data(), x.data(),
                                                x.size());
    results.push_back(x);
  }
  for (const auto& x : results) CHECK(same_bits(x, results.front()));
}

}  // namespace test_l1_quadratic
