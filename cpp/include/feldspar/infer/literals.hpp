// The distinct tests of a feature set's conjunctions, numbered by variable.
//
// A conjunction sees of a variable only whether its test passes, and what it tells the variable is
// one number for all values that pass. So approximate inference keeps one number for each *literal*,
// a distinct "X_v in S", and a conjunction is a list of literals: binary and multi-valued variables
// are one case.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/base/types.hpp>
#include <feldspar/data/schema.hpp>
#include <feldspar/feature/feature_set.hpp>

namespace feldspar {

using LiteralId = std::uint32_t;

class Literals {
 public:
  explicit Literals(const FeatureSet& features);

  std::size_t size() const noexcept { return variable_.size(); }
  Variable variable(LiteralId id) const noexcept { return variable_[id]; }
  // The values that pass, ascending.
  std::span<const Value> values(LiteralId id) const noexcept {
    return {values_.data() + begin_[id], begin_[id + 1] - begin_[id]};
  }
  // The literals of v are first(v) ... first(v + 1). A binary variable always has both of its own,
  // "is 0" and then "is 1".
  LiteralId first(Variable v) const noexcept { return first_[v]; }
  // Of test number t of all tests of the feature set.
  LiteralId of_test(std::size_t t) const noexcept { return of_test_[t]; }

 private:
  void add(Variable v, std::span<const Value> values) {
    variable_.push_back(v);
    values_.insert(values_.end(), values.begin(), values.end());
    begin_.push_back(values_.size());
  }

  std::vector<Variable> variable_;
  std::vector<std::size_t> begin_{0};
  std::vector<Value> values_;
  std::vector<LiteralId> first_;
  std::vector<LiteralId> of_test_;
};

inline Literals::Literals(const FeatureSet& features) {
  const Schema& schema = features.schema();
  const auto offsets = value_offsets(schema);
  std::vector<bool> single(offsets.back(), false);
  std::map<std::pair<Variable, ValueSetId>, LiteralId> larger;
  for (const Test test : features.tests()) {
    const auto values = features.values(test.values);
    if (values.size() == 1)
      single[offsets[test.variable] + values[0]] = true;
    else
      larger[{test.variable, test.values}] = 0;
  }
  std::vector<LiteralId> of_single(offsets.back());
  auto next_larger = larger.begin();
  for (Variable v = 0; v < schema.n_variables(); ++v) {
    first_.push_back(static_cast<LiteralId>(size()));
    for (Value a = 0; a < schema.cardinality(v); ++a) {
      if (!single[offsets[v] + a] && schema.cardinality(v) != 2) continue;
      of_single[offsets[v] + a] = static_cast<LiteralId>(size());
      add(v, {&a, 1});
    }
    for (; next_larger != larger.end() && next_larger->first.first == v; ++next_larger) {
      next_larger->second = static_cast<LiteralId>(size());
      add(v, features.values(next_larger->first.second));
    }
  }
  first_.push_back(static_cast<LiteralId>(size()));
  of_test_.reserve(features.n_tests());
  for (const Test test : features.tests()) {
    const auto values = features.values(test.values);
    of_test_.push_back(values.size() == 1 ? of_single[offsets[test.variable] + values[0]]
                                          : larger.at({test.variable, test.values}));
  }
}

}  // namespace feldspar
