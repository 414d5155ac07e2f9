// learn/dn2mn.hpp: the paper's examples, exactness for consistent networks, and averages against
// equation 4 taken literally.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <vector>

#include <feldspar/learn/dn2mn.hpp>

#include "support/brute_force.hpp"
#include "support/compare.hpp"
#include "support/dependency_networks.hpp"
#include "support/random_models.hpp"
#include "support/stop_after.hpp"

namespace test_dn2mn {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

using Order = std::vector<Variable>;

constexpr Orders kAllOrders[] = {Orders::one, Orders::opposite, Orders::rotations,
                                 Orders::opposite_rotations};

// Conjunctions written down by value sets, for comparison.
using Named = std::map<Variable, std::vector<Value>>;

std::map<Named, double> named(const MarkovNetwork& network) {
  std::map<Named, double> result;
  for (FeatureId j = 0; j < network.features().size(); ++j) {
    Named tests;
    for (const Test test : network.features()[j]) {
      const auto values = network.features().values(test.values);
      tests[test.variable] = {values.begin(), values.end()};
    }
    result[tests] = network.weights()[j];
  }
  return result;
}

void check_equal(const std::map<Named, double>& got, const std::map<Named, double>& expected) {
  CHECK(got.size() == expected.size());
  for (const auto& [tests, weight] : expected) {
    REQUIRE(got.count(tests) == 1);
    CHECK(got.at(tests) == doctest::Approx(weight));
  }
}

struct Term {
  Named tests;
  double weight;
};

LogLinearConditional conditional_of(const Schema& schema, Variable target,
                                    const std::vector<Term>& terms) {
  FeatureSetBuilder builder(schema);
  std::vector<double> weights;
  for (const Term& term : terms) {
    std::vector<Variable> variables;
    std::vector<std::size_t> begin{0};
    std::vector<Value> values;
    for (const auto& [variable, admitted] : term.tests) {
      variables.push_back(variable);
      values.insert(values.end(), admitted.begin(), admitted.end());
      begin.push_back(values.size());
    }
    builder.add(variables, begin, values);
    weights.push_back(term.weight);
  }
  return {target, MarkovNetwork(std::move(builder).finish(), std::move(weights))};
}

// All variables but `target` are uniform whatever the others are.
DependencyNetwork only(const Schema& schema, Variable target, const std::vector<Term>& terms) {
  std::vector<Conditional> conditionals;
  for (Variable v = 0; v < schema.n_variables(); ++v)
    conditionals.emplace_back(conditional_of(schema, v, v == target ? terms : std::vector<Term>{}));
  return {schema, std::move(conditionals)};
}

// Two binary variables, given P(X_1 = T | X_2 = T), P(X_1 = T | X_2 = F), and the same for X_2.
DependencyNetwork two_variables(double p1_t, double p1_f, double p2_t, double p2_f) {
  const Schema schema({2, 2});
  const auto tree = [&](Variable target, double if_true, double if_false) {
    const std::vector<double> p{0.5, 0.5, 1 - if_true, if_true, 1 - if_false, if_false};
    std::vector<double> logs;
    for (const double x : p) logs.push_back(std::log(x));
    return DecisionTree(schema, target, {{1 - target, 1, 1, 2, 1.0}, {}, {}}, std::move(logs));
  };
  return {schema, {tree(0, p1_t, p1_f), tree(1, p2_t, p2_f)}};
}

// The mean over orders and base states of the logarithm of equation 4, for every state.
std::vector<double> mean_log_ratios(const DependencyNetwork& network,
                                    const std::vector<Order>& orders,
                                    const ProductDistribution& base) {
  const std::size_t n = network.schema().n_variables();
  const Codes states = all_states(network.schema());
  std::vector<double> result;
  for (std::size_t r = 0; r < states.size() / n; ++r) {
    double sum = 0;
    for (std::size_t b = 0; b < states.size() / n; ++b) {
      const CodeRow start = row_of(states, n, b);
      double chance = 1;
      for (Variable v = 0; v < n; ++v) chance *= base[v][static_cast<std::size_t>(start[v])];
      if (chance == 0) continue;
      for (const Order& order : orders) {
        Codes z(row_of(states, n, r).begin(), row_of(states, n, r).end());
        for (const Variable t : order) {
          const auto p = local_conditional(network, z, t);
          sum +=
              chance * (p[static_cast<std::size_t>(z[t])] - p[static_cast<std::size_t>(start[t])]);
          z[t] = start[t];
        }
      }
    }
    result.push_back(sum / static_cast<double>(orders.size()));
  }
  return result;
}

std::vector<Order> explicit_orders(Orders kind, const Order& base) {
  std::vector<Order> orders{base};
  if (kind == Orders::opposite || kind == Orders::opposite_rotations)
    orders.emplace_back(base.rbegin(), base.rend());
  if (kind == Orders::one || kind == Orders::opposite) return orders;
  std::vector<Order> rotated;
  for (const Order& order : orders)
    for (std::size_t i = 0; i < order.size(); ++i) {
      rotated.push_back(order);
      std::ranges::rotate(rotated.back(), rotated.back().begin() + static_cast<std::ptrdiff_t>(i));
    }
  return rotated;
}

// Log-probabilities are known but for a constant: make them those of a distribution.
std::vector<double> normalized(std::vector<double> logs) {
  const double total = log_sum_exp(logs);
  for (double& x : logs) x = std::exp(x - total);
  return logs;
}

ProductDistribution random_base(Dice& dice, const Schema& schema) {
  std::vector<double> probabilities;
  for (const Value c : schema.cardinalities()) {
    std::vector<double> p = dice.numbers(c, 0.1, 1.0);
    const double sum = std::accumulate(p.begin(), p.end(), 0.0);
    for (const double x : p) probabilities.push_back(x / sum);
  }
  return {schema, std::move(probabilities)};
}

}  // namespace

TEST_CASE("section 4.1: a consistent network of two variables") {
  const DependencyNetwork network = two_variables(4.0 / 5, 2.0 / 5, 2.0 / 3, 1.0 / 4);
  const std::vector<double> expected{0.3, 0.1, 0.2, 0.4};  // FF, FT, TF, TT
  for (const Orders orders : kAllOrders)
    for (const Order& order : {Order{0, 1}, Order{1, 0}})
      for (const Codes& state : {Codes{1, 1}, Codes{1, 0}, Codes{0, 1}, Codes{0, 0}}) {
        const auto base = ProductDistribution::point(network.schema(), state);
        CHECK(distance(joint(dn2mn(network, base, {orders, order})), expected) < 1e-14);
      }
}

TEST_CASE("section 4.1: the factors for x' = [T, T] and o = [1, 2]") {
  const DependencyNetwork network = two_variables(4.0 / 5, 2.0 / 5, 2.0 / 3, 1.0 / 4);
  const auto base = ProductDistribution::point(network.schema(), Codes{1, 1});
  const MarkovNetwork converted = dn2mn(network, base, {Orders::one, {}});
  // phi_1 phi_2 over FF, FT, TF, TT, relative to TT as in the paper's tables.
  const std::vector<double> expected{1.5 * 0.5, 0.25, 0.5, 1};
  const Codes states = all_states(network.schema());
  std::vector<double> got;
  for (std::size_t r = 0; r < 4; ++r)
    got.push_back(log_potential(converted.features(), converted.weights(), row_of(states, 2, r)));
  for (std::size_t r = 0; r < 4; ++r)
    CHECK(std::exp(got[r] - got[3]) == doctest::Approx(expected[r]));
}

TEST_CASE("section 4.2: conjunctive features are simplified") {
  const Schema schema({2, 2, 2, 2});
  const double w1 = 0.3, w2 = -1.1, w3 = 0.7;
  // X_1, X_2, X_4 are variables 0, 1, 3 here.
  const DependencyNetwork network = only(schema, 1,
                                         {{{{0, {1}}, {1, {0}}, {3, {1}}}, w1},
                                          {{{0, {1}}, {1, {1}}}, w2},
                                          {{{1, {1}}, {3, {0}}}, w3}});
  const auto base = ProductDistribution::point(schema, Codes{1, 1, 1, 1});
  // As printed: X_3 and X_4 fixed, which is the order from the last to the first.
  check_equal(named(dn2mn(network, base, {Orders::one, {3, 2, 1, 0}})),
              {{{{0, {1}}, {1, {0}}}, w1}, {{{0, {1}}, {1, {1}}}, w2}, {{{0, {1}}}, -w2}});
  // In the order of equation 4, X_1 is fixed.
  check_equal(named(dn2mn(network, base, {Orders::one, {}})), {{{{1, {0}}, {3, {1}}}, w1},
                                                               {{{1, {1}}}, w2},
                                                               {{{1, {1}}, {3, {0}}}, w3},
                                                               {{{3, {0}}}, -w3}});
}

TEST_CASE("section 5: an inconsistent network depends on the base state") {
  const DependencyNetwork network = two_variables(4.0 / 5, 1.0 / 5, 1.0 / 5, 4.0 / 5);
  const auto converted = [&](const Codes& state) {
    return joint(
        dn2mn(network, ProductDistribution::point(network.schema(), state), {Orders::one, {}}));
  };
  const std::vector<double> from_true{64.0 / 85, 1.0 / 85, 16.0 / 85, 4.0 / 85};
  const std::vector<double> from_false{4.0 / 85, 16.0 / 85, 1.0 / 85, 64.0 / 85};
  CHECK(distance(converted({1, 1}), from_true) < 1e-14);
  CHECK(distance(converted({0, 0}), from_false) < 1e-14);
  // "To obtain a uniform distribution, we must average."
  const auto uniform = ProductDistribution::uniform(network.schema());
  CHECK(distance(joint(dn2mn(network, uniform, {Orders::opposite, {}})),
                 std::vector<double>(4, 0.25)) < 1e-14);
}

TEST_CASE("section 5.1: a removed test of a binary variable halves the weight") {
  const Schema schema({2, 2, 2});
  const DependencyNetwork network = only(schema, 2, {{{{0, {1}}, {1, {1}}, {2, {1}}}, 1.0}});
  check_equal(named(dn2mn(network, ProductDistribution::uniform(schema), {Orders::one, {}})),
              {{{{2, {1}}}, 0.25}});  // the denominator has no test left
  check_equal(named(dn2mn(network, ProductDistribution::uniform(schema), {Orders::one, {2, 0, 1}})),
              {{{{0, {1}}, {1, {1}}, {2, {1}}}, 1.0}, {{{0, {1}}, {1, {1}}}, -0.5}});
}

TEST_CASE("section 5.2: all rotations, X_4 & X_6 & X_7 & X_13 in the conditional of X_7") {
  constexpr std::size_t kVariables = 20;
  const Schema schema = binary_schema(kVariables);
  const Named all{{3, {1}}, {5, {1}}, {6, {1}}, {12, {1}}};
  const DependencyNetwork network = only(schema, 6, {{all, 1.0}});
  const auto base = ProductDistribution::point(schema, Codes(kVariables, 1));
  const double n = kVariables;
  const auto got = named(dn2mn(network, base, {Orders::rotations, {}}));
  check_equal(got, {{all, 1 / n},
                    {{{3, {1}}, {6, {1}}, {12, {1}}}, 2 / n},
                    {{{6, {1}}, {12, {1}}}, (4 + (n - 13)) / n},
                    {{{6, {1}}}, 6 / n},
                    // and the denominators, X_7 at its base value
                    {{{3, {1}}, {5, {1}}, {12, {1}}}, -1 / n},
                    {{{3, {1}}, {12, {1}}}, -2 / n},
                    {{{12, {1}}}, -(4 + (n - 13)) / n}});
}

TEST_CASE("a consistent network becomes its joint distribution: every order, every base state") {
  for (const auto& cardinalities : {std::vector<Value>{2, 2, 2, 2}, {3, 2, 4}, {2, 1, 3, 2}}) {
    Dice dice(31 + cardinalities.size());
    const MarkovNetwork truth = random_network(dice, Schema(cardinalities), 12, 4);
    const std::vector<double> expected = joint(truth);
    const Codes states = all_states(truth.schema());
    const std::size_t n = cardinalities.size();
    for (const Form form : {Form::terms, Form::trees, Form::mixed}) {
      const DependencyNetwork network = consistent(truth, form);
      Order order(n);
      std::iota(order.begin(), order.end(), Variable{0});
      double worst = 0;
      do {
        for (std::size_t b = 0; b < states.size() / n; ++b) {
          const auto base = ProductDistribution::point(truth.schema(), row_of(states, n, b));
          for (const Orders orders : kAllOrders)
            worst =
                std::max(worst, distance(joint(dn2mn(network, base, {orders, order})), expected));
        }
      } while (std::ranges::next_permutation(order).found);
      CHECK(worst < 1e-12);
    }
  }
}

TEST_CASE("a consistent network becomes its joint distribution under any base distribution") {
  Dice dice(5);
  const MarkovNetwork truth = random_network(dice, Schema({3, 2, 2, 4}), 15, 4);
  for (const Orders orders : kAllOrders)
    for (const auto& base :
         {ProductDistribution::uniform(truth.schema()), random_base(dice, truth.schema())})
      CHECK(distance(joint(dn2mn(consistent(truth, Form::mixed), base, {orders, {2, 0, 3, 1}})),
                     joint(truth)) < 1e-12);
}

TEST_CASE("averages equal the mean of equation 4 over explicit orders and base states") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    const Schema schema = random_schema(dice, 5, 1, 3);
    const DependencyNetwork network = inconsistent(dice, schema);
    Order order(5);
    std::iota(order.begin(), order.end(), Variable{0});
    if (seed % 2 == 0) dice.shuffle(order);
    const Codes state = random_codes(dice, schema, 1);
    for (const auto& base : {ProductDistribution::point(schema, state), random_base(dice, schema)})
      for (const Orders orders : kAllOrders) {
        const auto expected = mean_log_ratios(network, explicit_orders(orders, order), base);
        CHECK(distance(joint(dn2mn(network, base, {orders, order})), normalized(expected)) < 1e-12);
      }
  }
}

TEST_CASE("features are sub-conjunctions, merged, and none has weight zero") {
  const Schema schema({2, 2});
  // Both conditionals have the term X_0 = 1 & X_1 = 1.
  const Term term{{{0, {1}}, {1, {1}}}, 1.5};
  const DependencyNetwork both(
      schema, {conditional_of(schema, 0, {term}), conditional_of(schema, 1, {term})});
  const auto base = ProductDistribution::point(schema, Codes{0, 0});
  check_equal(named(dn2mn(both, base, {Orders::opposite, {}})), {{term.tests, 1.5}});
  // In the order 0, 1 the terms are X_0 = 1 & X_1 = 1 and, of X_1, X_1 = 1 where X_0 = 1 at the base.
  const DependencyNetwork against(
      schema, {conditional_of(schema, 0, {{{{0, {1}}, {1, {1}}}, 2.0}}),
               conditional_of(schema, 1, {{{{1, {1}}}, 0.5}, {{{0, {1}}, {1, {1}}}, 1.5}})});
  const auto at_one = ProductDistribution::point(schema, Codes{1, 0});
  check_equal(named(dn2mn(against, at_one, {Orders::one, {}})),
              {{{{0, {1}}, {1, {1}}}, 2.0}});  // X_1 = 1: 0.5 + 1.5 - 2.0 = 0
}

TEST_CASE("leaves that no row reaches and variables with one value leave no trace") {
  const Schema schema({2, 1});
  const double half = std::log(0.5), most = std::log(0.8), least = std::log(0.2);
  // X_1 = 0 always holds: the second leaf is never reached.
  const DecisionTree first(schema, 0, {{1, 0, 1, 2, 1.0}, {}, {}},
                           {half, half, least, most, most, least});
  const DecisionTree second(schema, 1, {{}}, {0.0});
  const auto base = ProductDistribution::uniform(schema);
  check_equal(named(dn2mn({schema, {first, second}}, base, {})),
              {{{{0, {0}}}, least}, {{{0, {1}}}, most}});
}

TEST_CASE("orders have names") {
  CHECK(orders_named("one") == Orders::one);
  CHECK(orders_named("opposite") == Orders::opposite);
  CHECK(orders_named("rotations") == Orders::rotations);
  CHECK(orders_named("opposite-rotations") == Orders::opposite_rotations);
  CHECK_THROWS_WITH_AS(orders_named("two"),
                       "orders: expected 'one', 'opposite', 'rotations' or 'opposite-rotations', "
                       "got 'two'",
                       InvalidInput);
}

TEST_CASE("what does not fit is refused") {
  Dice dice(3);
  const DependencyNetwork network = inconsistent(dice, Schema({2, 3}));
  const auto base = ProductDistribution::uniform(network.schema());
  for (const Order& order : {Order{0}, Order{0, 0}, Order{0, 2}, Order{0, 1, 2}})
    CHECK_THROWS_AS(dn2mn(network, base, {Orders::one, order}), InvalidInput);
  CHECK_THROWS_WITH_AS(dn2mn(network, base, {Orders::one, {1}}),
                       "base_order must name each of the 2 variables once, got 1 entries that do "
                       "not",
                       InvalidInput);
  CHECK_THROWS_AS(dn2mn(network, ProductDistribution::uniform(Schema({3, 2})), {}), InvalidInput);
}

TEST_CASE("a conversion can be stopped") {
  Dice dice(4);
  const DependencyNetwork network = inconsistent(dice, Schema({2, 3, 2}));
  StopAfter one_variable(1);
  CHECK_THROWS_AS(
      dn2mn(network, ProductDistribution::uniform(network.schema()), {}, {1, &one_variable}),
      Interrupted);
}

}  // namespace test_dn2mn
