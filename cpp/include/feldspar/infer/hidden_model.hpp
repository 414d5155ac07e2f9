// What a network says of its hidden variables once the others are observed.
//
// Evidence falsifies most features: these vanish. In the others the tests of observed variables hold
// and drop out; what is left is a conjunction over hidden variables, the feature's *hidden part*.
// Features with the same hidden part add up. So thousands of features come down to a small log-linear
// model over the hidden variables, made once for each row of evidence and then used for many
// thousands of steps.
//
// A HiddenPattern does for all rows that observe the same variables what does not depend on the
// row: it splits every feature in two and numbers the distinct hidden parts, O(tests) expected.
// condition() then puts rows in, 64 at a time to the word: O(observed tests * rows / 64) word
// operations plus one addition for each feature that survives in a row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/packed_columns.hpp>
#include <feldspar/data/schema.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/infer/evidence.hpp>
#include <feldspar/model/markov_network.hpp>

namespace feldspar {

using PartId = std::uint32_t;

struct WeightedPart {
  PartId part;
  double weight;
};

// The model of one row's hidden variables:
//   log P(x) = constant + sum_h unary[h][x_h] + sum over parts of weight * [part holds] - log Z.
struct HiddenModel {
  std::vector<double> unary;        // at HiddenPattern::offsets()[h] + value
  std::vector<WeightedPart> parts;  // of two tests or more, in ascending order
  double constant = 0;              // from features and soft evidence that are all observed
};

class HiddenPattern {
 public:
  // `hidden` in ascending order. The network must outlive the pattern.
  HiddenPattern(const MarkovNetwork& network, std::vector<Variable> hidden);

  std::size_t n_hidden() const noexcept { return hidden_.size(); }
  std::span<const Variable> hidden() const noexcept { return hidden_; }
  Value cardinality(std::size_t h) const noexcept {
    return network_->schema().cardinality(hidden_[h]);
  }
  // Where the values of each hidden variable start, plus the end.
  std::span<const std::size_t> offsets() const noexcept { return offsets_; }

  // Its variables are places in hidden().
  std::span<const Test> part(PartId id) const noexcept {
    return {part_tests_.data() + part_begin_[id], part_begin_[id + 1] - part_begin_[id]};
  }
  std::span<const Value> values(ValueSetId set) const noexcept {
    return network_->features().values(set);
  }
  bool admits(ValueSetId set, Value value) const noexcept {
    const auto values = network_->features().values(set);
    return values.size() == 1 ? values[0] == value : std::ranges::binary_search(values, value);
  }

  // One model for each row in `rows`, all of which observe exactly the other variables.
  std::vector<HiddenModel> condition(const EvidenceView& evidence,
                                     std::span<const std::size_t> rows) const;

 private:
  static constexpr PartId kNoTest = ~PartId{0};

  PartId intern(std::span<const Test> tests);
  void add_soft_evidence(const EvidenceView& evidence, std::size_t row, HiddenModel& model) const;
  void add_feature(PartId part, double weight, HiddenModel& model) const;

  const MarkovNetwork* network_;
  std::vector<Variable> hidden_;
  std::vector<std::size_t> offsets_{0};
  std::vector<std::size_t> part_begin_{0};
  std::vector<Test> part_tests_;
  std::vector<PartId> part_table_ = std::vector<PartId>(16, kNoTest);  // by hash, open addressing
  // By feature, in the order of their parts; those without hidden tests come last.
  std::vector<PartId> parts_;
  std::vector<double> weights_;
  std::vector<std::size_t> observed_begin_{0};
  std::vector<Test> observed_;
};

inline HiddenPattern::HiddenPattern(const MarkovNetwork& network, std::vector<Variable> hidden)
    : network_(&network), hidden_(std::move(hidden)) {
  const FeatureSet& features = network.features();
  constexpr std::uint32_t kObserved = ~std::uint32_t{0};
  std::vector<std::uint32_t> place(network.schema().n_variables(), kObserved);
  for (std::size_t h = 0; h < hidden_.size(); ++h) {
    place[hidden_[h]] = static_cast<std::uint32_t>(h);
    offsets_.push_back(offsets_.back() + cardinality(h));
  }
  std::vector<std::pair<PartId, FeatureId>> order;
  std::vector<Test> tests;
  for (FeatureId j = 0; j < features.size(); ++j) {
    if (network.weights()[j] == 0) continue;
    tests.clear();
    for (const Test test : features[j])
      if (place[test.variable] != kObserved) tests.push_back({place[test.variable], test.values});
    order.emplace_back(tests.empty() ? kNoTest : intern(tests), j);
  }
  std::ranges::sort(order);
  for (const auto& [part, feature] : order) {
    parts_.push_back(part);
    weights_.push_back(network.weights()[feature]);
    for (const Test test : features[feature])
      if (place[test.variable] == kObserved) observed_.push_back(test);
    observed_begin_.push_back(observed_.size());
  }
}

inline PartId HiddenPattern::intern(std::span<const Test> tests) {
  const std::size_t n_parts = part_begin_.size() - 1;
  if (2 * n_parts >= part_table_.size()) {
    part_table_.assign(4 * part_table_.size(), kNoTest);
    for (PartId id = 0; id < n_parts; ++id) {
      std::size_t slot = hash_tests(part(id)) & (part_table_.size() - 1);
      while (part_table_[slot] != kNoTest) slot = (slot + 1) & (part_table_.size() - 1);
      part_table_[slot] = id;
    }
  }
  std::size_t slot = hash_tests(tests) & (part_table_.size() - 1);
  for (; part_table_[slot] != kNoTest; slot = (slot + 1) & (part_table_.size() - 1))
    if (std::ranges::equal(part(part_table_[slot]), tests)) return part_table_[slot];
  part_table_[slot] = static_cast<PartId>(n_parts);
  part_tests_.insert(part_tests_.end(), tests.begin(), tests.end());
  part_begin_.push_back(part_tests_.size());
  return part_table_[slot];
}

inline void HiddenPattern::add_soft_evidence(const EvidenceView& evidence, std::size_t row,
                                             HiddenModel& model) const {
  if (evidence.log_likelihoods.empty()) return;
  const std::size_t n_variables = network_->schema().n_variables();
  const std::size_t n_values =
      evidence.log_likelihoods.size() * n_variables / evidence.codes.size();
  const double* soft = evidence.log_likelihoods.data() + row * n_values;
  const std::int32_t* codes = evidence.codes.data() + row * n_variables;
  std::size_t h = 0;
  for (Variable v = 0; v < n_variables; ++v) {
    const Value cardinality = network_->schema().cardinality(v);
    if (codes[v] == kUnknown) {
      std::copy_n(soft, cardinality, model.unary.data() + offsets_[h]);
      ++h;
    } else {
      model.constant += soft[codes[v]];
    }
    soft += cardinality;
  }
}

inline void HiddenPattern::add_feature(PartId id, double weight, HiddenModel& model) const {
  if (id == kNoTest) {
    model.constant += weight;
  } else if (part(id).size() == 1) {
    const Test test = part(id)[0];
    for (const Value a : values(test.values)) model.unary[offsets_[test.variable] + a] += weight;
  } else if (!model.parts.empty() && model.parts.back().part == id) {
    model.parts.back().weight += weight;  // features come in the order of their parts
  } else {
    model.parts.push_back({id, weight});
  }
}

inline std::vector<HiddenModel> HiddenPattern::condition(const EvidenceView& evidence,
                                                         std::span<const std::size_t> rows) const {
  const std::size_t n_variables = network_->schema().n_variables();
  std::vector<HiddenModel> models(rows.size());
  std::vector<std::int32_t> codes;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    models[r].unary.assign(offsets_.back(), 0.0);
    add_soft_evidence(evidence, rows[r], models[r]);
    for (const std::int32_t code : evidence.codes.subspan(rows[r] * n_variables, n_variables))
      codes.push_back(std::max(code, 0));  // no test looks at the hidden ones
  }
  const PackedColumns packed(network_->schema(), codes);
  std::vector<Word> matched(packed.n_words());
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    fill_bits(matched, rows.size());
    for (std::size_t t = observed_begin_[i]; t < observed_begin_[i + 1]; ++t)
      packed.intersect(observed_[t].variable, values(observed_[t].values), matched);
    for_each_bit(matched, [&](std::size_t r) { add_feature(parts_[i], weights_[i], models[r]); });
  }
  return models;
}

// Whether each hidden variable is in no part: its distribution is that of its unary scores.
inline std::vector<bool> isolated_variables(const HiddenPattern& pattern,
                                            const HiddenModel& model) {
  std::vector<bool> isolated(pattern.n_hidden(), true);
  for (const WeightedPart& p : model.parts)
    for (const Test test : pattern.part(p.part)) isolated[test.variable] = false;
  return isolated;
}

}  // namespace feldspar
