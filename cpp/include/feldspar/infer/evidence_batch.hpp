// Runs a method of inference over many rows of evidence, in parallel.
//
// Rows that hide the same variables share a Conditioner and whatever the method prepares for it (a
// clique tree, a factor graph's layout); then each row is on its own. A row's result depends on the
// network and that row alone: not on its company, nor on the number of threads.
//
// An interruption throws Interrupted. When the time is up, rows not begun are left as they are.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/base/execution.hpp>
#include <feldspar/base/parallel.hpp>
#include <feldspar/base/stop_sign.hpp>
#include <feldspar/infer/condition.hpp>
#include <feldspar/infer/evidence.hpp>
#include <feldspar/model/markov_network.hpp>

namespace feldspar {

namespace detail {

// Counts finished rows; tells the monitor when the calling thread finishes some.
class RowProgress {
 public:
  RowProgress(const Execution& execution, const StopSign& stop, std::size_t total)
      : execution_(execution), stop_(stop), total_(static_cast<double>(total)) {}

  void finished(std::size_t rows) {
    const std::size_t done = done_ += rows;
    if (stop_.on_calling_thread())
      execution_.report({.stage = "inference", .done = static_cast<double>(done), .total = total_});
  }

 private:
  const Execution& execution_;
  const StopSign& stop_;
  double total_;
  std::atomic<std::size_t> done_{0};
};

template <class Solver>
void solve_rows(const EvidenceView& evidence, const Conditioner& conditioner, const Solver& solver,
                std::span<const std::size_t> rows, const StopSign& stop, RowProgress& progress) {
  auto workspace = solver.workspace();
  Conditioner::Weights weights;
  const std::size_t step = conditioner.rows_at_once(), n_features = conditioner.features().size();
  for (std::size_t first = 0; first < rows.size(); first += step) {
    if (stop.out_of_time()) return;
    const auto block = rows.subspan(first, std::min(step, rows.size() - first));
    conditioner.weigh(evidence, block, weights);
    for (std::size_t i = 0; i < block.size(); ++i) {
      stop.throw_if_interrupted();
      if (stop.out_of_time()) return;
      const std::span<const double> own(weights.weights.data() + i * n_features, n_features);
      solver.solve({block[i], own, weights.log_constants[i]}, workspace);
    }
    progress.finished(block.size());
  }
}

}  // namespace detail

// prepare(conditioner) returns a solver for the rows of one pattern, which offers
//   workspace() const                 buffers for one thread
//   solve(row, workspace) const       works out a ConditionedRow and writes where it keeps results
// Solvers may keep a reference to the conditioner. The evidence has been checked.
template <class Prepare>
void for_each_evidence_row(const MarkovNetwork& network, const EvidenceView& evidence,
                           const StopSign& stop, const Execution& execution, Prepare&& prepare) {
  const std::size_t n_variables = network.schema().n_variables();
  const bool soft = !evidence.log_likelihoods.empty();
  const auto patterns = rows_by_pattern(n_variables, evidence.codes);
  detail::RowProgress progress(execution, stop, evidence.codes.size() / n_variables);
  const auto conditioner_of = [&](const std::vector<std::size_t>& rows) {
    return Conditioner(network, evidence.codes.subspan(rows[0] * n_variables, n_variables), soft);
  };
  const auto solve = [&](const auto& conditioner, const auto& solver, const auto& rows) {
    detail::solve_rows(evidence, conditioner, solver, rows, stop, progress);
  };
  // Patterns of few rows run side by side, others one after the other with their rows in parallel.
  // The choice follows from the rows alone.
  constexpr std::size_t kFewRows = 16;
  std::vector<std::size_t> few, many;
  for (std::size_t p = 0; p < patterns.size(); ++p)
    (patterns[p].size() < kFewRows ? few : many).push_back(p);
  if (few.size() == 1) many.push_back(std::exchange(few, {}).front());
  parallel_for(few.size(), execution, [&](std::size_t i) {
    if (stop.out_of_time()) return;
    const Conditioner conditioner = conditioner_of(patterns[few[i]]);
    solve(conditioner, prepare(conditioner), std::span(patterns[few[i]]));
  });
  execution.throw_if_stopped();
  for (const std::size_t p : many) {
    if (stop.out_of_time()) return;
    const std::span rows(patterns[p]);
    const Conditioner conditioner = conditioner_of(patterns[p]);
    const auto solver = prepare(conditioner);
    const std::size_t block =
        std::clamp<std::size_t>(rows.size() / kFewRows, 1, Conditioner::kMaxRows);
    parallel_for((rows.size() + block - 1) / block, execution, [&](std::size_t b) {
      const std::size_t first = b * block;
      solve(conditioner, solver, rows.subspan(first, std::min(block, rows.size() - first)));
    });
    execution.throw_if_stopped();
  }
}

}  // namespace feldspar
