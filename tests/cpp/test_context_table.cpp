// feature/context_table.hpp against a map of contexts, and matching against a loop over rows.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/feature/context_table.hpp>

#include "support/brute_force.hpp"
#include "support/random_models.hpp"

namespace test_context_table {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

using Context = std::map<Variable, std::vector<Value>>;

Context context_of(const FeatureSet& features, FeatureId j, std::size_t omitted) {
  Context context;
  for (std::size_t i = 0; i < features[j].size(); ++i) {
    if (i == omitted) continue;
    const auto values = features.values(features[j][i].values);
    context[features[j][i].variable] = {values.begin(), values.end()};
  }
  return context;
}

}  // namespace

TEST_CASE("contexts are numbered by first use and counted, as a map says") {
  Dice dice(1);
  for (const std::size_t n_features : {1u, 30u, 3000u}) {
    CAPTURE(n_features);
    const FeatureSet features =
        random_features(dice, random_schema(dice, 6, 2, 4), n_features, 4, 0.3);
    const ContextTable table(features);
    std::map<Context, ContextId> ids{{{}, kEmptyContext}};
    for (FeatureId j = 0; j < features.size(); ++j)
      for (std::size_t i = 0; i < features[j].size(); ++i) {
        const auto next = static_cast<ContextId>(ids.size());
        const auto place = ids.try_emplace(context_of(features, j, i), next).first;
        REQUIRE(table.of_test(features.first_test(j) + i) == place->second);
      }
    REQUIRE(table.size() == ids.size());
  }
}

TEST_CASE("a context matches the rows on which its tests hold") {
  Dice dice(2);
  const Schema schema({2, 3, 1, 5, 4});
  const FeatureSet features = random_features(dice, schema, 80, 4);
  const ContextTable table(features);
  for (const std::size_t n_rows : {1u, 64u, 150u}) {
    const Codes codes = random_codes(dice, schema, n_rows);
    const PackedColumns columns(schema, codes);
    std::vector<Word> rows(columns.n_words(), 0x5555);  // what was there is overwritten
    for (FeatureId j = 0; j < features.size(); ++j)
      for (std::size_t i = 0; i < features[j].size(); ++i) {
        table.match(features, columns, table.of_test(features.first_test(j) + i), rows);
        std::vector<Word> expected(rows.size(), 0);
        for (std::size_t r = 0; r < n_rows; ++r)
          if (holds_without(features, j, i, row_of(codes, schema.n_variables(), r)))
            set_bit(expected, r);
        CHECK(rows == expected);
      }
  }
}

TEST_CASE("the empty context is there without features and holds on every row") {
  const FeatureSet none = FeatureSetBuilder(Schema({2})).finish();
  const ContextTable table(none);
  CHECK(table.size() == 1);
  const PackedColumns columns(Schema({2}), Codes{0, 1, 1});
  std::vector<Word> rows(1, 0);
  table.match(none, columns, kEmptyContext, rows);
  CHECK(rows[0] == 0b111);
}

}  // namespace test_context_table
