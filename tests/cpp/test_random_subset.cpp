// base/random_subset.hpp: the number is right, nothing is lost, and all subsets are equally likely.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/random.hpp>
#include <feldspar/base/random_subset.hpp>

namespace test_random_subset {

using namespace feldspar;

TEST_CASE("as many stay as asked for, and the others are told") {
  Random random(1, {"test"});
  for (const std::size_t n_bits :
       {std::size_t{1}, std::size_t{5}, std::size_t{64}, std::size_t{300}})
    for (int every = 1; every <= 3; ++every) {
      std::vector<Word> whole(words_for(n_bits), 0);
      for (std::size_t i = 0; i < n_bits; i += static_cast<std::size_t>(every)) set_bit(whole, i);
      const std::size_t n = count_bits(whole);
      for (std::size_t n_kept = 0; n_kept <= n; ++n_kept) {
        std::vector<Word> kept = whole, dropped(whole.size(), ~Word{0});
        keep_random_bits(kept, n, n_kept, dropped, random);
        REQUIRE(count_bits(kept) == n_kept);
        for (std::size_t w = 0; w < whole.size(); ++w) {
          REQUIRE((kept[w] | dropped[w]) == whole[w]);
          REQUIRE((kept[w] & dropped[w]) == 0);
        }
      }
    }
}

TEST_CASE("all subsets of a size are equally likely") {
  // Five members in three words; every number of them.
  std::vector<Word> whole{Word{1} << 3 | Word{1} << 60, 0, Word{0b1011} << 7};
  constexpr std::size_t kMembers = 5;
  REQUIRE(count_bits(whole) == kMembers);
  constexpr int kDraws = 20000;
  for (std::size_t n_kept = 1; n_kept < kMembers; ++n_kept) {
    Random random(n_kept, {"test"});
    std::map<std::vector<Word>, int> counts;
    for (int i = 0; i < kDraws; ++i) {
      std::vector<Word> kept = whole, dropped(3);
      keep_random_bits(kept, kMembers, n_kept, dropped, random);
      ++counts[kept];
    }
    const std::size_t ways = n_kept == 1 || n_kept == 4 ? 5 : 10;
    CHECK(counts.size() == ways);
    const double expected = kDraws / static_cast<double>(ways);
    for (const auto& [kept, count] : counts)
      CHECK(std::abs(count - expected) < 5 * std::sqrt(expected));
  }
}

TEST_CASE("the chance of a word's bits") {
  Random random(9, {"test"});
  for (const std::uint32_t chance : {0u, 1u, 96u, 128u, 255u, 256u}) {
    constexpr int kWords = 4000;
    int ones = 0;
    for (int i = 0; i < kWords; ++i) ones += std::popcount(detail::random_word(chance, random));
    const double p = chance / 256.0, n = 64.0 * kWords;
    CHECK(std::abs(ones - n * p) <= 5 * std::sqrt(n * p * (1 - p)));
  }
}

}  // namespace test_random_subset
