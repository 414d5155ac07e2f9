// The contexts of a feature set.
//
// The conditional distribution of X_v given all the rest depends on a feature that tests v only
// through the feature's *context*: its other tests. Features that share a context (X_v = 0 & C,
// X_v = 1 & C) act on the same rows, and one context may serve several variables (C = {X_1 = 1}
// serves every variable paired with X_1). This table numbers the distinct contexts in the order of
// their first use and tells for every test of every feature which context it leaves behind.
//
// Cost: O(tests) expected. A context is stored as "feature j without its test i", eight bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/hash.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/packed_columns.hpp>
#include <feldspar/feature/feature_set.hpp>

namespace feldspar {

using ContextId = std::uint32_t;
inline constexpr ContextId kEmptyContext = 0;  // of features with a single test; true of every row

class ContextTable {
 public:
  explicit ContextTable(const FeatureSet& features);

  // Number of contexts, the empty one included.
  std::size_t size() const noexcept { return where_.size(); }

  // The context that test number t (counted over the whole feature set) leaves behind.
  ContextId of_test(std::size_t t) const noexcept { return of_test_[t]; }

  // rows := the rows of `data` on which the context holds. `features` is the set the table was made
  // of.
  void match(const FeatureSet& features, const PackedColumns& data, ContextId c,
             std::span<Word> rows) const {
    fill_bits(rows, data.n_rows());
    if (c == kEmptyContext) return;
    const auto tests = features[where_[c].feature];
    for (std::size_t i = 0; i < tests.size(); ++i)
      if (i != where_[c].omitted)
        data.intersect(tests[i].variable, features.values(tests[i].values), rows);
  }

 private:
  struct Place {
    FeatureId feature;
    std::uint32_t omitted;
  };

  static bool same(const FeatureSet& features, Place a, Place b) noexcept {
    const auto left = features[a.feature], right = features[b.feature];
    if (left.size() != right.size()) return false;
    for (std::size_t i = 0, k = 0, kept = 1; kept < left.size(); ++i, ++k, ++kept) {
      i += i == a.omitted;
      k += k == b.omitted;
      if (left[i] != right[k]) return false;
    }
    return true;
  }

  std::vector<ContextId> of_test_;
  std::vector<Place> where_;
};

inline ContextTable::ContextTable(const FeatureSet& features) : where_(1) {
  of_test_.reserve(features.n_tests());
  std::size_t capacity = 16;
  while (capacity < 2 * features.n_tests()) capacity *= 2;
  std::vector<ContextId> table(capacity, kEmptyContext);
  const auto mix = [](Test t) {
    return mix_bits(((static_cast<std::uint64_t>(t.variable) << 32) | t.values) + 1);
  };

  for (FeatureId j = 0; j < features.size(); ++j) {
    const auto tests = features[j];
    std::uint64_t sum = 0;  // a sum, so that leaving one test out is one subtraction
    for (const Test t : tests) sum += mix(t);
    for (std::uint32_t i = 0; i < tests.size(); ++i) {
      ContextId found = kEmptyContext;
      if (tests.size() > 1) {
        std::size_t place = mix_bits(sum - mix(tests[i])) & (capacity - 1);
        while (table[place] != kEmptyContext && !same(features, where_[table[place]], {j, i}))
          place = (place + 1) & (capacity - 1);
        found = table[place];
        if (found == kEmptyContext) {
          found = table[place] = static_cast<ContextId>(size());
          where_.push_back({j, i});
        }
      }
      of_test_.push_back(found);
    }
  }
}

}  // namespace feldspar
