#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include <feldspar/data/packed_columns.hpp>
#include <feldspar/learn/split_counts.hpp>

#include "support/random_models.hpp"
#include "support/simd_levels.hpp"

namespace feldspar::test_split_counts {
namespace {

using namespace testing;

TEST_CASE("a binary variable has one test, a larger one as many as values, a constant none") {
  const auto tests = split_tests(Schema({2, 1, 3}));
  REQUIRE(tests.size() == 4);
  CHECK(tests[0].variable == 0);
  CHECK(tests[0].value == 1);
  for (Value v = 0; v < 3; ++v) {
    CHECK(tests[v + 1u].variable == 2);
    CHECK(tests[v + 1u].value == v);
  }
}

TEST_CASE("counts are those of looking at every row") {
  Dice dice(1);
  // Up to several packs of tests, lists from empty to several blocks of eight, counters of
  // more than eight planes, digits with gaps between them.
  for (const std::size_t n_variables : {1u, 40u, 70u, 300u})
    for (const std::size_t n_rows : {1u, 9u, 700u}) {
      const Schema schema = random_schema(dice, n_variables, 2, 4);
      const Codes codes = random_codes(dice, schema, n_rows);
      const SplitRows rows(PackedColumns(schema, codes));
      std::vector<std::uint32_t> lengths{static_cast<std::uint32_t>(n_rows), 0, 3, 0, 0, 0, 0, 1};
      std::vector<Row> list;
      std::uint64_t total = 0;
      for (std::size_t digit = 0; digit < lengths.size(); ++digit)
        for (std::uint32_t i = 0; i < lengths[digit]; ++i) {
          list.push_back(static_cast<Row>(dice.below(n_rows)));
          total += std::uint64_t{1} << digit;
        }
      std::vector<std::uint32_t> tests;
      for (std::uint32_t t = 0; t < rows.tests().size(); t += 1 + t % 3) tests.push_back(t);
      std::vector<std::uint64_t> counts(tests.size()), expected(tests.size(), 0);
      for (std::size_t i = 0; i < tests.size(); ++i) {
        const SplitTest test = rows.tests()[tests[i]];
        std::size_t place = 0;
        for (std::size_t digit = 0; digit < lengths.size(); ++digit)
          for (std::uint32_t k = 0; k < lengths[digit]; ++k, ++place)
            if (codes[list[place] * n_variables + test.variable] == test.value)
              expected[i] += std::uint64_t{1} << digit;
      }
      for (const SimdLevel level : simd_levels()) {
        SplitCounter(rows, level).count(list, lengths, total, tests, counts);
        CHECK(counts == expected);
      }
    }
}

TEST_CASE("no rows pass nothing") {
  const SplitRows rows(PackedColumns(binary_schema(3), Codes{1, 1, 1}));
  std::vector<std::uint64_t> counts(2, 7);
  SplitCounter(rows).count({}, std::vector<std::uint32_t>{0}, 0, std::vector<std::uint32_t>{0, 2},
                           counts);
  CHECK(counts == std::vector<std::uint64_t>{0, 0});
}

}  // namespace
}  // namespace feldspar::test_split_counts
