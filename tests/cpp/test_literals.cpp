// infer/literals.hpp: every test has the literal with its variable and values.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include <feldspar/infer/literals.hpp>

#include "support/random_models.hpp"

namespace test_literals {

using namespace feldspar;
using namespace feldspar::testing;

TEST_CASE("literals are the distinct tests, by variable") {
  Dice dice(1);
  for (int round = 0; round < 10; ++round) {
    const FeatureSet features = random_features(dice, random_schema(dice, 6, 1, 5), 40, 4);
    const Literals literals(features);
    for (std::size_t t = 0; t < features.n_tests(); ++t) {
      const Test test = features.tests()[t];
      CHECK(literals.variable(literals.of_test(t)) == test.variable);
      CHECK(std::ranges::equal(literals.values(literals.of_test(t)), features.values(test.values)));
    }
    std::set<std::pair<Variable, std::vector<Value>>> seen;
    for (LiteralId l = 0; l < literals.size(); ++l) {
      const Variable v = literals.variable(l);
      const auto values = literals.values(l);
      CHECK(seen.insert({v, {values.begin(), values.end()}}).second);
      CHECK(literals.first(v) <= l);
      CHECK(l < literals.first(v + 1));
    }
    CHECK(literals.first(6) == literals.size());
  }
}

TEST_CASE("a binary variable has both literals, tested or not") {
  FeatureSetBuilder builder(Schema({2, 3, 2}));
  builder.add(std::vector<Variable>{0, 1}, std::vector<Value>{1, 2});
  const Literals literals(std::move(builder).finish());
  CHECK(literals.size() == 5);
  for (const Variable v : {0u, 2u})
    for (Value a = 0; a < 2; ++a) CHECK(literals.values(literals.first(v) + a)[0] == a);
  CHECK(literals.values(literals.first(1))[0] == 2);
}

}  // namespace test_literals
