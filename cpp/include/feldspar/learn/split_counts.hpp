// For any list of rows, how many of them pass each of the tests that a tree could split on.
//
// SplitRows holds the bits of all tests row by row, in packs of 256 tests. Bits of several rows are
// added side by side, one lane a test, in counters that are themselves sliced into planes: plane b
// has bit b of the counter of every test. Eight rows take seven full adders of five logical
// operations (the carry-save tree of Harley and Seal's population count), whatever the tests are:
// less than one operation for 40 tests and a row with AVX2. There is nothing to pack, and a node
// of a tree is but a list of rows.
//
// Weights are whole numbers of units (data/exact_weights.hpp). A row stands in the list once for
// every binary digit of its weight, and is added to the counters from that digit's plane on.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/pack.hpp>
#include <feldspar/base/simd.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/packed_columns.hpp>

namespace feldspar {

struct SplitTest {
  Variable variable;
  Value value;
};

// The tests that can tell rows apart, by variable, then value. Those of a binary variable, X = 0
// and X = 1, are the same split with its sides exchanged: X = 1 stands for both.
inline std::vector<SplitTest> split_tests(const Schema& schema) {
  std::vector<SplitTest> tests;
  for (Variable v = 0; v < schema.n_variables(); ++v) {
    const Value cardinality = schema.cardinality(v);
    if (cardinality == 2) tests.push_back({v, 1});
    for (Value value = 0; cardinality > 2 && value < cardinality; ++value)
      tests.push_back({v, value});
  }
  return tests;
}

class SplitRows {
 public:
  explicit SplitRows(const PackedColumns& columns);

  const std::vector<SplitTest>& tests() const noexcept { return tests_; }
  std::size_t n_packs() const noexcept { return n_packs_; }
  // Which rows pass a test.
  std::span<const Word> column(std::size_t test) const noexcept {
    return {columns_.data() + test * n_words_, n_words_};
  }
  // The bits of all tests, n_packs() packs a row.
  const Word* rows() const noexcept { return rows_.data(); }

 private:
  std::vector<SplitTest> tests_;
  std::size_t n_words_, n_packs_;
  std::vector<Word> columns_, rows_;
};

inline SplitRows::SplitRows(const PackedColumns& columns)
    : tests_(split_tests(columns.schema())),
      n_words_(columns.n_words()),
      n_packs_((tests_.size() + kPackSize * kWordBits - 1) / (kPackSize * kWordBits)),
      columns_(tests_.size() * n_words_),
      rows_(columns.n_rows() * n_packs_ * kPackSize) {
  for (std::size_t t = 0; t < tests_.size(); ++t) {
    const std::span<Word> passing(columns_.data() + t * n_words_, n_words_);
    fill_bits(passing, columns.n_rows());
    columns.intersect(tests_[t].variable, {&tests_[t].value, 1}, passing);
    const std::size_t row_words = n_packs_ * kPackSize;
    for_each_bit(passing, [&](std::size_t r) {
      rows_[r * row_words + t / kWordBits] |= Word{1} << (t % kWordBits);
    });
  }
}

namespace detail {

// The sum of three bits in every lane: the low bit replaces `a`, the carry is returned.
FELDSPAR_ALWAYS_INLINE PackBits add_bits(PackBits& a, PackBits b, PackBits c) noexcept {
  const PackBits half = a ^ b;
  const PackBits carry = (a & b) | (half & c);
  a = half ^ c;
  return carry;
}

// planes[b][pack]: bit b of the counters, which become the weights, in units, of the listed rows
// that pass. `list` has lengths[d] rows of digit d after those of the digits below.
struct CountRowsKernel {
  FELDSPAR_ALWAYS_INLINE void operator()(const Word* rows, std::size_t n_packs, const Row* list,
                                         std::span<const std::uint32_t> lengths,
                                         Word* planes) const noexcept {
    for (std::size_t pack = 0; pack < n_packs; ++pack) {
      const Row* rest = list;
      for (std::size_t digit = 0; digit < lengths.size(); ++digit) {
        add_list(rows + pack * kPackSize, n_packs * kPackSize, {rest, lengths[digit]},
                 planes + (digit * n_packs + pack) * kPackSize, n_packs * kPackSize);
        rest += lengths[digit];
      }
    }
  }

 private:
  FELDSPAR_ALWAYS_INLINE static void add_list(const Word* rows, std::size_t stride,
                                              std::span<const Row> list, Word* planes,
                                              std::size_t plane_stride) noexcept {
    if (list.empty()) return;
    PackBits ones = load_bits(planes), twos = load_bits(planes + plane_stride),
             fours = load_bits(planes + 2 * plane_stride);
    const auto row = [&](std::size_t i) {
      return i < list.size() ? load_bits(rows + list[i] * stride) : broadcast_bits(0);
    };
    for (std::size_t i = 0; i < list.size(); i += 8) {
      const PackBits two_a = add_bits(ones, row(i), row(i + 1));
      const PackBits two_b = add_bits(ones, row(i + 2), row(i + 3));
      const PackBits four_a = add_bits(twos, two_a, two_b);
      const PackBits two_c = add_bits(ones, row(i + 4), row(i + 5));
      const PackBits two_d = add_bits(ones, row(i + 6), row(i + 7));
      const PackBits four_b = add_bits(twos, two_c, two_d);
      PackBits carry = add_bits(fours, four_a, four_b);
      for (Word* plane = planes + 3 * plane_stride; any_bit(carry); plane += plane_stride) {
        const PackBits old = load_bits(plane);
        store_bits(plane, old ^ carry);
        carry = old & carry;
      }
    }
    store_bits(planes, ones);
    store_bits(planes + plane_stride, twos);
    store_bits(planes + 2 * plane_stride, fours);
  }
};

// Byte b in memory: whether bit b of the index is set.
inline constexpr std::array<std::uint64_t, 256> kSpreadBits = [] {
  std::array<std::uint64_t, 256> spread{};
  for (std::size_t byte = 0; byte < 256; ++byte)
    for (std::size_t bit = 0; bit < 8; ++bit)
      if ((byte >> bit) & 1)
        spread[byte] |= std::uint64_t{1}
                        << 8 * (std::endian::native == std::endian::little ? bit : 7 - bit);
  return spread;
}();

}  // namespace detail

// Counts the tests that rows pass. Keeps its buffers between calls.
class SplitCounter {
 public:
  explicit SplitCounter(const SplitRows& rows, SimdLevel simd = simd_level())
      : rows_(rows), simd_(simd), bytes_(words_for(rows.tests().size()) * kWordBits) {}

  // counts[i] = the weight, in units, of the listed rows that pass tests[i]. `list` is ordered by
  // digit, lengths[d] of them with digit d; all together weigh `total` units.
  void count(std::span<const Row> list, std::span<const std::uint32_t> lengths, std::uint64_t total,
             std::span<const std::uint32_t> tests, std::span<std::uint64_t> counts) {
    const std::size_t n_words = rows_.n_packs() * kPackSize;
    const auto n_planes = static_cast<std::size_t>(std::bit_width(total));
    planes_.assign((n_planes + 3) * n_words, 0);  // three at least are used from each digit on
    run_kernel<detail::CountRowsKernel>(simd_, rows_.rows(), rows_.n_packs(), list.data(), lengths,
                                        planes_.data());
    std::ranges::fill(counts, 0);
    for (std::size_t first = 0; first < n_planes; first += 8) {
      spread(first, std::min<std::size_t>(8, n_planes - first));
      for (std::size_t i = 0; i < tests.size(); ++i)
        counts[i] |= static_cast<std::uint64_t>(bytes_[tests[i]]) << first;
    }
  }

 private:
  // bytes_[test] = bits first ... first + n of its counter.
  void spread(std::size_t first, std::size_t n) {
    const std::size_t stride = rows_.n_packs() * kPackSize;
    const Word* planes = planes_.data() + first * stride;
    for (std::size_t w = 0; w < words_for(rows_.tests().size()); ++w)
      for (std::size_t k = 0; k < kWordBits; k += 8) {
        std::uint64_t eight = 0;
        for (std::size_t b = 0; b < n; ++b)
          eight |= detail::kSpreadBits[(planes[b * stride + w] >> k) & 255] << b;
        std::memcpy(bytes_.data() + w * kWordBits + k, &eight, sizeof eight);
      }
  }

  const SplitRows& rows_;
  SimdLevel simd_;
  std::vector<Word> planes_;
  std::vector<std::uint8_t> bytes_;
};

}  // namespace feldspar
