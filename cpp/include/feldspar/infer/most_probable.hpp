// The most probable state given evidence.
//
// - junction_tree: exact, by max-sum; InvalidInput where the tree is too wide.
// - max_product: where the factor graph has no cycles exact, by messages to the root and back
//   (forest_maximum.hpp); else max-product belief propagation, the best value of each variable, then
//   climbing, of which nothing is proven.
// - icm: iterated conditional modes from several starts. One variable at a time is set to its best
//   value, the others given, until none can be improved, or improving shows no gain for many
//   sweeps: weights may be so far apart that sums round others away. Counters of failed tests make
//   a step cost O(features of the variable). The first start takes each variable's own potential,
//   the others are random, seeded.
// - automatic: exact where the tree is narrow enough, else the better of max_product and icm.
// The result says for each row which it was, the log-potential of its state, and whether that is
// proven to be the highest. Rows run in parallel.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/random.hpp>
#include <feldspar/base/stop_sign.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/schema.hpp>
#include <feldspar/infer/clique_tree.hpp>
#include <feldspar/infer/condition.hpp>
#include <feldspar/infer/conjunction_graph.hpp>
#include <feldspar/infer/evidence.hpp>
#include <feldspar/infer/evidence_batch.hpp>
#include <feldspar/infer/factor_graph.hpp>
#include <feldspar/infer/factor_neighbours.hpp>
#include <feldspar/infer/forest_maximum.hpp>
#include <feldspar/infer/junction_tree.hpp>
#include <feldspar/infer/literals.hpp>
#include <feldspar/infer/marginals.hpp>
#include <feldspar/infer/propagation.hpp>
#include <feldspar/model/markov_network.hpp>

namespace feldspar {

enum class MostProbableMethod : std::uint8_t { automatic, junction_tree, max_product, icm };

constexpr std::string_view name(MostProbableMethod method) noexcept {
  switch (method) {
    case MostProbableMethod::automatic:
      return "automatic";
    case MostProbableMethod::junction_tree:
      return "junction_tree";
    case MostProbableMethod::max_product:
      return "max_product";
    case MostProbableMethod::icm:
      return "icm";
  }
  return "unknown";
}

// The method of that name.
inline MostProbableMethod most_probable_method_named(std::string_view wanted) {
  using enum MostProbableMethod;
  for (const MostProbableMethod method : {automatic, junction_tree, max_product, icm})
    if (name(method) == wanted) return method;
  throw InvalidInput(concat(
      "method must be 'automatic', 'junction_tree', 'max_product' or 'icm', got '", wanted, "'"));
}

struct MostProbableOptions {
  MostProbableMethod method = MostProbableMethod::automatic;
  double max_table_entries = JunctionTreeOptions{}.max_table_entries;
  Schedule schedule = Schedule::synchronous;  // this and the next three: of max-product with cycles
  double damping = 0.5;
  std::int32_t max_iterations = 200;
  double tolerance = 1e-6;
  std::int32_t n_starts = 10;  // this and the next: of icm
  std::uint64_t seed = 0;
  double max_seconds = std::numeric_limits<double>::infinity();

  BeliefPropagationOptions propagation() const {
    return {schedule, damping, max_iterations, tolerance, max_seconds};
  }
  void check() const {
    JunctionTreeOptions{max_table_entries, max_seconds}.check();
    propagation().check();
    require(n_starts >= 1, "n_starts must be at least 1, got ", n_starts);
  }
};

struct MostProbable {
  std::size_t n_variables = 0;
  std::vector<std::int32_t> states;    // rows x variables; unknown where a row was not done
  std::vector<double> log_potentials;  // a row, what soft evidence says included
  std::vector<MostProbableMethod> methods;
  std::vector<std::uint8_t> proven;  // 1: no state is better
  std::vector<RowDiagnostics> rows;

  MostProbable(std::size_t n_rows, std::size_t variables, MostProbableMethod method)
      : n_variables(variables),
        states(n_rows * variables, kUnknown),
        log_potentials(n_rows, std::numeric_limits<double>::quiet_NaN()),
        methods(n_rows, method),
        proven(n_rows, 0),
        rows(n_rows) {}
};

// A state and how many tests of each conjunction fail on it. Keeps a reference to the graph.
class Climber {
 public:
  Climber(const ConjunctionGraph& graph, std::vector<Value> state)
      : graph_(graph), state_(std::move(state)), failed_(graph.n_conjunctions(), 0) {
    for (std::size_t e = 0; e < graph.n_edges(); ++e)
      failed_[graph.conjunction_of(e)] += !holds(graph.literal_of(e));
  }

  const std::vector<Value>& state() const noexcept { return state_; }

  double log_potential() const {
    double sum = 0;
    for (std::size_t f = 0; f < failed_.size(); ++f)
      if (failed_[f] == 0) sum += graph_.weight(f);
    for (Variable v = 0; v < state_.size(); ++v)
      sum += graph_.unary()[graph_.offsets()[v] + state_[v]];
    return sum;
  }

  struct Climb {
    std::int32_t sweeps;
    RowStatus status;  // converged or time_limit
  };

  // Improves one variable after the other until none can be, or time is over. Where weights are so far
  // apart that sums round others away, variables may undo each other's gains for ever, and a gain may
  // not show in the sum: a number of sweeps that gain nothing on the whole are the last.
  Climb climb(const StopSign& stop) {
    constexpr int kIdleSweeps = 20;
    double reached = log_potential();
    int idle = 0;
    for (std::int32_t sweeps = 1;; ++sweeps) {
      stop.throw_if_interrupted();
      bool improved = false;
      for (Variable v = 0; v < state_.size(); ++v) improved |= improve(v);
      const double now = log_potential();
      idle = now > reached ? 0 : idle + 1;
      reached = std::max(reached, now);
      if (!improved || idle == kIdleSweeps) return {sweeps, RowStatus::converged};
      if (stop.out_of_time()) return {sweeps, RowStatus::time_limit};
    }
  }

 private:
  bool holds(LiteralId l) const {
    const auto values = graph_.literals().values(l);
    return std::ranges::binary_search(values, state_[graph_.literals().variable(l)]);
  }

  // The log-potential of each value of v up to a constant, the others being as they are.
  void score(Variable v) {
    const Literals& literals = graph_.literals();
    const auto first = graph_.unary().begin() + static_cast<std::ptrdiff_t>(graph_.offsets()[v]);
    scores_.assign(first, first + graph_.schema().cardinality(v));
    for (LiteralId l = literals.first(v); l < literals.first(v + 1); ++l) {
      const std::uint32_t own = holds(l) ? 0 : 1;
      double gain = 0;
      for (const std::uint32_t edge : graph_.edges_of(l))
        if (failed_[graph_.conjunction_of(edge)] == own)
          gain += graph_.weight(graph_.conjunction_of(edge));
      for (const Value a : literals.values(l)) scores_[a] += gain;
    }
  }

  // Sets v to its best value if that is better by more than rounding could pretend.
  bool improve(Variable v) {
    score(v);
    const auto best = std::ranges::max_element(scores_);
    const double now = scores_[state_[v]];
    if (!(*best - now > 1e-12 * (1 + std::abs(now)))) return false;
    const Literals& literals = graph_.literals();
    const auto count = [&](std::uint32_t sign) {
      for (LiteralId l = literals.first(v); l < literals.first(v + 1); ++l)
        if (!holds(l))
          for (const std::uint32_t edge : graph_.edges_of(l))
            failed_[graph_.conjunction_of(edge)] += sign;
    };
    count(~std::uint32_t{0});  // minus one
    state_[v] = static_cast<Value>(best - scores_.begin());
    count(1);
    return true;
  }

  const ConjunctionGraph& graph_;
  std::vector<Value> state_;
  std::vector<std::uint32_t> failed_;
  std::vector<double> scores_;
};

namespace detail {

struct Candidate {
  std::vector<Value> state;
  double log_potential = -std::numeric_limits<double>::infinity();
  MostProbableMethod method = MostProbableMethod::automatic;
  bool proven = false;
  RowDiagnostics diagnostics;
};

// The best value of each variable by its part of `scores`.
inline std::vector<Value> best_values(std::span<const double> scores,
                                      std::span<const std::size_t> offsets) {
  std::vector<Value> state;
  for (std::size_t v = 0; v + 1 < offsets.size(); ++v) {
    const auto own = scores.subspan(offsets[v], offsets[v + 1] - offsets[v]);
    state.push_back(static_cast<Value>(std::ranges::max_element(own) - own.begin()));
  }
  return state;
}

class MostProbableSolver {
 public:
  MostProbableSolver(const Conditioner& conditioner, const EvidenceView& evidence,
                     const MostProbableOptions& options, const StopSign& stop, MostProbable& result)
      : conditioner_(conditioner),
        evidence_(evidence),
        options_(options),
        stop_(stop),
        result_(result),
        literals_(conditioner.features()) {
    using enum MostProbableMethod;
    if (options.method == automatic || options.method == junction_tree)
      tree_.emplace(conditioner.features(), options.max_table_entries, stop);
    if (options.method == automatic || options.method == max_product)
      layout_.emplace(conditioner.features());
  }

  CliqueTables workspace() const { return {}; }

  void solve(const ConditionedRow& row, CliqueTables& tables) const {
    const ConjunctionGraph graph(conditioner_.features(), literals_, row.weights);
    const Candidate best = choose(row, graph, tables);
    const std::size_t n = conditioner_.n_variables(), r = row.row;
    conditioner_.complete(evidence_.codes.subspan(r * n, n), best.state,
                          std::span(result_.states).subspan(r * n, n));
    result_.log_potentials[r] = row.log_constant + best.log_potential;
    result_.methods[r] = best.method;
    result_.proven[r] = best.proven;
    result_.rows[r] = best.diagnostics;
  }

 private:
  Candidate choose(const ConditionedRow& row, const ConjunctionGraph& graph,
                   CliqueTables& tables) const {
    Candidate best;
    const auto exactly = [&](const CliqueTree& tree, std::span<const double> weights) {
      best = by_tree(tree, weights, graph, tables);
    };
    switch (options_.method) {
      case MostProbableMethod::junction_tree:
        tree_->with_tree(row, exactly);
        return best;
      case MostProbableMethod::max_product:
        return by_max_product(row, graph);
      case MostProbableMethod::icm:
        return by_icm(graph);
      case MostProbableMethod::automatic:
        break;
    }
    if (!tree_->try_with_tree(row, exactly)) return best;
    best = by_max_product(row, graph);
    if (best.proven) return best;
    Candidate other = by_icm(graph);
    return other.log_potential > best.log_potential ? other : best;
  }

  Candidate by_tree(const CliqueTree& tree, std::span<const double> weights,
                    const ConjunctionGraph& graph, CliqueTables& tables) const {
    Candidate result;
    result.state = most_probable_state(tree, weights, tables, stop_);
    result.log_potential = Climber(graph, result.state).log_potential();
    result.method = MostProbableMethod::junction_tree;
    result.proven = true;
    result.diagnostics = {RowStatus::converged, 0, 0.0};
    return result;
  }

  Candidate by_max_product(const ConditionedRow& row, const ConjunctionGraph& graph) const {
    const FactorGraph factors(*layout_, row.weights);
    Candidate result;
    result.method = MostProbableMethod::max_product;
    if (is_forest(factors)) {
      result.state = forest_maximum(factors, row.weights);
      result.log_potential = Climber(graph, result.state).log_potential();
      result.proven = true;
      result.diagnostics = {RowStatus::converged, 1, 0.0};
      return result;
    }
    Propagation<MaxOfLogs> propagation(factors, options_.propagation());
    result.diagnostics = propagation.run(stop_);
    Climber climber(graph, best_values(propagation.totals(), graph.offsets()));
    if (climber.climb(stop_).status == RowStatus::time_limit)
      result.diagnostics.status = RowStatus::time_limit;
    result.state = climber.state();
    result.log_potential = climber.log_potential();
    return result;
  }

  Candidate by_icm(const ConjunctionGraph& graph) const {
    Candidate best;
    best.method = MostProbableMethod::icm;
    std::int32_t sweeps = 0;
    RowStatus status = RowStatus::converged;
    for (std::int32_t start = 0; start < options_.n_starts; ++start) {
      if (start > 0 && stop_.out_of_time()) status = RowStatus::time_limit;
      if (status != RowStatus::converged) break;
      Climber climber(graph, icm_start(graph, start));
      const Climber::Climb climb = climber.climb(stop_);
      sweeps += climb.sweeps;
      status = climb.status;
      if (const double log_potential = climber.log_potential();
          start == 0 || log_potential > best.log_potential) {
        best.state = climber.state();
        best.log_potential = log_potential;
      }
    }
    best.diagnostics = {status, sweeps, 0.0};
    return best;
  }

  std::vector<Value> icm_start(const ConjunctionGraph& graph, std::int32_t start) const {
    if (start == 0) return best_values(graph.unary(), graph.offsets());
    Random random(options_.seed, {"icm", static_cast<std::uint64_t>(start)});
    std::vector<Value> state;
    for (const Value cardinality : graph.schema().cardinalities())
      state.push_back(static_cast<Value>(random.below(cardinality)));
    return state;
  }

  const Conditioner& conditioner_;
  const EvidenceView& evidence_;
  const MostProbableOptions& options_;
  const StopSign& stop_;
  MostProbable& result_;
  Literals literals_;
  std::optional<PatternTree> tree_;
  std::optional<FactorLayout> layout_;
};

}  // namespace detail

// When the time is up, rows under way keep the best they have found, rows not begun are left
// not_done.
inline MostProbable most_probable(const MarkovNetwork& network, const EvidenceView& evidence,
                                  const MostProbableOptions& options,
                                  const Execution& execution = {}) {
  options.check();
  const std::size_t n_rows = check_evidence(network.schema(), evidence);
  const StopSign stop(execution, options.max_seconds);
  MostProbable result(n_rows, network.schema().n_variables(), options.method);
  for_each_evidence_row(network, evidence, stop, execution, [&](const Conditioner& conditioner) {
    return detail::MostProbableSolver(conditioner, evidence, options, stop, result);
  });
  return result;
}

}  // namespace feldspar
