// Run-time choice of the instruction set for hot kernels.
//
// A kernel is a stateless functor whose operator() is plain C++ marked FELDSPAR_ALWAYS_INLINE;
// run_kernel<Kernel>(args...) compiles it once for the baseline and once for AVX2 and calls what
// the processor has. Kernels work lane by lane and sums keep their order, and contraction to fused
// multiply-add is off in our builds, so both versions give the same bits.
//
// FELDSPAR_SIMD=plain in the environment forces the baseline.
#pragma once

#include <cstdlib>
#include <string_view>

#if defined(__GNUC__) && defined(__x86_64__)
#define FELDSPAR_HAS_AVX2_KERNELS 1
#define FELDSPAR_TARGET_AVX2 __attribute__((target("avx2,bmi,popcnt")))
#endif
#if defined(__GNUC__)
#define FELDSPAR_ALWAYS_INLINE inline __attribute__((always_inline))
// Right before the brace, and not with noexcept or mutable: compilers differ on the order.
#define FELDSPAR_ALWAYS_INLINE_LAMBDA __attribute__((always_inline))
#else
#define FELDSPAR_ALWAYS_INLINE inline
#define FELDSPAR_ALWAYS_INLINE_LAMBDA
#endif

namespace feldspar {

enum class SimdLevel { plain, avx2 };

// The best level of this processor, unless the environment asks for less. Decided once.
inline SimdLevel simd_level() noexcept {
  static const SimdLevel level = [] {
#ifdef FELDSPAR_HAS_AVX2_KERNELS
    const char* wish = std::getenv("FELDSPAR_SIMD");
    const bool plain = wish != nullptr && std::string_view(wish) == "plain";
    if (!plain && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi"))
      return SimdLevel::avx2;
#endif
    return SimdLevel::plain;
  }();
  return level;
}

namespace detail {

#ifdef FELDSPAR_HAS_AVX2_KERNELS
template <class Kernel, class... Args>
FELDSPAR_TARGET_AVX2 auto run_avx2(Args... args) {
  return Kernel{}(args...);
}
#endif

template <class Kernel, class... Args>
auto run_plain(Args... args) {
  return Kernel{}(args...);
}

}  // namespace detail

template <class Kernel, class... Args>
auto run_kernel(SimdLevel level, Args... args) {
#ifdef FELDSPAR_HAS_AVX2_KERNELS
  if (level == SimdLevel::avx2) return detail::run_avx2<Kernel>(args...);
#endif
  return detail::run_plain<Kernel>(args...);
}

}  // namespace feldspar
