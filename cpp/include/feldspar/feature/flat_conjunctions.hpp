// Conjunctions as flat arrays, the form in which they cross borders (bindings, files, pickles).
//
// Conjunction i has the tests begin[i] ... begin[i + 1]; test t names variables[t] and admits
// values[value_begin[t]] ... values[value_begin[t + 1]].
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/schema.hpp>
#include <feldspar/feature/feature_set.hpp>

namespace feldspar {

struct FlatConjunctions {
  std::vector<std::int64_t> begin{0};
  std::vector<Variable> variables;
  std::vector<std::int64_t> value_begin{0};
  std::vector<Value> values;
};

// What became of the conjunctions: a feature's number, or one of these.
inline constexpr std::int64_t kAlwaysTrue = -1, kNeverTrue = -2;

struct BuiltFeatures {
  FeatureSet features;
  std::vector<std::int64_t> numbers;  // by conjunction
};

namespace detail {

// Offsets start at 0, never fall, and end at `end`.
inline void check_offsets(std::span<const std::int64_t> offsets, std::size_t end,
                          const char* name) {
  require(!offsets.empty() && offsets.front() == 0, name, " must start with 0");
  for (std::size_t i = 1; i < offsets.size(); ++i)
    require(offsets[i] >= offsets[i - 1], name, " must not fall, but does at place ", i);
  require(offsets.back() == static_cast<std::int64_t>(end), name, " must end with ", end, ", got ",
          offsets.back());
}

}  // namespace detail

inline BuiltFeatures build_features(Schema schema, std::span<const std::int64_t> begin,
                                    std::span<const Variable> variables,
                                    std::span<const std::int64_t> value_begin,
                                    std::span<const Value> values) {
  detail::check_offsets(begin, variables.size(), "begin");
  detail::check_offsets(value_begin, values.size(), "value_begin");
  require(value_begin.size() == variables.size() + 1, "value_begin must have ",
          variables.size() + 1, " entries, got ", value_begin.size());
  FeatureSetBuilder builder(std::move(schema));
  BuiltFeatures built;
  std::vector<std::size_t> own_begin;
  for (std::size_t i = 0; i + 1 < begin.size(); ++i) {
    const auto first = static_cast<std::size_t>(begin[i]);
    const auto n = static_cast<std::size_t>(begin[i + 1]) - first;
    const auto own = value_begin.subspan(first, n + 1);
    own_begin.assign(own.begin(), own.end());
    const AddResult added = builder.add(variables.subspan(first, n), own_begin, values);
    built.numbers.push_back(added.outcome == Added::always_true  ? kAlwaysTrue
                            : added.outcome == Added::never_true ? kNeverTrue
                                                                 : std::int64_t{added.feature});
  }
  built.features = std::move(builder).finish();
  return built;
}

// The inverse of build_features for a set without always-true or never-true conjunctions.
inline FlatConjunctions flatten(const FeatureSet& features) {
  FlatConjunctions flat;
  for (FeatureId j = 0; j < features.size(); ++j) {
    for (const Test test : features[j]) {
      flat.variables.push_back(test.variable);
      const auto set = features.values(test.values);
      flat.values.insert(flat.values.end(), set.begin(), set.end());
      flat.value_begin.push_back(static_cast<std::int64_t>(flat.values.size()));
    }
    flat.begin.push_back(static_cast<std::int64_t>(flat.variables.size()));
  }
  return flat;
}

}  // namespace feldspar
