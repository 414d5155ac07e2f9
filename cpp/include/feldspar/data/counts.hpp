// Weighted counts on packed data.
//
// WeightedCounter adds up the weights of the rows in the intersection of two sets. Weights that are
// whole numbers (merged rows of unweighted data) are kept as bit planes, weight = sum_b 2^b
// plane_b, so that a count is a few population counts: exact, and 64 rows at a time. Few rows weigh
// much, so that of a plane only the words that are not zero are kept. Other weights, and those of
// few rows, are added row by row.
//
// PairCounts holds the contingency tables of all pairs of variables: the joint weights of all pairs
// of non-zero values, the rest by subtraction. Cost: (sum of (cardinality - 1))^2 / 2 intersections
// of packed rows; parallel over the variables, each table written by one task.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/parallel.hpp>
#include <feldspar/base/simd.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/dataset.hpp>

namespace feldspar {

namespace detail {

struct CountBothKernel {
  FELDSPAR_ALWAYS_INLINE std::uint64_t operator()(const Word* a, const Word* b,
                                                  std::size_t n) const noexcept {
    std::uint64_t count = 0;
    for (std::size_t w = 0; w < n; ++w)
      count += static_cast<std::uint64_t>(std::popcount(a[w] & b[w]));
    return count;
  }
};

// A word of a bit plane: which rows of word `place` have the bit in their weight.
struct PlaneWord {
  std::size_t place;
  Word rows;
};

struct CountInPlaneKernel {
  FELDSPAR_ALWAYS_INLINE std::uint64_t operator()(const Word* a, const Word* b,
                                                  const PlaneWord* plane,
                                                  std::size_t n) const noexcept {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < n; ++i)
      count += static_cast<std::uint64_t>(
          std::popcount(a[plane[i].place] & b[plane[i].place] & plane[i].rows));
    return count;
  }
};

}  // namespace detail

class WeightedCounter {
 public:
  explicit WeightedCounter(const Dataset& data)
      : n_words_(data.columns().n_words()), weights_(data.weights().begin(), data.weights().end()) {
    constexpr double kMaxPlaneWeight = 4294967296.0;
    unit_ = std::ranges::all_of(weights_, [](double w) { return w == 1.0; });
    whole_ = std::ranges::all_of(
        weights_, [](double w) { return w < kMaxPlaneWeight && w == std::floor(w); });
    if (unit_ || !whole_) return;
    const auto largest = static_cast<std::uint64_t>(*std::ranges::max_element(weights_));
    for (int bit = 0; (largest >> bit) != 0; ++bit) {
      for (std::size_t w = 0; w < n_words_; ++w)
        if (const Word rows = rows_with(bit, w); rows != 0) planes_.push_back({w, rows});
      plane_end_.push_back(planes_.size());
    }
  }

  // Total weight of the rows in a set.
  double count(std::span<const Word> a) const { return count(a, a); }

  // Total weight of the rows in both sets.
  double count(std::span<const Word> a, std::span<const Word> b) const {
    if (unit_)
      return static_cast<double>(
          run_kernel<detail::CountBothKernel>(simd_, a.data(), b.data(), n_words_));
    if (!whole_) return add_up(a, b);
    // Whole numbers add up to the same in any order. A row costs as much as about two words.
    const std::uint64_t n_rows =
        run_kernel<detail::CountBothKernel>(simd_, a.data(), b.data(), n_words_);
    if (2 * n_rows < planes_.size()) return add_up(a, b);
    std::uint64_t sum = 0;
    for (std::size_t bit = 0, first = 0; bit < plane_end_.size(); first = plane_end_[bit++])
      sum += run_kernel<detail::CountInPlaneKernel>(simd_, a.data(), b.data(),
                                                    planes_.data() + first, plane_end_[bit] - first)
             << bit;
    return static_cast<double>(sum);
  }

 private:
  // The rows of a word whose whole weight has the bit.
  Word rows_with(int bit, std::size_t word) const noexcept {
    Word rows = 0;
    const std::size_t first = word * kWordBits;
    const std::size_t n = std::min(kWordBits, weights_.size() - first);
    for (std::size_t i = 0; i < n; ++i)
      rows |= Word{(static_cast<std::uint64_t>(weights_[first + i]) >> bit) & 1} << i;
    return rows;
  }

  double add_up(std::span<const Word> a, std::span<const Word> b) const {
    double sum = 0;
    for (std::size_t w = 0; w < n_words_; ++w)
      for (Word rest = a[w] & b[w]; rest != 0; rest &= rest - 1)
        sum += weights_[w * kWordBits + static_cast<std::size_t>(std::countr_zero(rest))];
    return sum;
  }

  SimdLevel simd_ = simd_level();
  std::size_t n_words_;
  std::vector<double> weights_;
  bool unit_ = false, whole_ = false;
  // By bit of the weight; empty when all are 1 or some are fractions.
  std::vector<detail::PlaneWord> planes_;
  std::vector<std::size_t> plane_end_;
};

class PairCounts {
 public:
  explicit PairCounts(const Dataset& data, const Execution& execution = {});

  double total() const noexcept { return total_; }

  // Weight of the rows with value a of variable i.
  double count(Variable i, Value a) const noexcept {
    if (a > 0) return joint_[place(i, a) * n_columns() + place(i, a)];
    double rest = total_;
    for (Value b = 1; b < cardinality(i); ++b) rest -= count(i, b);
    return rest;
  }

  // Weight of the rows with value a of variable i and value b of variable j, i != j.
  double count(Variable i, Value a, Variable j, Value b) const noexcept {
    if (a == 0) {
      double rest = count(j, b);
      for (Value other = 1; other < cardinality(i); ++other) rest -= count(i, other, j, b);
      return rest;
    }
    if (b == 0) return count(j, b, i, a);
    return joint_[place(i, a) * n_columns() + place(j, b)];
  }

 private:
  std::size_t n_columns() const noexcept { return first_.back(); }
  std::size_t cardinality(Variable v) const noexcept { return first_[v + 1] - first_[v] + 1; }
  std::size_t place(Variable v, Value value) const noexcept { return first_[v] + value - 1; }

  double total_;
  std::vector<std::size_t> first_{0};  // by variable: the column of its value 1
  std::vector<double> joint_;          // columns x columns, symmetric
};

inline PairCounts::PairCounts(const Dataset& data, const Execution& execution)
    : total_(data.total_weight()) {
  const PackedColumns& columns = data.columns();
  const std::size_t n_words = columns.n_words();
  for (const Value c : data.schema().cardinalities()) first_.push_back(first_.back() + c - 1u);
  std::vector<Word> indicators(n_columns() * n_words);
  for (Variable v = 0; v < data.n_variables(); ++v)
    for (Value value = 1; value < data.schema().cardinality(v); ++value) {
      const std::span<Word> rows(indicators.data() + place(v, value) * n_words, n_words);
      fill_bits(rows, data.n_rows());
      columns.intersect(v, {&value, 1}, rows);
    }
  joint_.assign(n_columns() * n_columns(), 0.0);
  const WeightedCounter counter(data);
  parallel_for(n_columns(), execution, [&](std::size_t a) {
    const std::span<const Word> rows(indicators.data() + a * n_words, n_words);
    for (std::size_t b = 0; b <= a; ++b)
      joint_[a * n_columns() + b] = counter.count(rows, {indicators.data() + b * n_words, n_words});
  });
  execution.throw_if_stopped();
  for (std::size_t a = 0; a < n_columns(); ++a)
    for (std::size_t b = a + 1; b < n_columns(); ++b)
      joint_[a * n_columns() + b] = joint_[b * n_columns() + a];
}

}  // namespace feldspar
