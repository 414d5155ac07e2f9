// learn/generate_features.hpp: the paper's table, the distribution of one generalisation, and the
// forest against a plain multiset fed with the same random numbers.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/hash.hpp>
#include <feldspar/base/random.hpp>
#include <feldspar/base/random_subset.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/learn/generate_features.hpp>

#include "support/random_models.hpp"
#include "support/stop_after.hpp"

namespace test_generate_features {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

using Conjunction = std::vector<std::pair<Variable, Value>>;

std::set<Conjunction> conjunctions(const FeatureSet& features, std::size_t shortest = 1) {
  std::set<Conjunction> result;
  for (FeatureId j = 0; j < features.size(); ++j) {
    Conjunction one;
    for (const Test test : features[j]) {
      REQUIRE(features.values(test.values).size() == 1);
      one.emplace_back(test.variable, features.values(test.values)[0]);
    }
    if (one.size() >= shortest) result.insert(one);
  }
  return result;
}

// The example data set of the paper; the second and the fourth row are equal.
Dataset paper_data() {
  return Dataset::merge(Schema({2, 2, 2, 2, 2}), std::vector<std::int32_t>{1, 0, 0, 1, 1,  //
                                                                           1, 0, 1, 0, 1,  //
                                                                           0, 1, 1, 1, 1,  //
                                                                           1, 0, 1, 0, 1});
}

FeatureSet survivors(const Dataset& data, InitialFeatures initial, std::uint64_t size,
                     std::uint32_t threshold, std::uint64_t seed = 0) {
  GenerateOptions options;
  options.initial = initial;
  options.sizes = {size};
  options.thresholds = {threshold};
  options.seed = seed;
  return generate_features(data, options).front().front();
}

// The algorithm as the paper tells it: a list of all members, each with its tests. Only the random
// numbers, and where they go, are those of the forest.
std::set<Conjunction> plain_survivors(const Dataset& data, InitialFeatures initial,
                                      std::uint64_t size, std::uint32_t threshold,
                                      std::uint64_t seed) {
  std::vector<Conjunction> members;
  std::vector<std::size_t> drawable;
  const auto add = [&](const Conjunction& one) {
    if (one.size() > 2) drawable.push_back(members.size());
    members.push_back(one);
  };
  for (Row r = 0; r < data.n_rows(); ++r) {
    Conjunction one;
    for (Variable v = 0; v < data.n_variables(); ++v) {
      const Value value = data.columns().codes(v)[r];
      if (initial == InitialFeatures::full || value != 0) one.emplace_back(v, value);
    }
    if (!one.empty()) add(one);
  }
  Random choices(seed, {"generate features", 0});
  const std::uint64_t drops = Random(seed, {"generate features", 1}).bits();
  while (members.size() < size && !drawable.empty()) {
    Conjunction one = members[drawable[choices.below(drawable.size())]];
    const std::size_t n_kept = one.size() - 1 - choices.below(one.size() - 2);
    SplitMix64 random(combine_hash(drops, members.size()));
    std::vector<std::uint32_t> partners(n_subset_swaps(one.size(), n_kept));
    bring_to_front(std::span(one), n_kept, random, partners.data());
    one.resize(n_kept);
    add(one);
  }
  for (Conjunction& one : members) std::ranges::sort(one);
  std::map<Conjunction, std::uint32_t> counts;
  for (const Conjunction& one : members) ++counts[one];
  std::set<Conjunction> result;
  for (const auto& [one, count] : counts)
    if (count > threshold) result.insert(one);
  return result;
}

}  // namespace

TEST_CASE("the initial features of the paper's table") {
  const std::set<Conjunction> full{{{0, 1}, {1, 0}, {2, 0}, {3, 1}, {4, 1}},
                                   {{0, 1}, {1, 0}, {2, 1}, {3, 0}, {4, 1}},
                                   {{0, 0}, {1, 1}, {2, 1}, {3, 1}, {4, 1}}};
  const std::set<Conjunction> positive{
      {{0, 1}, {3, 1}, {4, 1}}, {{0, 1}, {2, 1}, {4, 1}}, {{1, 1}, {2, 1}, {3, 1}, {4, 1}}};
  const Dataset data = paper_data();
  CHECK(conjunctions(survivors(data, InitialFeatures::full, 3, 0), 2) == full);
  CHECK(conjunctions(survivors(data, InitialFeatures::positive, 3, 0), 2) == positive);
}

TEST_CASE("the single tests for values other than 0 are always there") {
  const Dataset data =
      Dataset::merge(Schema({2, 3, 1}), std::vector<std::int32_t>{0, 2, 0, 1, 1, 0});
  const std::set<Conjunction> atoms{{{0, 1}}, {{1, 1}}, {{1, 2}}};
  CHECK(conjunctions(survivors(data, InitialFeatures::full, 2, 1000)) == atoms);
}

TEST_CASE("a generalisation keeps 2 to l - 1 tests, every length and every choice as likely") {
  const Dataset data =
      Dataset::merge(Schema({2, 2, 2, 2, 2}), std::vector<std::int32_t>{1, 1, 1, 1, 1});
  std::map<Conjunction, int> counts;
  constexpr int kSeeds = 6000;
  for (int seed = 0; seed < kSeeds; ++seed)
    for (const Conjunction& one :
         conjunctions(survivors(data, InitialFeatures::full, 2, 0, static_cast<unsigned>(seed)), 2))
      if (one.size() < 5) ++counts[one];
  CHECK(counts.size() == 10 + 10 + 5);
  for (const auto& [one, count] : counts) {
    const double ways = one.size() == 4 ? 5 : 10;
    const double expected = kSeeds / 3.0 / ways;
    CHECK(std::abs(count - expected) < 5 * std::sqrt(expected));
  }
}

TEST_CASE("counts and shared members are those of a plain multiset") {
  Dice dice(5);
  struct Case {
    std::size_t n_variables, n_rows;
    Value cardinality;
  };
  for (const Case& c : {Case{6, 20, 2}, Case{9, 12, 3}, Case{70, 3, 2}, Case{36, 1, 2}}) {
    const Schema schema(std::vector<Value>(c.n_variables, c.cardinality));
    const Dataset data = Dataset::merge(schema, random_codes(dice, schema, c.n_rows));
    for (const auto initial : {InitialFeatures::full, InitialFeatures::positive})
      for (const std::uint32_t threshold : {1u, 3u}) {
        const auto expected = plain_survivors(data, initial, 3000, threshold, 7);
        std::set<Conjunction> longer;  // the single tests are always there
        for (const Conjunction& one : expected)
          if (one.size() > 1) longer.insert(one);
        CHECK(conjunctions(survivors(data, initial, 3000, threshold, 7), 2) == longer);
      }
  }
}

TEST_CASE("one run gives the results of each size and threshold") {
  Dice dice(6);
  const Schema schema(std::vector<Value>(8, 2));
  const Dataset data = Dataset::merge(schema, random_codes(dice, schema, 30));
  GenerateOptions options;
  options.sizes = {100, 900};
  options.thresholds = {5, 1};
  const auto all = generate_features(data, options);
  for (std::size_t s = 0; s < 2; ++s)
    for (std::size_t t = 0; t < 2; ++t)
      CHECK(
          conjunctions(all[s][t]) ==
          conjunctions(survivors(data, options.initial, options.sizes[s], options.thresholds[t])));
  CHECK(all[1][1].size() > all[1][0].size());
}

TEST_CASE("data too short to generalise end the run") {
  const Dataset data = Dataset::merge(Schema({2, 2}), std::vector<std::int32_t>{1, 1, 0, 1, 0, 0});
  CHECK(conjunctions(survivors(data, InitialFeatures::positive, 1000, 0)) ==
        std::set<Conjunction>{{{0, 1}}, {{1, 1}}, {{0, 1}, {1, 1}}});
}

TEST_CASE("a stop leaves nothing behind, and bad options are refused") {
  StopAfter monitor(3);
  GenerateOptions options;
  CHECK_THROWS_AS(generate_features(paper_data(), options, {.n_threads = 1, .monitor = &monitor}),
                  Interrupted);
  options.sizes = {10, 10};
  CHECK_THROWS_AS(generate_features(paper_data(), options), InvalidInput);
  options.sizes = {};
  CHECK_THROWS_AS(generate_features(paper_data(), options), InvalidInput);
  options.sizes = {10};
  options.thresholds = {};
  CHECK_THROWS_AS(generate_features(paper_data(), options), InvalidInput);
}

}  // namespace test_generate_features
