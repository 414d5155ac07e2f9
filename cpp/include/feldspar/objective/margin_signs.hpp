// How a test enters the margins of its variable.
//
// Margin k is the log-odds of value k + 1 against value 0. A feature that tests X_v in S adds its
// weight w, where its other tests hold, to the margin of every value in S; where S contains value 0,
// that is the same as -w for the margin of every value not in S.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include <feldspar/base/types.hpp>

namespace feldspar {

// Calls use(margin, sign) with sign 1 or -1 for every margin that the weight enters.
template <class Use>
void for_each_margin(std::span<const Value> values, std::size_t cardinality, Use&& use) {
  const bool has_zero = values.front() == 0;
  for (std::size_t value = 1; value < cardinality; ++value)
    if (std::ranges::binary_search(values, static_cast<Value>(value)) != has_zero)
      use(value - 1, has_zero ? -1.0 : 1.0);
}

}  // namespace feldspar
