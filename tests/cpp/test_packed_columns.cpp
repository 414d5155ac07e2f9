// data/packed_columns.hpp: codes round trip, value sets against a loop over rows, bad codes named.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/data/packed_columns.hpp>

#include "support/random_models.hpp"

namespace test_packed_columns {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

std::vector<Value> column_of(const Codes& codes, const Schema& schema, Variable v) {
  std::vector<Value> column;
  for (std::size_t i = v; i < codes.size(); i += schema.n_variables())
    column.push_back(static_cast<Value>(codes[i]));
  return column;
}

// A random subset of the variable's values, never empty.
std::vector<Value> random_values(Dice& dice, Value cardinality) {
  std::vector<Value> values;
  const double density = dice.uniform();
  for (Value a = 0; a < cardinality; ++a)
    if (dice.chance(density)) values.push_back(a);
  if (values.empty()) values.push_back(static_cast<Value>(dice.below(cardinality)));
  return values;
}

std::vector<Word> random_rows(Dice& dice, std::size_t n_rows) {
  std::vector<Word> rows(words_for(n_rows), 0);
  for (std::size_t r = 0; r < n_rows; ++r)
    if (dice.chance(0.7)) set_bit(rows, r);
  return rows;
}

}  // namespace

TEST_CASE("codes round trip for cardinalities 1 to 300") {
  Dice dice(1);
  std::vector<Value> cardinalities(300);
  for (std::size_t v = 0; v < 300; ++v) cardinalities[v] = static_cast<Value>(v + 1);
  const Schema schema(cardinalities);
  for (const std::size_t n_rows : {1u, 64u, 130u}) {
    Codes codes;
    for (std::size_t i = 0; i < n_rows * 300; ++i) {
      const std::size_t cardinality = cardinalities[i % 300];
      const bool last = dice.chance(0.2);  // the largest code sets the most bits
      codes.push_back(static_cast<std::int32_t>(last ? cardinality - 1 : dice.below(cardinality)));
    }
    const PackedColumns columns(schema, codes);
    CHECK(columns.n_rows() == n_rows);
    CHECK(columns.n_variables() == 300);
    for (Variable v = 0; v < 300; ++v) {
      CAPTURE(v);
      CHECK(columns.codes(v) == column_of(codes, schema, v));
    }
  }
}

TEST_CASE("the largest codes of all round trip") {
  const Schema schema({65535, 2});
  const PackedColumns columns(schema, Codes{65534, 1, 32768, 0});
  CHECK(columns.codes(0) == std::vector<Value>{65534, 32768});
  CHECK(columns.codes(1) == std::vector<Value>{1, 0});
}

TEST_CASE("a variable takes as many slices as its largest code has bits, unused bits are zero") {
  const Schema schema({1, 2, 3, 4, 5, 256, 257});
  Dice dice(2);
  const Codes codes = random_codes(dice, schema, 70);
  const PackedColumns columns(schema, codes);
  for (Variable v = 0; v < schema.n_variables(); ++v) {
    CAPTURE(v);
    const auto largest = static_cast<unsigned>(schema.cardinality(v) - 1);
    REQUIRE(columns.n_slices(v) == static_cast<std::size_t>(std::bit_width(largest)));
    for (std::size_t bit = 0; bit < columns.n_slices(v); ++bit) {
      REQUIRE(columns.slice(v, bit).size() == 2);
      CHECK((columns.slice(v, bit)[1] & ~tail_mask(70)) == 0);
      for (std::size_t r = 0; r < 70; ++r)
        CHECK(test_bit(columns.slice(v, bit), r) ==
              (((codes[r * schema.n_variables() + v] >> bit) & 1) == 1));
    }
  }
}

TEST_CASE("chosen rows come in the order asked for") {
  Dice dice(3);
  const Schema schema({3, 2, 17});
  const Codes codes = random_codes(dice, schema, 100);
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < 90; ++i) rows.push_back(dice.below(100));
  const PackedColumns columns(schema, codes, rows);
  REQUIRE(columns.n_rows() == 90);
  for (Variable v = 0; v < 3; ++v) {
    const std::vector<Value> packed = columns.codes(v);
    for (std::size_t i = 0; i < rows.size(); ++i) CHECK(packed[i] == codes[rows[i] * 3 + v]);
  }
}

TEST_CASE("intersect keeps exactly the rows whose value is in the set") {
  Dice dice(4);
  const Schema schema({1, 2, 3, 4, 9, 16, 17, 300});
  for (const std::size_t n_rows : {1u, 63u, 64u, 65u, 200u}) {
    const Codes codes = random_codes(dice, schema, n_rows);
    const PackedColumns columns(schema, codes);
    for (Variable v = 0; v < schema.n_variables(); ++v)
      for (int trial = 0; trial < 20; ++trial) {
        CAPTURE(n_rows);
        CAPTURE(v);
        const std::vector<Value> values = random_values(dice, schema.cardinality(v));
        std::vector<Word> rows = random_rows(dice, n_rows);
        std::vector<Word> expected(rows.size(), 0);
        for (std::size_t r = 0; r < n_rows; ++r) {
          const auto code = static_cast<Value>(codes[r * schema.n_variables() + v]);
          if (test_bit(rows, r) && std::ranges::count(values, code) > 0) set_bit(expected, r);
        }
        columns.intersect(v, values, rows);
        CHECK(rows == expected);
      }
  }
}

TEST_CASE("codes outside the schema are refused with row and variable") {
  const Schema schema({2, 3});
  CHECK_NOTHROW(check_codes(schema, Codes{0, 2, 1, 0}));
  CHECK_NOTHROW(check_codes(schema, Codes{}));
  CHECK_THROWS_WITH_AS(check_codes(schema, Codes{0, 2, 1, -1}),
                       "row 1, variable 1: missing value; expected a code from 0 to 2",
                       InvalidInput);
  CHECK_THROWS_WITH_AS(check_codes(schema, Codes{0, 0, 2, 0}),
                       "row 1, variable 0: code 2 is out of range; expected a code from 0 to 1",
                       InvalidInput);
  CHECK_THROWS_WITH_AS(check_codes(schema, Codes{0, -7}),
                       "row 0, variable 1: code -7 is out of range; expected a code from 0 to 2",
                       InvalidInput);
}

TEST_CASE("of several bad codes the first is named") {
  CHECK_THROWS_WITH_AS(check_codes(Schema({2, 2}), Codes{0, 5, -1, 9}),
                       "row 0, variable 1: code 5 is out of range; expected a code from 0 to 1",
                       InvalidInput);
}

TEST_CASE("codes that are not whole rows, or of no variables, are refused") {
  CHECK_THROWS_WITH_AS(check_codes(Schema({2, 2, 2}), Codes{0, 1, 0, 1}),
                       "data: 4 codes are not whole rows of 3 variables", InvalidInput);
  CHECK_THROWS_WITH_AS(check_codes(Schema(), Codes{}), "data: no variables", InvalidInput);
}

}  // namespace test_packed_columns
