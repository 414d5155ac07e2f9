// Marginals of many rows of evidence by Markov chains: what Gibbs sampling and MC-SAT share.
//
// Rows that observe the same variables share a Conditioner; rows with the same evidence share
// their chains, whose random streams follow from the seed, the evidence and the chain's number. So
// a row's result does not depend on its place, on the other rows or on the number of threads, and
// merged data give the answer of unmerged data.
//
// Threads work on rows; where there are few rows, on chains.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/parallel.hpp>
#include <feldspar/base/stop_sign.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/schema.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/infer/chain_diagnostics.hpp>
#include <feldspar/infer/condition.hpp>
#include <feldspar/infer/conditional_scores.hpp>
#include <feldspar/infer/evidence.hpp>
#include <feldspar/infer/evidence_rows.hpp>
#include <feldspar/infer/hidden_model.hpp>
#include <feldspar/model/markov_network.hpp>

namespace feldspar {

struct ChainOptions {
  int n_chains = 10;
  int burn_in = 100;             // steps of a chain before the first sample
  int n_samples = 1000;          // of each chain
  int thinning = 1;              // steps from one sample to the next
  bool rao_blackwell = true;     // average P(value | rest) over samples; else count values, with
                                 // one added to each so that no probability is 0
  bool standard_errors = false;  // whether the result shall have them
  std::uint64_t seed = 0;
  double max_seconds = std::numeric_limits<double>::infinity();

  void check() const {
    require(n_chains >= 1, "n_chains must be at least 1, got ", n_chains);
    require(burn_in >= 0, "burn_in must not be negative, got ", burn_in);
    require(n_samples >= 1, "n_samples must be at least 1, got ", n_samples);
    require(thinning >= 1, "thinning must be at least 1, got ", thinning);
    require(max_seconds > 0, "max_seconds must be positive, got ", max_seconds);
  }
  std::size_t n_draws() const noexcept {
    return static_cast<std::size_t>(n_chains) * static_cast<std::size_t>(n_samples);
  }
  // Of all chains together.
  std::size_t n_steps() const noexcept {
    return static_cast<std::size_t>(n_chains) *
           (static_cast<std::size_t>(burn_in) +
            static_cast<std::size_t>(n_samples) * static_cast<std::size_t>(thinning));
  }
};

enum class SamplingStatus { finished, time_limit, interrupted };

inline const char* name(SamplingStatus status) noexcept {
  switch (status) {
    case SamplingStatus::finished:
      return "finished";
    case SamplingStatus::time_limit:
      return "time_limit";
    case SamplingStatus::interrupted:
      return "interrupted";
  }
  return "";
}

// A row that a stop left unfinished has is_done 0, what its chains had sampled so far (NaN where that
// is nothing) and NaN for diagnostics.
struct SampledMarginals {
  std::vector<double> probabilities;    // row-major, at value_offsets(schema)[v] + value
  std::vector<double> standard_errors;  // the same places; empty if not asked for
  std::vector<double> r_hat;            // by row, the largest of all hidden variables
  std::vector<double> effective_size;   // by row, the smallest
  std::vector<std::int64_t> n_samples;  // by row, of all chains together
  std::vector<std::uint8_t> is_done;    // by row
  SamplingStatus status = SamplingStatus::finished;
  double seconds = 0;
};

// Chains first ... last - 1 of a row.
struct ChainRange {
  std::size_t first, last;

  std::size_t size() const noexcept { return last - first; }
};

// A binary variable has one series, the probability of value 1; others have one for each value.
inline std::vector<std::size_t> series_offsets(const Schema& schema) {
  std::vector<std::size_t> offsets{0};
  for (const std::size_t cardinality : schema.cardinalities())
    offsets.push_back(offsets.back() + (cardinality > 2 ? cardinality : cardinality - 1));
  return offsets;
}

namespace detail {

// Calls run(features, model, row_hash, chain range, moments, stop) for every distinct row, fills
// moments that way, and makes marginals of them.
template <class RunChains>
class MarginalSampler {
 public:
  MarginalSampler(const MarkovNetwork& network, const EvidenceView& evidence,
                  const ChainOptions& options, const Execution& execution, RunChains run)
      : network_(network),
        evidence_(evidence),
        options_(options),
        execution_(execution),
        run_(std::move(run)),
        n_rows_(check_evidence(network.schema(), evidence)),
        offsets_(value_offsets(network.schema())),
        rows_(network.schema(), evidence),
        stop_(execution, options.max_seconds) {}

  SampledMarginals sample();

 private:
  struct Work {
    std::size_t row;
    const Conditioner* conditioner;
    HiddenModel model;
    SeriesMoments moments;
    std::atomic<std::size_t> open_ranges;
  };

  static constexpr std::size_t kMostChains = 64;  // of a range
  // Sections worked on together: enough for all threads, few enough to hold.
  static constexpr std::size_t kWaveSections = 8;

  void allocate();
  void run_wave(std::size_t first, std::size_t last);
  void build_conditioners(std::size_t first, std::size_t last);
  void finish_row(const Work& work);
  void finish_variable(const Work& work, std::size_t h, std::span<const double> unary,
                       std::size_t series, bool is_isolated);
  void copy_twins();

  const MarkovNetwork& network_;
  EvidenceView evidence_;
  ChainOptions options_;
  Execution execution_;
  RunChains run_;
  std::size_t n_rows_;
  std::vector<std::size_t> offsets_;
  EvidenceRows rows_;
  StopSign stop_;
  std::map<std::size_t, Conditioner> conditioners_;  // by pattern, those in use
  SampledMarginals result_;
};

template <class RunChains>
SampledMarginals MarginalSampler<RunChains>::sample() {
  allocate();
  const std::size_t n_sections = rows_.sections().size();
  std::size_t finished = 0;
  for (std::size_t first = 0; first < n_sections && !stop_.is_up(); first += kWaveSections) {
    const std::size_t last = std::min(first + kWaveSections, n_sections);
    run_wave(first, last);
    for (std::size_t s = first; s < last; ++s) finished += rows_.sections()[s].rows.size();
    execution_.report(
        {"sampling", static_cast<double>(finished), static_cast<double>(rows_.n_distinct()), 0});
  }
  copy_twins();
  const bool all =
      std::ranges::all_of(result_.is_done, [](std::uint8_t done) { return done != 0; });
  // Samples of a row that is not finished are an answer too, as after a time limit.
  const bool any = std::ranges::any_of(result_.n_samples, [](std::int64_t n) { return n > 0; });
  // Even where all rows are done: who asked for a stop must not be left to wonder.
  const bool interrupted = stop_.interrupted();
  if (interrupted && !any) throw Interrupted();
  result_.status = interrupted ? SamplingStatus::interrupted
                   : all       ? SamplingStatus::finished
                               : SamplingStatus::time_limit;
  result_.seconds = stop_.seconds();
  return std::move(result_);
}

template <class RunChains>
void MarginalSampler<RunChains>::allocate() {
  constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
  result_.probabilities.assign(n_rows_ * offsets_.back(), kNothing);
  if (options_.standard_errors) result_.standard_errors = result_.probabilities;
  result_.r_hat.assign(n_rows_, kNothing);
  result_.effective_size.assign(n_rows_, kNothing);
  result_.n_samples.assign(n_rows_, 0);
  result_.is_done.assign(n_rows_, 0);
}

template <class RunChains>
void MarginalSampler<RunChains>::build_conditioners(std::size_t first, std::size_t last) {
  const auto& sections = rows_.sections();
  std::erase_if(conditioners_,
                [&](const auto& entry) { return entry.first < sections[first].pattern; });
  std::vector<std::size_t> missing;  // a section of each pattern
  for (std::size_t s = first; s < last; ++s)
    if (!conditioners_.contains(sections[s].pattern) &&
        (missing.empty() || sections[missing.back()].pattern != sections[s].pattern))
      missing.push_back(s);
  std::vector<std::unique_ptr<Conditioner>> built(missing.size());
  const std::size_t n_variables = network_.schema().n_variables();
  parallel_for(missing.size(), execution_, [&](std::size_t i) {
    const std::size_t row = sections[missing[i]].rows[0];
    built[i] = std::make_unique<Conditioner>(
        network_, evidence_.codes.subspan(row * n_variables, n_variables),
        !evidence_.log_likelihoods.empty());
  });
  for (std::size_t i = 0; i < missing.size(); ++i)
    if (built[i] != nullptr)
      conditioners_.emplace(sections[missing[i]].pattern, std::move(*built[i]));
}

template <class RunChains>
void MarginalSampler<RunChains>::run_wave(std::size_t first, std::size_t last) {
  build_conditioners(first, last);
  if (stop_.interrupted()) return;
  std::vector<std::vector<HiddenModel>> models(last - first);
  parallel_for(models.size(), execution_, [&](std::size_t i) {
    const auto& section = rows_.sections()[first + i];
    models[i] = hidden_models(conditioners_.at(section.pattern), evidence_, section.rows);
  });
  if (stop_.interrupted()) return;

  const auto n_chains = static_cast<std::size_t>(options_.n_chains);
  std::vector<std::pair<std::size_t, std::size_t>> rows;  // section of the wave, row of the section
  for (std::size_t i = 0; i < models.size(); ++i)
    for (std::size_t r = 0; r < models[i].size(); ++r) rows.emplace_back(i, r);
  const auto wanted = 4 * static_cast<std::size_t>(resolve_threads(execution_));
  const std::size_t least = (n_chains + kMostChains - 1) / kMostChains;
  const std::size_t n_ranges =
      std::min(n_chains, std::max(least, (wanted + rows.size() - 1) / rows.size()));
  // A row's work is made by its first range and dropped with its last: few rows are in memory.
  std::vector<std::unique_ptr<Work>> works(rows.size());
  std::vector<std::once_flag> made(rows.size());
  parallel_for(rows.size() * n_ranges, execution_, [&](std::size_t task) {
    if (stop_.is_up()) return;
    const std::size_t w = task / n_ranges, part = task % n_ranges;
    const auto [i, r] = rows[w];
    const auto& section = rows_.sections()[first + i];
    std::call_once(made[w], [&] {
      const Conditioner& conditioner = conditioners_.at(section.pattern);
      const Schema& hidden = conditioner.features().schema();
      works[w].reset(new Work{section.rows[r], &conditioner, std::move(models[i][r]),
                              SeriesMoments(series_offsets(hidden).back(), n_chains,
                                            static_cast<std::size_t>(options_.n_samples)),
                              n_ranges});
    });
    Work& work = *works[w];
    const ChainRange range{part * n_chains / n_ranges, (part + 1) * n_chains / n_ranges};
    run_(work.conditioner->features(), work.model, rows_.hash(work.row), range, work.moments,
         stop_);
    if (--work.open_ranges > 0) return;
    finish_row(work);
    works[w].reset();
  });
  for (const auto& work : works)  // what a stop left unfinished
    if (work != nullptr) finish_row(*work);
}

template <class RunChains>
void MarginalSampler<RunChains>::finish_row(const Work& work) {
  const std::size_t row = work.row, n_variables = network_.schema().n_variables();
  const std::size_t base = row * offsets_.back();
  const bool complete = work.moments.complete() || work.conditioner->hidden().empty();
  result_.n_samples[row] =
      static_cast<std::int64_t>(complete ? options_.n_draws() : work.moments.n_draws());
  result_.is_done[row] = complete;
  if (complete) {
    result_.r_hat[row] = 1;
    result_.effective_size[row] = static_cast<double>(options_.n_draws());
  }
  for (Variable v = 0; v < n_variables; ++v) {
    const std::int32_t code = evidence_.codes[row * n_variables + v];
    if (code == kUnknown) continue;
    for (std::size_t i = offsets_[v]; i < offsets_[v + 1]; ++i) {
      result_.probabilities[base + i] = i - offsets_[v] == static_cast<std::size_t>(code) ? 1 : 0;
      if (options_.standard_errors) result_.standard_errors[base + i] = 0;
    }
  }
  const FeatureSet& features = work.conditioner->features();
  const auto series = series_offsets(features.schema());
  const auto isolated = isolated_variables(features, work.model);
  const double* unary = work.model.unary.data();
  for (Variable h = 0; h < work.conditioner->hidden().size(); ++h) {
    const std::size_t cardinality = features.schema().cardinality(h);
    finish_variable(work, h, {unary, cardinality}, series[h], isolated[h]);
    unary += cardinality;
  }
}

template <class RunChains>
void MarginalSampler<RunChains>::finish_variable(const Work& work, std::size_t h,
                                                 std::span<const double> unary, std::size_t series,
                                                 bool is_isolated) {
  const std::size_t cardinality = unary.size();
  const std::size_t first = work.row * offsets_.back() + offsets_[work.conditioner->hidden()[h]];
  const std::span p(result_.probabilities.data() + first, cardinality);
  std::vector<double> errors(cardinality, 0.0);
  if (cardinality == 1) {
    p[0] = 1;
  } else if (options_.rao_blackwell && is_isolated) {
    // Every sample would say the same.
    std::ranges::copy(unary, p.begin());
    normalize_scores(p);
  } else if (work.moments.n_draws() == 0) {
    return;
  } else {
    const bool binary = cardinality == 2, complete = work.moments.complete();
    for (std::size_t a = binary ? 1 : 0; a < cardinality; ++a) {
      const std::size_t s = series + (binary ? 0 : a);
      p[a] = work.moments.mean(s);
      if (!complete) continue;
      const SeriesSummary summary = work.moments.summarize(s);
      errors[a] = summary.standard_error;
      result_.r_hat[work.row] = std::max(result_.r_hat[work.row], summary.r_hat);
      result_.effective_size[work.row] =
          std::min(result_.effective_size[work.row], summary.effective_size);
    }
    if (binary) {
      p[0] = 1 - p[1];
      errors[0] = errors[1];
    }
    const auto n = static_cast<double>(work.moments.n_draws());
    if (!options_.rao_blackwell)
      for (double& x : p) x = (x * n + 1) / (n + static_cast<double>(cardinality));
    if (!complete) std::ranges::fill(errors, std::numeric_limits<double>::quiet_NaN());
  }
  if (options_.standard_errors)
    std::ranges::copy(errors, result_.standard_errors.begin() + static_cast<std::ptrdiff_t>(first));
}

template <class RunChains>
void MarginalSampler<RunChains>::copy_twins() {
  const auto copy_row = [&](std::vector<double>& numbers, std::size_t from, std::size_t to) {
    if (!numbers.empty())
      std::copy_n(numbers.data() + from * offsets_.back(), offsets_.back(),
                  numbers.data() + to * offsets_.back());
  };
  for (std::size_t r = 0; r < n_rows_; ++r) {
    const std::size_t from = rows_.original(r);
    if (from == r) continue;
    copy_row(result_.probabilities, from, r);
    copy_row(result_.standard_errors, from, r);
    result_.r_hat[r] = result_.r_hat[from];
    result_.effective_size[r] = result_.effective_size[from];
    result_.n_samples[r] = result_.n_samples[from];
    result_.is_done[r] = result_.is_done[from];
  }
}

}  // namespace detail

}  // namespace feldspar
