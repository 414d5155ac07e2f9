// How well the regressions of a path predict rows: the log-likelihood of the logistic dependency
// network, sum over rows and variables of weight_r * log P(x_r,v | rest of row r), for each C.
//
// Cost: per C and variable the cheaper of one lookup a row and group of columns, and one addition
// for each 1 in a column with a weight. Parallel over the variables, summed in their order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/parallel.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/learn/l1_path.hpp>
#include <feldspar/learn/l1_problem.hpp>
#include <feldspar/objective/categorical_loss.hpp>

namespace feldspar {

namespace detail {

// The margins of one regression, by channel, then row.
class L1Predictor {
 public:
  L1Predictor(const L1Design& design, std::size_t n_values)
      : design_(design),
        n_values_(n_values),
        n_channels_(n_values == 2 ? 1 : n_values),
        weights_(design.columns.size()) {}

  void set_margins(const L1Fit& fit, std::vector<double>& margins) {
    const std::size_t first = n_values_ - n_channels_;  // value of channel 0
    for (std::size_t k = 0; k < n_channels_; ++k) {
      const std::span<double> own(margins.data() + k * n_rows(), n_rows());
      // One channel is that of value 1 against value 0, which has an intercept only if it is unseen.
      std::ranges::fill(own, fit.intercepts[first + k] - (first == 1 ? fit.intercepts[0] : 0.0));
      add_weights(fit, static_cast<Value>(first + k), own);
    }
  }

 private:
  std::size_t n_rows() const noexcept { return design_.columns.n_rows(); }

  void add_weights(const L1Fit& fit, Value target_value, std::span<double> margins) {
    std::vector<std::size_t> columns;
    for (const L1Weight& w : fit.weights) {
      if (w.target_value != target_value) continue;
      columns.push_back(design_.columns.first(w.variable) + w.value - 1u);
      weights_[columns.back()] = w.weight;
    }
    if (columns.size() > 4 * design_.groups.n_groups()) {
      design_.groups.add_product(weights_, margins);
    } else {
      for (const std::size_t c : columns)
        for_each_bit(design_.columns.rows(c), [&](std::size_t r) { margins[r] += weights_[c]; });
    }
    for (const std::size_t c : columns) weights_[c] = 0;
  }

  const L1Design& design_;
  std::size_t n_values_, n_channels_;
  std::vector<double> weights_;  // by column; zeros between calls
};

}  // namespace detail

// By C. `codes` and `weights` as for Dataset::merge.
inline std::vector<double> log_likelihoods(const L1Path& path, std::span<const std::int32_t> codes,
                                           std::span<const double> weights,
                                           const Execution& execution = {}) {
  const Dataset data = Dataset::merge(path.schema(), codes, weights);
  const L1Design design(data.columns());
  const std::size_t n_variables = data.n_variables(), n_values = path.n_values();
  std::vector<double> terms(n_variables * n_values, 0.0);
  parallel_for(n_variables, execution, [&](std::size_t v) {
    const auto target = static_cast<Variable>(v);
    const std::size_t cardinality = data.schema().cardinality(target);
    if (cardinality == 1) return;
    const CategoricalLoss loss(data.columns().codes(target), data.weights(), cardinality);
    detail::L1Predictor predictor(design, cardinality);
    L1Margins at(loss);
    for (std::size_t c = 0; c < n_values; ++c) {
      predictor.set_margins(path.at(target, c), at.margins);
      at.evaluate(loss);
      terms[v * n_values + c] = -at.loss;
    }
  });
  execution.throw_if_stopped();
  std::vector<double> totals(n_values, 0.0);
  for (std::size_t v = 0; v < n_variables; ++v)
    for (std::size_t c = 0; c < n_values; ++c) totals[c] += terms[v * n_values + c];
  return totals;
}

}  // namespace feldspar
