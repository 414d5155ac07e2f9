// objective/wide_index.hpp against dense matrix products, on every instruction set.
#include <doctest/doctest.h>

#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include <feldspar/base/aligned.hpp>
#include <feldspar/objective/wide_index.hpp>

#include "support/brute_force.hpp"
#include "support/compare.hpp"
#include "support/contexts.hpp"
#include "support/random_models.hpp"
#include "support/simd_levels.hpp"

namespace test_wide_index {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

WideIndex index_of(const ContextFamily& family) {
  return WideIndex(family.features, family.table(), family.data, family.contexts());
}

std::vector<double> rows_between(const std::vector<double>& x, std::size_t first,
                                 std::size_t last) {
  return {x.begin() + static_cast<std::ptrdiff_t>(first * kLanes),
          x.begin() + static_cast<std::ptrdiff_t>(last * kLanes)};
}

// Keeps only the rows first <= r < last of a vector over all rows.
std::vector<double> only_between(std::vector<double> x, std::size_t first, std::size_t last) {
  for (std::size_t i = 0; i < x.size(); ++i)
    if (i / kLanes < first || i / kLanes >= last) x[i] = 0;
  return x;
}

void check_products(const WideIndex& index, const DenseMatrix& a, std::size_t first,
                    std::size_t last) {
  Dice dice(first + 1);
  const std::vector<double> u = dice.numbers(a.n_columns * kLanes);
  const std::vector<double> g = dice.numbers(a.n_rows * kLanes);
  const std::vector<double> start = dice.numbers((last - first) * kLanes);
  std::vector<double> expected = rows_between(a.times(u, kLanes), first, last);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += start[i];
  const std::vector<double> expected_du = a.transpose_times(only_between(g, first, last), kLanes);

  std::vector<double> plain_margins, plain_du;
  for (const SimdLevel level : simd_levels()) {
    CAPTURE(static_cast<int>(level));
    AlignedVector<double> scratch(3, 5.0);  // left over from other work
    std::vector<double> margins = start;
    index.add_margins<double>(level, u.data(), first, last, margins.data(), scratch);
    std::vector<double> du(u.size(), std::numeric_limits<double>::quiet_NaN());
    index.gradient<double>(level, g.data() + first * kLanes, first, last, du.data(), scratch);
    CHECK(distance(margins, expected) < 1e-13);
    CHECK(distance(du, expected_du) < 1e-12);
    if (level == SimdLevel::plain) {
      plain_margins = margins;
      plain_du = du;
    }
    CHECK(same_bits(margins, plain_margins));
    CHECK(same_bits(du, plain_du));

    const std::vector<float> single_u(u.begin(), u.end()), single_g(g.begin(), g.end());
    AlignedVector<float> single_scratch;
    std::vector<float> single_margins(start.begin(), start.end());
    index.add_margins<float>(level, single_u.data(), first, last, single_margins.data(),
                             single_scratch);
    std::vector<float> single_du(u.size(), std::numeric_limits<float>::quiet_NaN());
    index.gradient<float>(level, single_g.data() + first * kLanes, first, last, single_du.data(),
                          single_scratch);
    CHECK(distance(std::vector<double>(single_margins.begin(), single_margins.end()), expected) <
          1e-5);
    CHECK(distance(std::vector<double>(single_du.begin(), single_du.end()), expected_du) < 1e-5);

    for (std::size_t i = 0; i < margins.size(); ++i) margins[i] -= start[i];
    CHECK(dot(margins, rows_between(g, first, last)) ==
          doctest::Approx(dot(u, du)).epsilon(1e-11).scale(static_cast<double>(a.n_rows)));
  }
}

}  // namespace

TEST_CASE("A u and A' g equal dense products for every shape of contexts and range of rows") {
  for (const ContextFamily& family : context_families()) {
    CAPTURE(family.name);
    const WideIndex index = index_of(family);
    const DenseMatrix a = family.matrix();
    const std::size_t n = a.n_rows;
    REQUIRE(index.n_contexts() == a.n_columns);
    for (const auto& [first, last] :
         {std::pair{std::size_t{0}, n}, std::pair{n / 3, n / 2}, std::pair{n / 2, n / 2}})
      check_products(index, a, first, last);
  }
}

TEST_CASE("many patterns are cut into blocks that a cache holds, with equal products") {
  Dice dice(1);
  const ContextFamily family =
      make_family("blocks", pairs_with_first(600), binary_rows(dice, 600, 400, 0.5));
  const WideIndex index = index_of(family);
  REQUIRE(index.blocks().size() > 1);
  std::size_t n_entries = 0, n_lookups = 0;
  for (const WideBlock& block : index.blocks()) {
    CHECK(block.n_entries() <= 4096);
    n_entries += block.n_entries();
    n_lookups += block.entries.size();
  }
  CHECK(index.n_entries() == n_entries);
  CHECK(index.n_lookups() == n_lookups);
  check_products(index, family.matrix(), 0, family.data.n_rows());
}

TEST_CASE("sums by entry are those by row to the last bit; many rows do without them") {
  Dice dice(3);
  const ContextFamily family =
      make_family("few rows", pairs_with_first(200), binary_rows(dice, 200, 300, 0.4));
  const std::size_t n = family.data.n_rows();
  const std::vector<double> g = dice.numbers(n * kLanes, -1.0, 1.0);
  const WideIndex index = index_of(family);
  for (const WideBlock& block : index.blocks()) {
    CHECK(block.order.size() == block.n_entries());
    AlignedVector<double> by_row(block.n_entries() * kLanes), by_entry(by_row.size(), 1e9);
    for (const SimdLevel level : simd_levels()) {
      run_kernel<detail::SpreadKernel>(level, &block, g.data(), std::size_t{0}, n, by_row.data());
      run_kernel<detail::GatherKernel>(level, &block, g.data(), by_entry.data());
      CHECK(same_bits(by_entry, by_row));
    }
  }
  const ContextFamily long_family =
      make_family("many rows", pairs_with_first(16), binary_rows(dice, 16, 40'000, 0.5));
  REQUIRE(long_family.data.n_rows() > 16'384);
  const WideIndex long_index = index_of(long_family);
  for (const WideBlock& block : long_index.blocks()) CHECK(block.order.empty());
}

TEST_CASE("more than 65535 rows") {
  Dice dice(2);
  const ContextFamily family =
      make_family("many rows", pairs_with_first(24), binary_rows(dice, 24, 67'000, 0.5));
  REQUIRE(family.data.n_rows() > 65'536);
  check_products(index_of(family), family.matrix(), 100, family.data.n_rows());
}

TEST_CASE("an index of nothing adds nothing") {
  const WideIndex none;
  std::vector<double> margins(kLanes, 2.0);
  AlignedVector<double> scratch;
  none.add_margins<double>(SimdLevel::plain, nullptr, 0, 1, margins.data(), scratch);
  CHECK(margins == std::vector<double>(kLanes, 2.0));
  CHECK(none.n_contexts() == 0);
  CHECK(none.bytes() == 0);
}

}  // namespace test_wide_index
