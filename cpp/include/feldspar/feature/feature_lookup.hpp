// Finds a conjunction in a feature set by its tests, in O(tests) expected time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <feldspar/base/hash.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/feature/feature_set.hpp>

namespace feldspar {

class FeatureLookup {
 public:
  // Keeps a reference to `features`.
  explicit FeatureLookup(const FeatureSet& features) : features_(features) {
    std::size_t capacity = 16;
    while (capacity < 2 * features.size()) capacity *= 2;
    table_.assign(capacity, kEmpty);
    for (FeatureId j = 0; j < features.size(); ++j) {
      std::size_t place = first_place(features[j]);
      while (table_[place] != kEmpty) place = next(place);
      table_[place] = j;
    }
  }

  // `tests` in canonical order, their value sets those of the feature set.
  std::optional<FeatureId> find(std::span<const Test> tests) const noexcept {
    for (std::size_t place = first_place(tests); table_[place] != kEmpty; place = next(place))
      if (std::ranges::equal(features_[table_[place]], tests)) return table_[place];
    return std::nullopt;
  }

 private:
  static constexpr FeatureId kEmpty = ~FeatureId{0};

  std::size_t first_place(std::span<const Test> tests) const noexcept {
    return hash_tests(tests) & (table_.size() - 1);
  }
  std::size_t next(std::size_t place) const noexcept { return (place + 1) & (table_.size() - 1); }

  const FeatureSet& features_;
  std::vector<FeatureId> table_;  // open addressing, size a power of two
};

}  // namespace feldspar
