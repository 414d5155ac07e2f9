// Which contexts go into the wide index and which into the variables' narrow ones: decided by
// counting.
//
// A context in the wide index costs one lookup of all columns wherever it holds; in the narrow
// indexes, one scalar lookup for each variable it serves. Wide variables give up the merging of
// rows that their contexts cannot tell apart; and where they have narrow contexts besides, margins
// and derivatives go back and forth between both indexes on every row. The costs are estimated in cycles for one value and
// gradient; the constants are rough guesses, of which only the ratios matter. On the pairs of six
// benchmark sets the choice they lead to was the faster one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/hash.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/feature/context_table.hpp>
#include <feldspar/objective/logistic.hpp>

namespace feldspar {

// Where a wide variable's margins are: columns lane ... lane + cardinality - 2 of a tile.
struct TileColumn {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::uint32_t tile = kNone;
  std::uint32_t lane = 0;

  bool is_wide() const noexcept { return tile != kNone; }
};

struct IndexPlan {
  std::vector<ContextId> wide_contexts;  // ascending
  std::vector<TileColumn> columns;       // by variable
  std::size_t n_tiles = 0;
};

// `wide` other than by_cost overrules the estimate: every context that can be goes into the wide
// index, or none. For tests and benchmarks.
struct PlanOptions {
  enum class Wide { by_cost, always, never } wide = Wide::by_cost;
};

namespace detail {

inline constexpr double kNarrowLookupCost = 3.0;  // scalar load and add, there and back
inline constexpr double kWideLaneCost = 0.6;      // the same for one lane of a vector
inline constexpr double kLogisticCost = 12.0;     // exp, log and two divisions, vectorised
inline constexpr double kExchangeCost = 24.0;     // of a row and margin between the two indexes
inline constexpr double kSharing = 4.0;  // contexts per lookup that pattern tables typically reach

inline bool can_be_wide(const Schema& schema, Variable v) noexcept {
  return schema.cardinality(v) >= 2 && schema.cardinality(v) <= kLanes + 1;
}

// Puts the variables for which `wanted` holds into tiles, in order, never splitting one.
inline void assign_tiles(const Schema& schema, const std::vector<bool>& wanted, IndexPlan& plan) {
  plan.columns.assign(schema.n_variables(), {});
  std::uint32_t lane = kLanes;  // "the last tile is full"
  for (Variable v = 0; v < schema.n_variables(); ++v) {
    if (!wanted[v]) continue;
    const std::uint32_t width = schema.cardinality(v) - 1u;
    if (lane + width > kLanes) {
      ++plan.n_tiles;
      lane = 0;
    }
    plan.columns[v] = {static_cast<std::uint32_t>(plan.n_tiles - 1), lane};
    lane += width;
  }
}

struct Candidates {
  std::vector<ContextId> contexts;
  std::vector<bool> variables;    // served by one of them
  double narrow_lookups = 0;      // (row, context, variable) triples
  double wide_lookups = 0;        // (row, context) pairs
  std::size_t mixed_columns = 0;  // margins of variables that other contexts serve as well
  std::size_t distinct_rows = 0;
};

// Contexts that serve a large enough share of the columns, and what they would cost.
inline Candidates find_candidates(const FeatureSet& features, const ContextTable& table,
                                  const Dataset& data, std::size_t n_columns, double min_users,
                                  const Execution& execution) {
  const Schema& schema = features.schema();
  std::vector<std::uint32_t> n_users(table.size(), 0);  // tests, of variables that can be wide
  for (std::size_t t = 0; t < features.n_tests(); ++t)
    if (can_be_wide(schema, features.tests()[t].variable)) ++n_users[table.of_test(t)];
  Candidates found;
  std::vector<std::uint64_t> row_hash(data.n_rows(), 0);
  std::vector<Word> rows(data.columns().n_words());
  for (ContextId c = 1; c < table.size(); ++c) {
    if (n_users[c] < min_users) continue;
    execution.poll_or_throw();
    found.contexts.push_back(c);
    table.match(features, data.columns(), c, rows);
    const std::uint64_t mark = mix_bits(c);
    std::size_t support = 0;
    for_each_bit(rows, [&](std::size_t r) {
      row_hash[r] += mark;
      ++support;
    });
    const auto s = static_cast<double>(support);
    found.wide_lookups += s;
    found.narrow_lookups += s * std::min<double>(n_users[c], static_cast<double>(n_columns));
  }
  found.distinct_rows = std::unordered_set<std::uint64_t>(row_hash.begin(), row_hash.end()).size();

  std::vector<bool> is_candidate(table.size(), false);
  for (const ContextId c : found.contexts) is_candidate[c] = true;
  found.variables.assign(schema.n_variables(), false);
  std::vector<bool> has_others(schema.n_variables(), false);
  for (std::size_t t = 0; t < features.n_tests(); ++t) {
    const Variable v = features.tests()[t].variable;
    const ContextId c = table.of_test(t);
    if (is_candidate[c] && can_be_wide(schema, v)) found.variables[v] = true;
    if (!is_candidate[c] && c != kEmptyContext) has_others[v] = true;
  }
  for (Variable v = 0; v < schema.n_variables(); ++v)
    if (found.variables[v] && has_others[v]) found.mixed_columns += schema.cardinality(v) - 1u;
  return found;
}

}  // namespace detail

inline IndexPlan plan_index(const FeatureSet& features, const ContextTable& table,
                            const Dataset& data, const PlanOptions& options = {},
                            const Execution& execution = {}) {
  const Schema& schema = features.schema();
  IndexPlan narrow;
  narrow.columns.assign(schema.n_variables(), {});
  if (options.wide == PlanOptions::Wide::never) return narrow;

  std::size_t n_columns = 0;
  for (Variable v = 0; v < schema.n_variables(); ++v)
    if (detail::can_be_wide(schema, v)) n_columns += schema.cardinality(v) - 1u;
  if (n_columns == 0) return narrow;
  const double padded = static_cast<double>((n_columns + kLanes - 1) / kLanes * kLanes);

  const bool forced = options.wide == PlanOptions::Wide::always;
  const double min_users =
      forced ? 1.0 : padded * detail::kWideLaneCost / detail::kNarrowLookupCost;
  const detail::Candidates found =
      detail::find_candidates(features, table, data, n_columns, min_users, execution);
  if (found.contexts.empty()) return narrow;

  const auto n_rows = static_cast<double>(data.n_rows());
  const double wide_cost =
      found.wide_lookups / detail::kSharing * padded * detail::kWideLaneCost +
      n_rows * padded * detail::kLogisticCost +
      n_rows * static_cast<double>(found.mixed_columns) * detail::kExchangeCost;
  const double narrow_cost = static_cast<double>(found.distinct_rows) / n_rows *
                             (found.narrow_lookups / detail::kSharing * detail::kNarrowLookupCost +
                              n_rows * static_cast<double>(n_columns) * detail::kLogisticCost);
  if (!forced && wide_cost >= narrow_cost) return narrow;

  IndexPlan plan;
  plan.wide_contexts = found.contexts;
  detail::assign_tiles(schema, found.variables, plan);
  return plan;
}

}  // namespace feldspar
