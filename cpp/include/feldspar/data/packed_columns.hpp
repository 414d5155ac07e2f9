// Rows of codes held column by column in bit slices.
//
// A variable with l values is stored as bit_width(l - 1) slices of one bit per row, so a binary
// variable is one plane of bits, and "the rows where X = v" is a handful of word operations for any
// number of values.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/error.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/schema.hpp>

namespace feldspar {

class PackedColumns {
 public:
  // `codes` is row-major, n_variables codes a row, each within the schema (see check_codes).
  PackedColumns(Schema schema, std::span<const std::int32_t> codes) : schema_(std::move(schema)) {
    const std::size_t n_input = codes.size() / n_variables();
    pack(codes, n_input, [](std::size_t r) { return r; });
  }

  // Only the rows numbered in `rows`, in that order.
  PackedColumns(Schema schema, std::span<const std::int32_t> codes,
                std::span<const std::size_t> rows)
      : schema_(std::move(schema)) {
    pack(codes, rows.size(), [rows](std::size_t r) { return rows[r]; });
  }

  const Schema& schema() const noexcept { return schema_; }
  std::size_t n_rows() const noexcept { return n_rows_; }
  std::size_t n_variables() const noexcept { return schema_.n_variables(); }
  std::size_t n_words() const noexcept { return words_for(n_rows_); }

  // Bit `bit` of the code of `variable`, for every row.
  std::span<const Word> slice(Variable variable, std::size_t bit) const noexcept {
    return {slices_.data() + (first_slice_[variable] + bit) * n_words(), n_words()};
  }
  std::size_t n_slices(Variable variable) const noexcept {
    return first_slice_[variable + 1] - first_slice_[variable];
  }

  // The codes of one variable, a row each.
  std::vector<Value> codes(Variable variable) const;

  // rows &= "the variable's value is in `values`".
  void intersect(Variable variable, std::span<const Value> values, std::span<Word> rows) const;

 private:
  template <class RowNumber>
  void pack(std::span<const std::int32_t> codes, std::size_t n_rows, RowNumber row_number);

  Schema schema_;
  std::size_t n_rows_ = 0;
  std::vector<std::size_t> first_slice_{0};  // by variable, plus the end
  std::vector<Word> slices_;
};

// The number of rows; throws InvalidInput naming the first row and variable whose code is not one
// of the schema.
inline std::size_t check_codes(const Schema& schema, std::span<const std::int32_t> codes) {
  const std::size_t n_variables = schema.n_variables();
  require(n_variables > 0, "data: no variables");
  require(codes.size() % n_variables == 0, "data: ", codes.size(), " codes are not whole rows of ",
          n_variables, " variables");
  const Value* cardinalities = schema.cardinalities().data();
  for (std::size_t i = 0, v = 0; i < codes.size(); ++i, v = v + 1 == n_variables ? 0 : v + 1) {
    if (codes[i] >= 0 && codes[i] < cardinalities[v]) [[likely]]
      continue;
    const auto found = codes[i] == -1 ? std::string("missing value")
                                      : concat("code ", codes[i], " is out of range");
    throw InvalidInput(concat("row ", i / n_variables, ", variable ", v, ": ", found,
                              "; expected a code from 0 to ", cardinalities[v] - 1));
  }
  return codes.size() / n_variables;
}

template <class RowNumber>
void PackedColumns::pack(std::span<const std::int32_t> codes, std::size_t n_rows,
                         RowNumber row_number) {
  n_rows_ = n_rows;
  for (const Value cardinality : schema_.cardinalities())
    first_slice_.push_back(first_slice_.back() + static_cast<std::size_t>(std::bit_width(
                                                     static_cast<unsigned>(cardinality - 1))));
  slices_.assign(first_slice_.back() * n_words(), 0);
  if (slices_.empty()) return;  // every variable has one value
  // 64 rows at a time: the words of all slices for these rows stay in the cache.
  for (std::size_t first = 0; first < n_rows; first += kWordBits) {
    const std::size_t here = std::min(kWordBits, n_rows - first);
    for (std::size_t i = 0; i < here; ++i) {
      const std::int32_t* row = codes.data() + row_number(first + i) * n_variables();
      Word* word = slices_.data() + first / kWordBits;
      for (std::size_t v = 0; v < n_variables(); ++v)
        for (std::size_t bit = 0; bit < first_slice_[v + 1] - first_slice_[v];
             ++bit, word += n_words())
          *word |= static_cast<Word>((row[v] >> bit) & 1) << i;
    }
  }
}

inline std::vector<Value> PackedColumns::codes(Variable variable) const {
  std::vector<Value> codes(n_rows(), 0);
  for (std::size_t bit = 0; bit < n_slices(variable); ++bit) {
    const auto plane = slice(variable, bit);
    for (std::size_t r = 0; r < codes.size(); ++r)
      codes[r] = static_cast<Value>(codes[r] | (test_bit(plane, r) << bit));
  }
  return codes;
}

inline void PackedColumns::intersect(Variable variable, std::span<const Value> values,
                                     std::span<Word> rows) const {
  const std::size_t n_bits = n_slices(variable);
  const Word* planes = slice(variable, 0).data();
  const std::size_t stride = n_words();
  if (n_bits == 1 && values.size() == 1) {  // the binary fast path
    const Word flip = values[0] == 1 ? 0 : ~Word{0};
    for (std::size_t w = 0; w < rows.size(); ++w) rows[w] &= planes[w] ^ flip;
    return;
  }
  for (std::size_t w = 0; w < rows.size(); ++w) {
    Word any = 0;
    for (const Value value : values) {
      Word all = ~Word{0};
      for (std::size_t bit = 0; bit < n_bits; ++bit)
        all &= (value >> bit) & 1 ? planes[bit * stride + w] : ~planes[bit * stride + w];
      any |= all;
    }
    rows[w] &= any;
  }
}

}  // namespace feldspar
