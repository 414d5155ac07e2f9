// Four doubles that are computed with as one: a thin name for the compiler's own vector types, with
// a plain struct where there are none. Arithmetic, comparison and select work lane by lane, so
// results do not depend on whether the compiler maps a Pack to one AVX register, two SSE registers
// or a loop.
//
// select(), bits_of() and from_bits() also take single doubles, so that one formula serves both.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <feldspar/base/simd.hpp>

namespace feldspar {

inline constexpr std::size_t kPackSize = 4;

#if defined(__GNUC__)
typedef double Pack __attribute__((vector_size(32)));
typedef std::uint64_t PackBits __attribute__((vector_size(32)));

FELDSPAR_ALWAYS_INLINE Pack broadcast(double x) noexcept { return Pack{x, x, x, x}; }
FELDSPAR_ALWAYS_INLINE PackBits broadcast_bits(std::uint64_t x) noexcept {
  return PackBits{x, x, x, x};
}
template <class Mask>
FELDSPAR_ALWAYS_INLINE Pack select(Mask mask, Pack yes, Pack no) noexcept {
  return mask ? yes : no;
}
FELDSPAR_ALWAYS_INLINE PackBits bits_of(Pack x) noexcept { return (PackBits)x; }
FELDSPAR_ALWAYS_INLINE Pack from_bits(PackBits x) noexcept { return (Pack)x; }
#else
struct PackBits {
  std::uint64_t lane[kPackSize];
};
struct Pack {
  double lane[kPackSize];
};

namespace detail {
template <class Out, class In, class Function>
FELDSPAR_ALWAYS_INLINE Out each_lane(const In& a, const In& b, Function function) noexcept {
  Out out{};
  for (std::size_t i = 0; i < kPackSize; ++i) out.lane[i] = function(a.lane[i], b.lane[i]);
  return out;
}
}  // namespace detail

FELDSPAR_ALWAYS_INLINE Pack broadcast(double x) noexcept { return {{x, x, x, x}}; }
FELDSPAR_ALWAYS_INLINE PackBits broadcast_bits(std::uint64_t x) noexcept { return {{x, x, x, x}}; }
inline Pack operator+(Pack a, Pack b) noexcept {
  return detail::each_lane<Pack>(a, b, [](double x, double y) { return x + y; });
}
inline Pack operator-(Pack a, Pack b) noexcept {
  return detail::each_lane<Pack>(a, b, [](double x, double y) { return x - y; });
}
inline Pack operator*(Pack a, Pack b) noexcept {
  return detail::each_lane<Pack>(a, b, [](double x, double y) { return x * y; });
}
inline Pack operator/(Pack a, Pack b) noexcept {
  return detail::each_lane<Pack>(a, b, [](double x, double y) { return x / y; });
}
inline PackBits operator<(Pack a, Pack b) noexcept {
  return detail::each_lane<PackBits>(a, b, [](double x, double y) { return x < y ? ~0ull : 0ull; });
}
inline PackBits operator>(Pack a, Pack b) noexcept { return b < a; }
inline Pack operator+(Pack a, double b) noexcept { return a + broadcast(b); }
inline Pack operator+(double a, Pack b) noexcept { return broadcast(a) + b; }
inline Pack operator-(Pack a, double b) noexcept { return a - broadcast(b); }
inline Pack operator*(Pack a, double b) noexcept { return a * broadcast(b); }
inline Pack operator*(double a, Pack b) noexcept { return broadcast(a) * b; }
inline Pack operator/(double a, Pack b) noexcept { return broadcast(a) / b; }
inline PackBits operator<(Pack a, double b) noexcept { return a < broadcast(b); }
inline PackBits operator>(Pack a, double b) noexcept { return a > broadcast(b); }
inline Pack& operator+=(Pack& a, Pack b) noexcept { return a = a + b; }
inline PackBits operator+(PackBits a, std::uint64_t b) noexcept {
  return detail::each_lane<PackBits>(a, broadcast_bits(b), [](auto x, auto y) { return x + y; });
}
inline PackBits operator+(PackBits a, PackBits b) noexcept {
  return detail::each_lane<PackBits>(a, b, [](auto x, auto y) { return x + y; });
}
inline PackBits& operator+=(PackBits& a, PackBits b) noexcept { return a = a + b; }
inline PackBits operator<<(PackBits a, int b) noexcept {
  for (auto& lane : a.lane) lane <<= b;
  return a;
}
inline PackBits operator>>(PackBits a, PackBits b) noexcept {
  return detail::each_lane<PackBits>(a, b, [](auto x, auto y) { return x >> y; });
}
inline PackBits operator^(PackBits a, PackBits b) noexcept {
  return detail::each_lane<PackBits>(a, b, [](auto x, auto y) { return x ^ y; });
}
inline PackBits operator&(PackBits a, PackBits b) noexcept {
  return detail::each_lane<PackBits>(a, b, [](auto x, auto y) { return x & y; });
}
inline PackBits operator|(PackBits a, PackBits b) noexcept {
  return detail::each_lane<PackBits>(a, b, [](auto x, auto y) { return x | y; });
}
inline PackBits operator&(PackBits a, std::uint64_t b) noexcept {
  return detail::each_lane<PackBits>(a, broadcast_bits(b), [](auto x, auto y) { return x & y; });
}
inline PackBits operator|(PackBits a, std::uint64_t b) noexcept {
  return detail::each_lane<PackBits>(a, broadcast_bits(b), [](auto x, auto y) { return x | y; });
}
inline PackBits operator>>(PackBits a, int b) noexcept {
  for (auto& lane : a.lane) lane >>= b;
  return a;
}
inline Pack& operator*=(Pack& a, Pack b) noexcept { return a = a * b; }
inline Pack select(PackBits mask, Pack yes, Pack no) noexcept {
  for (std::size_t i = 0; i < kPackSize; ++i)
    if (mask.lane[i] == 0) yes.lane[i] = no.lane[i];
  return yes;
}
inline PackBits bits_of(Pack x) noexcept { return std::bit_cast<PackBits>(x); }
inline Pack from_bits(PackBits x) noexcept { return std::bit_cast<Pack>(x); }
#endif

FELDSPAR_ALWAYS_INLINE Pack load_pack(const double* from) noexcept {
  Pack pack;
  std::memcpy(&pack, from, sizeof pack);
  return pack;
}
// In double precision.
FELDSPAR_ALWAYS_INLINE Pack load_pack(const float* from) noexcept {
#if defined(__GNUC__)
  typedef float Floats __attribute__((vector_size(kPackSize * sizeof(float))));
  Floats floats;
  std::memcpy(&floats, from, sizeof floats);
  return __builtin_convertvector(floats, Pack);
#else
  Pack pack;
  for (std::size_t i = 0; i < kPackSize; ++i) pack.lane[i] = from[i];
  return pack;
#endif
}
// Whole numbers of up to 16 bits become floating.
template <std::unsigned_integral Number>
  requires(sizeof(Number) <= 2)
FELDSPAR_ALWAYS_INLINE Pack load_pack(const Number* from) noexcept {
#if defined(__GNUC__)
  typedef Number Numbers __attribute__((vector_size(kPackSize * sizeof(Number))));
  typedef std::int32_t Wide __attribute__((vector_size(kPackSize * sizeof(std::int32_t))));
  Numbers numbers;
  std::memcpy(&numbers, from, sizeof numbers);
  // By way of the one width that processors convert.
  return __builtin_convertvector(__builtin_convertvector(numbers, Wide), Pack);
#else
  Pack pack;
  for (std::size_t i = 0; i < kPackSize; ++i) pack.lane[i] = from[i];
  return pack;
#endif
}
FELDSPAR_ALWAYS_INLINE void store_pack(double* to, const Pack& pack) noexcept {
  std::memcpy(to, &pack, sizeof pack);
}

// In single precision.
FELDSPAR_ALWAYS_INLINE void store_pack(float* to, const Pack& pack) noexcept {
#if defined(__GNUC__)
  typedef float Floats __attribute__((vector_size(kPackSize * sizeof(float))));
  const Floats floats = __builtin_convertvector(pack, Floats);
  std::memcpy(to, &floats, sizeof floats);
#else
  for (std::size_t i = 0; i < kPackSize; ++i) to[i] = static_cast<float>(pack.lane[i]);
#endif
}

FELDSPAR_ALWAYS_INLINE PackBits load_bits(const std::uint64_t* from) noexcept {
  PackBits bits;
  std::memcpy(&bits, from, sizeof bits);
  return bits;
}
FELDSPAR_ALWAYS_INLINE void store_bits(std::uint64_t* to, const PackBits& bits) noexcept {
  std::memcpy(to, &bits, sizeof bits);
}
// Whether any bit of any lane is set.
FELDSPAR_ALWAYS_INLINE bool any_bit(const PackBits& bits) noexcept {
  std::uint64_t lane[kPackSize];
  std::memcpy(lane, &bits, sizeof bits);
  return (lane[0] | lane[1] | lane[2] | lane[3]) != 0;
}

FELDSPAR_ALWAYS_INLINE double select(bool mask, double yes, double no) noexcept {
  return mask ? yes : no;
}
FELDSPAR_ALWAYS_INLINE std::uint64_t bits_of(double x) noexcept {
  return std::bit_cast<std::uint64_t>(x);
}
FELDSPAR_ALWAYS_INLINE double from_bits(std::uint64_t x) noexcept {
  return std::bit_cast<double>(x);
}

// As many numbers as a Real holds.
template <class Real>
FELDSPAR_ALWAYS_INLINE Real load(const double* from) noexcept {
  if constexpr (sizeof(Real) == sizeof(double))
    return *from;
  else
    return load_pack(from);
}
FELDSPAR_ALWAYS_INLINE void store(double* to, double x) noexcept { *to = x; }
FELDSPAR_ALWAYS_INLINE void store(double* to, const Pack& x) noexcept { store_pack(to, x); }

// The same number in every lane, or the number itself.
template <class Real>
FELDSPAR_ALWAYS_INLINE Real constant(double x) noexcept {
  if constexpr (sizeof(Real) == sizeof(double))
    return x;
  else
    return broadcast(x);
}

}  // namespace feldspar
