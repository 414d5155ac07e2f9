// feature/feature_set.hpp against canonical forms kept in standard containers.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include <feldspar/feature/feature_set.hpp>

#include "support/random_models.hpp"

namespace test_feature_set {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

// A conjunction as a caller writes it: variables in any order, repeated, values in any order.
struct Conjunction {
  std::vector<Variable> variables;
  std::vector<std::size_t> begin{0};
  std::vector<Value> values;

  Conjunction& test(Variable v, const std::vector<Value>& admitted) {
    variables.push_back(v);
    values.insert(values.end(), admitted.begin(), admitted.end());
    begin.push_back(values.size());
    return *this;
  }

  AddResult add_to(FeatureSetBuilder& builder) const {
    return builder.add(variables, begin, values);
  }
};

using Canonical = std::map<Variable, std::set<Value>>;

// The sets of each variable intersected. An empty set stays: the conjunction can never be true.
Canonical intersected(const Conjunction& conjunction) {
  Canonical sets;
  for (std::size_t i = 0; i < conjunction.variables.size(); ++i) {
    std::set<Value> admitted(
        conjunction.values.begin() + static_cast<std::ptrdiff_t>(conjunction.begin[i]),
        conjunction.values.begin() + static_cast<std::ptrdiff_t>(conjunction.begin[i + 1]));
    const auto [place, fresh] = sets.try_emplace(conjunction.variables[i], admitted);
    if (!fresh)
      std::erase_if(place->second, [&](Value value) { return !admitted.contains(value); });
  }
  return sets;
}

bool contradicts(const Canonical& sets) {
  for (const auto& [v, admitted] : sets)
    if (admitted.empty()) return true;
  return false;
}

Canonical without_full_sets(Canonical sets, const Schema& schema) {
  std::erase_if(
      sets, [&](const auto& item) { return item.second.size() == schema.cardinality(item.first); });
  return sets;
}

// What the set stores, read back; the order of tests and values is checked on the way.
Canonical stored(const FeatureSet& features, FeatureId j) {
  Canonical sets;
  for (const Test test : features[j]) {
    const auto values = features.values(test.values);
    if (!sets.empty()) CHECK_UNARY(sets.rbegin()->first < test.variable);
    CHECK_UNARY(std::ranges::is_sorted(values));
    sets[test.variable] = std::set<Value>(values.begin(), values.end());
    CHECK_UNARY(sets[test.variable].size() == values.size());
  }
  return sets;
}

Conjunction random_conjunction(Dice& dice, const Schema& schema) {
  Conjunction conjunction;
  for (std::size_t left = dice.below(5); left > 0; --left) {
    const auto v = static_cast<Variable>(dice.below(schema.n_variables()));
    std::vector<Value> admitted;
    for (std::size_t k = 1 + dice.below(2u * schema.cardinality(v)); k > 0; --k)
      admitted.push_back(static_cast<Value>(dice.below(schema.cardinality(v))));
    if (dice.chance(0.02)) admitted.clear();
    conjunction.test(v, admitted);
  }
  return conjunction;
}

}  // namespace

TEST_CASE("tests are sorted by variable and values within a test") {
  FeatureSetBuilder builder(Schema({4, 2, 3}));
  CHECK(Conjunction().test(2, {2, 0}).test(0, {3, 1, 3}).add_to(builder).outcome ==
        Added::new_feature);
  const FeatureSet features = std::move(builder).finish();
  CHECK(stored(features, 0) == Canonical{{0, {1, 3}}, {2, {0, 2}}});
}

TEST_CASE("the sets of a variable that comes twice are intersected") {
  FeatureSetBuilder builder(Schema({4, 2}));
  Conjunction().test(0, {0, 1, 2}).test(1, {1}).test(0, {1, 2, 3}).add_to(builder);
  CHECK(stored(std::move(builder).finish(), 0) == Canonical{{0, {1, 2}}, {1, {1}}});
}

TEST_CASE("canonical tests of interned sets are the same features as what was written out") {
  FeatureSetBuilder builder(Schema({4, 2, 3}));
  const FeatureId written = Conjunction().test(0, {3, 1}).test(2, {0}).add_to(builder).feature;
  const std::vector<Value> pair{1, 3}, single{0};
  const std::vector<Test> tests{{0, builder.intern(pair)}, {2, builder.intern(single)}};
  CHECK(tests[1].values == 0);  // the set {v} has number v
  const AddResult again = builder.add_canonical(tests);
  CHECK(again.outcome == Added::duplicate);
  CHECK(again.feature == written);
  CHECK(builder.add_canonical(std::span(tests).first(1)).outcome == Added::new_feature);
  CHECK(builder.add_canonical({}).outcome == Added::always_true);
  CHECK(stored(std::move(builder).finish(), 1) == Canonical{{0, {1, 3}}});
}

TEST_CASE("what was appended without a look is found later") {
  FeatureSetBuilder builder(Schema({2, 2, 2, 2, 2, 2, 2, 2}));
  std::vector<Test> tests;
  FeatureId next = 0;
  for (Variable v = 0; v < 8; ++v)
    for (Variable u = v + 1; u < 8; ++u) {
      tests = {{v, 1}, {u, 1}};
      CHECK(builder.append_new(tests) == next++);
    }
  CHECK(builder.size() == 28);
  for (const auto& [test, outcome, feature] :
       {std::tuple{Test{1, 1}, Added::duplicate, FeatureId{0}},
        std::tuple{Test{1, 0}, Added::new_feature, FeatureId{28}},
        std::tuple{Test{1, 0}, Added::duplicate, FeatureId{28}}}) {
    tests = {{0, 1}, test};
    const AddResult added = builder.add_canonical(tests);
    CHECK(added.outcome == outcome);
    CHECK(added.feature == feature);
  }
  tests = {{2, 0}};
  CHECK(builder.append_new(tests) == 29);
  CHECK(builder.add_canonical(tests).feature == 29);
}

TEST_CASE("tests that admit all values are dropped") {
  FeatureSetBuilder builder(Schema({3, 2, 1}));
  Conjunction().test(0, {2, 1, 0}).test(1, {0}).test(2, {0}).add_to(builder);
  CHECK(stored(std::move(builder).finish(), 0) == Canonical{{1, {0}}});
}

TEST_CASE("what is always or never true is not kept") {
  FeatureSetBuilder builder(Schema({3, 2, 1}));
  CHECK(Conjunction().add_to(builder).outcome == Added::always_true);
  CHECK(Conjunction().test(0, {0, 1, 2}).test(2, {0}).add_to(builder).outcome ==
        Added::always_true);
  CHECK(Conjunction().test(0, {}).add_to(builder).outcome == Added::never_true);
  CHECK(Conjunction().test(0, {0}).test(1, {1}).test(0, {1, 2}).add_to(builder).outcome ==
        Added::never_true);
  CHECK(builder.add(std::vector<Variable>{1, 1}, std::vector<Value>{0, 1}).outcome ==
        Added::never_true);
  CHECK(builder.size() == 0);
}

TEST_CASE("single values have the same number as the set of that one value") {
  FeatureSetBuilder builder(Schema({3, 2}));
  const AddResult pairs = builder.add(std::vector<Variable>{1, 0}, std::vector<Value>{1, 2});
  const AddResult sets = Conjunction().test(0, {2}).test(1, {1, 1}).add_to(builder);
  CHECK(pairs.outcome == Added::new_feature);
  CHECK(sets.outcome == Added::duplicate);
  CHECK(sets.feature == pairs.feature);
  const FeatureSet features = std::move(builder).finish();
  REQUIRE(features.size() == 1);
  CHECK(features[0][0] == Test{0, 2});
  CHECK(features[0][1] == Test{1, 1});
}

TEST_CASE("thousands of random conjunctions end as a map of canonical forms says") {
  Dice dice(1);
  const Schema schema({2, 3, 1, 5, 2, 4});
  FeatureSetBuilder builder(schema);
  std::map<Canonical, FeatureId> expected;
  std::map<Added, int> outcomes;
  for (int i = 0; i < 6000; ++i) {
    const Conjunction conjunction = random_conjunction(dice, schema);
    const Canonical sets = intersected(conjunction);
    const Canonical canonical = without_full_sets(sets, schema);
    const AddResult result = conjunction.add_to(builder);
    ++outcomes[result.outcome];
    if (contradicts(sets)) {
      REQUIRE(result.outcome == Added::never_true);
    } else if (canonical.empty()) {
      REQUIRE(result.outcome == Added::always_true);
    } else {
      const auto id = static_cast<FeatureId>(expected.size());
      const auto [place, fresh] = expected.try_emplace(canonical, id);
      REQUIRE(result.outcome == (fresh ? Added::new_feature : Added::duplicate));
      REQUIRE(result.feature == place->second);
    }
  }
  for (const Added outcome :
       {Added::new_feature, Added::duplicate, Added::always_true, Added::never_true})
    CHECK(outcomes[outcome] > 50);

  const FeatureSet features = std::move(builder).finish();
  REQUIRE(features.size() == expected.size());
  std::size_t n_tests = 0;
  for (const auto& [canonical, id] : expected) {
    CHECK(stored(features, id) == canonical);
    n_tests += canonical.size();
  }
  CHECK(features.n_tests() == n_tests);
}

TEST_CASE("features lie one after another in one array") {
  Dice dice(2);
  const FeatureSet features = random_features(dice, Schema({2, 3, 4, 5}), 100, 4);
  std::size_t first = 0;
  for (FeatureId j = 0; j < features.size(); ++j) {
    CHECK(features.first_test(j) == first);
    CHECK(features[j].data() == features.tests().data() + first);
    first += features[j].size();
  }
  CHECK(features.tests().size() == first);
}

TEST_CASE("a feature copied to another set stays the same feature") {
  Dice dice(3);
  const Schema schema({2, 3, 4, 5});
  const FeatureSet source = random_features(dice, schema, 300, 4);
  FeatureSetBuilder builder(schema);
  Conjunction().test(3, {4, 2, 0}).add_to(builder);  // so that sets get other numbers than before
  for (auto j = static_cast<FeatureId>(source.size()); j-- > 0;) builder.add(source, j);
  for (FeatureId j = 0; j < source.size(); ++j)
    CHECK(builder.add(source, j).outcome == Added::duplicate);
  const auto last = builder.add(source, 0).feature;
  const FeatureSet copy = std::move(builder).finish();
  CHECK(stored(copy, last) == stored(source, 0));
  std::set<Canonical> in_source, in_copy;
  for (FeatureId j = 0; j < source.size(); ++j) in_source.insert(stored(source, j));
  for (FeatureId j = 1; j < copy.size(); ++j) in_copy.insert(stored(copy, j));
  in_copy.insert(stored(copy, 0));
  in_source.insert(Canonical{{3, {0, 2, 4}}});
  CHECK(in_copy == in_source);
}

TEST_CASE("equal value sets of different variables are stored once") {
  FeatureSetBuilder builder(Schema({4, 5}));
  Conjunction().test(0, {1, 2}).add_to(builder);
  Conjunction().test(1, {2, 1}).add_to(builder);
  const FeatureSet features = std::move(builder).finish();
  CHECK(features[0][0].values == features[1][0].values);
  CHECK(features.n_value_sets() == 5 + 1);  // {0} ... {4} and {1, 2}
}

TEST_CASE("variables and values that do not exist are refused by number") {
  FeatureSetBuilder builder(Schema({2, 3}));
  builder.add(std::vector<Variable>{0}, std::vector<Value>{1});
  CHECK_THROWS_WITH_AS(builder.add(std::vector<Variable>{2}, std::vector<Value>{0}),
                       "variable 2 does not exist; there are 2", InvalidInput);
  CHECK_THROWS_WITH_AS(builder.add(std::vector<Variable>{1}, std::vector<Value>{3}),
                       "variable 1 has no value 3; expected 0 to 2", InvalidInput);
  CHECK_THROWS_WITH_AS(Conjunction().test(7, {0}).add_to(builder),
                       "variable 7 does not exist; there are 2", InvalidInput);
  CHECK_THROWS_WITH_AS(Conjunction().test(0, {0, 2}).add_to(builder),
                       "variable 0 has no value 2; expected 0 to 1", InvalidInput);
  CHECK(builder.size() == 1);
}

TEST_CASE("features of another schema are refused") {
  Dice dice(4);
  const FeatureSet other = random_features(dice, Schema({2, 2}), 1, 1, 0.0);
  FeatureSetBuilder builder(Schema({2, 3}));
  CHECK_THROWS_WITH_AS(builder.add(other, 0), "feature sets: their schemas differ", InvalidInput);
}

TEST_CASE("a feature set may be empty") {
  CHECK(FeatureSet().size() == 0);
  const FeatureSet none = FeatureSetBuilder(Schema({2})).finish();
  CHECK(none.size() == 0);
  CHECK(none.n_tests() == 0);
  CHECK(none.schema() == Schema({2}));
}

}  // namespace test_feature_set
