// feature/conjunctions.hpp against binomials and against naive enumeration with counting.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <feldspar/feature/conjunctions.hpp>

#include "support/random_models.hpp"

namespace test_conjunctions {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

using Tests = std::vector<std::pair<Variable, Value>>;

std::vector<Tests> read_back(const FeatureSet& features) {
  std::vector<Tests> result;
  for (FeatureId j = 0; j < features.size(); ++j) {
    Tests tests;
    for (const Test test : features[j]) {
      const auto values = features.values(test.values);
      REQUIRE(values.size() == 1);
      tests.emplace_back(test.variable, values[0]);
    }
    result.push_back(tests);
  }
  return result;
}

double support(const Tests& tests, const Problem& problem) {
  double sum = 0;
  const std::size_t n = problem.schema.n_variables();
  for (std::size_t r = 0; r < problem.row_weights.size(); ++r)
    if (std::ranges::all_of(tests, [&](const auto& test) {
          return problem.codes[r * n + test.first] == test.second;
        }))
      sum += problem.row_weights[r];
  return sum;
}

// All conjunctions of `length` non-zero values, lexicographically.
void extend_naively(const Problem& problem, std::size_t length, Tests& tests,
                    std::vector<Tests>& found) {
  if (tests.size() == length) {
    found.push_back(tests);
    return;
  }
  const Variable from = tests.empty() ? 0 : tests.back().first + 1;
  for (Variable v = from; v < problem.schema.n_variables(); ++v)
    for (Value value = 1; value < problem.schema.cardinality(v); ++value) {
      tests.emplace_back(v, value);
      extend_naively(problem, length, tests, found);
      tests.pop_back();
    }
}

std::vector<Tests> enumerate_naively(const Problem& problem, const ConjunctionOptions& options) {
  std::vector<Tests> found;
  for (int length = 1; length <= options.order; ++length) {
    Tests tests;
    extend_naively(problem, static_cast<std::size_t>(length), tests, found);
  }
  std::erase_if(found, [&](const Tests& tests) {
    return tests.size() >= static_cast<std::size_t>(options.supported_from) &&
           support(tests, problem) < options.min_support;
  });
  return found;
}

// Weights are multiples of 1/4, so that sums of weights are exact and borders are met exactly.
Problem weighted_rows(std::uint64_t seed, Value most, std::size_t n_variables) {
  Dice dice(seed);
  Problem problem;
  problem.schema = random_schema(dice, n_variables, 1, most);
  problem.codes = random_codes(dice, problem.schema, 60);
  for (std::size_t r = 0; r < 60; ++r)
    problem.row_weights.push_back(static_cast<double>(dice.below(8)) / 4);
  return problem;
}

}  // namespace

TEST_CASE("on binary data there are as many as binomial coefficients say") {
  const Dataset data = Dataset::merge(binary_schema(7), Codes(7, 0));
  const std::vector<std::size_t> totals{7, 7 + 21, 7 + 21 + 35, 98, 119, 126, 127};
  for (std::size_t length = 1; length <= 7; ++length) {
    const ConjunctionOptions options{.order = static_cast<int>(length)};
    CHECK(enumerate_conjunctions(data, options).size() == totals[length - 1]);
  }
}

TEST_CASE("an order beyond the number of variables adds nothing") {
  const Dataset data = Dataset::merge(binary_schema(3), Codes(3, 0));
  CHECK(enumerate_conjunctions(data, {.order = 9}).size() == 7);
}

TEST_CASE("the features are those of naive enumeration, in its order") {
  for (const Value most : {Value{2}, Value{4}})
    for (const double min_support : {0.0, 0.25, 3.0, 10.0, 1000.0})
      for (const int supported_from : {1, 2, 3}) {
        const Problem problem = weighted_rows(most, most, 6);
        const ConjunctionOptions options{
            .order = 3, .min_support = min_support, .supported_from = supported_from};
        CAPTURE(most);
        CAPTURE(min_support);
        CAPTURE(supported_from);
        CHECK(read_back(enumerate_conjunctions(problem.dataset(), options)) ==
              enumerate_naively(problem, options));
      }
}

TEST_CASE("the least support itself is enough") {
  const Dataset data =
      Dataset::merge(binary_schema(2), Codes{1, 1, 1, 0, 0, 0}, std::vector{2.5, 1.0, 7.0});
  CHECK(read_back(enumerate_conjunctions(data, {.min_support = 2.5})) ==
        std::vector<Tests>{{{0, 1}}, {{1, 1}}, {{0, 1}, {1, 1}}});
  CHECK(read_back(enumerate_conjunctions(data, {.min_support = 3.5})) ==
        std::vector<Tests>{{{0, 1}}});
}

TEST_CASE("options out of range are refused") {
  const Dataset data = Dataset::merge(binary_schema(2), Codes{1, 1});
  CHECK_THROWS_WITH_AS(enumerate_conjunctions(data, {.order = 0}),
                       doctest::Contains("must be at least 1, got 0"), InvalidInput);
  CHECK_THROWS_WITH_AS(enumerate_conjunctions(data, {.min_support = -1}),
                       "min_support must not be negative, got -1", InvalidInput);
  CHECK_THROWS_WITH_AS(enumerate_conjunctions(data, {.supported_from = 0}),
                       "supported_from must be at least 1, got 0", InvalidInput);
}

}  // namespace test_conjunctions
