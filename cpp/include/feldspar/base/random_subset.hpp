// Random subsets of a given size, all equally likely, a word of 64 members at a time.
//
// First each member stays by itself with about the chance it should have; then members are taken out
// or put back one by one until the number is right, about the square root of it. No step tells
// members apart, so that all subsets of the size are equally likely, whatever the first chance was.
//
// Cost: about eight random words a word of members, and a look at all words for each one that is
// moved. Selection sampling needs a random number a member.
#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/random.hpp>

namespace feldspar {

namespace detail {

inline constexpr int kChanceBits = 8;

// A word of independent bits, each 1 with a chance of `chance` / 2^kChanceBits.
inline Word random_word(std::uint32_t chance, Random& random) noexcept {
  if (chance >> kChanceBits != 0) return ~Word{0};
  if (chance == 0) return 0;
  Word word = 0;
  for (int bit = std::countr_zero(chance); bit < kChanceBits; ++bit)
    word = (chance >> bit) & 1 ? word | random.bits() : word & random.bits();
  return word;
}

// Moves one of the `n` members of a set to another, all equally likely.
inline void move_random_bit(std::span<Word> from, std::size_t n, std::span<Word> to,
                            Random& random) noexcept {
  std::size_t before = random.below(n), w = 0;
  for (;; ++w) {
    const auto here = static_cast<std::size_t>(std::popcount(from[w]));
    if (before < here) break;
    before -= here;
  }
  Word rest = from[w];
  for (; before > 0; --before) rest &= rest - 1;
  const Word bit = rest & (~rest + 1);
  from[w] ^= bit;
  to[w] |= bit;
}

}  // namespace detail

// Leaves `n_kept` of the `n` members of a set and puts the others into `dropped`, which has as many
// words.
inline void keep_random_bits(std::span<Word> kept, std::size_t n, std::size_t n_kept,
                             std::span<Word> dropped, Random& random) noexcept {
  assert(n == count_bits(kept) && n_kept <= n && dropped.size() == kept.size());
  if (n == 0) return;
  const auto chance = static_cast<std::uint32_t>(((n_kept << detail::kChanceBits) + n / 2) / n);
  for (std::size_t w = 0; w < kept.size(); ++w) {
    const Word stays = kept[w] == 0 ? 0 : detail::random_word(chance, random);
    dropped[w] = kept[w] & ~stays;
    kept[w] &= stays;
  }
  std::size_t count = count_bits(kept);
  for (; count > n_kept; --count) detail::move_random_bit(kept, count, dropped, random);
  for (; count < n_kept; ++count) detail::move_random_bit(dropped, n - count, kept, random);
}

}  // namespace feldspar
