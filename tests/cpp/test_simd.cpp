// base/simd.hpp: which level is chosen, and that a kernel gets its arguments on each.
#include <doctest/doctest.h>

#include <cstdlib>
#include <string_view>
#include <vector>

#include <feldspar/base/simd.hpp>

#include "support/simd_levels.hpp"

namespace test_simd {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

// Horner's rule; also writes through a pointer, as hot kernels do.
struct PolynomialKernel {
  FELDSPAR_ALWAYS_INLINE double operator()(const double* coefficients, std::size_t n, double x,
                                           int* calls) const noexcept {
    double value = 0;
    for (std::size_t i = n; i-- > 0;) value = value * x + coefficients[i];
    ++*calls;
    return value;
  }
};

}  // namespace

TEST_CASE("the level is the processor's best unless the environment asks for the plain one") {
  const char* wish = std::getenv("FELDSPAR_SIMD");
  bool can = wish == nullptr || std::string_view(wish) != "plain";
#ifdef FELDSPAR_HAS_AVX2_KERNELS
  can = can && __builtin_cpu_supports("avx2");
#else
  can = false;
#endif
  CHECK((simd_level() == SimdLevel::avx2) == can);
}

TEST_CASE("a kernel runs once with its arguments on every level") {
  const std::vector<double> coefficients{0.1, -0.3, 0.7, 1.1};
  for (const SimdLevel level : simd_levels()) {
    CAPTURE(static_cast<int>(level));
    int calls = 0;
    const double value =
        run_kernel<PolynomialKernel>(level, coefficients.data(), coefficients.size(), 0.3, &calls);
    CHECK(value == ((1.1 * 0.3 + 0.7) * 0.3 - 0.3) * 0.3 + 0.1);
    CHECK(calls == 1);
  }
}

}  // namespace test_simd
