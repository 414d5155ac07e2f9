// infer/condition.hpp: the conditioned network has the log-potentials of the whole one.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include <feldspar/infer/condition.hpp>

#include "support/brute_force.hpp"
#include "support/random_networks.hpp"

namespace test_condition {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

// The log-potential with soft evidence, by definition.
double soft_log_potential(const MarkovNetwork& network, CodeRow state,
                          std::span<const double> log_likelihoods) {
  double sum = log_potential(network.features(), network.weights(), state);
  const auto offsets = value_offsets(network.schema());
  for (std::size_t v = 0; v < state.size() && !log_likelihoods.empty(); ++v)
    sum += log_likelihoods[offsets[v] + static_cast<std::size_t>(state[v])];
  return sum;
}

MarkovNetwork hand_made() {
  FeatureSetBuilder builder(Schema({2, 3, 2, 1}));
  builder.add(std::vector<Variable>{0}, std::vector<Value>{1});
  builder.add(std::vector<Variable>{0, 1}, std::vector<Value>{1, 2});
  builder.add(std::vector<Variable>{0, 2}, std::vector<Value>{1, 1});
  builder.add(std::vector<Variable>{1, 2}, std::vector<Value>{0, 1});
  return {std::move(builder).finish(), {1.0, 2.0, 4.0, 8.0}};
}

}  // namespace

TEST_CASE("tests that hold are dropped, features that fail vanish, equal ones merge") {
  const Codes codes{kUnknown, 2, 1, kUnknown};
  const ConditionedNetwork given = condition(hand_made(), {codes, {}});
  CHECK(given.hidden == std::vector<Variable>{0, 3});
  CHECK(given.network.schema() == Schema({2, 1}));
  REQUIRE(given.network.features().size() == 1);
  CHECK(given.network.weights() == std::vector<double>{7.0});  // X0 = 1, from three features
  CHECK(given.log_constant == 0.0);
}

TEST_CASE("what holds for certain is the constant") {
  const Codes codes{1, 2, 1, 0};
  const ConditionedNetwork given = condition(hand_made(), {codes, {}});
  CHECK(given.hidden.empty());
  CHECK(given.network.features().size() == 0);
  CHECK(given.log_constant == 7.0);
}

TEST_CASE("soft evidence is a feature of one test, or a constant") {
  const Codes codes{kUnknown, 1, kUnknown, kUnknown};
  const std::vector<double> soft{0.25, 0.5, 1, 2, 3, 0.75, 0.125, 10};
  const ConditionedNetwork given = condition(hand_made(), {codes, soft});
  CHECK(given.log_constant == 12.0);  // value 1 of X1, and the one value of X3
  REQUIRE(given.network.features().size() == 5);
  CHECK(given.network.weights() == std::vector<double>{1.5, 4.0, 0.125, 0.25, 0.75});
}

TEST_CASE("log-potentials are those of the whole network") {
  for (const std::uint64_t seed : {1u, 2u})
    for (const auto& [name, network, is_forest] : small_networks(seed))
      for (const bool soft : {false, true}) {
        CAPTURE(name);
        Dice dice(seed + 10);
        const RandomEvidence evidence = random_evidence(dice, network.schema(), 5, 0.5, soft);
        for (std::size_t r = 0; r < 5; ++r) {
          const EvidenceView row = evidence.row(network.schema(), r);
          const ConditionedNetwork given = condition(network, row);
          Codes state(row.codes.begin(), row.codes.end()), hidden;
          for (const Variable v : given.hidden) {
            hidden.push_back(
                static_cast<std::int32_t>(dice.below(network.schema().cardinality(v))));
            state[v] = hidden.back();
          }
          const double whole = soft_log_potential(network, state, row.log_likelihoods);
          const double part = given.log_constant + log_potential(given.network.features(),
                                                                 given.network.weights(), hidden);
          CHECK(part == doctest::Approx(whole).epsilon(1e-12));
        }
      }
}

TEST_CASE("the weights of a row do not depend on its company") {
  Dice dice(3);
  const MarkovNetwork network = higher_order_network(dice, random_schema(dice, 9, 2, 4), 80, 5, 2);
  const RandomEvidence evidence = same_pattern(dice, network.schema(), 64, 4, true);
  const Conditioner conditioner(network, evidence.row(network.schema(), 0).codes, true);
  std::vector<std::size_t> all(64);
  std::iota(all.begin(), all.end(), std::size_t{0});
  Conditioner::Weights together, alone;
  conditioner.weigh(evidence.view(), all, together);
  const std::size_t n = conditioner.features().size();
  REQUIRE(n > 10);
  for (const std::size_t r : all) {
    conditioner.weigh(evidence.view(), {&r, 1}, alone);
    CHECK(std::equal(alone.weights.begin(), alone.weights.end(),
                     together.weights.begin() + static_cast<std::ptrdiff_t>(r * n)));
    CHECK(alone.log_constants[0] == together.log_constants[r]);
  }
}

TEST_CASE("results are put in their places") {
  const Codes codes{kUnknown, 2, kUnknown, 0};
  const Conditioner conditioner(hand_made(), codes, false);
  std::vector<double> row(8, -1.0);
  conditioner.expand(codes, std::vector<double>{0.25, 0.75, 0.5, 0.5}, row);
  CHECK(row == std::vector<double>{0.25, 0.75, 0, 0, 1, 0.5, 0.5, 1});
  Codes state(4);
  conditioner.complete(codes, std::vector<Value>{1, 0}, state);
  CHECK(state == Codes{1, 2, 0, 0});
}

TEST_CASE("condition takes exactly one good row") {
  const MarkovNetwork network = hand_made();
  const Codes two(8, kUnknown), bad{0, 3, 0, 0};
  CHECK_THROWS_WITH_AS(condition(network, {two, {}}), "evidence: expected one row, got 2",
                       InvalidInput);
  CHECK_THROWS_WITH_AS(condition(network, {bad, {}}),
                       doctest::Contains("row 0, variable 1: code 3 is out of range"),
                       InvalidInput);
}

}  // namespace test_condition
