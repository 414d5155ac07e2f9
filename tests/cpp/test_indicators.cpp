// data/indicators.hpp: columns against the codes themselves.
#include <doctest/doctest.h>

#include <cstddef>

#include <feldspar/base/bits.hpp>
#include <feldspar/data/indicators.hpp>
#include <feldspar/data/packed_columns.hpp>

#include "support/random_models.hpp"

namespace test_indicators {

using namespace feldspar;
using namespace feldspar::testing;

TEST_CASE("columns are the indicators of the non-zero values, variable by variable") {
  Dice dice(5);
  const Schema schema({2, 1, 4, 3});
  const Codes codes = random_codes(dice, schema, 150);
  const IndicatorColumns columns(PackedColumns(schema, codes));
  REQUIRE(columns.size() == 6);
  CHECK(columns.n_rows() == 150);
  std::size_t c = 0;
  for (Variable v = 0; v < 4; ++v) {
    CHECK(columns.first(v) == c);
    for (Value u = 1; u < schema.cardinality(v); ++u, ++c) {
      CHECK(columns[c] == Indicator{v, u});
      for (std::size_t r = 0; r < 150; ++r)
        CHECK(test_bit(columns.rows(c), r) == (codes[r * 4 + v] == u));
      CHECK((columns.rows(c).back() & ~tail_mask(150)) == 0);
    }
  }
  CHECK(columns.first(4) == c);
}

TEST_CASE("variables of one value have no columns") {
  const Codes codes{0, 0, 0, 0};
  CHECK(IndicatorColumns(PackedColumns(Schema({1, 1}), codes)).size() == 0);
}

}  // namespace test_indicators
