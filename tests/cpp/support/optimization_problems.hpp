// Functions with known or checkable optima, shared by the tests of all optimizers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include <Eigen/Core>
#include <Eigen/LU>

#include <feldspar/base/hash.hpp>

namespace feldspar::testing {

// Uniform numbers in [-1, 1), the same on every platform.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed) {}

  double next() {
    const std::uint64_t bits = mix_bits(state_ += 0x9e3779b97f4a7c15u);
    return static_cast<double>(bits >> 11) * 0x1.0p-52 - 1.0;
  }

  Eigen::VectorXd vector(Eigen::Index size) {
    Eigen::VectorXd v(size);
    for (double& entry : v) entry = next();
    return v;
  }

  Eigen::MatrixXd matrix(Eigen::Index rows, Eigen::Index columns) {
    Eigen::MatrixXd m(rows, columns);
    for (double& entry : m.reshaped()) entry = next();
    return m;
  }

 private:
  std::uint64_t state_;
};

// sum_i 100 (x[i+1] - x[i]^2)^2 + (1 - x[i])^2; minimum 0 at (1, ..., 1); not convex.
struct Rosenbrock {
  Eigen::Index n = 2;

  Eigen::Index dimension() const { return n; }

  double value_and_gradient(const Eigen::VectorXd& x, Eigen::VectorXd& gradient) const {
    gradient.setZero();
    double value = 0;
    for (Eigen::Index i = 0; i + 1 < n; ++i) {
      const double a = x[i + 1] - x[i] * x[i];
      const double b = 1 - x[i];
      value += 100 * a * a + b * b;
      gradient[i] += -400 * x[i] * a - 2 * b;
      gradient[i + 1] += 200 * a;
    }
    return value;
  }
};

// x'Ax / 2 - b'x + c.
struct Quadratic {
  Eigen::MatrixXd a;
  Eigen::VectorXd b;
  double c = 0;

  Eigen::Index dimension() const { return b.size(); }

  double value_and_gradient(const Eigen::VectorXd& x, Eigen::VectorXd& gradient) const {
    gradient = a * x - b;
    return 0.5 * x.dot(gradient - b) + c;
  }

  bool hessian_product(const Eigen::VectorXf& direction, Eigen::VectorXf& product) const {
    product = (a * direction.cast<double>()).cast<float>();
    return true;
  }

  Eigen::VectorXd inverse_diagonal() const { return a.diagonal().cwiseInverse(); }
};

// A = S (I + coupling of neighbours) S with S spread evenly, in logarithms, from 1 to
// sqrt(condition): badly scaled, and healed by its diagonal.
inline Quadratic badly_scaled_quadratic(Eigen::Index n, double condition) {
  Eigen::VectorXd scale(n);
  for (Eigen::Index i = 0; i < n; ++i)
    scale[i] = std::pow(condition, 0.5 * static_cast<double>(i) / static_cast<double>(n - 1));
  Eigen::MatrixXd core = Eigen::MatrixXd::Identity(n, n);
  core.diagonal(1).setConstant(0.2);
  core.diagonal(-1).setConstant(0.2);
  return {scale.asDiagonal() * core * scale.asDiagonal(), Numbers(7).vector(n).cwiseProduct(scale)};
}

// A quadratic of which it is known that it curves by at least `least` in every direction.
struct SharpQuadratic {
  Quadratic quadratic;
  double least;

  Eigen::Index dimension() const { return quadratic.dimension(); }
  double value_and_gradient(const Eigen::VectorXd& x, Eigen::VectorXd& gradient) const {
    return quadratic.value_and_gradient(x, gradient);
  }
  double gap_bound(const Eigen::VectorXd& gradient) const {
    return gradient.squaredNorm() / (2 * least);
  }
  double minimum() const {
    return quadratic.c - 0.5 * quadratic.b.dot(quadratic.a.lu().solve(quadratic.b));
  }
};

// The coupling above takes at most twice 0.2 of the curvature away.
inline SharpQuadratic sharp_quadratic(Eigen::Index n, double condition) {
  return {badly_scaled_quadratic(n, condition), 0.6};
}

// |Ax - b|^2 / 2.
struct LeastSquares {
  Eigen::MatrixXd a;
  Eigen::VectorXd b;

  Eigen::Index dimension() const { return a.cols(); }

  double value_and_gradient(const Eigen::VectorXd& x, Eigen::VectorXd& gradient) const {
    const Eigen::VectorXd residual = a * x - b;
    gradient = a.transpose() * residual;
    return 0.5 * residual.squaredNorm();
  }
};

// sum_r log(1 + exp(-label[r] row[r]'x)), labels -1 or 1.
struct Logistic {
  Eigen::MatrixXd rows;
  Eigen::VectorXd labels;

  Eigen::Index dimension() const { return rows.cols(); }

  double value_and_gradient(const Eigen::VectorXd& x, Eigen::VectorXd& gradient) const {
    const Eigen::ArrayXd margin = (rows * x).array() * labels.array();
    const Eigen::ArrayXd tail = (-margin.abs()).exp();
    const Eigen::ArrayXd wrong = (margin > 0).select(tail / (1 + tail), 1 / (1 + tail));
    gradient = -rows.transpose() * (wrong * labels.array()).matrix();
    return (tail.log1p() - margin.min(0.0)).sum();
  }

  // Of the Hessian's diagonal at x = 0.
  Eigen::VectorXd inverse_diagonal() const {
    return (0.25 * rows.colwise().squaredNorm()).cwiseInverse().transpose();
  }
};

// Columns scaled from 1 to `spread`; the first column is constant (an intercept); labels follow a
// sparse model with noise, so that the classes overlap.
inline Logistic random_logistic(std::uint64_t seed, Eigen::Index n_rows, Eigen::Index n_columns,
                                double spread) {
  Numbers numbers(seed);
  Eigen::MatrixXd rows = numbers.matrix(n_rows, n_columns);
  rows.col(0).setOnes();
  Eigen::VectorXd weights = numbers.vector(n_columns);
  for (Eigen::Index j = 1; j < n_columns; ++j)
    if (j % 3 != 0) weights[j] = 0;
  const Eigen::VectorXd margin = rows * weights + numbers.vector(n_rows);
  for (Eigen::Index j = 1; j < n_columns; ++j)
    rows.col(j) *= std::pow(spread, static_cast<double>(j) / static_cast<double>(n_columns - 1));
  return {std::move(rows), (margin.array() > 0).select(Eigen::VectorXd::Ones(n_rows), -1.0)};
}

// The largest violation of 0 in the subdifferential of f + sum l1 |x|, written out independently of
// the library: |gradient + l1 sign(x)| where x is not 0, else max(|gradient| - l1, 0).
inline double subgradient_violation(const Eigen::VectorXd& x, const Eigen::VectorXd& gradient,
                                    const Eigen::VectorXd& l1) {
  double worst = 0;
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    const double sign = x[i] > 0 ? 1.0 : -1.0;
    const double here = x[i] != 0 ? std::abs(gradient[i] + sign * l1[i])
                                  : std::max(std::abs(gradient[i]) - l1[i], 0.0);
    worst = std::max(worst, here);
  }
  return worst;
}

template <class Objective>
Eigen::VectorXd gradient_at(const Objective& objective, const Eigen::VectorXd& x) {
  Eigen::VectorXd gradient(x.size());
  objective.value_and_gradient(x, gradient);
  return gradient;
}

}  // namespace feldspar::testing
