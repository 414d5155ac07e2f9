// infer/conditional_scores.hpp and infer/chains.hpp: after any changes of state, scores equal differences of potentials.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <feldspar/infer/chains.hpp>
#include <feldspar/infer/conditional_scores.hpp>

#include "support/brute_force.hpp"
#include "support/compare.hpp"
#include "support/random_models.hpp"

namespace test_conditional_scores {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

struct Hidden {
  explicit Hidden(const Problem& problem)
      : network(problem.features, problem.weights),
        codes(problem.schema.n_variables(), kUnknown),
        conditioner(network, codes, false),
        model(hidden_models(conditioner, {codes, {}}, std::vector<std::size_t>{0})[0]) {}

  MarkovNetwork network;
  Codes codes;
  Conditioner conditioner;
  HiddenModel model;
};

std::vector<double> probabilities(const ConditionalScores& scores, const Chains& chains,
                                  std::size_t h, std::size_t chain) {
  const auto& local = scores.local(h);
  std::vector<double> p(local.cardinality, 0.0);
  if (local.has_probabilities) {
    const double* entry = chains.probabilities(local, chain);
    if (local.width > 1) return {entry, entry + local.width};
    return {1 - *entry, *entry};
  }
  chains.scores(local, chain, p.data());
  for (std::size_t a = 0; a < p.size(); ++a) p[a] += scores.unary(h)[a];
  normalize_scores(p);
  return p;
}

// Walks three chains at random and compares all conditionals on the way.
void check_walk(const Problem& problem, const ScoreOptions& options, std::uint64_t seed) {
  const Hidden hidden(problem);
  const ConditionalScores scores(hidden.conditioner.features(), hidden.model, options);
  const std::size_t n = problem.schema.n_variables(), n_chains = 3;
  Chains chains(scores, n_chains);
  std::vector<Codes> states(n_chains, Codes(n, 0));
  Dice dice(seed);
  for (int step = 0; step < 40; ++step) {
    for (int change = 0; change < 3; ++change) {
      const std::size_t c = dice.below(n_chains), h = dice.below(n);
      const auto a = static_cast<Value>(dice.below(problem.schema.cardinalities()[h]));
      chains.assign(h, c, a);
      states[c][h] = a;
    }
    const std::size_t c = dice.below(n_chains);
    for (Variable v = 0; v < n; ++v) {
      CHECK(chains.value(v, c) == states[c][v]);
      if (problem.schema.cardinality(v) == 1) continue;
      auto expected = log_conditional(problem.features, problem.weights, states[c], v);
      for (double& x : expected) x = std::exp(x);
      CHECK(distance(probabilities(scores, chains, v, c), expected) < 1e-12);
    }
  }
}

}  // namespace

TEST_CASE("tables and counters of all sizes give the conditionals along a walk") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed)
    for (const int bits : {0, 1, 3, 6, 10, 16})
      for (const bool lone : {false, true}) {
        CAPTURE(seed);
        CAPTURE(bits);
        const Problem problem = random_problem(seed, 9, 1, seed % 2 == 0 ? 2 : 7, 1, 60, 6);
        check_walk(problem, {.visits = 1u << 20, .probabilities = lone, .max_table_bits = bits},
                   seed);
      }
}

TEST_CASE("wide blankets need several tables") {
  // A variable with seventy neighbours, more than a word of bits, and pairs only.
  FeatureSetBuilder builder(binary_schema(71));
  for (Variable v = 1; v < 71; ++v)
    builder.add(std::vector<Variable>{0, v}, std::vector<Value>{1, 1});
  Problem problem;
  problem.schema = binary_schema(71);
  problem.features = std::move(builder).finish();
  problem.weights = Dice(3).numbers(70);
  const Hidden hidden(problem);
  const ConditionalScores scores(hidden.conditioner.features(), hidden.model, {});
  CHECK(scores.local(0).n_tables == 9);
  CHECK_FALSE(scores.local(0).has_probabilities);
  CHECK(scores.local(5).has_probabilities);
  CHECK(scores.n_counted() == 0);
  check_walk(problem, {}, 4);
}

TEST_CASE("long conjunctions are counted, and few visits are not worth tables") {
  const Problem problem = random_problem(5, 30, 2, 2, 1, 400, 20);
  const Hidden hidden(problem);
  const ConditionalScores scores(hidden.conditioner.features(), hidden.model, {.visits = 100000});
  CHECK(scores.n_counted() > 0);
  CHECK(scores.n_counted() < hidden.model.parts.size());
  check_walk(problem, {.visits = 100000}, 5);
  const ConditionalScores rarely(hidden.conditioner.features(), hidden.model, {.visits = 4});
  CHECK(rarely.n_counted() == hidden.model.parts.size());
  check_walk(problem, {.visits = 4}, 6);
}

TEST_CASE("tables never have more entries than they will be read") {
  const Problem problem = random_problem(6, 25, 2, 3, 1, 3000, 5);
  const Hidden hidden(problem);
  for (const std::size_t visits : {std::size_t{100}, std::size_t{1000}, std::size_t{10000}}) {
    const ConditionalScores scores(hidden.conditioner.features(), hidden.model, {.visits = visits});
    CHECK(scores.n_entries() <= visits / 4 * 25);
  }
}

TEST_CASE("all chains of a binary variable change at once") {
  const Problem problem = random_problem(7, 8, 2, 2, 1, 60, 5);
  const Hidden hidden(problem);
  for (const int bits : {0, 10}) {
    const ConditionalScores scores(
        hidden.conditioner.features(), hidden.model,
        {.visits = 100000, .probabilities = false, .max_table_bits = bits});
    Chains together(scores, 64), singly(scores, 64);
    Dice dice(8);
    std::vector<double> margins(64), single(2);
    for (int step = 0; step < 50; ++step) {
      const std::size_t h = dice.below(8);
      const Word ones = dice.bits();
      together.assign_bits(h, ones);
      for (std::size_t c = 0; c < 64; ++c) singly.assign(h, c, (ones >> c) & 1);
      const std::size_t u = dice.below(8);
      together.margins(scores.local(u), margins.data());
      for (std::size_t c = 0; c < 64; ++c) {
        CHECK(together.value(h, c) == singly.value(h, c));
        singly.scores(scores.local(u), c, single.data());
        CHECK(margins[c] ==
              doctest::Approx(single[1] + scores.local(u).unary_margin).epsilon(1e-12));
      }
    }
  }
}

}  // namespace test_conditional_scores
