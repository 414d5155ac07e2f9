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
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/packed_columns.hpp>
#include <feldspar/data/schema.hpp>
#include <feldspar/model/conditional_rows.hpp>
#include <feldspar/model/markov_network.hpp>

namespace feldspar {

namespace detail {

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
      add_where(context, values, weight, n_values, scores.data() + offsets[tests[i].variable]);
      rows.intersect(tests[i].variable, values, prefix);
    }
  }
}

inline void fill_log_conditionals(const MarkovNetwork& network, std::span<const std::int32_t> codes,
                                  std::span<double> block) {
  const auto offsets = value_offsets(network.schema());
  const PackedColumns rows(network.schema(), codes);
  add_scores(network, rows, offsets, block);
  for (std::size_t r = 0; r < rows.n_rows(); ++r)
    for (std::size_t v = 0; v + 1 < offsets.size(); ++v)
      normalize_log(block.subspan(r * offsets.back() + offsets[v], offsets[v + 1] - offsets[v]));
}

}  // namespace detail

// log P(X_v = a | rest of the row) at [row][value_offsets(schema)[v] + a].
inline std::vector<double> log_conditionals(const MarkovNetwork& network,
                                            std::span<const std::int32_t> codes,
                                            const Execution& execution = {}) {
  return gather_log_conditionals(network.schema(), codes, execution, [&](auto rows, auto block) {
    detail::fill_log_conditionals(network, rows, block);
  });
}

// Per row and variable, log P(X_v = x_v | rest of the row); row-major.
inline std::vector<double> observed_log_conditionals(const MarkovNetwork& network,
                                                     std::span<const std::int32_t> codes,
                                                     const Execution& execution = {}) {
  return gather_observed_log_conditionals(
      network.schema(), codes, execution,
      [&](auto rows, auto block) { detail::fill_log_conditionals(network, rows, block); });
}

// Per row, the sum of the weights of the features that hold.
inline std::vector<double> log_potentials(const MarkovNetwork& network,
                                          std::span<const std::int32_t> codes,
                                          const Execution& execution = {}) {
  const FeatureSet& features = network.features();
  std::vector<double> result(check_codes(network.schema(), codes), 0.0);
  for_each_row_block(
      network.schema(), codes, execution,
      [&](std::size_t first, std::span<const std::int32_t> block) {
        const PackedColumns rows(network.schema(), block);
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
