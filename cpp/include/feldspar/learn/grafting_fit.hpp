// What grafting (grafting.hpp) is told, and what it tells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include <feldspar/base/error.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/infer/expectation_method.hpp>
#include <feldspar/learn/fit_weights.hpp>
#include <feldspar/learn/introduction.hpp>

namespace feldspar {

struct GraftingOptions {
  Introduction scheme = Introduction::gain;
  std::size_t n_add = 10;   // features introduced at a time, at most
  double anneal = 0.5;      // what beta is multiplied by on its way; 0: no annealing
  double min_gradient = 0;  // least gradient of a feature to introduce without L1, in examples
  std::size_t max_features = std::numeric_limits<std::size_t>::max();  // introduced and kept
  FitWeightsOptions weights;  // max_seconds is for everything
  ExpectationOptions inference;

  void check() const {
    require(n_add >= 1, "n_add must be at least 1, got ", n_add);
    require(anneal >= 0 && anneal < 1, "anneal must be at least 0 and below 1, got ", anneal);
    require(min_gradient >= 0, "min_gradient must not be negative, got ", min_gradient);
    weights.check();
    inference.check();
  }
};

enum class GraftingStop : std::uint8_t {
  optimum,       // no inactive feature's gradient is beyond the threshold
  max_features,  // as many as allowed
  inference,     // the method has no answer for more
  time_limit,
  interrupted,
};

constexpr std::string_view name(GraftingStop stop) noexcept {
  switch (stop) {
    case GraftingStop::optimum:
      return "optimum";
    case GraftingStop::max_features:
      return "max_features";
    case GraftingStop::inference:
      return "inference";
    case GraftingStop::time_limit:
      return "time_limit";
    case GraftingStop::interrupted:
      return "interrupted";
  }
  return "unknown";
}

struct GraftingFit {
  FeatureSet features;  // single values first, then those introduced, with L1 without the zeros
  WeightFit fit;        // weights of these
  GraftingStop stop = GraftingStop::optimum;
  std::string message;  // what the inference could not do
  double threshold = 0;
  // Over the inactive features: the largest gradient and by how much it is beyond the threshold; not
  // a number where the run ended before they were computed.
  double largest_gradient = std::numeric_limits<double>::quiet_NaN();
  double violation = std::numeric_limits<double>::quiet_NaN();
  std::size_t n_inactive = 0;
  std::string method;    // of inference, at the end
  int n_rounds = 0;      // so far, for all penalties together
  int n_inferences = 0;  // for weights, so far
};

}  // namespace feldspar
