// base/random_subset.hpp: nothing is lost, swaps can be taken back, and all subsets are equally
// likely, whatever order the items are in.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <span>
#include <vector>

#include <feldspar/base/random.hpp>
#include <feldspar/base/random_subset.hpp>

namespace test_random_subset {

using namespace feldspar;

TEST_CASE("items only change places, and swaps taken back leave them as they were") {
  SplitMix64 random(1);
  for (const std::size_t n : {std::size_t{1}, std::size_t{2}, std::size_t{5}, std::size_t{30}})
    for (std::size_t k = 0; k <= n; ++k) {
      std::vector<int> items(n);
      std::iota(items.begin(), items.end(), 0);
      const std::vector<int> before = items;
      std::vector<std::uint32_t> partners(n_subset_swaps(n, k));
      bring_to_front(std::span(items), k, random, partners.data());
      REQUIRE(std::ranges::is_permutation(items, before));
      take_back(std::span(items), k, partners.data());
      REQUIRE(items == before);
    }
}

TEST_CASE("all subsets of a size are equally likely") {
  constexpr std::size_t kItems = 5;
  constexpr int kDraws = 20000;
  for (std::size_t k = 1; k < kItems; ++k) {
    SplitMix64 random(k);
    std::map<std::vector<int>, int> counts;
    for (int i = 0; i < kDraws; ++i) {
      std::vector<int> items{3, 0, 4, 1, 2};
      std::vector<std::uint32_t> partners(n_subset_swaps(kItems, k));
      bring_to_front(std::span(items), k, random, partners.data());
      items.resize(k);
      std::ranges::sort(items);
      ++counts[items];
    }
    const std::size_t ways = k == 1 || k == 4 ? 5 : 10;
    CHECK(counts.size() == ways);
    const double expected = kDraws / static_cast<double>(ways);
    for (const auto& [items, count] : counts)
      CHECK(std::abs(count - expected) < 5 * std::sqrt(expected));
  }
}

}  // namespace test_random_subset
