// Structure learning by the penalised likelihood, introducing features a few at a time.
//
// Lee, Ganapathi and Koller (2007). Features of a pool are *active*, their weights being learned, or
// inactive, with weight 0. In turn
//   1. the weights of the active features are learned (fit_likelihood.hpp);
//   2. for every inactive feature the gradient c - N E[f] of the log-likelihood is computed;
//   3. of the features whose gradient is larger than the threshold, the best by the scheme
//      (introduction.hpp) become active;
// until none is left. With an L1 penalty beta the threshold is beta: the weights are then the optimum
// over the whole pool, whichever way they were found. beta is annealed from a large value to its own,
// which keeps networks sparse while inference is at its most accurate; each step of the way starts
// from the features with non-zero weights. Without L1 the threshold is `min_gradient` and active
// features stay. Active features of weight 0 make room for others where `max_features` is reached, and
// count as inactive in the result.
//
// A path of penalties is one run from the strongest to the weakest. The features for single non-zero
// values are always active and carry no L1 penalty. What is left between the largest gradient of an
// inactive feature and the threshold, `violation`, certifies the result: 0, but for tolerance, at the
// optimum.
//
// Inference of which a method is no longer capable (a junction tree too wide, messages that do not
// converge) ends the run with the weights before it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/learn/fit_likelihood.hpp>
#include <feldspar/learn/fit_weights.hpp>
#include <feldspar/learn/grafting_fit.hpp>
#include <feldspar/learn/introduction.hpp>
#include <feldspar/objective/likelihood.hpp>

namespace feldspar {

// X_v = a for all non-zero values a of all variables.
inline FeatureSet single_values(const Schema& schema) {
  FeatureSetBuilder builder(schema);
  for (Variable v = 0; v < schema.n_variables(); ++v)
    for (Value a = 1; a < schema.cardinality(v); ++a) builder.add({&v, 1}, {&a, 1});
  return std::move(builder).finish();
}

namespace detail {

class GraftingRun {
 public:
  GraftingRun(const Dataset& data, const FeatureSet& pool, const GraftingOptions& options,
              const Execution& execution);

  // Goes on to the next penalty; false when this was the last that could be reached. Throws
  // Interrupted if no weights have been learned yet.
  bool advance(const Penalty& penalty);
  // The state reached, for the penalty of the last advance.
  GraftingFit result() const;

 private:
  // What ends one threshold's work.
  enum class End { done, stop };

  End go_to(const Penalty& penalty);
  End work_at(const Penalty& penalty, double tolerance);
  End fit(const Penalty& penalty, double tolerance);
  void look_at_inactive();
  void forget_chances() {
    looked_at_.clear();
    chances_.clear();
  }
  double gradient(std::size_t place) const {
    return counts_[looked_at_[place]] - data_.total_weight() * chances_[place];
  }
  double largest_gradient() const;
  std::vector<FeatureId> best_candidates(const Penalty& penalty, double tolerance) const;
  void introduce(const std::vector<FeatureId>& chosen);
  void make_room(std::vector<bool>& dropped);
  void rebuild();
  struct Part {
    std::vector<FeatureId> active;
    std::vector<double> weights;  // of the single values, then of these
  };
  template <class Keeps>
  Part part_that(Keeps&& keeps) const;
  Part nonzero_part() const {
    return part_that([](FeatureId, double weight) { return weight != 0; });
  }
  void reduce_to(Part kept);
  FeatureSet features_of(std::span<const FeatureId> active) const;
  Eigen::VectorXd l1_factors() const;
  double threshold(const Penalty& penalty) const {
    return penalty.l1 > 0 ? penalty.l1 : options_.min_gradient;
  }
  static constexpr double kNoSeconds = 1e-9;  // what is left when time is over
  double seconds_left() const {
    const std::chrono::duration<double> spent = Clock::now() - started_;
    return std::max(options_.weights.max_seconds - spent.count(), kNoSeconds);
  }
  bool is_out_of_time() const { return seconds_left() <= kNoSeconds; }
  End stop_for(GraftingStop reason, std::string message = {}) {
    stop_ = reason;
    message_ = std::move(message);
    return End::stop;
  }

  using Clock = std::chrono::steady_clock;

  const Dataset& data_;
  FeatureSet singles_, pool_;
  GraftingOptions options_;
  Execution execution_;
  Clock::time_point started_ = Clock::now();
  std::vector<double> counts_;        // of the pool
  std::vector<double> information_;   // of the pool, for Introduction::simple
  std::vector<FeatureId> inactive_;   // of the pool, ascending
  std::vector<FeatureId> looked_at_;  // the inactive, then with L1 the active ones of weight 0
  std::vector<double> chances_;       // of these; both are empty before they are looked at
  std::vector<FeatureId> active_;     // of the pool, in the order of their introduction
  std::optional<InferredLikelihood> likelihood_;
  Eigen::VectorXd weights_;  // of the single values, then of the active features
  std::optional<WeightFit> fit_;
  std::optional<double> annealed_;  // the last beta on the way down
  GraftingStop stop_ = GraftingStop::optimum;
  std::string message_;
  double threshold_ = 0;
  int n_rounds_ = 0, n_inferences_ = 0;
};

inline GraftingRun::GraftingRun(const Dataset& data, const FeatureSet& pool,
                                const GraftingOptions& options, const Execution& execution)
    : data_(data),
      singles_(single_values(data.schema())),
      pool_(pool),
      options_(options),
      execution_(execution),
      counts_(feature_counts(pool, data, execution)) {
  if (options.scheme == Introduction::simple)
    information_ = shared_information(pool, data, execution);
  FeatureSetBuilder builder(data.schema());
  for (FeatureId j = 0; j < singles_.size(); ++j) builder.add(singles_, j);
  for (FeatureId j = 0; j < pool.size(); ++j)
    if (builder.add(pool, j).outcome == Added::new_feature) inactive_.push_back(j);
  weights_ = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(singles_.size()));
  rebuild();
}

inline FeatureSet GraftingRun::features_of(std::span<const FeatureId> active) const {
  FeatureSetBuilder builder(singles_.schema());
  for (FeatureId j = 0; j < singles_.size(); ++j) builder.add(singles_, j);
  for (const FeatureId j : active) builder.add(pool_, j);
  return std::move(builder).finish();
}

// The likelihood of the active features. Throws InvalidInput if there is no inference for them.
inline void GraftingRun::rebuild() {
  InferredLikelihood likelihood(features_of(active_), data_, options_.inference, execution_);
  if (likelihood_) n_inferences_ += likelihood_->n_inferences();
  likelihood_ = std::move(likelihood);
}

inline Eigen::VectorXd GraftingRun::l1_factors() const {
  Eigen::VectorXd factors = Eigen::VectorXd::Ones(weights_.size());
  factors.head(static_cast<Eigen::Index>(singles_.size())).setZero();
  return factors;
}

inline bool GraftingRun::advance(const Penalty& penalty) {
  threshold_ = threshold(penalty);
  try {
    return go_to(penalty) == End::done;
  } catch (const Interrupted&) {
    if (!fit_) throw;
    stop_for(GraftingStop::interrupted);
  } catch (const InvalidInput& error) {  // no inference for the features: see rebuild()
    stop_for(GraftingStop::inference, error.what());
  }
  return false;
}

inline GraftingRun::End GraftingRun::go_to(const Penalty& penalty) {
  if (penalty.l1 > 0 && options_.anneal > 0) {
    const double rough = 100 * options_.weights.tolerance;  // these are but starts for the next
    if (!annealed_) {
      if (fit(penalty, rough) == End::stop) return End::stop;
      if (is_out_of_time()) return stop_for(GraftingStop::time_limit);
      look_at_inactive();
      annealed_ = largest_gradient();
    }
    Penalty step = penalty;
    while (*annealed_ * options_.anneal > penalty.l1) {
      step.l1 = *annealed_ *= options_.anneal;
      if (work_at(step, rough) == End::stop) {
        if (stop_ != GraftingStop::max_features) return End::stop;
        stop_ = GraftingStop::optimum;
        break;  // no room for more: what is there goes on to the penalty asked for
      }
      reduce_to(nonzero_part());
    }
    annealed_ = penalty.l1;
  }
  return work_at(penalty, options_.weights.tolerance);
}

// Learns, looks and introduces until no gradient is beyond the threshold.
inline GraftingRun::End GraftingRun::work_at(const Penalty& penalty, double tolerance) {
  std::vector<bool> dropped(pool_.size(), false);  // to make room
  for (;;) {
    if (fit(penalty, tolerance) == End::stop) return End::stop;
    ++n_rounds_;
    if (is_out_of_time()) return stop_for(GraftingStop::time_limit);
    look_at_inactive();
    std::vector<FeatureId> chosen = best_candidates(penalty, tolerance);
    execution_.report({.stage = "grafting",
                       .done = static_cast<double>(active_.size()),
                       .total = 0,
                       .value = fit_->objective});
    if (chosen.empty()) return End::done;
    if (penalty.l1 > 0 && chosen.size() > options_.max_features - active_.size())
      make_room(dropped);
    if (active_.size() >= options_.max_features) return stop_for(GraftingStop::max_features);
    chosen.resize(std::min(chosen.size(), options_.max_features - active_.size()));
    introduce(chosen);
  }
}

// Learns the weights.
inline GraftingRun::End GraftingRun::fit(const Penalty& penalty, double tolerance) {
  FitWeightsOptions options = options_.weights;
  options.tolerance = tolerance;
  options.max_seconds = seconds_left();
  const int failures = likelihood_->n_failures();
  try {
    WeightFit fit =
        fit_likelihood(*likelihood_, penalty, weights_, options, execution_, l1_factors());
    forget_chances();
    std::ranges::copy(fit.weights, weights_.data());
    fit_ = std::move(fit);
  } catch (const NumericalFailure&) {
    return stop_for(GraftingStop::inference,
                    "messages do not converge at the weights to start from");
  }
  switch (fit_->run.status) {
    case Status::interrupted:
      return stop_for(GraftingStop::interrupted);
    case Status::time_limit:
      return stop_for(GraftingStop::time_limit);
    case Status::stalled:
      if (likelihood_->n_failures() == failures) return End::done;
      return stop_for(GraftingStop::inference, "messages do not converge beyond these weights");
    default:
      return End::done;
  }
}

inline void GraftingRun::look_at_inactive() {
  const auto n = static_cast<std::size_t>(weights_.size());
  std::vector<FeatureId> looked_at = inactive_;
  if (fit_->penalty.l1 > 0)
    for (std::size_t k = 0; k < active_.size(); ++k)
      if (weights_[static_cast<Eigen::Index>(singles_.size() + k)] == 0)
        looked_at.push_back(active_[k]);
  chances_ =
      likelihood_->engine().expectations_of({weights_.data(), n}, pool_, looked_at, execution_);
  looked_at_ = std::move(looked_at);
}

inline double GraftingRun::largest_gradient() const {
  double largest = 0;
  for (std::size_t i = 0; i < looked_at_.size(); ++i)
    largest = std::max(largest, std::abs(gradient(i)));
  return largest;
}

// The inactive features to introduce, best first. A gradient beyond the threshold counts if it is so
// by more than the accuracy to which active weights are learned.
inline std::vector<FeatureId> GraftingRun::best_candidates(const Penalty& penalty,
                                                           double tolerance) const {
  const double total = data_.total_weight();
  const double accuracy =
      gradient_tolerance(tolerance, total, static_cast<std::size_t>(weights_.size()));
  const double sample_size = likelihood_->engine().sample_size();
  constexpr double kStandardErrors = 3;
  std::vector<std::pair<double, FeatureId>> scored;
  for (std::size_t i = 0; i < inactive_.size(); ++i) {
    const FeatureId j = inactive_[i];
    const double p = std::clamp(chances_[i], 1e-300, 1 - 1e-16), deviation = std::sqrt(p * (1 - p));
    const double slack = accuracy * std::sqrt(total) * deviation +
                         kStandardErrors * total * deviation / std::sqrt(sample_size);
    if (std::abs(gradient(i)) <= threshold(penalty) + slack) continue;
    const double score = options_.scheme == Introduction::grad ? std::abs(gradient(i))
                         : options_.scheme == Introduction::gain
                             ? best_single_gain(counts_[j], total, p, penalty).gain
                             : information_[j];
    scored.emplace_back(-score, j);
  }
  std::ranges::sort(scored);
  std::vector<FeatureId> chosen;
  for (std::size_t i = 0; i < std::min(scored.size(), options_.n_add); ++i)
    chosen.push_back(scored[i].second);
  return chosen;
}

// Makes inactive features active. Throws InvalidInput, nothing changed, if there is no inference for
// them.
inline void GraftingRun::introduce(const std::vector<FeatureId>& chosen) {
  const std::size_t before = active_.size();
  active_.insert(active_.end(), chosen.begin(), chosen.end());
  try {
    rebuild();
  } catch (...) {
    active_.resize(before);
    throw;
  }
  std::vector<FeatureId> gone = chosen;
  std::ranges::sort(gone);
  std::erase_if(inactive_, [&](FeatureId j) { return std::ranges::binary_search(gone, j); });
  forget_chances();
  weights_.conservativeResizeLike(
      Eigen::VectorXd::Zero(static_cast<Eigen::Index>(singles_.size() + active_.size())));
}

// The active features of which keeps(feature, weight).
template <class Keeps>
GraftingRun::Part GraftingRun::part_that(Keeps&& keeps) const {
  Part part{{}, {weights_.data(), weights_.data() + singles_.size()}};
  for (std::size_t k = 0; k < active_.size(); ++k) {
    const double weight = weights_[static_cast<Eigen::Index>(singles_.size() + k)];
    if (!keeps(active_[k], weight)) continue;
    part.active.push_back(active_[k]);
    part.weights.push_back(weight);
  }
  return part;
}

// The other active features, whose weights are 0, become inactive. That changes no expectation, so
// chances_ stay.
inline void GraftingRun::reduce_to(Part kept) {
  if (kept.active.size() == active_.size()) return;
  for (const FeatureId j : active_)
    if (std::ranges::find(kept.active, j) == kept.active.end()) inactive_.push_back(j);
  std::ranges::sort(inactive_);
  active_ = std::move(kept.active);
  weights_ = Eigen::Map<const Eigen::VectorXd>(kept.weights.data(),
                                               static_cast<Eigen::Index>(kept.weights.size()));
  rebuild();
}

// Active features of weight 0 become inactive and are noted in `dropped`. Those noted before stay: with
// belief propagation a feature may be wanted again and again and have weight 0 whenever it is
// there, and rounds have to end.
inline void GraftingRun::make_room(std::vector<bool>& dropped) {
  reduce_to(part_that([&](FeatureId j, double weight) {
    if (weight != 0 || dropped[j]) return true;
    dropped[j] = true;
    return false;
  }));
}

inline GraftingFit GraftingRun::result() const {
  GraftingFit result;
  Part part{active_, {weights_.data(), weights_.data() + weights_.size()}};
  if (fit_ && fit_->penalty.l1 > 0) part = nonzero_part();
  result.n_inactive = inactive_.size() + active_.size() - part.active.size();
  result.features = features_of(part.active);
  if (fit_) result.fit = *fit_;
  result.fit.weights = std::move(part.weights);
  result.stop = stop_;
  result.message = message_;
  result.threshold = threshold_;
  result.method = likelihood_->engine().method();
  result.n_rounds = n_rounds_;
  result.n_inferences = n_inferences_ + likelihood_->n_inferences();
  if (chances_.size() != result.n_inactive) return result;
  result.largest_gradient = largest_gradient();
  result.violation = std::max(0.0, result.largest_gradient - threshold_);
  return result;
}

}  // namespace detail

// A fit for each penalty that was reached, in the order asked for; the strongest are reached first. An
// interruption before any weights were learned throws Interrupted.
inline std::vector<std::pair<std::size_t, GraftingFit>> learn_by_grafting(
    const Dataset& data, const FeatureSet& pool, std::span<const Penalty> penalties,
    const GraftingOptions& options, const Execution& execution = {}) {
  options.check();
  require(pool.schema() == data.schema(), "pool: its schema is not that of the data");
  for (const Penalty& penalty : penalties) penalty.check();
  std::vector<std::size_t> order(penalties.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return std::pair(-penalties[a].l1, penalties[a].prior_sd) <
           std::pair(-penalties[b].l1, penalties[b].prior_sd);
  });
  detail::GraftingRun run(data, pool, options, execution);
  std::vector<std::pair<std::size_t, GraftingFit>> fits;
  for (const std::size_t i : order) {
    const bool goes_on = run.advance(penalties[i]);
    fits.emplace_back(i, run.result());
    if (!goes_on) break;
  }
  std::ranges::sort(fits, {}, [](const auto& fit) { return fit.first; });
  return fits;
}

}  // namespace feldspar
