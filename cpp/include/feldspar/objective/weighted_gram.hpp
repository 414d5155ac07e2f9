// The weighted Gram matrix X' diag(d) X of 0/1 columns and weights d >= 0: a matrix of curvatures for
// Newton-like methods, exact for sparse columns, approximate and fast for dense ones.
//
// Dense: weights are rounded to whole multiples of a unit that each block of rows chooses for
// itself, written as digits to the base 64; then 32 rows are multiplied with one AND and added with
// one addition of bytes, digit by digit (one digit unless weights are very unequal). Rounding is up
// or down by a fixed low-discrepancy sequence, so that it is right on average and errors do not add
// up: entries of a few hundred rows are good to about a percent, larger ones to better. The result
// is exactly the Gram matrix of the rounded weights: positive semi-definite, with the dependences
// that the columns have, and the same bits on every instruction set.
//
// Sparse (fewer than one 1 in eight entries): the pairs of ones of each row are added up.
//
// Cost: dense, columns^2 / 2 * rows / 32 steps of three operations; sparse, (ones in a row)^2 / 2
// additions a row. Runs on the calling thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include <Eigen/Core>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/pack.hpp>
#include <feldspar/base/simd.hpp>

namespace feldspar {

// Fewer than one 1 in so many entries is sparse.
inline constexpr std::size_t kSparseShare = 8;

namespace detail {

// By byte: eight bits as eight bytes, all ones for a 1.
inline constexpr std::array<std::uint64_t, 256> kBitsAsBytes = [] {
  std::array<std::uint64_t, 256> table{};
  for (unsigned byte = 0; byte < 256; ++byte)
    for (unsigned bit = 0; bit < 8; ++bit)
      if ((byte >> bit) & 1) table[byte] |= std::uint64_t{0xff} << (8 * bit);
  return table;
}();

inline constexpr std::size_t kGramBlockRows = 1024;
inline constexpr std::size_t kGramBlockWords = kGramBlockRows / 8;  // a byte a row

// sums[c] = sum of the bytes of (weights & masks of column c), for n columns rounded up to fours.
// Columns are kGramBlockWords apart; `n_words` of them, a multiple of kStep, are used.
struct MaskedByteSumsKernel {
  static constexpr std::size_t kColumns = 4;   // side by side
  static constexpr std::size_t kByteSums = 4;  // additions of at most 63 that fit a byte
  static constexpr std::size_t kStep = kByteSums * kPackSize;

  FELDSPAR_ALWAYS_INLINE void operator()(const std::uint64_t* weights, const std::uint64_t* masks,
                                         std::size_t n, std::size_t n_words,
                                         std::uint32_t* sums) const noexcept {
    for (std::size_t first = 0; first < n; first += kColumns) {
      const std::uint64_t* mask = masks + first * kGramBlockWords;
      PackBits wide[kColumns];
      for (PackBits& sum : wide) sum = broadcast_bits(0);
      for (std::size_t w = 0; w < n_words; w += kStep) {
        PackBits bytes[kColumns];
        for (PackBits& sum : bytes) sum = broadcast_bits(0);
        for (std::size_t i = w; i < w + kStep; i += kPackSize) {
          const PackBits here = load_bits(weights + i);
          for (std::size_t c = 0; c < kColumns; ++c)
            bytes[c] += here & load_bits(mask + c * kGramBlockWords + i);
        }
        for (std::size_t c = 0; c < kColumns; ++c) wide[c] += pairs(bytes[c], 8);
      }
      for (std::size_t c = 0; c < kColumns; ++c) {
        std::uint64_t lanes[kPackSize];
        store_bits(lanes, pairs(pairs(wide[c], 16), 32));
        sums[first + c] = static_cast<std::uint32_t>((lanes[0] + lanes[1]) + (lanes[2] + lanes[3]));
      }
    }
  }

  // Adds neighbouring numbers of `bits` bits; their sums have twice as many.
  static FELDSPAR_ALWAYS_INLINE PackBits pairs(PackBits x, int bits) noexcept {
    const std::uint64_t low = bits == 8    ? 0x00ff00ff00ff00ffu
                              : bits == 16 ? 0x0000ffff0000ffffu
                                           : 0x00000000ffffffffu;
    return (x & low) + ((x >> bits) & low);
  }
};

// The weights of one block in whole units, as digits to the base 64: one byte a row and digit.
struct RoundedWeights {
  static constexpr std::size_t kMaxDigits = 4;
  using Digits = std::array<std::uint64_t, kGramBlockWords>;

  std::size_t n_digits = 0;
  double unit = 0;
  std::array<Digits, kMaxDigits> digits;

  explicit RoundedWeights(std::span<const double> d) {
    constexpr double kLeastMean = 8;  // units that the mean weight shall have
    constexpr double kGolden = 0.6180339887498949;
    double top = 0, sum = 0;
    for (const double x : d) {
      top = std::max(top, x);
      sum += x;
    }
    if (!(top > 0)) return;
    const double wanted = kLeastMean * top * static_cast<double>(d.size()) / sum;
    double levels = 64;
    for (n_digits = 1; n_digits < kMaxDigits && levels - 1 < wanted; ++n_digits) levels *= 64;
    unit = top / (levels - 1);
    const double scale = (levels - 1) / top;
    for (std::size_t i = 0; i < n_digits; ++i) digits[i].fill(0);
    for (std::size_t r = 0; r < d.size(); ++r) {
      const double place = static_cast<double>(r) * kGolden;
      const double dither = place - static_cast<double>(static_cast<std::int32_t>(place));
      auto level = static_cast<std::uint64_t>(
          static_cast<std::int32_t>(std::min(d[r] * scale + dither, levels - 1)));
      for (std::size_t i = 0; i < n_digits; ++i, level >>= 6)
        digits[i][r / 8] |= (level & 63) << (8 * (r % 8));
    }
  }
};

// 64 rows a word become a byte a row; rows beyond the end are zeros.
inline void expand_rows(std::span<const Word> rows, std::uint64_t* masks) noexcept {
  std::uint64_t* end = masks + kGramBlockWords;
  for (const Word word : rows)
    for (std::size_t byte = 0; byte < 8; ++byte)
      *masks++ = kBitsAsBytes[(word >> (8 * byte)) & 0xff];
  std::fill(masks, end, 0);
}

using PackedColumn = std::span<const Word>;

// Adds the upper triangle of the Gram matrix of the rounded weights.
inline void rounded_gram(std::span<const PackedColumn> columns, std::span<const double> d,
                         Eigen::MatrixXd& gram) {
  using Kernel = MaskedByteSumsKernel;
  const SimdLevel simd = simd_level();
  const std::size_t n = columns.size();
  const std::size_t n_padded = (n + Kernel::kColumns - 1) / Kernel::kColumns * Kernel::kColumns;
  std::vector<std::uint64_t> masks(n_padded * kGramBlockWords, 0);
  std::vector<std::uint32_t> sums(n_padded);
  std::array<std::uint64_t, kGramBlockWords> own;
  for (std::size_t first = 0; first < d.size(); first += kGramBlockRows) {
    const std::size_t here = std::min(kGramBlockRows, d.size() - first);
    const std::size_t n_words =
        (here + 8 * Kernel::kStep - 1) / (8 * Kernel::kStep) * Kernel::kStep;
    const RoundedWeights rounded(d.subspan(first, here));
    for (std::size_t i = 0; i < n; ++i)
      expand_rows(columns[i].subspan(first / kWordBits, words_for(here)),
                  masks.data() + i * kGramBlockWords);
    double unit = rounded.unit;
    for (std::size_t digit = 0; digit < rounded.n_digits; ++digit, unit *= 64)
      for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t* mask = masks.data() + i * kGramBlockWords;
        for (std::size_t w = 0; w < n_words; ++w) own[w] = rounded.digits[digit][w] & mask[w];
        run_kernel<Kernel>(simd, static_cast<const std::uint64_t*>(own.data()),
                           static_cast<const std::uint64_t*>(masks.data()), i + 1, n_words,
                           sums.data());
        double* column = gram.col(static_cast<Eigen::Index>(i)).data();
        for (std::size_t j = 0; j <= i; ++j) column[j] += unit * sums[j];
      }
  }
}

// Only the upper triangle, as in rounded_gram.
inline void exact_gram(std::span<const PackedColumn> columns, std::span<const double> d,
                       Eigen::MatrixXd& gram) {
  std::vector<std::size_t> begin(d.size() + 1, 0);  // by row: its place in `members`
  for (const PackedColumn rows : columns)
    for_each_bit(rows, [&](std::size_t r) { ++begin[r + 1]; });
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<std::uint32_t> members(begin.back());  // by row: the columns met so far
  std::vector<std::size_t> end(begin.begin(), begin.end() - 1);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    double* column = gram.col(static_cast<Eigen::Index>(i)).data();
    for_each_bit(columns[i], [&](std::size_t r) {
      members[end[r]++] = static_cast<std::uint32_t>(i);
      for (std::size_t m = begin[r]; m < end[r]; ++m) column[members[m]] += d[r];
    });
  }
}

}  // namespace detail

// Column i is 1 on the packed rows columns[i]. With `exact`, dense columns are treated like sparse
// ones.
inline Eigen::MatrixXd weighted_gram(std::span<const std::span<const Word>> columns,
                                     std::span<const double> d, bool exact = false) {
  const auto n = static_cast<Eigen::Index>(columns.size());
  Eigen::MatrixXd gram = Eigen::MatrixXd::Zero(n, n);
  std::size_t ones = 0;
  for (const auto rows : columns) ones += count_bits(rows);
  if (exact || kSparseShare * ones < columns.size() * d.size())
    detail::exact_gram(columns, d, gram);
  else
    detail::rounded_gram(columns, d, gram);
  gram.triangularView<Eigen::StrictlyLower>() = gram.transpose();
  return gram;
}

}  // namespace feldspar
