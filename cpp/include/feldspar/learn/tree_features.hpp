// Decision trees as conjunctive features (Lowd and Davis, 2014, section 4.2).
//
//   default    every path from the root to a leaf, with every value of the target
//   prune      the same for paths to all nodes, the root (no test but the target's) included
//   prune-10   prune without features of more than 10 conditions, the target's included
//   prune-5    prune without those of more than 5
//   nonzero    default; then every condition that admits its variable's zero value is dropped
//
// All tests of one variable on a path are one condition, the set of values that they leave; with
// more than two values a condition "X != v" admits zero unless v is the zero value. Features that
// come from several paths are one; those without conditions vanish. A path that no row can take has
// none.
//
// Cost: O(conditions) of all paths together, before duplicates are merged. Serial.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include <feldspar/base/error.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/schema.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/model/decision_tree.hpp>
#include <feldspar/model/tree_paths.hpp>

namespace feldspar {

enum class TreeConversion { default_, prune, prune_10, prune_5, nonzero };

inline constexpr std::array<std::pair<std::string_view, TreeConversion>, 5> kTreeConversions{{
    {"default", TreeConversion::default_},
    {"prune", TreeConversion::prune},
    {"prune-10", TreeConversion::prune_10},
    {"prune-5", TreeConversion::prune_5},
    {"nonzero", TreeConversion::nonzero},
}};

inline TreeConversion tree_conversion(std::string_view name) {
  for (const auto& [known, conversion] : kTreeConversions)
    if (name == known) return conversion;
  throw InvalidInput(concat("conversion: got \"", name,
                            "\"; expected default, prune, prune-10, prune-5 or nonzero"));
}

namespace detail {

inline void check_zero_values(const Schema& schema, std::span<const Value> zero_values) {
  require(zero_values.empty() || zero_values.size() == schema.n_variables(), "zero_values: got ",
          zero_values.size(), " for ", schema.n_variables(), " variables");
  for (Variable v = 0; v < zero_values.size(); ++v)
    require(zero_values[v] < schema.cardinality(v), "zero_values: variable ", v, " has no value ",
            zero_values[v], "; expected 0 to ", schema.cardinality(v) - 1);
}

}  // namespace detail

// `zero_values` holds the zero value of every variable; empty: it is 0 for all.
inline FeatureSet tree_features(std::span<const DecisionTree> trees, const Schema& schema,
                                TreeConversion conversion,
                                std::span<const Value> zero_values = {}) {
  detail::check_zero_values(schema, zero_values);
  const bool leaves_only =
      conversion == TreeConversion::default_ || conversion == TreeConversion::nonzero;
  const std::size_t longest = conversion == TreeConversion::prune_10  ? 10
                              : conversion == TreeConversion::prune_5 ? 5
                                                                      : schema.n_variables();
  const auto dropped = [&](Variable v, std::span<const Value> values) {
    const Value zero = zero_values.empty() ? Value{0} : zero_values[v];
    return conversion == TreeConversion::nonzero && std::ranges::find(values, zero) != values.end();
  };
  FeatureSetBuilder builder(schema);
  PathTests path, kept;
  for (const DecisionTree& tree : trees)
    for_each_path(tree, [&](NodeId node, std::span<const Branch> branches) {
      if (leaves_only && !tree.nodes()[node].is_leaf()) return;
      if (!path.assign(schema, branches) || path.size() + 1 > longest) return;
      kept.clear();
      for (std::size_t t = 0; t < path.size(); ++t)
        if (!dropped(path.variable(t), path.values(t))) kept.push(path.variable(t), path.values(t));
      for (Value a = 0; a < tree.n_values(); ++a) {
        const bool says_target = !dropped(tree.target(), {&a, 1});
        if (says_target) kept.push(tree.target(), {&a, 1});
        kept.add_to(builder);
        if (says_target) kept.pop();
      }
    });
  return std::move(builder).finish();
}

}  // namespace feldspar
