// A network given evidence: what is left of it for the hidden variables.
//
// A feature with an observed test that fails vanishes; tests that hold are dropped; what remains is
// a conjunction over hidden variables, and equal ones merge. A feature of which nothing remains is
// a constant. Soft evidence becomes features of one test. So with the hidden variables fixed, rows
// of evidence differ in the *weights* of one feature set only, those not in force having weight 0.
//
// A Conditioner has that feature set for one choice of hidden variables, built in O(size of the
// network), and tells the weights for up to 64 rows at a time: each observed test is a word of 64
// rows, a feature costs one AND a test plus one addition for every row on which it survives.
// Weights are added in the order of the features, so that a row's do not depend on its company.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/error.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/schema.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/infer/evidence.hpp>
#include <feldspar/model/markov_network.hpp>

namespace feldspar {

// One row of evidence as seen by the hidden variables.
struct ConditionedRow {
  std::size_t row;                  // its number in the batch
  std::span<const double> weights;  // one for each feature of the Conditioner
  double log_constant;              // the weight of what holds whatever the hidden variables are
};

class Conditioner {
 public:
  // `pattern` is any row of codes with the wanted variables unknown. With `soft`, rows come with
  // log-likelihoods.
  Conditioner(const MarkovNetwork& network, std::span<const std::int32_t> pattern, bool soft);

  std::size_t n_variables() const noexcept { return schema_.n_variables(); }
  // The hidden variables, ascending; the features speak of them by their place in this list.
  const std::vector<Variable>& hidden() const noexcept { return hidden_; }
  const FeatureSet& features() const noexcept { return features_; }

  // Rows that weigh() takes at once; fewer are better where each has many weights, to bound the
  // memory.
  static constexpr std::size_t kMaxRows = kWordBits;
  std::size_t rows_at_once() const noexcept {
    constexpr std::size_t kMaxNumbers = std::size_t{1} << 21;
    return std::clamp<std::size_t>(kMaxNumbers / std::max<std::size_t>(1, features_.size()), 1,
                                   kMaxRows);
  }

  // The weights of all features for each of the given rows (row after row), and each row's
  // constant. The rows have this pattern; the evidence has been checked.
  struct Weights {
    std::vector<double> weights;
    std::vector<double> log_constants;
  };
  void weigh(const EvidenceView& evidence, std::span<const std::size_t> rows, Weights& out) const;

  // A row of results: the observed variables have their value for certain, the hidden ones what
  // `hidden_probabilities` says (laid out by the hidden variables' own value offsets).
  void expand(std::span<const std::int32_t> codes, std::span<const double> hidden_probabilities,
              std::span<double> row) const;
  // A complete state: the codes, with the unknown ones taken from the hidden variables' state.
  void complete(std::span<const std::int32_t> codes, std::span<const Value> hidden_state,
                std::span<std::int32_t> state) const {
    std::ranges::copy(codes, state.begin());
    for (std::size_t i = 0; i < hidden_.size(); ++i) state[hidden_[i]] = hidden_state[i];
  }

 private:
  static constexpr FeatureId kConstant = ~FeatureId{0};

  std::uint32_t observed_test(const FeatureSet& features, Test test);
  void add_features(const MarkovNetwork& network, std::span<const std::int32_t> pattern,
                    FeatureSetBuilder& builder);
  void add_soft(FeatureSetBuilder& builder);
  std::vector<Word> truths(const EvidenceView& evidence, std::span<const std::size_t> rows) const;

  Schema schema_;                     // of the whole network
  std::vector<std::size_t> offsets_;  // its value offsets
  std::vector<Variable> hidden_;
  FeatureSet features_;
  // Feature j of the network: needs observed tests needs_[begin_[j]] ... needs_[begin_[j + 1]],
  // then adds weight_[j] to target_[j].
  std::vector<std::size_t> begin_{0};
  std::vector<std::uint32_t> needs_;
  std::vector<FeatureId> target_;
  std::vector<double> weight_;
  // Observed test number t is "value t of all values laid end to end", or beyond these a larger set.
  std::map<std::pair<Variable, ValueSetId>, std::uint32_t> larger_;
  std::vector<std::vector<std::uint32_t>> larger_members_;
  std::vector<FeatureId>
      soft_target_;  // by value of the whole network; empty without soft evidence
};

inline Conditioner::Conditioner(const MarkovNetwork& network, std::span<const std::int32_t> pattern,
                                bool soft)
    : schema_(network.schema()), offsets_(value_offsets(network.schema())) {
  std::vector<Value> cardinalities;
  for (Variable v = 0; v < pattern.size(); ++v) {
    if (pattern[v] != kUnknown) continue;
    hidden_.push_back(v);
    cardinalities.push_back(schema_.cardinality(v));
  }
  FeatureSetBuilder builder{Schema(cardinalities)};
  add_features(network, pattern, builder);
  if (soft) add_soft(builder);
  features_ = std::move(builder).finish();
}

inline std::uint32_t Conditioner::observed_test(const FeatureSet& features, Test test) {
  const auto values = features.values(test.values);
  const auto first = static_cast<std::uint32_t>(offsets_[test.variable]);
  if (values.size() == 1) return first + values[0];
  const auto next = static_cast<std::uint32_t>(offsets_.back() + larger_members_.size());
  const auto [place, fresh] = larger_.try_emplace({test.variable, test.values}, next);
  if (fresh) {
    std::vector<std::uint32_t> members;
    for (const Value a : values) members.push_back(first + a);
    larger_members_.push_back(std::move(members));
  }
  return place->second;
}

inline void Conditioner::add_features(const MarkovNetwork& network,
                                      std::span<const std::int32_t> pattern,
                                      FeatureSetBuilder& builder) {
  const FeatureSet& features = network.features();
  weight_ = network.weights();
  std::vector<Variable> place(pattern.size());
  for (std::size_t i = 0; i < hidden_.size(); ++i) place[hidden_[i]] = static_cast<Variable>(i);
  std::vector<Variable> variables;
  std::vector<std::size_t> value_begin;
  std::vector<Value> values;
  for (FeatureId j = 0; j < features.size(); ++j) {
    variables.clear();
    value_begin.assign(1, 0);
    values.clear();
    for (const Test test : features[j]) {
      if (pattern[test.variable] != kUnknown) {
        needs_.push_back(observed_test(features, test));
        continue;
      }
      const auto admitted = features.values(test.values);
      variables.push_back(place[test.variable]);
      values.insert(values.end(), admitted.begin(), admitted.end());
      value_begin.push_back(values.size());
    }
    begin_.push_back(needs_.size());
    target_.push_back(variables.empty() ? kConstant
                                        : builder.add(variables, value_begin, values).feature);
  }
}

// A one-valued variable has no tests: its likelihood is a constant, as that of an observed one.
inline void Conditioner::add_soft(FeatureSetBuilder& builder) {
  soft_target_.assign(offsets_.back(), kConstant);
  for (std::size_t i = 0; i < hidden_.size(); ++i) {
    const Value cardinality = schema_.cardinality(hidden_[i]);
    if (cardinality == 1) continue;
    for (Value a = 0; a < cardinality; ++a) {
      const auto variable = static_cast<Variable>(i);
      soft_target_[offsets_[hidden_[i]] + a] = builder.add({&variable, 1}, {&a, 1}).feature;
    }
  }
}

// For every observed test, the rows (by their place in `rows`) that pass it.
inline std::vector<Word> Conditioner::truths(const EvidenceView& evidence,
                                             std::span<const std::size_t> rows) const {
  const std::size_t n = schema_.n_variables();
  std::vector<Word> truth(offsets_.back() + larger_members_.size(), 0);
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t v = 0; v < n; ++v)
      if (const std::int32_t code = evidence.codes[rows[i] * n + v]; code != kUnknown)
        truth[offsets_[v] + static_cast<std::size_t>(code)] |= Word{1} << i;
  for (std::size_t t = 0; t < larger_members_.size(); ++t)
    for (const std::uint32_t member : larger_members_[t])
      truth[offsets_.back() + t] |= truth[member];
  return truth;
}

inline void Conditioner::weigh(const EvidenceView& evidence, std::span<const std::size_t> rows,
                               Weights& out) const {
  const std::size_t n_features = features_.size();
  const Word all = tail_mask(rows.size());
  const std::vector<Word> truth = truths(evidence, rows);
  out.weights.assign(rows.size() * n_features, 0.0);
  out.log_constants.assign(rows.size(), 0.0);
  for (std::size_t j = 0; j < target_.size(); ++j) {
    Word rest = all;
    for (std::size_t t = begin_[j]; t < begin_[j + 1] && rest != 0; ++t) rest &= truth[needs_[t]];
    for (; rest != 0; rest &= rest - 1) {
      const auto i = static_cast<std::size_t>(std::countr_zero(rest));
      (target_[j] == kConstant ? out.log_constants[i] : out.weights[i * n_features + target_[j]]) +=
          weight_[j];
    }
  }
  if (soft_target_.empty()) return;
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (Variable v = 0; v < schema_.n_variables(); ++v)
      for (std::size_t a = offsets_[v]; a < offsets_[v + 1]; ++a) {
        const std::int32_t code = evidence.codes[rows[i] * schema_.n_variables() + v];
        const double log_likelihood = evidence.log_likelihoods[rows[i] * offsets_.back() + a];
        if (soft_target_[a] != kConstant)
          out.weights[i * n_features + soft_target_[a]] += log_likelihood;
        else if (code == kUnknown || offsets_[v] + static_cast<std::size_t>(code) == a)
          out.log_constants[i] += log_likelihood;
      }
}

inline void Conditioner::expand(std::span<const std::int32_t> codes,
                                std::span<const double> hidden_probabilities,
                                std::span<double> row) const {
  std::size_t next = 0;
  for (Variable v = 0; v < schema_.n_variables(); ++v) {
    const auto own = row.subspan(offsets_[v], schema_.cardinality(v));
    if (codes[v] == kUnknown) {
      std::ranges::copy(hidden_probabilities.subspan(next, own.size()), own.begin());
      next += own.size();
    } else {
      std::ranges::fill(own, 0.0);
      own[static_cast<std::size_t>(codes[v])] = 1.0;
    }
  }
}

// The features with a weight other than zero, and these weights.
inline MarkovNetwork active_part(const FeatureSet& features, std::span<const double> weights) {
  FeatureSetBuilder builder(features.schema());
  std::vector<double> kept;
  for (FeatureId j = 0; j < features.size(); ++j) {
    if (weights[j] == 0) continue;
    builder.add(features, j);
    kept.push_back(weights[j]);
  }
  return {std::move(builder).finish(), std::move(kept)};
}

struct ConditionedNetwork {
  MarkovNetwork network;         // over the hidden variables, renumbered 0, 1, ...
  std::vector<Variable> hidden;  // their numbers in the original network
  double log_constant = 0;       // what holds whatever the hidden variables are
};

// The network given one row of evidence.
inline ConditionedNetwork condition(const MarkovNetwork& network, const EvidenceView& evidence) {
  require(check_evidence(network.schema(), evidence) == 1, "evidence: expected one row, got ",
          evidence.codes.size() / network.schema().n_variables());
  const Conditioner conditioner(network, evidence.codes, !evidence.log_likelihoods.empty());
  Conditioner::Weights weights;
  const std::size_t row = 0;
  conditioner.weigh(evidence, {&row, 1}, weights);
  return {active_part(conditioner.features(), weights.weights), conditioner.hidden(),
          weights.log_constants[0]};
}

}  // namespace feldspar
