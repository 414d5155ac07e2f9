// model/conditionals.hpp against conditionals from log-potentials of all versions of each row.
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <feldspar/model/conditionals.hpp>

#include "support/brute_force.hpp"
#include "support/compare.hpp"
#include "support/random_models.hpp"
#include "support/stop_after.hpp"

namespace test_conditionals {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

MarkovNetwork network_of(const Problem& problem) { return {problem.features, problem.weights}; }

std::vector<double> naive_log_conditionals(const Problem& problem) {
  std::vector<double> result;
  const std::size_t n = problem.schema.n_variables();
  for (std::size_t r = 0; r < problem.codes.size() / n; ++r)
    for (Variable v = 0; v < n; ++v) {
      const auto values =
          log_conditional(problem.features, problem.weights, row_of(problem.codes, n, r), v);
      result.insert(result.end(), values.begin(), values.end());
    }
  return result;
}

// More rows than a block of work has.
Problem many_rows() { return random_problem(5, 5, 1, 4, 2500, 30, 3); }

}  // namespace

TEST_CASE("log_conditionals equal enumeration") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    const Problem problem = random_problem(seed, 6, 1, seed % 2 == 0 ? 2 : 20, 70, 60, 4);
    CHECK(distance(log_conditionals(network_of(problem), problem.codes),
                   naive_log_conditionals(problem)) < 1e-13);
  }
}

TEST_CASE("conditionals sum to one, also where weights are extreme") {
  Problem problem = random_problem(11, 6, 1, 5, 50, 60, 3);
  for (double& w : problem.weights) w *= 800;
  const auto offsets = value_offsets(problem.schema);
  const auto logs = log_conditionals(network_of(problem), problem.codes);
  for (std::size_t r = 0; r < 50; ++r)
    for (std::size_t v = 0; v < 6; ++v) {
      double sum = 0;
      for (std::size_t a = offsets[v]; a < offsets[v + 1]; ++a)
        sum += std::exp(logs[r * offsets.back() + a]);
      CHECK(sum == doctest::Approx(1.0).epsilon(1e-12));
    }
}

TEST_CASE("observed_log_conditionals are those of the values in the rows") {
  const Problem problem = many_rows();
  const auto offsets = value_offsets(problem.schema);
  const auto all = log_conditionals(network_of(problem), problem.codes);
  std::vector<double> expected;
  for (std::size_t i = 0; i < problem.codes.size(); ++i)
    expected.push_back(
        all[i / 5 * offsets.back() + offsets[i % 5] + static_cast<std::size_t>(problem.codes[i])]);
  CHECK(same_bits(observed_log_conditionals(network_of(problem), problem.codes), expected));
}

TEST_CASE("log_potentials equal the sum over the features that hold") {
  const Problem problem = many_rows();
  std::vector<double> expected;
  for (std::size_t r = 0; r < problem.row_weights.size(); ++r)
    expected.push_back(
        log_potential(problem.features, problem.weights, row_of(problem.codes, 5, r)));
  CHECK(distance(log_potentials(network_of(problem), problem.codes), expected) < 1e-14);
}

TEST_CASE("many rows equal enumeration and have the same bits for any number of threads") {
  const Problem problem = many_rows();
  const MarkovNetwork network = network_of(problem);
  const auto conditionals = log_conditionals(network, problem.codes, {.n_threads = 1});
  const auto observed = observed_log_conditionals(network, problem.codes, {.n_threads = 1});
  const auto potentials = log_potentials(network, problem.codes, {.n_threads = 1});
  CHECK(distance(conditionals, naive_log_conditionals(problem)) < 1e-13);
  for (const int threads : {2, 3, 8}) {
    CAPTURE(threads);
    const Execution execution{.n_threads = threads};
    CHECK(same_bits(log_conditionals(network, problem.codes, execution), conditionals));
    CHECK(same_bits(observed_log_conditionals(network, problem.codes, execution), observed));
    CHECK(same_bits(log_potentials(network, problem.codes, execution), potentials));
  }
}

TEST_CASE("a network without features is uniform") {
  const MarkovNetwork network(FeatureSetBuilder(Schema({2, 1, 4})).finish(), {});
  const auto logs = log_conditionals(network, Codes{1, 0, 3});
  const std::vector<double> expected{-std::log(2), -std::log(2), 0.0,         -std::log(4),
                                     -std::log(4), -std::log(4), -std::log(4)};
  CHECK(distance(logs, expected) < 1e-15);
  CHECK(log_potentials(network, Codes{1, 0, 3}) == std::vector<double>{0.0});
}

TEST_CASE("no rows give no results") {
  const MarkovNetwork network = network_of(many_rows());
  CHECK(log_conditionals(network, {}).empty());
  CHECK(observed_log_conditionals(network, {}).empty());
  CHECK(log_potentials(network, {}).empty());
}

TEST_CASE("rows that do not fit the schema are refused with their place") {
  const MarkovNetwork network(FeatureSetBuilder(Schema({2, 3})).finish(), {});
  const Codes missing{0, 0, 1, -1}, ragged{0, 0, 1};
  const auto* place = "row 1, variable 1: missing value; expected a code from 0 to 2";
  CHECK_THROWS_WITH_AS(log_conditionals(network, missing), place, InvalidInput);
  CHECK_THROWS_WITH_AS(observed_log_conditionals(network, missing), place, InvalidInput);
  CHECK_THROWS_WITH_AS(log_potentials(network, missing), place, InvalidInput);
  CHECK_THROWS_WITH_AS(log_conditionals(network, ragged),
                       "data: 3 codes are not whole rows of 2 variables", InvalidInput);
}

TEST_CASE("a network without variables is refused") {
  const MarkovNetwork network(FeatureSet(), {});
  CHECK_THROWS_WITH_AS(observed_log_conditionals(network, {}), "data: no variables", InvalidInput);
  CHECK_THROWS_WITH_AS(log_conditionals(network, {}), "data: no variables", InvalidInput);
  CHECK_THROWS_WITH_AS(log_potentials(network, {}), "data: no variables", InvalidInput);
}

TEST_CASE("a stop leaves no half-filled result") {
  const Problem problem = many_rows();
  const MarkovNetwork network = network_of(problem);
  StopAfter after_one_block(1);
  CHECK_THROWS_AS(log_conditionals(network, problem.codes, {1, &after_one_block}), Interrupted);
  for (const int threads : {1, 2}) {
    StopAfter at_once(0);
    at_once.poll();  // on two threads the caller's may find no task left to poll before
    const Execution execution{threads, &at_once};
    CHECK_THROWS_AS(log_conditionals(network, problem.codes, execution), Interrupted);
    CHECK_THROWS_AS(observed_log_conditionals(network, problem.codes, execution), Interrupted);
    CHECK_THROWS_AS(log_potentials(network, problem.codes, execution), Interrupted);
  }
}

}  // namespace test_conditionals
