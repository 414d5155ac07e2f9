// infer/elimination.hpp: orders, costs known by theory, limits.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <vector>

#include <feldspar/infer/elimination.hpp>

#include "support/random_networks.hpp"
#include "support/stop_after.hpp"

namespace test_elimination {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

MarkovNetwork pairs_on(const std::vector<Edge>& edges, std::size_t n) {
  FeatureSetBuilder builder(binary_schema(n));
  for (const auto& [a, b] : edges)
    builder.add(std::vector<Variable>{a, b}, std::vector<Value>{1, 1});
  const std::size_t n_features = builder.size();
  return {std::move(builder).finish(), std::vector<double>(n_features, 1.0)};
}

EliminationCost cost_of(const std::vector<Edge>& edges, std::size_t n) {
  return eliminate_by_min_fill(pairs_on(edges, n).features()).cost;
}

std::vector<std::set<Variable>> adjacency(const FeatureSet& features) {
  std::vector<std::set<Variable>> adjacent(features.schema().n_variables());
  for (FeatureId j = 0; j < features.size(); ++j)
    for (const Test a : features[j])
      for (const Test b : features[j])
        if (a.variable != b.variable) adjacent[a.variable].insert(b.variable);
  return adjacent;
}

// Eliminates v by the definition.
void connect_around(std::vector<std::set<Variable>>& adjacent, Variable v) {
  for (const Variable a : adjacent[v]) {
    adjacent[a].insert(adjacent[v].begin(), adjacent[v].end());
    adjacent[a].erase(a);
    adjacent[a].erase(v);
  }
}

}  // namespace

TEST_CASE("trees have width 2: one table of four a connection") {
  for (const auto& edges : {chain_edges(20), star_edges(20)}) {
    const EliminationCost cost = cost_of(edges, 20);
    CHECK(cost.width == 2);
    CHECK(cost.table_entries == 4 * 19);
    CHECK(cost.complete);
  }
}

TEST_CASE("known widths: cycle, grid, complete graph, nothing") {
  auto cycle = chain_edges(12);
  cycle.push_back({0, 11});
  CHECK(cost_of(cycle, 12).width == 3);
  CHECK(cost_of(cycle, 12).table_entries == 10 * 8);
  CHECK(cost_of(grid_edges(3, 20), 60).width == 4);
  CHECK(cost_of(all_edges(9), 9).width == 9);
  CHECK(cost_of(all_edges(9), 9).table_entries == 512);
  CHECK(cost_of({}, 5).width == 1);
  CHECK(cost_of({}, 5).table_entries == 10);
  CHECK(cost_of({}, 0).table_entries == 0);
}

TEST_CASE("every variable goes once, and each step names all neighbours it then has") {
  for (const auto& [name, network, is_forest] : small_networks(1)) {
    CAPTURE(name);
    auto adjacent = adjacency(network.features());
    std::set<Variable> gone;
    for (const auto& [v, neighbours] : eliminate_by_min_fill(network.features()).steps) {
      CHECK(gone.insert(v).second);
      CHECK(std::ranges::equal(neighbours, adjacent[v]));
      connect_around(adjacent, v);
    }
    CHECK(gone.size() == network.schema().n_variables());
  }
}

TEST_CASE("each step adds the fewest connections") {
  Dice dice(2);
  for (const MarkovNetwork& network :
       {pairs_on(grid_edges(5, 6), 30), higher_order_network(dice, binary_schema(14), 14, 3, 1),
        higher_order_network(dice, binary_schema(30), 60, 3, 1)}) {
    auto adjacent = adjacency(network.features());
    const auto fill = [&](Variable v) {
      std::size_t missing = 0;
      for (const Variable a : adjacent[v])
        for (const Variable b : adjacent[v]) missing += a < b && !adjacent[a].contains(b);
      return missing;
    };
    std::set<Variable> open;
    for (Variable v = 0; v < adjacent.size(); ++v) open.insert(v);
    for (const auto& [v, neighbours] : eliminate_by_min_fill(network.features()).steps) {
      for (const Variable other : open) CHECK(fill(v) <= fill(other));
      open.erase(v);
      connect_around(adjacent, v);
    }
  }
}

TEST_CASE("a limit ends the search early and says so") {
  const MarkovNetwork network = pairs_on(all_edges(200), 200);
  const Elimination elimination = eliminate_by_min_fill(network.features(), 1e6);
  CHECK_FALSE(elimination.cost.complete);
  CHECK(elimination.cost.width == 200);
  CHECK(elimination.cost.table_entries > 1e6);
  CHECK(elimination.steps.size() == 1);
}

TEST_CASE("evidence takes variables out of the graph") {
  const MarkovNetwork network = pairs_on(grid_edges(10, 10), 100);
  Codes codes(100, kUnknown);
  CHECK(elimination_cost(network, codes, 1e9).width >= 10);
  for (std::size_t c = 0; c < 10; ++c)
    for (std::size_t r = 1; r < 10; r += 2) codes[r * 10 + c] = 0;
  const EliminationCost cost = elimination_cost(network, codes, 1e9);
  CHECK(cost.width == 2);
  CHECK(cost.table_entries == 5 * 9 * 4);
  CHECK_THROWS_WITH_AS(elimination_cost(network, Codes(200, kUnknown), 1e9),
                       doctest::Contains("expected one row"), InvalidInput);
}

TEST_CASE("the costs of many rows are those of each") {
  Dice dice(3);
  const MarkovNetwork network = higher_order_network(dice, binary_schema(12), 40, 4, 1);
  const RandomEvidence evidence = random_evidence(dice, network.schema(), 30, 0.4, false);
  for (const int threads : {1, 2}) {
    const auto costs = elimination_costs(network, evidence.codes, 1e9, {threads, nullptr});
    REQUIRE(costs.size() == 30);
    for (std::size_t r = 0; r < 30; ++r) {
      const EliminationCost cost =
          elimination_cost(network, evidence.row(network.schema(), r).codes, 1e9);
      CHECK(costs[r].width == cost.width);
      CHECK(costs[r].table_entries == cost.table_entries);
    }
  }
  CHECK(elimination_costs(network, {}, 1e9).empty());
}

TEST_CASE("a stop throws") {
  StopAfter monitor(3);
  CHECK_THROWS_AS(eliminate_by_min_fill(pairs_on(chain_edges(20), 20).features(), 1e9,
                                        StopSign(Execution{1, &monitor})),
                  Interrupted);
}

}  // namespace test_elimination
