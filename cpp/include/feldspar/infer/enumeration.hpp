// Inference by adding up all states: the definition, for small models and as the judge of the other
// methods. It shares nothing with them.
//
// Cost: number of states times size of the network, and a number for each state. Rows run in
// parallel.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/parallel.hpp>
#include <feldspar/base/stop_sign.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/schema.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/infer/evidence.hpp>
#include <feldspar/infer/marginals.hpp>
#include <feldspar/model/markov_network.hpp>

namespace feldspar {

struct EnumerationOptions {
  double max_states = 1 << 20;  // of the hidden variables, for one row

  void check() const {
    require(max_states >= 1, "max_states must be at least 1, got ", max_states);
  }
};

namespace detail {

// The states that agree with a row of evidence, in lexicographic order.
class AgreeingStates {
 public:
  AgreeingStates(const Schema& schema, std::span<const std::int32_t> codes)
      : schema_(schema), codes_(codes), state_(codes.begin(), codes.end()) {
    std::ranges::replace(state_, kUnknown, 0);
  }

  std::span<const std::int32_t> state() const noexcept { return state_; }

  // To the next state; false after the last, and then at the first again.
  bool next() {
    for (std::size_t v = state_.size(); v-- > 0;) {
      if (codes_[v] != kUnknown) continue;
      if (++state_[v] < schema_.cardinality(static_cast<Variable>(v))) return true;
      state_[v] = 0;
    }
    return false;
  }

 private:
  const Schema& schema_;
  std::span<const std::int32_t> codes_;
  std::vector<std::int32_t> state_;
};

inline bool holds_on(const FeatureSet& features, FeatureId j, std::span<const std::int32_t> state) {
  return std::ranges::all_of(features[j], [&](const Test test) {
    const auto values = features.values(test.values);
    return std::ranges::find(values, static_cast<Value>(state[test.variable])) != values.end();
  });
}

// The weights of the features that hold, and what the soft evidence (if any) says.
inline double log_potential_of(const MarkovNetwork& network, std::span<const std::int32_t> state,
                               std::span<const double> log_likelihoods) {
  double sum = 0;
  for (FeatureId j = 0; j < network.features().size(); ++j)
    if (holds_on(network.features(), j, state)) sum += network.weights()[j];
  if (log_likelihoods.empty()) return sum;
  std::size_t offset = 0;
  for (Variable v = 0; v < state.size(); ++v) {
    sum += log_likelihoods[offset + static_cast<std::size_t>(state[v])];
    offset += network.schema().cardinality(v);
  }
  return sum;
}

// One row of the evidence.
inline EvidenceView evidence_row(const Schema& schema, const EvidenceView& evidence,
                                 std::size_t r) {
  const std::size_t n = schema.n_variables(), width = value_offsets(schema).back();
  const auto soft = evidence.log_likelihoods;
  return {evidence.codes.subspan(r * n, n), soft.empty() ? soft : soft.subspan(r * width, width)};
}

inline void check_states(const Schema& schema, std::span<const std::int32_t> codes, std::size_t row,
                         double max_states) {
  double states = 1;
  for (Variable v = 0; v < codes.size(); ++v)
    if (codes[v] == kUnknown) states *= schema.cardinality(v);
  require(states <= max_states, "evidence: row ", row, ": enumeration would visit ", states,
          " states; max_states is ", max_states);
}

inline std::vector<double> all_log_potentials(const MarkovNetwork& network, const EvidenceView& row,
                                              const StopSign& stop) {
  std::vector<double> result;
  AgreeingStates states(network.schema(), row.codes);
  do {
    if (result.size() % 64 == 0) stop.throw_if_interrupted();
    result.push_back(log_potential_of(network, states.state(), row.log_likelihoods));
  } while (states.next());
  return result;
}

}  // namespace detail

inline Marginals enumerate_marginals(const MarkovNetwork& network, const EvidenceView& evidence,
                                     const EnumerationOptions& options,
                                     const Execution& execution = {}) {
  options.check();
  const Schema& schema = network.schema();
  const std::size_t n_rows = check_evidence(schema, evidence);
  const auto offsets = value_offsets(schema);
  const StopSign stop(execution);
  Marginals result(LogPartitionKind::exact, n_rows, offsets.back());
  parallel_for(n_rows, execution, [&](std::size_t r) {
    const EvidenceView row = detail::evidence_row(schema, evidence, r);
    detail::check_states(schema, row.codes, r, options.max_states);
    const auto potentials = detail::all_log_potentials(network, row, stop);
    const double top = *std::ranges::max_element(potentials);
    double total = 0;
    for (const double potential : potentials) total += std::exp(potential - top);
    std::ranges::fill(result.row(r), 0.0);
    detail::AgreeingStates states(schema, row.codes);
    const auto own = [&](std::size_t v) -> double& {
      return result.row(r)[offsets[v] + static_cast<std::size_t>(states.state()[v])];
    };
    for (const double potential : potentials) {
      const double probability = std::exp(potential - top) / total;
      for (std::size_t v = 0; v < row.codes.size(); ++v)
        own(v) = row.codes[v] == kUnknown ? own(v) + probability : 1.0;
      states.next();
    }
    result.log_partitions[r] = top + std::log(total);
    result.rows[r] = {RowStatus::converged, 0, 0.0};
  });
  execution.throw_if_stopped();
  return result;
}

// A most probable state for each row of evidence, row-major: the first in lexicographic order.
inline std::vector<std::int32_t> enumerate_most_probable(const MarkovNetwork& network,
                                                         const EvidenceView& evidence,
                                                         const EnumerationOptions& options,
                                                         const Execution& execution = {}) {
  options.check();
  const Schema& schema = network.schema();
  const std::size_t n_rows = check_evidence(schema, evidence);
  const StopSign stop(execution);
  std::vector<std::int32_t> result(evidence.codes.begin(), evidence.codes.end());
  parallel_for(n_rows, execution, [&](std::size_t r) {
    const EvidenceView row = detail::evidence_row(schema, evidence, r);
    detail::check_states(schema, row.codes, r, options.max_states);
    const auto potentials = detail::all_log_potentials(network, row, stop);
    const auto best = std::ranges::max_element(potentials) - potentials.begin();
    detail::AgreeingStates states(schema, row.codes);
    for (std::ptrdiff_t i = 0; i < best; ++i) states.next();
    std::ranges::copy(states.state(),
                      result.begin() + static_cast<std::ptrdiff_t>(r * schema.n_variables()));
  });
  execution.throw_if_stopped();
  return result;
}

}  // namespace feldspar
