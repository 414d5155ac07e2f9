// Exact inference by a junction tree: marginals, log Z and independent samples, for many rows of
// evidence.
//
// Rows that hide the same variables share the elimination order and the clique tree. Evidence also
// switches features off: where the tree of all features that could be in force is too wide, each row
// gets the tree of those that are. If that is too wide as well, InvalidInput names the row, the
// number of table entries that would be needed, and the limit.
//
// Cost: O(table entries) a row and the memory for them, once per thread. Rows run in parallel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/random.hpp>
#include <feldspar/base/stop_sign.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/schema.hpp>
#include <feldspar/infer/clique_tree.hpp>
#include <feldspar/infer/condition.hpp>
#include <feldspar/infer/elimination.hpp>
#include <feldspar/infer/evidence.hpp>
#include <feldspar/infer/evidence_batch.hpp>
#include <feldspar/infer/marginals.hpp>
#include <feldspar/model/markov_network.hpp>

namespace feldspar {

struct JunctionTreeOptions {
  double max_table_entries = 1 << 24;  // of all cliques together, for one row: eight bytes each
  double max_seconds = std::numeric_limits<double>::infinity();

  void check() const {
    require(max_table_entries >= 1, "max_table_entries must be at least 1, got ",
            max_table_entries);
    require(max_seconds > 0, "max_seconds must be positive, got ", max_seconds);
  }
};

// The clique tree for the rows of one pattern, or one for each row where that is too wide.
class PatternTree {
 public:
  PatternTree(const FeatureSet& features, double max_table_entries, const StopSign& stop)
      : features_(features), max_table_entries_(max_table_entries), stop_(stop) {
    const Elimination elimination = eliminate_by_min_fill(features, max_table_entries, stop);
    if (fits(elimination.cost)) tree_.emplace(features, elimination);
  }

  // Calls use(tree, weights) with a tree and the weights of its features; if none is narrow enough,
  // returns what it would cost instead.
  template <class Use>
  std::optional<EliminationCost> try_with_tree(const ConditionedRow& row, Use&& use) const {
    if (tree_) {
      use(*tree_, row.weights);
      return std::nullopt;
    }
    const MarkovNetwork active = active_part(features_, row.weights);
    const Elimination elimination =
        eliminate_by_min_fill(active.features(), max_table_entries_, stop_);
    if (!fits(elimination.cost)) return elimination.cost;
    use(CliqueTree(active.features(), elimination), std::span(active.weights()));
    return std::nullopt;
  }

  // As above, but that cost is an error.
  template <class Use>
  void with_tree(const ConditionedRow& row, Use&& use) const {
    if (const auto cost = try_with_tree(row, use))
      require(false, "evidence: row ", row.row, ": exact inference needs ",
              cost->complete ? "" : "at least ", cost->table_entries,
              " table entries, its largest clique having ", cost->width,
              " variables; max_table_entries is ", max_table_entries_);
  }

 private:
  bool fits(const EliminationCost& cost) const {
    return cost.complete && cost.table_entries <= max_table_entries_;
  }

  const FeatureSet& features_;
  double max_table_entries_;
  const StopSign& stop_;
  std::optional<CliqueTree> tree_;
};

namespace detail {

class JunctionTreeMarginals {
 public:
  JunctionTreeMarginals(const Conditioner& conditioner, const EvidenceView& evidence,
                        const JunctionTreeOptions& options, const StopSign& stop, Marginals& result)
      : conditioner_(conditioner),
        evidence_(evidence),
        stop_(stop),
        result_(result),
        tree_(conditioner.features(), options.max_table_entries, stop) {}

  CliqueTables workspace() const { return {}; }

  void solve(const ConditionedRow& row, CliqueTables& tables) const {
    tree_.with_tree(row, [&](const CliqueTree& tree, std::span<const double> weights) {
      const double log_partition = collect_sums(tree, weights, tables, stop_);
      distribute(tree, tables, stop_);
      const std::size_t n = conditioner_.n_variables();
      conditioner_.expand(evidence_.codes.subspan(row.row * n, n), read_marginals(tree, tables),
                          result_.row(row.row));
      result_.log_partitions[row.row] = row.log_constant + log_partition;
      result_.rows[row.row] = {RowStatus::converged, 0, 0.0};
    });
  }

 private:
  const Conditioner& conditioner_;
  const EvidenceView& evidence_;
  const StopSign& stop_;
  Marginals& result_;
  PatternTree tree_;
};

class JunctionTreeSampler {
 public:
  JunctionTreeSampler(const Conditioner& conditioner, const EvidenceView& evidence,
                      std::size_t n_samples, std::uint64_t seed, const JunctionTreeOptions& options,
                      const StopSign& stop, std::span<std::int32_t> samples)
      : conditioner_(conditioner),
        evidence_(evidence),
        n_samples_(n_samples),
        seed_(seed),
        stop_(stop),
        samples_(samples),
        tree_(conditioner.features(), options.max_table_entries, stop) {}

  CliqueTables workspace() const { return {}; }

  void solve(const ConditionedRow& row, CliqueTables& tables) const {
    tree_.with_tree(row, [&](const CliqueTree& tree, std::span<const double> weights) {
      collect_sums(tree, weights, tables, stop_);
      const std::size_t n = conditioner_.n_variables();
      std::vector<Value> state(conditioner_.hidden().size());
      Random random(seed_, {"junction tree", row.row});
      for (std::size_t s = 0; s < n_samples_; ++s) {
        stop_.throw_if_interrupted();
        draw_state(tree, tables, random, state);
        conditioner_.complete(evidence_.codes.subspan(row.row * n, n), state,
                              samples_.subspan((row.row * n_samples_ + s) * n, n));
      }
    });
  }

 private:
  const Conditioner& conditioner_;
  const EvidenceView& evidence_;
  std::size_t n_samples_;
  std::uint64_t seed_;
  const StopSign& stop_;
  std::span<std::int32_t> samples_;
  PatternTree tree_;
};

}  // namespace detail

// Exact marginals and log Z of every row. When the time is up, rows not begun are left not_done.
inline Marginals junction_tree_marginals(const MarkovNetwork& network, const EvidenceView& evidence,
                                         const JunctionTreeOptions& options,
                                         const Execution& execution = {}) {
  options.check();
  const std::size_t n_rows = check_evidence(network.schema(), evidence);
  const StopSign stop(execution, options.max_seconds);
  Marginals result(LogPartitionKind::exact, n_rows, value_offsets(network.schema()).back());
  for_each_evidence_row(network, evidence, stop, execution, [&](const Conditioner& conditioner) {
    return detail::JunctionTreeMarginals(conditioner, evidence, options, stop, result);
  });
  return result;
}

// `n_samples` independent states given each row of evidence: rows x n_samples x variables. Row r
// draws from the stream {"junction tree", r}. When the time is up, the states of rows not begun are
// unknown throughout.
inline std::vector<std::int32_t> junction_tree_samples(const MarkovNetwork& network,
                                                       const EvidenceView& evidence,
                                                       std::size_t n_samples, std::uint64_t seed,
                                                       const JunctionTreeOptions& options,
                                                       const Execution& execution = {}) {
  options.check();
  const std::size_t n_rows = check_evidence(network.schema(), evidence);
  const StopSign stop(execution, options.max_seconds);
  std::vector<std::int32_t> samples(n_rows * n_samples * network.schema().n_variables(), kUnknown);
  for_each_evidence_row(network, evidence, stop, execution, [&](const Conditioner& conditioner) {
    return detail::JunctionTreeSampler(conditioner, evidence, n_samples, seed, options, stop,
                                       samples);
  });
  return samples;
}

}  // namespace feldspar
