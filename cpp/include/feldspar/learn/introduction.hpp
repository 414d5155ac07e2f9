// Which features to introduce next: how much one feature of a pool may gain on its own.
//
// With all other weights fixed, a feature that the model expects with probability p and that holds on
// c of N examples changes the penalised log-likelihood, at weight t, by
//
//   gain(t) = t c - l1 |t| - t^2 / (2 sd^2) - N log(1 + p (e^t - 1)),
//
// a concave function with slopes c - N p +- l1 at 0. So only |c - N p| > l1 gains anything, t has the
// sign of c - N p, and without Gaussian prior (Lee, Ganapathi and Koller 2007, section 4)
//
//   t = log [(c - s l1) (1 - p)] - log [(N - c + s l1) p],     s = sign(c - N p).
//
// With it there is no closed form; a safeguarded Newton's method starts from this one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/learn/fit_weights.hpp>

namespace feldspar {

// By the size of the gradient (grafting), by the gain above, or by mutual information.
enum class Introduction : std::uint8_t { grad, gain, simple };

constexpr std::string_view name(Introduction scheme) noexcept {
  switch (scheme) {
    case Introduction::grad:
      return "grad";
    case Introduction::gain:
      return "gain";
    case Introduction::simple:
      return "simple";
  }
  return "unknown";
}

// The scheme of that name.
inline Introduction introduction_named(std::string_view wanted) {
  for (const auto scheme : {Introduction::grad, Introduction::gain, Introduction::simple})
    if (name(scheme) == wanted) return scheme;
  throw InvalidInput(concat("scheme must be 'gain', 'grad' or 'simple', got '", wanted, "'"));
}

struct SingleGain {
  double weight = 0;  // infinite where nothing holds it back
  double gain = 0;
};

namespace detail {

inline double gain_at(double t, double count, double total, double p, const Penalty& penalty) {
  return t * count - penalty.l1 * std::abs(t) - 0.5 * penalty.precision() * t * t -
         total * std::log1p(p * std::expm1(t));
}

// The root of the slope between 0 and `far`, on whose side the slope has changed its sign.
inline double newton_weight(double far, double sign, double count, double total, double p,
                            const Penalty& penalty) {
  double near = 0, t = std::clamp(far, -30.0, 30.0);
  for (int i = 0; i < 100; ++i) {
    const double odds = p * std::exp(t), holds = odds / (1 - p + odds);
    const double slope = count - sign * penalty.l1 - penalty.precision() * t - total * holds;
    (slope * sign > 0 ? near : far) = t;
    const double curvature = penalty.precision() + total * holds * (1 - holds);
    double next = t + slope / curvature;
    if (!(std::min(near, far) < next && next < std::max(near, far))) next = 0.5 * (near + far);
    if (std::abs(next - t) <= 1e-14 * std::max(1.0, std::abs(t))) return next;
    t = next;
  }
  return t;
}

}  // namespace detail

// The best weight of a feature on its own, and its gain. 0 < p < 1.
inline SingleGain best_single_gain(double count, double total, double p, const Penalty& penalty) {
  const double slope = count - total * p;
  if (!(std::abs(slope) > penalty.l1)) return {};
  const double sign = slope > 0 ? 1 : -1;
  const double holds = count - sign * penalty.l1, fails = total - count + sign * penalty.l1;
  const double closed = std::log(holds) - std::log(fails) + std::log1p(-p) - std::log(p);
  if (penalty.precision() == 0) {
    if (std::isfinite(closed)) return {closed, detail::gain_at(closed, count, total, p, penalty)};
    return {closed, -total * (closed > 0 ? std::log(p) : std::log1p(-p))};
  }
  const double most = (std::abs(slope) - penalty.l1) / penalty.precision();
  const double far = sign * std::min(std::abs(closed), most);
  const double weight = detail::newton_weight(far, sign, count, total, p, penalty);
  return {weight, detail::gain_at(weight, count, total, p, penalty)};
}

namespace detail {

// Of the values that some variables have together, in nats.
inline double joint_entropy(const Dataset& data, std::span<const Variable> variables,
                            std::span<const std::vector<Value>> columns) {
  constexpr std::size_t kMostNumbers = 1 << 16;
  std::vector<std::size_t> joint(data.n_rows(), 0), distinct;
  std::size_t n_numbers = 1;
  for (const Variable v : variables) {
    if (n_numbers > kMostNumbers) {  // keep only those that occur
      distinct = joint;
      std::ranges::sort(distinct);
      distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
      for (std::size_t& x : joint)
        x = static_cast<std::size_t>(std::ranges::lower_bound(distinct, x) - distinct.begin());
      n_numbers = distinct.size();
    }
    const std::size_t cardinality = data.schema().cardinality(v);
    for (std::size_t r = 0; r < joint.size(); ++r)
      joint[r] = joint[r] * cardinality + columns[v][r];
    n_numbers *= cardinality;
  }
  std::vector<double> weights(n_numbers, 0.0);
  for (std::size_t r = 0; r < joint.size(); ++r) weights[joint[r]] += data.weights()[r];
  double entropy = 0;
  for (const double w : weights)
    if (w > 0) entropy -= w / data.total_weight() * std::log(w / data.total_weight());
  return entropy;
}

}  // namespace detail

// For each feature how much its variables tell of each other: the sum of their entropies less that of
// all together, which is the mutual information where there are two.
inline std::vector<double> shared_information(const FeatureSet& features, const Dataset& data,
                                              const Execution& execution = {}) {
  std::vector<std::vector<Value>> columns;
  for (Variable v = 0; v < data.n_variables(); ++v) columns.push_back(data.columns().codes(v));
  std::vector<double> own;
  for (Variable v = 0; v < data.n_variables(); ++v)
    own.push_back(detail::joint_entropy(data, {&v, 1}, columns));
  std::map<std::vector<Variable>, double> known;
  std::vector<double> result;
  for (FeatureId j = 0; j < features.size(); ++j) {
    execution.poll_or_throw();
    std::vector<Variable> scope;
    for (const Test test : features[j]) scope.push_back(test.variable);
    const auto [place, fresh] = known.try_emplace(scope, 0.0);
    if (fresh && scope.size() > 1) {
      for (const Variable v : scope) place->second += own[v];
      place->second -= detail::joint_entropy(data, scope, columns);
    }
    result.push_back(place->second);
  }
  return result;
}

}  // namespace feldspar
