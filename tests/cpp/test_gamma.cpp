// base/gamma.hpp against closed forms and against scipy.special.gammaincc.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include <feldspar/base/error.hpp>
#include <feldspar/base/gamma.hpp>

namespace test_gamma {

using namespace feldspar;

TEST_CASE("the tail of the gamma distribution is SciPy's") {
  const struct {
    double a, x, tail;
  } cases[] = {{0.5, 0.1, 0.65472084601857683},    {0.5, 3.0, 0.014305878435429641},
               {1.5, 1.5, 0.39162517627108773},    {3, 0.01, 0.99999983457834718},
               {3, 20, 4.5551495055892125e-07},    {10, 9.5, 0.52182602223720764},
               {10, 11.5, 0.28879453954867124},    {50, 80, 0.00013078397659140921},
               {200, 150, 0.99994290311425793},    {2000.5, 2100, 0.014039385133062864},
               {0.5, 300, 1.6741679846918051e-132}};
  for (const auto& c : cases) CHECK(gamma_tail(c.a, c.x) == doctest::Approx(c.tail).epsilon(2e-12));
}

TEST_CASE("closed forms: exponential, normal and Poisson tails") {
  for (const double x : {1e-9, 0.3, 0.999, 2.0, 5.0, 40.0}) {
    CHECK(gamma_tail(1.0, x) == doctest::Approx(std::exp(-x)).epsilon(1e-13));
    CHECK(gamma_tail(0.5, x) == doctest::Approx(std::erfc(std::sqrt(x))).epsilon(1e-12));
    double poisson = 0, term = std::exp(-x);
    for (int k = 0; k < 7; term *= x / ++k) poisson += term;
    CHECK(gamma_tail(7.0, x) == doctest::Approx(poisson).epsilon(1e-12));
    CHECK(chi_square_tail(2 * x, 2) == doctest::Approx(std::exp(-x)).epsilon(1e-13));
  }
  CHECK(gamma_tail(2.5, 0.0) == 1.0);
  CHECK(gamma_tail(2.5, std::numeric_limits<double>::infinity()) == 0.0);
  CHECK(gamma_tail(2.5, 1e4) == 0.0);
  CHECK_THROWS_AS(gamma_tail(0.0, 1.0), InvalidInput);
  CHECK_THROWS_AS(gamma_tail(1.0, -1.0), InvalidInput);
}

}  // namespace test_gamma
