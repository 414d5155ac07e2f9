// Training examples: distinct rows with weights, in packed columns.
//
// Identical rows are merged on the way in (their weights add up, rows of weight zero vanish) and
// rows are kept in the order of their weights, equal weights in lexicographic order. The same
// examples in any order give the same Dataset bit for bit, and kernels meet runs of equal weights.
//
// Cost: O(rows log rows) comparisons of packed rows.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/error.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/packed_columns.hpp>
#include <feldspar/data/schema.hpp>

namespace feldspar {

class Dataset {
 public:
  // `codes` is row-major, n_variables codes a row; `weights` is empty (every row counts 1) or has
  // one weight a row. Throws InvalidInput naming the first row and variable that does not fit
  // `schema`.
  static Dataset merge(const Schema& schema, std::span<const std::int32_t> codes,
                       std::span<const double> weights = {});

  const PackedColumns& columns() const noexcept { return columns_; }
  const Schema& schema() const noexcept { return columns_.schema(); }
  std::size_t n_rows() const noexcept { return columns_.n_rows(); }
  std::size_t n_variables() const noexcept { return columns_.n_variables(); }
  std::span<const double> weights() const noexcept { return weights_; }
  double total_weight() const noexcept { return total_weight_; }

 private:
  Dataset(PackedColumns columns, std::vector<double> weights)
      : columns_(std::move(columns)),
        weights_(std::move(weights)),
        total_weight_(std::accumulate(weights_.begin(), weights_.end(), 0.0)) {}

  PackedColumns columns_;
  std::vector<double> weights_;
  double total_weight_;
};

namespace detail {

inline void check_weights(std::span<const double> weights, std::size_t n_rows) {
  require(weights.empty() || weights.size() == n_rows, "weights: got ", weights.size(),
          " of them for ", n_rows, " rows");
  for (std::size_t r = 0; r < weights.size(); ++r)
    require(std::isfinite(weights[r]) && weights[r] >= 0, "weights: row ", r, " has weight ",
            weights[r], "; expected a finite number, not negative");
}

// Rows as bit strings whose lexicographic order is that of the codes.
struct PackedRows {
  std::size_t words_per_row = 0;
  std::vector<Word> words;

  std::span<const Word> operator[](std::size_t r) const noexcept {
    return {words.data() + r * words_per_row, words_per_row};
  }
};

inline PackedRows pack_rows(const Schema& schema, std::span<const std::int32_t> codes) {
  std::vector<unsigned> bits;
  for (const Value c : schema.cardinalities())
    bits.push_back(static_cast<unsigned>(std::bit_width(static_cast<unsigned>(c - 1))));
  const std::size_t n_bits = std::accumulate(bits.begin(), bits.end(), std::size_t{0});
  const std::size_t n_variables = schema.n_variables(), n_rows = codes.size() / n_variables;
  PackedRows packed{std::max<std::size_t>(1, words_for(n_bits)), {}};
  packed.words.assign(n_rows * packed.words_per_row, 0);
  for (std::size_t r = 0; r < n_rows; ++r) {
    Word* row = packed.words.data() + r * packed.words_per_row;
    std::size_t position = 0;
    for (std::size_t v = 0; v < n_variables; ++v) {
      const auto code = static_cast<unsigned>(codes[r * n_variables + v]);
      // The most significant bit comes first, so that comparing words compares codes.
      for (unsigned bit = bits[v]; bit-- > 0; ++position)
        row[position / kWordBits] |= static_cast<Word>((code >> bit) & 1u)
                                     << (kWordBits - 1 - position % kWordBits);
    }
  }
  return packed;
}

}  // namespace detail

inline Dataset Dataset::merge(const Schema& schema, std::span<const std::int32_t> codes,
                              std::span<const double> weights) {
  const std::size_t n_input = check_codes(schema, codes);
  require(n_input > 0, "data: no rows");
  detail::check_weights(weights, n_input);
  const detail::PackedRows packed = detail::pack_rows(schema, codes);

  std::vector<std::size_t> order;
  for (std::size_t r = 0; r < n_input; ++r)
    if (weights.empty() || weights[r] > 0) order.push_back(r);
  require(!order.empty(), "weights: every row has weight zero");
  // Equal rows by weight, so that their sum does not depend on the order in which they came.
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    const auto [left, right] = std::ranges::mismatch(packed[a], packed[b]);
    if (left != packed[a].end()) return *left < *right;
    return !weights.empty() && weights[a] < weights[b];
  });

  std::vector<std::size_t> distinct;
  std::vector<double> merged;
  for (const std::size_t r : order) {
    const double weight = weights.empty() ? 1.0 : weights[r];
    if (distinct.empty() || !std::ranges::equal(packed[distinct.back()], packed[r])) {
      distinct.push_back(r);
      merged.push_back(weight);
    } else {
      merged.back() += weight;
    }
  }
  std::vector<std::size_t> by_weight(distinct.size());
  std::iota(by_weight.begin(), by_weight.end(), std::size_t{0});
  std::ranges::stable_sort(by_weight, {}, [&](std::size_t i) { return merged[i]; });
  std::vector<std::size_t> rows;
  std::vector<double> row_weights;
  for (const std::size_t i : by_weight) {
    rows.push_back(distinct[i]);
    row_weights.push_back(merged[i]);
  }
  Dataset dataset(PackedColumns(schema, codes, rows), std::move(row_weights));
  require(std::isfinite(dataset.total_weight()), "weights: their sum overflows");
  return dataset;
}

}  // namespace feldspar
