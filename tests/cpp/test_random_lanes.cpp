// base/random_lanes.hpp: every lane gives the bits of its own stream.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <feldspar/base/random_lanes.hpp>

#include "support/simd_levels.hpp"

namespace test_random_lanes {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

struct NextBitsKernel {
  FELDSPAR_ALWAYS_INLINE void operator()(std::uint64_t* out, std::uint64_t* states,
                                         std::size_t n) const noexcept {
    for (std::size_t i = 0; i < n; i += kPackSize) store_bits(out + i, next_bits(states, n, i));
  }
};

struct NextUniformsKernel {
  FELDSPAR_ALWAYS_INLINE void operator()(double* out, std::uint64_t* states,
                                         std::size_t n) const noexcept {
    for (std::size_t i = 0; i < n; i += kPackSize) store_pack(out + i, next_uniforms(states, n, i));
  }
};

std::vector<Random> streams(std::size_t n) {
  std::vector<Random> result;
  for (std::size_t i = 0; i < n; ++i) result.emplace_back(7, Stream{"lane", i});
  return result;
}

}  // namespace

TEST_CASE("lanes give the bits of their streams on every instruction set") {
  for (const SimdLevel level : simd_levels())
    for (const std::size_t n : {std::size_t{1}, std::size_t{4}, std::size_t{10}}) {
      auto single = streams(n);
      RandomLanes lanes(single);
      CHECK(lanes.n_lanes() == (n + 3) / 4 * 4);
      std::vector<std::uint64_t> bits(lanes.n_lanes());
      for (int round = 0; round < 50; ++round) {
        run_kernel<NextBitsKernel>(level, bits.data(), lanes.states(), lanes.n_lanes());
        for (std::size_t i = 0; i < n; ++i) CHECK(bits[i] == single[i].bits());
      }
    }
}

TEST_CASE("uniform lanes are the leading bits of their streams, below one") {
  for (const SimdLevel level : simd_levels()) {
    auto single = streams(10);
    RandomLanes lanes(single);
    std::vector<double> numbers(lanes.n_lanes());
    for (int round = 0; round < 50; ++round) {
      run_kernel<NextUniformsKernel>(level, numbers.data(), lanes.states(), lanes.n_lanes());
      for (std::size_t i = 0; i < single.size(); ++i) {
        CHECK(numbers[i] == static_cast<double>(single[i].bits() >> 12) * 0x1.0p-52);
        CHECK(numbers[i] < 1);
      }
    }
  }
}

}  // namespace test_random_lanes
