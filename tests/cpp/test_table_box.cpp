// infer/table_box.hpp against a test of every entry of the table.
#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

#include <feldspar/infer/table_box.hpp>

#include "support/brute_force.hpp"
#include "support/random_models.hpp"

namespace test_table_box {

using namespace feldspar;
using namespace feldspar::testing;

TEST_CASE("a box has exactly the entries on which the conjunction holds") {
  Dice dice(1);
  for (int round = 0; round < 20; ++round) {
    const Schema schema = random_schema(dice, 5, 1, 4);
    const FeatureSet features = random_features(dice, schema, 10, 5);
    std::vector<Variable> order{0, 1, 2, 3, 4};
    dice.shuffle(order);
    std::size_t n_entries = 1;
    for (const Variable v : order) n_entries *= schema.cardinality(v);
    for (FeatureId j = 0; j < features.size(); ++j) {
      std::vector<double> table(n_entries, 0.5);
      add_to_box(features, table_box(features, j, order), 2.0, table.data());
      for (std::size_t e = 0; e < n_entries; ++e) {
        Codes state(5);
        std::size_t rest = e;
        for (std::size_t i = 5; i-- > 0; rest /= schema.cardinality(order[i]))
          state[order[i]] = static_cast<std::int32_t>(rest % schema.cardinality(order[i]));
        REQUIRE(table[e] == (holds(features, j, state) ? 2.5 : 0.5));
      }
    }
  }
}

}  // namespace test_table_box
