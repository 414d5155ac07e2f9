// data/dataset.hpp against a std::map from rows to weights.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <feldspar/data/dataset.hpp>

#include "support/compare.hpp"
#include "support/random_models.hpp"

namespace test_dataset {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

using WeightedRow = std::pair<double, Codes>;

// Distinct rows by weight, those of equal weight in lexicographic order.
std::vector<WeightedRow> merge_naively(const Schema& schema, const Codes& codes,
                                       const std::vector<double>& weights) {
  std::map<Codes, double> weight_of;
  const auto n = static_cast<std::ptrdiff_t>(schema.n_variables());
  for (std::size_t r = 0; r < weights.size(); ++r) {
    const auto first = codes.begin() + static_cast<std::ptrdiff_t>(r) * n;
    if (weights[r] > 0) weight_of[Codes(first, first + n)] += weights[r];
  }
  std::vector<WeightedRow> merged;
  for (const auto& [row, weight] : weight_of) merged.emplace_back(weight, row);
  std::ranges::sort(merged);
  return merged;
}

// The rows of a data set, in its order.
std::vector<Codes> rows_of(const Dataset& data) {
  std::vector<Codes> rows(data.n_rows(), Codes(data.n_variables()));
  for (Variable v = 0; v < data.n_variables(); ++v) {
    const std::vector<Value> column = data.columns().codes(v);
    for (std::size_t r = 0; r < rows.size(); ++r) rows[r][v] = column[r];
  }
  return rows;
}

// Multiples of 1/8: their sums are exact in any order. Some are zero.
std::vector<double> dyadic_weights(Dice& dice, std::size_t n) {
  std::vector<double> weights(n);
  for (double& w : weights) w = static_cast<double>(dice.below(20)) / 8;
  return weights;
}

void check_equal(const Dataset& data, const std::vector<WeightedRow>& expected) {
  REQUIRE(data.n_rows() == expected.size());
  const std::vector<Codes> rows = rows_of(data);
  double total = 0;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto& [weight, row] = expected[r];
    CHECK(rows[r] == row);
    CHECK(data.weights()[r] == weight);
    total += weight;
  }
  CHECK(data.total_weight() == total);
}

std::string refusal(const Schema& schema, const Codes& codes,
                    const std::vector<double>& weights = {}) {
  try {
    Dataset::merge(schema, codes, weights);
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("merging equals a map from rows to weights") {
  Dice dice(1);
  for (const std::size_t n_variables : {1u, 3u, 8u, 70u})
    for (const Value most : {Value{2}, Value{5}, Value{300}}) {
      CAPTURE(n_variables);
      CAPTURE(most);
      const Schema schema = random_schema(dice, n_variables, 1, most);
      const Codes codes = random_codes(dice, schema, 200, 0.5);
      const std::vector<double> weights = dyadic_weights(dice, 200);
      check_equal(Dataset::merge(schema, codes, weights), merge_naively(schema, codes, weights));
    }
}

TEST_CASE("without weights every row counts one") {
  Dice dice(2);
  const Schema schema({2, 3});
  const Codes codes = random_codes(dice, schema, 100);
  const Dataset data = Dataset::merge(schema, codes);
  CHECK(data.total_weight() == 100);
  CHECK(data.schema() == schema);
  check_equal(data, merge_naively(schema, codes, std::vector<double>(100, 1.0)));
}

TEST_CASE("any order of the rows gives the same bits") {
  Dice dice(3);
  const Schema schema({2, 3, 2});
  const std::size_t n_rows = 200;
  const Codes codes = random_codes(dice, schema, n_rows, 0.5);
  const std::vector<double> weights = dice.numbers(n_rows, 0.0, 1.0);
  const Dataset original = Dataset::merge(schema, codes, weights);

  std::vector<std::size_t> order(n_rows);
  for (std::size_t r = 0; r < n_rows; ++r) order[r] = r;
  for (int trial = 0; trial < 10; ++trial) {
    dice.shuffle(order);
    Codes shuffled;
    std::vector<double> shuffled_weights;
    for (const std::size_t r : order) {
      for (std::size_t v = 0; v < 3; ++v) shuffled.push_back(codes[r * 3 + v]);
      shuffled_weights.push_back(weights[r]);
    }
    const Dataset again = Dataset::merge(schema, shuffled, shuffled_weights);
    CHECK(rows_of(again) == rows_of(original));
    CHECK(same_bits(again.weights(), original.weights()));
    CHECK(again.total_weight() == original.total_weight());
  }
}

TEST_CASE("rows of weight zero vanish") {
  const Dataset data =
      Dataset::merge(Schema({3}), Codes{2, 1, 0, 1}, std::vector{0.0, 0.0, 2., 3.});
  CHECK(rows_of(data) == std::vector<Codes>{{0}, {1}});
  CHECK(data.weights()[0] == 2);
  CHECK(data.weights()[1] == 3);
  CHECK(data.total_weight() == 5);
}

TEST_CASE("variables of one value are no hindrance, even alone") {
  const Dataset data = Dataset::merge(Schema({1, 1}), Codes{0, 0, 0, 0, 0, 0});
  CHECK(data.n_rows() == 1);
  CHECK(data.total_weight() == 3);
}

TEST_CASE("bad codes are refused with their place") {
  const Schema schema({2, 3});
  CHECK(refusal(schema, {0, 0, 1, -1}) ==
        "row 1, variable 1: missing value; expected a code from 0 to 2");
  CHECK(refusal(schema, {0, 0, 1, 3}) ==
        "row 1, variable 1: code 3 is out of range; expected a code from 0 to 2");
  CHECK(refusal(schema, {0, 0, 1}) == "data: 3 codes are not whole rows of 2 variables");
  CHECK(refusal(schema, {}) == "data: no rows");
  CHECK(refusal(Schema(), {}) == "data: no variables");
}

TEST_CASE("bad weights are refused with their row") {
  const Schema schema({2});
  const Codes codes{0, 1, 1};
  CHECK(refusal(schema, codes, {1, 2}) == "weights: got 2 of them for 3 rows");
  CHECK(refusal(schema, codes, {1, -0.5, 1}) ==
        "weights: row 1 has weight -0.5; expected a finite number, not negative");
  CHECK(refusal(schema, codes, {1, 1, kInfinity}) ==
        "weights: row 2 has weight inf; expected a finite number, not negative");
  CHECK(refusal(schema, codes, {std::numeric_limits<double>::quiet_NaN(), 1, 1})
            .starts_with("weights: row 0 has weight"));
  CHECK(refusal(schema, codes, {0, 0, 0}) == "weights: every row has weight zero");
  CHECK(refusal(schema, codes, {1e308, 1e308, 0}) == "weights: their sum overflows");
}

}  // namespace test_dataset
