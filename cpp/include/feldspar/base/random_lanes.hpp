// Several random streams in step: one number of each at a time, with the generators side by side
// in packs. Every stream gives the bits that its Random would give, on every instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <feldspar/base/pack.hpp>
#include <feldspar/base/random.hpp>
#include <feldspar/base/simd.hpp>

namespace feldspar {

constexpr std::size_t whole_packs(std::size_t n) noexcept {
  return (n + kPackSize - 1) / kPackSize * kPackSize;
}

class RandomLanes {
 public:
  // Lanes are filled up to whole packs with generators whose numbers nobody looks at.
  explicit RandomLanes(std::span<const Random> streams)
      : n_(whole_packs(streams.size())), states_(4 * n_, 1) {
    for (std::size_t i = 0; i < streams.size(); ++i)
      for (std::size_t k = 0; k < 4; ++k) states_[k * n_ + i] = streams[i].generator().state()[k];
  }

  std::size_t n_lanes() const noexcept { return n_; }
  std::uint64_t* states() noexcept {
    return states_.data();
  }  // word k of lane i at k * n_lanes() + i

 private:
  std::size_t n_;
  std::vector<std::uint64_t> states_;
};

// The next 64 bits of lanes i ... i + 3 (xoshiro256++, see random.hpp).
FELDSPAR_ALWAYS_INLINE PackBits next_bits(std::uint64_t* states, std::size_t n_lanes,
                                          std::size_t i) noexcept {
  std::uint64_t *p0 = states + i, *p1 = p0 + n_lanes, *p2 = p1 + n_lanes, *p3 = p2 + n_lanes;
  PackBits s0 = load_bits(p0), s1 = load_bits(p1), s2 = load_bits(p2), s3 = load_bits(p3);
  const PackBits sum = s0 + s3;
  const PackBits result = ((sum << 23) | (sum >> 41)) + s0;
  const PackBits shifted = s1 << 17;
  s2 = s2 ^ s0;
  s3 = s3 ^ s1;
  s1 = s1 ^ s2;
  s0 = s0 ^ s3;
  s2 = s2 ^ shifted;
  s3 = (s3 << 45) | (s3 >> 19);
  store_bits(p0, s0);
  store_bits(p1, s1);
  store_bits(p2, s2);
  store_bits(p3, s3);
  return result;
}

// Uniform in [0, 1): a multiple of 2^-52, by putting the bits into the mantissa of a number in [1, 2).
FELDSPAR_ALWAYS_INLINE Pack next_uniforms(std::uint64_t* states, std::size_t n_lanes,
                                          std::size_t i) noexcept {
  constexpr std::uint64_t kOneBits = std::uint64_t{1023} << 52;
  return from_bits((next_bits(states, n_lanes, i) >> 12) | kOneBits) - 1.0;
}

}  // namespace feldspar
