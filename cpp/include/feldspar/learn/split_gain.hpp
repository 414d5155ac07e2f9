// The gain in log-likelihood of the splits that a tree could make, the target's distributions being
// multinomials smoothed by a Dirichlet prior:
//
//   LL(node) = sum_a n_a log((n_a + prior) / (n + l prior))
//            = sum_a n_a log(n_a + prior) - n log(n + l prior),   l the target's number of values;
//   gain     = LL(yes) + LL(no) - LL(node).
//
// Counts are whole numbers of units, so the terms n log(n + ...) are looked up in tables: a gain
// takes 2 l + 2 of them and no logarithm. Counts beyond a table (more than a million units), and
// all counts where units are fine fractions, are computed, with the same bits.
//
// Gains are rounded to a multiple of 2^-48 of n log n, n being the weight of all data: splits that
// are equal on paper, or gain nothing, are so here too in spite of rounding errors.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include <feldspar/base/simd.hpp>
#include <feldspar/data/exact_weights.hpp>

namespace feldspar {

namespace detail {

// n log(n + added) of a count n.
class CountTerm {
 public:
  CountTerm(const ExactWeights& weights, double added) : unit_(weights.unit), added_(added) {
    constexpr std::uint64_t kMaxEntries = std::uint64_t{1} << 20;
    constexpr double kFineUnit = 1.0 / 64;  // counts in finer units hardly repeat
    if (weights.unit < kFineUnit) return;
    table_.resize(std::min(weights.total + 1, kMaxEntries));
    for (std::uint64_t n = 0; n < table_.size(); ++n) table_[n] = compute(n);
  }

  double operator()(std::uint64_t units) const noexcept {
    return units < table_.size() ? table_[units] : compute(units);
  }
  // The terms of 0, 1, 2 ... units, as far as they are tabulated.
  std::span<const double> table() const noexcept { return table_; }

 private:
  double compute(std::uint64_t units) const noexcept {
    const double n = static_cast<double>(units) * unit_;
    return n * std::log(n + added_);
  }

  double unit_, added_;
  std::vector<double> table_;
};

}  // namespace detail

struct BestSplit {
  std::size_t place = 0;  // of the test in `kept`
  double gain = 0;
};

class SplitGain {
 public:
  SplitGain(const ExactWeights& weights, std::size_t n_values, double prior)
      : n_values_(n_values),
        value_term_(weights, prior),
        total_term_(weights, static_cast<double>(n_values) * prior) {
    const double n = weights.weight(weights.total) + 2;
    int exponent = 0;
    std::frexp(n * std::log(n), &exponent);
    // Adding and taking away 1.5 * 2^52 steps leaves whole steps.
    rounding_ = std::ldexp(1.5, exponent - 48 + 52);
  }

  // Of a node with values[a] units of value a of the target, and tests that counts[a][test] of
  // them pass: the first of the tests `kept` with the largest gain, if that exceeds `least`.
  std::optional<BestSplit> best(std::span<const std::uint64_t> values,
                                std::span<const std::uint64_t> counts,
                                std::span<const std::uint32_t> kept, double least) const {
    const std::uint64_t total = std::accumulate(values.begin(), values.end(), std::uint64_t{0});
    if (total >= value_term_.table().size())
      return scan<0>(values, counts, kept, least, value_term_, total_term_);
    const Lookup value_term{value_term_.table().data()}, total_term{total_term_.table().data()};
    return n_values_ == 2 ? scan<2>(values, counts, kept, least, value_term, total_term)
                          : scan<0>(values, counts, kept, least, value_term, total_term);
  }

 private:
  struct Lookup {
    const double* table;
    FELDSPAR_ALWAYS_INLINE double operator()(std::uint64_t units) const noexcept {
      return table[units];
    }
  };

  double log_likelihood(std::span<const std::uint64_t> values) const noexcept {
    double sum = 0;
    for (const std::uint64_t n : values) sum += value_term_(n);
    return sum - total_term_(std::accumulate(values.begin(), values.end(), std::uint64_t{0}));
  }

  // kValues is the number of the target's values, or 0 if the compiler shall not know.
  template <std::size_t kValues, class Term>
  std::optional<BestSplit> scan(std::span<const std::uint64_t> values,
                                std::span<const std::uint64_t> counts,
                                std::span<const std::uint32_t> kept, double least,
                                const Term& value_term, const Term& total_term) const;

  std::size_t n_values_;
  detail::CountTerm value_term_, total_term_;
  double rounding_ = 0;
};

template <std::size_t kValues, class Term>
std::optional<BestSplit> SplitGain::scan(std::span<const std::uint64_t> values,
                                         std::span<const std::uint64_t> counts,
                                         std::span<const std::uint32_t> kept, double least,
                                         const Term& value_term, const Term& total_term) const {
  const std::size_t n_values = kValues == 0 ? n_values_ : kValues;
  const std::size_t n_tests = counts.size() / n_values;
  const std::uint64_t total = std::accumulate(values.begin(), values.end(), std::uint64_t{0});
  const double whole = log_likelihood(values), rounding = rounding_;
  BestSplit best{kept.size(), least};
  for (std::size_t i = 0; i < kept.size(); ++i) {
    double yes = 0, no = 0;
    std::uint64_t n_yes = 0;
    for (std::size_t a = 0; a < n_values; ++a) {
      const std::uint64_t n = counts[a * n_tests + kept[i]];
      yes += value_term(n);
      no += value_term(values[a] - n);
      n_yes += n;
    }
    yes -= total_term(n_yes);
    no -= total_term(total - n_yes);
    const double gain = ((yes + no) - whole + rounding) - rounding;
    if (gain > best.gain) best = {i, gain};
  }
  return best.place < kept.size() ? std::optional(best) : std::nullopt;
}

}  // namespace feldspar
