// base/aligned.hpp: where vectors begin.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include <feldspar/base/aligned.hpp>

namespace test_aligned {

using namespace feldspar;

TEST_CASE("vectors of any length begin a cache line, and behave as vectors") {
  for (const std::size_t n : {1, 3, 100, 100'000}) {
    CAPTURE(n);
    AlignedVector<float> numbers(n, 2.0f);
    numbers.push_back(3.0f);
    CHECK(reinterpret_cast<std::uintptr_t>(numbers.data()) % kCacheLine == 0);
    const AlignedVector<float> copy = numbers;
    CHECK(reinterpret_cast<std::uintptr_t>(copy.data()) % kCacheLine == 0);
    CHECK(copy == numbers);
    const float* place = numbers.data();
    const AlignedVector<float> moved = std::move(numbers);
    CHECK(moved.data() == place);
    CHECK(moved.back() == 3.0f);
  }
}

}  // namespace test_aligned
