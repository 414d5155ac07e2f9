// base/hash.hpp against the published outputs of splitmix64, and for the qualities that hash tables
// rely on.
#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include <feldspar/base/hash.hpp>

namespace test_hash {

using namespace feldspar;

namespace {

constexpr std::uint64_t kGamma = 0x9e3779b97f4a7c15u;  // splitmix64 adds it before mixing

std::uint64_t hash_of(const std::vector<std::uint32_t>& items) {
  return hash_sequence(std::span<const std::uint32_t>(items));
}

}  // namespace

TEST_CASE("mix_bits gives the first outputs of splitmix64 with seed 0") {
  CHECK(mix_bits(1 * kGamma) == 0xe220a8397b1dcdafu);
  CHECK(mix_bits(2 * kGamma) == 0x6e789e6aa1b965f4u);
  CHECK(mix_bits(3 * kGamma) == 0x06c45d188009454fu);
  static_assert(mix_bits(0) == 0);
}

TEST_CASE("every input bit of mix_bits flips about half of the output bits") {
  constexpr int kSamples = 256;
  for (int bit = 0; bit < 64; ++bit) {
    CAPTURE(bit);
    int flipped = 0;
    for (std::uint64_t sample = 1; sample <= kSamples; ++sample) {
      const std::uint64_t x = mix_bits(sample * kGamma);
      flipped += std::popcount(mix_bits(x) ^ mix_bits(x ^ (std::uint64_t{1} << bit)));
    }
    CHECK(flipped > 30 * kSamples);
    CHECK(flipped < 34 * kSamples);
  }
}

TEST_CASE("combine_hash tells its arguments apart") {
  CHECK(combine_hash(1, 2) != combine_hash(2, 1));
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 100; ++seed)
    for (std::uint64_t value = 0; value < 100; ++value) seen.insert(combine_hash(seed, value));
  CHECK(seen.size() == 100 * 100);
}

TEST_CASE("sequences differ by content, order and length, zeros included") {
  CHECK(hash_of({1, 2, 3}) == hash_of({1, 2, 3}));
  const std::set<std::uint64_t> hashes{hash_of({}),        hash_of({0}),       hash_of({0, 0}),
                                       hash_of({1}),       hash_of({0, 1}),    hash_of({1, 0}),
                                       hash_of({1, 2, 3}), hash_of({3, 2, 1}), hash_of({1, 2})};
  CHECK(hashes.size() == 9);
}

TEST_CASE("sets differ by content and size but not by order, zeros included") {
  const auto hash_of_set = [](std::vector<std::uint32_t> items) {
    return hash_set(std::span<const std::uint32_t>(items));
  };
  CHECK(hash_of_set({1, 2, 3}) == hash_of_set({3, 1, 2}));
  std::set<std::uint64_t> hashes{hash_of_set({}), hash_of_set({0})};
  for (std::uint32_t a = 1; a < 60; ++a)
    for (std::uint32_t b = 0; b < a; ++b) hashes.insert(hash_of_set({a, b}));
  CHECK(hashes.size() == 2 + 59 * 60 / 2);
}

TEST_CASE("the hash of numbers does not depend on the type that holds them") {
  const std::vector<std::uint16_t> narrow{7, 8, 9};
  CHECK(hash_sequence(std::span<const std::uint16_t>(narrow)) == hash_of({7, 8, 9}));
}

}  // namespace test_hash
