// Weights whose sums are exact.
//
// Whole multiples of a unit, a power of two, that add up to no more than 2^53 units are doubles
// without rounding, and so are all their sums and differences: the weight of a set of rows does not
// depend on the order of addition, and the other rows weigh the total less it. The unit is the
// largest that leaves the weights as they are (whole numbers and simple fractions), else about
// total / 2^52, to which they are rounded: an error of half a unit a row, as of adding up doubles.
//
// DigitRows lists the rows once for every binary digit of their weight in units: the weight of a
// set of rows is then a count for every digit.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <feldspar/base/types.hpp>

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
  std::frexp(total, &exponent);         // total < 2^exponent
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

struct DigitRows {
  std::vector<std::size_t> begin{0};  // by digit, plus the end
  std::vector<Row> rows;              // of digit d: begin[d] ... begin[d + 1], ascending

  std::size_t n_digits() const noexcept { return begin.size() - 1; }
  std::span<const Row> operator[](std::size_t digit) const noexcept {
    return {rows.data() + begin[digit], begin[digit + 1] - begin[digit]};
  }
};

inline DigitRows digit_rows(const ExactWeights& weights) {
  DigitRows list;
  std::uint64_t all = 0;
  for (const std::uint64_t units : weights.units) all |= units;
  for (unsigned digit = 0; (all >> digit) != 0; ++digit) {
    for (Row r = 0; r < weights.units.size(); ++r)
      if ((weights.units[r] >> digit) & 1) list.rows.push_back(r);
    list.begin.push_back(list.rows.size());
  }
  return list;
}

}  // namespace feldspar
