// exp and log for doubles and packs of them: branch-free formulas with the same bits on every
// instruction set (no library call, no fused multiply-add, fixed order of operations).
//
// Relative error below 4e-16 for exp_negative and log_from_one, absolute error below 4e-16 for
// log1p_unit and, times 1 + |log x|, for log_positive; tested against the standard library over
// their whole ranges.
#pragma once

#include <cstdint>

#include <feldspar/base/pack.hpp>
#include <feldspar/base/simd.hpp>

namespace feldspar {

// exp(x) for x <= 0; below -708 it returns exp(-708), about 3e-308.
// x = k ln 2 + r with |r| <= ln 2 / 2; exp(r) by its Taylor polynomial of degree 13, whose
// remainder is below 4e-18; 2^k by exponent arithmetic. `Real` is double or Pack.
template <class Real>
FELDSPAR_ALWAYS_INLINE Real exp_negative(Real x) noexcept {
  constexpr double kShift = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer
  constexpr double kLog2e = 1.4426950408889634;
  constexpr double kLn2High = 0.6931471803691238;  // the leading bits: k * kLn2High is exact
  constexpr double kLn2Low = 1.9082149292705877e-10;
  x = select(x < -708.0, constant<Real>(-708.0), x);
  const Real shifted = x * kLog2e + kShift;
  const Real k = shifted - kShift;
  const Real r = (x - k * kLn2High) - k * kLn2Low;
  const Real r2 = r * r;
  const Real r4 = r2 * r2;
  const Real low = (1.0 + r) + r2 * (1.0 / 2 + r * (1.0 / 6));
  const Real middle = (1.0 / 24 + r * (1.0 / 120)) + r2 * (1.0 / 720 + r * (1.0 / 5040));
  const Real high =
      ((1.0 / 40320 + r * (1.0 / 362880)) + r2 * (1.0 / 3628800 + r * (1.0 / 39916800))) +
      r4 * (1.0 / 479001600 + r * (1.0 / 6227020800.0));
  const Real mantissa = low + r4 * (middle + r4 * high);
  return mantissa * from_bits((bits_of(shifted) + std::uint64_t{1023}) << 52);
}

// log(1 + e) for 0 <= e <= 1. With f = e, or f = (e - 1) / 2 and one ln 2 taken out where 1 + e is
// beyond sqrt 2, log(1 + f) = 2 artanh(s), s = f / (2 + f), |s| <= 0.1716; ten terms of the series.
template <class Real>
FELDSPAR_ALWAYS_INLINE Real log1p_unit(Real e) noexcept {
  constexpr double kLn2 = 0.6931471805599453;
  const auto large = e > 0.41421356237309503;
  const Real f = select(large, (e - 1.0) * 0.5, e);
  const Real s = f / (2.0 + f);
  const Real t = s * s;
  const Real t2 = t * t;
  const Real t4 = t2 * t2;
  const Real low = (1.0 / 3 + t * (1.0 / 5)) + t2 * (1.0 / 7 + t * (1.0 / 9));
  const Real high =
      ((1.0 / 11 + t * (1.0 / 13)) + t2 * (1.0 / 15 + t * (1.0 / 17))) + t4 * (1.0 / 19);
  const Real twice = s + s;
  const Real series = twice + twice * (t * (low + t4 * high));
  return series + select(large, constant<Real>(kLn2), constant<Real>(0.0));
}

// log(x) for positive, finite x that is not subnormal: x = 2^k (1 + e), log x = k ln 2 + log(1 + e).
template <class Real>
FELDSPAR_ALWAYS_INLINE Real log_positive(Real x) noexcept {
  constexpr double kLn2 = 0.6931471805599453;
  constexpr std::uint64_t kMantissa = (std::uint64_t{1} << 52) - 1;
  constexpr std::uint64_t kOneBits = std::uint64_t{1023} << 52;
  // The exponent as a number: 2^52 + exponent has it in its lowest bits.
  const Real k = from_bits((bits_of(x) >> 52) | (std::uint64_t{0x433} << 52)) - 4503599627371519.0;
  const Real mantissa = from_bits((bits_of(x) & kMantissa) | kOneBits);
  return k * kLn2 + log1p_unit(mantissa - 1.0);
}

// log(x) for finite x >= 1, where the two terms above do not cancel.
template <class Real>
FELDSPAR_ALWAYS_INLINE Real log_from_one(Real x) noexcept {
  return log_positive(x);
}

}  // namespace feldspar
