// What a change of one feature is worth: the gain in
//
//   PLL(w) - sum_j w_j^2 / (2 sd^2)
//
// of adding, removing, reweighting or generalising a conjunction, all other weights held fixed.
//
// A conjunction acts on the conditionals of its variables where its contexts hold. Whatever the
// number of values, a test "X_v in S" only sees the log-odds z of S against the rest, so that the
// gain of a weight w is a sum of terms log s(z + w) - log s(z), or of log s(-z - w) - log s(-z)
// where the test fails: logistic regression with a single coefficient, solved by Newton's method.
//
// One look at the terms at w = 0 gives an upper bound, since the curvature of a logistic function
// cannot shrink faster than exp(-|w|) (it is self-concordant): with gradient g and curvature h
// there, gain(w) <= |g| t - h (exp(-t) + t - 1) - t^2 / (2 sd^2), t = |w|. Candidates whose bound
// is below what is asked are not solved; most are not.
//
// A GainEvaluator owns buffers and is for one thread; the state it looks at does not change.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include <feldspar/base/bits.hpp>
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
      const Real positive = select(z > 0.0, z, constant<Real>(0.0));
      const Real e = exp_negative(z - 2.0 * positive);  // exp(-|z|)
      const Real inverse = 1.0 / (1.0 + e);
      const Real smaller = e * inverse;
      miss += n * select(z > 0.0, smaller, inverse);
      curvature += n * (smaller * inverse);
      if constexpr (kWithValue) value += n * ((z - positive) - log1p_unit(e));
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
  // generalisation of it (or itself). Returns the gain of the removal.
  double take_out(std::span<const Test> tests, double weight);
  void put_back() noexcept { n_out_ = 0; }

  // The best weight for a conjunction that is not in the network. Where no weight gains more than
  // `at_least`, that may be all that is found out.
  WeightGain addition(std::span<const Test> tests,
                      double at_least = -std::numeric_limits<double>::infinity());

  // The best weight for a feature of the network that now has `weight`, to within `tolerance` of
  // the objective. Nothing may be taken out.
  WeightGain adjustment(std::span<const Test> tests, double weight, double tolerance);

  // The contexts of the conjunction that was looked at last.
  const ContextRows& rows() const noexcept { return rows_; }

 private:
  // Log-odds of what was observed, with the rows' weights.
  struct Terms {
    std::vector<double> odds, weights;

    void clear() noexcept {
      odds.clear();
      weights.clear();
    }
  };

  void collect(std::span<const Test> tests);
  void collect_rows(Test test, bool passes, std::span<const Word> taken_out);
  template <bool kWithValue>
  detail::LogisticMoments moments(double weight) const;
  double solve(detail::LogisticMoments at_start, double start, double tolerance) const;

  const MarginState& state_;
  const ValueSets& sets_;
  double precision_;
  SimdLevel simd_ = simd_level();

  std::vector<Test> out_;  // the feature taken out: its tests,
  std::size_t n_out_ = 0;  // how many there are (0: none is),
  double out_weight_ = 0;  // its weight
  ContextRows out_rows_;   // and where it acts

  ContextRows rows_;
  std::vector<Word> part_;
  Terms passing_, failing_;
};

inline double GainEvaluator::take_out(std::span<const Test> tests, double weight) {
  put_back();
  collect(tests);
  const detail::LogisticMoments before = moments<true>(0.0), after = moments<true>(-weight);
  out_.assign(tests.begin(), tests.end());
  n_out_ = tests.size();
  out_weight_ = weight;
  std::swap(out_rows_, rows_);
  return after.value - before.value + 0.5 * precision_ * weight * weight;
}

inline WeightGain GainEvaluator::addition(std::span<const Test> tests, double at_least) {
  collect(tests);
  const detail::LogisticMoments at_zero = moments<true>(0.0);
  const double bound = std::min(
      -at_zero.value, detail::self_concordant_bound(at_zero.miss, at_zero.curvature, precision_));
  if (bound <= at_least) return {0.0, bound, false};
  const double weight = solve(at_zero, 0.0, 1e-7);
  const double gain =
      moments<true>(weight).value - at_zero.value - 0.5 * precision_ * weight * weight;
  return {weight, gain, true};
}

inline WeightGain GainEvaluator::adjustment(std::span<const Test> tests, double weight,
                                            double tolerance) {
  collect(tests);
  const detail::LogisticMoments here = moments<false>(0.0);
  const double change = solve(here, weight, tolerance);
  // By its second-order expansion: exact enough to tell when there is nothing left to gain.
  const double slope = here.miss - precision_ * weight;
  return {weight + change, 0.5 * slope * change, true};
}

// The terms of all conditionals that the conjunction acts on.
inline void GainEvaluator::collect(std::span<const Test> tests) {
  rows_.find(tests, sets_, state_.data().columns());
  passing_.clear();
  failing_.clear();
  const auto matched = rows_.matched();
  part_.resize(matched.size());
  for (std::size_t i = 0, k = 0; i < tests.size(); ++i) {
    while (k < n_out_ && out_[k].variable < tests[i].variable) ++k;
    const auto taken_out = n_out_ > 0 ? out_rows_.context(k) : std::span<const Word>{};
    const auto context = rows_.context(i);
    std::ranges::copy(matched, part_.begin());
    collect_rows(tests[i], true, taken_out);
    for (std::size_t w = 0; w < part_.size(); ++w) part_[w] = context[w] & ~matched[w];
    collect_rows(tests[i], false, taken_out);
  }
}

// The rows in part_, on all of which the test holds, or on none.
inline void GainEvaluator::collect_rows(Test test, bool passes, std::span<const Word> taken_out) {
  Terms& terms = passes ? passing_ : failing_;
  const std::size_t first = terms.odds.size();
  state_.gather(test.variable, sets_[test.values], passes, part_, terms.odds);
  const double* row_weights = state_.data().weights().data();
  for_each_bit(part_, [&](std::size_t r) { terms.weights.push_back(row_weights[r]); });
  if (taken_out.empty()) return;
  const double change = passes ? -out_weight_ : out_weight_;
  double* odds = terms.odds.data() + first;
  for (std::size_t w = 0; w < part_.size(); ++w) {
    if ((part_[w] & taken_out[w]) == 0) {
      odds += std::popcount(part_[w]);
      continue;
    }
    for (Word rest = part_[w]; rest != 0; rest &= rest - 1, ++odds)
      if (taken_out[w] & rest & (~rest + 1)) *odds += change;
  }
}

// The terms' sums at a weight; `miss` is the derivative by it.
template <bool kWithValue>
detail::LogisticMoments GainEvaluator::moments(double weight) const {
  using Kernel = detail::LogisticMomentsKernel<kWithValue>;
  const auto run = [&](const Terms& terms, double shift) {
    return run_kernel<Kernel>(simd_, terms.odds.data(), terms.weights.data(), terms.odds.size(),
                              shift);
  };
  const detail::LogisticMoments up = run(passing_, weight), down = run(failing_, -weight);
  return {up.value + down.value, up.miss - down.miss, up.curvature + down.curvature};
}

// The best change of a weight, by Newton's method kept within what is known of the optimum's place.
inline double GainEvaluator::solve(detail::LogisticMoments at_start, double start,
                                   double tolerance) const {
  constexpr double kMostChange = 50.0;  // where there is no prior, and none fails or none passes
  double change = 0, low = -kMostChange, high = kMostChange;
  detail::LogisticMoments here = at_start;
  for (int iteration = 0; iteration < 60; ++iteration) {
    const double slope = here.miss - precision_ * (start + change);
    const double curvature = here.curvature + precision_;
    if (slope * slope <= 2 * tolerance * curvature) break;
    (slope > 0 ? low : high) = change;
    const double next = change + slope / std::max(curvature, 1e-300);
    change = next > low && next < high ? next : 0.5 * (low + high);
    here = moments<false>(change);
  }
  return change;
}

}  // namespace feldspar
