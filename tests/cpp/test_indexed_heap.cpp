// base/indexed_heap.hpp against a search for the largest priority.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include <feldspar/base/indexed_heap.hpp>

#include "support/random_models.hpp"

namespace test_indexed_heap {

using namespace feldspar;
using namespace feldspar::testing;

TEST_CASE("the top is always the first of the largest priorities") {
  Dice dice(1);
  for (const std::size_t n : {1u, 2u, 7u, 64u}) {
    IndexedHeap heap(n, 3.0);
    std::vector<double> priorities(n, 3.0);
    for (int step = 0; step < 500; ++step) {
      const auto largest = std::ranges::max_element(priorities);
      REQUIRE(heap.top() == static_cast<std::size_t>(largest - priorities.begin()));
      const std::size_t item = dice.below(n);
      priorities[item] = static_cast<double>(dice.below(5));  // many ties
      heap.change(item, priorities[item]);
      CHECK(heap.priority(item) == priorities[item]);
    }
  }
}

TEST_CASE("a heap of nothing is empty") {
  CHECK(IndexedHeap(0, 1.0).empty());
  CHECK_FALSE(IndexedHeap(1, 1.0).empty());
}

}  // namespace test_indexed_heap
