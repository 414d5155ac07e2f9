// learn/l1_neighborhood.hpp on a path written by hand, and on a learned one.
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <feldspar/feature/flat_conjunctions.hpp>
#include <feldspar/learn/l1_logistic.hpp>
#include <feldspar/learn/l1_neighborhood.hpp>
#include <feldspar/learn/l1_score.hpp>
#include <feldspar/model/conditionals.hpp>

#include "support/brute_force.hpp"
#include "support/random_models.hpp"

namespace test_l1_neighborhood {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

// Variables of 2, 3, 2 and 1 values, two C. At the second C: 0 uses 1 and 2; 1 uses 0; 2 uses
// nothing. At the first: 0 uses 1; the others nothing.
L1Path example() {
  std::vector<L1Fit> fits(8);
  fits[0].weights = {{1, 2, 1, 0.5}};
  fits[1].weights = {{1, 1, 1, 0.5}, {1, 2, 1, -0.25}, {2, 1, 1, 1.5}};
  fits[3].weights = {{0, 1, 0, 0.75}, {0, 1, 2, -0.5}};
  const double log_likelihoods[] = {-50, -40, -90, -60, -70, -70, 0, 0};
  for (std::size_t i = 0; i < 8; ++i) fits[i].log_likelihood = log_likelihoods[i];
  fits[0].intercepts = fits[1].intercepts = {0, -1.5};
  fits[2].intercepts = fits[3].intercepts = {0, 0.5, -0.5};
  fits[4].intercepts = fits[5].intercepts = {0, 2};
  fits[6].intercepts = fits[7].intercepts = {0};
  return L1Path(Schema({2, 3, 2, 1}), {0.1, 1}, 100, std::move(fits));
}

using Pairs = std::vector<std::pair<Variable, Value>>;

std::vector<Pairs> conjunctions(const FeatureSet& features) {
  std::vector<Pairs> result;
  for (FeatureId j = 0; j < features.size(); ++j) {
    result.emplace_back();
    for (const Test test : features[j])
      result.back().emplace_back(test.variable, features.values(test.values)[0]);
  }
  return result;
}

}  // namespace

TEST_CASE("an edge is there on both sides or on either") {
  const L1Path path = example();
  const auto edges = [&](std::vector<std::size_t> choice, const char* rule) {
    return neighborhood_edges(path, choice, edge_rule(rule));
  };
  CHECK(edges({0, 0, 0, 0}, "and").empty());
  CHECK(edges({0, 0, 0, 0}, "or") == std::vector<Edge>{{0, 1}});
  CHECK(edges({1, 1, 1, 1}, "and") == std::vector<Edge>{{0, 1}});
  CHECK(edges({1, 1, 1, 1}, "or") == std::vector<Edge>{{0, 1}, {0, 2}});
  CHECK(edges({0, 1, 0, 0}, "and") == std::vector<Edge>{{0, 1}});
  CHECK(uniform_choice(path, 1) == std::vector<std::size_t>{1, 1, 1, 1});
}

TEST_CASE("features: single tests, then all pairs of non-zero values of each edge") {
  const L1Path path = example();
  const FeatureSet features =
      neighborhood_features(path, uniform_choice(path, 1), EdgeRule::either);
  CHECK(conjunctions(features) == std::vector<Pairs>{{{0, 1}},
                                                     {{1, 1}},
                                                     {{1, 2}},
                                                     {{2, 1}},
                                                     {{0, 1}, {1, 1}},
                                                     {{0, 1}, {1, 2}},
                                                     {{0, 1}, {2, 1}}});
  CHECK(neighborhood_features(path, uniform_choice(path, 0), EdgeRule::both).size() == 4);
}

TEST_CASE("EBIC by hand, and the choice it makes") {
  const L1Path path = example();
  const double n = std::log(100.0);
  const std::vector<double> plain = ebic(path, 0);
  REQUIRE(plain.size() == 8);
  CHECK(plain[0] == doctest::Approx(100 + n));
  CHECK(plain[1] == doctest::Approx(80 + 3 * n));
  CHECK(plain[3] == doctest::Approx(120 + 2 * n));
  CHECK(plain[4] == doctest::Approx(140));
  CHECK(plain[7] == 0);
  // candidates: 3 of variable 0 (two of 1, one of 2), 2 of variable 1
  const std::vector<double> extended = ebic(path, 0.25);
  CHECK(extended[1] == doctest::Approx(80 + 3 * (n + 0.5 * std::log(3.0))));
  CHECK(extended[3] == doctest::Approx(120 + 2 * (n + 0.5 * std::log(2.0))));
  CHECK(choose_by_ebic(path, 0) == std::vector<std::size_t>{1, 1, 0, 0});
  CHECK(choose_by_ebic(path, 5) == std::vector<std::size_t>{0, 1, 0, 0});
}

TEST_CASE("of equals the smaller C is chosen, wherever it stands in the path") {
  std::vector<L1Fit> fits(2);
  for (L1Fit& fit : fits) fit.log_likelihood = -5;
  CHECK(choose_by_ebic(L1Path(Schema({2}), {1, 0.1}, 10, fits), 0.25) ==
        std::vector<std::size_t>{1});
}

TEST_CASE("conditionals as weighted features") {
  const L1Path path = example();
  const std::vector<MarkovNetwork> networks = conditional_networks(path, uniform_choice(path, 1));
  REQUIRE(networks.size() == 4);
  CHECK(conjunctions(networks[0].features()) ==
        std::vector<Pairs>{{{0, 1}}, {{0, 1}, {1, 1}}, {{0, 1}, {1, 2}}, {{0, 1}, {2, 1}}});
  CHECK(networks[0].weights() == std::vector<double>{-1.5, 0.5, -0.25, 1.5});
  CHECK(conjunctions(networks[1].features()) ==
        std::vector<Pairs>{{{1, 1}}, {{1, 2}}, {{0, 1}, {1, 0}}, {{0, 1}, {1, 2}}});
  CHECK(networks[1].weights() == std::vector<double>{0.5, -0.5, 0.75, -0.5});
  CHECK(networks[3].weights().empty());
}

TEST_CASE("conditionals of a learned path give its log-likelihood") {
  Dice dice(3);
  const Schema schema = random_schema(dice, 6, 1, 4);
  const Codes codes = random_codes(dice, schema, 150);
  const std::vector<double> c_values{0.05, 1};
  const L1Path path = fit_l1_path(Dataset::merge(schema, codes), c_values, L1Options{});
  const std::vector<double> scores = log_likelihoods(path, codes, {});
  for (std::size_t c = 0; c < 2; ++c) {
    const auto networks = conditional_networks(path, uniform_choice(path, c));
    double sum = 0;
    for (Variable v = 0; v < 6; ++v) {
      const auto rows = observed_log_conditionals(networks[v], codes);
      for (std::size_t r = 0; r < 150; ++r) sum += rows[r * 6 + v];
    }
    CHECK(sum == doctest::Approx(scores[c]).epsilon(1e-10));
  }
}

TEST_CASE("independent variables are told apart from neighbours by EBIC") {
  // X_1 copies X_0 with noise; X_2 and X_3 are coins.
  Dice dice(4);
  Codes codes;
  for (int r = 0; r < 600; ++r) {
    const std::int32_t x = dice.chance(0.5);
    const std::int32_t y = dice.chance(0.8) ? x : 1 - x;
    codes.insert(codes.end(), {x, y, dice.chance(0.5), dice.chance(0.3)});
  }
  const std::vector<double> c_values{0.001, 0.01, 0.05, 0.1, 0.5, 1, 5};
  const L1Path path = fit_l1_path(Dataset::merge(binary_schema(4), codes), c_values, L1Options{});
  const auto choice = choose_by_ebic(path, 0.25);
  CHECK(neighborhood_edges(path, choice, EdgeRule::both) == std::vector<Edge>{{0, 1}});
  CHECK(neighborhood_edges(path, uniform_choice(path, 6), EdgeRule::either).size() > 1);
}

TEST_CASE("unusable arguments are named") {
  const L1Path path = example();
  const std::vector<std::size_t> short_choice{0, 1}, far{0, 0, 2, 0};
  CHECK_THROWS_WITH_AS(neighborhood_edges(path, short_choice, EdgeRule::both),
                       "choice: got 2 for 4 variables", InvalidInput);
  CHECK_THROWS_WITH_AS(conditional_networks(path, far),
                       "c_index 2 does not exist; the path has 2 values", InvalidInput);
  CHECK_THROWS_WITH_AS(edge_rule("xor"), "rule must be 'and' or 'or', got 'xor'", InvalidInput);
  CHECK_THROWS_WITH_AS(ebic(path, -1), "gamma must be finite and not negative, got -1",
                       InvalidInput);
}

}  // namespace test_l1_neighborhood
