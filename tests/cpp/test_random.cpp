// base/random.hpp: published outputs of the generators, streams that do not meet, and distributions
// within their own standard errors.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include <feldspar/base/random.hpp>

namespace test_random {

using namespace feldspar;

namespace {

// How many standard deviations a count of n draws with chance p is off.
double deviation(double count, double n, double p) {
  return std::abs(count - n * p) / std::sqrt(n * p * (1 - p));
}

}  // namespace

TEST_CASE("SplitMix64 gives its published numbers") {
  SplitMix64 generator(1234567);
  for (const std::uint64_t expected :
       {6457827717110365317u, 3203168211198807973u, 9817491932198370423u, 4593380528125082431u,
        16408922859458223821u})
    CHECK(generator() == expected);
}

TEST_CASE("xoshiro256++ gives the numbers of its authors' program") {
  Xoshiro256 generator({1, 2, 3, 4});
  for (const std::uint64_t expected :
       {std::uint64_t{41943041}, std::uint64_t{58720359}, std::uint64_t{3588806011781223},
        std::uint64_t{3591011842654386}, std::uint64_t{9228616714210784205u},
        std::uint64_t{9973669472204895162u}, std::uint64_t{14011001112246962877u},
        std::uint64_t{12406186145184390807u}, std::uint64_t{15849039046786891736u},
        std::uint64_t{10450023813501588000u}})
    CHECK(generator() == expected);
}

TEST_CASE("a stream is known by seed, name and number") {
  const auto first = [](std::uint64_t seed, Stream stream) { return Random(seed, stream).bits(); };
  CHECK(first(1, {"chain", 2}) == first(1, {"chain", 2}));
  std::set<std::uint64_t> seen;
  for (const std::uint64_t seed : {0u, 1u, 2u})
    for (const auto* name : {"", "chain", "chains", "tree"})
      for (std::uint64_t number = 0; number < 50; ++number)
        seen.insert(first(seed, {name, number}));
  CHECK(seen.size() == 3 * 4 * 50);
}

TEST_CASE("streams have nothing to do with each other") {
  // Bits of neighbouring streams agree half of the time.
  for (std::uint64_t number = 0; number < 8; ++number) {
    Random a(7, {"chain", number}), b(7, {"chain", number + 1});
    double equal = 0;
    for (int i = 0; i < 1000; ++i) equal += 64 - std::popcount(a.bits() ^ b.bits());
    CHECK(deviation(equal, 64000, 0.5) < 5);
  }
}

TEST_CASE("uniform numbers fill [0, 1) evenly") {
  Random random(11, {"test"});
  constexpr int kDraws = 100000, kBins = 20;
  std::array<double, kBins> counts{};
  double sum = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double u = random.uniform();
    REQUIRE((u >= 0 && u < 1));
    sum += u;
    ++counts[static_cast<std::size_t>(u * kBins)];
  }
  CHECK(std::abs(sum / kDraws - 0.5) < 5 * std::sqrt(1.0 / 12 / kDraws));
  for (const double count : counts) CHECK(deviation(count, kDraws, 1.0 / kBins) < 5);
}

TEST_CASE("below(n) reaches every number equally often and none else") {
  Random random(12, {"test"});
  for (const std::uint64_t n : {1u, 2u, 3u, 5u, 64u, 100u}) {
    CAPTURE(n);
    std::map<std::uint64_t, double> counts;
    const double draws = 2000.0 * static_cast<double>(n);
    for (int i = 0; i < static_cast<int>(draws); ++i) ++counts[random.below(n)];
    CHECK(counts.size() == n);
    CHECK(counts.rbegin()->first == n - 1);
    if (n > 1)
      for (const auto& [value, count] : counts)
        CHECK(deviation(count, draws, 1 / static_cast<double>(n)) < 5);
  }
  CHECK(random.below(~std::uint64_t{0}) < ~std::uint64_t{0});
}

TEST_CASE("SplitMix64's below is uniform, also where n is a large part of 2^32") {
  constexpr int kDraws = 30000;
  for (const std::uint32_t n : {2u, 3u, 10u}) {
    SplitMix64 random(n);
    std::map<std::uint32_t, double> counts;
    for (int i = 0; i < kDraws; ++i) ++counts[random.below(n)];
    CHECK(counts.size() == n);
    CHECK(counts.rbegin()->first == n - 1);
    for (const auto& [value, count] : counts)
      CHECK(deviation(count, kDraws, 1 / static_cast<double>(n)) < 5);
  }
  CHECK(SplitMix64(1).below(1) == 0);
  // Products alone would give every third number twice as often.
  SplitMix64 random(15);
  std::vector<double> remainders(3, 0.0);
  for (int i = 0; i < kDraws; ++i) ++remainders[random.below(3u << 30) % 3];
  for (const double count : remainders) CHECK(deviation(count, kDraws, 1.0 / 3) < 5);
}

TEST_CASE("choose follows the weights, whatever their sum") {
  Random random(13, {"test"});
  const std::vector<double> weights{0, 3, 0.5, 0, 6.5, 0};
  std::vector<double> counts(weights.size(), 0.0);
  constexpr int kDraws = 50000;
  for (int i = 0; i < kDraws; ++i) ++counts[random.choose(weights)];
  CHECK(counts[0] + counts[3] + counts[5] == 0);
  for (const std::size_t i : {1u, 2u, 4u}) CHECK(deviation(counts[i], kDraws, weights[i] / 10) < 5);
}

TEST_CASE("shuffle makes every order equally likely") {
  Random random(14, {"test"});
  std::map<std::vector<int>, double> counts;
  constexpr int kDraws = 24000;
  for (int i = 0; i < kDraws; ++i) {
    std::vector<int> items{0, 1, 2, 3};
    random.shuffle(std::span(items));
    ++counts[items];
  }
  CHECK(counts.size() == 24);
  for (const auto& [order, count] : counts) CHECK(deviation(count, kDraws, 1.0 / 24) < 5);
}

}  // namespace test_random
