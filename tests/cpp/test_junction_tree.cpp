// infer/junction_tree.hpp and what it is made of, infer/clique_tree.hpp, against enumeration.
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <feldspar/infer/enumeration.hpp>
#include <feldspar/infer/junction_tree.hpp>

#include "support/brute_force.hpp"
#include "support/compare.hpp"
#include "support/random_networks.hpp"
#include "support/simd_levels.hpp"
#include "support/stop_after.hpp"

namespace test_junction_tree {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

void check_against_enumeration(const MarkovNetwork& network, const EvidenceView& evidence) {
  const Marginals exact = enumerate_marginals(network, evidence, {});
  const Marginals result = junction_tree_marginals(network, evidence, {});
  CHECK(result.log_partition_kind == LogPartitionKind::exact);
  CHECK(distance(result.probabilities, exact.probabilities) < 1e-10);
  CHECK(distance(result.log_partitions, exact.log_partitions) < 1e-10);
  for (const RowDiagnostics& row : result.rows) CHECK(row.status == RowStatus::converged);
}

MarkovNetwork dense_binary(std::size_t n) {
  FeatureSetBuilder builder(binary_schema(n));
  add_pairs(builder, n);
  Dice dice(4);
  std::vector<double> weights = dice.numbers(builder.size());
  return {std::move(builder).finish(), std::move(weights)};
}

// log Z of a chain: the log of the sum over all states of the variables so far, by the last value.
double forward_log_partition(const MarkovNetwork& network) {
  const FeatureSet& features = network.features();
  const std::size_t n = network.schema().n_variables();
  std::vector<std::vector<FeatureId>> ends_at(n);
  for (FeatureId j = 0; j < features.size(); ++j) ends_at[features[j].back().variable].push_back(j);
  std::vector<double> forward{0.0};
  Codes state(n, 0);
  for (Variable v = 0; v < n; ++v) {
    std::vector<double> next(network.schema().cardinality(v));
    for (std::size_t b = 0; b < next.size(); ++b) {
      std::vector<double> terms = forward;
      for (std::size_t a = 0; a < terms.size(); ++a) {
        if (v > 0) state[v - 1] = static_cast<std::int32_t>(a);
        state[v] = static_cast<std::int32_t>(b);
        for (const FeatureId j : ends_at[v])
          if (holds(features, j, state)) terms[a] += network.weights()[j];
      }
      next[b] = log_sum_exp(terms);
    }
    forward = next;
  }
  return log_sum_exp(forward);
}

}  // namespace

TEST_CASE("marginals and log Z equal enumeration, also for extreme weights") {
  for (const double strength : {1.5, 60.0, 800.0})
    for (std::uint64_t seed = 1; seed <= 2; ++seed)
      for (const auto& [name, network, is_forest] : small_networks(seed, strength))
        for (const bool soft : {false, true}) {
          CAPTURE(name);
          CAPTURE(strength);
          CAPTURE(seed);
          Dice dice(seed + 7);
          const RandomEvidence evidence = random_evidence(dice, network.schema(), 5, 0.4, soft);
          check_against_enumeration(network, evidence.view());
        }
}

TEST_CASE("a clique tree keeps the order, the running intersection and all features") {
  for (const auto& [name, network, is_forest] : small_networks(3)) {
    CAPTURE(name);
    const FeatureSet& features = network.features();
    const Elimination elimination = eliminate_by_min_fill(features);
    const CliqueTree tree(features, elimination);
    CHECK(static_cast<double>(tree.n_entries()) == elimination.cost.table_entries);
    std::vector<int> residual(features.schema().n_variables(), 0);
    for (std::size_t c = 0; c < tree.cliques().size(); ++c) {
      const Clique& clique = tree.cliques()[c];
      for (std::size_t i = clique.n_separator; i < clique.variables.size(); ++i)
        ++residual[clique.variables[i]];
      if (clique.parent == kNoClique) {
        CHECK(clique.n_separator == 0);
        continue;
      }
      CHECK(clique.parent > c);
      const Clique& parent = tree.cliques()[clique.parent];
      CHECK(clique.variables.size() > clique.n_separator);
      CHECK(parent.variables.size() > clique.n_separator);  // else one lies in the other
      for (std::size_t i = 0; i < clique.n_separator; ++i)
        CHECK(std::ranges::count(parent.variables, clique.variables[i]) == 1);
    }
    for (const int count : residual) CHECK(count == 1);
    for (FeatureId j = 0; j < features.size(); ++j)
      for (const Test test : features[j])
        CHECK(std::ranges::count(tree.cliques()[tree.clique_of(j)].variables, test.variable) == 1);
  }
}

TEST_CASE("rows that hide the same variables equal enumeration") {
  Dice dice(11);
  const MarkovNetwork network = higher_order_network(dice, random_schema(dice, 10, 2, 3), 60, 5, 1);
  const RandomEvidence evidence = same_pattern(dice, network.schema(), 100, 5, true);
  check_against_enumeration(network, evidence.view());
}

TEST_CASE("results have the same bits for any number of threads and any company") {
  Dice dice(12);
  const MarkovNetwork network = higher_order_network(dice, binary_schema(14), 60, 4, 1);
  RandomEvidence evidence = random_evidence(dice, network.schema(), 30, 0.4, false);
  const RandomEvidence more = same_pattern(dice, network.schema(), 40, 9, false);
  evidence.codes.insert(evidence.codes.end(), more.codes.begin(), more.codes.end());
  const Marginals serial = junction_tree_marginals(network, evidence.view(), {}, {1, nullptr});
  for (const int threads : {2, 3}) {
    const Marginals result =
        junction_tree_marginals(network, evidence.view(), {}, {threads, nullptr});
    CHECK(same_bits(result.probabilities, serial.probabilities));
    CHECK(same_bits(result.log_partitions, serial.log_partitions));
  }
  for (const std::size_t r : {0u, 5u, 69u}) {
    const Marginals alone = junction_tree_marginals(network, evidence.row(network.schema(), r), {});
    CHECK(same_bits(alone.row(0), serial.row(r)));
  }
}

TEST_CASE("kernels of all instruction sets give the same bits") {
  Dice dice(13);
  for (const std::size_t block : {1u, 2u, 3u, 8u, 5000u}) {
    const std::size_t n_blocks = 7;
    const auto start = dice.numbers(n_blocks * block, -900, 900);
    std::vector<std::vector<double>> tables, messages;
    for (const SimdLevel level : simd_levels()) {
      tables.push_back(start);
      messages.emplace_back(n_blocks);
      run_kernel<detail::NormalizeBlocks>(level, tables.back().data(), n_blocks, block,
                                          messages.back().data());
      CHECK(same_bits(tables.back(), tables.front()));
      CHECK(same_bits(messages.back(), messages.front()));
    }
  }
}

TEST_CASE("too wide a tree is refused with its cost and the limit") {
  const MarkovNetwork network = dense_binary(12);
  const Codes nothing(12, kUnknown);
  CHECK_THROWS_WITH_AS(
      junction_tree_marginals(network, {nothing, {}}, {.max_table_entries = 100}),
      "evidence: row 0: exact inference needs at least 4096 table entries, its largest clique "
      "having 12 variables; max_table_entries is 100",
      InvalidInput);
  CHECK_NOTHROW(junction_tree_marginals(network, {nothing, {}}, {.max_table_entries = 4096}));
  CHECK_THROWS_WITH_AS(junction_tree_marginals(network, {nothing, {}}, {.max_table_entries = 0}),
                       "max_table_entries must be at least 1, got 0", InvalidInput);
  CHECK_THROWS_WITH_AS(junction_tree_marginals(network, {nothing, {}}, {.max_seconds = 0}),
                       "max_seconds must be positive, got 0", InvalidInput);
}

TEST_CASE("where all features are too wide, those in force may not be") {
  // X0 = a switches on one of two chains that together are wide.
  FeatureSetBuilder builder(binary_schema(9));
  for (Variable v = 1; v < 9; ++v)
    for (Variable u = v + 1; u < 9; ++u)
      builder.add(std::vector<Variable>{0, v, u}, std::vector<Value>{u == v + 1, 1, 1});
  Dice dice(5);
  const std::size_t n_features = builder.size();
  const MarkovNetwork network(std::move(builder).finish(), dice.numbers(n_features));
  Codes codes(9, kUnknown);
  codes[0] = 1;
  const JunctionTreeOptions options{.max_table_entries = 40};
  const Marginals result = junction_tree_marginals(network, {codes, {}}, options);
  CHECK(distance(result.probabilities,
                 enumerate_marginals(network, {codes, {}}, {}).probabilities) < 1e-12);
  codes[0] = 0;
  CHECK_THROWS_AS(junction_tree_marginals(network, {codes, {}}, options), InvalidInput);
}

TEST_CASE("a long chain equals the forward recursion") {
  const std::size_t n = 2000;
  Dice dice(6);
  const MarkovNetwork network =
      pairwise_network(dice, random_schema(dice, n, 2, 4), chain_edges(n), 2);
  const Marginals result = junction_tree_marginals(network, {Codes(n, kUnknown), {}}, {});
  CHECK(result.log_partitions[0] == doctest::Approx(forward_log_partition(network)).epsilon(1e-12));
}

TEST_CASE("samples follow the marginals and agree with the evidence") {
  Dice dice(8);
  const MarkovNetwork network = higher_order_network(dice, random_schema(dice, 6, 1, 3), 20, 3, 1);
  const std::size_t n = 6, n_samples = 20000;
  const RandomEvidence evidence = random_evidence(dice, network.schema(), 3, 0.4, true);
  const auto samples = junction_tree_samples(network, evidence.view(), n_samples, 1, {});
  const Marginals exact = enumerate_marginals(network, evidence.view(), {});
  const auto offsets = value_offsets(network.schema());
  for (std::size_t r = 0; r < 3; ++r) {
    std::vector<double> share(offsets.back(), 0.0);
    for (std::size_t s = 0; s < n_samples; ++s)
      for (std::size_t v = 0; v < n; ++v)
        share[offsets[v] + static_cast<std::size_t>(samples[(r * n_samples + s) * n + v])] +=
            1.0 / n_samples;
    for (std::size_t i = 0; i < share.size(); ++i) {
      const double p = exact.row(r)[i];
      CHECK(std::abs(share[i] - p) < 5 * std::sqrt(p * (1 - p) / n_samples) + 1e-9);
    }
  }
  for (const int threads : {1, 2})
    CHECK(junction_tree_samples(network, evidence.view(), 50, 1, {}, {threads, nullptr}) ==
          junction_tree_samples(network, evidence.view(), 50, 1, {}));
  CHECK(junction_tree_samples(network, evidence.view(), 50, 1, {}) !=
        junction_tree_samples(network, evidence.view(), 50, 2, {}));
}

TEST_CASE("a stop throws, a time limit leaves rows not done") {
  Dice dice(9);
  const MarkovNetwork network = ising_grid(dice, 6, 6, 1, 1);
  const Codes codes(36 * 20, kUnknown);
  StopAfter monitor(30);
  CHECK_THROWS_AS(junction_tree_marginals(network, {codes, {}}, {}, {1, &monitor}), Interrupted);
  StopAfter sampling(80);
  CHECK_THROWS_AS(junction_tree_samples(network, {codes, {}}, 100, 1, {}, {1, &sampling}),
                  Interrupted);
  const Marginals late = junction_tree_marginals(network, {codes, {}}, {.max_seconds = 1e-9});
  for (std::size_t r = 0; r < 20; ++r) {
    CHECK(late.rows[r].status == RowStatus::not_done);
    CHECK(std::isnan(late.log_partitions[r]));
    CHECK(std::isnan(late.row(r)[0]));
  }
}

}  // namespace test_junction_tree
