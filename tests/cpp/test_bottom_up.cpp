// learn/bottom_up.hpp: every step improves the score as computed by definition, the end is a local
// optimum of the stated neighbourhood, and neither threads nor a restart change anything.
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
#include <feldspar/learn/bottom_up.hpp>
#include <feldspar/learn/coordinate_ascent.hpp>
#include <feldspar/learn/example_features.hpp>
#include <feldspar/objective/margin_state.hpp>

#include "support/brute_force.hpp"
#include "support/random_models.hpp"
#include "support/stop_after.hpp"

namespace test_bottom_up {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();

// Weighted rows of variables with up to `most` values.
struct Rows {
  Schema schema;
  Codes codes;
  std::vector<double> weights;

  Dataset dataset() const { return Dataset::merge(schema, codes, weights); }
};

Rows random_rows(std::uint64_t seed, std::size_t n_variables, Value most, std::size_t n_rows) {
  Dice dice(seed);
  const Schema schema = random_schema(dice, n_variables, 2, most);
  Codes codes = random_codes(dice, schema, n_rows, 0.3);
  return {schema, std::move(codes), dice.numbers(n_rows, 0.5, 2.5)};
}

BottomUpOptions small_options(double alpha, int relearn_every) {
  BottomUpOptions options;
  options.alpha = alpha;
  options.relearn_every = relearn_every;
  options.neighbors = {1, 2, 5, 10};
  options.prior_sd = 0.7;
  return options;
}

// By definition.
double score(const Rows& rows, const FeatureSet& features, const std::vector<double>& weights,
             const BottomUpOptions& options) {
  double value = pseudo_log_likelihood(features, weights, rows.codes, rows.weights);
  for (const double w : weights) value -= 0.5 * options.precision() * w * w;
  return value - options.alpha * static_cast<double>(features.n_tests());
}

BottomUpState finish(BottomUpSearch& search, const Execution& execution = {}) {
  SearchStatus status = SearchStatus::advanced;
  while (status == SearchStatus::advanced) status = search.advance(kForever, execution);
  CHECK(status == SearchStatus::finished);
  return search.state();
}

BottomUpState example_start(const Dataset& data, InitialFeatures initial) {
  return bottom_up_start(example_features(data, initial), {});
}

bool same(const BottomUpState& a, const BottomUpState& b) {
  return a.weights == b.weights && a.features.size() == b.features.size() &&
         std::ranges::equal(a.features.tests(), b.features.tests()) && a.next == b.next &&
         a.n_changes == b.n_changes && a.round == b.round;
}

// The set without feature j, and if `tests` has any, with that conjunction at the end.
FeatureSet replaced(const FeatureSet& features, FeatureId j, const std::vector<Test>& tests) {
  FeatureSetBuilder builder(features.schema());
  for (FeatureId other = 0; other < features.size(); ++other)
    if (other != j) builder.add(features, other);
  std::vector<Test> own = tests;
  for (Test& test : own) test.values = builder.intern(features.values(test.values));
  if (!own.empty()) builder.add_canonical(own);
  return std::move(builder).finish();
}

// The best score over the last weight: a concave function.
double best_over_last(const Rows& rows, const FeatureSet& features, std::vector<double> weights,
                      const BottomUpOptions& options) {
  double low = -8, high = 8, best = 0;
  for (int i = 0; i < 40; ++i) {
    const double left = low + (high - low) / 3, right = high - (high - low) / 3;
    weights.back() = left;
    const double at_left = score(rows, features, weights, options);
    weights.back() = right;
    const double at_right = score(rows, features, weights, options);
    best = std::max(at_left, at_right);
    (at_left < at_right ? low : high) = at_left < at_right ? left : right;
  }
  return best;
}

}  // namespace

TEST_CASE("examples become features") {
  const Dataset data = Dataset::merge(
      Schema({2, 3, 1}), std::vector<std::int32_t>{0, 0, 0, 1, 2, 0, 0, 1, 0, 1, 2, 0});
  CHECK(example_features(data, InitialFeatures::positive).size() == 2);  // (0 0 0) has no test
  const FeatureSet full = example_features(data, InitialFeatures::full);
  CHECK(full.size() == 3);
  CHECK(full.n_tests() == 6);  // the variable of one value is never tested
}

TEST_CASE("a start has the atomic features first") {
  const Schema schema({2, 3});
  FeatureSetBuilder builder(schema);
  builder.add(std::vector<Variable>{0, 1}, std::vector<Value>{1, 2});
  builder.add(std::vector<Variable>{0}, std::vector<Value>{0});
  builder.add(std::vector<Variable>{1}, std::vector<Value>{2});
  const FeatureSet features = std::move(builder).finish();
  const BottomUpState start = bottom_up_start(features, std::vector<double>{0.5, 0.25, -1.0});
  CHECK(start.n_fixed == 4);
  CHECK(start.next == 4);
  CHECK(start.weights == std::vector<double>{0.0, 0.0, -1.0, 0.25, 0.5});
}

TEST_CASE("every step improves the score by definition") {
  for (const Value most : {Value{2}, Value{4}})
    for (const InitialFeatures initial : {InitialFeatures::positive, InitialFeatures::full}) {
      const Rows rows = random_rows(most, 5, most, 50);
      const Dataset data = rows.dataset();
      const BottomUpOptions options = small_options(0.3, 1);
      BottomUpSearch search(data, example_start(data, initial), options);
      search.learn_weights(3, kForever);
      double before = search.score();
      std::size_t tests = search.state().features.n_tests();
      while (search.advance(kForever) == SearchStatus::advanced) {
        const BottomUpState state = search.state();
        const double after = search.score();
        CHECK(after == doctest::Approx(score(rows, state.features, state.weights, options)));
        CHECK(after > before - 1e-9);
        CHECK(state.features.n_tests() <= tests);
        before = after;
        tests = state.features.n_tests();
      }
      CHECK(search.state().n_changes > 3);
    }
}

TEST_CASE("of features that are judged at once, each change is checked after those before") {
  // Two features say the same, since the third and the fourth variable are always 1, and together
  // too loudly: either of them should go, but not both.
  const Schema schema({2, 2, 2, 2});
  const std::vector<std::int32_t> codes{0, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1};
  const Dataset data = Dataset::merge(schema, codes, std::vector<double>{400, 50, 50, 400});
  FeatureSetBuilder builder(schema);
  for (const Variable third : {2u, 3u})
    builder.add(std::vector<Variable>{0, 1, third}, std::vector<Value>{1, 1, 1});
  const FeatureSet features = std::move(builder).finish();
  BottomUpState start = bottom_up_start(features, std::vector<double>{4.2, 4.2});
  start.weights[0] = start.weights[1] = -2.1;
  start.weights[2] = start.weights[3] = 6.0;
  BottomUpOptions options = small_options(1.0, 30);
  options.prior_sd = 10;
  BottomUpSearch search(data, start, options);
  const double before = search.score();
  search.advance(kForever);
  CHECK(search.state().n_changes == 1);
  CHECK(search.score() > before);
  CHECK(finish(search).features.size() == 5);
}

TEST_CASE("features are generalised to as many examples as are asked for") {
  const Rows rows = random_rows(45, 6, 2, 60);
  const Dataset data = rows.dataset();
  const BottomUpState start = example_start(data, InitialFeatures::full);
  BottomUpOptions options = small_options(0.3, 5);
  options.neighbors = {2};
  BottomUpSearch search(data, start, options);
  search.learn_weights(2, kForever);
  const BottomUpState end = finish(search);
  std::size_t n_shorter = 0;
  for (auto j = static_cast<FeatureId>(end.n_fixed); j < end.features.size(); ++j)
    n_shorter += end.features[j].size() < 6;
  CHECK(n_shorter > 2);
}

TEST_CASE("the end is a local optimum") {
  for (const Value most : {Value{2}, Value{3}})
    for (const DistanceKind kind : {DistanceKind::value_difference, DistanceKind::hamming}) {
      const Rows rows = random_rows(10u + most, 5, most, 40);
      const Dataset data = rows.dataset();
      BottomUpOptions options = small_options(0.3, 4);
      options.distance.kind = kind;
      BottomUpSearch search(data, example_start(data, InitialFeatures::positive), options);
      search.learn_weights(2, kForever);
      const BottomUpState end = finish(search);
      CHECK(end.features.size() > end.n_fixed);
      const double reached = score(rows, end.features, end.weights, options);
      const FeatureDistance distance(data, options.distance);
      const FeatureLookup lookup(end.features);
      FeatureDistance::Scratch scratch;
      for (auto j = static_cast<FeatureId>(end.n_fixed); j < end.features.size(); ++j) {
        const auto tests = end.features[j];
        std::vector<double> others = end.weights;
        others.erase(others.begin() + j);
        CHECK(score(rows, replaced(end.features, j, {}), others, options) < reached + 1e-5);
        const auto failures =
            distance.first_failures(tests, end.features.value_sets(), options.neighbors, scratch);
        for (std::size_t k = 0; k < options.neighbors.size(); ++k) {
          std::vector<Test> kept;
          for (std::size_t i = 0; i < tests.size(); ++i)
            if (failures[i] > k) kept.push_back(tests[i]);
          if (kept.size() < 2 || lookup.find(kept)) continue;  // a removal
          std::vector<double> weights = others;
          weights.push_back(0.0);
          CHECK(best_over_last(rows, replaced(end.features, j, kept), weights, options) <
                reached + 1e-5);
        }
      }
    }
}

TEST_CASE("the number of threads changes nothing") {
  const Rows rows = random_rows(20, 8, 3, 150);
  const Dataset data = rows.dataset();
  const BottomUpState start = example_start(data, InitialFeatures::positive);
  std::vector<BottomUpState> ends;
  for (const int n_threads : {1, 4}) {
    const Execution execution{n_threads, nullptr};
    BottomUpSearch search(data, start, small_options(0.5, 25), execution);
    search.learn_weights(1, kForever, execution);
    ends.push_back(finish(search, execution));
  }
  CHECK(same(ends[0], ends[1]));
  CHECK(ends[0].n_changes > 20);
}

TEST_CASE("a search goes on from any of its states as if nothing had happened") {
  const Rows rows = random_rows(30, 6, 3, 80);
  const Dataset data = rows.dataset();
  const BottomUpOptions options = small_options(0.4, 5);
  BottomUpSearch search(data, example_start(data, InitialFeatures::positive), options);
  search.learn_weights(1, kForever);
  std::vector<BottomUpState> states{search.state()};
  while (search.advance(kForever) == SearchStatus::advanced) states.push_back(search.state());
  REQUIRE(states.size() > 5);
  for (const BottomUpState& state : states) {
    BottomUpSearch again(data, state, options);
    CHECK(same(finish(again), search.state()));
  }
}

TEST_CASE("neither threads nor a restart change a search of many features") {
  // More than a sweep looks at in one block, some of them removed before the restart.
  const Rows rows = random_rows(35, 13, 2, 1200);
  const Dataset data = rows.dataset();
  const BottomUpOptions options = small_options(0.5, 25);
  BottomUpState start = example_start(data, InitialFeatures::positive);
  REQUIRE(start.features.size() > 600);
  const auto advance = [&](BottomUpSearch& search, int steps, int n_threads) {
    const Execution execution{n_threads, nullptr};
    for (int i = 0; i < steps; ++i)
      REQUIRE(search.advance(kForever, execution) == SearchStatus::advanced);
    return search.state();
  };
  BottomUpSearch search(data, start, options), threads(data, start, options);
  search.learn_weights(1, kForever, {1, nullptr});
  threads.learn_weights(1, kForever, {4, nullptr});
  const BottomUpState halfway = advance(search, 6, 1);
  REQUIRE(halfway.features.size() < start.features.size());
  const BottomUpState end = advance(search, 6, 1);
  CHECK(same(advance(threads, 12, 4), end));
  BottomUpSearch again(data, halfway, options);
  CHECK(same(advance(again, 6, 1), end));
}

TEST_CASE("sweeps climb to the best weights") {
  for (const Value most : {Value{2}, Value{4}})
    for (const double precision : {0.2, 2.0}) {
      const Rows rows = random_rows(80u + most, 5, most, 60);
      const Dataset data = rows.dataset();
      const BottomUpState start = example_start(data, InitialFeatures::positive);
      BottomUpOptions options = small_options(0, 1);
      options.prior_sd = 1 / std::sqrt(precision);
      std::vector<WeightedConjunction> features;
      for (FeatureId j = 0; j < start.features.size(); ++j)
        features.push_back({{start.features[j].begin(), start.features[j].end()}, 0.0, {}});
      features.push_back({});  // one that was removed
      const auto weights = [&] {
        std::vector<double> w;
        for (std::size_t j = 0; j + 1 < features.size(); ++j) w.push_back(features[j].weight);
        return w;
      };
      MarginState state(data);
      double before = score(rows, start.features, weights(), options);
      for (int sweep = 0; sweep < 400; ++sweep) {
        const double gain = ascend_weights(features, start.features.value_sets(), precision, 1e-12,
                                           state, {1, nullptr});
        const double after = score(rows, start.features, weights(), options);
        CHECK(after - before > gain - 1e-8);  // every step is safe
        CHECK(gain >= 0);
        before = after;
      }
      for (std::size_t j = 0; j + 1 < features.size(); ++j)
        for (const double step : {-0.05, 0.05}) {
          std::vector<double> w = weights();
          w[j] += step;
          CHECK(score(rows, start.features, w, options) < before + 1e-6);
        }
    }
}

TEST_CASE("contexts that are too long are not kept") {
  const Rows rows = random_rows(90, 4, 2, 30);
  const Dataset data = rows.dataset();
  const BottomUpState start = example_start(data, InitialFeatures::positive);
  WeightedConjunction feature{{start.features[0].begin(), start.features[0].end()}, 0.0, {}};
  const auto& sets = start.features.value_sets();
  ContextKeeper none(0), all(data.n_rows());
  CHECK(none.rows(feature, sets, data.columns()).n_rows() == data.n_rows());
  CHECK(!feature.rows.known());
  CHECK(&all.rows(feature, sets, data.columns()) == &feature.rows);
  CHECK(feature.rows.known());
}

TEST_CASE("identical features are one, and all of a single test are fixed") {
  // Dropping either of the last two tests makes the features equal.
  const Rows rows = random_rows(50, 6, 2, 60);
  const Dataset data = rows.dataset();
  BottomUpSearch search(data, example_start(data, InitialFeatures::full), small_options(2.0, 3));
  search.learn_weights(1, kForever);
  const BottomUpState end = finish(search);
  for (FeatureId j = 0; j < end.features.size(); ++j)
    CHECK((end.features[j].size() == 1) == (j < end.n_fixed));
  CHECK(end.n_fixed == 6);
  // A FeatureSet cannot hold duplicates: a lost one would show as a missing weight.
  CHECK(end.weights.size() == end.features.size());
}

TEST_CASE("a stop leaves a network") {
  const Rows rows = random_rows(60, 8, 2, 200);
  const Dataset data = rows.dataset();
  StopAfter monitor(40);
  const Execution execution{1, &monitor};
  BottomUpSearch search(data, example_start(data, InitialFeatures::positive),
                        small_options(0.2, 10));
  SearchStatus status = SearchStatus::advanced;
  while (status == SearchStatus::advanced) status = search.advance(kForever, execution);
  CHECK(status == SearchStatus::interrupted);
  const BottomUpState state = search.state();
  CHECK(state.weights.size() == state.features.size());
  CHECK(std::isfinite(search.score()));

  BottomUpSearch late(data, example_start(data, InitialFeatures::positive), small_options(0.2, 10));
  CHECK(late.advance(1e-9) == SearchStatus::time_limit);
}

TEST_CASE("bad options and states are named") {
  const Rows rows = random_rows(70, 3, 2, 20);
  const Dataset data = rows.dataset();
  const BottomUpState start = example_start(data, InitialFeatures::positive);
  const auto fails = [&](auto change) {
    BottomUpOptions options;
    change(options);
    CHECK_THROWS_AS(BottomUpSearch(data, start, options), InvalidInput);
  };
  fails([](BottomUpOptions& o) { o.alpha = -1; });
  fails([](BottomUpOptions& o) { o.neighbors = {}; });
  fails([](BottomUpOptions& o) { o.neighbors = {2, 1}; });
  fails([](BottomUpOptions& o) { o.neighbors = {0.5}; });
  fails([](BottomUpOptions& o) { o.relearn_every = 0; });
  fails([](BottomUpOptions& o) { o.prior_sd = 0; });
  fails([](BottomUpOptions& o) { o.distance.power = 0; });
  BottomUpState wrong = start;
  wrong.n_fixed = 0;
  CHECK_THROWS_AS(BottomUpSearch(data, wrong, BottomUpOptions{}), InvalidInput);
  wrong = start;
  wrong.weights.pop_back();
  CHECK_THROWS_AS(BottomUpSearch(data, wrong, BottomUpOptions{}), InvalidInput);
}

}  // namespace test_bottom_up
