// From feature weights to slots and back.
//
// A slot is one coordinate of the margins' parametrisation: (variable, context, margin). A feature
// that tests v with the value set S adds its weight to the slots of its context under v: +w to the
// margin of every value in S or, where S contains value 0 (against which margins are taken), -w to
// the margin of every value not in S.
//
// Layout: the biases (empty contexts) of all variables; the wide contexts, tile by tile, kLanes
// slots each; the narrow contexts, variable by variable.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/feature/context_table.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/objective/index_plan.hpp>

namespace feldspar {

class SlotMap {
 public:
  SlotMap() = default;
  SlotMap(const FeatureSet& features, const ContextTable& table, const IndexPlan& plan);

  std::size_t n_slots() const noexcept { return n_slots_; }
  std::size_t bias(Variable v) const noexcept { return bias_[v]; }
  std::size_t tile(std::size_t t) const noexcept { return wide_ + t * n_wide_ * kLanes; }
  std::size_t narrow(Variable v) const noexcept { return narrow_[v]; }

  // The contexts that variable v keeps in its narrow index, ascending.
  std::span<const ContextId> narrow_contexts(Variable v) const noexcept { return contexts_[v]; }

  // u := what the weights put into the slots. Slots that no feature reaches are not touched: `u`
  // starts out as zeros and serves from call to call. Most slots of wide contexts are such; clearing
  // them each time cost as much as all the rest of this.
  void spread(std::span<const double> weights, std::span<double> u) const noexcept {
    for (std::size_t j = 0; j < weights.size(); ++j)
      for (std::size_t t = begin_[j]; t < begin_[j + 1]; ++t) {
        double& slot = u[terms_[t] >> 2];
        const double weight = terms_[t] & kMinus ? -weights[j] : weights[j];
        slot = terms_[t] & kFirst ? weight : slot + weight;
      }
  }

  // The transpose, for one feature.
  double collect(std::span<const double> du, FeatureId j) const noexcept {
    double sum = 0;
    for (std::size_t t = begin_[j]; t < begin_[j + 1]; ++t) {
      const double value = du[terms_[t] >> 2];
      sum += terms_[t] & kMinus ? -value : value;
    }
    return sum;
  }

  std::size_t bytes() const noexcept { return terms_.size() * 4 + begin_.size() * 8; }

 private:
  // Marks of a term: the weight is subtracted; no term before this one is of the same slot.
  static constexpr std::uint32_t kMinus = 1, kFirst = 2;

  void lay_out(const Schema& schema, const IndexPlan& plan);
  void mark_first_terms();
  void add_terms(std::size_t slot, std::span<const Value> values, std::size_t cardinality);

  std::size_t n_slots_ = 0, wide_ = 0, n_wide_ = 0;
  std::vector<std::size_t> bias_, narrow_;        // by variable
  std::vector<std::vector<ContextId>> contexts_;  // by variable: its narrow contexts
  std::vector<std::size_t> begin_{0};             // by feature
  std::vector<std::uint32_t> terms_;              // 4 * slot, plus marks
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
    begin_.push_back(terms_.size());
  }
  mark_first_terms();
}

inline void SlotMap::lay_out(const Schema& schema, const IndexPlan& plan) {
  for (Variable v = 0; v < schema.n_variables(); ++v) {
    bias_.push_back(n_slots_);
    n_slots_ += schema.cardinality(v) - 1u;
  }
  wide_ = n_slots_;
  n_wide_ = plan.wide_contexts.size();
  n_slots_ += plan.n_tiles * n_wide_ * kLanes;
  for (Variable v = 0; v < schema.n_variables(); ++v) {
    narrow_.push_back(n_slots_);
    n_slots_ += contexts_[v].size() * (schema.cardinality(v) - 1u);
  }
  require(n_slots_ < (std::size_t{1} << 30), "features: ", n_slots_,
          " (variable, context) parameters are more than the index can hold (2^30)");
}

inline void SlotMap::mark_first_terms() {
  std::vector<bool> reached(n_slots_, false);
  for (std::uint32_t& term : terms_) {
    if (!reached[term >> 2]) term |= kFirst;
    reached[term >> 2] = true;
  }
}

inline void SlotMap::add_terms(std::size_t slot, std::span<const Value> values,
                               std::size_t cardinality) {
  const bool has_zero = values.front() == 0;
  for (std::size_t value = 1; value < cardinality; ++value)
    if (std::ranges::binary_search(values, static_cast<Value>(value)) != has_zero)
      terms_.push_back(static_cast<std::uint32_t>(4 * (slot + value - 1)) +
                       (has_zero ? kMinus : 0));
}

}  // namespace feldspar
