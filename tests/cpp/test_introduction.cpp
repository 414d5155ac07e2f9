// learn/introduction.hpp: the closed form of the gain against its numeric maximum; information.
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <feldspar/learn/introduction.hpp>

#include "support/random_models.hpp"

namespace test_introduction {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The definition, without thought of accuracy.
double gain(double t, double count, double total, double p, const Penalty& penalty) {
  return t * count - penalty.l1 * std::abs(t) - t * t / (2 * penalty.prior_sd * penalty.prior_sd) -
         total * std::log(1 - p + p * std::exp(t));
}

// Golden-section search: the gain is concave.
double numeric_maximum(double count, double total, double p, const Penalty& penalty) {
  double low = -40, high = 40;
  const double ratio = (std::sqrt(5.0) - 1) / 2;
  while (high - low > 1e-9) {
    const double a = high - ratio * (high - low), b = low + ratio * (high - low);
    (gain(a, count, total, p, penalty) > gain(b, count, total, p, penalty) ? high : low) =
        gain(a, count, total, p, penalty) > gain(b, count, total, p, penalty) ? b : a;
  }
  return 0.5 * (low + high);
}

}  // namespace

TEST_CASE("the best weight of a single feature is the numeric maximum") {
  Dice dice(1);
  int n_positive = 0, n_negative = 0, n_zero = 0;
  for (int i = 0; i < 400; ++i) {
    const double total = 1000 * dice.uniform() + 10, p = dice.between(0.01, 0.99);
    const double count = total * dice.between(0.001, 0.999);
    const Penalty penalty{dice.chance(0.5) ? kInfinity : dice.between(0.1, 5),
                          dice.chance(0.2) ? 0.0 : 0.3 * total * dice.uniform()};
    const SingleGain best = best_single_gain(count, total, p, penalty);
    const double expected = numeric_maximum(count, total, p, penalty);
    CAPTURE(count);
    CAPTURE(total);
    CAPTURE(p);
    CAPTURE(penalty.l1);
    CAPTURE(penalty.prior_sd);
    CHECK(best.weight == doctest::Approx(expected).epsilon(1e-5));
    CHECK(best.gain >= gain(expected, count, total, p, penalty) - 1e-9 * total);
    CHECK(best.gain == doctest::Approx(gain(best.weight, count, total, p, penalty)).epsilon(1e-9));
    ++(best.weight > 0 ? n_positive : best.weight < 0 ? n_negative : n_zero);
  }
  CHECK(n_positive > 50);
  CHECK(n_negative > 50);
  CHECK(n_zero > 50);
}

TEST_CASE("at the borders: nothing below the penalty, infinite weights with finite gains") {
  CHECK(best_single_gain(55, 100, 0.5, {kInfinity, 5}).weight == 0);
  CHECK(best_single_gain(55, 100, 0.5, {kInfinity, 4.9}).weight > 0);
  CHECK(best_single_gain(45, 100, 0.5, {kInfinity, 4.9}).weight < 0);
  const SingleGain never = best_single_gain(0, 100, 0.2, {kInfinity, 0});
  CHECK(never.weight == -kInfinity);
  CHECK(never.gain == doctest::Approx(-100 * std::log(0.8)));
  const SingleGain always = best_single_gain(100, 100, 0.2, {kInfinity, 0});
  CHECK(always.weight == kInfinity);
  CHECK(always.gain == doctest::Approx(-100 * std::log(0.2)));
  const SingleGain held = best_single_gain(0, 100, 0.2, {2.0, 0});
  CHECK(std::isfinite(held.weight));
  // c - w / sd^2 = N p(w)
  const double odds = 0.2 * std::exp(held.weight);
  CHECK(-held.weight / 4 == doctest::Approx(100 * odds / (0.8 + odds)));
}

TEST_CASE("shared information: mutual information by hand, more variables by its definition") {
  const Schema schema({2, 3, 2});
  const Codes codes{0, 0, 0, 1, 2, 1, 1, 2, 0, 0, 1, 1};
  const std::vector<double> weights{1, 2, 1, 0.5};
  const Dataset data = Dataset::merge(schema, codes, weights);
  FeatureSetBuilder builder(schema);
  builder.add(std::vector<Variable>{0}, std::vector<Value>{1});
  builder.add(std::vector<Variable>{0, 1}, std::vector<Value>{1, 1});
  builder.add(std::vector<Variable>{0, 1}, std::vector<Value>{1, 2});
  builder.add(std::vector<Variable>{0, 1, 2}, std::vector<Value>{1, 2, 1});
  const auto information = shared_information(std::move(builder).finish(), data);
  const auto entropy = [](std::vector<double> ws) {
    double h = 0;
    for (const double w : ws) h -= w / 4.5 * std::log(w / 4.5);
    return h;
  };
  const double first = entropy({1.5, 3}), second = entropy({1, 0.5, 3}), third = entropy({2, 2.5});
  CHECK(information[0] == 0);
  CHECK(information[1] == doctest::Approx(first + second - entropy({1, 3, 0.5})));
  CHECK(information[2] == information[1]);
  CHECK(information[3] == doctest::Approx(first + second + third - entropy({1, 2, 1, 0.5})));
}

TEST_CASE("schemes by name") {
  CHECK(introduction_named("simple") == Introduction::simple);
  CHECK_THROWS_WITH_AS(introduction_named("best"),
                       doctest::Contains("'gain', 'grad' or 'simple', got 'best'"), InvalidInput);
}

}  // namespace test_introduction
