// A Markov network: a feature set with a weight for each feature. The weights of the features that
// hold on a state x add up to log P(x), but for a constant.
#pragma once

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/data/schema.hpp>
#include <feldspar/feature/feature_set.hpp>

namespace feldspar {

class MarkovNetwork {
 public:
  MarkovNetwork(FeatureSet features, std::vector<double> weights)
      : features_(std::move(features)), weights_(std::move(weights)) {
    require(weights_.size() == features_.size(), "weights: got ", weights_.size(), " for ",
            features_.size(), " features");
    for (std::size_t j = 0; j < weights_.size(); ++j)
      require(std::isfinite(weights_[j]), "weights: feature ", j, " has weight ", weights_[j],
              "; expected a finite number");
  }

  const Schema& schema() const noexcept { return features_.schema(); }
  const FeatureSet& features() const noexcept { return features_; }
  const std::vector<double>& weights() const noexcept { return weights_; }

 private:
  FeatureSet features_;
  std::vector<double> weights_;
};

}  // namespace feldspar
