// base/tally.hpp against a map, with few things that come often and many that come once.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include <feldspar/base/random.hpp>
#include <feldspar/base/tally.hpp>

namespace test_tally {

using namespace feldspar;

namespace {

struct Thing {
  std::uint32_t first;
  std::vector<std::uint32_t> counts;

  friend bool operator==(const Thing&, const Thing&) = default;
};

std::map<std::uint32_t, Thing> by_first(const std::vector<Thing>& things) {
  std::map<std::uint32_t, Thing> result;
  for (const Thing& thing : things) result.emplace(thing.first, thing);
  return result;
}

}  // namespace

TEST_CASE("entries are counted below each limit, whatever order they come in") {
  const std::vector<std::uint64_t> limits{10, 400, 5000};
  for (const std::uint32_t n_things : {1u, 7u, 100'000u}) {
    SplitMix64 random(n_things);
    std::vector<std::uint32_t> thing_of(5000);
    for (std::uint32_t& thing : thing_of) thing = random.below(n_things);
    Tally tally(thing_of.size());
    for (std::uint32_t i = 0; i < thing_of.size(); ++i) {
      const std::uint32_t entry = (i * 1237 + 11) % 5000;  // all of them, mixed up
      // The last words alone tell things apart: neighbours in one bucket, and in one slot of it.
      tally.add({{0x12345678, 5, thing_of[entry]}}, entry);
    }
    std::map<std::uint32_t, Thing> expected;
    for (std::uint32_t entry = 0; entry < thing_of.size(); ++entry) {
      auto& thing = expected.try_emplace(thing_of[entry], Thing{entry, {0, 0, 0}}).first->second;
      for (std::size_t limit = 0; limit < limits.size(); ++limit)
        thing.counts[limit] += entry < limits[limit];
    }
    std::vector<Thing> all, found;
    for (const auto& [name, thing] : expected) all.push_back(thing);
    tally.for_each_thing(limits, [&](std::uint32_t first, std::span<const std::uint32_t> counts) {
      found.push_back({first, {counts.begin(), counts.end()}});
    });
    CHECK(found.size() == all.size());
    CHECK(by_first(found) == by_first(all));
  }
}

TEST_CASE("a fingerprint is that of a set: order does not matter, twice is never") {
  const Fingerprint a{{1, 2, 3}}, b{{8, 8, 8}};
  Fingerprint ab = a, ba = b;
  ab ^= b;
  ba ^= a;
  CHECK(ab == ba);
  CHECK(ab != a);
  ab ^= b;
  CHECK(ab == a);
}

}  // namespace test_tally
