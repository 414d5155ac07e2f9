// learn/grafting.hpp: one optimum whatever the scheme, its certificate, limits and stops.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/learn/grafting.hpp>

#include "support/compare.hpp"
#include "support/random_models.hpp"
#include "support/stop_after.hpp"

namespace test_grafting {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Execution kOneThread{.n_threads = 1};

// All pairs of values that are not 0.
FeatureSet pairs(const Schema& schema) {
  FeatureSetBuilder builder(schema);
  for (Variable u = 0; u < schema.n_variables(); ++u)
    for (Variable v = u + 1; v < schema.n_variables(); ++v)
      for (Value a = 1; a < schema.cardinality(u); ++a)
        for (Value b = 1; b < schema.cardinality(v); ++b)
          builder.add(std::vector<Variable>{u, v}, std::vector<Value>{a, b});
  return std::move(builder).finish();
}

GraftingOptions precise(Introduction scheme = Introduction::gain) {
  GraftingOptions options;
  options.scheme = scheme;
  options.n_add = 3;
  options.weights.tolerance = 1e-14;
  options.inference.method = ExpectationMethod::exact;
  return options;
}

GraftingFit graft(const Dataset& data, const FeatureSet& pool, const Penalty& penalty,
                  const GraftingOptions& options, const Execution& execution = kOneThread) {
  return learn_by_grafting(data, pool, {&penalty, 1}, options, execution).front().second;
}

using Tests = std::vector<std::pair<Variable, ValueSetId>>;

// Weights by conjunction, so that networks whose features came in another order compare.
std::map<Tests, double> by_tests(const FeatureSet& features, std::span<const double> weights) {
  std::map<Tests, double> result;
  for (FeatureId j = 0; j < features.size(); ++j) {
    Tests tests;
    for (const Test test : features[j]) tests.emplace_back(test.variable, test.values);
    result[tests] = weights[j];
  }
  return result;
}

double difference(std::map<Tests, double> a, const std::map<Tests, double>& b) {
  for (const auto& [tests, weight] : b) a[tests] -= weight;
  double worst = 0;
  for (const auto& [tests, weight] : a) worst = std::max(worst, std::abs(weight));
  return worst;
}

Problem binary_problem() { return random_problem(21, 9, 2, 2, 400, 1, 1); }
Problem mixed_problem() { return random_problem(23, 6, 1, 4, 300, 1, 1); }

}  // namespace

TEST_CASE("with exact inference the optimum is that of the whole pool, by every scheme") {
  for (const Problem& problem : {binary_problem(), mixed_problem()}) {
    const Dataset data = problem.dataset();
    const FeatureSet pool = pairs(problem.schema);
    for (const Penalty& penalty : {Penalty{kInfinity, 12.0}, Penalty{2.0, 5.0}}) {
      // All features at once, single values first and without L1.
      FeatureSetBuilder builder(problem.schema);
      const FeatureSet singles = single_values(problem.schema);
      for (FeatureId j = 0; j < singles.size(); ++j) builder.add(singles, j);
      for (FeatureId j = 0; j < pool.size(); ++j) builder.add(pool, j);
      const FeatureSet all = std::move(builder).finish();
      InferredLikelihood likelihood(all, data, precise().inference);
      Eigen::VectorXd factors = Eigen::VectorXd::Ones(static_cast<Eigen::Index>(all.size()));
      factors.head(static_cast<Eigen::Index>(singles.size())).setZero();
      const WeightFit whole =
          fit_likelihood(likelihood, penalty, Eigen::VectorXd::Zero(factors.size()),
                         precise().weights, kOneThread, factors);
      const auto expected = by_tests(all, whole.weights);
      for (const auto scheme : {Introduction::gain, Introduction::grad, Introduction::simple})
        for (const double anneal : {0.5, 0.0}) {
          CAPTURE(name(scheme));
          CAPTURE(penalty.l1);
          GraftingOptions options = precise(scheme);
          options.anneal = anneal;
          const GraftingFit found = graft(data, pool, penalty, options);
          CHECK(found.stop == GraftingStop::optimum);
          CHECK(found.violation <= 1e-4);
          CHECK(found.largest_gradient > 0);
          CHECK(found.fit.objective == doctest::Approx(whole.objective).epsilon(1e-11));
          CHECK(difference(by_tests(found.features, found.fit.weights), expected) < 1e-5);
          CHECK(found.features.size() < all.size());
          CHECK(found.features.size() > singles.size());
          CHECK(found.method == "exact");
        }
    }
  }
}

TEST_CASE("the certificate is the largest gradient of what was left out, by enumeration") {
  const Problem problem = mixed_problem();
  const Dataset data = problem.dataset();
  const FeatureSet pool = pairs(problem.schema);
  GraftingOptions options = precise();
  options.n_add = pool.size();  // so that some enter which are not needed beside the others
  options.anneal = 0;
  const GraftingFit found = graft(data, pool, {kInfinity, 15.0}, options);
  InferredLikelihood likelihood(found.features, data, precise().inference);
  std::vector<FeatureId> all(pool.size());
  for (FeatureId j = 0; j < pool.size(); ++j) all[j] = j;
  const auto chances =
      likelihood.engine().expectations_of(found.fit.weights, pool, all, kOneThread);
  const auto counts = feature_counts(pool, data);
  const auto active = by_tests(found.features, found.fit.weights);
  double largest = 0;
  for (FeatureId j = 0; j < pool.size(); ++j) {
    Tests tests;
    for (const Test test : pool[j]) tests.emplace_back(test.variable, test.values);
    const double gradient = counts[j] - data.total_weight() * chances[j];
    if (active.contains(tests))
      CHECK(std::abs(gradient) == doctest::Approx(15.0).epsilon(1e-4));
    else
      largest = std::max(largest, std::abs(gradient));
  }
  CHECK(found.largest_gradient == doctest::Approx(largest).epsilon(1e-9));
  CHECK(largest <= 15.0 + 1e-4);
}

TEST_CASE("features of weight 0 take no room and are among those left out") {
  for (const double anneal : {0.0, 0.5})
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      CAPTURE(seed);
      CAPTURE(anneal);
      const Problem problem = random_problem(seed, 6, 2, 3, 200, 1, 1);
      const Dataset data = problem.dataset();
      const FeatureSet pool = pairs(problem.schema);
      const std::size_t n_singles = single_values(problem.schema).size();
      GraftingOptions options = precise();
      options.n_add = 5;
      options.anneal = anneal;
      options.max_features = 10;
      const GraftingFit found = graft(data, pool, {kInfinity, 4.0}, options);
      const std::size_t n_kept = found.features.size() - n_singles;
      CHECK(n_kept + found.n_inactive == pool.size());
      CHECK(n_kept <= 10);
      if (found.stop == GraftingStop::max_features)
        CHECK(n_kept == 10);
      else
        CHECK(found.violation <= 1e-4);
    }
}

TEST_CASE("a path is one run, and each of its members is what it would be alone") {
  const Problem problem = binary_problem();
  const Dataset data = problem.dataset();
  const FeatureSet pool = pairs(problem.schema);
  const std::vector<Penalty> path{{10.0, 4.0}, {10.0, 40.0}, {10.0, 12.0}};
  const auto fits = learn_by_grafting(data, pool, path, precise(), kOneThread);
  REQUIRE(fits.size() == 3);
  for (const auto& [i, fit] : fits) {
    CHECK(fit.fit.penalty.l1 == path[i].l1);
    const GraftingFit alone = graft(data, pool, path[i], precise());
    CHECK(difference(by_tests(fit.features, fit.fit.weights),
                     by_tests(alone.features, alone.fit.weights)) < 1e-5);
  }
  CHECK(fits[1].second.features.size() < fits[0].second.features.size());
}

TEST_CASE("a pool of longer conjunctions; rows count by their weights") {
  const Problem problem = mixed_problem();
  Dice dice(3);
  const FeatureSet pool = random_features(dice, problem.schema, 40, 3);
  const GraftingFit found = graft(problem.dataset(), pool, {5.0, 3.0}, precise());
  CHECK(found.stop == GraftingStop::optimum);
  CHECK(found.violation <= 1e-4);
  // Twice the rows with half the weight each.
  Codes codes = problem.codes;
  codes.insert(codes.end(), problem.codes.begin(), problem.codes.end());
  std::vector<double> weights;
  for (int copy = 0; copy < 2; ++copy)
    for (const double w : problem.row_weights) weights.push_back(0.5 * w);
  const GraftingFit again =
      graft(Dataset::merge(problem.schema, codes, weights), pool, {5.0, 3.0}, precise());
  CHECK(difference(by_tests(found.features, found.fit.weights),
                   by_tests(again.features, again.fit.weights)) < 1e-5);
}

TEST_CASE("without L1 features stay, and enter while their gradients are large enough") {
  const Problem problem = binary_problem();
  const Dataset data = problem.dataset();
  const FeatureSet pool = pairs(problem.schema);
  for (const double sd : {1.0, kInfinity}) {
    GraftingOptions options = precise();
    options.min_gradient = 10;
    const GraftingFit some = graft(data, pool, {sd, 0}, options);
    CHECK(some.stop == GraftingStop::optimum);
    CHECK(some.largest_gradient <= 10.01);
    options.min_gradient = 0;
    const GraftingFit all = graft(data, pool, {sd, 0}, options);
    CHECK(all.features.size() > some.features.size());
    CHECK(all.fit.objective > some.fit.objective);
    CHECK(all.violation <= 1e-4);
  }
}

TEST_CASE("belief propagation and samples find nearly the same network") {
  const Problem problem = binary_problem();
  const Dataset data = problem.dataset();
  const FeatureSet pool = pairs(problem.schema);
  const Penalty penalty{10.0, 25.0};
  const auto exact = graft(data, pool, penalty, precise());
  for (const auto method : {ExpectationMethod::bp, ExpectationMethod::gibbs}) {
    CAPTURE(name(method));
    GraftingOptions options = precise();
    options.weights.tolerance = 1e-7;
    options.inference.method = method;
    options.inference.gibbs.n_states = 3000;
    const auto found = graft(data, pool, penalty, options);
    CHECK(found.stop == GraftingStop::optimum);
    CHECK(found.method == name(method));
    CHECK(found.fit.objective == doctest::Approx(exact.fit.objective).epsilon(0.01));
    CHECK(difference(by_tests(found.features, found.fit.weights),
                     by_tests(exact.features, exact.fit.weights)) < 0.2);
  }
}

TEST_CASE("the same bits for any number of threads") {
  const Problem problem = binary_problem();
  const Dataset data = problem.dataset();
  const FeatureSet pool = pairs(problem.schema);
  for (const auto method : {ExpectationMethod::exact, ExpectationMethod::bp}) {
    GraftingOptions options;
    options.inference.method = method;
    const auto one = graft(data, pool, {10.0, 10.0}, options, {.n_threads = 1});
    const auto four = graft(data, pool, {10.0, 10.0}, options, {.n_threads = 4});
    CHECK(same_bits(one.fit.weights, four.fit.weights));
  }
}

TEST_CASE("limits and stops leave what was reached") {
  const Problem problem = binary_problem();
  const Dataset data = problem.dataset();
  const FeatureSet pool = pairs(problem.schema);
  const std::size_t n_singles = single_values(problem.schema).size();
  const Penalty penalty{10.0, 2.0};
  GraftingOptions options = precise();
  options.max_features = 4;
  const auto few = graft(data, pool, penalty, options);
  CHECK(few.stop == GraftingStop::max_features);
  CHECK(few.features.size() <= n_singles + 4);
  CHECK(few.violation > 0);

  options = precise();
  options.inference.max_table_entries = 40;
  const auto narrow = graft(data, pool, penalty, options);
  CHECK(narrow.stop == GraftingStop::inference);
  CHECK(narrow.message.find("max_table_entries is 40") != std::string::npos);
  CHECK(narrow.features.size() > n_singles);
  CHECK(narrow.fit.penalty.l1 >= penalty.l1);

  options = precise();
  options.weights.max_seconds = 1e-6;
  CHECK(graft(data, pool, penalty, options).stop == GraftingStop::time_limit);

  for (const int polls : {5, 40, 200, 1000}) {
    StopAfter monitor(polls);
    const Execution watched{.n_threads = 1, .monitor = &monitor};
    try {
      const auto stopped = graft(data, pool, penalty, precise(), watched);
      CHECK(stopped.stop == GraftingStop::interrupted);
      CHECK(stopped.fit.weights.size() == stopped.features.size());
    } catch (const Interrupted&) {
      CHECK(polls < 100);
    }
  }
}

TEST_CASE("messages that stop converging end the run with the weights before") {
  // Variables that are all different from each other, more of them than values: pure frustration.
  Dice dice(5);
  Codes codes;
  for (int r = 0; r < 300; ++r) {
    const std::size_t one = dice.below(10);
    for (std::size_t v = 0; v < 10; ++v) codes.push_back(v == one || dice.chance(0.02));
  }
  const Schema schema = binary_schema(10);
  GraftingOptions options;
  options.inference.method = ExpectationMethod::bp;
  options.inference.bp.max_iterations = 12;
  const auto found = graft(Dataset::merge(schema, codes), pairs(schema), {kInfinity, 0}, options);
  CHECK(found.stop == GraftingStop::inference);
  CHECK(found.message.find("converge") != std::string::npos);
  CHECK(found.features.size() > 10);
  for (const double w : found.fit.weights) CHECK(std::isfinite(w));
}

}  // namespace test_grafting
