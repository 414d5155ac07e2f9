// The inverse Hessian approximation H of limited-memory BFGS: the last m pairs
//
//   s = x[k+1] - x[k],   y = gradient[k+1] - gradient[k],
//
// applied by the two-loop recursion to the initial matrix H0 = gamma D with gamma = s'y / y'Dy of
// the newest pair. D is a positive diagonal given by the caller, ideally the inverse of the
// Hessian's diagonal, or the identity. H is positive definite, since pairs without positive
// curvature are not stored.
//
// Cost of a product: about 4 m n multiplications; storage 2 m n doubles. Not thread-safe.
//
// Reference: Nocedal, Wright: Numerical Optimization (2006), algorithm 7.4.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include <Eigen/Core>

namespace feldspar {

class LbfgsMemory {
 public:
  using Vector = Eigen::VectorXd;

  // An empty `inverse_diagonal` means D = identity.
  LbfgsMemory(Eigen::Index dimension, int capacity, Vector inverse_diagonal = {})
      : dimension_(dimension),
        capacity_(capacity),
        diagonal_(std::move(inverse_diagonal)),
        steps_(dimension * capacity),
        changes_(dimension * capacity),
        curvatures_(capacity) {}

  int size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }

  // Stores the pair, in place of the oldest when full, and returns true; or returns false when its
  // curvature s'y is not safely positive: such a pair would spoil H. The bound is on the angle
  // between s and y, so that it means the same in all units; convex functions of condition 1e20
  // pass.
  bool push(const Eigen::Ref<const Vector>& step, const Eigen::Ref<const Vector>& change) {
    constexpr double kLeastCosine = 1e-10;
    const double curvature = step.dot(change);
    if (!(curvature > kLeastCosine * step.norm() * change.norm())) return false;
    const double gamma = curvature / weighted_square(change);
    if (!std::isfinite(gamma)) return false;  // squares have over- or underflowed
    newest_ = (newest_ + 1) % capacity_;
    size_ = std::min(size_ + 1, capacity_);
    pair(steps_, newest_) = step;
    pair(changes_, newest_) = change;
    curvatures_[newest_] = curvature;
    gamma_ = gamma;
    return true;
  }

  // Forgets the pairs but keeps gamma: the scale of the function is still the best guess there is.
  void clear() noexcept { size_ = 0; }

  // A first trial step along `direction`. H carries the right length once it has seen a pair or was
  // given a diagonal; before that, a step of length one at most.
  double natural_step(const Vector& direction) const {
    if (gamma_ > 0 || diagonal_.size() > 0) return 1.0;
    return 1.0 / std::max(1.0, direction.norm());
  }

  // v <- H v.
  void multiply(Vector& v) const {
    recursion(v, curvatures_, gamma_ > 0 ? gamma_ : 1.0, [](Vector&) {});
  }

  // v <- H v as if the function depended only on the coordinates where `free` is 1 (elsewhere it is
  // 0, and so is the result): all pairs are restricted to these before use. This is not the same as
  // dropping components of H v, which would ignore that the other coordinates are held fixed.
  // Costs half as much again.
  void multiply_within(const Vector& free, Vector& v) const {
    const auto restrict_to_free = [&free](Vector& u) { u.array() *= free.array(); };
    Vector curvatures = Vector::Zero(capacity_);
    for (int age = 0; age < size_; ++age) curvatures[slot(age)] = curvature_within(free, slot(age));
    restrict_to_free(v);
    recursion(v, curvatures, gamma_within(free, curvatures), restrict_to_free);
  }

 private:
  Eigen::VectorBlock<Vector> pair(Vector& storage, int i) const {
    return storage.segment(i * dimension_, dimension_);
  }
  Eigen::VectorBlock<const Vector> pair(const Vector& storage, int i) const {
    return storage.segment(i * dimension_, dimension_);
  }

  // The slot of the pair stored `age` pushes before the newest.
  int slot(int age) const noexcept { return (newest_ - age + capacity_) % capacity_; }

  double weighted_square(const Eigen::Ref<const Vector>& u) const {
    return diagonal_.size() > 0 ? (u.array().square() * diagonal_.array()).sum() : u.squaredNorm();
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

  // The two loops. Pairs whose curvature is not positive (restriction can do that) are passed over;
  // `restricted` is applied after each change of v.
  template <class Restrict>
  void recursion(Vector& v, const Vector& curvatures, double gamma, Restrict&& restricted) const {
    Vector alpha = Vector::Zero(capacity_);
    for (int age = 0; age < size_; ++age) {
      const int i = slot(age);
      if (!(curvatures[i] > 0)) continue;
      alpha[i] = pair(steps_, i).dot(v) / curvatures[i];
      v -= alpha[i] * pair(changes_, i);
      restricted(v);
    }
    v *= gamma;
    if (diagonal_.size() > 0) v.array() *= diagonal_.array();
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
  Vector diagonal_;    // D, empty for the identity
  Vector steps_;       // s of slot i at [i n, (i+1) n)
  Vector changes_;     // y likewise
  Vector curvatures_;  // s'y per slot
  double gamma_ = 0;   // 0 until the first pair
  int newest_ = -1;
  int size_ = 0;
};

}  // namespace feldspar
