// Moves the bits of a word that a mask selects to its low end, in their order (what the instruction
// pext does), for one mask and many words.
//
// A selected bit travels as far as there are unselected bits below it. BitCompressor works out, once
// for the mask, which bits move by 1, by 2, by 4 ... places (parallel suffix, as in Warren, Hacker's
// Delight, 7-4); a word then takes six steps of plain shifts and masks, which compilers run on
// several words at a time on any instruction set.
#pragma once

#include <array>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/simd.hpp>

namespace feldspar {

class BitCompressor {
 public:
  FELDSPAR_ALWAYS_INLINE explicit BitCompressor(Word mask) noexcept : mask_(mask) {
    Word below = ~mask << 1;  // bit i: whether bit i - 1 is unselected
    for (std::size_t step = 0; step < kSteps; ++step) {
      Word odd = below;  // bit i: whether an odd number of bits of `below` is set up to i
      for (unsigned shift = 1; shift < kWordBits; shift *= 2) odd ^= odd << shift;
      moved_[step] = odd & mask;
      mask = (mask ^ moved_[step]) | (moved_[step] >> (1u << step));
      below &= ~odd;
    }
  }

  FELDSPAR_ALWAYS_INLINE Word operator()(Word word) const noexcept {
    word &= mask_;
    for (std::size_t step = 0; step < kSteps; ++step) {
      const Word moving = word & moved_[step];
      word = (word ^ moving) | (moving >> (1u << step));
    }
    return word;
  }

 private:
  static constexpr std::size_t kSteps = 6;

  Word mask_;
  std::array<Word, kSteps> moved_{};
};

}  // namespace feldspar
