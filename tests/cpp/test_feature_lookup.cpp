// feature/feature_lookup.hpp: what is in the set is found, what is not is not.
#include <doctest/doctest.h>

#include <cstddef>
#include <utility>
#include <vector>

#include <feldspar/feature/feature_lookup.hpp>

#include "support/random_models.hpp"

namespace test_feature_lookup {

using namespace feldspar;
using namespace feldspar::testing;

TEST_CASE("every feature of a set is found under its own number") {
  Dice dice(1);
  for (const std::size_t n : {1u, 8u, 9u, 2000u}) {
    const FeatureSet features = random_features(dice, random_schema(dice, 8, 2, 5), n, 4);
    const FeatureLookup lookup(features);
    for (FeatureId j = 0; j < features.size(); ++j) CHECK(lookup.find(features[j]) == j);
  }
}

TEST_CASE("what is not in the set is not found") {
  Dice dice(2);
  const Schema schema({2, 3, 4, 2});
  FeatureSetBuilder builder(schema);
  const FeatureSet all = random_features(dice, schema, 500, 3, 0.0);
  for (FeatureId j = 0; j < all.size(); j += 2) builder.add(all, j);
  const FeatureSet some = std::move(builder).finish();
  const FeatureLookup lookup(some);
  for (FeatureId j = 0; j < all.size(); ++j) {  // single values have the same number in both sets
    CAPTURE(j);
    CHECK(lookup.find(all[j]).has_value() == (j % 2 == 0));
  }
  CHECK_FALSE(lookup.find({}).has_value());
}

TEST_CASE("nothing is found in an empty set") {
  const FeatureSet none = FeatureSetBuilder(Schema({2})).finish();
  const std::vector<Test> tests{{0, 1}};
  CHECK_FALSE(FeatureLookup(none).find(tests).has_value());
}

}  // namespace test_feature_lookup
