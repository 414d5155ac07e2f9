// objective/categorical_loss.hpp: losses and derivatives by their definitions.
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include <feldspar/objective/categorical_loss.hpp>

#include "support/brute_force.hpp"
#include "support/compare.hpp"
#include "support/random_models.hpp"
#include "support/simd_levels.hpp"

namespace test_categorical_loss {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

struct Sample {
  std::size_t n_values, n_rows;
  std::vector<Value> codes;
  std::vector<double> weights, margins;

  Sample(std::uint64_t seed, std::size_t values, std::size_t rows, double spread)
      : n_values(values), n_rows(rows), codes(rows) {
    Dice dice(seed);
    for (Value& code : codes) code = static_cast<Value>(dice.below(values));
    weights = dice.numbers(rows, 0.1, 3.0);
    margins = dice.numbers(rows * (values == 2 ? 1 : values), -spread, spread);
  }

  CategoricalLoss loss() const { return CategoricalLoss(codes, weights, n_values); }

  double by_definition(const std::vector<double>& at) const {
    double sum = 0;
    for (std::size_t r = 0; r < n_rows; ++r) {
      std::vector<double> m(n_values, 0.0);
      for (std::size_t k = 0; k < n_values; ++k)
        m[k] = n_values == 2 ? (k == 1 ? at[r] : 0.0) : at[k * n_rows + r];
      sum += weights[r] * (log_sum_exp(m) - m[codes[r]]);
    }
    return sum;
  }
};

}  // namespace

TEST_CASE("loss and residuals are the definition and its derivative") {
  for (const std::size_t n_values : {2u, 3u, 6u})
    for (const std::size_t n_rows : {std::size_t{1}, std::size_t{23}}) {
      CAPTURE(n_values);
      const Sample sample(n_values, n_values, n_rows, 3.0);
      const CategoricalLoss loss = sample.loss();
      CHECK(loss.n_channels() == (n_values == 2 ? 1 : n_values));
      std::vector<double> residuals(sample.margins.size()), p(sample.margins.size());
      const double value = loss.evaluate(sample.margins, residuals, p);
      CHECK(value == doctest::Approx(sample.by_definition(sample.margins)).epsilon(1e-13));
      const auto numeric =
          four_point_gradient([&](const std::vector<double>& m) { return sample.by_definition(m); },
                              sample.margins, 1e-3);
      CHECK(distance(residuals, numeric) < 1e-10);
    }
}

TEST_CASE("pair curvatures add up to the second derivative") {
  const Sample sample(9, 4, 11, 2.0);
  const CategoricalLoss loss = sample.loss();
  const std::size_t n = sample.margins.size();
  std::vector<double> residuals(n), p(n), pair(sample.n_rows);
  loss.evaluate(sample.margins, residuals, p);
  // by the margin of channel 1: the sum over all pairs with it
  std::vector<double> diagonal(sample.n_rows, 0.0);
  for (const auto& [j, k] : {std::pair{0, 1}, std::pair{1, 2}, std::pair{1, 3}}) {
    loss.pair_curvature(p, static_cast<std::size_t>(j), static_cast<std::size_t>(k), pair);
    for (std::size_t r = 0; r < sample.n_rows; ++r) diagonal[r] += pair[r];
  }
  loss.pair_curvature(p, 1, 3, pair);
  for (std::size_t r = 0; r < sample.n_rows; ++r) {
    auto margins = sample.margins;
    std::vector<double> up(n), down(n);
    margins[1 * sample.n_rows + r] += 1e-4;
    loss.evaluate(margins, up, p);
    margins[1 * sample.n_rows + r] -= 2e-4;
    loss.evaluate(margins, down, p);
    const auto slope = [&](std::size_t k) {
      return (up[k * sample.n_rows + r] - down[k * sample.n_rows + r]) / 2e-4;
    };
    CHECK(diagonal[r] == doctest::Approx(slope(1)).epsilon(1e-6));
    CHECK(-pair[r] == doctest::Approx(slope(3)).epsilon(1e-6));
  }
}

TEST_CASE("with two values the one pair is the variance") {
  const Sample sample(10, 2, 9, 2.0);
  std::vector<double> residuals(9), p(9), pair(9);
  sample.loss().evaluate(sample.margins, residuals, p);
  sample.loss().pair_curvature(p, 0, 0, pair);
  for (std::size_t r = 0; r < 9; ++r)
    CHECK(pair[r] == doctest::Approx(sample.weights[r] * p[r] * (1 - p[r])).epsilon(1e-14));
}

TEST_CASE("large margins neither overflow nor lose the loss") {
  for (const std::size_t n_values : {2u, 4u}) {
    const Sample sample(11, n_values, 12, 600.0);
    std::vector<double> residuals(sample.margins.size()), p(sample.margins.size());
    const double value = sample.loss().evaluate(sample.margins, residuals, p);
    CHECK(value == doctest::Approx(sample.by_definition(sample.margins)).epsilon(1e-13));
    for (const double x : residuals) CHECK(std::isfinite(x));
  }
}

TEST_CASE("both kernels give the same bits on every instruction set") {
  for (const std::size_t n_values : {2u, 5u}) {
    const Sample sample(12, n_values, 103, 4.0);
    const std::size_t n = sample.margins.size();
    std::vector<double> observed(n, 0.0);
    const std::size_t first = n_values == 2 ? 1 : 0;
    for (std::size_t r = 0; r < sample.n_rows; ++r)
      if (sample.codes[r] >= first)
        observed[(sample.codes[r] - first) * sample.n_rows + r] = sample.weights[r];
    std::vector<std::vector<double>> results;
    for (const SimdLevel level : simd_levels()) {
      std::vector<double> residuals(n), p(n);
      const double value =
          n_values == 2 ? run_kernel<detail::TwoValuesKernel>(
                              level, sample.margins.data(), sample.weights.data(), observed.data(),
                              residuals.data(), p.data(), sample.n_rows)
                        : run_kernel<detail::ManyValuesKernel>(
                              level, sample.margins.data(), sample.weights.data(), observed.data(),
                              residuals.data(), p.data(), sample.n_rows, n_values);
      residuals.insert(residuals.end(), p.begin(), p.end());
      residuals.push_back(value);
      results.push_back(residuals);
    }
    for (const auto& result : results) CHECK(same_bits(result, results.front()));
  }
}

TEST_CASE("weights are told in total and by channel") {
  const CategoricalLoss loss(std::vector<Value>{0, 2, 1, 2}, std::vector<double>{1, 2, 4, 0.5}, 3);
  CHECK(loss.total_weight() == 7.5);
  CHECK(loss.observed_weight(0) == 1);
  CHECK(loss.observed_weight(2) == 2.5);
}

}  // namespace test_categorical_loss
