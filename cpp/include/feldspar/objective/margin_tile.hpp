// What was observed of the variables in a tile of the wide index, kLanes margins side by side.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/simd.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/objective/curvature.hpp>
#include <feldspar/objective/logistic.hpp>
#include <feldspar/objective/margin_map.hpp>

namespace feldspar {

// See curvature.hpp; by row.
struct TileCurvature {
  std::vector<float> lanes;                      // of binary variables; 1 in all other lanes
  std::vector<std::vector<float>> multi_valued;  // by variable of more than two values
};

class MarginTile {
 public:
  MarginTile(const Dataset& data, std::span<const MarginColumn> columns)
      : observed_(data.n_rows(), 0), lane_scale_(kLanes, 0.0) {
    for (const MarginColumn& column : columns) {
      const auto [v, lane, width] = column;
      if (width == 1) {
        lane_scale_[lane] = 1.0;
        for_each_bit(data.columns().slice(v, 0), [&, bit = 1u << lane](std::size_t r) {
          observed_[r] = static_cast<std::uint16_t>(observed_[r] | bit);
        });
      } else {
        multi_valued_.push_back({column, data.columns().codes(v)});
      }
    }
  }

  std::size_t bytes() const noexcept { return observed_.size() * sizeof(std::uint16_t); }

  // Margins of some rows become derivatives; returns the log-likelihood. `weights` is that of each
  // row, here and below.
  double observe(SimdLevel simd, std::span<const double> weights, Range rows,
                 double* margins) const;

  // Room for the curvature of all rows.
  TileCurvature make_curvature() const;
  // What the derivatives of some rows tell of it.
  void keep_curvature(std::span<const double> weights, Range rows, const double* derivatives,
                      TileCurvature& curvature) const;
  // The product with directions of the margins of some rows, in place.
  void multiply_curvature(const TileCurvature& curvature, Range rows, float* margins) const;

 private:
  struct MultiValued {
    MarginColumn column;
    std::vector<Value> codes;  // by row
  };

  std::vector<MultiValued> multi_valued_;  // variables of more than two values
  std::vector<std::uint16_t>
      observed_;                    // by row: bit k is the value of the binary variable in lane k
  std::vector<double> lane_scale_;  // 1 where a lane holds a binary variable
};

inline double MarginTile::observe(SimdLevel simd, std::span<const double> weights, Range rows,
                                  double* margins) const {
  const std::size_t n = rows.size();
  double value = 0;
  std::vector<double>
      derivatives;  // of the multi-valued variables, kept from the binary kernel's zeroing
  for (const auto& [column, codes] : multi_valued_)
    for (std::size_t r = 0; r < n; ++r) {
      double* own = margins + r * kLanes + column.lane;
      value += softmax_observed(own, column.width, codes[rows.first + r], weights[rows.first + r]);
      derivatives.insert(derivatives.end(), own, own + column.width);
    }
  value +=
      run_kernel<detail::LogisticTileKernel>(simd, margins, observed_.data() + rows.first,
                                             weights.data() + rows.first, lane_scale_.data(), n);
  const double* next = derivatives.data();
  for (const auto& [column, codes] : multi_valued_)
    for (std::size_t r = 0; r < n; ++r, next += column.width)
      std::copy_n(next, column.width, margins + r * kLanes + column.lane);
  return value;
}

inline TileCurvature MarginTile::make_curvature() const {
  TileCurvature curvature{std::vector<float>(observed_.size() * kLanes, 1.0f), {}};
  for (const auto& [column, codes] : multi_valued_)
    curvature.multi_valued.emplace_back(observed_.size() * (column.width + 1));
  return curvature;
}

inline void MarginTile::keep_curvature(std::span<const double> weights, Range rows,
                                       const double* derivatives, TileCurvature& curvature) const {
  for (std::size_t r = rows.first; r < rows.last; ++r) {
    const double* own = derivatives + (r - rows.first) * kLanes;
    for (std::size_t k = 0; k < kLanes; ++k)  // the sign of a derivative tells what was observed
      if (lane_scale_[k] != 0)
        curvature.lanes[r * kLanes + k] = binary_curvature(weights[r], 0, std::abs(own[k]));
  }
  for (std::size_t i = 0; i < multi_valued_.size(); ++i) {
    const auto& [column, codes] = multi_valued_[i];
    std::vector<double> counts(column.width + 1, 0.0);
    for (std::size_t r = rows.first; r < rows.last; ++r) {
      counts[codes[r]] = weights[r];
      softmax_curvature(counts.data(), derivatives + (r - rows.first) * kLanes + column.lane,
                        column.width, curvature.multi_valued[i].data() + r * counts.size());
      counts[codes[r]] = 0;
    }
  }
}

inline void MarginTile::multiply_curvature(const TileCurvature& curvature, Range rows,
                                           float* margins) const {
  for (std::size_t i = 0; i < multi_valued_.size(); ++i) {
    const MarginColumn& column = multi_valued_[i].column;
    for (std::size_t r = rows.first; r < rows.last; ++r)
      multiply_softmax_curvature(curvature.multi_valued[i].data() + r * (column.width + 1),
                                 column.width, margins + (r - rows.first) * kLanes + column.lane);
  }
  const float* lanes = curvature.lanes.data() + rows.first * kLanes;
  for (std::size_t i = 0; i < rows.size() * kLanes; ++i) margins[i] *= lanes[i];
}

}  // namespace feldspar
