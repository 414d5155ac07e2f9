// The engine of expectations for a feature set, by the method's name.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>

#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/stop_sign.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/infer/belief_expectations.hpp>
#include <feldspar/infer/elimination.hpp>
#include <feldspar/infer/exact_expectations.hpp>
#include <feldspar/infer/expectation_engine.hpp>
#include <feldspar/infer/propagation.hpp>
#include <feldspar/infer/sampled_expectations.hpp>

namespace feldspar {

// automatic: exact where the tables are small enough, else belief propagation.
enum class ExpectationMethod : std::uint8_t { automatic, exact, bp, gibbs };

constexpr std::string_view name(ExpectationMethod method) noexcept {
  switch (method) {
    case ExpectationMethod::automatic:
      return "auto";
    case ExpectationMethod::exact:
      return "exact";
    case ExpectationMethod::bp:
      return "bp";
    case ExpectationMethod::gibbs:
      return "gibbs";
  }
  return "unknown";
}

// The method of that name.
inline ExpectationMethod expectation_method_named(std::string_view wanted) {
  for (const auto method : {ExpectationMethod::automatic, ExpectationMethod::exact,
                            ExpectationMethod::bp, ExpectationMethod::gibbs})
    if (name(method) == wanted) return method;
  throw InvalidInput(
      concat("inference must be 'auto', 'exact', 'bp' or 'gibbs', got '", wanted, "'"));
}

struct ExpectationOptions {
  ExpectationMethod method = ExpectationMethod::automatic;
  double max_table_entries = 1 << 22;        // of exact inference
  double automatic_table_entries = 1 << 17;  // beyond this, `automatic` is belief propagation
  BeliefPropagationOptions bp{.max_iterations = 500, .tolerance = 1e-8};
  SampledExpectationsOptions gibbs;

  void check() const {
    require(max_table_entries >= 1, "max_table_entries must be at least 1, got ",
            max_table_entries);
    require(automatic_table_entries >= 0, "automatic_table_entries must not be negative, got ",
            automatic_table_entries);
    bp.check();
    gibbs.check();
  }
};

inline std::unique_ptr<ExpectationEngine> make_expectation_engine(const FeatureSet& features,
                                                                  const ExpectationOptions& options,
                                                                  const Execution& execution = {}) {
  options.check();
  ExpectationMethod method = options.method;
  if (method == ExpectationMethod::automatic) {
    const double most = std::min(options.automatic_table_entries, options.max_table_entries);
    const EliminationCost cost = eliminate_by_min_fill(features, most, StopSign(execution)).cost;
    const bool narrow = cost.complete && cost.table_entries <= most;
    method = narrow ? ExpectationMethod::exact : ExpectationMethod::bp;
  }
  if (method == ExpectationMethod::exact)
    return std::make_unique<ExactExpectations>(features, options.max_table_entries, execution);
  if (method == ExpectationMethod::bp)
    return std::make_unique<BeliefExpectations>(features, options.bp);
  return std::make_unique<SampledExpectations>(features, options.gibbs);
}

}  // namespace feldspar
