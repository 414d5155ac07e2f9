// objective/logistic.hpp against formulas written out with the standard library in long double.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <feldspar/objective/logistic.hpp>

#include "support/compare.hpp"
#include "support/random_models.hpp"
#include "support/simd_levels.hpp"

namespace test_logistic {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

// log P(value) of all values, from the margins of the values 1, 2, ... against value 0.
std::vector<double> log_probabilities(const std::vector<double>& margins) {
  long double top = 0, sum = 0;
  for (const double m : margins) top = std::max<long double>(top, m);
  sum = std::exp(-top);
  for (const double m : margins) sum += std::exp(m - top);
  std::vector<double> result{static_cast<double>(-top - std::log(sum))};
  for (const double m : margins) result.push_back(static_cast<double>(m - top - std::log(sum)));
  return result;
}

// The log-likelihood of counts (by value) and its derivative by each margin.
struct Expected {
  double value = 0;
  std::vector<double> derivative;
};

Expected expected_of(const std::vector<double>& margins, const std::vector<double>& counts) {
  const std::vector<double> logs = log_probabilities(margins);
  double total = 0;
  for (const double n : counts) total += n;
  Expected expected;
  for (std::size_t a = 0; a < counts.size(); ++a) {
    if (counts[a] > 0) expected.value += counts[a] * logs[a];
    if (a > 0) expected.derivative.push_back(counts[a] - total * std::exp(logs[a]));
  }
  return expected;
}

// From everyday margins to those whose exponentials overflow.
std::vector<double> awkward_margins(Dice& dice, std::size_t n) {
  std::vector<double> margins = dice.numbers(n, -6.0, 6.0);
  const std::vector<double> extreme{0.0, -0.0, 1e-300, 36.0, -37.5, 709.0, -745.0, 800.0, -1e5};
  for (std::size_t i = 0; i < n; ++i)
    if (i % 3 == 0) margins[i] = extreme[i / 3 % extreme.size()];
  return margins;
}

// logistic_counts of many margins against the direct formula, and the same bits at every level.
void check_counts(const std::vector<double>& margins, const std::vector<double>& ones,
                  const std::vector<double>& zeros) {
  double sum = 0;
  std::vector<double> derivatives;
  for (std::size_t i = 0; i < margins.size(); ++i) {
    const Expected expected = expected_of({margins[i]}, {zeros[i], ones[i]});
    sum += expected.value;
    derivatives.push_back(expected.derivative[0]);
  }
  std::vector<double> plain = margins;
  const double value = logistic_counts(SimdLevel::plain, plain, ones.data(), zeros.data());
  CHECK(value == doctest::Approx(sum).epsilon(1e-14));
  CHECK(distance(plain, derivatives) < 1e-14);
  for (const SimdLevel level : simd_levels()) {
    std::vector<double> m = margins;
    CHECK(logistic_counts(level, m, ones.data(), zeros.data()) == value);
    CHECK(same_bits(m, plain));
  }
}

}  // namespace

TEST_CASE("logistic_counts equals the direct formula, margin by margin") {
  Dice dice(1);
  const std::vector<double> margins = awkward_margins(dice, 200);
  for (std::size_t i = 0; i < margins.size(); ++i) {
    CAPTURE(margins[i]);
    const double ones = i % 4 == 1 ? 0.0 : dice.between(0, 5);
    const double zeros = i % 4 == 2 ? 0.0 : dice.between(0, 5);
    const Expected expected = expected_of({margins[i]}, {zeros, ones});
    std::vector<double> m{margins[i]};
    const double value = logistic_counts(SimdLevel::plain, m, &ones, &zeros);
    CHECK(value == doctest::Approx(expected.value).epsilon(1e-14));
    CHECK(std::abs(m[0] - expected.derivative[0]) < 1e-14 * std::max(1.0, ones + zeros));
  }
}

TEST_CASE("logistic_counts over many margins is the sum, for every length and level") {
  Dice dice(2);
  for (const std::size_t n : {0u, 1u, 3u, 4u, 5u, 8u, 103u}) {
    CAPTURE(n);
    const std::vector<double> margins = awkward_margins(dice, n);
    const std::vector<double> ones = dice.numbers(n, 0.0, 3.0), zeros = dice.numbers(n, 0.0, 3.0);
    check_counts(margins, ones, zeros);
  }
}

TEST_CASE("runs of weight 1, whose logarithms are taken of products, are the sum too") {
  Dice dice(13);
  const std::size_t n = 1203;  // more than one product
  // Margins near 0 make the largest factors.
  std::vector<double> margins = dice.numbers(n, -1e-3, 1e-3), ones, zeros;
  for (std::size_t i = 0; i < n; ++i) {
    ones.push_back(i < 900 ? static_cast<double>(dice.below(2))
                           : 0.25 * static_cast<double>(dice.below(5)));
    zeros.push_back(i % 150 == 149 ? 3.0 : 1.0 - ones.back());  // now and then another weight
    if (i % 7 == 0) margins[i] = dice.between(-40, 40);
  }
  check_counts(margins, ones, zeros);
}

TEST_CASE("counts in bytes give the same bits as counts in doubles") {
  Dice dice(12);
  const std::vector<double> margins = awkward_margins(dice, 103);
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i < 2 * margins.size(); ++i) {
    const bool one = i % margins.size() < 40;  // weight 1 in all
    bytes.push_back(one && i < margins.size() ? static_cast<std::uint8_t>(i % 2)
                    : one ? static_cast<std::uint8_t>(1 - bytes[i - margins.size()])
                          : static_cast<std::uint8_t>(dice.below(256)));
  }
  const std::vector<double> doubles(bytes.begin(), bytes.end());
  for (const SimdLevel level : simd_levels()) {
    std::vector<double> a = margins, b = margins;
    CHECK(logistic_counts(level, a, bytes.data(), bytes.data() + 103) ==
          logistic_counts(level, b, doubles.data(), doubles.data() + 103));
    CHECK(same_bits(a, b));
  }
  std::vector<double> a(margins.begin(), margins.begin() + 9), b = a;
  CHECK(softmax_counts(a.data(), 9, bytes.data()) == softmax_counts(b.data(), 9, doubles.data()));
  CHECK(same_bits(a, b));
}

TEST_CASE("softmax_counts equals the direct formula") {
  Dice dice(3);
  for (std::size_t width = 1; width <= 20; ++width)
    for (int trial = 0; trial < 20; ++trial) {
      const std::vector<double> margins =
          trial % 2 == 0 ? dice.numbers(width, -3.0, 3.0) : awkward_margins(dice, width);
      std::vector<double> counts = dice.numbers(width + 1, 0.0, 4.0);
      counts[dice.below(width + 1)] = 0;
      const Expected expected = expected_of(margins, counts);
      std::vector<double> m = margins;
      const double value = softmax_counts(m.data(), width, counts.data());
      CHECK(value == doctest::Approx(expected.value).epsilon(1e-13));
      CHECK(distance(m, expected.derivative) < 1e-13);
    }
}

TEST_CASE("softmax_observed equals softmax_counts with all the weight on one value") {
  Dice dice(4);
  for (std::size_t width = 1; width <= 17; ++width)
    for (std::size_t observed = 0; observed <= width; ++observed) {
      const std::vector<double> margins =
          observed % 2 == 0 ? dice.numbers(width, -3.0, 3.0) : awkward_margins(dice, width);
      std::vector<double> counts(width + 1, 0.0);
      counts[observed] = 2.5;
      const Expected expected = expected_of(margins, counts);
      std::vector<double> m = margins;
      const double value = softmax_observed(m.data(), width, observed, 2.5);
      CHECK(value == doctest::Approx(expected.value).epsilon(1e-13));
      CHECK(distance(m, expected.derivative) < 1e-13);
    }
}

TEST_CASE("the tile kernel equals the direct formula and padding lanes contribute nothing") {
  // Rows of their own weights, runs of equal weights, and a run longer than one product may be.
  Dice dice(5);
  std::vector<double> weights = dice.numbers(30, 0.1, 3.0);
  for (const std::size_t run : {2u, 7u, 300u})
    weights.insert(weights.end(), run, dice.between(0.1, 3.0));
  const std::size_t n_rows = weights.size();
  const std::vector<double> margins = awkward_margins(dice, n_rows * kLanes);
  std::vector<std::uint16_t> observed(n_rows);
  for (auto& word : observed) word = static_cast<std::uint16_t>(dice.bits());
  std::vector<double> scale(kLanes, 1.0);
  for (const std::size_t padding : {2u, 7u, 15u}) scale[padding] = 0.0;

  double sum = 0;
  std::vector<double> derivatives;
  for (std::size_t i = 0; i < margins.size(); ++i) {
    const std::size_t r = i / kLanes, lane = i % kLanes;
    const bool one = (observed[r] >> lane) & 1;
    const double weight = weights[r] * scale[lane];
    const Expected expected = expected_of({margins[i]}, {one ? 0.0 : weight, one ? weight : 0.0});
    sum += expected.value;
    derivatives.push_back(expected.derivative[0]);
  }
  const auto run = [&](SimdLevel level, std::vector<double>& m) {
    return run_kernel<detail::LogisticTileKernel>(level, m.data(), observed.data(), weights.data(),
                                                  scale.data(), n_rows);
  };
  std::vector<double> plain = margins;
  const double value = run(SimdLevel::plain, plain);
  CHECK(value == doctest::Approx(sum).epsilon(1e-13));
  CHECK(distance(plain, derivatives) < 1e-14);
  for (std::size_t i = 2; i < plain.size(); i += kLanes) CHECK_UNARY(plain[i] == 0.0);
  for (const SimdLevel level : simd_levels()) {
    std::vector<double> m = margins;
    CHECK(run(level, m) == value);
    CHECK(same_bits(m, plain));
  }
}

TEST_CASE("a long run of even chances, whose product is the largest, stays finite") {
  constexpr std::size_t kRows = 5000;
  std::vector<double> margins(kRows * kLanes, 0.0);
  const std::vector<double> weights(kRows, 1.0), scale(kLanes, 1.0);
  const std::vector<std::uint16_t> observed(kRows, 0);
  const double value = run_kernel<detail::LogisticTileKernel>(
      SimdLevel::plain, margins.data(), observed.data(), weights.data(), scale.data(), kRows);
  CHECK(value == doctest::Approx(-std::log(2.0) * kRows * kLanes).epsilon(1e-13));
}

}  // namespace test_logistic
