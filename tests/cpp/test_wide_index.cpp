// objective/wide_index.hpp against dense matrix products, on every instruction set.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
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

// Of three ranges of rows, the last but one of them empty.
std::vector<Range> ranges_of(const ContextFamily& family) {
  const std::size_t n = family.data.n_rows();
  return {{0, n / 3}, {n / 3, n / 3}, {n / 3, n}};
}

WideIndex index_of(const ContextFamily& family, const std::vector<Range>& ranges) {
  return WideIndex(family.features, family.table(), family.data, family.contexts(), ranges);
}

std::vector<double> rows_of(const std::vector<double>& x, Range rows) {
  return {x.begin() + static_cast<std::ptrdiff_t>(rows.first * kLanes),
          x.begin() + static_cast<std::ptrdiff_t>(rows.last * kLanes)};
}

// Keeps only some rows of a vector over all rows.
std::vector<double> only_rows(std::vector<double> x, Range rows) {
  for (std::size_t i = 0; i < x.size(); ++i)
    if (i / kLanes < rows.first || i / kLanes >= rows.last) x[i] = 0;
  return x;
}

// Hands out rows of a whole U.
template <class Number>
auto rows_from(const std::vector<Number>& u) {
  return [&u](std::size_t first, std::size_t n, Number* out) {
    REQUIRE((first + n) * kLanes <= u.size());
    std::copy_n(u.data() + first * kLanes, n * kLanes, out);
  };
}

void check_products(const WideIndex& index, const DenseMatrix& a, std::size_t range, Range rows) {
  Dice dice(rows.first + 1);
  const std::vector<double> u = dice.numbers(a.n_columns * kLanes);
  const std::vector<double> g = dice.numbers(a.n_rows * kLanes);
  const std::vector<double> start = dice.numbers(rows.size() * kLanes);
  std::vector<double> expected = rows_of(a.times(u, kLanes), rows);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += start[i];
  const std::vector<double> expected_du = a.transpose_times(only_rows(g, rows), kLanes);

  std::vector<double> plain_margins, plain_du;
  for (const SimdLevel level : simd_levels()) {
    CAPTURE(static_cast<int>(level));
    AlignedVector<double> scratch(3, 5.0);  // left over from other work
    std::vector<double> margins = start;
    index.add_margins(level, range, rows_from(u), margins.data(), scratch);
    std::vector<double> du(u.size(), std::numeric_limits<double>::quiet_NaN());
    index.gradient<double>(level, range, g.data() + rows.first * kLanes, du.data(), scratch);
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
    index.add_margins(level, range, rows_from(single_u), single_margins.data(), single_scratch);
    std::vector<float> single_du(u.size(), std::numeric_limits<float>::quiet_NaN());
    index.gradient<float>(level, range, single_g.data() + rows.first * kLanes, single_du.data(),
                          single_scratch);
    CHECK(distance(std::vector<double>(single_margins.begin(), single_margins.end()), expected) <
          1e-5);
    CHECK(distance(std::vector<double>(single_du.begin(), single_du.end()), expected_du) < 1e-5);

    for (std::size_t i = 0; i < margins.size(); ++i) margins[i] -= start[i];
    CHECK(dot(margins, rows_of(g, rows)) ==
          doctest::Approx(dot(u, du)).epsilon(1e-11).scale(static_cast<double>(a.n_rows)));
  }
}

void check_products(const ContextFamily& family, const std::vector<Range>& ranges) {
  const WideIndex index = index_of(family, ranges);
  const DenseMatrix a = family.matrix();
  REQUIRE(index.n_contexts() == a.n_columns);
  for (std::size_t range = 0; range < ranges.size(); ++range)
    check_products(index, a, range, ranges[range]);
}

}  // namespace

TEST_CASE("A u and A' g equal dense products for every shape of contexts and range of rows") {
  for (const ContextFamily& family : context_families()) {
    CAPTURE(family.name);
    check_products(family, {{0, family.data.n_rows()}});
    check_products(family, ranges_of(family));
  }
}

TEST_CASE("many patterns are cut into blocks that a cache holds, with equal products") {
  Dice dice(1);
  const ContextFamily family =
      make_family("blocks", pairs_with_first(600), binary_rows(dice, 600, 400, 0.5));
  const WideIndex index = index_of(family, ranges_of(family));
  REQUIRE(index.blocks().size() > 1);
  std::size_t n_entries = 0, n_lookups = 0, n_contexts = 0;
  for (const WideBlock& block : index.blocks()) {
    CHECK(block.n_entries() <= 2048);
    CHECK(block.first_context == n_contexts);
    n_contexts += block.n_contexts;
    n_entries += block.n_entries();
    n_lookups += block.n_lookups();
  }
  CHECK(n_contexts == index.n_contexts());
  CHECK(index.n_entries() == n_entries);
  CHECK(index.n_lookups() == n_lookups);
  check_products(family, ranges_of(family));
}

TEST_CASE("contexts that hold on no row, in front of others, behind them and alone") {
  Dice dice(4);
  std::vector<std::int32_t> codes = random_codes(dice, Schema(std::vector<Value>(12, 2)), 50, 0.0);
  for (std::size_t i = 0; i < codes.size(); ++i)
    if (i % 12 == 1 || i % 12 == 6 || i % 12 == 11) codes[i] = 0;
  const auto with_first = [&](std::size_t n) {
    for (std::size_t i = 0; i < codes.size(); ++i)
      if (i % 12 >= n) codes[i] = 0;
    return make_family("absent", pairs_with_first(12),
                       Dataset::merge(Schema(std::vector<Value>(12, 2)), codes));
  };
  for (const std::size_t n : {12, 7, 1}) {
    const ContextFamily family = with_first(n);
    check_products(family, {{0, family.data.n_rows()}});
  }
}

TEST_CASE("sums by entry are those by row; many rows do without them") {
  Dice dice(3);
  const ContextFamily family =
      make_family("few rows", pairs_with_first(200), binary_rows(dice, 200, 300, 0.4));
  const std::size_t n = family.data.n_rows();
  const std::vector<double> g = dice.numbers(n * kLanes, -1.0, 1.0);
  const WideIndex index = index_of(family, {{0, n}});
  for (const WideBlock& block : index.blocks()) {
    const auto& [by_row, by_entry] = block.lookups[0];
    CHECK(by_entry.targets.size() == block.n_entries());
    AlignedVector<double> spread(block.n_entries() * kLanes, 0.0), summed(spread.size(), 1e9);
    run_kernel<detail::SpreadListsKernel>(simd_level(), &by_row, g.data(), spread.data());
    run_kernel<detail::SumListsKernel>(simd_level(), &by_entry, g.data(), summed.data(),
                                       std::false_type{});
    CHECK(distance(summed, spread) < 1e-13);
  }
  const ContextFamily long_family =
      make_family("many rows", pairs_with_first(16), binary_rows(dice, 16, 40'000, 0.5));
  const std::size_t many = long_family.data.n_rows();
  REQUIRE(many > 16'384);
  const WideIndex long_index = index_of(long_family, {{0, many - 1000}, {many - 1000, many}});
  for (const WideBlock& block : long_index.blocks()) {
    CHECK(block.lookups[0].by_entry.empty());
    CHECK(!block.lookups[1].by_entry.empty());
  }
}

TEST_CASE("more than 65535 rows") {
  Dice dice(2);
  const ContextFamily family =
      make_family("many rows", pairs_with_first(24), binary_rows(dice, 24, 67'000, 0.5));
  REQUIRE(family.data.n_rows() > 65'536);
  check_products(family, {{0, 100}, {100, family.data.n_rows()}});
}

TEST_CASE("an index of nothing adds nothing") {
  const WideIndex none;
  std::vector<double> margins(kLanes, 2.0);
  AlignedVector<double> scratch;
  const auto fill = [](std::size_t, std::size_t, double*) { FAIL("nothing to be filled"); };
  none.add_margins(SimdLevel::plain, 0, fill, margins.data(), scratch);
  CHECK(margins == std::vector<double>(kLanes, 2.0));
  CHECK(none.n_contexts() == 0);
  CHECK(none.bytes() == 0);
}

}  // namespace test_wide_index
