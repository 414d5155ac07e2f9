// objective/penalized.hpp: the penalty's share in value and gradient, by weights and coordinates.
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include <Eigen/Core>

#include <feldspar/objective/penalized.hpp>
#include <feldspar/objective/preconditioner.hpp>
#include <feldspar/optim/objective.hpp>

#include "support/brute_force.hpp"
#include "support/compare.hpp"
#include "support/random_models.hpp"
#include "support/stop_after.hpp"

namespace test_penalized {

using namespace feldspar;
using namespace feldspar::testing;
using Eigen::VectorXd;

static_assert(GapBoundingObjective<PenalizedPseudoLikelihood>);

namespace {

constexpr Execution kOneThread{.n_threads = 1};

VectorXd to_eigen(const std::vector<double>& x) {
  return Eigen::Map<const VectorXd>(x.data(), static_cast<Eigen::Index>(x.size()));
}

std::vector<double> to_std(const VectorXd& x) { return {x.data(), x.data() + x.size()}; }

double penalty(const std::vector<double>& weights, double precision) {
  double sum = 0;
  for (const double w : weights) sum += w * w;
  return 0.5 * precision * sum;
}

}  // namespace

TEST_CASE("at_weights is the penalty less the pseudo-likelihood") {
  const Problem problem = random_problem(1, 6, 1, 4, 60, 40, 3);
  PseudoLikelihood likelihood(problem.features, problem.dataset());
  const double pll =
      pseudo_log_likelihood(problem.features, problem.weights, problem.codes, problem.row_weights);
  for (const double precision : {0.0, 0.25, 100.0}) {
    CAPTURE(precision);
    const Preconditioner coordinates(likelihood.geometry(), precision, true);
    PenalizedPseudoLikelihood objective(likelihood, precision, coordinates, kOneThread);
    VectorXd gradient;
    const double value = objective.at_weights(to_eigen(problem.weights), gradient);
    CHECK(value == doctest::Approx(penalty(problem.weights, precision) - pll).epsilon(1e-12));
    const auto at = [&](const std::vector<double>& w) {
      VectorXd ignored;
      return objective.at_weights(to_eigen(w), ignored);
    };
    CHECK(distance(to_std(gradient), four_point_gradient(at, problem.weights, 1e-3)) < 1e-8);
  }
}

TEST_CASE("value and gradient by the coordinates are those of the weights they stand for") {
  const Problem problem = random_problem(2, 6, 2, 3, 60, 80, 2);
  PseudoLikelihood likelihood(problem.features, problem.dataset());
  for (const bool centred : {false, true}) {
    CAPTURE(centred);
    const Preconditioner coordinates(likelihood.geometry(), 0.5, centred);
    PenalizedPseudoLikelihood objective(likelihood, 0.5, coordinates, kOneThread);
    REQUIRE(objective.dimension() == static_cast<Eigen::Index>(problem.weights.size()));
    const std::vector<double> z = Dice(3).numbers(problem.weights.size());
    VectorXd gradient, by_weights, weights;
    const double value = objective.value_and_gradient(to_eigen(z), gradient);
    coordinates.to_weights(to_eigen(z), weights);
    CHECK(value == objective.at_weights(weights, by_weights));
    const auto at = [&](const std::vector<double>& x) {
      VectorXd ignored;
      return objective.value_and_gradient(to_eigen(x), ignored);
    };
    CHECK(distance(to_std(gradient), four_point_gradient(at, z, 1e-3)) < 1e-7);
  }
}

TEST_CASE("the bound on the gap is half the squared gradient by the weights over the precision") {
  const Problem problem = random_problem(2, 6, 2, 3, 60, 80, 2);
  PseudoLikelihood likelihood(problem.features, problem.dataset());
  VectorXd gradient, by_weights, weights;
  for (const bool centred : {false, true})
    for (const double precision : {0.5, 100.0}) {
      CAPTURE(centred);
      CAPTURE(precision);
      const Preconditioner coordinates(likelihood.geometry(), precision, centred);
      PenalizedPseudoLikelihood objective(likelihood, precision, coordinates, kOneThread);
      const VectorXd z = to_eigen(Dice(3).numbers(problem.weights.size()));
      objective.value_and_gradient(z, gradient);
      coordinates.to_weights(z, weights);
      objective.at_weights(weights, by_weights);
      CHECK(objective.gap_bound(gradient) ==
            doctest::Approx(by_weights.squaredNorm() / (2 * precision)).epsilon(1e-10));
    }
  const Preconditioner coordinates(likelihood.geometry(), 0.0, true);
  const PenalizedPseudoLikelihood objective(likelihood, 0.0, coordinates, kOneThread);
  CHECK(std::isinf(objective.gap_bound(gradient)));  // without prior nothing is known
}

TEST_CASE("a stop before anything was evaluated is an exception, afterwards NaN") {
  const Problem problem = random_problem(4, 5, 2, 2, 30, 20, 2);
  PseudoLikelihood likelihood(problem.features, problem.dataset());
  const Preconditioner coordinates(likelihood.geometry(), 1.0, true);
  const VectorXd z = VectorXd::Zero(static_cast<Eigen::Index>(problem.weights.size()));
  VectorXd gradient;

  StopAfter at_once(0);
  PenalizedPseudoLikelihood never(likelihood, 1.0, coordinates, {1, &at_once});
  CHECK_THROWS_AS(never.value_and_gradient(z, gradient), Interrupted);

  StopAfter patient(kNever);
  PenalizedPseudoLikelihood(likelihood, 1.0, coordinates, {1, &patient})
      .value_and_gradient(z, gradient);
  REQUIRE(patient.polls() > 1);
  StopAfter later(patient.polls() + 1);  // in the middle of the second evaluation
  PenalizedPseudoLikelihood once(likelihood, 1.0, coordinates, {1, &later});
  CHECK(std::isfinite(once.value_and_gradient(z, gradient)));
  CHECK(std::isnan(once.value_and_gradient(z, gradient)));
}

}  // namespace test_penalized
