#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include <feldspar/data/exact_weights.hpp>

#include "support/random_models.hpp"

namespace feldspar::test_exact_weights {
namespace {

using testing::Dice;

ExactWeights make(const std::vector<double>& weights) {
  return exact_weights(weights, std::accumulate(weights.begin(), weights.end(), 0.0));
}

TEST_CASE("whole numbers and simple fractions stay as they are, in the largest unit") {
  const ExactWeights whole = make({1, 2, 5});
  CHECK(whole.unit == 1);
  CHECK(whole.units == std::vector<std::uint64_t>{1, 2, 5});
  CHECK(whole.total == 8);
  CHECK(make({4, 12}).unit == 4);
  CHECK(make({0.5, 0.75}).unit == 0.25);
  CHECK(make({0.5, 0.75}).unrounded(std::vector<double>{0.5, 0.75}));
}

TEST_CASE("sums of any weights are exact and close to what was given") {
  Dice dice(3);
  std::vector<double> weights;
  for (int i = 0; i < 2000; ++i) weights.push_back(std::exp(dice.between(-20.0, 10.0)));
  const ExactWeights exact = make(weights);
  CHECK_FALSE(exact.unrounded(weights));
  CHECK(exact.total <= std::uint64_t{1} << 53);
  double forwards = 0, backwards = 0;
  for (std::size_t r = 0; r < weights.size(); ++r) {
    CHECK(std::abs(exact.weight(exact.units[r]) - weights[r]) <= exact.unit / 2);
    forwards += exact.weight(exact.units[r]);
    backwards += exact.weight(exact.units[weights.size() - 1 - r]);
  }
  CHECK(forwards == backwards);
  CHECK(forwards == exact.weight(exact.total));
}

TEST_CASE("the smallest weights do not underflow the unit") {
  CHECK(make({1e-310, 1e-310}).unit > 0);
}

TEST_CASE("rows are listed by the digits of their weights") {
  const DigitRows rows = digit_rows(make({1, 6, 3}));
  REQUIRE(rows.n_digits() == 3);
  CHECK(std::vector(rows[0].begin(), rows[0].end()) == std::vector<Row>{0, 2});
  CHECK(std::vector(rows[1].begin(), rows[1].end()) == std::vector<Row>{1, 2});
  CHECK(std::vector(rows[2].begin(), rows[2].end()) == std::vector<Row>{1});
}

}  // namespace
}  // namespace feldspar::test_exact_weights
