// learn/l1_score.hpp: log-likelihoods of a path, on its own data and on others, by definition.
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include <feldspar/learn/l1_logistic.hpp>
#include <feldspar/learn/l1_score.hpp>

#include "support/brute_force.hpp"
#include "support/compare.hpp"
#include "support/random_models.hpp"
#include "support/stop_after.hpp"

namespace test_l1_score {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

const std::vector<double> kPath{0.01, 0.1, 1};

double by_definition(const L1Path& path, std::size_t c, const Codes& codes,
                     const std::vector<double>& weights) {
  const std::size_t n = path.schema().n_variables();
  double sum = 0;
  for (std::size_t r = 0; r < weights.size(); ++r) {
    const CodeRow row = row_of(codes, n, r);
    for (Variable target = 0; target < n; ++target) {
      std::vector<double> m = path.at(target, c).intercepts;
      for (const L1Weight& w : path.at(target, c).weights)
        if (row[w.variable] == w.value) m[w.target_value] += w.weight;
      sum += weights[r] * (m[static_cast<std::size_t>(row[target])] - log_sum_exp(m));
    }
  }
  return sum;
}

}  // namespace

TEST_CASE("on other rows, with weights, for every C") {
  Dice dice(1);
  for (const auto& [n_variables, most] : {std::pair{6, 4}, std::pair{40, 2}}) {
    const Schema schema =
        random_schema(dice, static_cast<std::size_t>(n_variables),
                      static_cast<Value>(n_variables == 6 ? 1 : 2), static_cast<Value>(most));
    const Codes train = random_codes(dice, schema, 300), other = random_codes(dice, schema, 90);
    const std::vector<double> weights = dice.numbers(90, 0.1, 2.0);
    const L1Path path = fit_l1_path(Dataset::merge(schema, train), kPath, L1Options{});
    const std::vector<double> scores = log_likelihoods(path, other, weights);
    REQUIRE(scores.size() == 3);
    for (std::size_t c = 0; c < 3; ++c)
      CHECK(scores[c] == doctest::Approx(by_definition(path, c, other, weights)).epsilon(1e-12));
    CHECK(same_bits(scores, log_likelihoods(path, other, weights, {.n_threads = 3})));
  }
}

TEST_CASE("on the training data it is what the fits say") {
  Dice dice(2);
  const Schema schema = random_schema(dice, 8, 2, 3);
  const Codes codes = random_codes(dice, schema, 200);
  const L1Path path = fit_l1_path(Dataset::merge(schema, codes), kPath, L1Options{});
  const std::vector<double> scores = log_likelihoods(path, codes, {});
  for (std::size_t c = 0; c < 3; ++c) {
    double sum = 0;
    for (Variable v = 0; v < 8; ++v) sum += path.at(v, c).log_likelihood;
    CHECK(scores[c] == doctest::Approx(sum).epsilon(1e-12));
  }
}

TEST_CASE("values that were not in the training data stay possible") {
  const Codes train{1, 0, 1, 1, 1, 0, 1, 1}, other{0, 1};
  const L1Path path = fit_l1_path(Dataset::merge(Schema({2, 2}), train), kPath, L1Options{});
  const std::vector<double> scores = log_likelihoods(path, other, {});
  // X_0 = 0 was never seen in 4 examples: 1 : 5; X_1 is even.
  CHECK(scores[0] == doctest::Approx(std::log(1.0 / 6) + std::log(0.5)));
}

TEST_CASE("rows that do not fit, and a stop") {
  const Codes train{0, 0, 1, 1, 0, 1}, wrong{0, 2};
  const L1Path path = fit_l1_path(Dataset::merge(Schema({2, 2}), train), kPath, L1Options{});
  CHECK_THROWS_WITH_AS(log_likelihoods(path, wrong, {}),
                       "row 0, variable 1: code 2 is out of range; expected a code from 0 to 1",
                       InvalidInput);
  StopAfter monitor(0);
  CHECK_THROWS_AS(log_likelihoods(path, train, {}, {1, &monitor}), Interrupted);
}

}  // namespace test_l1_score
