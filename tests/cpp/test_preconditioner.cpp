// objective/preconditioner.hpp: curvatures against second derivatives, coordinates against the
// expansion of centred products, and the three maps against each other.
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include <feldspar/objective/preconditioner.hpp>

#include "support/brute_force.hpp"
#include "support/compare.hpp"
#include "support/random_models.hpp"

namespace test_preconditioner {

using namespace feldspar;
using namespace feldspar::testing;
using Eigen::VectorXd;

namespace {

FeatureGeometry geometry_of(const FeatureSet& features, const Dataset& data) {
  return FeatureGeometry(features, ContextTable(features), data);
}

VectorXd random_vector(Dice& dice, std::size_t n) {
  const std::vector<double> x = dice.numbers(n);
  return Eigen::Map<const VectorXd>(x.data(), static_cast<Eigen::Index>(n));
}

std::vector<double> to_std(const VectorXd& x) { return {x.data(), x.data() + x.size()}; }

// The second derivative of the negative PLL by weight j, with weighted rows, by enumeration.
double second_derivative(const FeatureSet& features, std::vector<double> weights, std::size_t j,
                         const Codes& codes, const std::vector<double>& row_weights) {
  constexpr double kStep = 1e-2;
  const double middle = weights[j];
  const auto at = [&](double shift) {
    weights[j] = middle + shift;
    return -pseudo_log_likelihood(features, weights, codes, row_weights);
  };
  return (16 * (at(kStep) + at(-kStep)) - (at(2 * kStep) + at(-2 * kStep)) - 30 * at(0)) /
         (12 * kStep * kStep);
}

// How often a test holds, with half an example added on either side.
double share_of(const Problem& problem, Test test) {
  double held = 0.5, total = 1;
  for (std::size_t r = 0; r < problem.row_weights.size(); ++r) {
    const CodeRow row = row_of(problem.codes, problem.schema.n_variables(), r);
    total += problem.row_weights[r];
    if (passes(problem.features, test, row)) held += problem.row_weights[r];
  }
  return held / total;
}

// All X_i = 1, X_i = 1 & X_j = 1, ... up to the order, over n variables.
FeatureSet complete_features(std::size_t n_variables, std::size_t order) {
  FeatureSetBuilder builder(binary_schema(n_variables));
  for (std::size_t members = 1; members < std::size_t{1} << n_variables; ++members) {
    std::vector<Variable> variables;
    for (Variable v = 0; v < n_variables; ++v)
      if ((members >> v) & 1) variables.push_back(v);
    if (variables.size() > order) continue;
    builder.add(variables, std::vector<Value>(variables.size(), 1));
  }
  return std::move(builder).finish();
}

Problem complete_problem(std::uint64_t seed, std::size_t n_variables, std::size_t order) {
  Dice dice(seed);
  Problem problem;
  problem.schema = binary_schema(n_variables);
  problem.codes = random_codes(dice, problem.schema, 50);
  problem.row_weights = dice.numbers(50, 0.1, 2.0);
  problem.features = complete_features(n_variables, order);
  problem.weights = dice.numbers(problem.features.size());
  return problem;
}

}  // namespace

TEST_CASE("curvature of pairs is the second derivative at the independent model") {
  Problem problem = complete_problem(1, 2, 2);
  std::vector<double> weights(3, 0.0);
  for (FeatureId j = 0; j < 3; ++j) {
    if (problem.features[j].size() > 1) continue;
    const double share = share_of(problem, problem.features[j][0]);
    weights[j] = std::log(share / (1 - share));
  }
  const FeatureGeometry geometry = geometry_of(problem.features, problem.dataset());
  REQUIRE(geometry.n_features() == 3);
  for (FeatureId j = 0; j < 3; ++j)
    CHECK(geometry.curvature()[j] ==
          doctest::Approx(
              second_derivative(problem.features, weights, j, problem.codes, problem.row_weights))
              .epsilon(1e-6));
}

TEST_CASE("curvature of a value set is the second derivative where it has its marginal") {
  Dice dice(2);
  FeatureSetBuilder builder(Schema({5}));
  builder.add(std::vector<Variable>{0}, std::vector<std::size_t>{0, 2}, std::vector<Value>{1, 3});
  Problem problem;
  problem.schema = Schema({5});
  problem.codes = random_codes(dice, problem.schema, 40);
  problem.row_weights = dice.numbers(40, 0.1, 2.0);
  problem.features = std::move(builder).finish();
  const double share = share_of(problem, problem.features[0][0]);
  const std::vector<double> weights{std::log(share / (1 - share)) - std::log(2.0 / 3.0)};
  CHECK(geometry_of(problem.features, problem.dataset()).curvature()[0] ==
        doctest::Approx(
            second_derivative(problem.features, weights, 0, problem.codes, problem.row_weights))
            .epsilon(1e-6));
}

TEST_CASE("a feature is centred exactly when all its parts are there") {
  const FeatureSet complete = complete_features(4, 3);
  const Dataset data = complete_problem(3, 4, 3).dataset();
  const FeatureGeometry geometry = geometry_of(complete, data);
  for (FeatureId f = 0; f < complete.size(); ++f)
    CHECK(geometry.parts(f).size() == (std::size_t{1} << complete[f].size()) - 2);

  FeatureSetBuilder builder(binary_schema(4));
  for (FeatureId f = 0; f < complete.size(); ++f)  // X_3 alone is missing
    if (complete[f].size() > 1 || complete[f][0].variable != 3) builder.add(complete, f);
  const FeatureSet missing = std::move(builder).finish();
  REQUIRE(missing.size() == complete.size() - 1);
  const FeatureGeometry partial = geometry_of(missing, data);
  for (FeatureId f = 0; f < missing.size(); ++f) {
    const bool has_last = missing[f].back().variable == 3;
    const std::size_t all = (std::size_t{1} << missing[f].size()) - 2;
    CHECK(partial.parts(f).size() == (has_last ? 0 : all));
  }
}

TEST_CASE("nothing is centred or scaled where features outnumber the variables of all rows") {
  const FeatureSet features = complete_features(4, 3);  // 14
  const auto geometry_on = [&](std::vector<std::int32_t> codes) {
    return geometry_of(features, Dataset::merge(binary_schema(4), codes));
  };
  const FeatureGeometry enough = geometry_on({0, 0, 0, 0, 0, 1, 0, 1, 1, 0, 1, 1, 1, 1, 1, 0});
  const FeatureGeometry few = geometry_on({0, 0, 0, 0, 0, 1, 0, 1, 1, 0, 1, 1});
  for (FeatureId f = 0; f < features.size(); ++f) {
    CHECK(enough.parts(f).empty() == (features[f].size() == 1));
    CHECK(few.parts(f).empty());
    CHECK(few.centred_curvature()[f] == doctest::Approx(few.curvature()[f]));
  }
  CHECK_FALSE(enough.outnumbers_data());
  CHECK(few.outnumbers_data());
  const auto spread = [](const Preconditioner& coordinates) {
    return coordinates.scale().maxCoeff() / coordinates.scale().minCoeff();
  };
  CHECK(spread(Preconditioner(enough, 1.0, true)) > 1.01);
  CHECK(spread(Preconditioner(few, 1.0, true)) == 1.0);
  // Without a prior nothing but the data shapes the objective.
  CHECK(spread(Preconditioner(few, 0.0, true)) > 1.1);
}

TEST_CASE("weights are those of the expanded products of centred tests") {
  // sum_f z_f * scale_f * product over f's tests of (test - q) equals sum_S w_S * product of tests,
  // up to a constant that no conditional sees: differences between rows are equal.
  Dice dice(4);
  const Problem problem = complete_problem(4, 4, 3);
  const FeatureSet& features = problem.features;
  const FeatureGeometry geometry = geometry_of(features, problem.dataset());
  const Preconditioner coordinates(geometry, 0.5, true);
  const VectorXd z = random_vector(dice, features.size());
  VectorXd weights;
  coordinates.to_weights(z, weights);

  const auto centred_potential = [&](CodeRow row) {
    double sum = 0;
    for (FeatureId f = 0; f < features.size(); ++f) {
      double product = z[f] * coordinates.scale()[f];
      for (const Test test : features[f])
        product *= passes(features, test, row) - share_of(problem, test);
      sum += product;
    }
    return sum;
  };
  const Codes origin(4, 0);
  for (std::int32_t state = 1; state < 16; ++state) {
    const Codes row{state & 1, (state >> 1) & 1, (state >> 2) & 1, (state >> 3) & 1};
    const std::vector<double> w = to_std(weights);
    CHECK(log_potential(features, w, row) - log_potential(features, w, origin) ==
          doctest::Approx(centred_potential(row) - centred_potential(origin)).epsilon(1e-10));
  }
}

TEST_CASE("coordinates and weights go back and forth, gradients by the transpose") {
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    for (const bool centred : {false, true}) {
      Dice dice(seed);
      const Problem problem =
          seed % 2 == 0 ? complete_problem(seed, 6, 4) : random_problem(seed, 6, 2, 4, 60, 200, 2);
      const FeatureGeometry geometry = geometry_of(problem.features, problem.dataset());
      const Preconditioner coordinates(geometry, 0.3, centred);
      const std::size_t n = problem.features.size();
      REQUIRE(coordinates.dimension() == static_cast<Eigen::Index>(n));
      const VectorXd z = random_vector(dice, n);
      VectorXd weights, back, gradient = random_vector(dice, n);
      coordinates.to_weights(z, weights);
      coordinates.to_coordinates(weights, back);
      CHECK(distance(to_std(back), to_std(z)) < 1e-10);

      const double product = weights.dot(gradient);
      coordinates.pull_back(gradient);
      CHECK(z.dot(gradient) == doctest::Approx(product).epsilon(1e-11));
    }
}

TEST_CASE("without centring a coordinate is its weight over the scale") {
  Dice dice(6);
  const Problem problem = complete_problem(6, 4, 3);
  const FeatureGeometry geometry = geometry_of(problem.features, problem.dataset());
  const Preconditioner coordinates(geometry, 0.3, false);
  const VectorXd z = random_vector(dice, problem.features.size());
  VectorXd weights;
  coordinates.to_weights(z, weights);
  CHECK(distance(to_std(weights), to_std(z.cwiseProduct(coordinates.scale()))) == 0.0);
}

TEST_CASE("the scale falls as the curvature rises, and more data shrink it") {
  const Problem problem = random_problem(7, 6, 2, 4, 60, 60, 2);
  const FeatureGeometry geometry = geometry_of(problem.features, problem.dataset());
  std::vector<double> tenfold = problem.row_weights;
  for (double& w : tenfold) w *= 10;
  const FeatureGeometry heavier =
      geometry_of(problem.features, Dataset::merge(problem.schema, problem.codes, tenfold));
  const Preconditioner coordinates(geometry, 0.0, false), shrunk(heavier, 0.0, false);
  for (FeatureId a = 0; a < problem.features.size(); ++a) {
    if (geometry.curvature()[a] > 0) CHECK(shrunk.scale()[a] < coordinates.scale()[a]);
    for (FeatureId b = 0; b < problem.features.size(); ++b)
      if (geometry.curvature()[a] > 1.001 * geometry.curvature()[b] && geometry.curvature()[b] > 0)
        CHECK_UNARY(coordinates.scale()[a] < coordinates.scale()[b]);
  }
}

TEST_CASE("a feature without influence has a finite scale") {
  // Two tests fail on the only row, so no conditional ever looks at the feature.
  FeatureSetBuilder builder(binary_schema(3));
  builder.add(std::vector<Variable>{0, 1, 2}, std::vector<Value>{1, 1, 1});
  const FeatureSet features = std::move(builder).finish();
  const FeatureGeometry geometry =
      geometry_of(features, Dataset::merge(binary_schema(3), Codes{0, 0, 0}));
  CHECK(geometry.curvature()[0] == 0.0);
  CHECK(Preconditioner(geometry, 0.0, false).scale()[0] == 1.0);
  CHECK(Preconditioner(geometry, 4.0, false).scale()[0] == 0.5);
}

TEST_CASE("no features have no coordinates") {
  const FeatureSet none = FeatureSetBuilder(Schema({2})).finish();
  const FeatureGeometry geometry = geometry_of(none, Dataset::merge(Schema({2}), Codes{1}));
  const Preconditioner coordinates(geometry, 1.0, true);
  CHECK(coordinates.dimension() == 0);
  VectorXd weights;
  coordinates.to_weights(VectorXd(0), weights);
  CHECK(weights.size() == 0);
}

}  // namespace test_preconditioner
