// Sets of rows as packed bits: 64 rows a word, unused bits of the last word always zero.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include <feldspar/base/simd.hpp>

namespace feldspar {

using Word = std::uint64_t;
inline constexpr std::size_t kWordBits = 64;

constexpr std::size_t words_for(std::size_t bits) noexcept {
  return (bits + kWordBits - 1) / kWordBits;
}

// The used bits of the last word of a set of `bits` rows.
constexpr Word tail_mask(std::size_t bits) noexcept {
  const std::size_t used = bits % kWordBits;
  return used == 0 ? ~Word{0} : (Word{1} << used) - 1;
}

inline bool test_bit(std::span<const Word> words, std::size_t i) noexcept {
  return (words[i / kWordBits] >> (i % kWordBits)) & 1;
}

inline void set_bit(std::span<Word> words, std::size_t i) noexcept {
  words[i / kWordBits] |= Word{1} << (i % kWordBits);
}

inline std::size_t count_bits(std::span<const Word> words) noexcept {
  std::size_t count = 0;
  for (const Word word : words) count += static_cast<std::size_t>(std::popcount(word));
  return count;
}

// Calls visit(row) for every member, in ascending order.
template <class Visit>
void for_each_bit(std::span<const Word> words, Visit&& visit) {
  for (std::size_t w = 0; w < words.size(); ++w)
    for (Word rest = words[w]; rest != 0; rest &= rest - 1)
      visit(w * kWordBits + static_cast<std::size_t>(std::countr_zero(rest)));
}

// Writes the members, in ascending order, and returns how many there are. `out` has room for
// kListBitsSpare more than that, which are overwritten: most words of a sparse set have few members,
// and a loop over just these would be a guess for every word.
inline constexpr std::size_t kListBitsSpare = 4;

struct ListBitsKernel {
  FELDSPAR_ALWAYS_INLINE std::size_t operator()(const Word* words, std::size_t n_words,
                                                std::uint32_t* out) const noexcept {
    std::uint32_t* next = out;
    for (std::size_t w = 0; w < n_words; ++w) {
      Word rest = words[w];
      if (rest == 0) continue;
      const auto first = static_cast<std::uint32_t>(w * kWordBits);
      const auto n = static_cast<std::size_t>(std::popcount(rest));
      const auto take = [&](std::size_t k) {
        next[k] = first + static_cast<std::uint32_t>(std::countr_zero(rest));
        rest &= rest - 1;
      };
      for (std::size_t k = 0; k < kListBitsSpare; ++k) take(k);
      for (std::size_t k = kListBitsSpare; k < n; ++k) take(k);
      next += n;
    }
    return static_cast<std::size_t>(next - out);
  }
};

// All `bits` rows.
inline void fill_bits(std::span<Word> words, std::size_t bits) noexcept {
  for (Word& word : words) word = ~Word{0};
  if (!words.empty()) words.back() = tail_mask(bits);
}

}  // namespace feldspar
