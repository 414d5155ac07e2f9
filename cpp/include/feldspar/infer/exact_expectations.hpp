// Exact log Z and expectations by a junction tree, which is built once for all weights.
//
// Cost: O(table entries) a call and the boxes of the features, each read and written once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/parallel.hpp>
#include <feldspar/base/stop_sign.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/infer/clique_tree.hpp>
#include <feldspar/infer/conditioned_expectations.hpp>
#include <feldspar/infer/elimination.hpp>
#include <feldspar/infer/expectation_engine.hpp>
#include <feldspar/infer/table_box.hpp>

namespace feldspar {

class ExactExpectations final : public ExpectationEngine {
 public:
  // Throws InvalidInput where the tree is too wide.
  ExactExpectations(const FeatureSet& features, double max_table_entries,
                    const Execution& execution = {})
      : clampable_(features),
        tree_(make_tree(clampable_.features(), max_table_entries, execution)) {}

  std::string_view method() const noexcept override { return "exact"; }

  double infer(std::span<const double> weights, std::span<double> expectations,
               const Execution& execution) override {
    const StopSign stop(execution);
    const double log_partition = collect_sums(tree_, clampable_.weights(weights), tables_, stop);
    distribute(tree_, tables_, stop);
    // A task's share of the features: enough that starting it does not matter.
    constexpr std::size_t kFeatures = 64;
    const std::size_t n = expectations.size();
    parallel_for((n + kFeatures - 1) / kFeatures, execution, [&](std::size_t task) {
      for (std::size_t j = task * kFeatures; j < std::min(n, (task + 1) * kFeatures); ++j) {
        const auto id = static_cast<FeatureId>(j);
        const Clique& clique = tree_.cliques()[tree_.clique_of(id)];
        expectations[j] = sum_of_box(tree_.features(), tree_.box(id),
                                     tables_.entries.data() + clique.first_entry);
      }
    });
    execution.throw_if_stopped();
    return log_partition;
  }

  std::vector<double> expectations_of(std::span<const double> weights, const FeatureSet& others,
                                      std::span<const FeatureId> wanted,
                                      const Execution& execution) override {
    const StopSign stop(execution);
    return conditioned_expectations(clampable_, weights, others, wanted, execution,
                                    [&](std::span<const double> clamped) {
                                      CliqueTables tables;
                                      collect_sums(tree_, clamped, tables, stop);
                                      distribute(tree_, tables, stop);
                                      return read_marginals(tree_, tables);
                                    });
  }

 private:
  static CliqueTree make_tree(const FeatureSet& features, double max_table_entries,
                              const Execution& execution) {
    const Elimination elimination =
        eliminate_by_min_fill(features, max_table_entries, StopSign(execution));
    const EliminationCost& cost = elimination.cost;
    require(cost.complete && cost.table_entries <= max_table_entries, "exact inference needs ",
            cost.complete ? "" : "at least ", cost.table_entries,
            " table entries, its largest clique having ", cost.width,
            " variables; max_table_entries is ", max_table_entries);
    return CliqueTree(features, elimination);
  }

  ClampableFeatures clampable_;
  CliqueTree tree_;
  CliqueTables tables_;
};

}  // namespace feldspar
