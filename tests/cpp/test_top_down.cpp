// learn/top_down.hpp: the candidates are those of the definition, each round gains, the end is
// where no candidate gains enough by brute force, and threads change nothing.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/feature/feature_lookup.hpp>
#include <feldspar/learn/top_down.hpp>

#include "support/brute_force.hpp"
#include "support/random_models.hpp"
#include "support/stop_after.hpp"

namespace test_top_down {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();

TopDownOptions small_options(double alpha, int additions) {
  TopDownOptions options;
  options.alpha = alpha;
  options.additions = additions;
  options.prior_sd = 0.8;
  options.weights.tolerance = 1e-10;
  return options;
}

double penalized(const Problem& problem, const FeatureSet& features,
                 const std::vector<double>& weights, double prior_sd) {
  double value = pseudo_log_likelihood(features, weights, problem.codes, problem.row_weights);
  for (const double w : weights) value -= 0.5 * w * w / (prior_sd * prior_sd);
  return value;
}

SearchStatus run(TopDownSearch& search, const Execution& execution = {}) {
  SearchStatus status = SearchStatus::advanced;
  while (status == SearchStatus::advanced) status = search.advance(kForever, execution);
  return status;
}

}  // namespace

TEST_CASE("each round gains, and in the end nothing gains enough") {
  for (const auto& [most, positive] :
       {std::pair{Value{2}, true}, {Value{3}, true}, {Value{2}, false}, {Value{3}, false}}) {
    const Problem problem = random_problem(most, 4, 2, most, 60, 1, 1);
    const Dataset data = problem.dataset();
    TopDownOptions options = small_options(0.4, 2);
    options.positive = positive;
    TopDownSearch search(data, options);
    double before = -kForever;
    std::size_t tests_before = 0;
    while (search.advance(kForever) == SearchStatus::advanced) {
      const double after =
          penalized(problem, search.features(), search.weights(), options.prior_sd);
      const std::size_t tests = search.features().n_tests();
      CHECK(after - before > options.alpha * static_cast<double>(tests - tests_before));
      before = after;
      tests_before = tests;
    }
    CHECK(search.n_rounds() > 0);

    // All conjunctions of a feature with another, or with a test, that hold on some row and test no
    // variable twice.
    const FeatureSet& features = search.features();
    const FeatureLookup lookup(features);
    std::vector<std::vector<Test>> others;
    for (FeatureId k = 0; k < features.size(); ++k)
      others.emplace_back(features[k].begin(), features[k].end());
    for (Variable v = 0; v < 4 && !positive; ++v) others.push_back({Test{v, 0}});
    std::size_t n_candidates = 0;
    for (FeatureId j = 0; j < features.size(); ++j)
      for (const std::vector<Test>& other_tests : others) {
        FeatureSetBuilder builder(problem.schema);
        for (FeatureId other = 0; other < features.size(); ++other) builder.add(features, other);
        std::vector<Test> both(features[j].begin(), features[j].end());
        bool conflict = false;
        for (const Test test : other_tests) {
          const auto found = std::ranges::find(both, test.variable, &Test::variable);
          if (found == both.end())
            both.push_back(test);
          else
            conflict = conflict || found->values != test.values;
        }
        std::ranges::sort(both, {}, &Test::variable);
        bool holds_somewhere = false;
        for (std::size_t r = 0; r < problem.row_weights.size(); ++r)
          holds_somewhere =
              holds_somewhere ||
              (problem.row_weights[r] > 0 && std::ranges::all_of(both, [&](Test test) {
                 return passes(features, test, row_of(problem.codes, 4, r));
               }));
        if (conflict || !holds_somewhere || lookup.find(both)) continue;
        ++n_candidates;
        builder.add_canonical(both);
        const FeatureSet larger = std::move(builder).finish();
        std::vector<double> weights = search.weights();
        weights.push_back(0.0);
        double best = -kForever;
        for (double w = -3; w <= 3; w += 0.1) {
          weights.back() = w;
          best = std::max(best, penalized(problem, larger, weights, options.prior_sd) - before);
        }
        CHECK(best < options.alpha * static_cast<double>(both.size()) + 1e-6);
      }
    CHECK(n_candidates > 0);
  }
}

TEST_CASE("one addition a round is the best there is") {
  const Problem problem = random_problem(5, 4, 2, 2, 80, 1, 1);
  const Dataset data = problem.dataset();
  const TopDownOptions options = small_options(0.1, 1);
  TopDownSearch search(data, options);
  search.advance(kForever);
  const FeatureSet atoms = search.features();
  const std::vector<double> start = search.weights();
  const double base = penalized(problem, atoms, start, options.prior_sd);
  double best = 0;
  Variable best_pair[2] = {0, 0};
  for (Variable a = 0; a < 4; ++a)
    for (Variable b = a + 1; b < 4; ++b) {
      FeatureSetBuilder builder(problem.schema);
      for (FeatureId j = 0; j < atoms.size(); ++j) builder.add(atoms, j);
      builder.add(std::vector<Variable>{a, b}, std::vector<Value>{1, 1});
      const FeatureSet larger = std::move(builder).finish();
      std::vector<double> weights = start;
      weights.push_back(0.0);
      for (double w = -3; w <= 3; w += 0.01) {
        weights.back() = w;
        const double gain = penalized(problem, larger, weights, options.prior_sd) - base;
        if (gain <= best) continue;
        best = gain;
        best_pair[0] = a;
        best_pair[1] = b;
      }
    }
  REQUIRE(best > 0.2);
  search.advance(kForever);
  REQUIRE(search.features().size() == 5);
  CHECK(search.features()[4][0].variable == best_pair[0]);
  CHECK(search.features()[4][1].variable == best_pair[1]);
}

TEST_CASE("what no example shows is not added") {
  // The first two variables are never 1 together: a negative weight would gain much.
  const Dataset data = Dataset::merge(
      Schema({2, 2, 2}), std::vector<std::int32_t>{1, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 1, 0, 0, 1},
      std::vector<double>{50, 50, 50, 50, 1});
  TopDownSearch search(data, small_options(0.5, 4));
  CHECK(run(search) == SearchStatus::finished);
  for (FeatureId j = 0; j < search.features().size(); ++j) {
    const auto tests = search.features()[j];
    CHECK_FALSE((tests.size() > 1 && tests[0].variable == 0 && tests[1].variable == 1));
  }
}

TEST_CASE("tests of value 0 tell that two variables exclude each other") {
  const Dataset data = Dataset::merge(Schema({2, 2}), std::vector<std::int32_t>{1, 0, 0, 1, 0, 0},
                                      std::vector<double>{50, 50, 50});
  TopDownOptions options = small_options(0.5, 4);
  TopDownSearch positive(data, options);
  options.positive = false;
  TopDownSearch full(data, options);
  CHECK(run(positive) == SearchStatus::finished);
  CHECK(run(full) == SearchStatus::finished);
  CHECK(positive.features().size() == 2);
  REQUIRE(full.features().size() > 2);
  for (FeatureId j = 2; j < full.features().size(); ++j) {
    CHECK(full.features()[j].size() == 2);
    CHECK(std::ranges::count(full.features()[j], ValueSetId{0}, &Test::values) == 1);
  }
}

TEST_CASE("a variable of one value is never tested") {
  // A feature that always holds with another would halve what its weight costs.
  const Dataset data = Dataset::merge(Schema({2, 1}), std::vector<std::int32_t>{1, 0, 0, 0},
                                      std::vector<double>{90, 2});
  TopDownOptions options = small_options(0, 1);
  options.positive = false;
  TopDownSearch search(data, options);
  CHECK(run(search) == SearchStatus::finished);
  CHECK(search.features().size() == 1);
}

TEST_CASE("the number of threads changes no search from the top") {
  const Problem problem = random_problem(6, 9, 2, 3, 200, 1, 1);
  const Dataset data = problem.dataset();
  TopDownSearch one(data, small_options(0.8, 3)), four(data, small_options(0.8, 3));
  CHECK(run(one, {1, nullptr}) == SearchStatus::finished);
  CHECK(run(four, {4, nullptr}) == SearchStatus::finished);
  CHECK(one.features().size() > 20);
  CHECK(std::ranges::equal(one.features().tests(), four.features().tests()));
  CHECK(one.weights() == four.weights());
}

TEST_CASE("a stop leaves a network with a weight for each feature") {
  const Problem problem = random_problem(7, 6, 2, 3, 100, 1, 1);
  const Dataset data = problem.dataset();
  for (const int polls : {60, 300}) {
    StopAfter monitor(polls);
    TopDownSearch search(data, small_options(0.2, 2));
    CHECK(run(search, {1, &monitor}) == SearchStatus::interrupted);
    CHECK(search.features().size() == search.weights().size());
  }
  TopDownSearch late(data, small_options(0.2, 2));
  CHECK(late.advance(0.0) == SearchStatus::time_limit);  // and nothing is taken for learned
  CHECK(late.advance(kForever) == SearchStatus::advanced);
  CHECK(late.n_rounds() == 0);
  CHECK(late.weights() != std::vector<double>(late.weights().size(), 0.0));
  CHECK(late.advance(1e-9) == SearchStatus::time_limit);
}

TEST_CASE("bad options of the search from the top are named") {
  const Problem problem = random_problem(8, 3, 2, 2, 20, 1, 1);
  const Dataset data = problem.dataset();
  CHECK_THROWS_AS(TopDownSearch(data, small_options(-1, 1)), InvalidInput);
  CHECK_THROWS_AS(TopDownSearch(data, small_options(1, 0)), InvalidInput);
}

}  // namespace test_top_down
