// infer/most_probable.hpp: exact where it says so, never worse than its starts elsewhere.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <feldspar/infer/enumeration.hpp>
#include <feldspar/infer/most_probable.hpp>

#include "support/brute_force.hpp"
#include "support/random_networks.hpp"
#include "support/stop_after.hpp"

namespace test_most_probable {

using namespace feldspar;
using namespace feldspar::testing;
using enum MostProbableMethod;

namespace {

MostProbableOptions by(MostProbableMethod method) {
  MostProbableOptions options;
  options.method = method;
  return options;
}

double value_of(const MarkovNetwork& network, const RandomEvidence& evidence, std::size_t row,
                CodeRow state) {
  return detail::log_potential_of(network, state,
                                  evidence.row(network.schema(), row).log_likelihoods);
}

// A chain of n variables that want to be equal; the weights of the values 1 are `fields`.
MarkovNetwork chain(const std::vector<double>& fields, double strength) {
  const std::size_t n = fields.size();
  FeatureSetBuilder builder(binary_schema(n));
  std::vector<double> weights;
  for (Variable v = 0; v + 1 < n; ++v)
    for (Value a = 0; a < 2; ++a) {
      builder.add(std::vector<Variable>{v, v + 1}, std::vector<Value>{a, a});
      weights.push_back(strength);
    }
  for (Variable v = 0; v < n; ++v) {
    builder.add(std::vector<Variable>{v}, std::vector<Value>{1});
    weights.push_back(fields[v]);
  }
  return {std::move(builder).finish(), weights};
}

bool close(double a, double b) { return std::abs(a - b) <= 1e-10 * (1 + std::abs(b)); }

}  // namespace

TEST_CASE("what is proven is the best; values are those of the states; evidence is kept") {
  for (const double strength : {1.5, 60.0, 900.0})
    for (const auto& [name, network, is_forest] : small_networks(1, strength))
      for (const MostProbableMethod method : {automatic, junction_tree, max_product, icm}) {
        CAPTURE(name);
        CAPTURE(strength);
        CAPTURE(feldspar::name(method));
        Dice dice(7);
        const std::size_t n = network.schema().n_variables();
        const RandomEvidence evidence = random_evidence(dice, network.schema(), 5, 0.4, true);
        const Codes best = enumerate_most_probable(network, evidence.view(), {});
        const MostProbable result = most_probable(network, evidence.view(), by(method));
        for (std::size_t r = 0; r < 5; ++r) {
          const CodeRow state = row_of(result.states, n, r);
          for (std::size_t v = 0; v < n; ++v)
            if (const std::int32_t code = evidence.codes[r * n + v]; code != kUnknown)
              CHECK(state[v] == code);
          CHECK(close(result.log_potentials[r], value_of(network, evidence, r, state)));
          const double highest = value_of(network, evidence, r, row_of(best, n, r));
          if (result.proven[r]) CHECK(close(result.log_potentials[r], highest));
          if (method == junction_tree || method == automatic ||
              (is_forest && method == max_product))
            CHECK(result.proven[r] == 1);
          if (method == icm) CHECK(result.proven[r] == 0);
          CHECK(result.methods[r] == (method == automatic ? junction_tree : method));
        }
      }
}

TEST_CASE("ties: a state of the highest log-potential, the same every time") {
  FeatureSetBuilder builder(Schema({3, 3}));
  for (Value a = 0; a < 3; ++a) builder.add(std::vector<Variable>{0, 1}, std::vector<Value>{a, a});
  const MarkovNetwork network(std::move(builder).finish(), {1.0, 2.0, 2.0});
  const Codes nothing(2, kUnknown);
  for (const MostProbableMethod method : {junction_tree, max_product, icm}) {
    const MostProbable result = most_probable(network, {nothing, {}}, by(method));
    CHECK(result.states == most_probable(network, {nothing, {}}, by(method)).states);
    if (method == icm) continue;
    CHECK(result.log_potentials[0] == 2.0);
    CHECK(result.states[0] == result.states[1]);
  }
}

TEST_CASE("on a chain max-product proves the best state, be others as good or nearly so") {
  const auto check = [](const std::vector<double>& fields, double strength) {
    const MarkovNetwork network = chain(fields, strength);
    const Codes nothing(fields.size(), kUnknown);
    const MostProbable result = most_probable(network, {nothing, {}}, by(max_product));
    const Codes best = enumerate_most_probable(network, {nothing, {}}, {});
    const double highest = log_potential(network.features(), network.weights(), best);
    CHECK(result.proven[0] == 1);
    CHECK(result.log_potentials[0] >= highest - 1e-13 * (1 + std::abs(highest)));
    CHECK(result.rows[0].status == RowStatus::converged);
  };
  check({-0.25, 0.5, -0.25, 0.25, -0.5, 0.25}, 4);  // all 0 and all 1: both 20
  Dice dice(8);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> fields = dice.numbers(3 + dice.below(9), -0.5, 0.5);
    double sum = 0;
    for (const double h : fields) sum += h;
    // All 0 and all 1 differ by this much.
    fields[0] += (round % 2 == 0 ? 1 : -1) * std::pow(10.0, -5 - round % 6) - sum;
    check(fields, std::vector<double>{0.5, 1, 2, 4}[dice.below(4)]);
  }
}

TEST_CASE("long chains are proven whatever the iterations, long conjunctions too") {
  Dice dice(10);
  MostProbableOptions options = by(max_product);
  options.max_iterations = 3;
  const std::size_t n = 500;
  const MarkovNetwork network = chain(dice.numbers(n, -1, 1), 3);
  const Codes nothing(n, kUnknown);
  const MostProbable result = most_probable(network, {nothing, {}}, options);
  const MostProbable exact = most_probable(network, {nothing, {}}, by(junction_tree));
  CHECK(result.proven[0] == 1);
  CHECK(close(result.log_potentials[0], exact.log_potentials[0]));

  // Conjunctions of five and four tests that share one variable; ties by the coarse weights.
  for (int round = 0; round < 300; ++round) {
    const Schema schema = random_schema(dice, 8, 2, 3);
    FeatureSetBuilder builder(schema);
    std::vector<double> weights;
    const auto add = [&](std::vector<Variable> variables) {
      std::vector<Value> values;
      for (const Variable v : variables)
        values.push_back(static_cast<Value>(dice.below(schema.cardinality(v))));
      if (builder.add(variables, values).outcome == Added::new_feature)
        weights.push_back(0.5 * (static_cast<double>(dice.below(13)) - 6));
    };
    add({0, 1, 2, 3, 4});
    add({4, 5, 6, 7});
    for (Variable v = 0; v < 8; ++v) add({v});
    const MarkovNetwork small(std::move(builder).finish(), weights);
    const Codes unknown(8, kUnknown);
    const MostProbable found = most_probable(small, {unknown, {}}, by(max_product));
    const Codes best = enumerate_most_probable(small, {unknown, {}}, {});
    CHECK(found.proven[0] == 1);
    CHECK(close(found.log_potentials[0], log_potential(small.features(), small.weights(), best)));
  }
}

TEST_CASE("climbing never goes down and ends where no single change helps") {
  Dice dice(3);
  for (int round = 0; round < 30; ++round) {
    const Schema schema = random_schema(dice, 10, 1, 4);
    const MarkovNetwork network = higher_order_network(dice, schema, 60, 5, 2);
    const Literals literals(network.features());
    const ConjunctionGraph graph(network.features(), literals, network.weights());
    const Codes start = random_codes(dice, schema, 1);
    Climber climber(graph, {start.begin(), start.end()});
    const auto value = [&](CodeRow state) {
      return log_potential(network.features(), network.weights(), state);
    };
    CHECK(close(climber.log_potential(), value(start)));
    climber.climb(StopSign(Execution{}));
    Codes state(climber.state().begin(), climber.state().end());
    const double reached = value(state);
    CHECK(close(climber.log_potential(), reached));
    CHECK(reached >= value(start) - 1e-12);
    for (Variable v = 0; v < 10; ++v) {
      const std::int32_t kept = state[v];
      for (Value a = 0; a < schema.cardinality(v); ++a) {
        state[v] = a;
        CHECK(value(state) <= reached + 1e-10);
      }
      state[v] = kept;
    }
  }
}

TEST_CASE("more starts of icm never do worse") {
  Dice dice(4);
  const MarkovNetwork network = higher_order_network(dice, binary_schema(25), 150, 5, 2);
  const Codes nothing(25, kUnknown);
  double before = -1e300;
  for (const std::int32_t n_starts : {1, 2, 5, 20}) {
    MostProbableOptions options = by(icm);
    options.n_starts = n_starts;
    options.seed = 3;
    const MostProbable result = most_probable(network, {nothing, {}}, options);
    CHECK(result.log_potentials[0] >= before);
    CHECK(result.rows[0].iterations >= n_starts);
    before = result.log_potentials[0];
  }
}

// Features X_v = 1, ..., each with its variables and weight.
MarkovNetwork of_ones(std::size_t n,
                      const std::vector<std::pair<std::vector<Variable>, double>>& terms) {
  FeatureSetBuilder builder(binary_schema(n));
  std::vector<double> weights;
  for (const auto& [variables, weight] : terms) {
    builder.add(variables, std::vector<Value>(variables.size(), 1));
    weights.push_back(weight);
  }
  return {std::move(builder).finish(), weights};
}

TEST_CASE("climbing ends where rounding lets variables undo each other's gains") {
  enum : Variable { P, Q, X, Y };
  const MarkovNetwork network = of_ones(4, {{{P}, 3e17},
                                            {{Q}, 3e17},
                                            {{P, X}, 1e17},
                                            {{X, Y}, 3},
                                            {{Q, X}, -1e17},
                                            {{P, X, Y}, -1},
                                            {{X}, 0.5},
                                            {{Y}, -1}});
  const Codes nothing(4, kUnknown);
  const MostProbable found = most_probable(network, {nothing, {}}, by(icm));
  CHECK(found.states[P] == 1);
  CHECK(found.states[Q] == 1);
  CHECK(found.rows[0].iterations < 1000);
}

TEST_CASE("climbing goes on where gains do not show beside a large weight") {
  enum : Variable { A, B, C, P };
  const MarkovNetwork network =
      of_ones(4, {{{P}, 1e17}, {{A}, -1}, {{B}, -1}, {{C}, 1}, {{A, B}, 3}, {{B, C}, 2}});
  const Codes nothing(4, kUnknown);
  const MostProbable found = most_probable(network, {nothing, {}}, by(icm));
  CHECK(found.states == Codes{1, 1, 1, 1});
}

TEST_CASE("a climb that time cuts short has not converged") {
  const MarkovNetwork network =
      of_ones(3, {{{0}, -1}, {{1}, -1}, {{2}, 1}, {{0, 1}, 3}, {{1, 2}, 2}});
  const Literals literals(network.features());
  const ConjunctionGraph graph(network.features(), literals, network.weights());
  Climber climber(graph, {0, 0, 1});
  CHECK(climber.climb(StopSign(Execution{}, 1e-9)).status == RowStatus::time_limit);
  CHECK(climber.state() == std::vector<Value>{0, 1, 1});
  CHECK(climber.climb(StopSign(Execution{})).status == RowStatus::converged);
  CHECK(climber.state() == std::vector<Value>{1, 1, 1});
}

TEST_CASE("a state that all starts rate as impossible is a state") {
  FeatureSetBuilder builder(binary_schema(2));
  for (Variable v = 0; v < 2; ++v)
    for (Value a = 0; a < 2; ++a) builder.add(std::vector<Variable>{v}, std::vector<Value>{a});
  const MarkovNetwork network(std::move(builder).finish(), std::vector<double>(4, -1.5e308));
  const Codes nothing(2, kUnknown);
  const MostProbable found = most_probable(network, {nothing, {}}, by(icm));
  CHECK(found.states[0] >= 0);
  CHECK(std::isinf(found.log_potentials[0]));
}

TEST_CASE("automatic falls back to the better of two where the tree is too wide") {
  Dice dice(5);
  const MarkovNetwork network = pairwise_network(dice, binary_schema(14), all_edges(14), 1.5);
  const RandomEvidence evidence = random_evidence(dice, network.schema(), 6, 0.2, false);
  MostProbableOptions options = by(automatic);
  options.max_table_entries = 64;
  const MostProbable result = most_probable(network, evidence.view(), options);
  const MostProbable a = most_probable(network, evidence.view(), by(max_product));
  const MostProbable b = most_probable(network, evidence.view(), by(icm));
  CHECK(result.methods[0] != junction_tree);
  for (std::size_t r = 0; r < 6; ++r)
    if (result.methods[r] != junction_tree)
      CHECK(result.log_potentials[r] == std::max(a.log_potentials[r], b.log_potentials[r]));
  options.method = junction_tree;
  CHECK_THROWS_WITH_AS(most_probable(network, evidence.view(), options),
                       doctest::Contains("max_table_entries is 64"), InvalidInput);
}

TEST_CASE("the same for any number of threads") {
  Dice dice(6);
  const MarkovNetwork network = higher_order_network(dice, random_schema(dice, 12, 2, 3), 80, 5, 1);
  const RandomEvidence evidence = random_evidence(dice, network.schema(), 40, 0.3, true);
  for (const MostProbableMethod method : {automatic, max_product, icm}) {
    const MostProbable serial = most_probable(network, evidence.view(), by(method), {1, nullptr});
    for (const int threads : {2, 3}) {
      const MostProbable result =
          most_probable(network, evidence.view(), by(method), {threads, nullptr});
      CHECK(result.states == serial.states);
      CHECK(result.log_potentials == serial.log_potentials);
    }
  }
}

TEST_CASE("stops, time limits and bad options") {
  Dice dice(9);
  const MarkovNetwork network = ising_grid(dice, 5, 5, 1, 1);
  const Codes codes(25 * 20, kUnknown);
  for (const MostProbableMethod method : {junction_tree, max_product, icm}) {
    StopAfter monitor(12);
    CHECK_THROWS_AS(most_probable(network, {codes, {}}, by(method), {1, &monitor}), Interrupted);
  }
  MostProbableOptions options;
  options.max_seconds = 1e-9;
  const MostProbable late = most_probable(network, {codes, {}}, options);
  CHECK(late.rows[3].status == RowStatus::not_done);
  CHECK(late.states == Codes(25 * 20, kUnknown));
  CHECK(std::isnan(late.log_potentials[3]));
  const auto refused = [&](MostProbableOptions bad, const char* message) {
    CHECK_THROWS_WITH_AS(most_probable(network, {codes, {}}, bad), message, InvalidInput);
  };
  refused({.max_table_entries = 0}, "max_table_entries must be at least 1, got 0");
  refused({.damping = 1}, "damping must be at least 0 and below 1, got 1");
  refused({.n_starts = 0}, "n_starts must be at least 1, got 0");
}

}  // namespace test_most_probable
