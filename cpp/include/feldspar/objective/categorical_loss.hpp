// The negative log-likelihood of one variable's values as a function of margins, row by row.
//
// A variable with two values has one channel, the log-odds m of the second against the first; one
// with l > 2 values has l channels, P(k) = exp(m_k) / sum_j exp(m_j), which is over-parametrised on
// purpose (a penalty makes it unique, and all values are treated alike). Margins and all that is
// derived from them are arrays by channel, then row:
//
//   loss          sum_r weight_r (log sum_j exp(m_rj) - m_r,observed)
//   residual_rk   its derivative, weight_r P_r(k) - weight_r [k observed]
//
// The Hessian by the margins of a row is weight_r (diag P - P P'), a sum over pairs of values:
//   sum over j < k of  weight_r P(j) P(k) (e_j - e_k)(e_j - e_k)',
// which pair_curvature() gives pair by pair. Kernels work lane by lane: the same bits on every
// instruction set.
#pragma once

#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include <feldspar/base/numeric.hpp>
#include <feldspar/base/pack.hpp>
#include <feldspar/base/simd.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/objective/logistic.hpp>

namespace feldspar {

namespace detail {

// One channel: the second of two values.
struct TwoValuesKernel {
  template <class Real>
  static FELDSPAR_ALWAYS_INLINE Real step(Real m, Real weight, Real observed, Real& residual,
                                          Real& probability) noexcept {
    const Real positive = select(m > 0.0, m, constant<Real>(0.0));
    const Real e = exp_negative(m - 2.0 * positive);  // exp(-|m|)
    const Real inverse = 1.0 / (1.0 + e);
    probability = select(m > 0.0, inverse, e * inverse);
    residual = weight * probability - observed;
    return weight * (positive + log1p_unit(e)) - observed * m;
  }

  FELDSPAR_ALWAYS_INLINE double operator()(const double* margins, const double* weights,
                                           const double* observed, double* residuals,
                                           double* probabilities, std::size_t n) const noexcept {
    Pack sums = broadcast(0.0);
    std::size_t r = 0;
    for (; r + kPackSize <= n; r += kPackSize) {
      Pack residual, probability;
      sums += step(load_pack(margins + r), load_pack(weights + r), load_pack(observed + r),
                   residual, probability);
      store_pack(residuals + r, residual);
      store_pack(probabilities + r, probability);
    }
    double lanes[kPackSize];
    store_pack(lanes, sums);
    double loss = add_lanes(lanes, kPackSize);
    for (; r < n; ++r)
      loss += step(margins[r], weights[r], observed[r], residuals[r], probabilities[r]);
    return loss;
  }
};

// One channel a value.
struct ManyValuesKernel {
  // The rows from `r` on that a Real holds.
  template <class Real>
  static FELDSPAR_ALWAYS_INLINE Real step(std::size_t r, const double* margins,
                                          const double* weights, const double* observed,
                                          double* residuals, double* probabilities, std::size_t n,
                                          std::size_t n_channels) noexcept {
    Real top = load<Real>(margins + r);
    for (std::size_t k = 1; k < n_channels; ++k) {
      const Real m = load<Real>(margins + k * n + r);
      top = select(m > top, m, top);
    }
    Real total = constant<Real>(0.0), chosen = constant<Real>(0.0);
    for (std::size_t k = 0; k < n_channels; ++k) {
      const Real m = load<Real>(margins + k * n + r) - top;
      const Real e = exp_negative(m);
      chosen += load<Real>(observed + k * n + r) * m;
      total += e;
      store(probabilities + k * n + r, e);
    }
    const Real weight = load<Real>(weights + r), inverse = 1.0 / total;
    for (std::size_t k = 0; k < n_channels; ++k) {
      const Real p = load<Real>(probabilities + k * n + r) * inverse;
      store(probabilities + k * n + r, p);
      store(residuals + k * n + r, weight * p - load<Real>(observed + k * n + r));
    }
    return weight * log_from_one(total) - chosen;
  }

  FELDSPAR_ALWAYS_INLINE double operator()(const double* margins, const double* weights,
                                           const double* observed, double* residuals,
                                           double* probabilities, std::size_t n,
                                           std::size_t n_channels) const noexcept {
    Pack sums = broadcast(0.0);
    std::size_t r = 0;
    for (; r + kPackSize <= n; r += kPackSize)
      sums += step<Pack>(r, margins, weights, observed, residuals, probabilities, n, n_channels);
    double lanes[kPackSize];
    store_pack(lanes, sums);
    double loss = add_lanes(lanes, kPackSize);
    for (; r < n; ++r)
      loss += step<double>(r, margins, weights, observed, residuals, probabilities, n, n_channels);
    return loss;
  }
};

}  // namespace detail

class CategoricalLoss {
 public:
  // `codes`, a row each, are below `n_values`; n_values >= 2.
  CategoricalLoss(std::span<const Value> codes, std::span<const double> weights,
                  std::size_t n_values)
      : n_channels_(n_values == 2 ? 1 : n_values),
        weights_(weights.begin(), weights.end()),
        observed_(n_channels_ * weights.size(), 0.0) {
    const std::size_t first = n_values - n_channels_;  // the value of channel 0
    for (std::size_t r = 0; r < codes.size(); ++r)
      if (codes[r] >= first) observed_[(codes[r] - first) * n_rows() + r] = weights_[r];
  }

  std::size_t n_rows() const noexcept { return weights_.size(); }
  std::size_t n_channels() const noexcept { return n_channels_; }
  std::span<const double> weights() const noexcept { return weights_; }
  double total_weight() const noexcept {
    return std::accumulate(weights_.begin(), weights_.end(), 0.0);
  }
  // Weight of the rows on which the channel's value was observed.
  double observed_weight(std::size_t channel) const noexcept {
    const double* first = observed_.data() + channel * n_rows();
    return std::accumulate(first, first + n_rows(), 0.0);
  }

  // The loss at `margins`; overwrites its derivatives and the probabilities of the channels.
  double evaluate(std::span<const double> margins, std::span<double> residuals,
                  std::span<double> probabilities) const noexcept {
    if (n_channels_ == 1)
      return run_kernel<detail::TwoValuesKernel>(simd_, margins.data(), weights_.data(),
                                                 observed_.data(), residuals.data(),
                                                 probabilities.data(), n_rows());
    return run_kernel<detail::ManyValuesKernel>(simd_, margins.data(), weights_.data(),
                                                observed_.data(), residuals.data(),
                                                probabilities.data(), n_rows(), n_channels_);
  }

  // out[r] = weight_r P(j) P(k), for channels j < k; with one channel, j = k = 0, against the first
  // value.
  void pair_curvature(std::span<const double> probabilities, std::size_t j, std::size_t k,
                      std::span<double> out) const noexcept {
    const double *p = probabilities.data() + j * n_rows(), *q = probabilities.data() + k * n_rows();
    for (std::size_t r = 0; r < n_rows(); ++r)
      out[r] = weights_[r] * p[r] * (n_channels_ == 1 ? 1.0 - q[r] : q[r]);
  }

 private:
  SimdLevel simd_ = simd_level();
  std::size_t n_channels_;
  std::vector<double> weights_;
  std::vector<double> observed_;  // by channel and row: the row's weight where it was observed
};

}  // namespace feldspar
