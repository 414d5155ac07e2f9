// Loopy belief propagation: approximate marginals and the Bethe estimate of log Z, for many rows of
// evidence.
//
// propagation.hpp has the method, its options and its cost. Rows run in parallel; rows that hide
// the same variables share the layout of the factor graph, and each works on what its evidence
// leaves of it.
#pragma once

#include <cstddef>

#include <feldspar/base/execution.hpp>
#include <feldspar/base/stop_sign.hpp>
#include <feldspar/data/schema.hpp>
#include <feldspar/infer/condition.hpp>
#include <feldspar/infer/evidence.hpp>
#include <feldspar/infer/evidence_batch.hpp>
#include <feldspar/infer/factor_graph.hpp>
#include <feldspar/infer/factor_messages.hpp>
#include <feldspar/infer/marginals.hpp>
#include <feldspar/infer/propagation.hpp>
#include <feldspar/model/markov_network.hpp>

namespace feldspar {

namespace detail {

class BeliefPropagationMarginals {
 public:
  BeliefPropagationMarginals(const Conditioner& conditioner, const EvidenceView& evidence,
                             const BeliefPropagationOptions& options, const StopSign& stop,
                             Marginals& result)
      : conditioner_(conditioner),
        evidence_(evidence),
        options_(options),
        stop_(stop),
        result_(result),
        layout_(conditioner.features()) {}

  struct Workspace {};
  Workspace workspace() const { return {}; }

  void solve(const ConditionedRow& row, Workspace&) const {
    const FactorGraph graph(layout_, row.weights);
    Propagation<SumOfLogs> propagation(graph, options_);
    result_.rows[row.row] = propagation.run(stop_);
    const std::size_t n = conditioner_.n_variables();
    conditioner_.expand(evidence_.codes.subspan(row.row * n, n), propagation.probabilities(),
                        result_.row(row.row));
    result_.log_partitions[row.row] = row.log_constant + propagation.bethe_log_partition();
  }

 private:
  const Conditioner& conditioner_;
  const EvidenceView& evidence_;
  const BeliefPropagationOptions& options_;
  const StopSign& stop_;
  Marginals& result_;
  FactorLayout layout_;
};

}  // namespace detail

// Approximate marginals and Bethe log Z of every row. When the time is up, rows under way keep what
// they have reached (status time_limit), rows not begun are left not_done.
inline Marginals belief_propagation_marginals(const MarkovNetwork& network,
                                              const EvidenceView& evidence,
                                              const BeliefPropagationOptions& options,
                                              const Execution& execution = {}) {
  options.check();
  const std::size_t n_rows = check_evidence(network.schema(), evidence);
  const StopSign stop(execution, options.max_seconds);
  Marginals result(LogPartitionKind::bethe, n_rows, value_offsets(network.schema()).back());
  for_each_evidence_row(network, evidence, stop, execution, [&](const Conditioner& conditioner) {
    return detail::BeliefPropagationMarginals(conditioner, evidence, options, stop, result);
  });
  return result;
}

}  // namespace feldspar
