// What a model says of complete rows: the conditional distribution of every variable given all the
// others, and the unnormalised log-probability (log-potential) of the row.
//
//   log P(X_v = a | rest) = s_a - log sum_b exp(s_b),
//
// s_a being the sum of w_j over the features j that test v, admit a, and whose other tests hold.
//
// Per feature, the rows on which all tests but one hold come from prefix and suffix intersections
// of packed rows: O(tests * rows / 64) word operations plus one addition for each row found. Rows
// are worked through in blocks, in parallel; each row's result depends on that row alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/parallel.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/packed_columns.hpp>
#include <feldspar/model/markov_network.hpp>

namespace feldspar {

namespace detail {

inline constexpr std::size_t kBlockRows = 1024;

// scores[r * n_values + offset(v) + a] = s_a of row r.
inline void add_scores(const MarkovNetwork& network, const PackedColumns& rows,
                       std::span<const std::size_t> offsets, std::span<double> scores) {
  const FeatureSet& features = network.features();
  const std::size_t n_words = rows.n_words(), n_values = offsets.back();
  std::vector<Word> suffix, prefix(n_words), context(n_words);
  for (FeatureId j = 0; j < features.size(); ++j) {
    const auto tests = features[j];
    const double weight = network.weights()[j];
    // suffix[i]: rows that pass tests i, i + 1, ...
    suffix.resize((tests.size() + 1) * n_words);
    fill_bits({suffix.data() + tests.size() * n_words, n_words}, rows.n_rows());
    for (std::size_t i = tests.size(); i-- > 0;) {
      std::copy_n(suffix.data() + (i + 1) * n_words, n_words, suffix.data() + i * n_words);
      rows.intersect(tests[i].variable, features.values(tests[i].values),
                     {suffix.data() + i * n_words, n_words});
    }
    fill_bits(prefix, rows.n_rows());
    for (std::size_t i = 0; i < tests.size(); ++i) {
      const auto values = features.values(tests[i].values);
      for (std::size_t w = 0; w < n_words; ++w)
        context[w] = prefix[w] & suffix[(i + 1) * n_words + w];
      double* own = scores.data() + offsets[tests[i].variable];
      for_each_bit(context, [&](std::size_t r) {
        for (const Value a : values) own[r * n_values + a] += weight;
      });
      rows.intersect(tests[i].variable, values, prefix);
    }
  }
}

// Scores of one variable become log-probabilities.
inline void normalize_log(std::span<double> scores) {
  const double top = *std::ranges::max_element(scores);
  double total = 0;
  for (const double s : scores) total += std::exp(s - top);
  const double log_total = top + std::log(total);
  for (double& s : scores) s -= log_total;
}

// Calls work(first_row, block) for blocks of rows, in parallel. The codes have been checked.
template <class Work>
void for_each_block(const Schema& schema, std::span<const std::int32_t> codes,
                    const Execution& execution, Work&& work) {
  const std::size_t n_variables = schema.n_variables(), n_rows = codes.size() / n_variables;
  parallel_for((n_rows + kBlockRows - 1) / kBlockRows, execution, [&](std::size_t b) {
    const std::size_t first = b * kBlockRows, here = std::min(kBlockRows, n_rows - first);
    work(first, PackedColumns(schema, codes.subspan(first * n_variables, here * n_variables)));
  });
  execution.throw_if_stopped();
}

// Calls use(first_row, rows, log-conditionals of these rows) for blocks of rows, in parallel.
template <class Use>
void for_each_conditional_block(const MarkovNetwork& network, std::span<const std::int32_t> codes,
                                const Execution& execution, Use&& use) {
  const auto offsets = value_offsets(network.schema());
  for_each_block(
      network.schema(), codes, execution, [&](std::size_t first, const PackedColumns& rows) {
        std::vector<double> scores(rows.n_rows() * offsets.back(), 0.0);
        add_scores(network, rows, offsets, scores);
        for (std::size_t r = 0; r < rows.n_rows(); ++r)
          for (std::size_t v = 0; v + 1 < offsets.size(); ++v)
            normalize_log(
                {scores.data() + r * offsets.back() + offsets[v], offsets[v + 1] - offsets[v]});
        use(first, scores);
      });
}

}  // namespace detail

// log P(X_v = a | rest of the row) at [row][value_offsets(schema)[v] + a].
inline std::vector<double> log_conditionals(const MarkovNetwork& network,
                                            std::span<const std::int32_t> codes,
                                            const Execution& execution = {}) {
  const std::size_t n_values = value_offsets(network.schema()).back();
  std::vector<double> result(check_codes(network.schema(), codes) * n_values);
  detail::for_each_conditional_block(
      network, codes, execution, [&](std::size_t first, const std::vector<double>& block) {
        std::ranges::copy(block, result.begin() + static_cast<std::ptrdiff_t>(first * n_values));
      });
  return result;
}

// Per row and variable, log P(X_v = x_v | rest of the row); row-major.
inline std::vector<double> observed_log_conditionals(const MarkovNetwork& network,
                                                     std::span<const std::int32_t> codes,
                                                     const Execution& execution = {}) {
  const std::size_t n_variables = network.schema().n_variables();
  const auto offsets = value_offsets(network.schema());
  check_codes(network.schema(), codes);
  std::vector<double> result(codes.size());
  detail::for_each_conditional_block(
      network, codes, execution, [&](std::size_t first, const std::vector<double>& block) {
        const std::size_t n_rows = block.size() / std::max<std::size_t>(1, offsets.back());
        for (std::size_t r = 0; r < n_rows; ++r)
          for (std::size_t v = 0; v < n_variables; ++v) {
            const std::size_t place = (first + r) * n_variables + v;
            result[place] =
                block[r * offsets.back() + offsets[v] + static_cast<std::size_t>(codes[place])];
          }
      });
  return result;
}

// Per row, the sum of the weights of the features that hold.
inline std::vector<double> log_potentials(const MarkovNetwork& network,
                                          std::span<const std::int32_t> codes,
                                          const Execution& execution = {}) {
  const FeatureSet& features = network.features();
  std::vector<double> result(check_codes(network.schema(), codes), 0.0);
  detail::for_each_block(
      network.schema(), codes, execution, [&](std::size_t first, const PackedColumns& rows) {
        std::vector<Word> matched(rows.n_words());
        for (FeatureId j = 0; j < features.size(); ++j) {
          fill_bits(matched, rows.n_rows());
          for (const Test test : features[j])
            rows.intersect(test.variable, features.values(test.values), matched);
          for_each_bit(matched, [&](std::size_t r) { result[first + r] += network.weights()[j]; });
        }
      });
  return result;
}

}  // namespace feldspar
