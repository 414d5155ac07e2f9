// objective/slot_map.hpp against margins summed up from their definition.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/objective/slot_map.hpp>

#include "support/compare.hpp"
#include "support/random_models.hpp"

namespace test_slot_map {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

using Wide = PlanOptions::Wide;

struct Mapped {
  Problem problem;
  ContextTable table;
  IndexPlan plan;
  SlotMap slots;

  Mapped(Problem source, Wide wide)
      : problem(std::move(source)),
        table(problem.features),
        plan(plan_index(problem.features, table, problem.dataset(), {wide})),
        slots(problem.features, table, plan) {}

  bool goes_wide(Variable v, ContextId c) const {
    return plan.columns[v].is_wide() && std::ranges::binary_search(plan.wide_contexts, c);
  }

  // Where the margins of v under context c start, by the layout the header states.
  std::size_t slot(Variable v, ContextId c) const {
    if (c == kEmptyContext) return slots.bias(v);
    if (goes_wide(v, c)) {
      const auto number = static_cast<std::size_t>(std::ranges::lower_bound(plan.wide_contexts, c) -
                                                   plan.wide_contexts.begin());
      return slots.tile(plan.columns[v].tile) + number * kLanes + plan.columns[v].lane;
    }
    const auto own = slots.narrow_contexts(v);
    const auto place = static_cast<std::size_t>(std::ranges::lower_bound(own, c) - own.begin());
    REQUIRE(place < own.size());
    return slots.narrow(v) + place * (problem.schema.cardinality(v) - 1u);
  }

  std::vector<std::pair<Variable, ContextId>> pairs() const {
    std::set<std::pair<Variable, ContextId>> found;
    for (std::size_t t = 0; t < problem.features.n_tests(); ++t)
      found.emplace(problem.features.tests()[t].variable, table.of_test(t));
    return {found.begin(), found.end()};
  }
};

// s_a of variable v under context c: the weights of the features there that admit a.
std::vector<double> scores(const Mapped& mapped, Variable v, ContextId c) {
  const FeatureSet& features = mapped.problem.features;
  std::vector<double> s(features.schema().cardinality(v), 0.0);
  for (FeatureId j = 0; j < features.size(); ++j)
    for (std::size_t i = 0; i < features[j].size(); ++i) {
      if (features[j][i].variable != v) continue;
      if (mapped.table.of_test(features.first_test(j) + i) != c) continue;
      for (const Value a : features.values(features[j][i].values))
        s[a] += mapped.problem.weights[j];
    }
  return s;
}

// What the weights put into every slot.
template <class Number>
std::vector<Number> spread(const SlotMap& slots, const std::vector<Number>& weights,
                           int threads = 1) {
  std::vector<Number> u(slots.n_slots(), Number{1e9}), copy;  // u is overwritten
  const std::size_t wide = slots.first_wide();
  slots.spread<Number>(weights, 0, std::span(u).first(wide));
  slots.copy_for_wide<Number>(weights, copy, Execution{threads});
  slots.spread_wide<Number>(weights, copy, wide, std::span(u).subspan(wide));
  return u;
}

std::vector<Mapped> mapped_problems() {
  std::vector<Mapped> result;
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    for (const Wide wide : {Wide::always, Wide::never})
      result.emplace_back(random_problem(seed, 8, 1, seed % 2 == 0 ? 4 : 22, 40, 120, 3), wide);
  return result;
}

}  // namespace

TEST_CASE("slots do not overlap and lie within the map") {
  for (const Mapped& mapped : mapped_problems()) {
    std::set<std::size_t> taken;
    for (const auto& [v, c] : mapped.pairs())
      for (std::size_t k = 0; k + 1 < mapped.problem.schema.cardinality(v); ++k) {
        const std::size_t slot = mapped.slot(v, c) + k;
        CHECK(slot < mapped.slots.n_slots());
        CHECK(taken.insert(slot).second);
      }
  }
}

TEST_CASE("narrow contexts are those of the variable that are not wide, ascending") {
  for (const Mapped& mapped : mapped_problems()) {
    std::map<Variable, std::vector<ContextId>> expected;
    for (const auto& [v, c] : mapped.pairs())
      if (c != kEmptyContext && !mapped.goes_wide(v, c)) expected[v].push_back(c);
    for (Variable v = 0; v < mapped.problem.schema.n_variables(); ++v) {
      const auto contexts = mapped.slots.narrow_contexts(v);
      CHECK(std::vector<ContextId>(contexts.begin(), contexts.end()) == expected[v]);
    }
  }
}

TEST_CASE("a slot is the score of its value less that of value 0") {
  for (const Mapped& mapped : mapped_problems()) {
    std::vector<double> u = spread(mapped.slots, mapped.problem.weights);
    double worst = 0;
    for (const auto& [v, c] : mapped.pairs()) {
      const std::vector<double> s = scores(mapped, v, c);
      for (std::size_t k = 0; k + 1 < s.size(); ++k) {
        const double margin = std::exchange(u[mapped.slot(v, c) + k], 0.0);
        worst = std::max(worst, std::abs(margin - (s[k + 1] - s[0])));
      }
    }
    CHECK(worst < 1e-13);
    CHECK(std::ranges::count(u, 0.0) == static_cast<std::ptrdiff_t>(u.size()));  // nothing else
  }
}

TEST_CASE("collect is the transpose of spread") {
  Dice dice(9);
  for (const Mapped& mapped : mapped_problems()) {
    const std::size_t n = mapped.problem.weights.size();
    const std::vector<double> u = spread(mapped.slots, mapped.problem.weights);
    const std::vector<double> du = dice.numbers(u.size());
    std::vector<double> collected(n);
    mapped.slots.collect<double>(du, collected);
    CHECK(dot(u, du) == doctest::Approx(dot(mapped.problem.weights, collected)).epsilon(1e-12));
  }
}

TEST_CASE(
    "features in several blocks, and a copy in several parts, give the same bits on any number of "
    "threads") {
  FeatureSetBuilder builder(Schema(std::vector<Value>(200, 2)));
  for (Variable a = 0; a < 200; ++a)
    for (Variable b = 0; b < a; ++b)
      builder.add(std::vector<Variable>{b, a},
                  std::vector<Value>{static_cast<Value>((a + b) % 2), 1});
  const FeatureSet features = std::move(builder).finish();
  const ContextTable table(features);
  IndexPlan narrow;
  narrow.columns.assign(200, {});
  const SlotMap slots(features, table, narrow);
  REQUIRE(slots.n_slots() > 3 * 8192);
  REQUIRE(features.size() > 2 * 8192);
  Dice dice(11);
  const std::vector<double> weights = dice.numbers(features.size());
  const std::vector<double> u = spread(slots, weights);
  std::vector<double> gradient(features.size()), gradient_shared(features.size());
  slots.collect<double>(u, gradient, Execution{1});
  slots.collect<double>(u, gradient_shared, Execution{3});
  CHECK(same_bits(gradient, gradient_shared));
  CHECK(dot(u, u) == doctest::Approx(dot(weights, gradient)).epsilon(1e-12));

  const Schema& schema = features.schema();
  const Dataset data = Dataset::merge(schema, random_codes(dice, schema, 20, 0.0));
  const SlotMap wide(features, table, plan_index(features, table, data, {Wide::always}));
  REQUIRE(wide.n_slots() > wide.first_wide());
  std::vector<double> as_others(wide.n_slots());
  wide.spread<double>(weights, 0, as_others);
  for (const int threads : {1, 3}) CHECK(same_bits(spread(wide, weights, threads), as_others));
}

TEST_CASE("slots of at most one term are filled as all others are") {
  Dice dice(12);
  const Schema schema(std::vector<Value>(40, 2));
  const Dataset data = Dataset::merge(schema, random_codes(dice, schema, 200, 0.0));
  FeatureSetBuilder builder(schema);
  for (Variable a = 0; a < 40; ++a)
    for (Variable b = 0; b < a; ++b)
      if ((a + b) % 5 != 0)  // leaves slots without a term
        builder.add(std::vector<Variable>{b, a},
                    std::vector<Value>{static_cast<Value>((a + b) % 2), 1});
  const FeatureSet once = std::move(builder).finish();
  builder = FeatureSetBuilder(schema);
  for (Variable a = 1; a < 40; ++a)
    for (const Value value : {Value{0}, Value{1}})  // two terms a slot
      builder.add(std::vector<Variable>{0, a}, std::vector<Value>{value, 1});
  const FeatureSet twice = std::move(builder).finish();
  for (const FeatureSet* features : {&once, &twice}) {
    const ContextTable table(*features);
    const SlotMap slots(*features, table, plan_index(*features, table, data, {Wide::always}));
    const std::size_t wide = slots.first_wide();
    REQUIRE(slots.tile(0) == wide);
    REQUIRE(wide % kLanes == 0);
    REQUIRE(slots.n_slots() > wide);
    std::vector<double> weights = dice.numbers(features->size());
    weights[0] = -0.0;
    std::vector<double> as_others(slots.n_slots(), 1e9);
    slots.spread<double>(weights, 0, as_others);
    CHECK(same_bits(spread(slots, weights), as_others));
    CHECK(same_bits(spread(slots, weights, 3), as_others));
    const std::vector<float> singles(weights.begin(), weights.end());
    const std::vector<float> small = spread(slots, singles);
    CHECK(distance(std::vector<double>(small.begin(), small.end()), as_others) < 1e-6);
  }
}

}  // namespace test_slot_map
