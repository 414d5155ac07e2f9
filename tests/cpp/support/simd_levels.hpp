// The instruction sets whose kernels this machine can run.
#pragma once

#include <vector>

#include <feldspar/base/simd.hpp>

namespace feldspar::testing {

inline std::vector<SimdLevel> simd_levels() {
  std::vector<SimdLevel> levels{SimdLevel::plain};
  if (simd_level() == SimdLevel::avx2) levels.push_back(SimdLevel::avx2);
  return levels;
}

}  // namespace feldspar::testing
