// What a dependency network says of complete rows: its conditionals, in the layouts of
// conditional_rows.hpp. The sum over a row's variables of log P(x_v | rest) is how dependency networks
// are scored.
//
// Each row descends each tree. For a log-linear conditional the rows on which a term's other tests
// hold come from intersections of packed rows: O(terms * tests * rows / 64) word operations and one
// addition for each row found. Rows are worked through in blocks, in parallel; each row's result
// depends on that row alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/packed_columns.hpp>
#include <feldspar/data/schema.hpp>
#include <feldspar/model/conditional_rows.hpp>
#include <feldspar/model/decision_tree.hpp>
#include <feldspar/model/dependency_network.hpp>

namespace feldspar {

namespace detail {

// Rows of codes; packed too, once a conditional asks for that.
class CodeBlock {
 public:
  CodeBlock(const Schema& schema, std::span<const std::int32_t> codes)
      : schema_(schema), codes_(codes) {}

  std::size_t n_rows() const noexcept { return codes_.size() / schema_.n_variables(); }
  std::span<const std::int32_t> row(std::size_t r) const noexcept {
    return codes_.subspan(r * schema_.n_variables(), schema_.n_variables());
  }
  const PackedColumns& packed() {
    if (!packed_) packed_.emplace(schema_, codes_);
    return *packed_;
  }

 private:
  const Schema& schema_;
  std::span<const std::int32_t> codes_;
  std::optional<PackedColumns> packed_;
};

// The log-conditionals of one variable; those of row r go to out[r * stride], out[r * stride + 1],
// ..., which are zero.
inline void fill_conditional(const DecisionTree& tree, CodeBlock& rows, std::size_t stride,
                             double* out) {
  for (std::size_t r = 0; r < rows.n_rows(); ++r)
    std::ranges::copy(tree.log_probabilities(tree.leaf(rows.row(r))), out + r * stride);
}

inline void fill_conditional(const LogLinearConditional& conditional, CodeBlock& rows,
                             std::size_t stride, double* out) {
  const FeatureSet& features = conditional.terms().features();
  const PackedColumns& columns = rows.packed();
  std::vector<Word> context(columns.n_words());
  for (FeatureId j = 0; j < features.size(); ++j) {
    fill_bits(context, columns.n_rows());
    std::span<const Value> values;  // of the target
    for (const Test test : features[j])
      if (test.variable == conditional.target())
        values = features.values(test.values);
      else
        columns.intersect(test.variable, features.values(test.values), context);
    add_where(context, values, conditional.terms().weights()[j], stride, out);
  }
  const std::size_t n_values = features.schema().cardinality(conditional.target());
  for (std::size_t r = 0; r < columns.n_rows(); ++r) normalize_log({out + r * stride, n_values});
}

inline void fill_log_conditionals(const DependencyNetwork& network,
                                  std::span<const std::int32_t> codes, std::span<double> block) {
  const auto offsets = value_offsets(network.schema());
  CodeBlock rows(network.schema(), codes);
  for (Variable v = 0; v < network.schema().n_variables(); ++v)
    std::visit(
        [&](const auto& c) {
          fill_conditional(c, rows, offsets.back(), block.data() + offsets[v]);
        },
        network[v]);
}

}  // namespace detail

// log P(X_v = a | rest of the row) at [row][value_offsets(schema)[v] + a].
inline std::vector<double> log_conditionals(const DependencyNetwork& network,
                                            std::span<const std::int32_t> codes,
                                            const Execution& execution = {}) {
  return gather_log_conditionals(network.schema(), codes, execution, [&](auto rows, auto block) {
    detail::fill_log_conditionals(network, rows, block);
  });
}

// Per row and variable, log P(X_v = x_v | rest of the row); row-major.
inline std::vector<double> observed_log_conditionals(const DependencyNetwork& network,
                                                     std::span<const std::int32_t> codes,
                                                     const Execution& execution = {}) {
  return gather_observed_log_conditionals(
      network.schema(), codes, execution,
      [&](auto rows, auto block) { detail::fill_log_conditionals(network, rows, block); });
}

}  // namespace feldspar
