// BLM: bottom-up search for the features of a Markov network (Davis and Domingos 2010), and the
// second half of DT-BLM (Lowd and Davis 2014), which differ only in where they start.
//
// The search goes round over all features but the fixed ones (those of a single test) and
// generalises each in the best of several ways: for each k, every test is dropped that one of its k
// nearest unmatched examples fails; or the feature is removed. It accepts what improves
//
//   PLL - sum_j w_j^2 / (2 sd^2) - alpha * total number of tests
//
// with the weight of the candidate optimised and all others held fixed (feature_gain.hpp), and
// relearns all weights after every `relearn_every` changes and after each round. A generalisation of
// fewer than two tests, or equal to another feature, is a removal. The search ends with a round
// that changes nothing; it does end, since every change drops tests.
//
// Several features are judged at once, in parallel, as many as there may be changes before the next
// relearning; then they are taken in order, and where one of those before was changed, the winner's
// gain is computed again. So the result does not depend on the number of threads, and a round
// without change has judged all features by the same network.
//
// Nearest examples depend on the feature and the data only: they are found once for each
// conjunction, and so are the rows it acts on. Weights are on the grid of margin_state.hpp, so that
// the margins are at all times those of the network, without rounding. Right after a relearning all
// that the search knows is therefore in its BottomUpState, from which it can go on, bit for bit, in
// another process.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/parallel.hpp>
#include <feldspar/base/stop_sign.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/learn/coordinate_ascent.hpp>
#include <feldspar/learn/distance.hpp>
#include <feldspar/learn/feature_gain.hpp>
#include <feldspar/learn/search_status.hpp>
#include <feldspar/objective/margin_state.hpp>

namespace feldspar {

struct BottomUpOptions {
  double alpha = 1.0;                                                // what a test costs
  std::vector<double> neighbors{1, 2, 5, 10, 20, 25, 50, 100, 200};  // ascending
  DistanceOptions distance;
  int relearn_every = 25;
  double prior_sd = 1.0;    // infinity: no prior
  int sweeps = 1;           // most sweeps of a relearning within a round
  int round_sweeps = 5;     // and of one between two rounds;
  double tolerance = 1e-5;  // both end when a sweep gains no more, per unit of example weight

  double precision() const noexcept { return 1.0 / (prior_sd * prior_sd); }
  void check() const;
};

// Where a search is right after a relearning.
struct BottomUpState {
  FeatureSet features;  // the first n_fixed are those of one test
  std::vector<double> weights;
  std::size_t n_fixed = 0;
  std::size_t next = 0;   // the feature to look at next
  bool changed = false;   // whether a feature was changed in this round
  std::size_t round = 0;  // rounds that are over
  std::size_t n_changes = 0;
};

// The start of a search from these features: a feature X_v = a for each a > 0, the other features
// of one test, and the rest in their order.
inline BottomUpState bottom_up_start(const FeatureSet& features, std::span<const double> weights);

class BottomUpSearch {
 public:
  // Keeps a reference to `data`.
  BottomUpSearch(const Dataset& data, const BottomUpState& start, const BottomUpOptions& options,
                 const Execution& execution = {});

  // Learns all weights by sweeps, until one gains no more than the tolerance; for starts whose
  // weights are not learned.
  SearchStatus learn_weights(int max_sweeps, double max_seconds, const Execution& execution = {});

  // Searches on until the next relearning is done, or the end.
  SearchStatus advance(double max_seconds, const Execution& execution = {});

  // The network as it is now.
  BottomUpState state() const;

  // What is maximised, computed from the network.
  double score() const;

 private:
  static constexpr std::size_t kRemoval = std::numeric_limits<std::size_t>::max();
  static constexpr double kLeastGain = 1e-6;  // of a change
  // Of a step of a weight in a sweep; within a round also in units of what a test costs: changes are
  // judged by that, and finer weights only make long features harder to give up.
  static constexpr double kLeastStepGain = 1e-3, kLeastStepGainInTests = 0.05;
  static constexpr std::size_t kMostAtOnce = 32;

  // The best change of a feature.
  struct Proposal {
    double gain = 0;             // of the score
    double weight = 0;           // of the generalisation
    std::size_t cut = kRemoval;  // drops the tests that fail for the first cut + 1 numbers k
  };
  // What a thread works with.
  struct Worker {
    Worker(const MarginState& state, const ValueSets& sets, double precision, std::size_t most_rows)
        : evaluator(state, sets, precision), keeper(most_rows) {}

    GainEvaluator evaluator;
    FeatureDistance::Scratch scratch;
    ContextKeeper keeper;
    std::vector<Test> kept;
  };

  std::size_t n_features() const noexcept { return features_.size(); }
  double least_step_gain() const noexcept {
    return std::max(kLeastStepGain, kLeastStepGainInTests * options_.alpha);
  }
  bool in_network(std::span<const Test> tests) const;
  void enter(std::size_t feature);
  void leave(std::size_t feature);

  const ContextRows& rows(std::size_t feature, Worker& worker) {
    return worker.keeper.rows(features_[feature], sets_, data_.columns());
  }
  void keep_tests(std::size_t feature, std::size_t cut, std::vector<Test>& kept) const;
  Proposal propose(std::size_t feature, Worker& worker);
  bool still_gains(std::size_t feature, Proposal& proposal, Worker& worker);
  void accept(std::size_t feature, const Proposal& proposal, Worker& worker);
  void look_at_next(std::size_t n, const Execution& execution);
  void relearn(int max_sweeps, double least_gain, const StopSign* stop, const Execution& execution);
  void drop_removed();
  FeatureSet feature_set() const;
  std::vector<double> weights() const;

  const Dataset& data_;
  BottomUpOptions options_;
  FeatureDistance distance_;
  Schema schema_;
  ValueSets sets_;
  MarginState margins_;

  std::vector<WeightedConjunction> features_;        // those without tests have been removed
  std::vector<std::vector<std::uint8_t>> failures_;  // by feature: of FeatureDistance, if known
  std::unordered_multimap<std::uint64_t, std::size_t> by_hash_;
  std::size_t n_fixed_, next_, round_, n_changes_;
  bool changed_;
  int since_relearning_ = 0;
  std::vector<std::unique_ptr<Worker>> workers_;
};

inline void BottomUpOptions::check() const {
  require(alpha >= 0 && std::isfinite(alpha), "alpha must be finite and not negative, got ", alpha);
  require(!neighbors.empty() && neighbors.size() < 255,
          "neighbors: expected 1 to 254 numbers, got ", neighbors.size());
  for (std::size_t i = 0; i < neighbors.size(); ++i) {
    require(neighbors[i] >= 1, "neighbors must be at least 1, got ", neighbors[i]);
    require(i == 0 || neighbors[i] > neighbors[i - 1], "neighbors must ascend, got ", neighbors[i],
            " after ", neighbors[i == 0 ? 0 : i - 1]);
  }
  distance.check();
  require(relearn_every >= 1, "relearn_every must be at least 1, got ", relearn_every);
  require(prior_sd > 0, "prior_sd must be positive, got ", prior_sd);
  require(std::isfinite(precision()), "prior_sd is too small to compute with: ", prior_sd);
  require(sweeps >= 1 && round_sweeps >= 1, "sweeps must be at least 1");
  require(tolerance > 0, "tolerance must be positive, got ", tolerance);
}

inline BottomUpState bottom_up_start(const FeatureSet& features, std::span<const double> weights) {
  require(weights.empty() || weights.size() == features.size(), "weights: got ", weights.size(),
          " for ", features.size(), " features");
  FeatureSetBuilder builder(features.schema());
  BottomUpState state;
  const auto add = [&](AddResult added, double weight) {
    state.weights.resize(builder.size(), 0.0);
    state.weights[added.feature] += weight;
  };
  for (Variable v = 0; v < features.schema().n_variables(); ++v)
    for (Value a = 1; a < features.schema().cardinality(v); ++a)
      add(builder.add({&v, 1}, {&a, 1}), 0.0);
  for (const bool single : {true, false}) {
    for (FeatureId j = 0; j < features.size(); ++j)
      if ((features[j].size() == 1) == single)
        add(builder.add(features, j), weights.empty() ? 0.0 : weights[j]);
    if (single) state.n_fixed = state.next = builder.size();
  }
  state.features = std::move(builder).finish();
  return state;
}

inline BottomUpSearch::BottomUpSearch(const Dataset& data, const BottomUpState& start,
                                      const BottomUpOptions& options, const Execution& execution)
    : data_(data),
      options_((options.check(), options)),
      distance_(data, options.distance, execution),
      schema_(start.features.schema()),
      sets_(start.features.value_sets()),
      margins_(data),
      n_fixed_(start.n_fixed),
      next_(start.next),
      round_(start.round),
      n_changes_(start.n_changes),
      changed_(start.changed) {
  const std::size_t n = start.features.size();
  require(schema_ == data.schema(),
          "features and data: their variables or numbers of values differ");
  require(start.weights.size() == n, "weights: got ", start.weights.size(), " for ", n,
          " features");
  require(n_fixed_ <= next_ && next_ <= n, "next: expected ", n_fixed_, " to ", n, ", got ", next_);
  for (FeatureId j = 0; j < n; ++j) {
    const auto tests = start.features[j];
    require((tests.size() == 1) == (j < n_fixed_), "n_fixed: the first ", n_fixed_,
            " features must be those of one test, but feature ", j, " has ", tests.size());
    require(std::isfinite(start.weights[j]), "weights: feature ", j, " has weight ",
            start.weights[j], "; expected a finite number");
    features_.push_back({{tests.begin(), tests.end()}, on_grid(start.weights[j]), {}});
    enter(j);
  }
  failures_.resize(n);
  margins_.assign(start.features, weights());
  for (std::size_t i = 0; i < kMostAtOnce; ++i)
    workers_.push_back(
        std::make_unique<Worker>(margins_, sets_, options_.precision(), most_rows_to_keep(n)));
}

inline SearchStatus BottomUpSearch::learn_weights(int max_sweeps, double max_seconds,
                                                  const Execution& execution) {
  const StopSign stop(execution, max_seconds);
  try {
    relearn(max_sweeps, least_step_gain(), &stop, execution);
  } catch (const Interrupted&) {
    return SearchStatus::interrupted;
  }
  return stop.out_of_time() ? SearchStatus::time_limit : SearchStatus::advanced;
}

inline SearchStatus BottomUpSearch::advance(double max_seconds, const Execution& execution) {
  const StopSign stop(execution, max_seconds);
  try {
    while (since_relearning_ < options_.relearn_every) {
      if (next_ == n_features()) {
        if (!changed_) return SearchStatus::finished;
        drop_removed();
        relearn(options_.round_sweeps, kLeastStepGain, nullptr, execution);
        next_ = n_fixed_;
        changed_ = false;
        ++round_;
        return SearchStatus::advanced;
      }
      if (stop.out_of_time()) return SearchStatus::time_limit;
      const auto may_change = static_cast<std::size_t>(options_.relearn_every - since_relearning_);
      look_at_next(std::min({kMostAtOnce, may_change, n_features() - next_}), execution);
    }
    relearn(options_.sweeps, least_step_gain(), nullptr, execution);
  } catch (const Interrupted&) {
    return SearchStatus::interrupted;
  }
  return SearchStatus::advanced;
}

inline bool BottomUpSearch::in_network(std::span<const Test> tests) const {
  const auto [first, last] = by_hash_.equal_range(hash_tests(tests));
  return std::any_of(first, last, [&](const auto& entry) {
    return std::ranges::equal(features_[entry.second].tests, tests);
  });
}

inline void BottomUpSearch::enter(std::size_t feature) {
  by_hash_.emplace(hash_tests(features_[feature].tests), feature);
}

inline void BottomUpSearch::leave(std::size_t feature) {
  auto [place, last] = by_hash_.equal_range(hash_tests(features_[feature].tests));
  while (place != last && place->second != feature) ++place;
  by_hash_.erase(place);
}

inline void BottomUpSearch::keep_tests(std::size_t feature, std::size_t cut,
                                       std::vector<Test>& kept) const {
  kept.clear();
  for (std::size_t i = 0; i < failures_[feature].size(); ++i)
    if (failures_[feature][i] > cut) kept.push_back(features_[feature].tests[i]);
}

inline BottomUpSearch::Proposal BottomUpSearch::propose(std::size_t feature, Worker& worker) {
  const auto& tests = features_[feature].tests;
  auto& failures = failures_[feature];
  if (failures.empty())
    failures = distance_.first_failures(tests, sets_, options_.neighbors, worker.scratch);
  const double removal =
      worker.evaluator.take_out(tests, rows(feature, worker), features_[feature].weight);
  Proposal best{removal + options_.alpha * static_cast<double>(tests.size()), 0.0, kRemoval};
  for (std::size_t cut = 0; cut < options_.neighbors.size(); ++cut) {
    if (std::ranges::find(failures, cut) == failures.end()) continue;  // as the cut before
    keep_tests(feature, cut, worker.kept);
    if (worker.kept.size() < 2) break;
    if (in_network(worker.kept)) continue;
    const double saved = options_.alpha * static_cast<double>(tests.size() - worker.kept.size());
    const double wanted = std::max(best.gain, kLeastGain) - removal - saved;
    const WeightGain added = worker.evaluator.addition(worker.kept, wanted);
    if (added.solved && added.gain > wanted)
      best = {removal + added.gain + saved, added.weight, cut};
  }
  return best;
}

// The same change in the network as it is now.
inline bool BottomUpSearch::still_gains(std::size_t feature, Proposal& proposal, Worker& worker) {
  const auto& tests = features_[feature].tests;
  const double removal =
      worker.evaluator.take_out(tests, rows(feature, worker), features_[feature].weight);
  double added = 0;
  std::size_t n_kept = 0;
  if (proposal.cut != kRemoval) {
    keep_tests(feature, proposal.cut, worker.kept);
    if (in_network(worker.kept)) {
      proposal.cut = kRemoval;
    } else {
      const WeightGain best = worker.evaluator.addition(worker.kept);
      added = best.gain;
      proposal.weight = best.weight;
      n_kept = worker.kept.size();
    }
  }
  proposal.gain = removal + added + options_.alpha * static_cast<double>(tests.size() - n_kept);
  return proposal.gain > kLeastGain;
}

inline void BottomUpSearch::accept(std::size_t feature, const Proposal& proposal, Worker& worker) {
  WeightedConjunction& own = features_[feature];
  margins_.add(own.tests, sets_, rows(feature, worker), -own.weight);
  leave(feature);
  if (proposal.cut == kRemoval) {
    own = {};
  } else {
    keep_tests(feature, proposal.cut, worker.kept);
    own = {worker.kept, proposal.weight, {}};
    margins_.add(own.tests, sets_, rows(feature, worker), own.weight);
    enter(feature);
  }
  failures_[feature].clear();
  changed_ = true;
  ++since_relearning_;
  ++n_changes_;
}

inline void BottomUpSearch::look_at_next(std::size_t n, const Execution& execution) {
  std::vector<Proposal> proposals(n);
  parallel_for(n, execution, [&](std::size_t i) {
    if (!features_[next_ + i].tests.empty()) proposals[i] = propose(next_ + i, *workers_[i]);
  });
  execution.throw_if_stopped();
  bool is_first = true;
  for (std::size_t i = 0; i < n; ++i) {
    if (features_[next_ + i].tests.empty() || proposals[i].gain <= kLeastGain) continue;
    if (!is_first && !still_gains(next_ + i, proposals[i], *workers_[i])) continue;
    accept(next_ + i, proposals[i], *workers_[i]);
    is_first = false;
  }
  next_ += n;
  execution.report(
      {"search", static_cast<double>(n_changes_), 0, static_cast<double>(n_features())});
}

inline void BottomUpSearch::relearn(int max_sweeps, double least_gain, const StopSign* stop,
                                    const Execution& execution) {
  const double enough = options_.tolerance * data_.total_weight();
  for (int sweep = 0; sweep < max_sweeps; ++sweep) {
    const double gain =
        ascend_weights(features_, sets_, options_.precision(), least_gain, margins_, execution);
    if (gain <= enough || (stop != nullptr && stop->out_of_time())) break;
  }
  since_relearning_ = 0;
}

inline void BottomUpSearch::drop_removed() {
  std::size_t kept = 0, before_next = 0;
  for (std::size_t j = 0; j < n_features(); ++j) {
    if (features_[j].tests.empty()) continue;
    if (j < next_) ++before_next;
    if (kept != j) {
      features_[kept] = std::move(features_[j]);
      failures_[kept] = std::move(failures_[j]);
    }
    ++kept;
  }
  features_.resize(kept);
  failures_.resize(kept);
  next_ = before_next;
  by_hash_.clear();
  for (std::size_t j = 0; j < kept; ++j) enter(j);
}

inline FeatureSet BottomUpSearch::feature_set() const {
  FeatureSetBuilder builder(schema_);
  std::vector<Test> tests;
  for (const WeightedConjunction& feature : features_) {
    if (feature.tests.empty()) continue;
    tests = feature.tests;
    for (Test& test : tests) test.values = builder.intern(sets_[test.values]);
    builder.add_canonical(tests);
  }
  return std::move(builder).finish();
}

inline std::vector<double> BottomUpSearch::weights() const {
  std::vector<double> result;
  for (const WeightedConjunction& feature : features_)
    if (!feature.tests.empty()) result.push_back(feature.weight);
  return result;
}

inline BottomUpState BottomUpSearch::state() const {
  std::size_t next = 0;
  for (std::size_t j = 0; j < next_; ++j) next += !features_[j].tests.empty();
  return {feature_set(), weights(), n_fixed_, next, changed_, round_, n_changes_};
}

inline double BottomUpSearch::score() const {
  MarginState margins(data_);
  const FeatureSet features = feature_set();
  const std::vector<double> w = weights();
  margins.assign(features, w);
  double penalty = options_.alpha * static_cast<double>(features.n_tests());
  for (const double x : w) penalty += 0.5 * options_.precision() * x * x;
  return margins.log_likelihood() - penalty;
}

}  // namespace feldspar
