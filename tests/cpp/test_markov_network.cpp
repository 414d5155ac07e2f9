// model/markov_network.hpp: what it holds and what it refuses.
#include <doctest/doctest.h>

#include <limits>
#include <vector>

#include <feldspar/model/markov_network.hpp>

#include "support/random_models.hpp"

namespace test_markov_network {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

FeatureSet three_features() {
  FeatureSetBuilder builder(Schema({2, 3}));
  builder.add(std::vector<Variable>{0}, std::vector<Value>{1});
  builder.add(std::vector<Variable>{1}, std::vector<Value>{2});
  builder.add(std::vector<Variable>{0, 1}, std::vector<Value>{1, 2});
  return std::move(builder).finish();
}

}  // namespace

TEST_CASE("a network holds its features and weights") {
  const MarkovNetwork network(three_features(), {0.5, -1.0, 0.0});
  CHECK(network.schema() == Schema({2, 3}));
  CHECK(network.features().size() == 3);
  CHECK(network.weights() == std::vector<double>{0.5, -1.0, 0.0});
}

TEST_CASE("a network may have no features") {
  CHECK(MarkovNetwork(FeatureSetBuilder(Schema({2})).finish(), {}).features().size() == 0);
}

TEST_CASE("one finite weight a feature, else it is refused") {
  CHECK_THROWS_WITH_AS(MarkovNetwork(three_features(), {1.0}), "weights: got 1 for 3 features",
                       InvalidInput);
  CHECK_THROWS_WITH_AS(
      MarkovNetwork(three_features(), {1.0, -std::numeric_limits<double>::infinity(), 0.0}),
      "weights: feature 1 has weight -inf; expected a finite number", InvalidInput);
  CHECK_THROWS_WITH_AS(
      MarkovNetwork(three_features(), {1.0, 0.0, std::numeric_limits<double>::quiet_NaN()}),
      doctest::Contains("weights: feature 2 has weight"), InvalidInput);
}

}  // namespace test_markov_network
