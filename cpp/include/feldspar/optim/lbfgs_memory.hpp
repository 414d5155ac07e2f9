// The inverse Hessian approximation H of limited-memory BFGS: the last m pairs
//
//   s = x[k+1] - x[k],   y = gradient[k+1] - gradient[k],
//
// applied by the two-loop recursion to the initial matrix H0 = gamma D with gamma = s'y / y'Dy of
// the newest pair. D is the identity or a positive definite matrix given by the caller, ideally near
// the inverse of the Hessian. H is positive definite, since pairs without positive curvature are not
// stored.
//
// Cost of a product: about 4 m n multiplications, each pair being read twice; storage 2 (m + 1) n
// doubles. For large n reading is all that counts, so that the change of v by one pair and its
// product with the next are one pass. Not thread-safe.
//
// Reference: Nocedal, Wright: Numerical Optimization (2006), algorithm 7.4.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <utility>

#include <Eigen/Core>

#include <feldspar/base/pack.hpp>
#include <feldspar/base/simd.hpp>

namespace feldspar {

namespace detail {

// v += a u; returns the new v'w. Two packs of sums, so that additions do not wait for each other.
struct AddAndMultiplyKernel {
  FELDSPAR_ALWAYS_INLINE double operator()(double* v, double a, const double* u, const double* w,
                                           std::size_t n) const noexcept {
    Pack sums[2] = {broadcast(0.0), broadcast(0.0)};
    std::size_t i = 0;
    for (; i + 2 * kPackSize <= n; i += 2 * kPackSize)
      for (std::size_t k = 0; k < 2; ++k) {
        const std::size_t at = i + k * kPackSize;
        const Pack moved = load_pack(v + at) + a * load_pack(u + at);
        store_pack(v + at, moved);
        sums[k] += moved * load_pack(w + at);
      }
    double lanes[2 * kPackSize];
    store_pack(lanes, sums[0]);
    store_pack(lanes + kPackSize, sums[1]);
    double product = 0;
    for (const double lane : lanes) product += lane;
    for (; i < n; ++i) {
      v[i] += a * u[i];
      product += v[i] * w[i];
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
      : dimension_(dimension),
        capacity_(capacity),
        initial_(std::move(initial)),
        steps_(dimension * (capacity + 1)),
        changes_(dimension * (capacity + 1)),
        curvatures_(capacity + 1) {}

  int size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }

  // Stores the pair (vectors or expressions of them), in place of the oldest when full, and returns true; or returns false when its
  // curvature s'y is not safely positive: such a pair would spoil H. The bound is on the angle
  // between s and y, so that it means the same in all units; convex functions of condition 1e20
  // pass.
  template <class Step, class Change>
  bool push(const Eigen::MatrixBase<Step>& step, const Eigen::MatrixBase<Change>& change) {
    constexpr double kLeastCosine = 1e-10;
    const int next = (newest_ + 1) % n_slots();  // holds no pair in use: one slot is to spare
    auto s = pair(steps_, next), y = pair(changes_, next);
    s = step;
    y = change;
    const double curvature = s.dot(y);
    if (!(curvature > kLeastCosine * s.norm() * y.norm())) return false;
    const double gamma = curvature / weighted_square(y);
    if (!std::isfinite(gamma)) return false;  // squares have over- or underflowed
    newest_ = next;
    size_ = std::min(size_ + 1, capacity_);
    curvatures_[newest_] = curvature;
    gamma_ = gamma;
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
    Vector alpha = Vector::Zero(n_slots());
    double product = size_ > 0 ? pair(steps_, slot(0)).dot(v) : 0.0;
    for (int age = 0; age < size_; ++age) {
      const int i = slot(age);
      alpha[i] = product / curvatures_[i];
      const bool last = age + 1 == size_;
      product = add_and_multiply(v, -alpha[i], pair(changes_, i),
                                 last ? pair(changes_, i) : pair(steps_, slot(age + 1)));
    }
    apply_initial(v, gamma_ > 0 ? gamma_ : 1.0);
    if (size_ > 0) product = pair(changes_, slot(size_ - 1)).dot(v);
    for (int age = size_ - 1; age >= 0; --age) {
      const int i = slot(age);
      const double beta = product / curvatures_[i];
      product = add_and_multiply(v, alpha[i] - beta, pair(steps_, i),
                                 pair(changes_, age > 0 ? slot(age - 1) : i));
    }
  }

  // v <- H v as if the function depended only on the coordinates where `free` is 1 (elsewhere it is
  // 0, and so is the result): all pairs are restricted to these before use. This is not the same as
  // dropping components of H v, which would ignore that the other coordinates are held fixed.
  // Costs half as much again.
  void multiply_within(const Vector& free, Vector& v) const {
    const auto restrict_to_free = [&free](Vector& u) { u.array() *= free.array(); };
    Vector curvatures = Vector::Zero(n_slots());
    for (int age = 0; age < size_; ++age) curvatures[slot(age)] = curvature_within(free, slot(age));
    restrict_to_free(v);
    recursion_within(v, curvatures, gamma_within(free, curvatures), restrict_to_free);
  }

 private:
  Eigen::VectorBlock<Vector> pair(Vector& storage, int i) const {
    return storage.segment(i * dimension_, dimension_);
  }
  Eigen::VectorBlock<const Vector> pair(const Vector& storage, int i) const {
    return storage.segment(i * dimension_, dimension_);
  }

  // The slot of the pair stored `age` pushes before the newest.
  int slot(int age) const noexcept { return (newest_ - age + n_slots()) % n_slots(); }
  int n_slots() const noexcept { return capacity_ + 1; }

  static double add_and_multiply(Vector& v, double a, const Eigen::VectorBlock<const Vector>& u,
                                 const Eigen::VectorBlock<const Vector>& w) {
    return run_kernel<detail::AddAndMultiplyKernel>(simd_level(), v.data(), a, u.data(), w.data(),
                                                    static_cast<std::size_t>(v.size()));
  }

  // v <- H0 v
  void apply_initial(Vector& v, double gamma) const {
    v *= gamma;
    if (initial_.multiply) initial_.multiply(v);
  }

  // u'Du
  double weighted_square(const Eigen::Ref<const Vector>& u) const {
    if (!initial_.multiply) return u.squaredNorm();
    Vector product = u;
    initial_.multiply(product);
    return u.dot(product);
  }

  double curvature_within(const Vector& free, int i) const {
    return (pair(steps_, i).array() * pair(changes_, i).array() * free.array()).sum();
  }

  // gamma of the newest pair that has curvature in the free coordinates; else of the newest pair.
  double gamma_within(const Vector& free, const Vector& curvatures) const {
    for (int age = 0; age < size_; ++age) {
      const int i = slot(age);
      if (curvatures[i] > 0)
        return curvatures[i] / weighted_square(pair(changes_, i).cwiseProduct(free));
    }
    return gamma_ > 0 ? gamma_ : 1.0;
  }

  // The two loops in the free coordinates. Pairs whose curvature is not positive (restriction can do
  // that) are passed over; `restricted` is applied after each change of v.
  template <class Restrict>
  void recursion_within(Vector& v, const Vector& curvatures, double gamma,
                        Restrict&& restricted) const {
    Vector alpha = Vector::Zero(n_slots());
    for (int age = 0; age < size_; ++age) {
      const int i = slot(age);
      if (!(curvatures[i] > 0)) continue;
      alpha[i] = pair(steps_, i).dot(v) / curvatures[i];
      v -= alpha[i] * pair(changes_, i);
      restricted(v);
    }
    apply_initial(v, gamma);
    restricted(v);
    for (int age = size_ - 1; age >= 0; --age) {
      const int i = slot(age);
      if (!(curvatures[i] > 0)) continue;
      const double beta = pair(changes_, i).dot(v) / curvatures[i];
      v += (alpha[i] - beta) * pair(steps_, i);
      restricted(v);
    }
  }

  Eigen::Index dimension_;
  int capacity_;
  InitialInverse initial_;
  Vector steps_;       // s of slot i at [i n, (i+1) n)
  Vector changes_;     // y likewise
  Vector curvatures_;  // s'y per slot
  double gamma_ = 0;   // 0 until the first pair
  int newest_ = -1;
  int size_ = 0;
};

}  // namespace feldspar
