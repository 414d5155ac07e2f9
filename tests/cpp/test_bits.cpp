// base/bits.hpp against std::set<std::size_t>, with sizes on both sides of a word's border.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/hash.hpp>
#include <feldspar/base/simd.hpp>

namespace test_bits {

using namespace feldspar;

namespace {

const std::vector<std::size_t> kSizes{0, 1, 2, 63, 64, 65, 127, 128, 129, 1000};

// Some members of [0, bits): about half, chosen by a hash so that every run sees the same.
std::set<std::size_t> some_members(std::size_t bits) {
  std::set<std::size_t> members;
  for (std::size_t i = 0; i < bits; ++i)
    if (mix_bits(i + 1) % 2 == 0) members.insert(i);
  return members;
}

std::vector<Word> packed(std::size_t bits, const std::set<std::size_t>& members) {
  std::vector<Word> words(words_for(bits), 0);
  for (const std::size_t i : members) set_bit(words, i);
  return words;
}

}  // namespace

TEST_CASE("words_for is the least number of words that holds the bits") {
  for (const std::size_t bits : kSizes) {
    CAPTURE(bits);
    CHECK(words_for(bits) * kWordBits >= bits);
    CHECK(words_for(bits) * kWordBits < bits + kWordBits);
  }
}

TEST_CASE("tail_mask has one bit per used bit of the last word") {
  CHECK(tail_mask(1) == Word{1});
  CHECK(tail_mask(63) == ~Word{0} >> 1);
  CHECK(tail_mask(64) == ~Word{0});
  CHECK(tail_mask(65) == Word{1});
}

TEST_CASE("a packed set agrees with std::set") {
  for (const std::size_t bits : kSizes) {
    CAPTURE(bits);
    const std::set<std::size_t> members = some_members(bits);
    const std::vector<Word> words = packed(bits, members);

    CHECK(count_bits(words) == members.size());
    for (std::size_t i = 0; i < bits; ++i) {
      CAPTURE(i);
      CHECK(test_bit(words, i) == members.contains(i));
    }

    std::vector<std::size_t> visited;
    for_each_bit(words, [&](std::size_t i) { visited.push_back(i); });
    CHECK(visited == std::vector<std::size_t>(members.begin(), members.end()));
  }
}

TEST_CASE(
    "members are listed in order on every instruction set, whether words are full or nearly "
    "empty") {
  for (const std::uint64_t one_of : {1u, 2u, 20u, 300u})
    for (const SimdLevel simd : {SimdLevel::plain, simd_level()}) {
      CAPTURE(one_of);
      std::vector<Word> words(words_for(1000), 0);
      std::vector<std::uint32_t> expected;
      for (std::uint32_t i = 0; i < 1000; ++i)
        if (mix_bits(i + 1) % one_of == 0) {
          set_bit(words, i);
          expected.push_back(i);
        }
      std::vector<std::uint32_t> listed(expected.size() + kListBitsSpare);
      listed.resize(run_kernel<ListBitsKernel>(simd, words.data(), words.size(), listed.data()));
      CHECK(listed == expected);
    }
}

TEST_CASE("fill_bits sets every used bit and leaves the unused ones zero") {
  for (const std::size_t bits : kSizes) {
    CAPTURE(bits);
    std::vector<Word> words(words_for(bits), 0);
    fill_bits(words, bits);
    CHECK(count_bits(words) == bits);
    if (bits > 0) CHECK(words.back() == tail_mask(bits));
  }
}

}  // namespace test_bits
