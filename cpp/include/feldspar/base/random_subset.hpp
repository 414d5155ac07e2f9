// Random subsets of a list, in place: a subset is what stands at the front.
//
// The first steps of Fisher and Yates's shuffle swap random items to the front, or, where that is
// less work, the others to the back: all subsets of the size are equally likely, whatever order the
// items were in. The swaps can be taken back.
//
// Cost for k of n items: min(k, n - k) random numbers and swaps.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <feldspar/base/random.hpp>

namespace feldspar {

// The number of swaps for k of n items.
constexpr std::size_t n_subset_swaps(std::size_t n, std::size_t k) noexcept {
  return std::min(k, n - k);
}

// Brings a random subset of k items to the front. `partners` gets the place that each item was
// swapped with, n_subset_swaps(n, k) of them.
template <class T>
void bring_to_front(std::span<T> items, std::size_t k, SplitMix64& random,
                    std::uint32_t* partners) noexcept {
  assert(k <= items.size());
  const auto n = static_cast<std::uint32_t>(items.size());
  if (k <= n - k) {
    for (std::uint32_t i = 0; i < k; ++i) {
      partners[i] = i + random.below(n - i);
      std::swap(items[i], items[partners[i]]);
    }
  } else {
    for (std::uint32_t i = n; i-- > k;) {
      *partners = random.below(i + 1);
      std::swap(items[i], items[*partners++]);
    }
  }
}

// Undoes bring_to_front.
template <class T>
void take_back(std::span<T> items, std::size_t k, const std::uint32_t* partners) noexcept {
  const std::size_t n = items.size();
  if (k <= n - k) {
    for (std::size_t i = k; i-- > 0;) std::swap(items[i], items[partners[i]]);
  } else {
    for (std::size_t i = k; i < n; ++i) std::swap(items[i], items[partners[n - 1 - i]]);
  }
}

}  // namespace feldspar
