// A priority queue of the numbers 0 ... n - 1 whose priorities may change while they wait.
// Equal priorities: the lower number first. O(log n) a change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace feldspar {

class IndexedHeap {
 public:
  // All n items wait, with the same priority.
  IndexedHeap(std::size_t n, double priority) : priority_(n, priority) {
    for (std::size_t i = 0; i < n; ++i) {
      order_.push_back(static_cast<std::uint32_t>(i));
      place_.push_back(static_cast<std::uint32_t>(i));
    }
  }

  bool empty() const noexcept { return order_.empty(); }
  std::size_t top() const noexcept { return order_.front(); }
  double priority(std::size_t item) const noexcept { return priority_[item]; }

  void change(std::size_t item, double priority) {
    priority_[item] = priority;
    sift_down(sift_up(place_[item]));
  }

 private:
  bool before(std::uint32_t a, std::uint32_t b) const noexcept {
    return priority_[a] > priority_[b] || (priority_[a] == priority_[b] && a < b);
  }
  void swap_places(std::size_t a, std::size_t b) {
    std::swap(order_[a], order_[b]);
    place_[order_[a]] = static_cast<std::uint32_t>(a);
    place_[order_[b]] = static_cast<std::uint32_t>(b);
  }
  std::size_t sift_up(std::size_t at) {
    for (; at > 0 && before(order_[at], order_[(at - 1) / 2]); at = (at - 1) / 2)
      swap_places(at, (at - 1) / 2);
    return at;
  }
  void sift_down(std::size_t at) {
    for (;;) {
      std::size_t first = at;
      for (const std::size_t child : {2 * at + 1, 2 * at + 2})
        if (child < order_.size() && before(order_[child], order_[first])) first = child;
      if (first == at) return;
      swap_places(at, first);
      at = first;
    }
  }

  std::vector<double> priority_;
  std::vector<std::uint32_t> order_;  // a binary heap
  std::vector<std::uint32_t> place_;  // of each item in it
};

}  // namespace feldspar
