// base/numeric.hpp against the standard library over the whole range, and packs against doubles.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <feldspar/base/numeric.hpp>

#include "support/compare.hpp"
#include "support/random_models.hpp"
#include "support/simd_levels.hpp"

namespace test_numeric {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

// Arguments spread evenly over [low, high], the borders included, plus some close to zero.
std::vector<double> arguments(double low, double high) {
  constexpr int kSteps = 100000;
  std::vector<double> x;
  for (int i = 0; i <= kSteps; ++i) x.push_back(low + (high - low) * i / kSteps);
  for (int exponent = 1; exponent < 1074; exponent += 7) {
    const double small = std::ldexp(low < 0 ? -0.75 : 0.75, -exponent);
    if (small >= low && small <= high) x.push_back(small);
  }
  return x;
}

// Numbers above 1: next to it, across the first powers of two, and up to the largest.
std::vector<double> beyond_one() {
  std::vector<double> x{std::nextafter(1.0, 2.0), std::nextafter(2.0, 1.0), 2.0,
                        std::numeric_limits<double>::max()};
  for (int i = 1; i <= 50000; ++i) x.push_back(1 + i / 10000.0);
  for (int i = 1; i <= 50000; ++i) x.push_back(std::exp(i * 709.0 / 50000));
  for (int exponent = 1; exponent < 52; ++exponent) x.push_back(1 + std::ldexp(1.0, -exponent));
  return x;
}

struct ExpKernel {
  FELDSPAR_ALWAYS_INLINE void operator()(const double* x, double* y, std::size_t n) const noexcept {
    for (std::size_t i = 0; i < n; i += kPackSize)
      store_pack(y + i, exp_negative(load_pack(x + i)));
  }
};

struct Log1pKernel {
  FELDSPAR_ALWAYS_INLINE void operator()(const double* x, double* y, std::size_t n) const noexcept {
    for (std::size_t i = 0; i < n; i += kPackSize) store_pack(y + i, log1p_unit(load_pack(x + i)));
  }
};

struct LogKernel {
  FELDSPAR_ALWAYS_INLINE void operator()(const double* x, double* y, std::size_t n) const noexcept {
    for (std::size_t i = 0; i < n; i += kPackSize)
      store_pack(y + i, log_from_one(load_pack(x + i)));
  }
};

template <class Kernel>
std::vector<double> by_packs(SimdLevel level, const std::vector<double>& x) {
  std::vector<double> y(x.size());
  run_kernel<Kernel>(level, x.data(), y.data(), x.size());
  return y;
}

void pad_to_packs(std::vector<double>& x) {
  while (x.size() % kPackSize != 0) x.push_back(x.front());
}

}  // namespace

TEST_CASE("log_positive has a small absolute error from the smallest normal number on") {
  for (int i = -70800; i <= 70900; i += 3) {
    const double x = std::exp(i / 100.0), expected = std::log(x);
    REQUIRE(std::abs(log_positive(x) - expected) <= 4e-16 * (1 + std::abs(expected)));
  }
  for (const double x : {0.5, 1.0, std::nextafter(1.0, 0.0), std::numeric_limits<double>::min()})
    CHECK(std::abs(log_positive(x) - std::log(x)) <= 4e-16 * (1 + std::abs(std::log(x))));
}

TEST_CASE("exp_negative has a relative error below 4e-16 down to -708") {
  double worst = 0;
  for (const double x : arguments(-708, 0)) {
    const long double exact = std::exp(static_cast<long double>(x));
    worst = std::max(worst, static_cast<double>(std::abs((exp_negative(x) - exact) / exact)));
  }
  CHECK(worst < 4e-16);
  CHECK(exp_negative(0.0) == 1.0);
  CHECK(exp_negative(-0.0) == 1.0);
}

TEST_CASE("exp_negative stays at its least value below -708") {
  const double least = exp_negative(-708.0);
  CHECK(least > 0);
  CHECK(least == doctest::Approx(std::exp(-708.0)));
  for (const double x : arguments(-750, -708)) CHECK_UNARY(exp_negative(x) == least);
  CHECK(exp_negative(-1e300) == least);
  CHECK(exp_negative(-std::numeric_limits<double>::infinity()) == least);
}

TEST_CASE("log1p_unit has an absolute error below 2e-16 on [0, 1]") {
  double worst = 0;
  for (const double e : arguments(0, 1)) {
    const long double exact = std::log1p(static_cast<long double>(e));
    worst = std::max(worst, static_cast<double>(std::abs(log1p_unit(e) - exact)));
  }
  CHECK(worst < 2e-16);
  CHECK(log1p_unit(0.0) == 0.0);
}

TEST_CASE("log1p_unit keeps small arguments to full relative precision") {
  for (const double e : {1e-3, 1e-8, 1e-16, 1e-100, 3e-308})
    CHECK(std::abs(log1p_unit(e) / std::log1p(e) - 1) < 4e-16);
}

TEST_CASE("log_from_one has a relative error below 4e-16 from 1 to the largest number") {
  double worst = 0;
  for (const double x : beyond_one()) {
    const long double exact = std::log(static_cast<long double>(x));
    worst = std::max(worst, static_cast<double>(std::abs((log_from_one(x) - exact) / exact)));
  }
  CHECK(worst < 4e-16);
  CHECK(log_from_one(1.0) == 0.0);
}

TEST_CASE("packs give the bits of single doubles on every instruction set") {
  std::vector<double> x = arguments(-750, 0), e = arguments(0, 1), large = beyond_one();
  for (auto* list : {&x, &e, &large}) pad_to_packs(*list);
  std::vector<double> exps, logs, large_logs;
  for (const double argument : x) exps.push_back(exp_negative(argument));
  for (const double argument : e) logs.push_back(log1p_unit(argument));
  for (const double argument : large) large_logs.push_back(log_from_one(argument));
  for (const SimdLevel level : simd_levels()) {
    CAPTURE(static_cast<int>(level));
    CHECK(same_bits(by_packs<ExpKernel>(level, x), exps));
    CHECK(same_bits(by_packs<Log1pKernel>(level, e), logs));
    CHECK(same_bits(by_packs<LogKernel>(level, large), large_logs));
  }
}

}  // namespace test_numeric
