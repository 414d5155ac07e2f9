// Random numbers that are the same on every platform, in independent streams.
//
// Whatever may run at the same time - a chain, a tree, a variable - has a stream of its own, told
// by a name and a number: Random(seed, {"gibbs", chain}). What a stream gives depends on the seed,
// the name and the number alone, so that results do not depend on the number of threads, and work
// of different names draws different numbers from one seed.
//
// The generator is xoshiro256++ (Blackman and Vigna 2021; period 2^256 - 1, 32 bytes of state),
// started as its authors advise from SplitMix64. That is not for cryptography. The few
// distributions are our own: those of the standard library differ between its implementations.
#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include <feldspar/base/hash.hpp>

namespace feldspar {

// The generator of Steele, Lea and Flood (2014): a counter, finalised.
class SplitMix64 {
 public:
  constexpr explicit SplitMix64(std::uint64_t seed) noexcept : state_(seed) {}

  constexpr std::uint64_t operator()() noexcept { return mix_bits(state_ += 0x9e3779b97f4a7c15u); }

  // Uniform in 0 ... n - 1, for n > 0, without bias and nearly without branches (Lemire 2019): the
  // upper half of a product, drawn again where the lower half is among the 2^32 mod n too many.
  constexpr std::uint32_t below(std::uint32_t n) noexcept {
    assert(n > 0);
    std::uint64_t product = ((*this)() >> 32) * n;
    if (static_cast<std::uint32_t>(product) < n) [[unlikely]]
      for (const std::uint32_t surplus = (0 - n) % n;
           static_cast<std::uint32_t>(product) < surplus;)
        product = ((*this)() >> 32) * n;
    return static_cast<std::uint32_t>(product >> 32);
  }

 private:
  std::uint64_t state_;
};

class Xoshiro256 {
 public:
  // `state` must not be all zero.
  constexpr explicit Xoshiro256(std::array<std::uint64_t, 4> state) noexcept : s_(state) {}

  constexpr std::uint64_t operator()() noexcept {
    const std::uint64_t result = std::rotl(s_[0] + s_[3], 23) + s_[0];
    const std::uint64_t shifted = s_[1] << 17;
    s_[2] ^= s_[0];
    s_[3] ^= s_[1];
    s_[1] ^= s_[2];
    s_[0] ^= s_[3];
    s_[2] ^= shifted;
    s_[3] = std::rotl(s_[3], 45);
    return result;
  }

  constexpr const std::array<std::uint64_t, 4>& state() const noexcept { return s_; }

 private:
  std::array<std::uint64_t, 4> s_;
};

// Which stream of a seed: what the numbers are for (in ASCII), and for which of several.
struct Stream {
  std::string_view name;
  std::uint64_t number = 0;
};

class Random {
 public:
  constexpr Random(std::uint64_t seed, const Stream& stream) noexcept
      : generator_(first_state(seed, stream)) {}

  constexpr const Xoshiro256& generator() const noexcept { return generator_; }

  // 64 random bits.
  constexpr std::uint64_t bits() noexcept { return generator_(); }

  // Uniform in [0, 1): a multiple of 2^-53.
  constexpr double uniform() noexcept { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }

  // Uniform in 0 ... n - 1, for n > 0, without bias: numbers of as many bits as n - 1 has are drawn
  // until one is below n, fewer than two on average.
  constexpr std::uint64_t below(std::uint64_t n) noexcept {
    assert(n > 0);
    const auto width = static_cast<int>(std::bit_width(n - 1));
    if (width == 0) return 0;
    for (;;)
      if (const std::uint64_t x = bits() >> (64 - width); x < n) return x;
  }

  // An index, each with a chance in proportion to its weight. Weights are finite, not negative and
  // not all zero; an index of weight zero is never drawn.
  constexpr std::size_t choose(std::span<const double> weights) noexcept {
    double total = 0;
    for (const double w : weights) total += w;
    assert(total > 0);
    double rest = uniform() * total;
    std::size_t last = 0;  // rounding may leave something behind the last weight
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (weights[i] == 0) continue;
      if (rest < weights[i]) return i;
      rest -= weights[i];
      last = i;
    }
    return last;
  }

  // A random order, all equally likely (Fisher and Yates).
  template <class T>
  constexpr void shuffle(std::span<T> items) noexcept {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  static constexpr std::array<std::uint64_t, 4> first_state(std::uint64_t seed,
                                                            const Stream& stream) noexcept {
    const std::span<const char> name(stream.name.data(), stream.name.size());
    SplitMix64 words(combine_hash(combine_hash(hash_sequence(name), stream.number), seed));
    // A bijection of a counter: of four words in a row at most one is zero.
    return {words(), words(), words(), words()};
  }

  Xoshiro256 generator_;
};

}  // namespace feldspar
