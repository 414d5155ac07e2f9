// Weights whose sums are exact.
//
// A whole multiple of `unit`, with a total below 2^53 units, is a double without rounding, and so is
// every sum and difference of such weights: the weight of a set of rows does not depend on the order
// of addition, and the rest of the rows weigh the total less it. Weights are rounded to the
// largest power of two that serves, total / 2^52 in the worst case; whole numbers and simple fractions
// stay as they are. The error, half a unit a row, is that of adding up doubles.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include <feldspar/data/dataset.hpp>

namespace feldspar {

struct ExactWeights {
  double unit = 1;                   // a power of two
  std::vector<std::uint64_t> units;  // by row
  std::uint64_t total = 0;           // of the units; at most 2^53

  double weight(std::uint64_t n_units) const noexcept {
    return static_cast<double>(n_units) * unit;
  }
  // Whether the weights were multiples of the unit already.
  bool unrounded(std::span<const double> weights) const noexcept {
    for (std::size_t r = 0; r < weights.size(); ++r)
      if (weight(units[r]) != weights[r]) return false;
    return true;
  }
};

inline ExactWeights exact_weights(std::span<const double> weights, double total) {
  constexpr int kDigits = 52;
  int exponent = 0;
  std::frexp(total, &exponent);          // total < 2^exponent
  exponent = std::max(exponent, -900);  // so that the unit does not underflow
  ExactWeights exact;
  std::uint64_t all = 0;
  for (const double w : weights) {
    exact.units.push_back(
        static_cast<std::uint64_t>(std::nearbyint(std::ldexp(w, kDigits - exponent))));
    all |= exact.units.back();
  }
  const int spare = all == 0 ? 0 : std::countr_zero(all);
  for (std::uint64_t& n : exact.units) exact.total += n >>= spare;
  exact.unit = std::ldexp(1.0, exponent - kDigits + spare);
  return exact;
}

}  // namespace feldspar
