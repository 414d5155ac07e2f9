// How far Markov chains can be trusted.
//
// - split_r_hat: each chain is cut in half; R-hat compares the variance between the 2m halves with
//   the variance within them (Gelman et al., Bayesian Data Analysis, 3rd ed., section 11.4). About 1
//   when all halves tell the same, larger when chains have not met or still drift.
// - effective_sample_size: how many independent draws would give a mean of the same precision, by
//   Geyer's initial monotone sequence of autocorrelations (Geyer 1992), chains taken together.
// - SeriesMoments: the same questions for many series at once without keeping the draws. Precision
//   comes from batch means: with batches of about sqrt(n) draws, far longer than draws remember each
//   other, the variance of batch means tells that of the whole mean (Flegal and Jones 2010). Where
//   draws remember longer, it tells too little; batches of twice the length tell by how much, and
//   the difference is added (the lugsail estimator: Vats and Flegal 2021).
//
// Cost: one pass over the draws; effective_sample_size one more for each lag until the
// autocorrelation is lost in noise. Values that do not vary have R-hat 1 and count in full; chains of
// fewer than four draws tell nothing of whether they have met, and have an infinite one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include <feldspar/base/error.hpp>

namespace feldspar {

// Variances below are rounding, for quantities of the size of probabilities.
inline constexpr double kNegligibleVariance = 1e-20;

// Means and variances of sequences of one length to R-hat.
inline double r_hat(std::span<const double> means, std::span<const double> variances,
                    double length) {
  const auto n = static_cast<double>(means.size());
  double mean = 0, within = 0, between = 0;
  for (const double m : means) mean += m / n;
  for (const double v : variances) within += v / n;
  for (const double m : means) between += (m - mean) * (m - mean) / (n - 1);
  if (within <= kNegligibleVariance)
    return between <= kNegligibleVariance ? 1.0 : std::numeric_limits<double>::infinity();
  return std::sqrt((length - 1) / length + between / within);
}

namespace detail {

// Draws of all chains, a chain after the other; the number of draws of each.
inline std::size_t check_chains(std::span<const double> draws, std::size_t n_chains,
                                std::size_t least) {
  require(n_chains >= 1, "chains: expected at least one");
  require(draws.size() % n_chains == 0, "chains: ", draws.size(), " draws are not ", n_chains,
          " chains of one length");
  const std::size_t length = draws.size() / n_chains;
  require(length >= least, "chains: expected at least ", least, " draws in each, got ", length);
  for (const double x : draws)
    require(std::isfinite(x), "chains: draw ", x, "; expected a finite number");
  return length;
}

inline double mean_of(std::span<const double> x) {
  double sum = 0;
  for (const double value : x) sum += value;
  return sum / static_cast<double>(x.size());
}

// sum (x[i] - mean) (x[i + lag] - mean) / n.
inline double autocovariance(std::span<const double> x, double mean, std::size_t lag) {
  double sum = 0;
  for (std::size_t i = 0; i + lag < x.size(); ++i) sum += (x[i] - mean) * (x[i + lag] - mean);
  return sum / static_cast<double>(x.size());
}

// The chains' autocorrelation at growing lags, as seen from the variance of all draws: a
// difference between chains counts as correlation that never ends.
class Autocorrelation {
 public:
  Autocorrelation(std::span<const double> draws, std::size_t n_chains)
      : draws_(draws), length_(draws.size() / n_chains) {
    const auto n = static_cast<double>(length_);
    for (std::size_t c = 0; c < n_chains; ++c) means_.push_back(mean_of(chain(c)));
    within_ = mean_autocovariance(0) * n / (n - 1);
    variance_ = within_ * (n - 1) / n;
    const double mean = mean_of(means_);
    for (const double m : means_)
      if (n_chains > 1) variance_ += (m - mean) * (m - mean) / static_cast<double>(n_chains - 1);
  }

  double variance() const noexcept { return variance_; }
  std::size_t length() const noexcept { return length_; }

  double at(std::size_t lag) const {
    if (lag == 0) return 1;
    return 1 - (within_ - mean_autocovariance(lag)) / variance_;
  }

 private:
  std::span<const double> chain(std::size_t c) const {
    return draws_.subspan(c * length_, length_);
  }
  double mean_autocovariance(std::size_t lag) const {
    double sum = 0;
    for (std::size_t c = 0; c < means_.size(); ++c) sum += autocovariance(chain(c), means_[c], lag);
    return sum / static_cast<double>(means_.size());
  }

  std::span<const double> draws_;
  std::size_t length_;
  std::vector<double> means_;
  double within_ = 0, variance_ = 0;
};

}  // namespace detail

// `draws` holds chain after chain, each of at least four draws; of an odd number the middle one is
// left out.
inline double split_r_hat(std::span<const double> draws, std::size_t n_chains) {
  const std::size_t length = detail::check_chains(draws, n_chains, 4), half = length / 2;
  std::vector<double> means, variances;
  for (std::size_t c = 0; c < n_chains; ++c)
    for (const std::size_t first : {c * length, (c + 1) * length - half}) {
      const auto part = draws.subspan(first, half);
      means.push_back(detail::mean_of(part));
      variances.push_back(detail::autocovariance(part, means.back(), 0) *
                          static_cast<double>(half) / static_cast<double>(half - 1));
    }
  return r_hat(means, variances, static_cast<double>(half));
}

inline double effective_sample_size(std::span<const double> draws, std::size_t n_chains) {
  detail::check_chains(draws, n_chains, 4);
  const detail::Autocorrelation correlation(draws, n_chains);
  const auto n = static_cast<double>(draws.size());
  if (correlation.variance() <= kNegligibleVariance) return n;
  // Sums of two neighbours are positive and fall, for a reversible chain; where they do not, noise
  // has taken over.
  double sum = 0, last = std::numeric_limits<double>::infinity();
  for (std::size_t lag = 0; lag + 1 < correlation.length(); lag += 2) {
    const double pair = correlation.at(lag) + correlation.at(lag + 1);
    if (pair <= 0) break;
    last = std::min(last, pair);
    sum += last;
  }
  // The time of one effective draw; draws that cancel each other's errors are not trusted too far.
  const double time = std::max(2 * sum - 1, 1 / std::log10(n));
  return n / time;
}

struct SeriesSummary {
  double mean = 0;
  double standard_error = 0;  // of the mean
  double r_hat = 1;
  double effective_size = 0;
};

// Moments of n_series series in n_chains chains of `length` draws each, gathered batch by batch.
// Chains are independent of each other and may be filled by different threads.
class SeriesMoments {
 public:
  SeriesMoments(std::size_t n_series, std::size_t n_chains, std::size_t length)
      : n_series_(n_series),
        n_chains_(n_chains),
        length_(length),
        n_batches_(2 * std::max<std::size_t>(1, length / (2 * batch_length(length)))),
        finished_(n_chains, 0),
        moments_(n_series * n_chains) {}

  std::size_t n_series() const noexcept { return n_series_; }

  // How many draws a chain has after the batch that follows its first `n` draws.
  std::size_t batch_end(std::size_t n) const noexcept {
    return ((n * n_batches_ + n_batches_ - 1) / length_ + 1) * length_ / n_batches_;
  }

  // The sum of a series' draws of one chain in one batch, and of their squares. All series of the
  // chain have to be added, then advance() called.
  void add_batch(std::size_t series, std::size_t chain, std::size_t n_draws, double sum,
                 double squares) noexcept {
    Moments& m = moments_[series * n_chains_ + chain];
    const std::size_t side = finished_[chain] < first_half() ? 0 : 1;
    m.sum[side] += sum;
    m.squares[side] += squares;
    m.batches += sum * sum / static_cast<double>(n_draws);
    m.pair_sum += sum;
    m.pair_draws += static_cast<double>(n_draws);
    if (++m.n_batches % 2 != 0) return;
    m.pairs += m.pair_sum * m.pair_sum / m.pair_draws;
    m.pair_sum = m.pair_draws = 0;
  }
  void advance(std::size_t chain, std::size_t n_draws) noexcept { finished_[chain] += n_draws; }

  std::size_t n_draws() const noexcept {
    std::size_t sum = 0;
    for (const std::size_t n : finished_) sum += n;
    return sum;
  }
  bool complete() const noexcept { return n_draws() == n_chains_ * length_; }

  // The mean of what there is; there must be a draw.
  double mean(std::size_t series) const noexcept {
    double sum = 0;
    for (std::size_t c = 0; c < n_chains_; ++c) {
      const Moments& m = moments_[series * n_chains_ + c];
      sum += m.sum[0] + m.sum[1];
    }
    return sum / static_cast<double>(n_draws());
  }

  // Of complete chains.
  SeriesSummary summarize(std::size_t series) const;

 private:
  struct Moments {
    double sum[2] = {}, squares[2] = {};  // by half
    double batches = 0;                   // sum over batches of sum^2 / length
    double pairs = 0;                     // the same over pairs of neighbouring batches,
    double pair_sum = 0, pair_draws = 0;  // and what is there of the next pair
    std::size_t n_batches = 0;
  };

  static std::size_t batch_length(std::size_t length) noexcept {
    return std::max<std::size_t>(1,
                                 static_cast<std::size_t>(std::sqrt(static_cast<double>(length))));
  }
  std::size_t first_half() const noexcept { return n_batches_ / 2 * length_ / n_batches_; }

  std::size_t n_series_, n_chains_, length_;
  std::size_t n_batches_;              // of a chain: even, so that batches do not cross the middle
  std::vector<std::size_t> finished_;  // draws, by chain
  std::vector<Moments> moments_;       // [series][chain]
};

// The batch that is being filled, for several chains in step, first ... first + n_chains - 1 of the
// moments. Numbers of one series lie side by side, a chain each, filled up to whole packs.
class BatchSums {
 public:
  BatchSums(SeriesMoments& moments, std::size_t first, std::size_t n_chains)
      : moments_(moments),
        first_(first),
        n_chains_(n_chains),
        stride_((n_chains + 3) / 4 * 4),
        end_(moments.batch_end(0)),
        sums_(2 * moments.n_series() * stride_, 0.0) {}
  BatchSums(const BatchSums&) = delete;
  BatchSums& operator=(const BatchSums&) = delete;
  // A stop may leave a part of a batch.
  ~BatchSums() {
    if (n_draws_ > begin_) flush();
  }

  double* sums(std::size_t series) noexcept { return sums_.data() + 2 * series * stride_; }
  double* squares(std::size_t series) noexcept { return sums(series) + stride_; }

  void add(std::size_t series, std::size_t chain, double draw) noexcept {
    sums(series)[chain] += draw;
    squares(series)[chain] += draw * draw;
  }

  // After a draw of every series and chain.
  void next() noexcept {
    if (++n_draws_ == end_) flush();
  }

 private:
  void flush() noexcept {
    for (std::size_t c = 0; c < n_chains_; ++c) {
      for (std::size_t s = 0; s < moments_.n_series(); ++s)
        moments_.add_batch(s, first_ + c, n_draws_ - begin_, sums(s)[c], squares(s)[c]);
      moments_.advance(first_ + c, n_draws_ - begin_);
    }
    std::ranges::fill(sums_, 0.0);
    begin_ = n_draws_;
    end_ = moments_.batch_end(n_draws_);
  }

  SeriesMoments& moments_;
  std::size_t first_, n_chains_, stride_;
  std::size_t n_draws_ = 0, begin_ = 0, end_;
  std::vector<double> sums_;  // [series][sum, square][chain]
};

inline SeriesSummary SeriesMoments::summarize(std::size_t series) const {
  const double n = static_cast<double>(length_), total = n * static_cast<double>(n_chains_);
  const auto first = static_cast<double>(first_half());
  const double lengths[] = {first, n - first};
  SeriesSummary summary{.mean = mean(series)};
  const double mean = summary.mean;
  std::vector<double> means, variances;
  double square = 0, batch = 0, pair = 0, between = 0;
  for (std::size_t c = 0; c < n_chains_; ++c) {
    const Moments& m = moments_[series * n_chains_ + c];
    for (std::size_t side = 0; side < 2; ++side) {
      const double of_half = lengths[side] > 0 ? m.sum[side] / lengths[side] : mean;
      means.push_back(of_half);
      variances.push_back(std::max(0.0, m.squares[side] - of_half * m.sum[side]) /
                          std::max(1.0, lengths[side] - 1));
      square += m.squares[side];
    }
    const double of_chain = (m.sum[0] + m.sum[1]) / n;
    between += (of_chain - mean) * (of_chain - mean);
    batch += m.batches;
    pair += m.pairs;
  }
  const double n_batches = static_cast<double>(n_batches_ * n_chains_);
  const double variance = std::max(0.0, square - mean * mean * total) / std::max(1.0, total - 1);
  const auto variance_by = [&](double squares, double n_parts) {
    return std::max(0.0, squares - mean * mean * total) / std::max(1.0, n_parts - 1) / total;
  };
  const double short_batches = variance_by(batch, n_batches);
  const double by_batches =
      std::max(short_batches, 2 * variance_by(pair, n_batches / 2) - short_batches);
  // Batches are many and tell more than the few means of chains; but chains that stay apart show in
  // their means only: four standard deviations beyond what batches let expect.
  const auto others = static_cast<double>(n_chains_) - 1;
  const double by_chains = others > 0 ? between / others / (others + 1) : 0.0;
  const bool apart = others > 0 && by_chains > short_batches * (1 + 4 * std::sqrt(2 / others));
  // Single draws, a chain each, are independent; there are no batches to tell by. One alone tells
  // nothing of its error.
  const double error = total == 1     ? std::numeric_limits<double>::infinity()
                       : length_ == 1 ? variance / total
                       : apart        ? std::max(by_chains, by_batches)
                                      : by_batches;
  summary.standard_error = std::sqrt(error);
  const bool constant = variance <= kNegligibleVariance;
  constexpr std::size_t kLeastDraws = 4;  // of a chain that is cut in half
  if (length_ < kLeastDraws)
    summary.r_hat = std::numeric_limits<double>::infinity();
  else if (!constant)
    summary.r_hat = feldspar::r_hat(means, variances, n / 2);
  summary.effective_size =
      constant ? total : variance / std::max(error, variance / (total * std::log10(total + 9)));
  return summary;
}

}  // namespace feldspar
