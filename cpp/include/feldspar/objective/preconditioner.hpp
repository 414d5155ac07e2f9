// Better coordinates for the weights: centred features, in units that even out their curvatures.
//
// The features X_i, X_i X_j, X_i X_j X_k ... of a model are nearly collinear wherever the variables
// are mostly one: optimizers then crawl. Centred products (X_i - q_i)(X_j - q_j)... span the same
// functions and are nearly uncorrelated, since q_i is how often test i holds. Expanding the product
// gives the weights that the coordinate z_f of a centred feature stands for:
//
//   w_S += z_f * product over the tests of f not in S of (-q),   for every part S of f.
//
// So w = P z with P sparse and unit triangular. A feature is centred only if all its parts are in
// the model; otherwise its coordinate is its own weight. On top of that coordinates are scaled so
// that their curvatures differ less. Where features outnumber the observations (a variable of a
// row each) the prior shapes the objective as much as the data do, and it is even in the weights
// themselves: nothing is centred or scaled then. docs/decisions/0005 has the measurements.
//
// The L1 penalty is separable in w, not in z: with it, only the scaling may be used (`centred` =
// false).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <ranges>
#include <span>
#include <unordered_map>
#include <vector>

#include <Eigen/Core>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/parallel.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/counts.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/feature/context_table.hpp>
#include <feldspar/feature/feature_lookup.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/objective/margin_signs.hpp>

namespace feldspar {

// What the coordinates are made of; independent of the penalty.
class FeatureGeometry {
 public:
  FeatureGeometry() = default;
  FeatureGeometry(const FeatureSet& features, const ContextTable& table, const Dataset& data,
                  const Execution& execution = {});

  std::size_t n_features() const noexcept { return n_features_; }

  // Curvature of the negative PLL along each weight, and along each centred coordinate, where every
  // conditional equals the variable's marginal.
  std::span<const double> curvature() const noexcept { return curvature_; }
  std::span<const double> centred_curvature() const noexcept { return centred_curvature_; }

  // Column f of P without its unit diagonal: the proper parts of f and their coefficients.
  struct Part {
    FeatureId feature;
    double coefficient;
  };
  std::span<const Part> parts(FeatureId f) const noexcept {
    return {parts_.data() + begin_[f], begin_[f + 1] - begin_[f]};
  }
  bool has_parts() const noexcept { return !parts_.empty(); }

  // What a unit of a feature's weight, or of its centred coordinate, adds to one margin of one of its
  // variables, summed over the rows. Margins of all variables are numbered through.
  // There are none where features outnumber the data.
  struct Pull {
    std::uint32_t margin;
    float by_weight, by_centred;  // for preconditioning only
  };
  std::span<const Pull> pulls(FeatureId f) const noexcept {
    return {pulls_.data() + pull_begin_[f], pull_begin_[f + 1] - pull_begin_[f]};
  }
  std::span<const Pull> all_pulls() const noexcept { return pulls_; }
  // Curvature of the negative PLL along each margin's bias, where every conditional equals the
  // variable's marginal; per unit of weight of the rows.
  std::span<const double> margin_variance() const noexcept { return margin_variance_; }
  double total_weight() const noexcept { return total_weight_; }
  // More features than observations, a variable of a row each.
  bool outnumbers_data() const noexcept { return outnumbers_data_; }
  // Features by falling length: every feature before its parts.
  std::span<const FeatureId> longest_first() const noexcept { return longest_first_; }

 private:
  void add_parts(const FeatureSet& features, const FeatureLookup& lookup, FeatureId f,
                 std::span<const double> share);
  void add_pulls(const FeatureSet& features, FeatureId f, std::span<const double> support_of_test,
                 std::span<const std::uint32_t> first_margin);

  std::size_t n_features_ = 0;
  double total_weight_ = 0;
  bool outnumbers_data_ = false;
  std::vector<double> curvature_, centred_curvature_;
  std::vector<std::size_t> begin_{0};
  std::vector<Part> parts_;
  std::vector<FeatureId> longest_first_;
  std::vector<std::size_t> pull_begin_{0};
  std::vector<Pull> pulls_;
  std::vector<double> margin_variance_;
};

// The map between weights w and coordinates z for one penalty. Keeps a reference to the geometry.
class Preconditioner {
 public:
  // `precision` is that of the Gaussian prior, 1 / sd^2.
  Preconditioner(const FeatureGeometry& geometry, double precision, bool centred);

  Eigen::Index dimension() const noexcept { return scale_.size(); }
  bool is_centred() const noexcept { return centred_; }
  // Whether the coordinates are the weights.
  bool is_identity() const noexcept { return identity_; }
  // |dw_j / dz_j|; without centring all there is.
  const Eigen::VectorXd& scale() const noexcept { return scale_; }

  // Vectors are of doubles or, where they are directions only, of floats.
  template <class Vector>
  void to_weights(const Vector& z, Vector& weights) const;
  void to_coordinates(const Eigen::VectorXd& weights, Eigen::VectorXd& z) const;
  // In place: the gradient by the weights becomes the gradient by the coordinates.
  template <class Vector>
  void pull_back(Vector& gradient) const;
  // The squared length of the gradient by the weights, from that by the coordinates.
  double squared_length_by_weights(const Eigen::VectorXd& gradient) const;

 private:
  // Whether a coordinate stands for more than one weight.
  bool mixes() const noexcept { return centred_ && geometry_.has_parts(); }

  const FeatureGeometry& geometry_;
  bool centred_;
  bool identity_ = false;
  Eigen::VectorXd scale_;
};

namespace detail {

// How often each test holds, in the order of the tests; a little off 0 and 1 so that no variance
// vanishes.
inline std::vector<double> test_shares(const FeatureSet& features, const Dataset& data,
                                       const WeightedCounter& counter) {
  std::unordered_map<std::uint64_t, double> known;
  std::vector<Word> rows(data.columns().n_words());
  std::vector<double> shares;
  for (const Test test : features.tests()) {
    const auto [place, fresh] =
        known.try_emplace((static_cast<std::uint64_t>(test.variable) << 32) | test.values);
    if (fresh) {
      fill_bits(rows, data.n_rows());
      data.columns().intersect(test.variable, features.values(test.values), rows);
      place->second = (counter.count(rows) + 0.5) / (data.total_weight() + 1.0);
    }
    shares.push_back(place->second);
  }
  return shares;
}

// Shares of the values above 0 of all variables, one after another; a little off 0 and 1 as above.
inline std::vector<double> value_shares(const Dataset& data, const WeightedCounter& counter) {
  std::vector<Word> rows(data.columns().n_words());
  std::vector<double> shares;
  for (Variable v = 0; v < data.n_variables(); ++v)
    for (Value value = 1; value < data.schema().cardinality(v); ++value) {
      fill_bits(rows, data.n_rows());
      data.columns().intersect(v, {&value, 1}, rows);
      shares.push_back((counter.count(rows) + 0.5) / (data.total_weight() + 1.0));
    }
  return shares;
}

}  // namespace detail

inline FeatureGeometry::FeatureGeometry(const FeatureSet& features, const ContextTable& table,
                                        const Dataset& data, const Execution& execution)
    : n_features_(features.size()),
      total_weight_(data.total_weight()),
      outnumbers_data_(features.size() > data.n_rows() * data.n_variables()) {
  const WeightedCounter counter(data);
  const std::vector<double> share = detail::test_shares(features, data, counter);
  std::vector<double> support(table.size());
  constexpr std::size_t kContexts = 256;  // a task's share
  parallel_for((table.size() + kContexts - 1) / kContexts, execution, [&](std::size_t task) {
    std::vector<Word> rows(data.columns().n_words());
    const std::size_t last = std::min(table.size(), (task + 1) * kContexts);
    for (std::size_t c = task * kContexts; c < last; ++c) {
      table.match(features, data.columns(), static_cast<ContextId>(c), rows);
      support[c] = counter.count(rows);
    }
  });
  execution.throw_if_stopped();

  const FeatureLookup lookup(features);
  for (FeatureId f = 0; f < features.size(); ++f) {
    const std::size_t first = features.first_test(f), n = features[f].size();
    double own = 0, product = 1;
    for (std::size_t t = first; t < first + n; ++t) {
      own += support[table.of_test(t)] * share[t] * (1 - share[t]);
      product *= share[t] * (1 - share[t]);
    }
    curvature_.push_back(own);
    if (!outnumbers_data_) add_parts(features, lookup, f, std::span(share).subspan(first, n));
    begin_.push_back(parts_.size());
    const bool centred = begin_[f + 1] > begin_[f] || n == 1;
    centred_curvature_.push_back(centred ? static_cast<double>(n) * data.total_weight() * product
                                         : own);
  }
  std::vector<double> support_of_test(features.n_tests());
  for (std::size_t t = 0; t < support_of_test.size(); ++t)
    support_of_test[t] = support[table.of_test(t)];
  std::vector<std::uint32_t> first_margin;
  for (Variable v = 0; v < data.n_variables(); ++v) {
    first_margin.push_back(static_cast<std::uint32_t>(margin_variance_.size()));
    margin_variance_.resize(margin_variance_.size() + data.schema().cardinality(v) - 1u);
  }
  std::ranges::transform(detail::value_shares(data, counter), margin_variance_.begin(),
                         [](double q) { return q * (1 - q); });
  if (outnumbers_data_)
    pull_begin_.resize(n_features_ + 1, 0);
  else
    for (FeatureId f = 0; f < features.size(); ++f)
      add_pulls(features, f, support_of_test, first_margin);

  longest_first_.resize(n_features_);
  std::iota(longest_first_.begin(), longest_first_.end(), FeatureId{0});
  std::ranges::stable_sort(longest_first_, std::greater<>{},
                           [&](FeatureId f) { return features[f].size(); });
}

inline void FeatureGeometry::add_parts(const FeatureSet& features, const FeatureLookup& lookup,
                                       FeatureId f, std::span<const double> share) {
  constexpr std::size_t kMaxTests = 6;  // 62 parts; longer features rarely have all theirs
  const auto tests = features[f];
  const std::size_t first_part = parts_.size();
  bool complete = tests.size() <= kMaxTests;
  Test part[kMaxTests];
  for (std::size_t kept = 1; complete && kept + 1 < std::size_t{1} << tests.size(); ++kept) {
    double coefficient = 1;
    std::size_t n = 0;
    for (std::size_t i = 0; i < tests.size(); ++i) {
      if ((kept >> i) & 1)
        part[n++] = tests[i];
      else
        coefficient *= -share[i];
    }
    const std::optional<FeatureId> found = lookup.find({part, n});
    complete = found.has_value();
    if (complete) parts_.push_back({*found, coefficient});
  }
  if (!complete) parts_.resize(first_part);
}

// A context that holds on rows of weight s pulls by s at the margins its test admits; a centred
// feature pulls by what it and its parts do together.
inline void FeatureGeometry::add_pulls(const FeatureSet& features, FeatureId f,
                                       std::span<const double> support_of_test,
                                       std::span<const std::uint32_t> first_margin) {
  const auto tests = features[f];
  const std::size_t first = features.first_test(f);
  for (std::size_t i = 0; i < tests.size(); ++i) {
    const double own = support_of_test[first + i];
    double together = own;
    for (const Part& part : parts(f)) {
      const auto kept = features[part.feature];
      for (std::size_t k = 0; k < kept.size(); ++k)
        if (kept[k].variable == tests[i].variable)
          together += part.coefficient * support_of_test[features.first_test(part.feature) + k];
    }
    const Variable v = tests[i].variable;
    for_each_margin(
        features.values(tests[i].values), features.schema().cardinality(v),
        [&](std::size_t margin, double sign) {
          pulls_.push_back({static_cast<std::uint32_t>(first_margin[v] + margin),
                            static_cast<float>(sign * own), static_cast<float>(sign * together)});
        });
  }
  pull_begin_.push_back(pulls_.size());
}

inline Preconditioner::Preconditioner(const FeatureGeometry& geometry, double precision,
                                      bool centred)
    : geometry_(geometry), centred_(centred) {
  const auto curvature = centred ? geometry.centred_curvature() : geometry.curvature();
  scale_.setOnes(static_cast<Eigen::Index>(geometry.n_features()));
  identity_ = centred && geometry.outnumbers_data() && precision > 0;
  if (identity_) return;
  double log_total = 0;
  for (FeatureId f = 0; f < geometry.n_features(); ++f) {
    // Of the coordinate's direction among the weights, where the prior lives.
    double squared_length = 1;
    if (centred)
      for (const auto& part : geometry.parts(f))
        squared_length += part.coefficient * part.coefficient;
    const double total = curvature[f] + precision * squared_length;
    // Without curvature and prior a weight has no influence at all; any scale will do.
    scale_[f] = total > 0 ? total : 1.0;
    log_total += std::log(scale_[f]);
  }
  const double typical =
      std::exp(log_total / static_cast<double>(std::max<std::size_t>(1, geometry.n_features())));
  // The full step would be 1 / sqrt(curvature). But curvatures are those of the independent model,
  // and the better a model fits, the smaller those of its frequent features become: half-way was
  // best in the three cases tried (docs/decisions/0005).
  for (double& scale : scale_) scale = 1 / std::sqrt(std::sqrt(scale * typical));
}

template <class Vector>
void Preconditioner::to_weights(const Vector& z, Vector& weights) const {
  using Number = typename Vector::Scalar;
  weights = z.cwiseProduct(scale_.cast<Number>());
  if (!mixes()) return;
  const Vector centred = weights;
  for (FeatureId f = 0; f < geometry_.n_features(); ++f)
    for (const auto& part : geometry_.parts(f))
      weights[part.feature] += static_cast<Number>(part.coefficient) * centred[f];
}

inline void Preconditioner::to_coordinates(const Eigen::VectorXd& weights,
                                           Eigen::VectorXd& z) const {
  z = weights;
  if (mixes())
    for (const FeatureId f : geometry_.longest_first())  // back substitution
      for (const auto& part : geometry_.parts(f)) z[part.feature] -= part.coefficient * z[f];
  z = z.cwiseQuotient(scale_);
}

template <class Vector>
void Preconditioner::pull_back(Vector& gradient) const {
  using Number = typename Vector::Scalar;
  if (mixes()) {
    const Vector by_weights = gradient;
    for (FeatureId f = 0; f < geometry_.n_features(); ++f)
      for (const auto& part : geometry_.parts(f))
        gradient[f] += static_cast<Number>(part.coefficient) * by_weights[part.feature];
  }
  gradient = gradient.cwiseProduct(scale_.cast<Number>());
}

inline double Preconditioner::squared_length_by_weights(const Eigen::VectorXd& gradient) const {
  if (identity_) return gradient.squaredNorm();
  if (!mixes()) return gradient.cwiseQuotient(scale_).squaredNorm();
  Eigen::VectorXd by_weights = gradient.cwiseQuotient(scale_);
  for (const FeatureId f : geometry_.longest_first() | std::views::reverse)  // parts come first
    for (const auto& part : geometry_.parts(f))
      by_weights[f] -= part.coefficient * by_weights[part.feature];
  return by_weights.squaredNorm();
}

}  // namespace feldspar
