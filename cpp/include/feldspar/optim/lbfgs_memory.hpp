// The inverse Hessian approximation H of limited-memory BFGS: the last m pairs
//
//   s = x[k+1] - x[k],   y = gradient[k+1] - gradient[k],
//
// and the initial matrix H0 = gamma D with gamma = s'y / y'Dy of the newest pair. D is the identity
// or a positive definite matrix given by the caller, ideally near the inverse of the Hessian. H is
// positive definite, since pairs without positive curvature are not stored.
//
// For large n reading the pairs is all that counts. The products s_i'y_j of older steps with newer
// changes are therefore kept: with them the two loops of the recursion run on m numbers, and a
// product with H reads the steps twice and the changes once or twice, whatever m is. And pairs are
// kept in single precision, in units of their own size: H stays positive definite whatever vectors
// it is made of, and how well it fits a Hessian that changes from step to step is not a question of
// the eighth digit.
//
// Cost of a product: about 4 m n multiplications; storage 2 m n floats. Not thread-safe.
//
// Reference: Nocedal, Wright: Numerical Optimization (2006), algorithm 7.4.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include <feldspar/base/pack.hpp>
#include <feldspar/base/simd.hpp>

namespace feldspar {

namespace detail {

// A stored vector with what it has to be multiplied by: a coefficient, or nothing yet.
struct FloatRow {
  const float* numbers;
  double factor = 0;
};

// v <- scale * v + factor * numbers of all rows in `added`; then, with the new v, products[i] =
// numbers'v for all rows in `multiplied`. Blocks of v stay in the first-level cache while all rows
// pass.
struct CombineKernel {
  FELDSPAR_ALWAYS_INLINE void operator()(double* v, std::size_t n, double scale,
                                         const FloatRow* added, std::size_t n_added,
                                         const FloatRow* multiplied, std::size_t n_multiplied,
                                         double* products) const noexcept {
    std::fill_n(products, n_multiplied, 0.0);
    for (std::size_t first = 0; first < n; first += kBlock) {
      const std::size_t last = std::min(n, first + kBlock);
      if (scale != 1)
        for (std::size_t k = first; k < last; ++k) v[k] *= scale;
      std::size_t i = 0;
      for (; i + kTogether <= n_added; i += kTogether) add<kTogether>(added + i, v, first, last);
      for (; i < n_added; ++i) add<1>(added + i, v, first, last);
      multiply_all(v, first, last, multiplied, n_multiplied, products);
    }
  }

  // products[i] += numbers'v over a block.
  template <class Number>
  static FELDSPAR_ALWAYS_INLINE void multiply_all(const Number* v, std::size_t first,
                                                  std::size_t last, const FloatRow* rows,
                                                  std::size_t n_rows, double* products) noexcept {
    std::size_t i = 0;
    for (; i + kTogether <= n_rows; i += kTogether)
      multiply<kTogether>(rows + i, v, first, last, products + i);
    for (; i < n_rows; ++i) multiply<1>(rows + i, v, first, last, products + i);
  }

  static constexpr std::size_t kBlock = 512;

 private:
  static constexpr std::size_t kTogether = 4;

  template <std::size_t kRows>
  static FELDSPAR_ALWAYS_INLINE void add(const FloatRow* rows, double* v, std::size_t first,
                                         std::size_t last) noexcept {
    std::size_t k = first;
    for (; k + kPackSize <= last; k += kPackSize) {
      Pack sum = load_pack(v + k);
      for (std::size_t i = 0; i < kRows; ++i)
        sum += rows[i].factor * load_pack(rows[i].numbers + k);
      store_pack(v + k, sum);
    }
    for (; k < last; ++k)
      for (std::size_t i = 0; i < kRows; ++i) v[k] += rows[i].factor * rows[i].numbers[k];
  }

  template <std::size_t kRows, class Number>
  static FELDSPAR_ALWAYS_INLINE void multiply(const FloatRow* rows, const Number* v,
                                              std::size_t first, std::size_t last,
                                              double* products) noexcept {
    Pack sums[kRows];
    for (Pack& sum : sums) sum = broadcast(0.0);
    std::size_t k = first;
    for (; k + kPackSize <= last; k += kPackSize) {
      const Pack own = load_pack(v + k);
      for (std::size_t i = 0; i < kRows; ++i) sums[i] += own * load_pack(rows[i].numbers + k);
    }
    for (std::size_t i = 0; i < kRows; ++i) {
      double lanes[kPackSize];
      store_pack(lanes, sums[i]);
      for (const double lane : lanes) products[i] += lane;
    }
    for (; k < last; ++k)
      for (std::size_t i = 0; i < kRows; ++i)
        products[i] += static_cast<double>(v[k]) * rows[i].numbers[k];
  }
};

// products[i] = numbers'v for all rows, v being stored itself.
struct MultiplyStoredKernel {
  FELDSPAR_ALWAYS_INLINE void operator()(const float* v, std::size_t n, const FloatRow* rows,
                                         std::size_t n_rows, double* products) const noexcept {
    std::fill_n(products, n_rows, 0.0);
    for (std::size_t first = 0; first < n; first += CombineKernel::kBlock)
      CombineKernel::multiply_all(v, first, std::min(n, first + CombineKernel::kBlock), rows,
                                  n_rows, products);
  }
};

// v <- (v + factor * added) masked by `free`; returns the new v'multiplied.
struct AddWithinKernel {
  FELDSPAR_ALWAYS_INLINE double operator()(double* v, std::size_t n, const double* free,
                                           FloatRow added, const float* multiplied) const noexcept {
    Pack sums[2] = {broadcast(0.0), broadcast(0.0)};
    std::size_t k = 0;
    for (; k + 2 * kPackSize <= n; k += 2 * kPackSize)
      for (std::size_t half = 0; half < 2; ++half) {
        const std::size_t at = k + half * kPackSize;
        const Pack moved = (load_pack(v + at) + added.factor * load_pack(added.numbers + at)) *
                           load_pack(free + at);
        store_pack(v + at, moved);
        sums[half] += moved * load_pack(multiplied + at);
      }
    double lanes[2 * kPackSize];
    store_pack(lanes, sums[0]);
    store_pack(lanes + kPackSize, sums[1]);
    double product = 0;
    for (const double lane : lanes) product += lane;
    for (; k < n; ++k) {
      v[k] = (v[k] + added.factor * added.numbers[k]) * free[k];
      product += v[k] * multiplied[k];
    }
    return product;
  }
};

}  // namespace detail

// D, symmetric and positive definite; without `multiply` the identity.
struct InitialInverse {
  std::function<void(Eigen::VectorXd&)> multiply;  // v <- D v
  // Whether D guesses the inverse Hessian itself; otherwise only its shape, and steps need a length.
  bool has_scale = false;
  // u'Du, where that is cheaper than a product with D; may use u up.
  std::function<double(Eigen::VectorXd&)> square = {};
};

// D is diagonal; an empty diagonal means the identity.
inline InitialInverse diagonal_inverse(Eigen::VectorXd diagonal) {
  if (diagonal.size() == 0) return {};
  return {[d = std::move(diagonal)](Eigen::VectorXd& v) { v.array() *= d.array(); }, true};
}

class LbfgsMemory {
 public:
  using Vector = Eigen::VectorXd;

  LbfgsMemory(Eigen::Index dimension, int capacity, InitialInverse initial = {})
      : dimension_(static_cast<std::size_t>(dimension)),
        capacity_(capacity),
        initial_(std::move(initial)),
        pairs_(static_cast<std::size_t>(capacity)),
        steps_(dimension_ * pairs_.size()),
        changes_(dimension_ * pairs_.size()),
        older_step_newer_change_(pairs_.size() * pairs_.size()) {}

  int size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }

  // Stores the pair (vectors or expressions of them), in place of the oldest when full, and returns
  // true; or returns false when its curvature s'y is not safely positive: such a pair would spoil H.
  // The bound is on the angle between s and y, so that it means the same in all units; convex
  // functions of condition 1e20 pass.
  template <class Step, class Change>
  bool push(const Eigen::MatrixBase<Step>& step, const Eigen::MatrixBase<Change>& change) {
    constexpr double kLeastCosine = 1e-10;
    const Look look = look_at(step, change);
    if (!(look.curvature >
          kLeastCosine * std::sqrt(look.step_square) * std::sqrt(look.change_square)))
      return false;
    const double square = initial_.multiply ? weighted_square(change) : look.change_square;
    const double gamma = look.curvature / square;
    if (!std::isfinite(gamma)) return false;  // squares have over- or underflowed
    newest_ = (newest_ + 1) % capacity_;
    size_ = std::min(size_ + 1, capacity_);
    const std::size_t i = slot(0);
    pairs_[i] = {look.curvature, store(step, look.step_largest, step_of(i)),
                 store(change, look.change_largest, change_of(i))};
    gamma_ = gamma;
    multiply_by_steps(i);
    return true;
  }

  // Forgets the pairs but keeps gamma: the scale of the function is still the best guess there is.
  void clear() noexcept { size_ = 0; }

  // A first trial step along `direction`. H carries the right length once it has seen a pair or was
  // given a scale; before that, a step of length one at most.
  double natural_step(const Vector& direction) const {
    if (gamma_ > 0 || initial_.has_scale) return 1.0;
    return 1.0 / std::max(1.0, direction.norm());
  }

  // v <- H v.
  void multiply(Vector& v) const {
    const auto m = static_cast<std::size_t>(size_);
    std::vector<detail::FloatRow> steps = rows(steps_), changes = rows(changes_);
    std::vector<double> alpha(m), products(m);
    combine(v, {}, steps, products);
    for (std::size_t age = 0; age < m; ++age) {  // newest first
      const std::size_t i = slot(age);
      double product = pairs_[i].step_unit * products[age];
      for (std::size_t newer = 0; newer < age; ++newer)
        product -= alpha[newer] * step_by_change(i, slot(newer));
      alpha[age] = product / pairs_[i].curvature;
      changes[age].factor = -alpha[age] * pairs_[i].change_unit;
    }
    // H0 = gamma D; gamma comes in with the last pass.
    const double gamma = gamma_ > 0 ? gamma_ : 1.0;
    if (initial_.multiply) {
      combine(v, changes, {}, {});
      initial_.multiply(v);
      combine(v, {}, changes, products);
    } else {
      combine(v, changes, changes, products);
    }
    for (std::size_t age = m; age-- > 0;) {  // oldest first
      const std::size_t i = slot(age);
      double product = gamma * pairs_[i].change_unit * products[age];
      for (std::size_t older = m; older-- > age + 1;)
        product += alpha[older] * step_by_change(slot(older), i);
      alpha[age] -= product / pairs_[i].curvature;
      steps[age].factor = alpha[age] * pairs_[i].step_unit;
    }
    combine(v, steps, {}, {}, gamma);
  }

  // v <- H v as if the function depended only on the coordinates where `free` is 1 (elsewhere it is
  // 0, and so is the result): all pairs are restricted to these before use. This is not the same as
  // dropping components of H v, which would ignore that the other coordinates are held fixed.
  // Pairs whose curvature is not positive (restriction can do that) are passed over.
  void multiply_within(const Vector& free, Vector& v) const {
    struct Pair {
      std::size_t slot;
      double curvature, alpha;
    };
    std::vector<Pair> pairs;  // newest first
    double gamma = gamma_ > 0 ? gamma_ : 1.0;
    for (std::size_t age = 0; age < static_cast<std::size_t>(size_); ++age) {
      Vector change = change_within(free, slot(age));
      double curvature = 0;
      combine(change, {}, {{{step_of(slot(age)), 0}}}, {&curvature, 1});
      curvature *= pairs_[slot(age)].step_unit;
      if (!(curvature > 0)) continue;
      if (pairs.empty()) gamma = curvature / weighted_square(std::move(change));
      pairs.push_back({slot(age), curvature, 0});
    }
    v.array() *= free.array();
    // Each pass also multiplies with the vector that is needed next.
    const auto add = [&](double factor, const float* added, const float* multiplied) {
      return run_kernel<detail::AddWithinKernel>(simd_, v.data(), dimension_, free.data(),
                                                 detail::FloatRow{added, factor}, multiplied);
    };
    double product = pairs.empty() ? 0.0 : add(0, step_of(pairs[0].slot), step_of(pairs[0].slot));
    for (std::size_t k = 0; k < pairs.size(); ++k) {
      auto& [i, curvature, alpha] = pairs[k];
      alpha = pairs_[i].step_unit * product / curvature;
      product = add(-alpha * pairs_[i].change_unit, change_of(i),
                    step_of(pairs[std::min(k + 1, pairs.size() - 1)].slot));
    }
    v *= gamma;
    if (initial_.multiply) {
      initial_.multiply(v);
      v.array() *= free.array();
    }
    if (!pairs.empty())
      product = add(0, change_of(pairs.back().slot), change_of(pairs.back().slot));
    for (std::size_t k = pairs.size(); k-- > 0;) {
      const auto [i, curvature, alpha] = pairs[k];
      const double beta = pairs_[i].change_unit * product / curvature;
      product = add((alpha - beta) * pairs_[i].step_unit, step_of(i),
                    change_of(pairs[k > 0 ? k - 1 : 0].slot));
    }
  }

 private:
  // Of a slot: s'y, and what the stored numbers are multiples of.
  struct PairScale {
    double curvature = 0, step_unit = 0, change_unit = 0;
  };

  // The slot of the pair stored `age` pushes before the newest.
  std::size_t slot(std::size_t age) const noexcept {
    return static_cast<std::size_t>((newest_ - static_cast<int>(age) + capacity_) % capacity_);
  }

  float* step_of(std::size_t i) noexcept { return steps_.data() + i * dimension_; }
  const float* step_of(std::size_t i) const noexcept { return steps_.data() + i * dimension_; }
  float* change_of(std::size_t i) noexcept { return changes_.data() + i * dimension_; }
  const float* change_of(std::size_t i) const noexcept { return changes_.data() + i * dimension_; }

  double& step_by_change(std::size_t older, std::size_t newer) noexcept {
    return older_step_newer_change_[older * pairs_.size() + newer];
  }
  double step_by_change(std::size_t older, std::size_t newer) const noexcept {
    return older_step_newer_change_[older * pairs_.size() + newer];
  }

  // All steps, or changes, from the newest to the oldest.
  std::vector<detail::FloatRow> rows(const std::vector<float>& storage) const {
    std::vector<detail::FloatRow> rows;
    for (std::size_t age = 0; age < static_cast<std::size_t>(size_); ++age)
      rows.push_back({storage.data() + slot(age) * dimension_, 0});
    return rows;
  }

  void combine(Vector& v, std::span<const detail::FloatRow> added,
               std::span<const detail::FloatRow> multiplied, std::span<double> products,
               double scale = 1) const {
    run_kernel<detail::CombineKernel>(simd_, v.data(), dimension_, scale, added.data(),
                                      added.size(), multiplied.data(), multiplied.size(),
                                      products.data());
  }

  // What a pair is like before it is stored.
  struct Look {
    double curvature = 0, step_square = 0, change_square = 0;
    double step_largest = 0, change_largest = 0;
  };

  // Block by block: the vectors may be expressions, and are not written down.
  template <class Step, class Change>
  static Look look_at(const Eigen::MatrixBase<Step>& step,
                      const Eigen::MatrixBase<Change>& change) {
    Look look;
    for_blocks(step.size(), [&](Eigen::Index first, Eigen::Index n) {
      Block s(n), y(n);
      s = step.segment(first, n);
      y = change.segment(first, n);
      look.curvature += s.dot(y);
      look.step_square += s.squaredNorm();
      look.change_square += y.squaredNorm();
      look.step_largest = std::max(look.step_largest, s.template lpNorm<Eigen::Infinity>());
      look.change_largest = std::max(look.change_largest, y.template lpNorm<Eigen::Infinity>());
    });
    return look;
  }

  // Rounds to single precision in units of a power of two near the largest component; returns the
  // unit.
  template <class Expression>
  static double store(const Eigen::MatrixBase<Expression>& v, double largest, float* to) {
    constexpr int kLeastExponent = -1000;  // so that its inverse is finite
    const double unit = std::ldexp(1.0, std::max(std::ilogb(largest), kLeastExponent));
    const double per_unit = 1 / unit;
    for_blocks(v.size(), [&](Eigen::Index first, Eigen::Index n) {
      Block block(n);
      block = per_unit * v.segment(first, n);
      for (const double x : block) *to++ = static_cast<float>(x);
    });
    return unit;
  }

  static constexpr Eigen::Index kBlock = 512;
  using Block = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, kBlock, 1>;  // on the stack

  template <class Work>
  static void for_blocks(Eigen::Index n, Work&& work) {
    for (Eigen::Index first = 0; first < n; first += kBlock)
      work(first, std::min(kBlock, n - first));
  }

  // The products of all steps with the change of the newest pair.
  void multiply_by_steps(std::size_t newest) {
    const std::vector<detail::FloatRow> steps = rows(steps_);
    std::vector<double> products(steps.size());
    run_kernel<detail::MultiplyStoredKernel>(simd_, static_cast<const float*>(change_of(newest)),
                                             dimension_, steps.data(), steps.size(),
                                             products.data());
    for (std::size_t age = 0; age < steps.size(); ++age)
      step_by_change(slot(age), newest) =
          pairs_[slot(age)].step_unit * pairs_[newest].change_unit * products[age];
  }

  Vector change_within(const Vector& free, std::size_t i) const {
    Vector change(free.size());
    const float* stored = change_of(i);
    for (std::size_t k = 0; k < dimension_; ++k)
      change[static_cast<Eigen::Index>(k)] =
          pairs_[i].change_unit * stored[k] * free[static_cast<Eigen::Index>(k)];
    return change;
  }

  // u'Du
  double weighted_square(Vector u) const {
    if (!initial_.multiply) return u.squaredNorm();
    if (initial_.square) return initial_.square(u);
    Vector product = u;
    initial_.multiply(product);
    return u.dot(product);
  }

  SimdLevel simd_ = simd_level();
  std::size_t dimension_;
  int capacity_;
  InitialInverse initial_;
  std::vector<PairScale> pairs_;                 // by slot
  std::vector<float> steps_;                     // s of slot i at [i n, (i+1) n), in its unit
  std::vector<float> changes_;                   // y likewise
  std::vector<double> older_step_newer_change_;  // s_i'y_j at [i, j]
  double gamma_ = 0;                             // 0 until the first pair
  int newest_ = -1;
  int size_ = 0;
};

}  // namespace feldspar
