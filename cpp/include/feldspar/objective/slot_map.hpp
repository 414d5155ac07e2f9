// From feature weights to slots and back.
//
// A slot is one coordinate of the margins' parametrisation: (variable, context, margin). A feature
// adds its weight to, or takes it from, the slots of its context under each of its variables
// (margin_signs.hpp).
//
// Layout: the biases (empty contexts) of all variables; the narrow contexts, variable by variable; the
// wide contexts, tile by tile, kLanes slots each.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/parallel.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/feature/context_table.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/objective/index_plan.hpp>
#include <feldspar/objective/margin_signs.hpp>

namespace feldspar {

class SlotMap {
 public:
  SlotMap() = default;
  SlotMap(const FeatureSet& features, const ContextTable& table, const IndexPlan& plan);

  std::size_t n_slots() const noexcept { return n_slots_; }
  std::size_t bias(Variable v) const noexcept { return bias_[v]; }
  std::size_t tile(std::size_t t) const noexcept { return wide_ + t * n_wide_ * kLanes; }
  std::size_t narrow(Variable v) const noexcept { return narrow_[v]; }
  std::size_t n_biases() const noexcept { return n_biases_; }
  std::size_t first_wide() const noexcept { return wide_; }

  // The contexts that variable v keeps in its narrow index, ascending.
  std::span<const ContextId> narrow_contexts(Variable v) const noexcept { return contexts_[v]; }

  // u[i] := what the weights put into slot first + i.
  template <class Number>
  void spread(std::span<const Number> weights, std::size_t first,
              std::span<Number> u) const noexcept {
    by_slot_.sum_rows(weights, first, u);
  }

  // The same for wide slots, which are taken from a copy of the weights where they can be.
  template <class Number>
  void copy_for_wide(std::span<const Number> weights, std::vector<Number>& copy,
                     const Execution& execution = {}) const;
  template <class Number>
  void spread_wide(std::span<const Number> weights, std::span<const Number> copy, std::size_t first,
                   std::span<Number> u) const noexcept {
    if (single_.empty()) return spread(weights, first, u);
    const std::uint32_t* single = single_.data() + (first - wide_);
    for (std::size_t i = 0; i < u.size(); ++i) u[i] = copy[single[i]];
  }

  // gradient := the transpose, of what the slots have.
  template <class Number>
  void collect(std::span<const Number> du, std::span<Number> gradient,
               const Execution& execution = {}) const {
    by_feature_.sum(du, gradient, execution);
  }

  std::size_t bytes() const noexcept {
    return by_feature_.bytes() + by_slot_.bytes() + 4 * single_.size();
  }

 private:
  template <class Number>
  using BitsOf = std::conditional_t<sizeof(Number) == 8, std::uint64_t, std::uint32_t>;

  // A sparse matrix of entries 1 and -1, by rows. The map is kept with its transpose, so that both
  // directions only read from far away, and threads can share the rows.
  struct SignedSums {
    std::vector<std::uint32_t> begin{0};  // by row
    std::vector<std::uint32_t> terms;     // 2 * column, plus 1 for a negative sign
    // Where rows of as many terms each begin, once they were looked for. Features come by their
    // lengths, so there are few; among slots there may be many.
    std::vector<std::uint32_t> runs;

    // When all rows are there.
    void find_runs() {
      for (std::uint32_t row = 0; row + 1 < begin.size(); ++row)
        if (row == 0 || n_terms(row) != n_terms(row - 1)) runs.push_back(row);
      runs.push_back(static_cast<std::uint32_t>(begin.size() - 1));
    }

    template <class Number>
    void sum(std::span<const Number> source, std::span<Number> out,
             const Execution& execution) const {
      constexpr std::size_t kRows = 8192;  // a task's share; fewer are not worth a thread
      parallel_for((out.size() + kRows - 1) / kRows, execution, [&](std::size_t task) {
        const std::size_t first = task * kRows;
        sum_rows(source, first, out.subspan(first, std::min(kRows, out.size() - first)));
      });
    }

    // out[i] is the sum of row first + i.
    template <class Number>
    void sum_rows(std::span<const Number> source, std::size_t first,
                  std::span<Number> out) const noexcept {
      if (runs.empty()) return sum_run<0>(source, first, out);
      for (auto run = std::ranges::upper_bound(runs, first); !out.empty(); ++run) {
        const std::size_t n = std::min<std::size_t>(*run - first, out.size());
        switch (n_terms(first)) {
          case 1:
            sum_run<1>(source, first, out.first(n));
            break;
          case 2:
            sum_run<2>(source, first, out.first(n));
            break;
          case 3:
            sum_run<3>(source, first, out.first(n));
            break;
          default:
            sum_run<0>(source, first, out.first(n));
        }
        first += n;
        out = out.subspan(n);
      }
    }

    SignedSums transposed(std::size_t n_columns) const {
      SignedSums other;
      other.begin.assign(n_columns + 1, 0);
      other.terms.resize(terms.size());
      for (const std::uint32_t term : terms) ++other.begin[(term >> 1) + 1];
      std::partial_sum(other.begin.begin(), other.begin.end(), other.begin.begin());
      std::vector<std::uint32_t> next(other.begin.begin(), other.begin.end() - 1);
      for (std::size_t row = 0; row + 1 < begin.size(); ++row)
        for (std::size_t t = begin[row]; t < begin[row + 1]; ++t)
          other.terms[next[terms[t] >> 1]++] = static_cast<std::uint32_t>(2 * row) | (terms[t] & 1);
      return other;
    }

    std::size_t bytes() const noexcept { return 4 * (begin.size() + terms.size() + runs.size()); }

   private:
    std::uint32_t n_terms(std::size_t row) const noexcept { return begin[row + 1] - begin[row]; }

    // Rows of kTerms terms each, which spares the loop that has an end to be guessed; 0: of any
    // number.
    template <std::size_t kTerms, class Number>
    void sum_run(std::span<const Number> source, std::size_t first,
                 std::span<Number> out) const noexcept {
      const std::uint32_t* term = terms.data() + begin[first];
      for (std::size_t i = 0; i < out.size(); ++i) {
        const std::size_t n = kTerms > 0 ? kTerms : n_terms(first + i);
        Number sum = 0;
        for (std::size_t t = 0; t < n; ++t, ++term) {
          // The sign goes in by its bit: a branch would be a guess.
          using Bits = BitsOf<Number>;
          const auto bits = std::bit_cast<Bits>(source[*term >> 1]);
          const Bits sign = static_cast<Bits>(*term) << (8 * sizeof(Bits) - 1);
          sum += std::bit_cast<Number>(bits ^ sign);
        }
        out[i] = sum;
      }
    }
  };

  void lay_out(const Schema& schema, const IndexPlan& plan);
  void find_single();
  void add_terms(std::size_t slot, std::span<const Value> values, std::size_t cardinality);

  std::size_t n_slots_ = 0, n_biases_ = 0, wide_ = 0, n_wide_ = 0;
  std::vector<std::size_t> bias_, narrow_;        // by variable
  std::vector<std::vector<ContextId>> contexts_;  // by variable: its narrow contexts
  SignedSums by_feature_, by_slot_;
  // By wide slot, if none has more than one term: where its number is among zero, the weights, and their
  // negatives. Half as much to read as a list for each slot, and nothing to compute.
  std::vector<std::uint32_t> single_;
  bool single_negative_ = false;  // some are among the negatives
};

inline SlotMap::SlotMap(const FeatureSet& features, const ContextTable& table,
                        const IndexPlan& plan) {
  constexpr std::uint32_t kNotWide = ~std::uint32_t{0};
  std::vector<std::uint32_t> wide_number(table.size(), kNotWide);
  for (std::uint32_t c = 0; c < plan.wide_contexts.size(); ++c)
    wide_number[plan.wide_contexts[c]] = c;
  const auto goes_wide = [&](ContextId c, Variable v) {
    return wide_number[c] != kNotWide && plan.columns[v].is_wide();
  };

  const Schema& schema = features.schema();
  contexts_.resize(schema.n_variables());
  for (std::size_t t = 0; t < features.n_tests(); ++t) {
    const Variable v = features.tests()[t].variable;
    const ContextId c = table.of_test(t);
    if (c != kEmptyContext && !goes_wide(c, v)) contexts_[v].push_back(c);
  }
  for (auto& contexts : contexts_) {
    std::ranges::sort(contexts);
    contexts.erase(std::unique(contexts.begin(), contexts.end()), contexts.end());
    contexts.shrink_to_fit();
  }
  lay_out(schema, plan);

  for (FeatureId j = 0; j < features.size(); ++j) {
    for (std::size_t i = 0; i < features[j].size(); ++i) {
      const auto [v, set] = features[j][i];
      const ContextId c = table.of_test(features.first_test(j) + i);
      const std::size_t width = schema.cardinality(v) - 1u;
      std::size_t slot = bias_[v];
      if (goes_wide(c, v)) {
        slot = tile(plan.columns[v].tile) + wide_number[c] * kLanes + plan.columns[v].lane;
      } else if (c != kEmptyContext) {
        const auto local = std::ranges::lower_bound(contexts_[v], c) - contexts_[v].begin();
        slot = narrow_[v] + static_cast<std::size_t>(local) * width;
      }
      add_terms(slot, features.values(set), width + 1);
    }
    by_feature_.begin.push_back(static_cast<std::uint32_t>(by_feature_.terms.size()));
  }
  require(by_feature_.terms.size() >> 32 == 0, "features: ", by_feature_.terms.size(),
          " places in (variable, context) parameters are more than the index can hold (2^32)");
  by_feature_.terms.shrink_to_fit();
  by_slot_ = by_feature_.transposed(n_slots_);
  by_feature_.find_runs();
  if (features.size() >> 31 == 0 && n_wide_ > 0) find_single();
}

inline void SlotMap::find_single() {
  const auto n_features = static_cast<std::uint32_t>(by_feature_.begin.size() - 1);
  std::vector<std::uint32_t> single(n_slots_ - wide_, 0);
  for (std::size_t slot = 0; slot < single.size(); ++slot) {
    const std::uint32_t first = by_slot_.begin[wide_ + slot],
                        end = by_slot_.begin[wide_ + slot + 1];
    if (end > first + 1) return;
    if (end > first) {
      const std::uint32_t term = by_slot_.terms[first];
      single[slot] = 1 + (term >> 1) + (term & 1 ? n_features : 0);
      single_negative_ |= (term & 1) != 0;
    }
  }
  single_ = std::move(single);
}

template <class Number>
void SlotMap::copy_for_wide(std::span<const Number> weights, std::vector<Number>& copy,
                            const Execution& execution) const {
  if (single_.empty()) return;
  const std::size_t n = weights.size();
  copy.resize(1 + (single_negative_ ? 2 * n : n));
  copy[0] = 0;
  constexpr std::size_t kWeights = 16384;  // a task's share
  parallel_for((n + kWeights - 1) / kWeights, execution, [&](std::size_t task) {
    const std::size_t last = std::min(n, (task + 1) * kWeights);
    // Sums, as elsewhere: no zero is negative.
    for (std::size_t j = task * kWeights; j < last; ++j) copy[1 + j] = Number{0} + weights[j];
    if (single_negative_)
      for (std::size_t j = task * kWeights; j < last; ++j) copy[1 + n + j] = Number{0} - weights[j];
  });
}

inline void SlotMap::lay_out(const Schema& schema, const IndexPlan& plan) {
  for (Variable v = 0; v < schema.n_variables(); ++v) {
    bias_.push_back(n_slots_);
    n_slots_ += schema.cardinality(v) - 1u;
  }
  n_biases_ = n_slots_;
  for (Variable v = 0; v < schema.n_variables(); ++v) {
    narrow_.push_back(n_slots_);
    n_slots_ += contexts_[v].size() * (schema.cardinality(v) - 1u);
  }
  n_slots_ += (kLanes - n_slots_ % kLanes) % kLanes;  // rows of the tiles begin cache lines
  wide_ = n_slots_;
  n_wide_ = plan.wide_contexts.size();
  n_slots_ += plan.n_tiles * n_wide_ * kLanes;
  require(n_slots_ < (std::size_t{1} << 31), "features: ", n_slots_,
          " (variable, context) parameters are more than the index can hold (2^31)");
}

inline void SlotMap::add_terms(std::size_t slot, std::span<const Value> values,
                               std::size_t cardinality) {
  for_each_margin(values, cardinality, [&](std::size_t margin, double sign) {
    by_feature_.terms.push_back(static_cast<std::uint32_t>(2 * (slot + margin)) + (sign < 0));
  });
}

}  // namespace feldspar
