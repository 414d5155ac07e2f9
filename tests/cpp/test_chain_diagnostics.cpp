// infer/chain_diagnostics.hpp against autoregressive chains, whose answers are known.
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <span>
#include <vector>

#include <feldspar/infer/chain_diagnostics.hpp>

#include "support/random_models.hpp"

namespace test_chain_diagnostics {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

double normal(Dice& dice) {
  return std::sqrt(-2 * std::log(1 - dice.uniform())) *
         std::cos(2 * std::numbers::pi * dice.uniform());
}

// x' = phi x + noise, of variance 1, from its stationary distribution.
std::vector<double> autoregressive(Dice& dice, std::size_t n_chains, std::size_t length,
                                   double phi) {
  std::vector<double> draws;
  for (std::size_t c = 0; c < n_chains; ++c) {
    double x = normal(dice);
    for (std::size_t i = 0; i < length; ++i) {
      draws.push_back(x);
      x = phi * x + std::sqrt(1 - phi * phi) * normal(dice);
    }
  }
  return draws;
}

// The same draws through running moments, in two ranges of chains.
SeriesSummary summarize(std::span<const double> draws, std::size_t n_chains) {
  const std::size_t length = draws.size() / n_chains;
  SeriesMoments moments(2, n_chains, length);
  const std::size_t middle = n_chains / 2;
  for (const auto& [first, last] : {std::pair{std::size_t{0}, middle}, {middle, n_chains}}) {
    if (first == last) continue;
    BatchSums sums(moments, first, last - first);
    for (std::size_t i = 0; i < length; ++i) {
      for (std::size_t c = first; c < last; ++c) {
        sums.add(0, c - first, 1000.0);  // another series, not to be mixed up
        sums.add(1, c - first, draws[c * length + i]);
      }
      sums.next();
    }
  }
  CHECK(moments.complete());
  return moments.summarize(1);
}

}  // namespace

TEST_CASE("the effective sample size of an autoregressive chain is (1 - phi) / (1 + phi)") {
  for (const double phi : {-0.3, 0.0, 0.5, 0.9}) {
    CAPTURE(phi);
    Dice dice(1);
    const auto draws = autoregressive(dice, 8, 20000, phi);
    const double share = (1 - phi) / (1 + phi);
    CHECK(effective_sample_size(draws, 8) / 160000 == doctest::Approx(share).epsilon(0.08));
    const SeriesSummary summary = summarize(draws, 8);
    CHECK(summary.effective_size / 160000 == doctest::Approx(share).epsilon(0.15));
    CHECK(summary.standard_error == doctest::Approx(1 / std::sqrt(160000 * share)).epsilon(0.1));
    CHECK(summary.mean == doctest::Approx(0).epsilon(5 / std::sqrt(160000 * share)));
  }
}

TEST_CASE("standard errors by batch means are right on average, also for odd lengths") {
  for (const std::size_t length : {std::size_t{101}, std::size_t{1000}}) {
    Dice dice(2);
    double squares = 0;
    const int n = 400;
    for (int i = 0; i < n; ++i) {
      const SeriesSummary summary = summarize(autoregressive(dice, 5, length, 0.0), 5);
      squares += summary.mean * summary.mean / (summary.standard_error * summary.standard_error);
    }
    CHECK(squares / n == doctest::Approx(1).epsilon(0.2));
  }
}

TEST_CASE("where draws remember as long as a batch, longer batches make up for it") {
  // Of batches of 20 draws with a correlation time of 19 the variance of the mean comes out as 0.6 of
  // what it is.
  Dice dice(12);
  const double phi = 0.9, length = 400;
  double variance = 1 / length;
  for (double lag = 1; lag < length; ++lag)
    variance += 2 * (length - lag) / (length * length) * std::pow(phi, lag);
  double said = 0;
  const int n = 300;
  for (int i = 0; i < n; ++i) {
    const double error = summarize(autoregressive(dice, 8, 400, phi), 8).standard_error;
    said += error * error / n;
  }
  CHECK(said / (variance / 8) > 0.9);
  CHECK(said / (variance / 8) < 1.2);
}

TEST_CASE("R-hat is one where chains agree") {
  Dice dice(3);
  const auto draws = autoregressive(dice, 4, 5000, 0.3);
  CHECK(split_r_hat(draws, 4) == doctest::Approx(1).epsilon(0.01));
  CHECK(summarize(draws, 4).r_hat == doctest::Approx(split_r_hat(draws, 4)).epsilon(1e-9));
}

TEST_CASE("R-hat equals its formula on a case done by hand") {
  // Halves (0, 2), (4, 6), (0, 2), (0, 2): variances 2 each, means 1, 5, 1, 1 of variance 4.
  const std::vector<double> draws{0, 2, 4, 6, 0, 2, 0, 2};
  CHECK(split_r_hat(draws, 2) == doctest::Approx(std::sqrt(0.5 + 4.0 / 2.0)).epsilon(1e-14));
}

TEST_CASE("chains apart and chains that drift have a large R-hat and a small effective size") {
  Dice dice(4);
  auto apart = autoregressive(dice, 4, 1000, 0.0);
  for (std::size_t i = 0; i < 1000; ++i) apart[i] += 3;
  CHECK(split_r_hat(apart, 4) > 1.5);
  CHECK(effective_sample_size(apart, 4) < 40);
  const SeriesSummary of_apart = summarize(apart, 4);
  CHECK(of_apart.r_hat > 1.5);
  CHECK(of_apart.effective_size < 10);
  CHECK(of_apart.standard_error == doctest::Approx(0.75).epsilon(0.1));
  auto drift = autoregressive(dice, 4, 1000, 0.0);
  for (std::size_t i = 0; i < drift.size(); ++i) drift[i] += static_cast<double>(i % 1000) / 200;
  // Halves of means 1.25 and 3.75 and of variance 1 + 2.5^2 / 12.
  const double expected = std::sqrt(1 + 1.25 * 1.25 * 8 / 7 / (1 + 2.5 * 2.5 / 12));
  CHECK(split_r_hat(drift, 4) == doctest::Approx(expected).epsilon(0.03));
  CHECK(summarize(drift, 4).r_hat == doctest::Approx(expected).epsilon(0.03));
}

TEST_CASE("values that do not vary count in full; chains that differ in them never meet") {
  const std::vector<double> constant(40, 0.7);
  CHECK(split_r_hat(constant, 4) == 1);
  CHECK(effective_sample_size(constant, 4) == 40);
  const SeriesSummary summary = summarize(constant, 4);
  CHECK(summary.r_hat == 1);
  CHECK(summary.effective_size == 40);
  CHECK(summary.mean == doctest::Approx(0.7).epsilon(1e-14));
  CHECK(summary.standard_error < 1e-8);
  std::vector<double> two = constant;
  for (std::size_t i = 0; i < 20; ++i) two[i] = 0.2;
  CHECK(split_r_hat(two, 2) == std::numeric_limits<double>::infinity());
}

TEST_CASE(
    "moments of few draws are finite; an error takes two to tell, that chains have met four") {
  for (std::size_t length = 1; length <= 9; ++length)
    for (const std::size_t n_chains : {std::size_t{1}, std::size_t{3}}) {
      Dice dice(length);
      const auto draws = dice.numbers(length * n_chains, 0.0, 1.0);
      const SeriesSummary summary = summarize(draws, n_chains);
      double mean = 0;
      for (const double x : draws) mean += x / static_cast<double>(draws.size());
      CHECK(summary.mean == doctest::Approx(mean).epsilon(1e-14));
      CHECK(std::isfinite(summary.standard_error) == (draws.size() > 1));
      CHECK(std::isfinite(summary.r_hat) == (length >= 4));
      CHECK(summary.effective_size > 0);
    }
}

TEST_CASE("one draw of each chain: the standard error of a mean of independent draws") {
  const std::vector<double> draws{1, 4, 2, 9, 4};
  const SeriesSummary summary = summarize(draws, draws.size());
  CHECK(summary.standard_error == doctest::Approx(std::sqrt(38.0 / 4 / 5)).epsilon(1e-14));
}

TEST_CASE("a batch cut short counts in the mean") {
  SeriesMoments moments(1, 2, 100);
  {
    BatchSums sums(moments, 0, 2);
    for (int i = 0; i < 13; ++i) {
      sums.add(0, 0, 1);
      sums.add(0, 1, i);
      sums.next();
    }
  }
  CHECK_FALSE(moments.complete());
  CHECK(moments.n_draws() == 26);
  CHECK(moments.mean(0) == doctest::Approx((13 + 78) / 26.0).epsilon(1e-14));
}

TEST_CASE("draws that are not chains are refused") {
  const std::vector<double> seven(7, 0.0);
  CHECK_THROWS_WITH_AS(split_r_hat(seven, 2), "chains: 7 draws are not 2 chains of one length",
                       InvalidInput);
  CHECK_THROWS_WITH_AS(effective_sample_size(seven, 7),
                       "chains: expected at least 4 draws in each, got 1", InvalidInput);
  CHECK_THROWS_WITH_AS(split_r_hat(seven, 0), "chains: expected at least one", InvalidInput);
  const std::vector<double> broken{0, 1, std::numeric_limits<double>::quiet_NaN(), 2};
  CHECK_THROWS_WITH_AS(split_r_hat(broken, 1), "chains: draw nan; expected a finite number",
                       InvalidInput);
}

}  // namespace test_chain_diagnostics
