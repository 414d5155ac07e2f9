// objective/likelihood.hpp and learn/fit_likelihood.hpp: value, gradient and optima with inference inside.
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include <feldspar/learn/fit_likelihood.hpp>

#include "support/brute_force.hpp"
#include "support/compare.hpp"
#include "support/enumerate_states.hpp"
#include "support/random_models.hpp"

namespace test_likelihood {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Execution kOneThread{.n_threads = 1};

ExpectationOptions by(ExpectationMethod method) {
  ExpectationOptions options;
  options.method = method;
  return options;
}

FitWeightsOptions precise() {
  FitWeightsOptions options;
  options.tolerance = 1e-16;
  return options;
}

// Sum over examples, by enumeration.
double log_likelihood(const Problem& problem, const std::vector<double>& weights) {
  const Codes unknown(problem.schema.n_variables(), kUnknown);
  const double log_partition =
      sum_over_states({problem.features, weights}, {unknown, {}}).log_partition;
  double sum = 0;
  const std::size_t n = problem.schema.n_variables();
  for (std::size_t r = 0; r < problem.row_weights.size(); ++r)
    sum += problem.row_weights[r] *
           (log_potential(problem.features, weights, row_of(problem.codes, n, r)) - log_partition);
  return sum;
}

std::vector<double> pairwise_marginal_errors(InferredLikelihood& likelihood, const WeightFit& fit) {
  std::vector<double> gradient(fit.weights.size());
  likelihood.value_and_gradient(fit.weights, gradient, kOneThread);
  for (double& g : gradient) g /= likelihood.total_weight();
  return gradient;
}

}  // namespace

TEST_CASE("value and gradient of the exact likelihood, weighted rows and many values") {
  for (const Value most : {Value{2}, Value{4}}) {
    const Problem problem = random_problem(most, most == 2 ? 9 : 6, 1, most, 200, 40, 3);
    const Dataset data = problem.dataset();
    InferredLikelihood likelihood(problem.features, data, by(ExpectationMethod::exact));
    std::vector<double> gradient(problem.weights.size());
    const double value = likelihood.value_and_gradient(problem.weights, gradient, kOneThread);
    CHECK(value == doctest::Approx(log_likelihood(problem, problem.weights)).epsilon(1e-12));
    const auto f = [&](const std::vector<double>& w) { return log_likelihood(problem, w); };
    CHECK(distance(gradient, four_point_gradient(f, problem.weights, 1e-3)) < 1e-9);
    std::vector<double> again(gradient.size());
    CHECK(likelihood.value_and_gradient(problem.weights, again, {.n_threads = 4}) == value);
    CHECK(same_bits(gradient, again));
  }
}

TEST_CASE("what inference does not answer is not a number") {
  const Problem problem = random_problem(3, 4, 2, 2, 20, 6, 2);
  const Dataset data = problem.dataset();
  Likelihood likelihood(problem.features, data, [](auto, std::span<double> out, const Execution&) {
    std::fill(out.begin(), out.end(), 0.5);
    return std::numeric_limits<double>::quiet_NaN();
  });
  std::vector<double> gradient(problem.weights.size());
  CHECK(std::isnan(likelihood.value_and_gradient(problem.weights, gradient)));
  CHECK(std::isnan(gradient[0]));
}

TEST_CASE("features of another schema and wrong sizes are refused") {
  const Problem problem = random_problem(3, 4, 2, 2, 20, 6, 2);
  const Problem other = random_problem(3, 5, 2, 3, 20, 6, 2);
  const auto none = [](auto, std::span<double>, const Execution&) { return 0.0; };
  CHECK_THROWS_AS(Likelihood(other.features, problem.dataset(), none), InvalidInput);
  Likelihood likelihood(problem.features, problem.dataset(), none);
  std::vector<double> gradient(problem.weights.size());
  CHECK_THROWS_AS(likelihood.value_and_gradient(std::vector<double>(1), gradient), InvalidInput);
  gradient.pop_back();
  CHECK_THROWS_AS(likelihood.value_and_gradient(problem.weights, gradient), InvalidInput);
}

TEST_CASE("maximum likelihood matches the counts; penalties as they say") {
  const Problem problem = random_problem(4, 7, 2, 3, 300, 25, 2);
  const Dataset data = problem.dataset();
  InferredLikelihood likelihood(problem.features, data, by(ExpectationMethod::exact));
  const std::vector<Penalty> penalties{{kInfinity, 0}, {0.7, 0}, {kInfinity, 6.0}, {1.0, 2.0}};
  const auto fits = fit_likelihood_path(likelihood, penalties, {}, precise(), kOneThread);
  std::size_t n_zeros = 0;
  for (std::size_t i = 0; i < fits.size(); ++i) {
    const Penalty& penalty = penalties[i];
    const auto gradient = pairwise_marginal_errors(likelihood, fits[i]);
    double value = log_likelihood(problem, fits[i].weights);
    for (std::size_t j = 0; j < gradient.size(); ++j) {
      const double w = fits[i].weights[j];
      const double smooth = gradient[j] * data.total_weight() - penalty.precision() * w;
      if (w == 0)
        CHECK(std::abs(smooth) <= penalty.l1 * (1 + 1e-6));
      else
        CHECK(smooth == doctest::Approx(std::copysign(penalty.l1, w)).epsilon(1e-4).scale(1.0));
      value -= 0.5 * penalty.precision() * w * w + penalty.l1 * std::abs(w);
      n_zeros += w == 0;
    }
    CHECK(fits[i].objective == doctest::Approx(value / data.total_weight()).epsilon(1e-10));
  }
  CHECK(n_zeros > 5);
}

TEST_CASE("belief propagation and Gibbs samples come near the exact optimum") {
  Problem problem = random_problem(5, 8, 2, 2, 2000, 1, 1);
  FeatureSetBuilder builder(problem.schema);
  for (Variable v = 0; v < 8; ++v)  // a ring with its single values
    for (const Variable u : {v, (v + 1) % 8})
      builder.add(std::vector<Variable>{v, u}, std::vector<Value>{1, 1});
  problem.features = std::move(builder).finish();
  const Dataset data = problem.dataset();
  const Penalty penalty{1.0, 0};
  const auto fit = [&](ExpectationMethod method) {
    InferredLikelihood likelihood(problem.features, data, by(method));
    return fit_likelihood_path(likelihood, {&penalty, 1}, {}, {}, kOneThread).front();
  };
  const WeightFit exact = fit(ExpectationMethod::exact);
  REQUIRE(exact.run.status == Status::converged);
  for (const auto method : {ExpectationMethod::bp, ExpectationMethod::gibbs}) {
    const WeightFit found = fit(method);
    CAPTURE(name(method));
    CHECK(found.run.status == Status::converged);
    CHECK(found.objective == doctest::Approx(exact.objective).epsilon(0.01));
    CHECK(log_likelihood(problem, found.weights) / data.total_weight() >
          log_likelihood(problem, exact.weights) / data.total_weight() - 0.01);
  }
}

}  // namespace test_likelihood
