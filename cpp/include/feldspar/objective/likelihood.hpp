// The log-likelihood of a feature set's weights,
//
//   LL(w) = sum_j w_j c_j - N log Z(w),     dLL/dw_j = c_j - N E_w[f_j],
//
// where c_j is the weight of the examples on which feature j holds and N that of all examples. It is
// concave. log Z and the expectations come from whoever makes the Likelihood: objectives know nothing
// of inference. Where these have no answer (not a number), neither has the likelihood, and optimizers
// take a shorter step.
//
// Cost: an inference; the examples are only counted, once. Without penalties: penalized.hpp adds them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/parallel.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/counts.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/feature/context_table.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/objective/preconditioner.hpp>

namespace feldspar {

// The weight of the examples on which each feature holds.
inline std::vector<double> feature_counts(const FeatureSet& features, const Dataset& data,
                                          const Execution& execution = {}) {
  require(features.schema() == data.schema(),
          "features and data: their variables or numbers of values differ");
  const WeightedCounter counter(data);
  std::vector<double> counts(features.size());
  constexpr std::size_t kFeatures = 256;  // a task's share
  const std::size_t n_tasks = (features.size() + kFeatures - 1) / kFeatures;
  parallel_for(n_tasks, execution, [&](std::size_t task) {
    std::vector<Word> rows(data.columns().n_words());
    const std::size_t last = std::min(features.size(), (task + 1) * kFeatures);
    for (std::size_t j = task * kFeatures; j < last; ++j) {
      fill_bits(rows, data.n_rows());
      for (const Test test : features[static_cast<FeatureId>(j)])
        data.columns().intersect(test.variable, features.values(test.values), rows);
      counts[j] = counter.count(rows);
    }
  });
  execution.throw_if_stopped();
  return counts;
}

// log Z at some weights, the features' expectations being written; see above.
using Expectations = std::function<double(
    std::span<const double> weights, std::span<double> expectations, const Execution& execution)>;

class Likelihood {
 public:
  Likelihood(const FeatureSet& features, const Dataset& data, Expectations expectations,
             const Execution& execution = {})
      : counts_(feature_counts(features, data, execution)),
        total_weight_(data.total_weight()),
        geometry_(features, ContextTable(features), data, execution),
        expectations_(std::move(expectations)) {}

  std::size_t n_features() const noexcept { return counts_.size(); }
  double total_weight() const noexcept { return total_weight_; }
  std::span<const double> counts() const noexcept { return counts_; }
  const FeatureGeometry& geometry() const noexcept { return geometry_; }

  double value_and_gradient(std::span<const double> weights, std::span<double> gradient,
                            const Execution& execution = {}) {
    require(weights.size() == n_features(), "weights: got ", weights.size(), " for ", n_features(),
            " features");
    require(gradient.size() == n_features(), "gradient: got room for ", gradient.size(), " of ",
            n_features(), " features");
    const double log_partition = expectations_(weights, gradient, execution);
    if (!std::isfinite(log_partition)) {
      for (double& g : gradient) g = std::numeric_limits<double>::quiet_NaN();
      return std::numeric_limits<double>::quiet_NaN();
    }
    double value = -total_weight_ * log_partition;
    for (std::size_t j = 0; j < counts_.size(); ++j) {
      value += weights[j] * counts_[j];
      gradient[j] = counts_[j] - total_weight_ * gradient[j];
    }
    return value;
  }

 private:
  std::vector<double> counts_;
  double total_weight_;
  FeatureGeometry geometry_;
  Expectations expectations_;
};

}  // namespace feldspar
