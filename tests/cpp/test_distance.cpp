// learn/distance.hpp against the formulas, example by example.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/learn/distance.hpp>

#include "support/brute_force.hpp"
#include "support/random_models.hpp"

namespace test_distance {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

// Unmerged examples, each of weight 1.
struct Examples {
  Schema schema;
  Codes codes;

  std::size_t size() const { return codes.size() / schema.n_variables(); }
  CodeRow operator[](std::size_t r) const { return row_of(codes, schema.n_variables(), r); }
};

// P(c = h | the test holds), one added to each count.
double probability(const Examples& examples, const FeatureSet& features, Test given, Variable c,
                   std::int32_t h) {
  double both = 1, all = examples.schema.cardinality(c);
  for (std::size_t r = 0; r < examples.size(); ++r)
    if (passes(features, given, examples[r])) {
      all += 1;
      both += examples[r][c] == h;
    }
  return both / all;
}

double value_probability(const Examples& examples, Variable i, std::int32_t value, Variable c,
                         std::int32_t h) {
  double both = 1, all = examples.schema.cardinality(c);
  for (std::size_t r = 0; r < examples.size(); ++r)
    if (examples[r][i] == value) {
      all += 1;
      both += examples[r][c] == h;
    }
  return both / all;
}

double direct_distance(const Examples& examples, const FeatureSet& features, FeatureId f, CodeRow e,
                       const DistanceOptions& options) {
  double sum = 0;
  for (const Test i : features[f]) {
    if (passes(features, i, e)) continue;
    if (options.kind == DistanceKind::hamming) sum += 1;
    if (options.kind == DistanceKind::hamming) continue;
    for (const Test c : features[f])
      for (std::int32_t h = 0;
           c.variable != i.variable && h < examples.schema.cardinality(c.variable); ++h)
        sum += std::pow(
            std::abs(probability(examples, features, i, c.variable, h) -
                     value_probability(examples, i.variable, e[i.variable], c.variable, h)),
            options.power);
  }
  return sum;
}

Examples random_examples(std::uint64_t seed, Value most, std::size_t n_variables = 12,
                         std::size_t n_rows = 80) {
  Dice dice(seed);
  const Schema schema = random_schema(dice, n_variables, 2, most);
  return {schema, random_codes(dice, schema, n_rows, 0.4)};
}

}  // namespace

TEST_CASE("distances are those of the formulas") {
  const DistanceOptions cases[] = {{DistanceKind::value_difference, 1},
                                   {DistanceKind::value_difference, 2},
                                   {DistanceKind::hamming, 1}};
  for (const Value most : {Value{2}, Value{4}, Value{20}})
    for (const DistanceOptions& options : cases) {
      const Examples examples = random_examples(most, most);
      const Dataset data = Dataset::merge(examples.schema, examples.codes);
      Dice dice(1);
      const FeatureSet features = random_features(dice, examples.schema, 5, 6);
      const FeatureDistance distance(data, options);
      FeatureDistance::Scratch scratch;
      std::vector<std::int32_t> row(data.n_variables());
      for (FeatureId f = 0; f < features.size(); ++f) {
        const auto found =
            distance.unmatched_distances(features[f], features.value_sets(), scratch);
        for (std::size_t r = 0; r < data.n_rows(); r += 3) {
          for (Variable v = 0; v < data.n_variables(); ++v) row[v] = data.columns().codes(v)[r];
          if (holds(features, f, row))
            CHECK(found[r] == std::numeric_limits<double>::infinity());
          else
            CHECK(std::abs(found[r] - direct_distance(examples, features, f, row, options)) < 1e-7);
        }
      }
    }
}

TEST_CASE("the tests that the nearest examples fail, merged or not") {
  const std::vector<double> ks{1, 2, 5, 10, 30, 200};
  struct Size {
    Value most;
    std::size_t n_variables, n_rows;
  };
  // Of the many rows of the last only those are sorted that a sample says are near.
  for (const auto [most, n_variables, n_rows] :
       {Size{2, 7, 80}, Size{4, 7, 80}, Size{2, 13, 3000}}) {
    const Examples examples = random_examples(40u + most, most, n_variables, n_rows);
    const Dataset data = Dataset::merge(examples.schema, examples.codes);
    REQUIRE(data.n_rows() < examples.size());
    const FeatureDistance distance(data, {});
    FeatureDistance::Scratch scratch;
    Dice dice(2);
    const FeatureSet features = random_features(dice, examples.schema, 12, 6);
    for (FeatureId f = 0; f < features.size(); ++f) {
      const auto tests = features[f];
      const auto found = distance.first_failures(tests, features.value_sets(), ks, scratch);
      const std::vector<double> distances = [&] {
        const auto all = distance.unmatched_distances(tests, features.value_sets(), scratch);
        return std::vector<double>(all.begin(), all.end());
      }();
      // One entry an example, in the order of (distance, merged row).
      std::vector<std::size_t> nearest;
      std::vector<Row> rows(data.n_rows());
      std::iota(rows.begin(), rows.end(), Row{0});
      std::ranges::stable_sort(rows, {}, [&](Row r) { return distances[r]; });
      for (const Row r : rows)
        if (std::isfinite(distances[r]))
          nearest.insert(nearest.end(), static_cast<std::size_t>(data.weights()[r]), r);
      for (std::size_t i = 0; i < tests.size(); ++i) {
        std::size_t expected = ks.size();
        const auto values = features.values(tests[i].values);
        for (std::size_t k = ks.size(); k-- > 0;)
          for (std::size_t n = 0; n < std::min<std::size_t>(nearest.size(), std::size_t(ks[k]));
               ++n)
            if (std::ranges::find(values, data.columns().codes(tests[i].variable)[nearest[n]]) ==
                values.end())
              expected = k;
        CHECK(found[i] == expected);
      }
    }
  }
}

TEST_CASE("weights are numbers of examples") {
  const Schema schema({2, 2, 2});
  const std::vector<std::int32_t> codes{1, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0};
  FeatureSetBuilder builder(schema);
  builder.add(std::vector<Variable>{0, 1, 2}, std::vector<Value>{1, 1, 1});
  const FeatureSet features = std::move(builder).finish();
  const std::vector<double> ks{1, 2, 3, 4};
  FeatureDistance::Scratch scratch;
  const auto failures = [&](std::vector<double> weights) {
    const Dataset data = Dataset::merge(schema, codes, weights);
    const FeatureDistance distance(data, {DistanceKind::hamming, 1});
    return distance.first_failures(features[0], features.value_sets(), ks, scratch);
  };
  // (1 1 0) and (0 1 1) are nearest, the lighter and else the lexicographically lower row first.
  CHECK(failures({1, 1, 1, 1}) == std::vector<std::uint8_t>{0, 2, 1});
  CHECK(failures({1, 2, 1, 1}) == std::vector<std::uint8_t>{0, 3, 1});
  CHECK(failures({1, 1, 2.5, 1}) == std::vector<std::uint8_t>{1, 3, 0});
}

TEST_CASE("bad options are named") {
  const Dataset data = Dataset::merge(Schema({2}), std::vector<std::int32_t>{0, 1});
  CHECK_THROWS_AS(FeatureDistance(data, {DistanceKind::hamming, 0}), InvalidInput);
}

}  // namespace test_distance
