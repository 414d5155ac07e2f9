// objective/index_plan.hpp: every plan is sound, and the estimate chooses what it should where the
// choice is clear.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include <feldspar/objective/index_plan.hpp>

#include "support/contexts.hpp"
#include "support/random_models.hpp"

namespace test_index_plan {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

using Wide = PlanOptions::Wide;

IndexPlan plan_of(const FeatureSet& features, const Dataset& data, Wide wide) {
  return plan_index(features, ContextTable(features), data, {wide});
}

bool is_narrow(const IndexPlan& plan) {
  return plan.wide_contexts.empty() && plan.n_tiles == 0 &&
         std::ranges::none_of(plan.columns, [](TileColumn c) { return c.is_wide(); });
}

// Margins lie within their tile, apart from each other, and every tile is used.
void check_tiles(const IndexPlan& plan, const Schema& schema) {
  std::set<std::pair<std::size_t, std::size_t>> taken;
  std::set<std::size_t> tiles;
  REQUIRE(plan.columns.size() == schema.n_variables());
  for (Variable v = 0; v < schema.n_variables(); ++v) {
    const TileColumn column = plan.columns[v];
    if (!column.is_wide()) continue;
    CAPTURE(v);
    CHECK(schema.cardinality(v) >= 2);
    CHECK(column.lane + schema.cardinality(v) - 1u <= kLanes);
    CHECK(column.tile < plan.n_tiles);
    tiles.insert(column.tile);
    for (std::size_t k = 0; k + 1 < schema.cardinality(v); ++k)
      CHECK(taken.emplace(column.tile, column.lane + k).second);
  }
  CHECK(tiles.size() == plan.n_tiles);
}

FeatureSet all_pairs(std::size_t n_variables) {
  FeatureSetBuilder builder(binary_schema(n_variables));
  add_pairs(builder, n_variables);
  return std::move(builder).finish();
}

}  // namespace

TEST_CASE("plans for random models are sound") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    CAPTURE(seed);
    const Problem problem = random_problem(seed, 12, 1, seed % 2 == 0 ? 3 : 25, 60, 100, 3);
    const Dataset data = problem.dataset();
    const ContextTable table(problem.features);
    for (const Wide wide : {Wide::by_cost, Wide::always, Wide::never}) {
      const IndexPlan plan = plan_of(problem.features, data, wide);
      check_tiles(plan, problem.schema);
      CHECK(std::ranges::is_sorted(plan.wide_contexts));
      for (const ContextId c : plan.wide_contexts) CHECK((c != kEmptyContext && c < table.size()));
    }
  }
}

TEST_CASE("never means none") {
  Dice dice(1);
  CHECK(is_narrow(plan_of(all_pairs(40), binary_rows(dice, 40, 500, 0.5), Wide::never)));
}

TEST_CASE("always means every context of variables that fit into a tile, and all of these") {
  const Problem problem = random_problem(3, 12, 1, 25, 60, 100, 3);
  const ContextTable table(problem.features);
  const IndexPlan plan = plan_of(problem.features, problem.dataset(), Wide::always);
  const auto fits = [&](Variable v) {
    const Value cardinality = problem.schema.cardinality(v);
    return cardinality >= 2 && cardinality <= kLanes + 1;
  };
  std::vector<bool> has_context(12, false);
  std::set<ContextId> expected, others;
  for (std::size_t t = 0; t < problem.features.n_tests(); ++t) {
    const ContextId c = table.of_test(t);
    const Variable v = problem.features.tests()[t].variable;
    if (c == kEmptyContext) continue;
    has_context[v] = true;
    (fits(v) ? expected : others).insert(c);
  }
  CHECK(std::set(plan.wide_contexts.begin(), plan.wide_contexts.end()) == expected);
  CHECK_FALSE(std::ranges::includes(expected, others));
  for (Variable v = 0; v < 12; ++v) CHECK(plan.columns[v].is_wide() == (has_context[v] && fits(v)));
}

TEST_CASE("all pairs on dense data go wide, by the estimate") {
  Dice dice(2);
  const FeatureSet pairs = all_pairs(40);
  const IndexPlan plan = plan_of(pairs, binary_rows(dice, 40, 500, 0.5), Wide::by_cost);
  CHECK(plan.wide_contexts.size() == 40);
  CHECK(plan.n_tiles == 3);
}

TEST_CASE("contexts that serve a single variable stay narrow, by the estimate") {
  Dice dice(3);
  const FeatureSet tree = tree_under_first(20, 6);
  CHECK(is_narrow(plan_of(tree, binary_rows(dice, 20, 500, 0.5), Wide::by_cost)));
}

TEST_CASE("pairs go wide beside other contexts only if they are worth the exchange") {
  const auto goes_wide = [](std::size_t n_variables, double share, bool with_others) {
    Dice dice(5);
    FeatureSetBuilder builder(binary_schema(n_variables));
    add_pairs(builder, n_variables);
    for (Variable v = 0; with_others && v + 2 < n_variables; ++v)
      builder.add(std::vector<Variable>{v, v + 1, v + 2}, std::vector<Value>{1, 1, 1});
    const FeatureSet features = std::move(builder).finish();
    const Dataset data = binary_rows(dice, n_variables, 2000, share);
    return !is_narrow(plan_of(features, data, Wide::by_cost));
  };
  CHECK(goes_wide(40, 0.2, false));
  CHECK_FALSE(goes_wide(40, 0.2, true));
  CHECK(goes_wide(100, 0.7, true));
}

TEST_CASE("pairs on few distinct rows stay narrow, by the estimate") {
  // Two kinds of rows in what the pairs of the first 20 variables see; the others are noise.
  Dice dice(4);
  Codes codes;
  for (std::size_t r = 0; r < 500; ++r) {
    const bool kind = dice.chance(0.5);
    for (std::size_t v = 0; v < 20; ++v) codes.push_back(kind);
    for (std::size_t v = 20; v < 40; ++v) codes.push_back(dice.chance(0.5));
  }
  FeatureSetBuilder builder(binary_schema(40));
  add_pairs(builder, 20);
  const FeatureSet pairs = std::move(builder).finish();
  CHECK(is_narrow(plan_of(pairs, Dataset::merge(binary_schema(40), codes), Wide::by_cost)));
}

TEST_CASE("variables too large for a tile never go wide") {
  const Problem problem = random_problem(5, 6, 18, 30, 60, 100, 3);
  for (const Wide wide : {Wide::by_cost, Wide::always})
    CHECK(plan_of(problem.features, problem.dataset(), wide).n_tiles == 0);
}

TEST_CASE("without contexts there is nothing to plan") {
  FeatureSetBuilder builder(binary_schema(3));
  builder.add(std::vector<Variable>{1}, std::vector<Value>{1});
  const FeatureSet singles = std::move(builder).finish();
  const Dataset data = Dataset::merge(binary_schema(3), Codes{0, 1, 0});
  for (const Wide wide : {Wide::by_cost, Wide::always})
    CHECK(is_narrow(plan_of(singles, data, wide)));
}

}  // namespace test_index_plan
