// base/sliced_lists.hpp against adding list by list.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <feldspar/base/sliced_lists.hpp>

#include "support/compare.hpp"
#include "support/random_models.hpp"

namespace test_sliced_lists {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Lists {
  std::vector<std::size_t> begin{0};
  std::vector<std::uint32_t> ids;

  std::size_t size() const { return begin.size() - 1; }
  std::size_t length(std::size_t i) const { return begin[i + 1] - begin[i]; }

  // The list ends with its ids in order.
  void close() {
    std::sort(ids.begin() + static_cast<std::ptrdiff_t>(begin.back()), ids.end());
    begin.push_back(ids.size());
  }
};

// Lengths from zero to `longest`; some ids twice.
Lists random_lists(Dice& dice, std::size_t n, std::size_t longest, std::size_t n_source) {
  Lists lists;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t left = dice.below(longest + 1); left > 0; --left)
      lists.ids.push_back(static_cast<std::uint32_t>(dice.below(n_source)));
    lists.close();
  }
  return lists;
}

std::vector<double> naive_sums(const Lists& lists, const std::vector<double>& source,
                               std::size_t width) {
  std::vector<double> sums(lists.size() * width, 0.0);
  for (std::size_t i = 0; i < lists.size(); ++i)
    for (std::size_t j = lists.begin[i]; j < lists.begin[i + 1]; ++j)
      for (std::size_t k = 0; k < width; ++k)
        sums[i * width + k] += source[lists.ids[j] * width + k];
  return sums;
}

template <class Id>
void check_sums(const Lists& lists, std::size_t n_source, std::size_t width, Dice& dice) {
  std::vector<double> source = dice.numbers(n_source * width);
  source.resize((n_source + 1) * width, 0.0);  // where padding points to
  const SlicedLists<Id> sliced(lists.begin, lists.ids, n_source);
  CHECK(sliced.n_lists() == lists.size());
  std::vector<double> sums(lists.size() * width, kNaN);  // every place must be written
  sliced.sum(source.data(), width, sums.data());
  CHECK(same_bits(sums, naive_sums(lists, source, width)));
}

}  // namespace

TEST_CASE("sums equal those list by list, for any number of lists and both widths of ids") {
  Dice dice(1);
  for (const std::size_t n : {0u, 1u, 7u, 8u, 9u, 16u, 133u})
    for (const std::size_t longest : {0u, 1u, 20u})
      for (const std::size_t width : {1u, 2u, 3u}) {
        CAPTURE(n);
        CAPTURE(longest);
        CAPTURE(width);
        const Lists lists = random_lists(dice, n, longest, 50);
        check_sums<std::uint16_t>(lists, 50, width, dice);
        check_sums<std::uint32_t>(lists, 50, width, dice);
      }
}

TEST_CASE("32-bit ids reach sources that 16 bits do not") {
  Dice dice(2);
  Lists lists = random_lists(dice, 20, 30, 200'000);
  for (const std::size_t width : {1u, 3u}) {
    CAPTURE(width);
    check_sums<std::uint32_t>(lists, 200'000, width, dice);
  }
}

TEST_CASE("16-bit ids reach their last source and its padding") {
  Dice dice(3);
  Lists lists = random_lists(dice, 10, 5, 65'534);
  lists.ids.push_back(65'533);
  lists.close();
  check_sums<std::uint16_t>(lists, 65'534, 1, dice);
}

TEST_CASE("only slices of eight are padded, each to its longest list") {
  Dice dice(4);
  const Lists lists = random_lists(dice, 100, 12, 10);
  std::vector<std::size_t> lengths;
  for (std::size_t i = 0; i < lists.size(); ++i) lengths.push_back(lists.length(i));
  std::ranges::sort(lengths, std::greater<>{});
  std::size_t stored = 0;
  for (std::size_t first = 0; first < lengths.size(); first += 8) stored += 8 * lengths[first];

  const SlicedLists<std::uint16_t> sliced(lists.begin, lists.ids, 10);
  CHECK(sliced.n_stored() == stored);
}

TEST_CASE("slices whose ids lie close together take a byte a place, others an id") {
  Dice dice(5);
  const auto every = [](std::uint32_t distance, std::size_t length) {
    Lists lists;
    for (std::size_t i = 0; i < 8; ++i) {
      for (std::size_t j = 0; j < length; ++j)
        lists.ids.push_back(static_cast<std::uint32_t>((j + 1) * distance));
      lists.close();
    }
    return lists;
  };
  const auto places = [&]<class Id>(Id, const Lists& lists) {
    for (const std::size_t width : {1u, 2u}) check_sums<Id>(lists, 60'000, width, dice);
    const SlicedLists<Id> sliced(lists.begin, lists.ids, 60'000);
    return std::pair(sliced.n_stored() / 8, sliced.bytes() - sizeof(std::uint32_t));
  };
  using Places = std::pair<std::size_t, std::size_t>;
  for (const std::uint32_t distance : {0u, 1u, 254u}) {
    CAPTURE(distance);
    CHECK(places(std::uint16_t{}, every(distance, 40)) == Places(40, 40 * 8));
    CHECK(places(std::uint32_t{}, every(distance, 40)) == Places(40, 40 * 8));
  }
  // A skip for every step.
  CHECK(places(std::uint16_t{}, every(255, 40)) == Places(40, 40 * 8 * 2));
  CHECK(places(std::uint32_t{}, every(255, 40)) == Places(40, 40 * 8 * 4));
  CHECK(places(std::uint16_t{}, every(1'000, 40)) == Places(40, 40 * 8 * 2));
  // A skip for every fourth step, in one of the lists; then one more.
  Lists lists = every(100, 40);
  lists.ids.back() += 10 * 255;
  CHECK(places(std::uint16_t{}, lists) == Places(50, 50 * 8));
  lists.ids.back() += 255;
  CHECK(places(std::uint16_t{}, lists) == Places(40, 40 * 8 * 2));
}

TEST_CASE("lists of both kinds are summed, in whatever order they come") {
  Dice dice(7);
  Lists lists;
  for (std::size_t i = 0; i < 200; ++i) {
    // Near to each other, far from each other, or far from the beginning.
    const std::size_t kind = i % 3;
    const std::uint32_t from = kind == 2 ? 30'000 : 0;
    for (std::size_t left = dice.below(60); left > 0; --left)
      lists.ids.push_back(from +
                          static_cast<std::uint32_t>(dice.below(kind == 1 ? 60'000 : 2'000)));
    lists.close();
  }
  for (const std::size_t width : {1u, 3u}) {
    CAPTURE(width);
    check_sums<std::uint16_t>(lists, 60'000, width, dice);
    check_sums<std::uint32_t>(lists, 60'000, width, dice);
  }
}

TEST_CASE("the order takes room only where lists are not longest first") {
  const auto lists_of = [](const std::vector<std::size_t>& lengths) {
    Lists lists;
    for (const std::size_t length : lengths) {
      for (std::size_t j = 0; j < length; ++j)
        lists.ids.push_back(static_cast<std::uint32_t>(lists.ids.size() % 10));
      lists.close();
    }
    return lists;
  };
  Dice dice(6);
  const auto bytes = [&](const std::vector<std::size_t>& lengths) {
    const Lists lists = lists_of(lengths);
    check_sums<std::uint16_t>(lists, 10, 1, dice);
    check_sums<std::uint16_t>(lists, 10, 3, dice);
    return SlicedLists<std::uint16_t>(lists.begin, lists.ids, 10).bytes();
  };
  const std::size_t slice = 3 * 8 + sizeof(std::uint32_t);
  const std::size_t place = sizeof(std::uint32_t);
  CHECK(bytes({3, 2, 2, 1}) == slice);
  CHECK(bytes({3, 2, 2, 0, 0}) == slice);
  CHECK(bytes({2, 3, 2, 1}) == slice + 4 * place);
  CHECK(bytes({3, 2, 0, 2}) == slice + 3 * place);  // falling, but the third is not at its place
}

TEST_CASE("lists made by default are none") {
  const SlicedLists<std::uint16_t> none;
  CHECK(none.n_lists() == 0);
  CHECK(none.n_stored() == 0);
  none.sum(nullptr, 1, nullptr);
}

}  // namespace test_sliced_lists
