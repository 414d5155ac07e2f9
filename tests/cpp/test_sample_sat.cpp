// infer/sample_sat.hpp: draws are solutions, and uniform ones where that is promised.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include <feldspar/infer/sample_sat.hpp>

#include "support/random_models.hpp"

namespace test_sample_sat {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

using State = std::vector<Value>;

// Forbidden conjunctions of random tests that a hidden solution avoids, and excluded values.
struct RandomProblem {
  RandomProblem(std::uint64_t seed, std::size_t n, Value most, std::size_t n_forbidden,
                std::size_t length) {
    Dice dice(seed);
    cardinalities = random_schema(dice, n, 1, most).cardinalities();
    for (const Value c : cardinalities) solution.push_back(static_cast<Value>(dice.below(c)));
    for (std::size_t k = 0; k < n_forbidden; ++k) {
      std::vector<std::pair<std::size_t, std::vector<Value>>> tests;
      bool fails = false;
      for (std::size_t i = 0; i < length; ++i) {
        const std::size_t v = (dice.below(n / length) * length + i) % n;
        std::vector<Value> values;
        for (Value a = 0; a < cardinalities[v]; ++a)
          if (dice.chance(0.5)) values.push_back(a);
        if (values.empty()) values.push_back(0);
        fails = fails || std::ranges::find(values, solution[v]) == values.end();
        tests.emplace_back(v, values);
      }
      if (fails) forbidden.push_back(tests);
    }
    for (std::size_t v = 0; v < n; v += 4)
      if (cardinalities[v] > 2) excluded.emplace_back(v, solution[v] == 0 ? 1 : 0);
  }

  void write_to(ConstraintProblem& problem) const {
    problem.begin();
    for (const auto& [v, a] : excluded) problem.exclude(v, a);
    for (const auto& tests : forbidden) {
      for (const auto& [v, values] : tests) problem.add_test(v, values);
      problem.forbid();
    }
  }

  bool is_solution(const State& state) const {
    for (const auto& [v, a] : excluded)
      if (state[v] == a) return false;
    return std::ranges::none_of(forbidden, [&](const auto& tests) {
      return std::ranges::all_of(tests, [&](const auto& test) {
        return std::ranges::find(test.second, state[test.first]) != test.second.end();
      });
    });
  }

  std::size_t n_solutions() const {
    State state(cardinalities.size(), 0);
    std::size_t count = 0;
    for (;;) {
      count += is_solution(state);
      std::size_t v = 0;
      for (; v < state.size(); ++v) {
        if (++state[v] < cardinalities[v]) break;
        state[v] = 0;
      }
      if (v == state.size()) return count;
    }
  }

  std::vector<Value> cardinalities;
  State solution;
  std::vector<std::vector<std::pair<std::size_t, std::vector<Value>>>> forbidden;
  std::vector<std::pair<std::size_t, Value>> excluded;
};

// Values of three never fall along a row of variables: few of very many states, one component. Uniform states are almost never solutions.
RandomProblem staircase(std::size_t n) {
  RandomProblem problem(0, n, 3, 0, 1);
  problem.cardinalities.assign(n, 3);
  problem.solution.assign(n, 1);
  problem.excluded.clear();
  for (std::size_t v = 0; v + 1 < n; ++v) {
    problem.forbidden.push_back({{v, {1, 2}}, {v + 1, {0}}});
    problem.forbidden.push_back({{v, {2}}, {v + 1, {0, 1}}});
  }
  return problem;
}

std::map<State, double> draw_many(const RandomProblem& random_problem,
                                  const SampleSatOptions& options, int n) {
  ConstraintProblem problem(random_problem.cardinalities);
  SampleSat sat(options, random_problem.cardinalities.size());
  Random random(1, {"test", 2});
  State state = random_problem.solution;
  std::map<State, double> counts;
  for (int i = 0; i < n; ++i) {
    random_problem.write_to(problem);
    sat.draw(problem, state, random);
    ++counts[state];
  }
  return counts;
}

// Pearson's statistic against equal chances, as a standard normal number.
double chi_square_deviation(const std::map<State, double>& counts, std::size_t n_states, int n) {
  const double expected = n / static_cast<double>(n_states);
  double sum = expected * static_cast<double>(n_states - counts.size());
  for (const auto& [state, count] : counts)
    sum += (count - expected) * (count - expected) / expected;
  const auto freedom = static_cast<double>(n_states - 1);
  return (sum - freedom) / std::sqrt(2 * freedom);
}

}  // namespace

TEST_CASE("draws by rejection and from the list of solutions are exactly uniform") {
  int checked = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    // Few constraints leave much to rejection; many leave a handful of solutions to the list.
    const RandomProblem problem(seed, 8, 3, seed % 2 == 0 ? 4 : 60, 2 + seed % 3);
    const std::size_t n_solutions = problem.n_solutions();
    REQUIRE(n_solutions >= 1);
    if (n_solutions < 2 || n_solutions > 2000) continue;
    const int n = 40 * static_cast<int>(n_solutions) + 2000;
    const auto counts = draw_many(problem, {}, n);
    for (const auto& entry : counts) CHECK(problem.is_solution(entry.first));
    CHECK(std::abs(chi_square_deviation(counts, n_solutions, n)) < 4.5);
    ++checked;
  }
  CHECK(checked >= 6);
}

TEST_CASE("where rejection fails the list of solutions is drawn from uniformly") {
  const RandomProblem problem = staircase(7);
  const std::size_t n_solutions = problem.n_solutions();
  CHECK(n_solutions == 36);  // of 2187 states: two draws in three come from the list
  const int n = 36000;
  const auto counts = draw_many(problem, {}, n);
  for (const auto& entry : counts) CHECK(problem.is_solution(entry.first));
  CHECK(std::abs(chi_square_deviation(counts, n_solutions, n)) < 4.5);
}

TEST_CASE("SampleSAT reaches every solution and no other state, nearly uniformly") {
  const RandomProblem problem = staircase(9);  // 55 of 19683 states
  SampleSatOptions options;
  options.max_enumerated = 0;
  const int n = 20000;
  const auto counts = draw_many(problem, options, n);
  CHECK(counts.size() == problem.n_solutions());
  double distance = 0;
  for (const auto& [state, count] : counts) {
    CHECK(problem.is_solution(state));
    distance += std::abs(count / n - 1.0 / 55) / 2;
  }
  CHECK(distance < 0.2);
}

TEST_CASE("a search that is given no moves draws variables one by one, uniformly in the long run") {
  const RandomProblem problem = staircase(9);
  SampleSatOptions options;
  options.max_enumerated = 0;
  options.max_moves = 0;
  const int n = 60000;
  const auto counts = draw_many(problem, options, n);
  CHECK(counts.size() == problem.n_solutions());
  double distance = 0;
  for (const auto& [state, count] : counts) {
    CHECK(problem.is_solution(state));
    distance += std::abs(count / n - 1.0 / 55) / 2;
  }
  CHECK(distance < 0.05);
}

TEST_CASE("what follows from single tests is fixed, the rest is free") {
  // Not (X_0 = 1), not (X_0 = 0 and X_1 = 1), so X_0 = X_1 = 0; X_2 is free.
  const std::vector<Value> cardinalities{2, 2, 3}, one{1}, zero{0};
  ConstraintProblem problem(cardinalities);
  SampleSat sat({}, 3);
  Random random(5, {"test", 0});
  State state{0, 0, 0};
  std::vector<int> seen(3, 0);
  for (int i = 0; i < 300; ++i) {
    problem.begin();
    problem.add_test(0, zero);
    problem.add_test(1, one);
    problem.forbid();
    problem.add_test(0, one);
    problem.forbid();
    sat.draw(problem, state, random);
    CHECK(state[0] == 0);
    CHECK(state[1] == 0);
    CHECK(problem.domain_size(1) == 1);
    ++seen[state[2]];
  }
  CHECK(*std::ranges::min_element(seen) > 60);
}

TEST_CASE("bad options are refused by name") {
  const auto refuses = [](const SampleSatOptions& options, const char* message) {
    CHECK_THROWS_WITH_AS(options.check(), message, InvalidInput);
  };
  refuses({.walk_probability = 0}, "walk_probability must be above 0 and at most 1, got 0");
  refuses({.walk_noise = 2}, "walk_noise must be from 0 to 1, got 2");
  refuses({.temperature = 0}, "temperature must be positive, got 0");
  refuses({.max_moves = -1}, "max_moves must not be negative, got -1");
  refuses({.max_enumerated = -1}, "max_enumerated must not be negative, got -1");
}

}  // namespace test_sample_sat
