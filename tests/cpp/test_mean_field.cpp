// infer/mean_field.hpp: a bound that rises, at a point where no single variable can raise it.
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <feldspar/infer/conjunction_graph.hpp>
#include <feldspar/infer/enumeration.hpp>
#include <feldspar/infer/mean_field.hpp>

#include "support/brute_force.hpp"
#include "support/compare.hpp"
#include "support/random_networks.hpp"
#include "support/stop_after.hpp"

namespace test_mean_field {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

// sum over all states of q(x) (log-potential(x) - log q(x)).
double bound_by_enumeration(const MarkovNetwork& network, std::span<const double> q) {
  const auto offsets = value_offsets(network.schema());
  const Codes nothing(network.schema().n_variables(), kUnknown);
  detail::AgreeingStates states(network.schema(), nothing);
  double sum = 0;
  do {
    double log_q = 0;
    for (std::size_t v = 0; v < nothing.size(); ++v)
      log_q += std::log(q[offsets[v] + static_cast<std::size_t>(states.state()[v])]);
    sum += std::exp(log_q) *
           (log_potential(network.features(), network.weights(), states.state()) - log_q);
  } while (states.next());
  return sum;
}

}  // namespace

TEST_CASE("the bound is the definition's, and every sweep raises it") {
  for (const auto& [name, network, is_forest] : small_networks(1)) {
    CAPTURE(name);
    const Literals literals(network.features());
    const ConjunctionGraph graph(network.features(), literals, network.weights());
    MeanField field(graph, detail::mean_field_start(graph, 3, 1));
    double before = field.bound();
    CHECK(before == doctest::Approx(bound_by_enumeration(network, field.probabilities())));
    for (int sweep = 0; sweep < 30; ++sweep) {
      field.sweep();
      CHECK(field.bound() >= before - 1e-12 * (1 + std::abs(before)));
      before = field.bound();
    }
    CHECK(before == doctest::Approx(bound_by_enumeration(network, field.probabilities())));
  }
}

TEST_CASE("bounds are below log Z, with any evidence and weights") {
  for (const double strength : {0.5, 5.0, 300.0})
    for (const auto& [name, network, is_forest] : small_networks(2, strength)) {
      CAPTURE(name);
      Dice dice(7);
      const RandomEvidence evidence = random_evidence(dice, network.schema(), 5, 0.4, true);
      const Marginals exact = enumerate_marginals(network, evidence.view(), {});
      const Marginals result = mean_field_marginals(network, evidence.view(), {});
      CHECK(result.log_partition_kind == LogPartitionKind::lower_bound);
      for (std::size_t r = 0; r < 5; ++r) {
        const double z = exact.log_partitions[r];
        CHECK(result.log_partitions[r] <= z + 1e-10 * (1 + std::abs(z)));
        CHECK(std::isfinite(result.log_partitions[r]));
      }
    }
}

TEST_CASE("independent variables are exact; weak ones close") {
  for (const auto& [name, network, is_forest] : small_networks(3, 0.1)) {
    CAPTURE(name);
    const Codes nothing(network.schema().n_variables(), kUnknown);
    const Marginals exact = enumerate_marginals(network, {nothing, {}}, {});
    const Marginals result = mean_field_marginals(network, {nothing, {}}, {.tolerance = 1e-14});
    const bool independent = name.ends_with("unconnected");
    CHECK(distance(result.probabilities, exact.probabilities) < (independent ? 1e-13 : 0.01));
    CHECK(distance(result.log_partitions, exact.log_partitions) < (independent ? 1e-13 : 0.01));
    CHECK(result.rows[0].status == RowStatus::converged);
  }
}

TEST_CASE("at the end each variable is at its best, the others given") {
  Dice dice(4);
  const MarkovNetwork network = higher_order_network(dice, random_schema(dice, 6, 2, 3), 25, 4, 1);
  const Codes nothing(6, kUnknown);
  const Marginals result = mean_field_marginals(network, {nothing, {}}, {.tolerance = 1e-13});
  const auto offsets = value_offsets(network.schema());
  const double best = result.log_partitions[0];
  CHECK(best == doctest::Approx(bound_by_enumeration(network, result.row(0))));
  for (std::size_t v = 0; v < 6; ++v)
    for (std::size_t a = offsets[v]; a < offsets[v + 1]; ++a) {
      std::vector<double> q(result.row(0).begin(), result.row(0).end());
      for (std::size_t b = offsets[v]; b < offsets[v + 1]; ++b) q[b] *= 0.99;
      q[a] += 0.01;
      CHECK(bound_by_enumeration(network, q) < best);
    }
}

TEST_CASE("more starts never lower the bound, and are told by their seed") {
  // Two states far apart and a little unequal: from the middle the sweep order decides.
  FeatureSetBuilder builder(binary_schema(8));
  std::vector<double> weights;
  for (const auto& [a, b] : all_edges(8))
    for (const Value value : {Value{0}, Value{1}}) {
      builder.add(std::vector<Variable>{a, b}, std::vector<Value>{value, value});
      weights.push_back(value == 0 ? 1.0 : 1.1);
    }
  const MarkovNetwork network(std::move(builder).finish(), weights);
  const Codes nothing(8, kUnknown);
  const auto bound = [&](std::int32_t n_starts, std::uint64_t seed) {
    return mean_field_marginals(network, {nothing, {}}, {.n_starts = n_starts, .seed = seed})
        .log_partitions[0];
  };
  for (const std::uint64_t seed : {1u, 2u}) {
    double before = bound(1, seed);
    for (const std::int32_t n_starts : {2, 5, 20}) {
      CHECK(bound(n_starts, seed) >= before);
      before = bound(n_starts, seed);
    }
  }
  CHECK(bound(5, 1) == bound(5, 1));
}

TEST_CASE("results have the same bits for any number of threads and any company") {
  Dice dice(6);
  const MarkovNetwork network = higher_order_network(dice, random_schema(dice, 12, 2, 3), 70, 5, 1);
  const RandomEvidence evidence = random_evidence(dice, network.schema(), 40, 0.4, true);
  const MeanFieldOptions options{.n_starts = 3, .seed = 5};
  const Marginals serial = mean_field_marginals(network, evidence.view(), options, {1, nullptr});
  for (const int threads : {2, 3}) {
    const Marginals result =
        mean_field_marginals(network, evidence.view(), options, {threads, nullptr});
    CHECK(same_bits(result.probabilities, serial.probabilities));
    CHECK(same_bits(result.log_partitions, serial.log_partitions));
  }
  const Marginals alone = mean_field_marginals(network, evidence.row(network.schema(), 7), options);
  CHECK(same_bits(alone.row(0), serial.row(7)));
}

TEST_CASE("stops, time limits and bad options") {
  Dice dice(9);
  const MarkovNetwork network = ising_grid(dice, 5, 5, 1, 1);
  const Codes codes(25 * 20, kUnknown);
  StopAfter monitor(9);
  CHECK_THROWS_AS(mean_field_marginals(network, {codes, {}}, {}, {1, &monitor}), Interrupted);
  for (const RowDiagnostics& row :
       mean_field_marginals(network, {codes, {}}, {.max_seconds = 1e-9}).rows)
    CHECK(row.status == RowStatus::not_done);
  const Marginals none = mean_field_marginals(network, {codes, {}}, {.max_iterations = 0});
  CHECK(none.rows[0].status == RowStatus::max_iterations);
  CHECK(none.row(0)[0] == 0.5);
  const auto refused = [&](MeanFieldOptions bad, const char* message) {
    CHECK_THROWS_WITH_AS(mean_field_marginals(network, {codes, {}}, bad), message, InvalidInput);
  };
  refused({.max_iterations = -1}, "max_iterations must not be negative, got -1");
  refused({.tolerance = 0}, "tolerance must be positive, got 0");
  refused({.n_starts = 0}, "n_starts must be at least 1, got 0");
  refused({.max_seconds = 0}, "max_seconds must be positive, got 0");
}

}  // namespace test_mean_field
