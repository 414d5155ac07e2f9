// The pseudo-log-likelihood of a feature set's weights on a data set, with gradient:
//
//   PLL(w) = sum over rows r and variables v of weight_r * log P_w(X_v = x_rv | the rest of row r)
//
// (a sum, not a mean, and without any prior). The constructor indexes the features once
// (margin_map.hpp); value_and_gradient is then called many times: weights become margins, margins
// become derivatives by what was observed, and these go the same way back. So does a product with
// the Hessian, with a direction for the weights, curvatures for the observations, and single
// precision for the wide index: a fifth to a half of the time of an evaluation, for optimizers that
// can do with products.
//
// The result does not depend on the number of threads. Two evaluations of one PseudoLikelihood at the
// same time wait for each other (it owns its buffers).
#pragma once

#include <cstddef>
#include <mutex>
#include <span>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/simd.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/feature/context_table.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/objective/curvature.hpp>
#include <feldspar/objective/index_plan.hpp>
#include <feldspar/objective/logistic.hpp>
#include <feldspar/objective/margin_map.hpp>
#include <feldspar/objective/margin_tile.hpp>
#include <feldspar/objective/preconditioner.hpp>

namespace feldspar {

class PseudoLikelihood {
 public:
  // To score with, geometry() is not needed, and half the time of indexing goes into it.
  enum class Use { learning, scoring };

  PseudoLikelihood(const FeatureSet& features, const Dataset& data, const Execution& execution = {},
                   const PlanOptions& options = {}, Use use = Use::learning);

  // For rows with missing entries: the terms of each variable from data of its own, those rows on
  // which it and all variables that it shares features with are known (all else may hold anything).
  // A variable without data (nullptr) has no terms. total_weight() is that of the largest data.
  PseudoLikelihood(const FeatureSet& features, std::span<const Dataset* const> data_of_variable,
                   const Execution& execution = {});

  std::size_t n_features() const noexcept { return map_.n_features(); }
  double total_weight() const noexcept { return total_weight_; }
  std::size_t n_variables() const noexcept { return map_.n_variables(); }

  // Returns PLL(weights) and overwrites `gradient`.
  double value_and_gradient(std::span<const double> weights, std::span<double> gradient,
                            const Execution& execution = {});

  // How the PLL curves by the margins at some weights: what a product with its Hessian has to know of
  // them.
  struct Curvature {
    std::vector<TileCurvature> tiles;
    std::vector<std::vector<float>> narrow;  // by variable without wide contexts: by pattern
  };

  // The same, and keeps the curvature.
  double value_and_gradient(std::span<const double> weights, std::span<double> gradient,
                            Curvature& curvature, const Execution& execution = {});

  // product := minus the Hessian where the curvature is from, times the direction; in about six
  // digits.
  void hessian_product(const Curvature& curvature, std::span<const float> direction,
                       std::span<float> product, const Execution& execution = {});

  // Curvatures and parts of the features, for preconditioning.
  const FeatureGeometry& geometry() const {
    require(geometry_.n_features() == n_features(),
            "the pseudo-likelihood was made for scoring; weights cannot be learned with it");
    return geometry_;
  }

  IndexStatistics statistics() const;

  // Whether a product with the Hessian takes much less time than an evaluation: most of the work is the
  // wide index's.
  bool has_cheap_products() const {
    const IndexStatistics s = map_.statistics();
    return s.n_wide_lookups * s.n_tiles > s.n_narrow_lookups;
  }

  // Kernels of a chosen instruction set, for tests and benchmarks.
  void use_simd(SimdLevel level) noexcept { simd_ = level; }

 private:
  static const Dataset& checked(const FeatureSet& features, const Dataset& data);
  static const Dataset& largest(const FeatureSet& features,
                                std::span<const Dataset* const> data_of_variable);
  PseudoLikelihood(const FeatureSet& features, const ContextTable& table, const Dataset& data,
                   std::span<const Dataset* const> data_of_variable, const Execution& execution,
                   const PlanOptions& options, Use use);

  double observe_patterns(Variable v, std::span<double> margins) const;
  void keep_curvature(Variable v, std::span<const double> derivatives,
                      std::vector<float>& curvature) const;

  double total_weight_;
  std::vector<double> row_weights_;
  MarginMap map_;
  std::vector<MarginTile> tiles_;
  FeatureGeometry geometry_;
  SimdLevel simd_ = simd_level();
  std::mutex evaluation_mutex_;
};

inline PseudoLikelihood::PseudoLikelihood(const FeatureSet& features, const Dataset& data,
                                          const Execution& execution, const PlanOptions& options,
                                          Use use)
    : PseudoLikelihood(features, ContextTable(features), checked(features, data),
                       std::vector<const Dataset*>(data.n_variables(), &data), execution, options,
                       use) {}

// Wide indexes serve many variables on the same rows; here each variable has its own.
inline PseudoLikelihood::PseudoLikelihood(const FeatureSet& features,
                                          std::span<const Dataset* const> data_of_variable,
                                          const Execution& execution)
    : PseudoLikelihood(features, ContextTable(features), largest(features, data_of_variable),
                       data_of_variable, execution, {PlanOptions::Wide::never}, Use::learning) {}

inline PseudoLikelihood::PseudoLikelihood(const FeatureSet& features, const ContextTable& table,
                                          const Dataset& data,
                                          std::span<const Dataset* const> data_of_variable,
                                          const Execution& execution, const PlanOptions& options,
                                          Use use)
    : total_weight_(data.total_weight()),
      row_weights_(data.weights().begin(), data.weights().end()),
      map_(features, table, plan_index(features, table, data, options, execution), data,
           data_of_variable, execution) {
  for (std::size_t t = 0; t < map_.n_tiles(); ++t) tiles_.emplace_back(data, map_.tile(t));
  if (use == Use::learning) geometry_ = FeatureGeometry(features, table, data, execution);
}

inline const Dataset& PseudoLikelihood::checked(const FeatureSet& features, const Dataset& data) {
  require(features.schema() == data.schema(),
          "features and data: their variables or numbers of values differ");
  return data;
}

inline const Dataset& PseudoLikelihood::largest(const FeatureSet& features,
                                                std::span<const Dataset* const> data_of_variable) {
  const std::size_t n_variables = features.schema().n_variables();
  require(data_of_variable.size() == n_variables, "data: got ", data_of_variable.size(), " for ",
          n_variables, " variables");
  const Dataset* largest = nullptr;
  for (const Dataset* data : data_of_variable) {
    if (data == nullptr) continue;
    checked(features, *data);
    if (largest == nullptr || data->total_weight() > largest->total_weight()) largest = data;
  }
  require(largest != nullptr, "data: no variable has any");
  return *largest;
}

inline double PseudoLikelihood::value_and_gradient(std::span<const double> weights,
                                                   std::span<double> gradient,
                                                   const Execution& execution) {
  const std::lock_guard one_at_a_time(evaluation_mutex_);
  return map_.there_and_back<double>(
      simd_, weights, gradient, execution,
      [&](Variable v, std::span<double> margins) { return observe_patterns(v, margins); },
      [&](std::size_t t, Range rows, double* margins) {
        return tiles_[t].observe(simd_, row_weights_, rows, margins);
      });
}

inline double PseudoLikelihood::value_and_gradient(std::span<const double> weights,
                                                   std::span<double> gradient, Curvature& curvature,
                                                   const Execution& execution) {
  const std::lock_guard one_at_a_time(evaluation_mutex_);
  curvature.narrow.resize(n_variables());
  if (curvature.tiles.empty())
    for (const MarginTile& tile : tiles_) curvature.tiles.push_back(tile.make_curvature());
  return map_.there_and_back<double>(
      simd_, weights, gradient, execution,
      [&](Variable v, std::span<double> margins) {
        const double value = observe_patterns(v, margins);
        keep_curvature(v, margins, curvature.narrow[v]);
        return value;
      },
      [&](std::size_t t, Range rows, double* margins) {
        const double value = tiles_[t].observe(simd_, row_weights_, rows, margins);
        tiles_[t].keep_curvature(row_weights_, rows, margins, curvature.tiles[t]);
        return value;
      });
}

inline void PseudoLikelihood::hessian_product(const Curvature& curvature,
                                              std::span<const float> direction,
                                              std::span<float> product,
                                              const Execution& execution) {
  const std::lock_guard one_at_a_time(evaluation_mutex_);
  map_.there_and_back<float>(
      simd_, direction, product, execution,
      [&](Variable v, std::span<double> margins) {
        const std::size_t width = map_.width(v);
        const float* own = curvature.narrow[v].data();
        if (width == 1)
          for (double& margin : margins) margin *= *own++;
        else
          for (std::size_t p = 0; p < map_.narrow(v).n_patterns(); ++p)
            multiply_softmax_curvature(own + p * (width + 1), width, &margins[p * width]);
        return 0.0;
      },
      [&](std::size_t t, Range rows, float* margins) {
        tiles_[t].multiply_curvature(curvature.tiles[t], rows, margins);
        return 0.0;
      });
}

// Margins of a variable's patterns become derivatives; returns the log-likelihood.
inline double PseudoLikelihood::observe_patterns(Variable v, std::span<double> margins) const {
  const std::size_t width = map_.width(v), n = map_.narrow(v).n_patterns();
  return map_.narrow(v).with_value_weights([&](auto value_weights) {
    const auto* counts = value_weights.data();
    if (width == 1) return logistic_counts(simd_, margins, counts + n, counts);
    double sum = 0;
    for (std::size_t p = 0; p < n; ++p)
      sum += softmax_counts(&margins[p * width], width, counts + p * (width + 1));
    return sum;
  });
}

inline void PseudoLikelihood::keep_curvature(Variable v, std::span<const double> derivatives,
                                             std::vector<float>& curvature) const {
  const std::size_t width = map_.width(v), n = map_.narrow(v).n_patterns();
  curvature.resize(width == 1 ? n : n * (width + 1));
  map_.narrow(v).with_value_weights([&](auto value_weights) {
    const auto* counts = value_weights.data();
    for (std::size_t p = 0; p < n; ++p) {
      if (width == 1)
        curvature[p] = binary_curvature(counts[n + p], counts[p], derivatives[p]);
      else
        softmax_curvature(counts + p * (width + 1), &derivatives[p * width], width,
                          &curvature[p * (width + 1)]);
    }
  });
}

inline IndexStatistics PseudoLikelihood::statistics() const {
  IndexStatistics statistics = map_.statistics();
  for (const MarginTile& tile : tiles_) statistics.bytes += tile.bytes();
  return statistics;
}

}  // namespace feldspar
