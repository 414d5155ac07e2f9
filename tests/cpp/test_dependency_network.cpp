// model/dependency_network.hpp, dependency_conditionals.hpp, conditional_terms.hpp and
// flat_dependency_network.hpp against conditionals one row at a time.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <feldspar/model/conditional_terms.hpp>
#include <feldspar/model/conditionals.hpp>
#include <feldspar/model/dependency_conditionals.hpp>
#include <feldspar/model/dependency_network.hpp>
#include <feldspar/model/flat_dependency_network.hpp>

#include "support/brute_force.hpp"
#include "support/compare.hpp"
#include "support/dependency_networks.hpp"
#include "support/random_models.hpp"
#include "support/stop_after.hpp"

namespace test_dependency_network {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

std::vector<double> naive_log_conditionals(const DependencyNetwork& network, const Codes& codes) {
  const std::size_t n = network.schema().n_variables();
  std::vector<double> result;
  for (std::size_t r = 0; r < codes.size() / n; ++r)
    for (Variable v = 0; v < n; ++v) {
      const auto p = local_conditional(network, row_of(codes, n, r), v);
      result.insert(result.end(), p.begin(), p.end());
    }
  return result;
}

MarkovNetwork no_terms(const Schema& schema) { return {FeatureSetBuilder(schema).finish(), {}}; }

MarkovNetwork one_term(const Schema& schema, std::vector<Variable> variables,
                       std::vector<Value> values) {
  FeatureSetBuilder builder(schema);
  builder.add(variables, values);
  return {std::move(builder).finish(), {1.0}};
}

DecisionTree coin(const Schema& schema, Variable target, double p = 0.5) {
  return {schema, target, {{}}, {std::log(1 - p), std::log(p)}};
}

}  // namespace

TEST_CASE("conditionals of complete rows equal those of one row at a time") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    const Schema schema = random_schema(dice, 6, 1, seed % 2 == 0 ? 2 : 5);
    const DependencyNetwork network = inconsistent(dice, schema);
    const Codes codes = random_codes(dice, schema, 100);
    CHECK(distance(log_conditionals(network, codes), naive_log_conditionals(network, codes)) <
          1e-13);
  }
}

TEST_CASE("the conditionals of a Markov network are the same in every form") {
  Dice dice(17);
  const MarkovNetwork truth = random_network(dice, Schema({2, 3, 2, 4}), 20, 4);
  const Codes states = all_states(truth.schema());
  for (const Form form : {Form::terms, Form::trees, Form::mixed})
    CHECK(distance(log_conditionals(consistent(truth, form), states),
                   log_conditionals(truth, states)) < 1e-13);
}

TEST_CASE("many rows have the same bits for any number of threads; observed ones are among them") {
  Dice dice(23);
  const Schema schema = random_schema(dice, 5, 1, 4);
  const DependencyNetwork network = inconsistent(dice, schema);
  const Codes codes = random_codes(dice, schema, 2500);  // more than a block of work
  const auto all = log_conditionals(network, codes, {.n_threads = 1});
  const auto observed = observed_log_conditionals(network, codes, {.n_threads = 1});
  CHECK(distance(all, naive_log_conditionals(network, codes)) < 1e-13);
  const auto offsets = value_offsets(schema);
  std::vector<double> picked;
  for (std::size_t i = 0; i < codes.size(); ++i)
    picked.push_back(
        all[i / 5 * offsets.back() + offsets[i % 5] + static_cast<std::size_t>(codes[i])]);
  CHECK(same_bits(observed, picked));
  for (const int threads : {2, 3, 8}) {
    CHECK(same_bits(log_conditionals(network, codes, {.n_threads = threads}), all));
    CHECK(same_bits(observed_log_conditionals(network, codes, {.n_threads = threads}), observed));
  }
}

TEST_CASE("terms say what the conditional says") {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    const Schema schema = random_schema(dice, 5, 1, seed % 2 == 0 ? 2 : 4);
    const DependencyNetwork network = inconsistent(dice, schema);
    const Codes states = all_states(schema);
    for (Variable v = 0; v < 5; ++v) {
      const MarkovNetwork terms = conditional_terms(network, v);
      const bool tree = std::holds_alternative<DecisionTree>(network[v]);
      for (FeatureId j = 0; j < terms.features().size(); ++j)
        REQUIRE(std::ranges::count(terms.features()[j], v, &Test::variable) == 1);
      double worst = 0;
      for (std::size_t r = 0; r < states.size() / 5; ++r) {
        Codes state(row_of(states, 5, r).begin(), row_of(states, 5, r).end());
        const auto expected = local_conditional(network, state, v);
        std::vector<double> got;
        for (std::int32_t a = 0; a < schema.cardinality(v); ++a) {
          state[v] = a;
          got.push_back(log_potential(terms.features(), terms.weights(), state));
        }
        const double shift = tree ? 0 : log_sum_exp(got);  // a tree's need no normalization
        for (double& x : got) x -= shift;
        worst = std::max(worst, distance(got, expected));
      }
      CHECK(worst < 1e-13);
    }
  }
}

TEST_CASE("tests of one variable on a path become one set of values") {
  const Schema schema({2, 4});
  const double half = std::log(0.5);
  // X_1 = 1 ? . : (X_1 = 3 ? . : .)
  const DecisionTree tree(schema, 0, {{1, 1, 1, 2, 1.0}, {}, {1, 3, 3, 4, 1.0}, {}, {}},
                          std::vector<double>(10, half));
  const DependencyNetwork network(schema, {tree, LogLinearConditional(1, no_terms(schema))});
  const MarkovNetwork terms = conditional_terms(network, 0);
  REQUIRE(terms.features().size() == 6);
  const auto set_of = [&](FeatureId j) {
    const auto values = terms.features().values(terms.features()[j][1].values);
    return std::vector<Value>(values.begin(), values.end());
  };
  CHECK(set_of(0) == std::vector<Value>{1});
  CHECK(set_of(2) == std::vector<Value>{3});
  CHECK(set_of(4) == std::vector<Value>{0, 2});
}

TEST_CASE("parents are the variables that a conditional looks at") {
  const Schema schema({2, 2, 2, 2});
  const double half = std::log(0.5);
  FeatureSetBuilder builder(schema);
  builder.add(std::vector<Variable>{1, 3}, std::vector<Value>{1, 1});
  builder.add(std::vector<Variable>{0, 1}, std::vector<Value>{1, 1});
  builder.add(std::vector<Variable>{1, 2}, std::vector<Value>{1, 1});
  const DependencyNetwork network(
      schema,
      {DecisionTree(schema, 0, {{3, 1, 1, 4, 1.0}, {2, 1, 2, 3, 1.0}, {}, {}, {}},
                    std::vector<double>(10, half)),
       LogLinearConditional(1, MarkovNetwork(std::move(builder).finish(), {1.0, -1.0, 0.0})),
       coin(schema, 2), coin(schema, 3)});
  CHECK(parents(network, 0) == std::vector<Variable>{2, 3});
  CHECK(parents(network, 1) == std::vector<Variable>{0, 3});  // not 2: its weight is zero
  CHECK(parents(network, 2).empty());
}

TEST_CASE("flat arrays and back") {
  Dice dice(41);
  const Schema schema = random_schema(dice, 7, 1, 4);
  const DependencyNetwork network = inconsistent(dice, schema);
  const auto [trees, terms] = flatten(network);
  const DependencyNetwork again = build_dependency_network(schema, trees, terms);
  const Codes codes = random_codes(dice, schema, 300);
  CHECK(same_bits(log_conditionals(again, codes), log_conditionals(network, codes)));
  const auto [trees_again, terms_again] = flatten(again);
  CHECK(trees_again.log_probabilities == trees.log_probabilities);
  CHECK(trees_again.no == trees.no);
  CHECK(terms_again.conjunctions.values == terms.conjunctions.values);
  CHECK(terms_again.begin == terms.begin);
  for (Variable v = 0; v < 7; v += 2)
    CHECK(std::get<DecisionTree>(again[v]) == std::get<DecisionTree>(network[v]));
}

TEST_CASE("flat terms are merged, constants left out") {
  const Schema schema({2, 2});
  FlatTrees trees;
  FlatTerms terms;
  terms.targets = {1, 0};
  terms.begin = {0, 4, 4};
  terms.conjunctions.begin = {0, 1, 2, 4, 5};  // X_1=1; X_1=1; X_1=0 & X_1=1; X_1 in {0, 1}
  terms.conjunctions.variables = {1, 1, 1, 1, 1};
  terms.conjunctions.value_begin = {0, 1, 2, 3, 4, 6};
  terms.conjunctions.values = {1, 1, 0, 1, 0, 1};
  terms.weights = {0.5, 0.25, 7, 8};
  const DependencyNetwork network = build_dependency_network(schema, trees, terms);
  const auto& merged = std::get<LogLinearConditional>(network[1]).terms();
  CHECK(merged.weights() == std::vector<double>{0.75});
  CHECK(std::get<LogLinearConditional>(network[0]).terms().weights().empty());
}

TEST_CASE("flat arrays that do not fit are refused") {
  Dice dice(42);
  const Schema schema({2, 3, 2});
  const auto [trees, terms] = flatten(inconsistent(dice, schema));
  const auto refused = [&](auto change) {
    FlatTrees bad_trees = trees;
    FlatTerms bad_terms = terms;
    change(bad_trees, bad_terms);
    CHECK_THROWS_AS(build_dependency_network(schema, bad_trees, bad_terms), InvalidInput);
  };
  CHECK_NOTHROW(build_dependency_network(schema, trees, terms));
  refused([](FlatTrees& t, FlatTerms&) { t.targets[0] = 3; });
  refused([](FlatTrees& t, FlatTerms&) { t.targets.pop_back(); });
  refused([](FlatTrees& t, FlatTerms&) { t.node_begin.back() += 1; });
  refused([](FlatTrees& t, FlatTerms&) { t.node_begin.clear(); });
  refused([](FlatTrees& t, FlatTerms&) { t.gains.pop_back(); });
  refused([](FlatTrees& t, FlatTerms&) { t.log_probabilities.pop_back(); });
  refused([](FlatTrees& t, FlatTerms&) { t.log_probabilities.push_back(-1); });
  refused([](FlatTrees&, FlatTerms& t) { t.targets[0] = 0; });  // a second conditional
  refused([](FlatTrees&, FlatTerms& t) { t = FlatTerms(); });   // none
  refused([](FlatTrees&, FlatTerms& t) { t.targets[0] = 3; });
  refused([](FlatTrees&, FlatTerms& t) { t.weights.pop_back(); });
  refused([](FlatTrees&, FlatTerms& t) { t.begin.back() += 1; });
  refused([](FlatTrees&, FlatTerms& t) { t.begin.push_back(t.begin.back()); });
  refused([](FlatTrees&, FlatTerms& t) { t.conjunctions.values.push_back(0); });
  refused([](FlatTrees&, FlatTerms& t) { t.conjunctions.begin.clear(); });
}

TEST_CASE("what is no dependency network is refused") {
  const Schema schema({2, 2}), other({2, 3}), longer({2, 2, 2});
  const auto make = [&](std::vector<Conditional> conditionals) {
    return DependencyNetwork(schema, std::move(conditionals));
  };
  CHECK_NOTHROW(make({coin(schema, 0), coin(schema, 1)}));
  CHECK_THROWS_WITH_AS(make({coin(schema, 0)}),
                       "dependency network: got 1 conditionals for 2 variables", InvalidInput);
  CHECK_THROWS_WITH_AS(
      make({coin(schema, 0), coin(schema, 0)}),
      "dependency network: conditional 1 is that of variable 0; expected variable 1", InvalidInput);
  const DecisionTree three(other, 1, {{}}, std::vector<double>(3, std::log(1.0 / 3)));
  CHECK_THROWS_WITH_AS(make({coin(schema, 0), three}),
                       "tree of variable 1: it has 3 values, the schema 2", InvalidInput);
  const DecisionTree far(longer, 0, {{2, 1, 1, 2, 1.0}, {}, {}},
                         std::vector<double>(6, std::log(0.5)));
  CHECK_THROWS_WITH_AS(make({far, coin(schema, 1)}),
                       "tree of variable 0: node 0 splits on variable 2, value 1, which the schema "
                       "does not have",
                       InvalidInput);
  const DecisionTree loose(schema, 0, {{}}, {std::log(0.5), std::log(0.25)});
  CHECK_THROWS_WITH_AS(make({loose, coin(schema, 1)}),
                       "tree of variable 0: the probabilities of leaf 0 add up to 0.75; expected 1",
                       InvalidInput);
  CHECK_THROWS_WITH_AS(make({LogLinearConditional(0, no_terms(other)), coin(schema, 1)}),
                       "terms of variable 0: they have another schema than the network",
                       InvalidInput);
  CHECK_THROWS_WITH_AS(LogLinearConditional(0, one_term(schema, {1}, {1})),
                       "terms of variable 0: term 0 does not test it; expected a test of the "
                       "variable whose conditional it belongs to",
                       InvalidInput);
  CHECK_THROWS_AS(LogLinearConditional(2, no_terms(schema)), InvalidInput);
}

TEST_CASE("rows that do not fit are refused, and a stop leaves no half-filled result") {
  Dice dice(43);
  const Schema schema({2, 3, 2});
  const DependencyNetwork network = inconsistent(dice, schema);
  CHECK_THROWS_WITH_AS(log_conditionals(network, Codes{0, 0, 0, 0, 3, 0}),
                       "row 1, variable 1: code 3 is out of range; expected a code from 0 to 2",
                       InvalidInput);
  CHECK_THROWS_AS(observed_log_conditionals(network, Codes{0, -1, 0}), InvalidInput);
  const Codes codes = random_codes(dice, schema, 2500);
  StopAfter one_block(1);
  CHECK_THROWS_AS(log_conditionals(network, codes, {1, &one_block}), Interrupted);
  StopAfter at_once(0);
  CHECK_THROWS_AS(observed_log_conditionals(network, codes, {1, &at_once}), Interrupted);
}

}  // namespace test_dependency_network
