// What learning by the likelihood asks of inference: log Z and how often features hold.
//
// An engine is made for one feature set and answers for any weights of it. Three methods have one:
// exact_expectations.hpp, belief_expectations.hpp, sampled_expectations.hpp. Which one is used is
// decided at run time and a call is a whole inference, hence virtual functions.
#pragma once

#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/feature/feature_set.hpp>

namespace feldspar {

class ExpectationEngine {
 public:
  virtual ~ExpectationEngine() = default;

  virtual std::string_view method() const noexcept = 0;

  // log Z at these weights; expectations[j] becomes the chance that feature j holds. Not a number
  // where the method has no answer: message passing that does not converge, weights too far from
  // those that were sampled. Throws Interrupted when asked to stop.
  virtual double infer(std::span<const double> weights, std::span<double> expectations,
                       const Execution& execution) = 0;

  // The chances of the features numbered `wanted` of another set over the same schema, at weights
  // where infer() has an answer.
  virtual std::vector<double> expectations_of(std::span<const double> weights,
                                              const FeatureSet& others,
                                              std::span<const FeatureId> wanted,
                                              const Execution& execution) = 0;

  // Methods that look at one place and answer for what is near it move there; false: no need to.
  virtual bool move_to(std::span<const double> /*weights*/, const Execution&) { return false; }

  // The standard error of an expectation p is sqrt(p (1 - p) / sample_size()).
  virtual double sample_size() const noexcept { return std::numeric_limits<double>::infinity(); }

  // log Z for the record, where infer() only has differences of it.
  virtual double log_partition(std::span<const double> weights, const Execution& execution) {
    std::vector<double> unused(weights.size());
    return infer(weights, unused, execution);
  }
};

}  // namespace feldspar
