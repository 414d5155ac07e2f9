// The frame in which models say what they think of complete rows: blocks of rows in parallel, and
// the two layouts of conditionals.
//
// A model brings fill(codes, block), which writes the log-conditionals of some rows, all values of
// all variables side by side, into a block of zeros. As each row's result depends on that row
// alone, results have the same bits for any number of threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/parallel.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/packed_columns.hpp>
#include <feldspar/data/schema.hpp>

namespace feldspar {

// out[r * stride + a] += weight for the rows r in `rows` and the values a.
inline void add_where(std::span<const Word> rows, std::span<const Value> values, double weight,
                      std::size_t stride, double* out) {
  for_each_bit(rows, [&](std::size_t r) {
    for (const Value a : values) out[r * stride + a] += weight;
  });
}

// Scores of one variable become log-probabilities.
inline void normalize_log(std::span<double> scores) {
  const double top = *std::ranges::max_element(scores);
  double total = 0;
  for (const double s : scores) total += std::exp(s - top);
  const double log_total = top + std::log(total);
  for (double& s : scores) s -= log_total;
}

// Rows of a block, in whole words: so many that numbers for all values stay in the cache, but not so
// few that most of the time goes into looking at the model.
inline std::size_t rows_of_block(std::size_t n_values) noexcept {
  constexpr std::size_t kNumbers = std::size_t{1} << 19, kMost = 1024, kLeast = 64;
  return std::clamp(kNumbers / n_values / kWordBits * kWordBits, kLeast, kMost);
}

// Calls work(first_row, codes) for blocks of rows, in parallel. The codes have been checked.
template <class Work>
void for_each_row_block(const Schema& schema, std::span<const std::int32_t> codes,
                        const Execution& execution, Work&& work) {
  const std::size_t n_variables = schema.n_variables(), n_rows = codes.size() / n_variables;
  const std::size_t block = rows_of_block(value_offsets(schema).back());
  parallel_for((n_rows + block - 1) / block, execution, [&](std::size_t b) {
    const std::size_t first = b * block, here = std::min(block, n_rows - first);
    work(first, codes.subspan(first * n_variables, here * n_variables));
  });
  execution.throw_if_stopped();
}

// log P(X_v = a | rest of the row) at [row][value_offsets(schema)[v] + a].
template <class Fill>
std::vector<double> gather_log_conditionals(const Schema& schema,
                                            std::span<const std::int32_t> codes,
                                            const Execution& execution, Fill&& fill) {
  const std::size_t n_values = value_offsets(schema).back();
  std::vector<double> result(check_codes(schema, codes) * n_values, 0.0);
  for_each_row_block(schema, codes, execution,
                     [&](std::size_t first, std::span<const std::int32_t> rows) {
                       const std::size_t here = rows.size() / schema.n_variables();
                       fill(rows, std::span(result).subspan(first * n_values, here * n_values));
                     });
  return result;
}

// Per row and variable, log P(X_v = x_v | rest of the row); row-major.
template <class Fill>
std::vector<double> gather_observed_log_conditionals(const Schema& schema,
                                                     std::span<const std::int32_t> codes,
                                                     const Execution& execution, Fill&& fill) {
  const std::size_t n_variables = schema.n_variables();
  const auto offsets = value_offsets(schema);
  check_codes(schema, codes);
  std::vector<double> result(codes.size());
  for_each_row_block(
      schema, codes, execution, [&](std::size_t first, std::span<const std::int32_t> rows) {
        const std::size_t here = rows.size() / n_variables;
        std::vector<double> block(here * offsets.back(), 0.0);
        fill(rows, std::span(block));
        for (std::size_t r = 0; r < here; ++r)
          for (std::size_t v = 0; v < n_variables; ++v) {
            const std::size_t place = r * n_variables + v;
            result[first * n_variables + place] =
                block[r * offsets.back() + offsets[v] + static_cast<std::size_t>(rows[place])];
          }
      });
  return result;
}

}  // namespace feldspar
