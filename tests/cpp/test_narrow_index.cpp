// objective/narrow_index.hpp against dense matrix products and counting by rows.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include <feldspar/objective/narrow_index.hpp>

#include "support/brute_force.hpp"
#include "support/compare.hpp"
#include "support/contexts.hpp"
#include "support/random_models.hpp"

namespace test_narrow_index {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

NarrowIndex index_of(const ContextFamily& family, bool keep_rows = true) {
  return NarrowIndex(family.features, family.table(), family.data, 0, family.contexts(), keep_rows);
}

// Numbers of patterns as numbers of rows.
std::vector<double> by_rows(const NarrowIndex& index, std::span<const double> by_pattern,
                            std::size_t width) {
  std::vector<double> result;
  for (const std::uint32_t p : index.pattern_of_row())
    for (std::size_t k = 0; k < width; ++k) result.push_back(by_pattern[p * width + k]);
  return result;
}

// The transpose of by_rows, with room for the element that gradient() overwrites.
std::vector<double> add_rows(const NarrowIndex& index, std::span<const double> by_row,
                             std::size_t width) {
  std::vector<double> result((index.n_patterns() + 1) * width, 0.0);
  for (std::size_t r = 0; r < index.pattern_of_row().size(); ++r)
    for (std::size_t k = 0; k < width; ++k)
      result[index.pattern_of_row()[r] * width + k] += by_row[r * width + k];
  return result;
}

// 2^18 rows, all combinations of X_1 ... X_18: more patterns and more entries than 16 bits hold.
ContextFamily huge_family() {
  constexpr std::size_t kContexts = 18;
  Codes codes;
  for (std::size_t r = 0; r < std::size_t{1} << kContexts; ++r) {
    codes.push_back(static_cast<std::int32_t>(mix_bits(r) & 1));
    for (std::size_t c = 0; c < kContexts; ++c)
      codes.push_back(static_cast<std::int32_t>((r >> c) & 1));
  }
  return make_family("huge", pairs_with_first(kContexts + 1),
                     Dataset::merge(binary_schema(kContexts + 1), codes));
}

void check_products(const ContextFamily& family, const NarrowIndex& index, const DenseMatrix& a,
                    std::size_t width) {
  Dice dice(width);
  AlignedVector<double> scratch{7.0};  // left over from other work
  const std::vector<double> u = dice.numbers(a.n_columns * width);
  std::vector<double> margins(index.n_patterns() * width);
  index.margins<double>(u, width, margins, scratch);
  const std::vector<double> margins_by_row = by_rows(index, margins, width);
  CHECK(distance(margins_by_row, a.times(u, width)) < 1e-13);

  const std::vector<double> g = dice.numbers(a.n_rows * width);
  std::vector<double> by_pattern = add_rows(index, g, width);
  for (std::size_t k = 0; k < width; ++k) by_pattern[index.n_patterns() * width + k] = 1e9;
  std::vector<double> du(u.size(), 1e9);
  index.gradient<double>(by_pattern, width, du, scratch);
  CHECK(distance(du, a.transpose_times(g, width)) < 1e-12);
  CHECK(
      dot(margins_by_row, g) ==
      doctest::Approx(dot(u, du)).epsilon(1e-11).scale(static_cast<double>(family.data.n_rows())));
}

}  // namespace

TEST_CASE("A u and A' g equal dense products for every shape of contexts") {
  for (const ContextFamily& family : context_families()) {
    CAPTURE(family.name);
    const NarrowIndex index = index_of(family);
    const DenseMatrix a = family.matrix();
    REQUIRE(index.n_contexts() == a.n_columns);
    check_products(family, index, a, 1);
    check_products(family, index, a, 3);
  }
}

TEST_CASE("A u and A' g equal dense products where 16 bits do not suffice") {
  const ContextFamily family = huge_family();
  const NarrowIndex index = index_of(family);
  CHECK(index.n_patterns() == 262'144);
  CHECK(index.n_entries() > 65'536);
  const DenseMatrix a = family.matrix();
  check_products(family, index, a, 1);
  check_products(family, index, a, 3);
}

TEST_CASE("rows are merged exactly when the same contexts are active") {
  for (const ContextFamily& family : context_families()) {
    CAPTURE(family.name);
    const NarrowIndex index = index_of(family);
    const DenseMatrix a = family.matrix();
    std::set<std::vector<double>> activations;
    for (std::size_t r = 0; r < a.n_rows; ++r) {
      const auto first = a.entries.begin() + static_cast<std::ptrdiff_t>(r * a.n_columns);
      activations.emplace(first, first + static_cast<std::ptrdiff_t>(a.n_columns));
    }
    CHECK(index.n_patterns() == activations.size());
    CHECK(index.pattern_of_row().size() == a.n_rows);
  }
}

TEST_CASE("the values' weights on the patterns are those of the rows merged") {
  for (const ContextFamily& family : context_families()) {
    CAPTURE(family.name);
    const NarrowIndex index = index_of(family);
    const std::size_t n = index.n_patterns(), cardinality = family.data.schema().cardinality(0);
    std::vector<double> expected(n * cardinality, 0.0);
    for (std::size_t r = 0; r < family.data.n_rows(); ++r) {
      const auto code = static_cast<std::size_t>(family.rows[r * family.data.n_variables()]);
      const std::size_t p = index.pattern_of_row()[r];
      expected[cardinality == 2 ? code * n + p : p * cardinality + code] +=
          family.data.weights()[r];
    }
    const auto as_numbers = [](auto weights) {
      return std::vector<double>(weights.begin(), weights.end());
    };
    CHECK(same_bits(index.with_value_weights(as_numbers), expected));
  }
}

TEST_CASE("weights take no more room than they need") {
  const Schema schema({2, 2});
  FeatureSetBuilder builder(schema);
  builder.add(std::vector<Variable>{0, 1}, std::vector<Value>{1, 1});
  const FeatureSet features = std::move(builder).finish();
  const ContextTable table(features);
  const std::vector<ContextId> contexts{table.of_test(0)};
  const std::vector<std::int32_t> rows{0, 0, 0, 1, 1, 0, 1, 1};
  for (const auto& [largest, bytes] : std::vector<std::pair<double, std::size_t>>{
           {255, 1}, {256, 2}, {65535, 2}, {65536, 8}, {0.5, 8}}) {
    CAPTURE(largest);
    const Dataset data = Dataset::merge(schema, rows, std::vector<double>{1, 2, 3, largest});
    const NarrowIndex index(features, table, data, 0, contexts, true);
    CHECK(index.n_patterns() == 2);
    index.with_value_weights([&](auto weights) {
      CHECK(sizeof(weights[0]) == bytes);
      CHECK(std::ranges::count(weights, largest) == 1);
      CHECK(std::accumulate(weights.begin(), weights.end(), 0.0) == 6 + largest);
    });
  }
}

TEST_CASE("rows are forgotten unless they are wanted") {
  const ContextFamily family = context_families().front();
  const NarrowIndex with = index_of(family, true), without = index_of(family, false);
  CHECK(without.pattern_of_row().empty());
  CHECK(with.bytes() - without.bytes() == family.data.n_rows() * sizeof(std::uint32_t));
  CHECK(with.n_lookups() == without.n_lookups());
}

}  // namespace test_narrow_index
