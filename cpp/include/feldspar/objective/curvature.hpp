// Minus the second derivatives of the log-likelihood of a variable's values by its margins
// (logistic.hpp), which never are negative,
//
//   binary:   n p (1 - p),   n the weight of the row,
//   general:  n (diag(p) - p p'),
//
// and products with them. They are read off the first derivatives, n_1 - n p, which an evaluation has
// at hand, and kept in single precision: what they are for, the directions of Newton's method, are
// none the worse for it.
#pragma once

#include <cstddef>

namespace feldspar {

// Where the values 1 and 0 have the weights `ones` and `zeros`.
inline float binary_curvature(double ones, double zeros, double derivative) noexcept {
  const double n = ones + zeros, expected = ones - derivative;
  return n > 0 ? static_cast<float>(expected * (n - expected) / n) : 0.0f;
}

// The general case takes `n_margins` + 1 numbers: the probabilities of the values above 0, and n.
// counts[0 .. n_margins] are the weights of the values 0 ... l - 1.
template <class Count>
void softmax_curvature(const Count* counts, const double* derivatives, std::size_t n_margins,
                       float* curvature) noexcept {
  double n = 0;
  for (std::size_t value = 0; value <= n_margins; ++value) n += counts[value];
  for (std::size_t k = 0; k < n_margins; ++k)
    curvature[k] = n > 0 ? static_cast<float>((counts[k + 1] - derivatives[k]) / n) : 0.0f;
  curvature[n_margins] = static_cast<float>(n);
}

// The product with v, in place.
template <class Number>
void multiply_softmax_curvature(const float* curvature, std::size_t n_margins, Number* v) noexcept {
  Number mean = 0;
  for (std::size_t k = 0; k < n_margins; ++k) mean += curvature[k] * v[k];
  for (std::size_t k = 0; k < n_margins; ++k)
    v[k] = curvature[n_margins] * curvature[k] * (v[k] - mean);
}

}  // namespace feldspar
