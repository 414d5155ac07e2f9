// infer/enumeration.hpp against results worked out by hand; it judges the other methods.
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include <feldspar/infer/enumeration.hpp>

#include "support/compare.hpp"
#include "support/random_networks.hpp"
#include "support/stop_after.hpp"

namespace test_enumeration {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

// X0 = 1: log 2; X0 = 1 & X1 = 2: log 5.
MarkovNetwork two_variables() {
  FeatureSetBuilder builder(Schema({2, 3}));
  builder.add(std::vector<Variable>{0}, std::vector<Value>{1});
  builder.add(std::vector<Variable>{0, 1}, std::vector<Value>{1, 2});
  return {std::move(builder).finish(), {std::log(2.0), std::log(5.0)}};
}

}  // namespace

TEST_CASE("marginals and log Z by hand") {
  // Weights of the states: 1 1 1 for X0 = 0 and 2 2 10 for X0 = 1; 17 in all.
  const Codes codes{-1, -1, 1, -1, -1, 2, 0, 1};
  const Marginals result = enumerate_marginals(two_variables(), {codes, {}}, {});
  CHECK(result.log_partition_kind == LogPartitionKind::exact);
  CHECK(distance(result.row(0),
                 std::vector<double>{3. / 17, 14. / 17, 3. / 17, 3. / 17, 11. / 17}) < 1e-15);
  CHECK(distance(result.row(1), std::vector<double>{0, 1, 1. / 7, 1. / 7, 5. / 7}) < 1e-15);
  CHECK(distance(result.row(2), std::vector<double>{1. / 11, 10. / 11, 0, 0, 1}) < 1e-15);
  CHECK(distance(result.row(3), std::vector<double>{1, 0, 0, 1, 0}) == 0);
  CHECK(distance(result.log_partitions,
                 std::vector<double>{std::log(17), std::log(14), std::log(11), 0}) < 1e-15);
  for (const RowDiagnostics& row : result.rows) CHECK(row.status == RowStatus::converged);
}

TEST_CASE("soft evidence is a factor on each value") {
  const Codes codes{-1, -1};
  const std::vector<double> soft{std::log(4), 0, 0, 0, std::log(0.5)};
  // 4 4 2 and 2 2 5.
  const Marginals result = enumerate_marginals(two_variables(), {codes, soft}, {});
  CHECK(distance(result.row(0), std::vector<double>{10. / 19, 9. / 19, 6. / 19, 6. / 19, 7. / 19}) <
        1e-15);
  CHECK(result.log_partitions[0] == doctest::Approx(std::log(19)));
}

TEST_CASE("the most probable state, the first of equals") {
  const Codes codes{-1, -1, 0, -1};
  const auto states = enumerate_most_probable(two_variables(), {codes, {}}, {});
  CHECK(states == Codes{1, 2, 0, 0});
}

TEST_CASE("too many states are refused") {
  const Codes codes{0, 0, -1, -1};
  CHECK_THROWS_WITH_AS(enumerate_marginals(two_variables(), {codes, {}}, {5}),
                       "evidence: row 1: enumeration would visit 6 states; max_states is 5",
                       InvalidInput);
  CHECK_THROWS_AS(enumerate_most_probable(two_variables(), {codes, {}}, {5}), InvalidInput);
  CHECK_THROWS_WITH_AS(enumerate_marginals(two_variables(), {codes, {}}, {0}),
                       "max_states must be at least 1, got 0", InvalidInput);
}

TEST_CASE("a stop throws") {
  StopAfter monitor(4);
  Dice dice(1);
  const MarkovNetwork network = ising_grid(dice, 3, 4, 1, 1);
  CHECK_THROWS_AS(enumerate_marginals(network, {Codes(12, kUnknown), {}}, {}, {1, &monitor}),
                  Interrupted);
}

}  // namespace test_enumeration
