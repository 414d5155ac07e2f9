// Log-probabilities of a variable's value from its margins, and their derivatives.
//
// A variable with l values has l - 1 margins: the log-odds of value k + 1 against value 0. The
// kernels below turn margins into the weighted log-likelihood of the observed values, and overwrite
// the margins with its derivative. `Counts` versions take, for each row, how much weight each value
// has there.
//
//   binary:   n1 log s(m) + n0 log s(-m),           derivative n1 - (n1 + n0) s(m)
//   general:  sum_k n_k m_k - n log(1 + sum e^m),   derivative n_k - n e^m_k / (1 + sum e^m)
//
// with s(m) = 1 / (1 + e^-m).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include <feldspar/base/numeric.hpp>
#include <feldspar/base/pack.hpp>
#include <feldspar/base/simd.hpp>

namespace feldspar {

inline constexpr std::size_t kLanePacks = 4;
inline constexpr std::size_t kLanes = kLanePacks * kPackSize;  // columns of a tile of margins

namespace detail {

// Adds the lanes in a fixed order.
FELDSPAR_ALWAYS_INLINE double add_lanes(const double* lanes, std::size_t n) noexcept {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += lanes[i];
  return sum;
}

// The sum of many numbers, in four that do not wait for each other.
inline double add_up(const double* numbers, std::size_t n) noexcept {
  double sums[kPackSize] = {};
  std::size_t i = 0;
  for (; i + kPackSize <= n; i += kPackSize)
    for (std::size_t k = 0; k < kPackSize; ++k) sums[k] += numbers[i + k];
  for (; i < n; ++i) sums[0] += numbers[i];
  return add_lanes(sums, kPackSize);
}

// What a margin m, with weight n1 on value 1 and n0 on value 0, adds to the log-likelihood: `linear`
// less (n1 + n0) log(1 + e). m becomes the derivative.
template <class Real>
struct LogisticStep {
  Real linear, e;

  FELDSPAR_ALWAYS_INLINE LogisticStep(Real& m, Real n1, Real n0) noexcept {
    const Real positive = select(m > 0.0, m, constant<Real>(0.0));
    e = exp_negative(m - 2.0 * positive);  // exp(-|m|)
    const Real inverse = 1.0 / (1.0 + e);
    const Real p = select(m > 0.0, inverse, e * inverse);
    linear = n1 * (m - positive) - n0 * positive;
    m = n1 - (n1 + n0) * p;
  }
};

// Whether each of kPackSize places has weight 1.
template <class Count>
FELDSPAR_ALWAYS_INLINE bool have_weight_one(const Count* ones, const Count* zeros) noexcept {
  bool all = true;
  for (std::size_t k = 0; k < kPackSize; ++k) all &= ones[k] + zeros[k] == 1;
  return all;
}

// Factors 1 + e are at most 2, so that a product of so many stays far from overflow.
inline constexpr std::size_t kMaxFactors = 128;

// The sum of log(1 + e) over places of weight 1 is taken as the logarithm of one product.
struct LogisticCountsKernel {
  template <class Count>
  FELDSPAR_ALWAYS_INLINE double operator()(double* margins, const Count* ones, const Count* zeros,
                                           std::size_t n) const noexcept {
    Pack sums = broadcast(0.0);
    std::size_t i = 0;
    while (i + kPackSize <= n) {
      const std::size_t end = std::min(n, i + kMaxFactors * kPackSize);
      Pack product = broadcast(1.0);
      for (; i + kPackSize <= end; i += kPackSize) {
        Pack m = load_pack(margins + i);
        const Pack n1 = load_pack(ones + i), n0 = load_pack(zeros + i);
        const LogisticStep<Pack> step(m, n1, n0);
        store_pack(margins + i, m);
        if (have_weight_one(ones + i, zeros + i)) {
          sums += step.linear;
          product *= 1.0 + step.e;
        } else {
          sums += step.linear - (n1 + n0) * log1p_unit(step.e);
        }
      }
      sums = sums - log_from_one(product);
    }
    double lanes[kPackSize];
    store_pack(lanes, sums);
    double value = add_lanes(lanes, kPackSize);
    for (; i < n; ++i) {
      const double n1 = ones[i], n0 = zeros[i];
      const LogisticStep<double> step(margins[i], n1, n0);
      value += step.linear - (n1 + n0) * log1p_unit(step.e);
    }
    return value;
  }
};

// One tile: kLanes binary columns side by side, one observed value a row and column. Rows of equal
// weight should be neighbours: the sum of log(1 + e) over a run of them is taken as the logarithm
// of one product.
struct LogisticTileKernel {
  // margins: rows x kLanes; observed: bit k of a row's word is the value in column k; lane_scale: 1
  // for columns in use, 0 for padding.
  FELDSPAR_ALWAYS_INLINE double operator()(double* margins, const std::uint16_t* observed,
                                           const double* weights, const double* lane_scale,
                                           std::size_t n) const noexcept {
    Pack totals[kLanePacks];
    for (Pack& total : totals) total = broadcast(0.0);
    for (std::size_t r = 0; r < n;) {
      std::size_t end = r + 1;
      while (end < n && end - r < kMaxFactors && weights[end] == weights[r]) ++end;
      Pack scales[kLanePacks];
      for (std::size_t p = 0; p < kLanePacks; ++p)
        scales[p] = weights[r] * load_pack(lane_scale + p * kPackSize);
      run(margins + r * kLanes, observed + r, end - r, scales, totals);
      r = end;
    }
    double lanes[kLanes];
    for (std::size_t p = 0; p < kLanePacks; ++p) store_pack(lanes + p * kPackSize, totals[p]);
    return add_lanes(lanes, kLanes);
  }

  // Rows of one weight.
  static FELDSPAR_ALWAYS_INLINE void run(double* margins, const std::uint16_t* observed,
                                         std::size_t n, const Pack* scales, Pack* totals) noexcept {
    const PackBits place = PackBits{0, 1, 2, 3};
    for (std::size_t p = 0; p < kLanePacks; ++p) {
      Pack sum = broadcast(0.0), product = broadcast(1.0);
      for (std::size_t r = 0; r < n; ++r) {
        double* own = margins + r * kLanes + p * kPackSize;
        // z: the margin in favour of what was observed.
        const std::uint64_t missed = static_cast<std::uint16_t>(~observed[r]);
        const PackBits flip = (broadcast_bits(missed >> (p * kPackSize)) >> place) << 63;
        const Pack z = from_bits(bits_of(load_pack(own)) ^ flip);
        const Pack positive = select(z > 0.0, z, broadcast(0.0));
        const Pack e = exp_negative(z - 2.0 * positive);
        const Pack inverse = 1.0 / (1.0 + e);
        const Pack miss = select(z > 0.0, e * inverse, inverse);  // probability of the other value
        sum += z - positive;
        product *= 1.0 + e;
        store_pack(own, from_bits(bits_of(scales[p] * miss) ^ flip));
      }
      totals[p] += scales[p] * (sum - log_from_one(product));
    }
  }
};

}  // namespace detail

template <class Count>
double logistic_counts(SimdLevel simd, std::span<double> margins, const Count* ones,
                       const Count* zeros) noexcept {
  return run_kernel<detail::LogisticCountsKernel>(simd, margins.data(), ones, zeros,
                                                  margins.size());
}

// One row of the general case. counts[0 .. n_margins] are the weights of the values 0 ... l - 1.
template <class Count>
double softmax_counts(double* margins, std::size_t n_margins, const Count* counts) noexcept {
  double top = 0;
  for (std::size_t k = 0; k < n_margins; ++k) top = std::max(top, margins[k]);
  double total = exp_negative(-top), weight = counts[0], value = 0;
  for (std::size_t k = 0; k < n_margins; ++k) {
    value += counts[k + 1] * margins[k];
    weight += counts[k + 1];
    margins[k] = exp_negative(margins[k] - top);
    total += margins[k];
  }
  const double scale = weight / total;
  for (std::size_t k = 0; k < n_margins; ++k) margins[k] = counts[k + 1] - scale * margins[k];
  return value - weight * (top + std::log(total));
}

// The general case where one value was observed with all the weight.
inline double softmax_observed(double* margins, std::size_t n_margins, std::size_t observed,
                               double weight) noexcept {
  double top = 0;
  for (std::size_t k = 0; k < n_margins; ++k) top = std::max(top, margins[k]);
  const double chosen = observed == 0 ? 0.0 : margins[observed - 1];
  double total = exp_negative(-top);
  for (std::size_t k = 0; k < n_margins; ++k) {
    margins[k] = exp_negative(margins[k] - top);
    total += margins[k];
  }
  const double scale = -weight / total;
  for (std::size_t k = 0; k < n_margins; ++k) margins[k] *= scale;
  if (observed > 0) margins[observed - 1] += weight;
  return weight * (chosen - top - std::log(total));
}

}  // namespace feldspar
