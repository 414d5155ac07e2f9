// infer/factor_graph.hpp: the factors of a graph multiply to the network; which become tables.
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include <feldspar/infer/factor_graph.hpp>
#include <feldspar/infer/factor_neighbours.hpp>

#include "support/brute_force.hpp"
#include "support/random_networks.hpp"

namespace test_factor_graph {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

bool passes_literal(const Literals& literals, LiteralId l, CodeRow state) {
  const auto values = literals.values(l);
  return std::ranges::count(values, static_cast<Value>(state[literals.variable(l)])) > 0;
}

// The log of the factor in one lane of a pack.
double log_factor(const FactorGraph& graph, const FactorPack& pack, std::size_t lane,
                  CodeRow state) {
  const double* c = graph.coefficients().data() + pack.first_coefficient + lane;
  std::size_t index = 0;
  for (std::size_t i = 0; i < pack.length; ++i) {
    const LiteralId l = graph.edge_literals()[(pack.first_edge + i) * kPackSize + lane];
    index = 2 * index + passes_literal(graph.layout().literals(), l, state);
  }
  const std::size_t size = std::size_t{1} << pack.length;
  if (pack.kind == FactorPack::Kind::table) {
    CHECK(std::exp(c[(1 + size + index) * kPackSize]) ==
          doctest::Approx(c[(1 + index) * kPackSize]).epsilon(1e-13));
    return c[0] + c[(1 + size + index) * kPackSize];
  }
  const bool all = index == size - 1;
  if (pack.kind == FactorPack::Kind::conjunction) {
    CHECK(std::log(c[(all ? kYes : kNo) * kPackSize]) + c[kShift * kPackSize] ==
          doctest::Approx(all ? c[kWeight * kPackSize] : 0.0).epsilon(1e-12));
  }
  return all ? c[kWeight * kPackSize] : 0.0;
}

double log_potential_of_graph(const FactorGraph& graph, CodeRow state) {
  const auto& offsets = graph.layout().offsets();
  double sum = 0;
  for (std::size_t v = 0; v < state.size(); ++v)
    sum += graph.unary()[offsets[v] + static_cast<std::size_t>(state[v])];
  for (const FactorPack& pack : graph.packs())
    for (std::size_t lane = 0; lane < pack.n_factors; ++lane)
      sum += log_factor(graph, pack, lane, state);
  for (const TableFactor& table : graph.tables()) {
    std::size_t index = 0;
    for (const Variable v : table.layout->variables)
      index = index * graph.schema().cardinality(v) + static_cast<std::size_t>(state[v]);
    sum += graph.log_entries()[table.first_entry + index];
  }
  return sum;
}

FeatureSet on_pairs(const std::vector<Edge>& edges, std::size_t n) {
  FeatureSetBuilder builder(binary_schema(n));
  for (const auto& [a, b] : edges)
    for (const Value value : {Value{0}, Value{1}})
      builder.add(std::vector<Variable>{a, b}, std::vector<Value>{value, value});
  return std::move(builder).finish();
}

bool forest(const FeatureSet& features) {
  const FactorLayout layout(features);
  return is_forest(FactorGraph(layout, std::vector<double>(features.size(), 1.0)));
}

}  // namespace

TEST_CASE("the factors add up to the log-potential of every state") {
  for (const double strength : {1.5, 900.0})
    for (const auto& [name, network, is_forest_shape] : small_networks(1, strength)) {
      CAPTURE(name);
      Dice dice(3);
      auto weights = network.weights();
      for (double& w : weights)
        if (dice.chance(0.3)) w = 0;
      const FactorLayout layout(network.features());
      const FactorGraph graph(layout, weights);
      for (int round = 0; round < 20; ++round) {
        const Codes state = random_codes(dice, network.schema(), 1);
        CHECK(log_potential_of_graph(graph, state) ==
              doctest::Approx(log_potential(network.features(), weights, state)).epsilon(1e-12));
      }
    }
}

TEST_CASE("several features on two variables are one table, a single one stays a conjunction") {
  FeatureSetBuilder builder(Schema({2, 2, 3, 3}));
  builder.add(std::vector<Variable>{0, 1}, std::vector<Value>{0, 0});
  builder.add(std::vector<Variable>{0, 1}, std::vector<Value>{1, 1});
  builder.add(std::vector<Variable>{2, 3}, std::vector<Value>{0, 0});
  builder.add(std::vector<Variable>{2, 3}, std::vector<Value>{1, 2});
  builder.add(std::vector<Variable>{1, 2}, std::vector<Value>{1, 2});
  builder.add(std::vector<Variable>{3}, std::vector<Value>{2});
  const FactorLayout layout(std::move(builder).finish());
  REQUIRE(layout.tables().size() == 2);
  CHECK(layout.conjunctions() == std::vector<FeatureId>{4});
  CHECK(layout.unaries() == std::vector<FeatureId>{5});
  const FactorGraph graph(layout, std::vector<double>(6, 1.0));
  CHECK(graph.packs().size() == 2);   // the conjunction and the binary table
  CHECK(graph.tables().size() == 1);  // the other one
  CHECK(graph.n_factors() == 3);
  CHECK(graph.n_messages() == 2 + 2 + 6);
}

TEST_CASE("a table over three variables takes in what lies within it") {
  FeatureSetBuilder builder(binary_schema(4));
  const auto add = [&](std::vector<Variable> variables) {
    builder.add(variables, std::vector<Value>(variables.size(), 1));
  };
  add({0, 1, 2});
  add({0, 1});
  add({1, 2});
  add({2, 3});
  const FactorLayout layout(std::move(builder).finish());
  REQUIRE(layout.tables().size() == 1);
  CHECK(layout.tables()[0].variables == std::vector<Variable>{0, 1, 2});
  CHECK(layout.tables()[0].features == std::vector<FeatureId>{0, 1, 2});
  CHECK(layout.conjunctions() == std::vector<FeatureId>{3});
}

TEST_CASE("long features are never tables, and what has weight 0 is left out") {
  FeatureSetBuilder builder(binary_schema(30));
  std::vector<Variable> variables;
  for (Variable v = 0; v < 30; ++v) variables.push_back(v);
  for (const Value value : {Value{0}, Value{1}})
    builder.add(variables, std::vector<Value>(30, value));
  const FactorLayout layout(std::move(builder).finish());
  CHECK(layout.tables().empty());
  CHECK(FactorGraph(layout, std::vector<double>{1, 1}).n_messages() == 60);
  CHECK(FactorGraph(layout, std::vector<double>{1, 0}).n_messages() == 30);
  CHECK(FactorGraph(layout, std::vector<double>{0, 0}).n_factors() == 0);
}

TEST_CASE("forests are told from graphs with cycles") {
  CHECK(forest(on_pairs(chain_edges(8), 8)));
  CHECK(forest(on_pairs(star_edges(8), 8)));
  CHECK(forest(on_pairs({}, 3)));
  CHECK_FALSE(forest(on_pairs(grid_edges(2, 2), 4)));
  CHECK_FALSE(forest(on_pairs(all_edges(5), 5)));
}

TEST_CASE("neighbours are the variables of a variable's factors") {
  const FeatureSet features = on_pairs(grid_edges(2, 3), 6);
  const FactorLayout layout(features);
  const FactorGraph graph(layout, std::vector<double>(features.size(), 1.0));
  const FactorNeighbours factors(graph);
  CHECK(factors.size() == 7);
  CHECK(factors.most_variables() == 2);
  auto around = factors.neighbours_of(4);
  std::ranges::sort(around);
  CHECK(around == std::vector<Variable>{1, 3, 5});
  CHECK(factors.factors_of(4).size() == 3);
}

}  // namespace test_factor_graph
