// Quadratics with an L1 term: minimises over x
//
//   g'(x - x0) + (x - x0)' H (x - x0) / 2 + l1 * (sum of |x[i]| over the penalised i),
//
// H positive semi-definite: the model that a proximal Newton method solves for each of its steps.
// One H serves many g, x0 and l1.
//
// Coordinates without penalty are eliminated exactly (a Schur complement), since an intercept, say,
// moves against everything else. The others are visited in turn and set to their minimisers:
// coordinate descent, which finds soon which of them are zero and then creeps if H is badly
// conditioned. Where its speed promises more sweeps than a factorisation is worth, Newton's step
// among the non-zero coordinates is taken instead, cut where signs would change. The factor is kept
// as long as the same coordinates are not zero. Zeros are exact zeros.
//
// Cost: n^2 for each free coordinate once; a sweep n, and n more for each coordinate that moves; a
// factorisation (non-zeros)^3 / 6. Runs on the calling thread; the same bits on every instruction
// set.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include <feldspar/base/pack.hpp>
#include <feldspar/base/simd.hpp>

namespace feldspar {

namespace detail {

// One sweep over n coordinates. `slopes`, the gradient of the smooth part, is kept up to date. Rows
// of `h` and slopes are padded to `stride`, a multiple of kPackSize.
struct CoordinateSweepKernel {
  FELDSPAR_ALWAYS_INLINE void operator()(const double* h, std::size_t stride, double l1,
                                         double* slopes, double* x, std::size_t n) const noexcept {
    for (std::size_t i = 0; i < n; ++i) {
      const double* row = h + i * stride;
      // Without curvature the minimiser is zero, or infinitely far away: then better stay.
      if (!(row[i] > 0) && std::abs(slopes[i]) > l1) continue;
      const double aim = row[i] * x[i] - slopes[i];
      const double moved = aim > l1 ? (aim - l1) / row[i] : aim < -l1 ? (aim + l1) / row[i] : 0.0;
      const double change = moved - x[i];
      if (change == 0) continue;
      x[i] = moved;
      const Pack by = broadcast(change);
      for (std::size_t j = 0; j < stride; j += kPackSize)
        store_pack(slopes + j, load_pack(slopes + j) + by * load_pack(row + j));
    }
  }
};

}  // namespace detail

class L1Quadratic {
 public:
  // `penalized[i]`: whether coordinate i has an L1 term.
  L1Quadratic(const Eigen::MatrixXd& h, const std::vector<bool>& penalized);

  // Moves x from x0 to the minimiser, until no component of the subgradient by a penalised
  // coordinate is larger than `tolerance` or `max_sweeps` are done.
  void minimize(const Eigen::VectorXd& g, double l1, double tolerance, int max_sweeps,
                Eigen::VectorXd& x);

 private:
  using Indices = std::vector<Eigen::Index>;

  // Curvature below this share of a diagonal is rounding.
  static constexpr double kRounding = 1e-12;
  // Sweeps from which the speed is estimated.
  static constexpr int kProbe = 4;

  Eigen::Map<const Eigen::MatrixXd> reduced() const {
    return {reduced_.data(), static_cast<Eigen::Index>(stride_),
            static_cast<Eigen::Index>(own_.size())};
  }
  double violation(double l1) const;
  bool worth_solving(double before, double now, double tolerance) const;
  void solve_on_support(double l1);
  bool move_on_support(const Eigen::VectorXd& change, double l1);

  SimdLevel simd_ = simd_level();
  Indices free_, own_;                       // coordinates without and with an L1 term
  Eigen::LLT<Eigen::MatrixXd> free_factor_;  // of H among the free ones
  Eigen::MatrixXd coupling_;                 // its triangle's inverse times H between free and own
  std::size_t stride_ = 0;
  std::vector<double> reduced_;  // H among the own ones when the free ones follow; padded rows

  // While minimising, by own coordinate.
  Eigen::VectorXd x_, slopes_;
  Indices support_;                     // where support_factor_ holds
  Eigen::LLT<Eigen::MatrixXd> factor_;  // of reduced() among the support
};

inline L1Quadratic::L1Quadratic(const Eigen::MatrixXd& h, const std::vector<bool>& penalized) {
  for (Eigen::Index i = 0; i < h.rows(); ++i)
    (penalized[static_cast<std::size_t>(i)] ? own_ : free_).push_back(i);
  const auto n = static_cast<Eigen::Index>(own_.size());
  stride_ = (own_.size() + kPackSize - 1) / kPackSize * kPackSize;
  reduced_.assign(own_.size() * stride_, 0.0);
  Eigen::Map<Eigen::MatrixXd> all(reduced_.data(), static_cast<Eigen::Index>(stride_), n);
  auto own = all.topRows(n);
  own = h(own_, own_);
  coupling_ = h(free_, own_);
  if (!free_.empty()) {
    Eigen::MatrixXd among = h(free_, free_);
    // Free coordinates may move together without any effect; the least bit of curvature pins them.
    among.diagonal().array() +=
        std::max(kRounding * among.trace(), std::numeric_limits<double>::min());
    free_factor_.compute(among);
    coupling_ = free_factor_.matrixL().solve(coupling_);
    own.noalias() -= coupling_.transpose() * coupling_;
  }
  for (Eigen::Index i = 0; i < n; ++i)
    own(i, i) = std::max(own(i, i), kRounding * h(own_[static_cast<std::size_t>(i)],
                                                  own_[static_cast<std::size_t>(i)]));
}

inline double L1Quadratic::violation(double l1) const {
  double worst = 0;
  for (Eigen::Index i = 0; i < x_.size(); ++i) {
    const double slope = slopes_[i];
    worst = std::max(worst, x_[i] > 0   ? std::abs(slope + l1)
                            : x_[i] < 0 ? std::abs(slope - l1)
                                        : std::abs(slope) - l1);
  }
  return worst;
}

// Whether the sweeps still to come, if kProbe of them take the violation from `before` to `now`,
// cost more than a solution on the support; a factorisation is about (non-zeros) / 4 sweeps.
inline bool L1Quadratic::worth_solving(double before, double now, double tolerance) const {
  if (now >= before) return true;
  std::size_t n_kept = 0;
  const auto n_nonzero = static_cast<std::size_t>((x_.array() != 0).count());
  for (const Eigen::Index i : support_) n_kept += x_[i] != 0;
  const bool has_factor = n_kept == support_.size() && n_kept == n_nonzero;
  const double cost = has_factor ? 2.0 : 2.0 + 0.25 * static_cast<double>(n_nonzero);
  return kProbe * std::log(tolerance / now) / std::log(now / before) > cost;
}

// Newton's step for the coordinates that are not zero, with those that would change their sign set
// to zero; if that is no progress, as far as all keep their signs.
inline void L1Quadratic::solve_on_support(double l1) {
  Indices support;
  for (Eigen::Index i = 0; i < x_.size(); ++i)
    if (x_[i] != 0) support.push_back(i);
  if (support != support_) {
    constexpr double kRidge = 1e-10;  // for columns that depend on each other
    Eigen::MatrixXd among = reduced()(support, support);
    among.diagonal() *= 1 + kRidge;
    factor_.compute(among);
    support_ = std::move(support);
  }
  if (support_.empty() || factor_.info() != Eigen::Success) return;
  Eigen::VectorXd step = -slopes_(support_);
  for (std::size_t i = 0; i < support_.size(); ++i)
    step[static_cast<Eigen::Index>(i)] -= std::copysign(l1, x_[support_[i]]);
  factor_.solveInPlace(step);
  double crossing = 1;  // share of the step at which the first sign changes
  Eigen::VectorXd cut = step;
  for (std::size_t i = 0; i < support_.size(); ++i) {
    const auto at = static_cast<Eigen::Index>(i);
    const double from = x_[support_[i]];
    if (from * (from + step[at]) >= 0) continue;
    crossing = std::min(crossing, -from / step[at]);
    cut[at] = -from;
  }
  if (crossing == 1 || !move_on_support(cut, l1)) {
    // On the way to the first change of sign the objective cannot but fall.
    for (std::size_t i = 0; i < support_.size(); ++i) {
      const auto at = static_cast<Eigen::Index>(i);
      const double from = x_[support_[i]];
      cut[at] = -from / step[at] == crossing && crossing < 1 ? -from : crossing * step[at];
    }
    move_on_support(cut, l1);
  }
}

// Adds `change` to the coordinates of the support if that lowers the objective.
inline bool L1Quadratic::move_on_support(const Eigen::VectorXd& change, double l1) {
  Eigen::VectorXd bend = Eigen::VectorXd::Zero(slopes_.size());
  for (std::size_t i = 0; i < support_.size(); ++i)
    bend += change[static_cast<Eigen::Index>(i)] * reduced().col(support_[i]);
  double difference = 0;
  for (std::size_t i = 0; i < support_.size(); ++i) {
    const double by = change[static_cast<Eigen::Index>(i)], from = x_[support_[i]];
    difference += by * (slopes_[support_[i]] + 0.5 * bend[support_[i]]) +
                  l1 * (std::abs(from + by) - std::abs(from));
  }
  if (!(difference < 0)) return false;
  x_(support_) += change;
  slopes_ += bend;
  return true;
}

inline void L1Quadratic::minimize(const Eigen::VectorXd& g, double l1, double tolerance,
                                  int max_sweeps, Eigen::VectorXd& x) {
  Eigen::VectorXd lifted = g(free_);
  if (!free_.empty()) free_factor_.matrixL().solveInPlace(lifted);
  const Eigen::VectorXd start = x(own_);
  x_ = start;
  slopes_ = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(stride_));
  slopes_.head(start.size()) = g(own_) - coupling_.transpose() * lifted;
  double before = violation(l1), now = before;
  for (int sweep = 1; now > tolerance && sweep <= max_sweeps; ++sweep) {
    run_kernel<detail::CoordinateSweepKernel>(simd_, static_cast<const double*>(reduced_.data()),
                                              stride_, l1, slopes_.data(), x_.data(), own_.size());
    now = violation(l1);
    if (sweep % kProbe != 0 || now <= tolerance) continue;
    if (worth_solving(before, now, tolerance)) {
      solve_on_support(l1);
      now = violation(l1);
    }
    before = now;
  }
  x(own_) = x_;
  if (free_.empty()) return;
  Eigen::VectorXd step = -(lifted + coupling_ * (x_ - start));
  free_factor_.matrixU().solveInPlace(step);
  x(free_) += step;
}

}  // namespace feldspar
