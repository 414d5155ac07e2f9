// What a change of one feature is worth: the gain in
//
//   PLL(w) - sum_j w_j^2 / (2 sd^2)
//
// of adding, removing or generalising a conjunction, all other weights held fixed.
//
// A conjunction acts on the conditionals of its variables where its contexts hold. Whatever the
// number of values, a test "X_v in S" only sees the log-odds z of S against the rest, so that the
// gain of a weight w is a sum of terms log s(z + w) - log s(z), or of log s(-z - w) - log s(-z)
// where the test fails: logistic regression with a single coefficient, solved by Newton's method.
//
// One look at the terms at w = 0 gives an upper bound, since the curvature of a logistic function
// cannot shrink faster than exp(-|w|) (it is self-concordant): with gradient g and curvature h
// there, gain(w) <= |g| t - h (exp(-t) + t - 1) - t^2 / (2 sd^2), t = |w|. Both are sums of terms
// that the state keeps. Candidates whose bound is below what is asked are not solved; most are not.
//
// Weights are rounded to the state's grid (on_grid), which changes gains by less than rounding does.
//
// A GainEvaluator owns buffers and is for one thread; the state it looks at does not change.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include <feldspar/base/numeric.hpp>
#include <feldspar/base/pack.hpp>
#include <feldspar/base/simd.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/feature/context_rows.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/objective/margin_state.hpp>

namespace feldspar {

struct WeightGain {
  double weight = 0;
  double gain = 0;
  bool solved = true;  // else no weight gains as much as was asked; `gain` is an upper bound
};

namespace detail {

// sum of n log s(z + shift), of n (1 - s), of n s (1 - s), over log-odds z with weights n.
struct LogisticMoments {
  double value = 0, miss = 0, curvature = 0;
};

template <bool kWithValue>
struct LogisticMomentsKernel {
  template <class Real>
  struct Sums {
    Real value, miss, curvature;

    FELDSPAR_ALWAYS_INLINE void add(Real z, Real n) noexcept {
      const LogisticTerms<Real> terms(z);
      miss += n * terms.miss;
      curvature += n * terms.curvature;
      if constexpr (kWithValue) value += n * ((z - terms.positive) - log1p_unit(terms.e));
    }
  };

  FELDSPAR_ALWAYS_INLINE LogisticMoments operator()(const double* z, const double* n,
                                                    std::size_t size, double shift) const noexcept {
    Sums<Pack> packs{broadcast(0.0), broadcast(0.0), broadcast(0.0)};
    std::size_t i = 0;
    for (; i + kPackSize <= size; i += kPackSize)
      packs.add(load_pack(z + i) + shift, load_pack(n + i));
    Sums<double> rest{0, 0, 0};
    for (; i < size; ++i) rest.add(z[i] + shift, n[i]);
    return {add_up(packs.value) + rest.value, add_up(packs.miss) + rest.miss,
            add_up(packs.curvature) + rest.curvature};
  }

  static FELDSPAR_ALWAYS_INLINE double add_up(const Pack& pack) noexcept {
    double lanes[kPackSize];
    store_pack(lanes, pack);
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
  }
};

// The largest value of |g| t - h (exp(-t) + t - 1) - precision t^2 / 2 over t >= 0, from above.
inline double self_concordant_bound(double gradient, double curvature, double precision) {
  const double g = std::abs(gradient);
  const auto value = [&](double t) {
    return g * t - curvature * (std::exp(-t) + t - 1) - 0.5 * precision * t * t;
  };
  const auto slope = [&](double t) { return g - curvature * (1 - std::exp(-t)) - precision * t; };
  constexpr double kFar = 1e6;
  double low = 0, high = 1;
  while (high < kFar && slope(high) > 0) high *= 2;
  if (high >= kFar) return std::numeric_limits<double>::infinity();
  for (int i = 0; i < 8; ++i) {
    const double middle = 0.5 * (low + high);
    (slope(middle) > 0 ? low : high) = middle;
  }
  return value(low) + slope(low) * (high - low);  // concave: below its tangent
}

}  // namespace detail

class GainEvaluator {
 public:
  // Keeps references to `state` and `sets`; `precision` is 1 / sd^2, 0 for no prior.
  GainEvaluator(const MarginState& state, const ValueSets& sets, double precision)
      : state_(state), sets_(sets), precision_(precision) {}

  // From here on gains are those of the network without this feature of it, and what is added is a
  // generalisation of it (or itself). Returns the gain of the removal. `rows` are the feature's
  // contexts; keeps a reference to them.
  double take_out(std::span<const Test> tests, const ContextRows& rows, double weight);
  void put_back() noexcept { out_.clear(); }

  // The best weight for a conjunction that is not in the network. Where no weight gains more than
  // `at_least`, that may be all that is found out.
  WeightGain addition(std::span<const Test> tests,
                      double at_least = -std::numeric_limits<double>::infinity());

  // The contexts of the conjunction that was last judged for addition.
  const ContextRows& rows() const noexcept { return rows_; }

 private:
  // Log-odds of what was observed, with the rows' weights.
  struct Terms {
    std::vector<double> odds, weights;

    // Makes room for n more and returns where they begin.
    std::size_t grow(std::size_t n) {
      const std::size_t first = odds.size();
      odds.resize(first + n);
      weights.resize(first + n);
      return first;
    }
    void clear() noexcept {
      odds.clear();
      weights.clear();
    }
  };

  void collect(std::span<const Test> tests, const ContextRows& rows);
  void find_places(std::span<const Row> few, std::span<const Row> many);
  template <bool kWithValue>
  detail::LogisticMoments moments(const Terms& terms, std::size_t first, std::size_t last,
                                  double shift) const;
  template <bool kWithValue>
  detail::LogisticMoments moments(double weight) const;
  double solve(const detail::LogisticMoments& at_zero, double tolerance) const;

  const MarginState& state_;
  const ValueSets& sets_;
  double precision_;
  SimdLevel simd_ = simd_level();

  // Of the feature taken out, if any: its tests, by test what that changes in slopes, its weight,
  // and its contexts.
  std::vector<Test> out_;
  std::vector<MarginState::Slope> out_slopes_;
  double out_weight_ = 0;
  const ContextRows* out_rows_ = nullptr;

  ContextFinder finder_;
  ContextRows rows_;
  Terms passing_, failing_;
  std::vector<std::size_t> places_;
};

inline double GainEvaluator::take_out(std::span<const Test> tests, const ContextRows& rows,
                                      double weight) {
  put_back();
  collect(tests, rows);
  const double before = moments<true>(0.0).value;
  double after = 0;
  out_slopes_.clear();
  const std::size_t n_matched = rows.matched().size();
  for (std::size_t i = 0, failing = 0; i < tests.size(); ++i) {
    const std::size_t end = failing + rows.missed(i).size();
    const auto up = moments<true>(passing_, i * n_matched, (i + 1) * n_matched, -weight);
    const auto down = moments<true>(failing_, failing, end, weight);
    failing = end;
    after += up.value + down.value;
    const MarginState::Slope now = state_.slope(tests[i], i, sets_, rows);
    out_slopes_.push_back(
        {up.miss - down.miss - now.miss, up.curvature + down.curvature - now.curvature});
  }
  out_.assign(tests.begin(), tests.end());
  out_weight_ = weight;
  out_rows_ = &rows;
  return after - before + 0.5 * precision_ * weight * weight;
}

inline WeightGain GainEvaluator::addition(std::span<const Test> tests, double at_least) {
  finder_.find(tests, sets_, state_.data().columns(), rows_);
  MarginState::Slope slope = state_.slope(tests, sets_, rows_);
  for (std::size_t i = 0, k = 0; k < out_.size() && i < tests.size(); ++k) {
    if (out_[k].variable != tests[i].variable) continue;
    slope.miss += out_slopes_[k].miss;
    slope.curvature += out_slopes_[k].curvature;
    ++i;
  }
  double bound =
      detail::self_concordant_bound(slope.miss, std::max(slope.curvature, 0.0), precision_);
  if (bound <= at_least) return {0.0, bound, false};
  collect(tests, rows_);
  const detail::LogisticMoments at_zero = moments<true>(0.0);
  bound = std::min(bound, -at_zero.value);
  if (bound <= at_least) return {0.0, bound, false};
  const double weight = on_grid(solve(at_zero, 1e-7));
  const double gain =
      moments<true>(weight).value - at_zero.value - 0.5 * precision_ * weight * weight;
  return {weight, gain, true};
}

// The terms of all conditionals that the conjunction acts on, test by test. Where a feature is
// taken out, its rows are among the conjunction's: matched among the matched, and so on.
inline void GainEvaluator::collect(std::span<const Test> tests, const ContextRows& rows) {
  passing_.clear();
  failing_.clear();
  const auto gather = [&](Test test, bool passes, std::span<const Row> part) {
    Terms& terms = passes ? passing_ : failing_;
    const std::size_t first = terms.grow(part.size());
    state_.gather(test.variable, sets_[test.values], passes, part, terms.odds.data() + first,
                  terms.weights.data() + first);
    return terms.odds.data() + first;
  };
  const bool any_out = !out_.empty();
  if (any_out) find_places(out_rows_->matched(), rows.matched());
  for (const Test test : tests) {
    double* odds = gather(test, true, rows.matched());
    if (any_out)
      for (const std::size_t place : places_) odds[place] -= out_weight_;
  }
  for (std::size_t i = 0, k = 0; i < tests.size(); ++i) {
    double* odds = gather(tests[i], false, rows.missed(i));
    if (!any_out) continue;
    while (out_[k].variable != tests[i].variable) ++k;
    find_places(out_rows_->missed(k), rows.missed(i));
    for (const std::size_t place : places_) odds[place] += out_weight_;
  }
}

// Where the few are among the many; both ascend. Steps double until they go too far.
inline void GainEvaluator::find_places(std::span<const Row> few, std::span<const Row> many) {
  places_.clear();
  std::size_t place = 0;
  for (const Row row : few) {
    std::size_t step = 1;
    while (place + step < many.size() && many[place + step] <= row) step *= 2;
    const auto from = many.begin() + static_cast<std::ptrdiff_t>(place + step / 2);
    const auto to = many.begin() + static_cast<std::ptrdiff_t>(std::min(place + step, many.size()));
    place = static_cast<std::size_t>(std::lower_bound(from, to, row) - many.begin());
    assert(place < many.size() && many[place] == row);
    places_.push_back(place);
  }
}

// The sums of some of the terms.
template <bool kWithValue>
detail::LogisticMoments GainEvaluator::moments(const Terms& terms, std::size_t first,
                                               std::size_t last, double shift) const {
  return run_kernel<detail::LogisticMomentsKernel<kWithValue>>(
      simd_, terms.odds.data() + first, terms.weights.data() + first, last - first, shift);
}

// The terms' sums at a weight; `miss` is the derivative by it.
template <bool kWithValue>
detail::LogisticMoments GainEvaluator::moments(double weight) const {
  const auto up = moments<kWithValue>(passing_, 0, passing_.odds.size(), weight);
  const auto down = moments<kWithValue>(failing_, 0, failing_.odds.size(), -weight);
  return {up.value + down.value, up.miss - down.miss, up.curvature + down.curvature};
}

// The best weight, by Newton's method kept within what is known of its place.
inline double GainEvaluator::solve(const detail::LogisticMoments& at_zero, double tolerance) const {
  constexpr double kLargest = 50.0;  // where there is no prior, and none fails or none passes
  double weight = 0, low = -kLargest, high = kLargest;
  detail::LogisticMoments here = at_zero;
  for (int iteration = 0; iteration < 60; ++iteration) {
    const double slope = here.miss - precision_ * weight;
    const double curvature = here.curvature + precision_;
    if (slope * slope <= 2 * tolerance * curvature) break;
    (slope > 0 ? low : high) = weight;
    const double next = weight + slope / std::max(curvature, 1e-300);
    weight = next > low && next < high ? next : 0.5 * (low + high);
    here = moments<false>(weight);
  }
  return weight;
}

}  // namespace feldspar
