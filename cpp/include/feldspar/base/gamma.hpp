// The regularised incomplete gamma function Q(a, x) = Gamma(a, x) / Gamma(a), and with it the tail
// of the chi-square distribution.
//
// Below x = a + 1 by the power series of 1 - Q, above by Legendre's continued fraction (Lentz's
// method). Both converge in O(sqrt(a)) terms; relative accuracy about 1e-13 for a below 10^4, but
// for tails under the smallest double, which are 0.
#pragma once

#include <cmath>
#include <limits>

#include <feldspar/base/error.hpp>

namespace feldspar {

namespace detail {

// log Gamma without the global sign that std::lgamma writes: for positive arguments, on any thread.
inline double log_gamma(double a) {
  // Stirling's series from 10 on, where five terms are enough, and the recurrence below.
  double shift = 0;
  for (; a < 10; ++a) shift += std::log(a);
  const double r = 1 / a, r2 = r * r;
  const double series =
      r * (1.0 / 12 -
           r2 * (1.0 / 360 -
                 r2 * (1.0 / 1260 -
                       r2 * (1.0 / 1680 - r2 * (1.0 / 1188 - r2 * (691.0 / 360360 - r2 / 156))))));
  constexpr double kHalfLogTwoPi = 0.91893853320467274178;
  return (a - 0.5) * std::log(a) - a + kHalfLogTwoPi + series - shift;
}

}  // namespace detail

// For a > 0 and x >= 0.
inline double gamma_tail(double a, double x) {
  require(a > 0 && x >= 0, "gamma_tail: expected a > 0 and x >= 0, got ", a, " and ", x);
  if (x == 0) return 1.0;
  if (std::isinf(x)) return 0.0;
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  constexpr int kMostTerms = 100000;
  const double front = std::exp(a * std::log(x) - x - detail::log_gamma(a));
  if (x < a + 1) {
    double term = 1 / a, sum = term;
    for (int n = 1; n < kMostTerms && term > kEpsilon * sum; ++n) sum += term *= x / (a + n);
    return 1 - front * sum;
  }
  double b = x + 1 - a, c = 1e300, d = 1 / b, fraction = d;
  for (int n = 1; n < kMostTerms; ++n) {
    const double numerator = -n * (n - a);
    b += 2;
    d = 1 / (numerator * d + b);
    c = b + numerator / c;
    fraction *= c * d;
    if (std::abs(c * d - 1) < kEpsilon) break;
  }
  return front * fraction;
}

// The chance that a chi-square variable of `degrees` > 0 degrees of freedom is above `statistic`.
inline double chi_square_tail(double statistic, double degrees) {
  return gamma_tail(0.5 * degrees, 0.5 * statistic);
}

}  // namespace feldspar
