// Gibbs sampling: marginals given evidence, and states.
//
// A sweep visits the hidden variables in their order and draws each from its distribution given all
// others. Marginals average, over the sampled sweeps, either that distribution (Rao-Blackwell; the
// default) or the values drawn. Chains start from states drawn uniformly.
//
// Evidence is put into the model first (hidden_model.hpp), so that sweeps see what is left of the
// features; conditional_scores.hpp tells how a visit costs a few table lookups and a random number,
// and a change of value what depends on it. The chains of a row are worked on side by side.
//
// Equal bits for any number of threads; rows with the same evidence have the same result
// (sampled_marginals.hpp). A stop or a time limit leaves the rows that are finished, flagged as such,
// and of the others what was sampled; a stop before the first sample throws Interrupted.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/hash.hpp>
#include <feldspar/base/numeric.hpp>
#include <feldspar/base/pack.hpp>
#include <feldspar/base/parallel.hpp>
#include <feldspar/base/random.hpp>
#include <feldspar/base/random_lanes.hpp>
#include <feldspar/base/simd.hpp>
#include <feldspar/base/stop_sign.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/infer/chain_diagnostics.hpp>
#include <feldspar/infer/chains.hpp>
#include <feldspar/infer/condition.hpp>
#include <feldspar/infer/conditional_scores.hpp>
#include <feldspar/infer/evidence.hpp>
#include <feldspar/infer/evidence_rows.hpp>
#include <feldspar/infer/hidden_model.hpp>
#include <feldspar/infer/sampled_marginals.hpp>
#include <feldspar/model/markov_network.hpp>

namespace feldspar {

struct GibbsOptions {
  ChainOptions chains;
  int max_table_bits = 10;  // of conditional_scores.hpp: memory against speed

  void check() const {
    chains.check();
    require(max_table_bits >= 0 && max_table_bits <= 16,
            "max_table_bits must be from 0 to 16, got ", max_table_bits);
  }
};

namespace detail {

// x := 1 / (1 + exp(-x)) for whole packs.
struct LogisticKernel {
  FELDSPAR_ALWAYS_INLINE void operator()(double* x, std::size_t n) const noexcept {
    for (std::size_t i = 0; i < n; i += kPackSize) {
      const Pack m = load_pack(x + i);
      const Pack e = exp_negative(select(m > 0.0, 0.0 - m, m));
      store_pack(x + i, select(m > 0.0, constant<Pack>(1.0), e) / (1.0 + e));
    }
  }
};

// One draw in each lane: bit i of the result is set with probability p[i]. At most 64 lanes.
struct DrawKernel {
  FELDSPAR_ALWAYS_INLINE Word operator()(const double* p, std::uint64_t* states,
                                         std::size_t n) const noexcept {
    alignas(32) std::uint64_t lanes[kPackSize] = {1, 2, 4, 8};
    PackBits here = load_bits(lanes), drawn = broadcast_bits(0);
    for (std::size_t i = 0; i < n; i += kPackSize) {
      drawn = drawn | (mask_bits(next_uniforms(states, n, i) < load_pack(p + i)) & here);
      here = here << static_cast<int>(kPackSize);
    }
    store_bits(lanes, drawn);
    return lanes[0] | lanes[1] | lanes[2] | lanes[3];
  }

 private:
  template <class Mask>
  static FELDSPAR_ALWAYS_INLINE PackBits mask_bits(const Mask& mask) noexcept {
    PackBits bits;
    static_assert(sizeof bits == sizeof mask);
    std::memcpy(&bits, &mask, sizeof bits);
    return bits;
  }
};

// out := a uniform number in each lane.
struct UniformKernel {
  FELDSPAR_ALWAYS_INLINE void operator()(double* out, std::uint64_t* states,
                                         std::size_t n) const noexcept {
    for (std::size_t i = 0; i < n; i += kPackSize) store_pack(out + i, next_uniforms(states, n, i));
  }
};

// sums += p, squares += p * p, for whole packs.
struct AddMomentsKernel {
  FELDSPAR_ALWAYS_INLINE void operator()(const double* p, double* sums, double* squares,
                                         std::size_t n) const noexcept {
    for (std::size_t i = 0; i < n; i += kPackSize) {
      const Pack x = load_pack(p + i);
      store_pack(sums + i, load_pack(sums + i) + x);
      store_pack(squares + i, load_pack(squares + i) + x * x);
    }
  }
};

inline std::vector<Random> chain_streams(std::uint64_t seed, std::string_view name,
                                         std::uint64_t row_hash, ChainRange range) {
  std::vector<Random> streams;
  for (std::size_t c = range.first; c < range.last; ++c)
    streams.emplace_back(seed, Stream{name, combine_hash(row_hash, c)});
  return streams;
}

// An index by its chances; the last one takes what rounding leaves.
inline Value draw_index(const double* p, std::size_t n, double uniform) noexcept {
  std::size_t a = 0;
  for (; a + 1 < n && uniform >= p[a]; ++a) uniform -= p[a];
  return static_cast<Value>(a);
}

// At most 64 chains, with what it takes to move them.
class GibbsChains {
 public:
  static constexpr std::size_t kMostChains = kWordBits;

  GibbsChains(const ConditionalScores& scores, std::vector<Random> streams)
      : scores_(scores), chains_(scores, streams.size()), level_(simd_level()), random_({}) {
    std::size_t widest = 1;
    for (std::size_t h = 0; h < scores.n_variables(); ++h) {
      widest = std::max(widest, scores.local(h).width);
      for (std::size_t c = 0; c < chains_.size(); ++c)
        chains_.assign(h, c, static_cast<Value>(streams[c].below(scores.local(h).cardinality)));
    }
    random_ = RandomLanes(streams);
    probabilities_.assign(widest * random_.n_lanes(), 0.0);
    uniforms_.assign(random_.n_lanes(), 0.0);
  }

  const Chains& states() const noexcept { return chains_; }
  SimdLevel level() const noexcept { return level_; }

  // Calls record(h, width, p) at each visit, p[c * width + a] being the probability of value a in
  // chain c, or with width 1 that of value 1. Isolated variables are passed over if asked to.
  template <class Record>
  void sweep(bool skip_isolated, Record&& record) {
    for (std::size_t h = 0; h < scores_.n_variables(); ++h) {
      const auto& local = scores_.local(h);
      if (local.cardinality == 1 || (skip_isolated && local.is_isolated)) continue;
      if (local.width == 1)
        visit_binary(h, local);
      else
        visit_general(h, local);
      record(h, local.width, probabilities_.data());
    }
  }

 private:
  void visit_binary(std::size_t h, const ConditionalScores::Local& local) {
    double* p = probabilities_.data();
    if (local.has_probabilities) {
      chains_.probabilities(local, p);
    } else {
      chains_.margins(local, p);
      run_kernel<LogisticKernel>(level_, p, random_.n_lanes());
    }
    const Word ones = run_kernel<DrawKernel>(level_, static_cast<const double*>(p),
                                             random_.states(), random_.n_lanes());
    chains_.assign_bits(h, ones);
  }

  void visit_general(std::size_t h, const ConditionalScores::Local& local) {
    run_kernel<UniformKernel>(level_, uniforms_.data(), random_.states(), random_.n_lanes());
    for (std::size_t c = 0; c < chains_.size(); ++c) {
      const std::span p(probabilities_.data() + c * local.width, local.width);
      if (local.has_probabilities) {
        std::copy_n(chains_.probabilities(local, c), local.width, p.data());
      } else {
        chains_.scores(local, c, p.data());
        for (std::size_t a = 0; a < local.width; ++a) p[a] += scores_.unary(h)[a];
        normalize_scores(p);
      }
      chains_.assign(h, c, draw_index(p.data(), p.size(), uniforms_[c]));
    }
  }

  const ConditionalScores& scores_;
  Chains chains_;
  SimdLevel level_;
  RandomLanes random_;
  std::vector<double> probabilities_, uniforms_;  // of one variable, in all chains
};

// After how many sweeps to look for a stop: looking costs as much as some visits.
inline std::size_t sweeps_between_looks(std::size_t n_visits) noexcept {
  return 1 + 16384 / std::max<std::size_t>(1, n_visits);
}

// The chains of `range` of one row, from their start to their last sample.
class GibbsRun {
 public:
  GibbsRun(const ChainOptions& options, const ConditionalScores& scores,
           std::vector<Random> streams, const StopSign& stop)
      : options_(options),
        chains_(scores, std::move(streams)),
        stop_(stop),
        between_looks_(sweeps_between_looks(scores.n_variables() * chains_.states().size())) {}

  const GibbsChains& chains() const noexcept { return chains_; }

  // Calls record(h, width, p) at each visit of a sampled sweep, and finish() after it.
  template <class Record, class Finish>
  void run(std::size_t n_samples, bool skip_isolated, Record&& record, Finish&& finish) {
    const auto pass = [](std::size_t, std::size_t, const double*) {};
    for (int i = 0; i < options_.burn_in; ++i) {
      if (time_to_stop()) return;
      chains_.sweep(skip_isolated, pass);
    }
    for (std::size_t s = 0; s < n_samples; ++s) {
      for (int i = 1; i < options_.thinning; ++i) {
        if (time_to_stop()) return;
        chains_.sweep(skip_isolated, pass);
      }
      if (time_to_stop()) return;
      chains_.sweep(skip_isolated, record);
      finish();
    }
  }

 private:
  bool time_to_stop() {
    if (++sweeps_ % between_looks_ != 0) return false;
    return stop_.is_up();
  }

  ChainOptions options_;
  GibbsChains chains_;
  const StopSign& stop_;
  std::size_t between_looks_, sweeps_ = 0;
};

inline void run_gibbs(const ChainOptions& options, const ScoreOptions& score_options,
                      const FeatureSet& features, const HiddenModel& model, std::uint64_t row_hash,
                      ChainRange range, SeriesMoments& moments, const StopSign& stop) {
  const ConditionalScores scores(features, model, score_options);
  GibbsRun chains(options, scores, chain_streams(options.seed, "gibbs", row_hash, range), stop);
  const auto series = series_offsets(features.schema());
  const auto n_samples = static_cast<std::size_t>(options.n_samples);
  BatchSums sums(moments, range.first, range.size());
  const auto record_probabilities = [&](std::size_t h, std::size_t width, const double* p) {
    if (width == 1) {
      run_kernel<AddMomentsKernel>(chains.chains().level(), p, sums.sums(series[h]),
                                   sums.squares(series[h]), whole_packs(range.size()));
      return;
    }
    for (std::size_t c = 0; c < range.size(); ++c)
      for (std::size_t a = 0; a < width; ++a) sums.add(series[h] + a, c, p[c * width + a]);
  };
  const auto record_values = [&](std::size_t h, std::size_t width, const double*) {
    for (std::size_t c = 0; c < range.size(); ++c) {
      const Value value = chains.chains().states().value(h, c);
      if (width > 1)
        sums.add(series[h] + value, c, 1);
      else if (value == 1)
        sums.add(series[h], c, 1);
    }
  };
  const auto finish = [&] { sums.next(); };
  if (options.rao_blackwell)
    chains.run(n_samples, /*skip_isolated=*/true, record_probabilities, finish);
  else
    chains.run(n_samples, /*skip_isolated=*/false, record_values, finish);
}

}  // namespace detail

inline SampledMarginals gibbs_marginals(const MarkovNetwork& network, const EvidenceView& evidence,
                                        const GibbsOptions& options,
                                        const Execution& execution = {}) {
  options.check();
  const ScoreOptions scores{.visits = options.chains.n_steps(),
                            .max_table_bits = options.max_table_bits};
  const auto run = [&](auto&&... arguments) {
    detail::run_gibbs(options.chains, scores, arguments...);
  };
  return detail::MarginalSampler(network, evidence, options.chains, execution, run).sample();
}

struct SampleOptions {
  int n_chains = 10;  // no more than states are asked for
  int burn_in = 100;  // sweeps of a chain before its first state
  int thinning = 1;   // sweeps from one state to the next
  std::uint64_t seed = 0;
  int max_table_bits = 10;  // as in GibbsOptions

  void check() const {
    const ChainOptions chains{.n_chains = n_chains, .burn_in = burn_in, .thinning = thinning};
    GibbsOptions{chains, max_table_bits}.check();
  }
};

// n states of all variables, row-major, given one row of evidence (all unknown: from the model). State
// i comes from chain i modulo n_chains, so that neighbours are independent. A stop throws
// Interrupted.
inline std::vector<std::int32_t> sample(const MarkovNetwork& network, const EvidenceView& evidence,
                                        std::size_t n, const SampleOptions& options,
                                        const Execution& execution = {}) {
  options.check();
  const std::size_t n_rows = check_evidence(network.schema(), evidence);
  require(n_rows == 1, "evidence: expected one row, got ", n_rows);
  std::vector<std::int32_t> states;
  for (std::size_t i = 0; i < n; ++i)
    states.insert(states.end(), evidence.codes.begin(), evidence.codes.end());
  const Conditioner conditioner(network, evidence.codes, !evidence.log_likelihoods.empty());
  const auto& hidden = conditioner.hidden();
  if (n == 0 || hidden.empty()) return states;

  const auto n_chains = std::min(n, static_cast<std::size_t>(options.n_chains));
  const std::size_t n_each = (n + n_chains - 1) / n_chains;
  const ChainOptions chain_options{.burn_in = options.burn_in, .thinning = options.thinning};
  const auto sweeps = static_cast<std::size_t>(options.burn_in) +
                      n_each * static_cast<std::size_t>(options.thinning);
  const HiddenModel model = hidden_models(conditioner, evidence, std::vector<std::size_t>{0})[0];
  const std::uint64_t row_hash = hash_evidence(network.schema(), evidence, 0);
  const ConditionalScores scores(
      conditioner.features(), model,
      {.visits = sweeps * n_chains, .max_table_bits = options.max_table_bits});
  const StopSign stop(execution);
  const auto threads = static_cast<std::size_t>(resolve_threads(execution));
  const std::size_t least = (n_chains + kWordBits - 1) / kWordBits;
  const std::size_t n_ranges = std::min(n_chains, std::max(least, threads));
  parallel_for(n_ranges, execution, [&](std::size_t part) {
    const ChainRange range{part * n_chains / n_ranges, (part + 1) * n_chains / n_ranges};
    detail::GibbsRun run(chain_options, scores,
                         detail::chain_streams(options.seed, "sample", row_hash, range), stop);
    std::size_t round = 0;
    const auto keep = [&] {
      for (std::size_t c = range.first; c < range.last && round * n_chains + c < n; ++c)
        for (std::size_t h = 0; h < hidden.size(); ++h)
          states[(round * n_chains + c) * evidence.codes.size() + hidden[h]] =
              run.chains().states().value(h, c - range.first);
      ++round;
    };
    run.run(n_each, /*skip_isolated=*/false, [](std::size_t, std::size_t, const double*) {}, keep);
  });
  execution.throw_if_stopped();
  return states;
}

}  // namespace feldspar
