// What L-BFGS should know of the Hessian beforehand: the directions in which many weights move the
// bias of one variable together are far steeper than all others.
//
// A margin of a variable is a sum over the features that hold around it. Contexts that hold on most
// rows, "all these are zero" on sparse data, are nearly the bias all of them, and a variable can
// have hundreds: along their sum the objective curves hundreds of times as much as along their
// differences. There is such a direction for each variable, and L-BFGS remembers twenty pairs. Let
// b_m be the derivative, by the coordinates of the weights, of the sum of margin m over all rows, in
// units such that |b_m|^2 is about the curvature along it. Then
//
//   M = T T',   T = product over m of (I - s_m b_m b_m'),   1 - s_m |b_m|^2 = (1 + |b_m|^2 / k)^-e_m
//
// shortens these directions and leaves the rest as it is. M is positive definite whatever the
// features. e_m is 1/4 (M then has half the exponent that the curvatures of the independent model
// ask for, as the scales of preconditioner.hpp do) or, where b_m is coupled to many others, the
// share it has in them: directions that lie beside each other are not shortened once for each.
// docs/decisions/0005 has the measurements.
//
// Cost of a product: four passes over the tests of all features. Runs on the calling thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <Eigen/Core>

#include <feldspar/base/types.hpp>
#include <feldspar/objective/preconditioner.hpp>

namespace feldspar {

class BiasDirections {
 public:
  BiasDirections(const FeatureGeometry& geometry, const Preconditioner& coordinates);

  // Whether nothing is shortened.
  bool is_identity() const noexcept {
    return std::ranges::all_of(shrink_, [](double s) { return s == 0; });
  }

  // v <- M v
  void multiply(Eigen::VectorXd& v) const {
    multiply_transposed_root(v);
    for (std::size_t m = 0; m < n_margins(); ++m) shorten(m, v);
  }

  // v'Mv, in half the time; v becomes T'v.
  double square(Eigen::VectorXd& v) const {
    multiply_transposed_root(v);
    return v.squaredNorm();
  }

 private:
  // Curvature, in units of the typical coordinate's, from which on a direction counts as steep.
  static constexpr double kSteep = 10.0;
  static constexpr double kMostExponent = 0.25;
  static constexpr double kOneCoordinate = 0.99;  // share of |b_m|^2 from which on b_m is one

  std::size_t n_margins() const noexcept { return shrink_.size(); }

  void sort_pulls(const FeatureGeometry& geometry, const Preconditioner& coordinates);
  void choose_shrinkage();
  void shorten(std::size_t m, Eigen::VectorXd& v) const;

  // v <- T'v
  void multiply_transposed_root(Eigen::VectorXd& v) const {
    for (std::size_t m = n_margins(); m-- > 0;) shorten(m, v);
  }

  std::vector<std::size_t> begin_;       // by margin
  std::vector<std::uint32_t> features_;  // by entry
  std::vector<float> entries_;           // the component of b_m at the feature
  std::vector<double> shrink_;           // s_m, by margin
};

inline BiasDirections::BiasDirections(const FeatureGeometry& geometry,
                                      const Preconditioner& coordinates) {
  sort_pulls(geometry, coordinates);
  choose_shrinkage();
}

// The vectors b_m, one after another.
inline void BiasDirections::sort_pulls(const FeatureGeometry& geometry,
                                       const Preconditioner& coordinates) {
  const auto variance = geometry.margin_variance();
  begin_.assign(variance.size() + 1, 0);
  for (const auto& pull : geometry.all_pulls()) ++begin_[pull.margin + 1];
  for (std::size_t m = 0; m < variance.size(); ++m) begin_[m + 1] += begin_[m];
  features_.resize(begin_.back());
  entries_.resize(begin_.back());
  std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
  for (FeatureId f = 0; f < geometry.n_features(); ++f)
    for (const auto& pull : geometry.pulls(f)) {
      const std::size_t at = next[pull.margin]++;
      features_[at] = f;
      const double pulled = coordinates.is_centred() ? pull.by_centred : pull.by_weight;
      entries_[at] = static_cast<float>(pulled * coordinates.scale()[f] *
                                        std::sqrt(variance[pull.margin] / geometry.total_weight()));
    }
  shrink_.resize(variance.size());
}

inline void BiasDirections::choose_shrinkage() {
  std::vector<double> at_feature;  // |components| of all b_m
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (features_[i] >= at_feature.size()) at_feature.resize(features_[i] + 1, 0.0);
    at_feature[features_[i]] += std::abs(entries_[i]);
  }
  for (std::size_t m = 0; m < n_margins(); ++m) {
    double square = 0, largest = 0, coupled = 0;  // coupled: at least the sum of |b_m'b_n| over n
    for (std::size_t i = begin_[m]; i < begin_[m + 1]; ++i) {
      const double entry = std::abs(entries_[i]);
      square += entry * entry;
      largest = std::max(largest, entry);
      coupled += entry * at_feature[features_[i]];
    }
    // One coordinate by itself has the scale it should have; so with all biases of centred features.
    if (!(largest * largest < kOneCoordinate * square)) continue;
    const double exponent = std::min(kMostExponent, square / coupled);
    shrink_[m] = (1 - std::pow(1 + square / kSteep, -exponent)) / square;
  }
}

// v <- (I - s_m b_m b_m') v
inline void BiasDirections::shorten(std::size_t m, Eigen::VectorXd& v) const {
  if (shrink_[m] == 0) return;
  constexpr std::size_t kSums = 4;  // so that additions do not wait for each other
  const std::size_t first = begin_[m], last = begin_[m + 1];
  double* numbers = v.data();
  double sums[kSums] = {};
  std::size_t i = first;
  for (; i + kSums <= last; i += kSums)
    for (std::size_t k = 0; k < kSums; ++k) sums[k] += entries_[i + k] * numbers[features_[i + k]];
  for (; i < last; ++i) sums[0] += entries_[i] * numbers[features_[i]];
  const double along = shrink_[m] * ((sums[0] + sums[1]) + (sums[2] + sums[3]));
  for (i = first; i < last; ++i) numbers[features_[i]] -= entries_[i] * along;
}

}  // namespace feldspar
