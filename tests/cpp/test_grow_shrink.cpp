// BUSL's steps: tests of independence against tables by hand and by definition; blankets of networks
// whose structure is known, from their exact distributions; cliques against all subsets; additions
// against the gain of each.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/gamma.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/learn/best_additions.hpp>
#include <feldspar/learn/clique_conjunctions.hpp>
#include <feldspar/learn/conditional_independence.hpp>
#include <feldspar/learn/grow_shrink.hpp>

#include "support/random_models.hpp"
#include "support/stop_after.hpp"

namespace test_grow_shrink {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

using Pair = std::pair<Variable, Variable>;

// All states of a schema, row-major.
std::vector<std::int32_t> all_states(const Schema& schema) {
  std::vector<std::int32_t> codes, state(schema.n_variables(), 0);
  for (;;) {
    codes.insert(codes.end(), state.begin(), state.end());
    std::size_t v = state.size();
    while (v > 0 && ++state[v - 1] == schema.cardinality(static_cast<Variable>(v - 1)))
      state[--v] = 0;
    if (v == 0) return codes;
  }
}

// The exact distribution of a pairwise network as weights: `total` examples without noise. Equal
// values attract, different ones of more than two repel unevenly.
Dataset exact_data(const Schema& schema, const std::vector<Pair>& edges, double strength,
                   double total) {
  const std::vector<std::int32_t> codes = all_states(schema);
  const std::size_t n = schema.n_variables();
  std::vector<double> weights;
  for (std::size_t r = 0; r < codes.size() / n; ++r) {
    double potential = 0;
    for (std::size_t v = 0; v < n; ++v) potential += 0.2 * codes[r * n + v];
    for (const auto& [a, b] : edges) potential += strength * (codes[r * n + a] == codes[r * n + b]);
    weights.push_back(std::exp(potential));
  }
  double sum = 0;
  for (const double w : weights) sum += w;
  for (double& w : weights) w *= total / sum;
  return Dataset::merge(schema, codes, weights);
}

std::vector<Pair> pairs(const std::vector<Edge>& edges) {
  std::vector<Pair> result;
  for (const Edge& edge : edges) result.emplace_back(edge.first, edge.second);
  return result;
}

}  // namespace

TEST_CASE("the statistics of a table of four cells") {
  // 10 20 / 30 5: the textbook's formula n (ad - bc)^2 / (row and column sums)
  const Dataset data = Dataset::merge(
      Schema({2, 2}), std::vector<std::int32_t>{0, 0, 0, 1, 1, 0, 1, 1}, {{10.0, 20.0, 30.0, 5.0}});
  const CodedRows rows(data);
  const double cross = 10.0 * 5 - 20.0 * 30;
  const double pearson = 65 * cross * cross / (30.0 * 35 * 40 * 25);
  IndependenceTest test(rows, IndependenceStatistic::pearson, 5);
  const IndependenceResult result = test(0, 1, one_stratum(rows));
  CHECK(result.statistic == doctest::Approx(pearson).epsilon(1e-12));
  CHECK(result.degrees == 1);
  CHECK(result.p == doctest::Approx(std::erfc(std::sqrt(pearson / 2))).epsilon(1e-10));
  double g = 0;
  const double seen[] = {10, 20, 30, 5}, x[] = {30, 30, 35, 35}, y[] = {40, 25, 40, 25};
  for (int i = 0; i < 4; ++i) g += 2 * seen[i] * std::log(seen[i] * 65 / (x[i] * y[i]));
  IndependenceTest by_g(rows, IndependenceStatistic::g, 5);
  CHECK(by_g(0, 1, one_stratum(rows)).statistic == doctest::Approx(g).epsilon(1e-12));
  IndependenceTest cautious(rows, IndependenceStatistic::g, 66);
  CHECK(cautious(0, 1, one_stratum(rows)).p == 1.0);  // 65 rows for one degree of freedom
}

TEST_CASE("a conditional test adds up the tables of the strata, degrees where values are seen") {
  Dice dice(3);
  const Schema schema({3, 2, 4, 2});
  const auto codes = random_codes(dice, schema, 60);
  const Dataset data = Dataset::merge(schema, codes);
  const CodedRows rows(data);
  const std::vector<Variable> given{2, 3};
  const Strata strata = stratify(rows, given);
  CHECK(strata.count == 8);
  IndependenceTest test(rows, IndependenceStatistic::g, 0);
  const IndependenceResult whole = test(0, 1, strata);
  IndependenceResult sum;
  for (std::int32_t c = 0; c < 4; ++c)
    for (std::int32_t d = 0; d < 2; ++d) {
      std::vector<std::int32_t> part;
      for (std::size_t r = 0; r < 60; ++r)
        if (codes[4 * r + 2] == c && codes[4 * r + 3] == d)
          part.insert(part.end(), codes.begin() + static_cast<std::ptrdiff_t>(4 * r),
                      codes.begin() + static_cast<std::ptrdiff_t>(4 * r + 4));
      if (part.empty()) continue;
      const Dataset own = Dataset::merge(schema, part);
      const CodedRows own_rows(own);
      IndependenceTest own_test(own_rows, IndependenceStatistic::g, 0);
      const IndependenceResult one = own_test(0, 1, one_stratum(own_rows));
      sum.statistic += one.statistic;
      sum.degrees += one.degrees;
    }
  CHECK(whole.statistic == doctest::Approx(sum.statistic).epsilon(1e-10));
  CHECK(whole.degrees == sum.degrees);
  CHECK(whole.p == doctest::Approx(chi_square_tail(sum.statistic, sum.degrees)));
}

TEST_CASE("the blankets of known networks are their neighbourhoods") {
  const struct {
    std::vector<Value> cardinalities;
    std::vector<Pair> edges;
  } networks[] = {
      {{2, 2, 2, 2, 2, 2}, {{0, 1}, {1, 2}, {2, 3}, {3, 4}}},          // a chain, one alone
      {{2, 2, 2, 2, 2, 2}, {{0, 1}, {0, 3}, {1, 2}, {2, 3}, {4, 5}}},  // a ring and a pair
      {{3, 2, 3, 2, 4}, {{0, 1}, {0, 2}, {1, 2}, {2, 3}, {3, 4}}},     // several values
  };
  for (const auto& network : networks) {
    const Schema schema(network.cardinalities);
    const Dataset data = exact_data(schema, network.edges, 1.0, 20000);
    for (const auto statistic : {IndependenceStatistic::g, IndependenceStatistic::pearson}) {
      GrowShrinkOptions options;
      options.statistic = statistic;
      const Blankets blankets = grow_shrink(data, options);
      CHECK(pairs(consistent_edges(blankets, EdgeRule::both)) == network.edges);
      CHECK(pairs(consistent_edges(blankets, EdgeRule::either)) == network.edges);
      CHECK(grow_shrink(data, options, {.n_threads = 4}) == blankets);
    }
  }
}

TEST_CASE("shrinking drops what growing took in too early") {
  // 0 acts on 1, 2 and 3, and 4 is nearly their majority: by itself it says more of 0 than any of
  // them, and nothing beside all three.
  const Schema schema({2, 2, 2, 2, 2});
  const std::vector<std::int32_t> codes = all_states(schema);
  std::vector<double> weights;
  for (std::size_t r = 0; r < codes.size(); r += 5) {
    double weight = 500;
    for (std::size_t v = 1; v < 4; ++v) weight *= codes[r] == codes[r + v] ? 0.7 : 0.3;
    const bool majority = codes[r + 1] + codes[r + 2] + codes[r + 3] >= 2;
    weights.push_back(weight * (codes[r + 4] == majority ? 0.95 : 0.05));
  }
  const Dataset data = Dataset::merge(schema, codes, weights);
  const CodedRows rows(data);
  IndependenceTest test(rows, IndependenceStatistic::g, 5);
  CHECK(test(0, 4, one_stratum(rows)).statistic > test(0, 1, one_stratum(rows)).statistic);
  const Blankets blankets = grow_shrink(data, {});
  CHECK(blankets[0] == std::vector<Variable>{1, 2, 3});
  CHECK(blankets[4] == std::vector<Variable>{1, 2, 3});
  GrowShrinkOptions narrow;
  narrow.max_blanket = 1;
  CHECK(grow_shrink(data, narrow)[0] == std::vector<Variable>{4});
}

TEST_CASE("weights are rows: merged, repeated and weighted data give the same blankets") {
  Dice dice(8);
  const Schema schema({2, 3, 2, 2});
  std::vector<std::int32_t> codes = random_codes(dice, schema, 40), repeated;
  for (std::size_t r = 0; r < 40; ++r) codes[4 * r + 3] = codes[4 * r] ^ (r % 7 == 0);
  std::vector<double> weights;
  for (std::size_t r = 0; r < 40; ++r) {
    weights.push_back(static_cast<double>(r % 4));
    for (std::size_t k = 0; k < r % 4; ++k)
      repeated.insert(repeated.end(), codes.begin() + static_cast<std::ptrdiff_t>(4 * r),
                      codes.begin() + static_cast<std::ptrdiff_t>(4 * r + 4));
  }
  const Blankets one = grow_shrink(Dataset::merge(schema, codes, weights), {});
  CHECK(one == grow_shrink(Dataset::merge(schema, repeated), {}));
  CHECK(one[3] == std::vector<Variable>{0});
}

TEST_CASE("blankets that disagree are joined by the rule") {
  const Blankets blankets{{1}, {0, 2}, {}};
  CHECK(pairs(consistent_edges(blankets, EdgeRule::both)) == std::vector<Pair>{{0, 1}});
  CHECK(pairs(consistent_edges(blankets, EdgeRule::either)) == std::vector<Pair>{{0, 1}, {1, 2}});
}

TEST_CASE("conjunctions of cliques are those of all complete sets of variables") {
  Dice dice(4);
  const Schema schema({2, 3, 2, 2, 3});
  const Dataset data = Dataset::merge(schema, random_codes(dice, schema, 50));
  const std::vector<Edge> edges{{0, 1}, {0, 2}, {1, 2}, {1, 4}, {2, 4}, {3, 4}};
  const auto joined = [&](Variable a, Variable b) {
    return std::ranges::find(edges, Edge{std::min(a, b), std::max(a, b)}) != edges.end();
  };
  CliqueOptions options;
  options.max_length = 4;
  options.min_support = 3;
  const FeatureSet features = clique_conjunctions(data, edges, options);
  std::size_t expected = 0;
  std::vector<std::vector<Value>> columns;
  for (Variable v = 0; v < 5; ++v) columns.push_back(data.columns().codes(v));
  for (unsigned subset = 0; subset < 32; ++subset) {
    std::vector<Variable> variables;
    bool complete = true;
    for (Variable v = 0; v < 5; ++v)
      if (subset >> v & 1) variables.push_back(v);
    for (std::size_t i = 0; i < variables.size(); ++i)
      for (std::size_t j = i + 1; j < variables.size(); ++j)
        complete = complete && joined(variables[i], variables[j]);
    if (variables.size() < 2 || variables.size() > 4 || !complete) continue;
    std::vector<Value> cardinalities;
    for (const Variable v : variables) cardinalities.push_back(schema.cardinality(v));
    const auto states = all_states(Schema(cardinalities));
    for (std::size_t s = 0; s < states.size(); s += variables.size()) {
      double support = 0;
      bool positive = true;
      for (std::size_t i = 0; i < variables.size(); ++i) positive = positive && states[s + i] > 0;
      for (Row r = 0; r < data.n_rows(); ++r) {
        bool holds = true;
        for (std::size_t i = 0; i < variables.size(); ++i)
          holds = holds && columns[variables[i]][r] == states[s + i];
        support += holds ? data.weights()[r] : 0.0;
      }
      expected += positive && support >= 3;
    }
  }
  CHECK(features.size() == expected);
  for (FeatureId j = 0; j < features.size(); ++j)
    for (const Test& one : features[j])
      for (const Test& other : features[j])
        CHECK((one == other || joined(one.variable, other.variable)));
  options.most = 3;
  CHECK_THROWS_AS(clique_conjunctions(data, edges, options), InvalidInput);
}

TEST_CASE("additions come by gain, and none that the others have made superfluous") {
  const Dataset data = exact_data(Schema({2, 2, 3, 2}), {{0, 1}, {1, 2}}, 1.0, 2000);
  FeatureSetBuilder atoms(data.schema());
  std::vector<double> weights;
  for (Variable v = 0; v < 4; ++v)
    for (Value a = 1; a < data.schema().cardinality(v); ++a) {
      atoms.add({&v, 1}, {&a, 1});
      weights.push_back(0.2 * a);
    }
  const MarkovNetwork network(std::move(atoms).finish(), weights);
  const std::vector<Edge> edges{{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
  const FeatureSet candidates = clique_conjunctions(data, edges, {.max_length = 3});
  AdditionOptions options;
  const std::vector<Addition> added = best_additions(data, network, candidates, options);
  REQUIRE(added.size() > 1);
  MarginState state(data);
  state.assign(network.features(), network.weights());
  GainEvaluator evaluator(state, candidates.value_sets(), 1.0);
  double best = 0;
  for (FeatureId j = 0; j < candidates.size(); ++j)
    best = std::max(best, evaluator.addition(candidates[j]).gain);
  CHECK(added[0].gain == best);
  for (const Addition& one : added) {
    const WeightGain now = evaluator.addition(candidates[one.candidate]);
    CHECK(now.gain == one.gain);
    CHECK(now.weight == one.weight);
    CHECK(one.gain > options.min_gain);
    state.add(candidates[one.candidate], candidates.value_sets(), evaluator.rows(), one.weight);
  }
  const auto threads = best_additions(data, network, candidates, options, {.n_threads = 4});
  REQUIRE(threads.size() == added.size());
  for (std::size_t i = 0; i < added.size(); ++i) {
    CHECK(threads[i].candidate == added[i].candidate);
    CHECK(threads[i].gain == added[i].gain);
  }
  options.most = 1;
  CHECK(best_additions(data, network, candidates, options).size() == 1);
  options.min_gain = 1e6;
  CHECK(best_additions(data, network, candidates, options).empty());
}

TEST_CASE("bad options are refused, and a stop leaves nothing behind") {
  const Dataset data = exact_data(Schema({2, 2, 2}), {{0, 1}}, 1.0, 100);
  CHECK_THROWS_AS(grow_shrink(data, {.alpha = 0}), InvalidInput);
  CHECK_THROWS_AS(grow_shrink(data, {.max_blanket = 0}), InvalidInput);
  CHECK_THROWS_AS(independence_statistic("t"), InvalidInput);
  CHECK_THROWS_AS(edge_rule("xor"), InvalidInput);
  CHECK_THROWS_AS(clique_conjunctions(data, std::vector<Edge>{{0, 3}}, {}), InvalidInput);
  CHECK_THROWS_AS(clique_conjunctions(data, {}, {.max_length = 1}), InvalidInput);
  const MarkovNetwork other(FeatureSetBuilder(Schema({2, 2})).finish(), {});
  const FeatureSet none = clique_conjunctions(data, {}, {});
  CHECK_THROWS_AS(best_additions(data, other, none, {}), InvalidInput);
  const MarkovNetwork empty(FeatureSetBuilder(data.schema()).finish(), {});
  CHECK_THROWS_AS(best_additions(data, empty, none, {.prior_sd = 1e-200}), InvalidInput);
  StopAfter monitor(0);
  CHECK_THROWS_AS(grow_shrink(data, {}, {.n_threads = 1, .monitor = &monitor}), Interrupted);
}

}  // namespace test_grow_shrink
