// Naive mean field: the product of independent distributions that is closest to the model.
//
// For any product q, the bound  sum_j w_j prod_i q(test i of j holds) + entropy(q)  is at most
// log Z. Variables take turns: the best distribution of one, the others given, is
//   q_v(a)  proportional to  exp(sum of w_j times the probability that j's other tests hold),
// over the features j that test v and admit a. So the bound never decreases from sweep to sweep.
//
// With the variables visited in the order of the tests, the probability of the other tests is a
// product of those before (already updated) and those after (as at the start of the sweep): kept as
// running products, a sweep costs O(active tests), whatever the length of the features.
//
// The bound has many local optima. The first start is uniform; further starts are random, seeded,
// and the best bound wins. Rows run in parallel.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/random.hpp>
#include <feldspar/base/stop_sign.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/schema.hpp>
#include <feldspar/infer/condition.hpp>
#include <feldspar/infer/conjunction_graph.hpp>
#include <feldspar/infer/evidence.hpp>
#include <feldspar/infer/evidence_batch.hpp>
#include <feldspar/infer/literals.hpp>
#include <feldspar/infer/marginals.hpp>
#include <feldspar/model/markov_network.hpp>

namespace feldspar {

struct MeanFieldOptions {
  std::int32_t max_iterations = 1000;  // sweeps of one start
  double tolerance = 1e-6;             // of the probabilities, from one sweep to the next
  std::int32_t n_starts = 1;
  std::uint64_t seed = 0;  // of the starts after the first
  double max_seconds = std::numeric_limits<double>::infinity();

  void check() const {
    require(max_iterations >= 0, "max_iterations must not be negative, got ", max_iterations);
    require(tolerance > 0, "tolerance must be positive, got ", tolerance);
    require(n_starts >= 1, "n_starts must be at least 1, got ", n_starts);
    require(max_seconds > 0, "max_seconds must be positive, got ", max_seconds);
  }
};

// One start on one graph, of which it keeps a reference.
class MeanField {
 public:
  // `probabilities` of the values, laid out by the graph's offsets.
  MeanField(const ConjunctionGraph& graph, std::vector<double> probabilities)
      : graph_(graph),
        probabilities_(std::move(probabilities)),
        chance_(graph.literals().size()),
        before_(graph.n_conjunctions()),
        after_(graph.n_edges()) {
    for (Variable v = 0; v < graph.schema().n_variables(); ++v) set_chances(v);
  }

  // Updates every variable once; returns the largest change of a probability.
  double sweep();

  // The bound on log Z.
  double bound() const;

  const std::vector<double>& probabilities() const noexcept { return probabilities_; }

 private:
  void set_chances(Variable v);
  double update(Variable v);

  const ConjunctionGraph& graph_;
  std::vector<double> probabilities_;
  std::vector<double> chance_;  // that each literal holds
  std::vector<double> before_;  // by conjunction: that the tests on variables already visited hold
  std::vector<double> after_;   // by edge: that the tests behind it hold, at the start of the sweep
  std::vector<double> logits_;
};

inline void MeanField::set_chances(Variable v) {
  const Literals& literals = graph_.literals();
  for (LiteralId l = literals.first(v); l < literals.first(v + 1); ++l) {
    chance_[l] = 0;
    for (const Value a : literals.values(l)) chance_[l] += probabilities_[graph_.offsets()[v] + a];
  }
}

inline double MeanField::update(Variable v) {
  const Literals& literals = graph_.literals();
  const std::size_t offset = graph_.offsets()[v], n = graph_.schema().cardinality(v);
  logits_.assign(graph_.unary().begin() + static_cast<std::ptrdiff_t>(offset),
                 graph_.unary().begin() + static_cast<std::ptrdiff_t>(offset + n));
  for (LiteralId l = literals.first(v); l < literals.first(v + 1); ++l) {
    double gain = 0;
    for (const std::uint32_t edge : graph_.edges_of(l)) {
      const std::uint32_t f = graph_.conjunction_of(edge);
      gain += graph_.weight(f) * (before_[f] * after_[edge]);
    }
    for (const Value a : literals.values(l)) logits_[a] += gain;
  }
  const double top = *std::ranges::max_element(logits_);
  double total = 0;
  for (double& x : logits_) total += (x = std::exp(x - top));
  double most = 0;
  for (std::size_t a = 0; a < n; ++a) {
    const double p = logits_[a] / total;
    most = std::max(most, std::abs(p - probabilities_[offset + a]));
    probabilities_[offset + a] = p;
  }
  set_chances(v);
  for (LiteralId l = literals.first(v); l < literals.first(v + 1); ++l)
    for (const std::uint32_t edge : graph_.edges_of(l))
      before_[graph_.conjunction_of(edge)] *= chance_[l];
  return most;
}

inline double MeanField::sweep() {
  std::ranges::fill(before_, 1.0);
  for (std::size_t f = 0; f < graph_.n_conjunctions(); ++f) {
    double product = 1;
    for (std::size_t edge = graph_.first_edge(f + 1); edge-- > graph_.first_edge(f);) {
      after_[edge] = product;
      product *= chance_[graph_.literal_of(edge)];
    }
  }
  double most = 0;
  for (Variable v = 0; v < graph_.schema().n_variables(); ++v) most = std::max(most, update(v));
  return most;
}

inline double MeanField::bound() const {
  double sum = 0;
  for (std::size_t f = 0; f < graph_.n_conjunctions(); ++f) {
    double product = 1;
    for (std::size_t edge = graph_.first_edge(f); edge < graph_.first_edge(f + 1); ++edge)
      product *= chance_[graph_.literal_of(edge)];
    sum += graph_.weight(f) * product;
  }
  for (std::size_t i = 0; i < probabilities_.size(); ++i)
    if (const double p = probabilities_[i]; p > 0) sum += p * (graph_.unary()[i] - std::log(p));
  return sum;
}

namespace detail {

// Start number 0 is uniform, others are drawn from the simplices: exponential variates, normalised.
inline std::vector<double> mean_field_start(const ConjunctionGraph& graph, std::uint64_t seed,
                                            std::int32_t start) {
  const auto& offsets = graph.offsets();
  std::vector<double> probabilities(offsets.back(), 1.0);
  Random random(seed, {"mean field", static_cast<std::uint64_t>(start)});
  for (std::size_t v = 0; v + 1 < offsets.size(); ++v) {
    double total = 0;
    for (std::size_t i = offsets[v]; i < offsets[v + 1]; ++i) {
      if (start > 0) probabilities[i] = 1e-9 - std::log1p(-random.uniform());
      total += probabilities[i];
    }
    for (std::size_t i = offsets[v]; i < offsets[v + 1]; ++i) probabilities[i] /= total;
  }
  return probabilities;
}

class MeanFieldMarginals {
 public:
  MeanFieldMarginals(const Conditioner& conditioner, const EvidenceView& evidence,
                     const MeanFieldOptions& options, const StopSign& stop, Marginals& result)
      : conditioner_(conditioner),
        evidence_(evidence),
        options_(options),
        stop_(stop),
        result_(result),
        literals_(conditioner.features()) {}

  struct Workspace {};
  Workspace workspace() const { return {}; }

  void solve(const ConditionedRow& row, Workspace&) const {
    const ConjunctionGraph graph(conditioner_.features(), literals_, row.weights);
    double best = -std::numeric_limits<double>::infinity();
    for (std::int32_t start = 0; start < options_.n_starts; ++start) {
      MeanField field(graph, mean_field_start(graph, options_.seed, start));
      const RowDiagnostics diagnostics = run(field);
      if (const double bound = field.bound(); start == 0 || bound > best) {
        best = bound;
        const std::size_t n = conditioner_.n_variables();
        conditioner_.expand(evidence_.codes.subspan(row.row * n, n), field.probabilities(),
                            result_.row(row.row));
        result_.log_partitions[row.row] = row.log_constant + bound;
        result_.rows[row.row] = diagnostics;
      }
      if (stop_.out_of_time()) return;
    }
  }

 private:
  RowDiagnostics run(MeanField& field) const {
    RowDiagnostics result{RowStatus::max_iterations, 0, std::numeric_limits<double>::infinity()};
    while (result.iterations < options_.max_iterations) {
      stop_.throw_if_interrupted();
      if (stop_.out_of_time()) {
        result.status = RowStatus::time_limit;
        return result;
      }
      result.residual = field.sweep();
      ++result.iterations;
      if (result.residual <= options_.tolerance) {
        result.status = RowStatus::converged;
        return result;
      }
    }
    return result;
  }

  const Conditioner& conditioner_;
  const EvidenceView& evidence_;
  const MeanFieldOptions& options_;
  const StopSign& stop_;
  Marginals& result_;
  Literals literals_;
};

}  // namespace detail

// Approximate marginals and a lower bound on log Z for every row. When the time is up, rows under
// way keep the best they have reached, rows not begun are left not_done.
inline Marginals mean_field_marginals(const MarkovNetwork& network, const EvidenceView& evidence,
                                      const MeanFieldOptions& options,
                                      const Execution& execution = {}) {
  options.check();
  const std::size_t n_rows = check_evidence(network.schema(), evidence);
  const StopSign stop(execution, options.max_seconds);
  Marginals result(LogPartitionKind::lower_bound, n_rows, value_offsets(network.schema()).back());
  for_each_evidence_row(network, evidence, stop, execution, [&](const Conditioner& conditioner) {
    return detail::MeanFieldMarginals(conditioner, evidence, options, stop, result);
  });
  return result;
}

}  // namespace feldspar
