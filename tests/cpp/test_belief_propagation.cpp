// infer/belief_propagation.hpp and infer/propagation.hpp: exact without cycles, a fixed point and close
// to the truth with them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <feldspar/infer/belief_propagation.hpp>
#include <feldspar/infer/enumeration.hpp>
#include <feldspar/infer/junction_tree.hpp>

#include "support/compare.hpp"
#include "support/random_networks.hpp"
#include "support/stop_after.hpp"

namespace test_belief_propagation {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

BeliefPropagationOptions exacting(Schedule schedule, double damping = 0) {
  BeliefPropagationOptions options;
  options.schedule = schedule;
  options.damping = damping;
  options.tolerance = 1e-13;
  return options;
}

bool all_converged(const Marginals& result) {
  return std::ranges::all_of(result.rows,
                             [](const auto& row) { return row.status == RowStatus::converged; });
}

constexpr Schedule kSchedules[] = {Schedule::synchronous, Schedule::residual};

// One conjunction over all variables, and one of a single test for each of them.
MarkovNetwork one_long_feature(std::size_t n, double weight) {
  FeatureSetBuilder builder(binary_schema(n));
  std::vector<Variable> variables;
  for (Variable v = 0; v < n; ++v) variables.push_back(v);
  builder.add(variables, std::vector<Value>(n, 1));
  std::vector<double> weights{weight};
  Dice dice(1);
  for (Variable v = 0; v < n; ++v) {
    const Value one = 1;
    builder.add({&v, 1}, {&one, 1});
    weights.push_back(dice.between(-1, 3));
  }
  return {std::move(builder).finish(), std::move(weights)};
}

}  // namespace

TEST_CASE("without cycles it is exact, whatever schedule, damping and weights") {
  for (const double strength : {1.5, 60.0, 900.0})
    for (const Schedule schedule : kSchedules)
      for (const double damping : {0.0, 0.3})
        for (const auto& [name, network, is_forest] : small_networks(1, strength)) {
          if (!is_forest) continue;
          CAPTURE(name);
          CAPTURE(strength);
          CAPTURE(damping);
          Dice dice(7);
          const RandomEvidence evidence = random_evidence(dice, network.schema(), 4, 0.3, true);
          const Marginals exact = enumerate_marginals(network, evidence.view(), {});
          auto options = exacting(schedule, damping);
          options.tolerance *= strength;  // messages are as large as weights, and so rounded
          const Marginals result = belief_propagation_marginals(network, evidence.view(), options);
          CHECK(all_converged(result));
          CHECK(result.log_partition_kind == LogPartitionKind::bethe);
          CHECK(distance(result.probabilities, exact.probabilities) < 1e-10);
          CHECK(distance(result.log_partitions, exact.log_partitions) < 1e-10);
        }
}

TEST_CASE("with cycles and weak weights it is close, and both schedules agree") {
  for (const auto& [name, network, is_forest] : small_networks(2, 0.3)) {
    CAPTURE(name);
    Dice dice(8);
    const RandomEvidence evidence = random_evidence(dice, network.schema(), 4, 0.3, true);
    const Marginals exact = enumerate_marginals(network, evidence.view(), {});
    const auto run = [&](Schedule schedule) {
      return belief_propagation_marginals(network, evidence.view(), exacting(schedule));
    };
    const Marginals result = run(Schedule::synchronous), other = run(Schedule::residual);
    CHECK(all_converged(result));
    CHECK(all_converged(other));
    CHECK(distance(result.probabilities, exact.probabilities) < 5e-3);
    CHECK(distance(result.log_partitions, exact.log_partitions) < 5e-3);
    CHECK(distance(other.probabilities, result.probabilities) < 1e-10);
    CHECK(distance(other.log_partitions, result.log_partitions) < 1e-10);
  }
}

TEST_CASE("a conjunction of twenty tests is one sparse factor, and exact") {
  for (const double weight : {-3.0, 4.0, 700.0}) {
    const MarkovNetwork network = one_long_feature(20, weight);
    const Codes nothing(20, kUnknown);
    const Marginals result =
        belief_propagation_marginals(network, {nothing, {}}, exacting(Schedule::synchronous));
    const Marginals exact = junction_tree_marginals(network, {nothing, {}}, {});
    CHECK(all_converged(result));
    CHECK(distance(result.probabilities, exact.probabilities) < 1e-10);
    CHECK(distance(result.log_partitions, exact.log_partitions) < 1e-10);
  }
  const MarkovNetwork wide = one_long_feature(3000, 5000.0);
  const Marginals result = belief_propagation_marginals(wide, {Codes(3000, kUnknown), {}}, {});
  CHECK(all_converged(result));
  CHECK(std::isfinite(result.log_partitions[0]));
}

TEST_CASE("an Ising grid: close to exact, and the residual schedule needs fewer rounds") {
  Dice dice(3);
  const MarkovNetwork network = ising_grid(dice, 8, 8, 0.8, 0.8);
  const Codes nothing(64, kUnknown);
  const Marginals exact = junction_tree_marginals(network, {nothing, {}}, {});
  std::vector<std::int32_t> rounds;
  for (const Schedule schedule : kSchedules) {
    const Marginals result =
        belief_propagation_marginals(network, {nothing, {}}, exacting(schedule));
    CHECK(all_converged(result));
    CHECK(distance(result.probabilities, exact.probabilities) < 0.02);
    rounds.push_back(result.rows[0].iterations);
  }
  CHECK(rounds[1] < rounds[0]);
}

TEST_CASE("damping makes an oscillating model settle") {
  // Six variables that repel each other: undamped messages swing for ever.
  FeatureSetBuilder builder(binary_schema(6));
  std::vector<double> weights;
  for (const auto& [a, b] : all_edges(6))
    for (const Value value : {Value{0}, Value{1}}) {
      builder.add(std::vector<Variable>{a, b}, std::vector<Value>{value, value});
      weights.push_back(-1.0);
    }
  Dice dice(4);
  for (Variable v = 0; v < 6; ++v) {
    const Value one = 1;
    builder.add({&v, 1}, {&one, 1});
    weights.push_back(dice.between(-0.2, 0.2));
  }
  const MarkovNetwork network(std::move(builder).finish(), weights);
  const Codes nothing(6, kUnknown);
  BeliefPropagationOptions options;
  const Marginals swinging = belief_propagation_marginals(network, {nothing, {}}, options);
  CHECK(swinging.rows[0].status == RowStatus::max_iterations);
  CHECK(swinging.rows[0].iterations == options.max_iterations);
  CHECK(swinging.rows[0].residual > options.tolerance);
  options.damping = 0.6;
  CHECK(all_converged(belief_propagation_marginals(network, {nothing, {}}, options)));
}

TEST_CASE("no iteration gives the variables' own potentials") {
  Dice dice(5);
  const MarkovNetwork network = ising_grid(dice, 2, 2, 1, 1);
  BeliefPropagationOptions options;
  options.max_iterations = 0;
  for (const Schedule schedule : kSchedules) {
    options.schedule = schedule;
    const Marginals result =
        belief_propagation_marginals(network, {Codes(4, kUnknown), {}}, options);
    CHECK(result.rows[0].status == RowStatus::max_iterations);
    CHECK(result.rows[0].iterations == 0);
    CHECK(result.row(0)[1] ==
          doctest::Approx(1 / (1 + std::exp(-network.weights()[0]))).epsilon(1e-12));
  }
}

TEST_CASE("results have the same bits for any number of threads and any company") {
  Dice dice(6);
  const MarkovNetwork network = higher_order_network(dice, random_schema(dice, 14, 2, 3), 90, 5, 1);
  RandomEvidence evidence = random_evidence(dice, network.schema(), 30, 0.4, false);
  const RandomEvidence more = same_pattern(dice, network.schema(), 40, 9, false);
  evidence.codes.insert(evidence.codes.end(), more.codes.begin(), more.codes.end());
  for (const Schedule schedule : kSchedules) {
    const auto options = exacting(schedule, 0.1);
    const Marginals serial =
        belief_propagation_marginals(network, evidence.view(), options, {1, nullptr});
    for (const int threads : {2, 3}) {
      const Marginals result =
          belief_propagation_marginals(network, evidence.view(), options, {threads, nullptr});
      CHECK(same_bits(result.probabilities, serial.probabilities));
      CHECK(same_bits(result.log_partitions, serial.log_partitions));
    }
    for (const std::size_t r : {0u, 5u, 69u}) {
      const Marginals alone =
          belief_propagation_marginals(network, evidence.row(network.schema(), r), options);
      CHECK(same_bits(alone.row(0), serial.row(r)));
    }
  }
}

TEST_CASE("stops, time limits and bad options") {
  Dice dice(9);
  const MarkovNetwork network = ising_grid(dice, 5, 5, 1, 1);
  const Codes codes(25 * 20, kUnknown);
  for (const Schedule schedule : kSchedules) {
    StopAfter monitor(9);
    CHECK_THROWS_AS(
        belief_propagation_marginals(network, {codes, {}}, exacting(schedule), {1, &monitor}),
        Interrupted);
  }
  BeliefPropagationOptions options;
  options.max_seconds = 1e-9;
  for (const RowDiagnostics& row : belief_propagation_marginals(network, {codes, {}}, options).rows)
    CHECK(row.status == RowStatus::not_done);
  const FactorLayout layout(network.features());
  const FactorGraph graph(layout, network.weights());
  for (const Schedule schedule : kSchedules) {  // a row under way keeps what it has
    Propagation<SumOfLogs> propagation(graph, exacting(schedule));
    CHECK(propagation.run(StopSign(Execution{}, 1e-9)).status == RowStatus::time_limit);
    CHECK(std::isfinite(propagation.bethe_log_partition()));
  }
  const auto refused = [&](BeliefPropagationOptions bad, const char* message) {
    CHECK_THROWS_WITH_AS(belief_propagation_marginals(network, {codes, {}}, bad), message,
                         InvalidInput);
  };
  refused({.damping = 1.0}, "damping must be at least 0 and below 1, got 1");
  refused({.damping = -0.1}, "damping must be at least 0 and below 1, got -0.1");
  refused({.max_iterations = -1}, "max_iterations must not be negative, got -1");
  refused({.tolerance = 0}, "tolerance must be positive, got 0");
  refused({.max_seconds = 0}, "max_seconds must be positive, got 0");
}

}  // namespace test_belief_propagation
