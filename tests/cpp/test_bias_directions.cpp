// objective/bias_directions.hpp: pulls against sums of margins by definition, and M against what it
// promises: symmetric, positive definite, short along the biases, one elsewhere.
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <Eigen/Core>
#include <Eigen/Eigenvalues>

#include <feldspar/feature/context_table.hpp>
#include <feldspar/learn/fit_weights.hpp>
#include <feldspar/objective/bias_directions.hpp>

#include "support/brute_force.hpp"
#include "support/compare.hpp"
#include "support/random_models.hpp"

namespace test_bias_directions {

using namespace feldspar;
using namespace feldspar::testing;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

FeatureGeometry geometry_of(const Problem& problem) {
  return FeatureGeometry(problem.features, ContextTable(problem.features), problem.dataset());
}

// The sum over the rows of each margin of each variable.
std::vector<double> margin_sums(const Problem& problem, const std::vector<double>& weights) {
  std::vector<double> sums;
  const std::size_t n = problem.schema.n_variables();
  for (Variable v = 0; v < n; ++v)
    for (std::size_t value = 1; value < problem.schema.cardinality(v); ++value) {
      sums.push_back(0);
      for (std::size_t r = 0; r < problem.row_weights.size(); ++r) {
        const auto conditional =
            log_conditional(problem.features, weights, row_of(problem.codes, n, r), v);
        sums.back() += problem.row_weights[r] * (conditional[value] - conditional[0]);
      }
    }
  return sums;
}

// All pairs of the first five variables; their singles, where `complete`.
Problem pairs(std::uint64_t seed, bool complete) {
  Problem problem = random_problem(seed, 5, 2, 4, 40, 1, 1);
  FeatureSetBuilder builder(problem.schema);
  for (Variable v = 0; v < 5; ++v)
    for (Value a = 0; a < problem.schema.cardinality(v); ++a) {
      if (complete) builder.add(std::vector<Variable>{v}, std::vector<Value>{a});
      for (Variable u = 0; u < v; ++u)
        for (Value b = 0; b < problem.schema.cardinality(u); ++b)
          builder.add(std::vector<Variable>{u, v}, std::vector<Value>{b, a});
    }
  problem.features = std::move(builder).finish();
  return problem;
}

MatrixXd matrix_of(const BiasDirections& directions, Eigen::Index n) {
  MatrixXd m = MatrixXd::Identity(n, n);
  for (Eigen::Index j = 0; j < n; ++j) {
    VectorXd column = m.col(j);
    directions.multiply(column);
    m.col(j) = column;
  }
  return m;
}

// Sparse data and contexts that nearly always hold, so that biases can be moved in many ways:
// X_u = 0 & X_v = 1 for all pairs.
Problem nearly_biases(std::size_t n_variables) {
  Dice dice(7);
  Problem problem;
  problem.schema = binary_schema(n_variables);
  for (std::size_t i = 0; i < 400 * n_variables; ++i)
    problem.codes.push_back(dice.numbers(1, 0.0, 1.0)[0] < 0.06);
  problem.row_weights.assign(400, 1.0);
  FeatureSetBuilder builder(problem.schema);
  for (Variable u = 0; u < n_variables; ++u)
    for (Variable v = 0; v < n_variables; ++v)
      if (u != v) builder.add(std::vector<Variable>{u, v}, std::vector<Value>{0, 1});
  problem.features = std::move(builder).finish();
  return problem;
}

}  // namespace

TEST_CASE("pulls are the sums of margins that a unit of weight or coordinate makes") {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    CAPTURE(seed);
    const Problem problem =
        seed <= 2 ? pairs(seed, seed == 1) : random_problem(seed, 5, 2, 4, 30, 25, 4);
    const FeatureGeometry geometry = geometry_of(problem);
    const std::size_t n = problem.features.size(), n_margins = geometry.margin_variance().size();
    CHECK(geometry.has_parts() == (seed == 1));
    for (FeatureId f = 0; f < n; ++f) {
      std::vector<double> unit(n, 0.0), centred(n, 0.0);
      unit[f] = centred[f] = 1;
      for (const auto& part : geometry.parts(f)) centred[part.feature] += part.coefficient;
      std::vector<double> by_weight(n_margins, 0.0), by_centred(n_margins, 0.0);
      for (const auto& pull : geometry.pulls(f)) {
        by_weight[pull.margin] += pull.by_weight;
        by_centred[pull.margin] += pull.by_centred;
      }
      CHECK(distance(by_weight, margin_sums(problem, unit)) < 1e-5);
      CHECK(distance(by_centred, margin_sums(problem, centred)) < 1e-5);
    }
  }
}

TEST_CASE("the matrix is symmetric and positive definite") {
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    for (const bool centred : {false, true}) {
      const Problem problem =
          seed <= 2 ? pairs(seed, seed == 1) : random_problem(seed, 6, 2, 4, 60, 40, 3);
      const FeatureGeometry geometry = geometry_of(problem);
      const BiasDirections directions(geometry, Preconditioner(geometry, 0.5, centred));
      const MatrixXd m = matrix_of(directions, static_cast<Eigen::Index>(geometry.n_features()));
      CHECK((m - m.transpose()).norm() < 1e-12);
      const VectorXd eigenvalues = Eigen::SelfAdjointEigenSolver<MatrixXd>(m).eigenvalues();
      CHECK(eigenvalues.minCoeff() > 1e-4);
      CHECK(eigenvalues.maxCoeff() < 1 + 1e-12);
    }
}

TEST_CASE("directions that move a bias become shorter, all others stay") {
  const Problem problem = nearly_biases(12);
  const FeatureGeometry geometry = geometry_of(problem);
  const Preconditioner coordinates(geometry, 1.0, true);
  const BiasDirections directions(geometry, coordinates);
  // Along which coordinates the bias of variable 0 moves; then the same, turned until no bias does.
  VectorXd moves = VectorXd::Zero(static_cast<Eigen::Index>(geometry.n_features()));
  for (FeatureId f = 0; f < geometry.n_features(); ++f)
    for (const auto& pull : geometry.pulls(f))
      if (pull.margin == 0) moves[f] = pull.by_centred * coordinates.scale()[f];
  moves.normalize();
  VectorXd shortened = moves;
  directions.multiply(shortened);
  CHECK(shortened.dot(moves) < 0.8);

  MatrixXd all = MatrixXd::Zero(moves.size(), static_cast<Eigen::Index>(12));
  for (FeatureId f = 0; f < geometry.n_features(); ++f)
    for (const auto& pull : geometry.pulls(f))
      all(f, pull.margin) = pull.by_centred * coordinates.scale()[f];
  VectorXd other = VectorXd::LinSpaced(moves.size(), -1, 1).array().sin();
  other -= all * all.colPivHouseholderQr().solve(other);
  VectorXd same = other;
  directions.multiply(same);
  CHECK((same - other).norm() < 1e-5 * other.norm());
}

TEST_CASE("weights of contexts that nearly always hold are learned in fewer evaluations") {
  const Problem problem = nearly_biases(30);
  const Dataset data = problem.dataset();
  PseudoLikelihood likelihood(problem.features, data, {}, {PlanOptions::Wide::never});
  REQUIRE(!likelihood.has_cheap_products());  // L-BFGS learns these
  const Penalty penalty{10.0, 0.0};
  const WeightFit fit =
      fit_penalized(likelihood, penalty,
                    VectorXd::Zero(static_cast<Eigen::Index>(problem.features.size())), {}, {});
  REQUIRE(fit.run.converged());

  const Preconditioner coordinates(likelihood.geometry(), penalty.precision(), true);
  PenalizedPseudoLikelihood objective(likelihood, penalty.precision(), coordinates, {});
  OptimizeOptions options;
  options.memory = FitWeightsOptions{}.memory;
  options.gradient_tolerance = gradient_tolerance(FitWeightsOptions{}.tolerance,
                                                  data.total_weight(), problem.features.size());
  const OptimizeResult plain =
      minimize_lbfgs(objective, VectorXd::Zero(coordinates.dimension()), options);
  CHECK(fit.run.evaluations < 0.9 * plain.evaluations);
  CHECK(fit.run.value == doctest::Approx(plain.value).epsilon(1e-7));
}

}  // namespace test_bias_directions
