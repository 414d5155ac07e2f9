// objective/margin_state.hpp and learn/feature_gain.hpp against pseudo-likelihoods by definition:
// variables of one to four values, sets of values, weighted rows.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/feature/context_rows.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/learn/feature_gain.hpp>
#include <feldspar/objective/margin_state.hpp>

#include "support/brute_force.hpp"
#include "support/random_models.hpp"

namespace test_feature_gain {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

constexpr double kPrecision = 0.5;

Problem small_problem(std::uint64_t seed, Value most = 4) {
  return random_problem(seed, 5, most == 2 ? 2 : 1, most, 60, 12, 4);
}

// PLL less the prior's penalty, by definition, of the features with weight changed or 0.
double penalized(const Problem& problem, const std::vector<double>& weights) {
  double value =
      pseudo_log_likelihood(problem.features, weights, problem.codes, problem.row_weights);
  for (const double w : weights) value -= 0.5 * kPrecision * w * w;
  return value;
}

// The gain of a weight for feature j where the others are as they are and `base` is the start.
double brute_gain(const Problem& problem, std::vector<double> weights, FeatureId j, double weight,
                  double base) {
  weights[j] = weight;
  return penalized(problem, weights) - base;
}

MarginState state_of(const Problem& problem, const Dataset& data,
                     const std::vector<double>& weights) {
  MarginState state(data);
  state.assign(problem.features, weights);
  return state;
}

}  // namespace

TEST_CASE("contexts are where all other tests hold") {
  const Problem problem = small_problem(3);
  const Dataset data = problem.dataset();
  ContextFinder finder;
  ContextRows rows;
  CHECK(!rows.known());
  std::vector<std::int32_t> row(data.n_variables());
  const auto has = [](std::span<const Row> list, std::size_t r) {
    return std::ranges::binary_search(list, static_cast<Row>(r));
  };
  for (FeatureId j = 0; j < problem.features.size(); ++j) {
    finder.find(problem.features[j], problem.features.value_sets(), data.columns(), rows);
    CHECK(rows.known());
    REQUIRE(rows.n_tests() == problem.features[j].size());
    for (std::size_t r = 0; r < data.n_rows(); ++r) {
      for (Variable v = 0; v < data.n_variables(); ++v) row[v] = data.columns().codes(v)[r];
      const bool matches = holds(problem.features, j, row);
      CHECK(has(rows.matched(), r) == matches);
      for (std::size_t i = 0; i < rows.n_tests(); ++i)
        CHECK(has(rows.missed(i), r) == (!matches && holds_without(problem.features, j, i, row)));
    }
  }
}

TEST_CASE("margins follow the weights") {
  for (const Value most : {Value{2}, Value{4}}) {
    const Problem problem = small_problem(5, most);
    const Dataset data = problem.dataset();
    const double expected = pseudo_log_likelihood(problem.features, problem.weights, problem.codes,
                                                  problem.row_weights);
    MarginState state = state_of(problem, data, problem.weights);
    CHECK(state.log_likelihood() == doctest::Approx(expected).epsilon(1e-12));

    std::vector<double> changed = problem.weights;
    changed[4] -= 0.7;
    ContextFinder finder;
    ContextRows rows;
    finder.find(problem.features[4], problem.features.value_sets(), data.columns(), rows);
    state.add(problem.features[4], problem.features.value_sets(), rows, -0.7);
    CHECK(state.log_likelihood() ==
          doctest::Approx(state_of(problem, data, changed).log_likelihood()).epsilon(1e-12));
  }
}

TEST_CASE("slopes follow the weights, too") {
  for (const Value most : {Value{2}, Value{4}}) {
    const Problem problem = small_problem(7, most);
    const Dataset data = problem.dataset();
    const ValueSets& sets = problem.features.value_sets();
    MarginState state = state_of(problem, data, std::vector<double>(problem.weights.size(), 0.0));
    ContextFinder finder;
    ContextRows rows;
    for (FeatureId j = 0; j < problem.features.size(); ++j) {
      finder.find(problem.features[j], sets, data.columns(), rows);
      state.add(problem.features[j], sets, rows, problem.weights[j]);
    }
    const auto value = [&](FeatureId j, double step) {
      std::vector<double> weights = problem.weights;
      weights[j] += step;
      return pseudo_log_likelihood(problem.features, weights, problem.codes, problem.row_weights);
    };
    for (FeatureId j = 0; j < problem.features.size(); ++j) {
      finder.find(problem.features[j], sets, data.columns(), rows);
      const MarginState::Slope slope = state.slope(problem.features[j], sets, rows);
      constexpr double kStep = 1e-3;
      const double up = value(j, kStep), here = value(j, 0), down = value(j, -kStep);
      CHECK(std::abs(slope.miss - (up - down) / (2 * kStep)) < 1e-4);
      CHECK(std::abs(slope.curvature - (2 * here - up - down) / (kStep * kStep)) < 1e-4);
    }
  }
}

TEST_CASE("with weights on the grid, margins do not depend on how they came about") {
  for (const Value most : {Value{2}, Value{4}}) {
    const Problem problem = small_problem(9, most);
    const Dataset data = problem.dataset();
    const ValueSets& sets = problem.features.value_sets();
    std::vector<double> weights, detours;
    for (const double w : problem.weights) {
      weights.push_back(on_grid(w / 3));
      detours.push_back(on_grid(1.7 * std::sin(w)));
      CHECK(std::abs(weights.back() - w / 3) <= 0x1p-31);
    }
    const MarginState direct = state_of(problem, data, weights);
    MarginState detour = state_of(problem, data, detours);
    ContextFinder finder;
    ContextRows rows;
    const auto add = [&](FeatureId j, double weight) {
      finder.find(problem.features[j], sets, data.columns(), rows);
      detour.add(problem.features[j], sets, rows, weight);
    };
    for (FeatureId j = 0; j < weights.size(); ++j) add(j, weights[j]);
    for (FeatureId j = 0; j < weights.size(); ++j) add(j, -detours[j]);
    for (FeatureId j = 0; j < problem.features.size(); ++j) {
      finder.find(problem.features[j], sets, data.columns(), rows);
      CHECK(direct.slope(problem.features[j], sets, rows).miss ==
            detour.slope(problem.features[j], sets, rows).miss);
    }
    CHECK(direct.log_likelihood() == detour.log_likelihood());
  }
}

TEST_CASE("an addition gains what the definition says, and no other weight gains more") {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const Problem problem = small_problem(seed, seed % 2 == 0 ? 4 : 2);
    const Dataset data = problem.dataset();
    for (FeatureId j = 0; j < problem.features.size(); ++j) {
      std::vector<double> without = problem.weights;
      without[j] = 0;
      const MarginState state = state_of(problem, data, without);
      GainEvaluator evaluator(state, problem.features.value_sets(), kPrecision);
      const double base = penalized(problem, without);
      const WeightGain best = evaluator.addition(problem.features[j]);
      CHECK(best.solved);
      CHECK(best.gain >= 0);
      CHECK(std::abs(brute_gain(problem, without, j, best.weight, base) - best.gain) < 1e-8);
      for (const double step : {-0.3, -0.01, 0.01, 0.3})
        CHECK(brute_gain(problem, without, j, best.weight + step, base) < best.gain + 1e-7);
    }
  }
}

TEST_CASE("removal and generalisation gain what the definition says") {
  for (std::uint64_t seed = 10; seed < 14; ++seed) {
    Problem problem = small_problem(seed, seed % 2 == 0 ? 4 : 2);
    const Dataset data = problem.dataset();
    const double base = penalized(problem, problem.weights);
    for (FeatureId j = 0; j < problem.features.size(); ++j) {
      const auto tests = problem.features[j];
      const MarginState state = state_of(problem, data, problem.weights);
      GainEvaluator evaluator(state, problem.features.value_sets(), kPrecision);
      ContextRows rows;
      ContextFinder().find(tests, problem.features.value_sets(), data.columns(), rows);
      const double removal = evaluator.take_out(tests, rows, problem.weights[j]);
      CHECK(std::abs(brute_gain(problem, problem.weights, j, 0.0, base) - removal) < 1e-8);
      for (std::size_t first = 0; first < tests.size(); ++first) {
        // The feature without its first tests, in a network of its own to compare with.
        const std::vector<Test> fewer(tests.begin() + static_cast<std::ptrdiff_t>(first),
                                      tests.end());
        FeatureSetBuilder builder(problem.schema);
        for (FeatureId other = 0; other < problem.features.size(); ++other)
          if (other != j) builder.add(problem.features, other);
        std::vector<Variable> variables;
        std::vector<std::size_t> begin{0};
        std::vector<Value> values;
        for (const Test test : fewer) {
          variables.push_back(test.variable);
          const auto set = problem.features.values(test.values);
          values.insert(values.end(), set.begin(), set.end());
          begin.push_back(values.size());
        }
        const AddResult added = builder.add(variables, begin, values);
        Problem other = problem;
        other.features = std::move(builder).finish();
        other.weights.erase(other.weights.begin() + j);
        other.weights.resize(other.features.size(), 0.0);
        const WeightGain best = evaluator.addition(fewer);
        if (added.outcome != Added::new_feature) continue;  // the other's weight would be in doubt
        const double start = penalized(other, other.weights);
        CHECK(std::abs(start - base - removal) < 1e-8);
        CHECK(std::abs(brute_gain(other, other.weights, added.feature, best.weight, start) -
                       best.gain) < 1e-8);
      }
    }
  }
}

TEST_CASE("what is not solved could not have gained as much") {
  std::size_t n_skipped = 0;
  for (std::uint64_t seed = 20; seed < 26; ++seed)
    for (const double precision : {0.0, 0.5}) {
      const Problem problem = small_problem(seed, seed % 2 == 0 ? 4 : 2);
      const Dataset data = problem.dataset();
      const MarginState state = state_of(problem, data, problem.weights);
      GainEvaluator evaluator(state, problem.features.value_sets(), precision);
      for (FeatureId j = 0; j < problem.features.size(); ++j) {
        const WeightGain exact = evaluator.addition(problem.features[j]);
        const WeightGain high = evaluator.addition(problem.features[j], exact.gain + 1.0);
        const WeightGain low = evaluator.addition(problem.features[j], exact.gain - 1e-6);
        CHECK(low.solved);
        CHECK(low.gain == exact.gain);
        CHECK(high.gain >= exact.gain - 1e-7);
        n_skipped += !high.solved;
      }
    }
  CHECK(n_skipped > 30);
}

TEST_CASE("without a prior a feature that never fails has a finite weight and gain") {
  const Schema schema({2, 2});
  const Dataset data = Dataset::merge(schema, std::vector<std::int32_t>{1, 1, 0, 0, 1, 1});
  FeatureSetBuilder builder(schema);
  builder.add(std::vector<Variable>{0, 1}, std::vector<Value>{1, 1});
  const FeatureSet features = std::move(builder).finish();
  const MarginState state(data);
  GainEvaluator evaluator(state, features.value_sets(), 0.0);
  const WeightGain best = evaluator.addition(features[0]);
  CHECK(std::isfinite(best.weight));
  CHECK(best.gain == doctest::Approx(4 * std::log(2.0)).epsilon(1e-6));
}

}  // namespace test_feature_gain
