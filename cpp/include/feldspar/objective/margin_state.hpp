// What a network says of every variable on every row, kept up to date while features come and go.
//
// A binary variable has one number a row, the log-odds of its observed value; a variable of more
// values has a score for each of them. Adding a weight to a conjunction changes the numbers only
// where one of its contexts holds (context_rows.hpp). Beside each number is kept what follows from
// it: the probability of not observing what was observed, and the curvature, so that the derivative
// of the pseudo-likelihood by a weight, old or new, is a sum of known terms.
//
// Weights on the grid (on_grid) add up without rounding. Where all are, the state is that of the
// network to the last bit, in whatever order features came, changed and went.
//
// Cost of a change: an exponential for each row of the contexts; of a derivative: an addition.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include <feldspar/base/numeric.hpp>
#include <feldspar/base/pack.hpp>
#include <feldspar/base/simd.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/feature/context_rows.hpp>
#include <feldspar/feature/feature_set.hpp>

namespace feldspar {

// The nearest multiple of 2^-30: sums of up to 2^23 in size have no rounding error.
inline double on_grid(double weight) noexcept {
  constexpr double kUnit = 0x1p-30;
  return std::nearbyint(weight / kUnit) * kUnit;
}

namespace detail {

// Of log s(z): 1 - s(z), which is the derivative, and s(z) (1 - s(z)), the curvature.
template <class Real>
struct LogisticTerms {
  Real positive, e;  // max(z, 0) and exp(-|z|)
  Real miss, curvature;

  FELDSPAR_ALWAYS_INLINE explicit LogisticTerms(Real z) noexcept {
    positive = select(z > 0.0, z, constant<Real>(0.0));
    e = exp_negative(z - 2.0 * positive);
    const Real inverse = 1.0 / (1.0 + e);
    const Real smaller = e * inverse;
    miss = select(z > 0.0, smaller, inverse);
    curvature = smaller * inverse;
  }
};

// The terms of each z, times n.
struct LogisticTermsKernel {
  FELDSPAR_ALWAYS_INLINE void operator()(const double* z, const double* n, std::size_t size,
                                         double* miss, double* curvature) const noexcept {
    std::size_t i = 0;
    for (; i + kPackSize <= size; i += kPackSize) put<Pack>(z + i, n + i, miss + i, curvature + i);
    for (; i < size; ++i) put<double>(z + i, n + i, miss + i, curvature + i);
  }

  template <class Real>
  static FELDSPAR_ALWAYS_INLINE void put(const double* z, const double* n, double* miss,
                                         double* curvature) noexcept {
    const LogisticTerms<Real> terms(load<Real>(z));
    store(miss, load<Real>(n) * terms.miss);
    store(curvature, load<Real>(n) * terms.curvature);
  }
};

}  // namespace detail

class MarginState {
 public:
  // First derivative by a weight, and the second with its sign changed.
  struct Slope {
    double miss = 0, curvature = 0;
  };

  // The network without features. Keeps a reference to `data`.
  explicit MarginState(const Dataset& data);

  const Dataset& data() const noexcept { return data_; }

  // The network of these features and weights, from scratch.
  void assign(const FeatureSet& features, std::span<const double> weights);

  // Adds to the weight of a conjunction; `rows` are its contexts on the data.
  void add(std::span<const Test> tests, const ValueSets& sets, const ContextRows& rows,
           double weight);

  // The pseudo-log-likelihood: a sum over rows, by weight, and variables.
  double log_likelihood() const;

  // Of the pseudo-log-likelihood by the weight of a conjunction: the part of one of its tests,
  Slope slope(Test test, std::size_t i, const ValueSets& sets, const ContextRows& rows) const;
  // and all of it.
  Slope slope(std::span<const Test> tests, const ValueSets& sets, const ContextRows& rows) const;

  // Writes, for each of `rows`, the log-odds of "the value is in `values`" (is_in), or of "it is
  // not", whichever holds on all these rows, and the row's weight.
  void gather(Variable v, std::span<const Value> values, bool is_in, std::span<const Row> rows,
              double* odds, double* weights) const;

 private:
  Value cardinality(Variable v) const noexcept { return data_.schema().cardinality(v); }
  void shift(std::span<const Test> tests, const ValueSets& sets, const ContextRows& rows,
             double weight);
  template <class RowNumber>
  void refresh(Variable v, std::size_t n, RowNumber row_number);
  void refresh_all();
  static Slope sum(const Slope* terms, std::span<const Row> rows) noexcept;
  Slope sum(Variable v, std::span<const Value> values, bool is_in, std::span<const Row> rows) const;

  const Dataset& data_;
  SimdLevel simd_ = simd_level();
  // By variable. Two values: log-odds by row, and the weighted terms of their logistic function;
  // more: scores and probabilities by row and value.
  std::vector<std::vector<double>> margins_;
  std::vector<std::vector<Slope>> slopes_;
  std::vector<std::vector<double>> probabilities_;
};

inline MarginState::MarginState(const Dataset& data)
    : data_(data), slopes_(data.n_variables()), probabilities_(data.n_variables()) {
  for (Variable v = 0; v < data.n_variables(); ++v) {
    const std::size_t width = cardinality(v) > 2 ? cardinality(v) : cardinality(v) - 1u;
    margins_.emplace_back(data.n_rows() * width, 0.0);
    if (cardinality(v) == 2) slopes_[v].resize(data.n_rows());
    if (cardinality(v) > 2) probabilities_[v].resize(data.n_rows() * width);
  }
  refresh_all();
}

inline void MarginState::assign(const FeatureSet& features, std::span<const double> weights) {
  for (auto& margins : margins_) std::ranges::fill(margins, 0.0);
  ContextFinder finder;
  ContextRows rows;
  for (FeatureId j = 0; j < features.size(); ++j) {
    finder.find(features[j], features.value_sets(), data_.columns(), rows);
    shift(features[j], features.value_sets(), rows, weights[j]);
  }
  refresh_all();
}

inline void MarginState::add(std::span<const Test> tests, const ValueSets& sets,
                             const ContextRows& rows, double weight) {
  shift(tests, sets, rows, weight);
  for (std::size_t i = 0; i < tests.size(); ++i)
    for (const auto part : {rows.matched(), rows.missed(i)})
      refresh(tests[i].variable, part.size(), [part](std::size_t k) { return part[k]; });
}

inline void MarginState::shift(std::span<const Test> tests, const ValueSets& sets,
                               const ContextRows& rows, double weight) {
  for (std::size_t i = 0; i < tests.size(); ++i) {
    const Variable v = tests[i].variable;
    double* margins = margins_[v].data();
    const std::size_t n_values = cardinality(v);
    if (n_values == 2) {  // the observed value is the one admitted where the test holds
      for (const Row r : rows.matched()) margins[r] += weight;
      for (const Row r : rows.missed(i)) margins[r] -= weight;
    } else if (n_values > 2) {
      for (const auto part : {rows.matched(), rows.missed(i)})
        for (const Row r : part)
          for (const Value a : sets[tests[i].values]) margins[r * n_values + a] += weight;
    }
  }
}

// What follows from the margins, on n rows.
template <class RowNumber>
void MarginState::refresh(Variable v, std::size_t n, RowNumber row_number) {
  constexpr std::size_t kBlock = 256;
  const std::size_t n_values = cardinality(v);
  const double* margins = margins_[v].data();
  if (n_values > 2) {
    for (std::size_t k = 0; k < n; ++k) {
      const double* scores = margins + row_number(k) * n_values;
      double* probabilities = probabilities_[v].data() + row_number(k) * n_values;
      const double top = *std::max_element(scores, scores + n_values);
      double total = 0;
      for (std::size_t a = 0; a < n_values; ++a)
        total += probabilities[a] = exp_negative(scores[a] - top);
      for (std::size_t a = 0; a < n_values; ++a) probabilities[a] /= total;
    }
  } else if (n_values == 2) {
    std::array<double, kBlock> odds, weights, miss, curvature;
    for (std::size_t first = 0; first < n; first += kBlock) {
      const std::size_t size = std::min(kBlock, n - first);
      for (std::size_t k = 0; k < size; ++k) {
        odds[k] = margins[row_number(first + k)];
        weights[k] = data_.weights()[row_number(first + k)];
      }
      run_kernel<detail::LogisticTermsKernel>(simd_, odds.data(), weights.data(), size, miss.data(),
                                              curvature.data());
      for (std::size_t k = 0; k < size; ++k)
        slopes_[v][row_number(first + k)] = {miss[k], curvature[k]};
    }
  }
}

inline void MarginState::refresh_all() {
  for (Variable v = 0; v < margins_.size(); ++v)
    refresh(v, data_.n_rows(), [](std::size_t r) { return r; });
}

inline double MarginState::log_likelihood() const {
  double sum = 0;
  for (Variable v = 0; v < margins_.size(); ++v) {
    const auto& margins = margins_[v];
    const auto weights = data_.weights();
    double own = 0;
    if (cardinality(v) == 2) {
      for (std::size_t r = 0; r < weights.size(); ++r)
        own += weights[r] *
               (std::min(margins[r], 0.0) - log1p_unit(exp_negative(-std::abs(margins[r]))));
    } else if (cardinality(v) > 2) {
      const std::vector<Value> codes = data_.columns().codes(v);
      for (std::size_t r = 0; r < weights.size(); ++r) {
        const std::span<const double> scores(&margins[r * cardinality(v)], cardinality(v));
        const double top = *std::ranges::max_element(scores);
        double total = 0;
        for (const double score : scores) total += std::exp(score - top);
        own += weights[r] * (scores[codes[r]] - top - std::log(total));
      }
    }
    sum += own;
  }
  return sum;
}

inline MarginState::Slope MarginState::sum(const Slope* terms, std::span<const Row> rows) noexcept {
  constexpr std::size_t kSums = 4;  // so that additions need not wait for each other
  std::array<Slope, kSums> lanes{};
  const auto add = [](Slope& to, const Slope& term) {
    to.miss += term.miss;
    to.curvature += term.curvature;
  };
  std::size_t k = 0;
  for (; k + kSums <= rows.size(); k += kSums)
    for (std::size_t lane = 0; lane < kSums; ++lane) add(lanes[lane], terms[rows[k + lane]]);
  for (; k < rows.size(); ++k) add(lanes[0], terms[rows[k]]);
  Slope total;
  for (const Slope& lane : lanes) add(total, lane);
  return total;
}

// Over rows where the value is in `values`, or rows where it is not.
inline MarginState::Slope MarginState::sum(Variable v, std::span<const Value> values, bool is_in,
                                           std::span<const Row> rows) const {
  const std::size_t n_values = cardinality(v);
  if (n_values == 2) return sum(slopes_[v].data(), rows);
  Slope total;
  for (std::size_t k = 0; n_values > 2 && k < rows.size(); ++k) {
    double admitted = 0;
    for (const Value a : values) admitted += probabilities_[v][rows[k] * n_values + a];
    const double other = std::max(1 - admitted, 0.0), weight = data_.weights()[rows[k]];
    total.miss += weight * (is_in ? other : admitted);
    total.curvature += weight * admitted * other;
  }
  return total;
}

inline MarginState::Slope MarginState::slope(Test test, std::size_t i, const ValueSets& sets,
                                             const ContextRows& rows) const {
  const auto values = sets[test.values];
  const Slope up = sum(test.variable, values, true, rows.matched());
  const Slope down = sum(test.variable, values, false, rows.missed(i));
  return {up.miss - down.miss, up.curvature + down.curvature};
}

inline MarginState::Slope MarginState::slope(std::span<const Test> tests, const ValueSets& sets,
                                             const ContextRows& rows) const {
  Slope total;
  for (std::size_t i = 0; i < tests.size(); ++i) {
    const Slope part = slope(tests[i], i, sets, rows);
    total.miss += part.miss;
    total.curvature += part.curvature;
  }
  return total;
}

inline void MarginState::gather(Variable v, std::span<const Value> values, bool is_in,
                                std::span<const Row> rows, double* odds, double* weights) const {
  const double* margins = margins_[v].data();
  const double* row_weights = data_.weights().data();
  const std::size_t n_values = cardinality(v);
  for (const Row r : rows) *weights++ = row_weights[r];
  if (n_values == 2) {
    for (const Row r : rows) *odds++ = margins[r];
    return;
  }
  for (const Row r : rows) {
    const double* scores = margins + r * n_values;
    const double top = *std::max_element(scores, scores + n_values);
    double admitted = 0, other = 0;
    for (std::size_t a = 0, next = 0; a < n_values; ++a) {
      const bool in = next < values.size() && values[next] == a;
      next += in;
      (in ? admitted : other) += std::exp(scores[a] - top);
    }
    const double log_odds = std::log(admitted) - std::log(other);
    *odds++ = is_in ? log_odds : -log_odds;
  }
}

}  // namespace feldspar
