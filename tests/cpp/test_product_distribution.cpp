// model/product_distribution.hpp: what it is made of and what it says.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <feldspar/model/product_distribution.hpp>

#include "support/random_models.hpp"

namespace test_product_distribution {

using namespace feldspar;
using namespace feldspar::testing;

TEST_CASE("probabilities of values and of sets of them") {
  const ProductDistribution d(Schema({2, 3}), {0.25, 0.75, 0.5, 0.125, 0.375});
  CHECK(d[0][1] == 0.75);
  CHECK(d[1].size() == 3);
  const std::vector<Value> both{0, 2};
  CHECK(d.probability(1, both) == 0.875);
  CHECK(d.mode() == Codes{1, 0});
}

TEST_CASE("rounding is mended") {
  const ProductDistribution d(Schema({3}), {0.3333333, 0.3333333, 0.3333333});
  CHECK(d[0][0] == doctest::Approx(1.0 / 3).epsilon(1e-14));
  // But not again: what has been mended comes back with the same bits.
  const auto p = d.probabilities();
  const ProductDistribution again(d.schema(), {p.begin(), p.end()});
  CHECK(std::ranges::equal(again.probabilities(), p));
}

TEST_CASE("uniform distributions and single states") {
  const Schema schema({2, 1, 4});
  const auto uniform = ProductDistribution::uniform(schema);
  CHECK(uniform[0][0] == 0.5);
  CHECK(uniform[1][0] == 1.0);
  CHECK(uniform[2][3] == 0.25);
  CHECK(uniform.mode() == Codes{0, 0, 0});  // the lowest of equals
  const auto point = ProductDistribution::point(schema, Codes{1, 0, 2});
  CHECK(point[2][2] == 1.0);
  CHECK(point[2][3] == 0.0);
  CHECK(point.mode() == Codes{1, 0, 2});
}

TEST_CASE("marginals go by weight") {
  const Schema schema({2, 3});
  const Codes codes{0, 2, 1, 2, 0, 0, 0, 2};
  const std::vector<double> weights{0.5, 1.0, 2.0, 0.5};
  const auto d = ProductDistribution::marginals(Dataset::merge(schema, codes, weights));
  CHECK(d[0][0] == 0.75);
  CHECK(d[1][0] == 0.5);
  CHECK(d[1][1] == 0.0);
  CHECK(d[1][2] == 0.5);
}

TEST_CASE("what is no distribution is refused with its place") {
  const Schema schema({2, 2});
  CHECK_THROWS_WITH_AS(ProductDistribution(schema, {0.5, 0.5, 1}),
                       "distribution: got 3 probabilities for 4 values of all variables",
                       InvalidInput);
  CHECK_THROWS_WITH_AS(
      ProductDistribution(schema, {0.5, 0.5, -0.5, 1.5}),
      "distribution of variable 1: value 0 has probability -0.5; expected a number "
      "from 0 to 1",
      InvalidInput);
  CHECK_THROWS_WITH_AS(ProductDistribution(schema, {0.5, 0.5, 0.5, 0.25}),
                       "distribution of variable 1: the probabilities add up to 0.75; expected 1",
                       InvalidInput);
  CHECK_THROWS_AS(ProductDistribution(schema, {0.5, 0.5, 0.5, NAN}), InvalidInput);
  CHECK_THROWS_AS(ProductDistribution::point(schema, Codes{0}), InvalidInput);
  CHECK_THROWS_AS(ProductDistribution::point(schema, Codes{0, 2}), InvalidInput);
  CHECK_THROWS_AS(ProductDistribution::point(schema, Codes{0, 0, 1, 1}), InvalidInput);
}

}  // namespace test_product_distribution
