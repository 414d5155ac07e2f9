// What factors say to their variables: the formulas of message passing.
//
// A variable tells a factor how likely its values are without that factor; here always as the
// log-odds of the literal that the factor tests, or, to a table, as one number for each value.
// With q_i the probability that test i passes, Q = prod_{j != i} q_j and w the feature's weight, a
// conjunction answers to its variable i
//   m_i = log (Q e^w + (1 - Q))     for the values that pass, 0 for the others;
// Q and 1 - Q for all i come from running products from both ends, in O(k) and without differences.
// Max-product has maxima in place of the sums.
//
// The formulas for probabilities work on doubles and packs alike and cover potentials within
// exp(+-500); those for logarithms cover any.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/base/numeric.hpp>
#include <feldspar/base/pack.hpp>
#include <feldspar/base/simd.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/infer/factor_graph.hpp>

namespace feldspar {

// The probabilities, or their logarithms, of "yes" and "no".
template <class Real>
struct Chances {
  Real yes, no;
};

// From log-odds.
template <class Real>
FELDSPAR_ALWAYS_INLINE Chances<Real> chances_of(Real odds) noexcept {
  const Real zero = constant<Real>(0.0);
  const Real e = exp_negative(select(odds > 0.0, zero - odds, odds));
  const Real likely = 1.0 / (1.0 + e), unlikely = e * likely;
  return {select(odds > 0.0, likely, unlikely), select(odds > 0.0, unlikely, likely)};
}

// LaneNumbers of one factor, or four factors' side by side, in memory.
template <class Real>
class LaneNumbers {
 public:
  explicit LaneNumbers(double* data) noexcept : data_(data) {}

  FELDSPAR_ALWAYS_INLINE Real operator[](std::size_t i) const noexcept {
    Real x;
    std::memcpy(&x, data_ + i * kLanes, sizeof x);
    return x;
  }
  FELDSPAR_ALWAYS_INLINE void set(std::size_t i, const Real& x) const noexcept {
    std::memcpy(data_ + i * kLanes, &x, sizeof x);
  }
  LaneNumbers starting_at(std::size_t i) const noexcept { return LaneNumbers(data_ + i * kLanes); }

 private:
  static constexpr std::size_t kLanes = sizeof(Real) / sizeof(double);
  double* data_;
};

// Room for what a factor of up to `longest` tests hears, says, and works with in between.
class MessageBuffer {
 public:
  explicit MessageBuffer(std::size_t longest)
      : longest_(longest), data_(kParts * longest * kPackSize) {}

  template <class Real>
  struct View {
    LaneNumbers<Real> x;  // log-odds in, messages out
    LaneNumbers<Real> own_yes, own_no, before_yes, before_no;
  };
  template <class Real>
  View<Real> view() noexcept {
    const LaneNumbers<Real> first(data_.data());
    return {first, first.starting_at(longest_), first.starting_at(2 * longest_),
            first.starting_at(3 * longest_), first.starting_at(4 * longest_)};
  }

 private:
  static constexpr std::size_t kParts = 5;
  std::size_t longest_;
  std::vector<double> data_;
};

template <class Real>
struct ChanceList {
  LaneNumbers<Real> yes, no;

  FELDSPAR_ALWAYS_INLINE Chances<Real> operator[](std::size_t i) const noexcept {
    return {yes[i], no[i]};
  }
  FELDSPAR_ALWAYS_INLINE void set(std::size_t i, const Chances<Real>& c) const noexcept {
    yes.set(i, c.yes);
    no.set(i, c.no);
  }
};

// Two groups of tests together: all of both pass, or some test does not.
template <class Real>
FELDSPAR_ALWAYS_INLINE Chances<Real> both(const Chances<Real>& a, const Chances<Real>& b) noexcept {
  return {a.yes * b.yes, a.no + a.yes * b.no};
}

template <class Real>
FELDSPAR_ALWAYS_INLINE void conjunction_messages(std::size_t k, Real yes, Real no, Real shift,
                                                 const MessageBuffer::View<Real>& b) noexcept {
  const ChanceList<Real> own{b.own_yes, b.own_no}, before{b.before_yes, b.before_no};
  Chances<Real> so_far{constant<Real>(1.0), constant<Real>(0.0)};
  for (std::size_t i = 0; i < k; ++i) {
    own.set(i, chances_of(b.x[i]));
    before.set(i, so_far);
    so_far = both(so_far, own[i]);
  }
  Chances<Real> after{constant<Real>(1.0), constant<Real>(0.0)};
  for (std::size_t i = k; i-- > 0;) {
    const Chances<Real> others = both(before[i], after);
    b.x.set(i, log_positive(others.yes * yes + others.no * no) + shift);
    after = both(own[i], after);
  }
}

// A table e[2 a + b] of two binary variables: log-odds of "is 1" in, log-ratios out.
template <class Real>
FELDSPAR_ALWAYS_INLINE void pair_messages(const Real* e,
                                          const MessageBuffer::View<Real>& b) noexcept {
  const Chances<Real> first = chances_of(b.x[0]), second = chances_of(b.x[1]);
  b.x.set(0, log_positive((e[2] * second.no + e[3] * second.yes) /
                          (e[0] * second.no + e[1] * second.yes)));
  b.x.set(
      1, log_positive((e[1] * first.no + e[3] * first.yes) / (e[0] * first.no + e[2] * first.yes)));
}

// log of the mean of a factor's answer to one variable, under what that variable says of itself:
// the log of (yes e^m + no).
template <class Real>
FELDSPAR_ALWAYS_INLINE Real log_mean_message(Real odds, Real message) noexcept {
  const Real zero = constant<Real>(0.0);
  const Chances<Real> own = chances_of(odds);
  const auto positive = message > 0.0;
  const Real e = exp_negative(select(positive, zero - message, message));
  const Real mean = select(positive, own.yes + own.no * e, own.yes * e + own.no);
  return log_positive(mean) + select(positive, message, zero);
}

// A factor's part of the Bethe estimate of log Z, from log-odds x and the messages it sent:
// log of its mean under what its variables say, less that of each of its messages.
template <class Real>
FELDSPAR_ALWAYS_INLINE Real conjunction_bethe(std::size_t k, Real yes, Real no, Real shift,
                                              LaneNumbers<Real> x,
                                              LaneNumbers<Real> messages) noexcept {
  Chances<Real> all{constant<Real>(1.0), constant<Real>(0.0)};
  Real sum = constant<Real>(0.0);
  for (std::size_t i = 0; i < k; ++i) {
    all = both(all, chances_of(x[i]));
    sum += log_mean_message(x[i], messages[i]);
  }
  return log_positive(all.yes * yes + all.no * no) + shift - sum;
}

template <class Real>
FELDSPAR_ALWAYS_INLINE Real pair_bethe(const Real* e, Real shift, LaneNumbers<Real> x,
                                       LaneNumbers<Real> messages) noexcept {
  const Chances<Real> first = chances_of(x[0]), second = chances_of(x[1]);
  const Real mean = first.no * (e[0] * second.no + e[1] * second.yes) +
                    first.yes * (e[2] * second.no + e[3] * second.yes);
  return log_positive(mean) + shift - log_mean_message(x[0], messages[0]) -
         log_mean_message(x[1], messages[1]);
}

// How logarithms of alternatives are put together: by sums (sum-product) ...
struct SumOfLogs {
  static constexpr bool kSums = true;

  static double add(double a, double b) noexcept {
    const double top = std::max(a, b), low = std::min(a, b);
    return low == -std::numeric_limits<double>::infinity() ? top
                                                           : top + std::log1p(std::exp(low - top));
  }
  static Chances<double> chances_of(double odds) noexcept {
    const double e = std::log1p(std::exp(-std::abs(odds)));
    return {std::min(odds, 0.0) - e, std::min(-odds, 0.0) - e};
  }
};

// ... or by the best of them (max-product).
struct MaxOfLogs {
  static constexpr bool kSums = false;

  static double add(double a, double b) noexcept { return std::max(a, b); }
  static Chances<double> chances_of(double odds) noexcept {
    return {std::min(odds, 0.0), std::min(-odds, 0.0)};
  }
};

template <class Logs>
Chances<double> both_logs(const Chances<double>& a, const Chances<double>& b) noexcept {
  return {a.yes + b.yes, Logs::add(a.no, a.yes + b.no)};
}

inline constexpr Chances<double> kCertainLogs{0.0, -std::numeric_limits<double>::infinity()};

// As conjunction_messages, in logarithms.
template <class Logs>
void log_conjunction_messages(std::size_t k, double weight, const MessageBuffer::View<double>& b) {
  const ChanceList<double> own{b.own_yes, b.own_no}, before{b.before_yes, b.before_no};
  Chances<double> so_far = kCertainLogs;
  for (std::size_t i = 0; i < k; ++i) {
    own.set(i, Logs::chances_of(b.x[i]));
    before.set(i, so_far);
    so_far = both_logs<Logs>(so_far, own[i]);
  }
  Chances<double> after = kCertainLogs;
  for (std::size_t i = k; i-- > 0;) {
    const Chances<double> others = both_logs<Logs>(before[i], after);
    b.x.set(i, Logs::add(weight + others.yes, others.no));
    after = both_logs<Logs>(own[i], after);
  }
}

// As pair_messages, in logarithms; the table is given by its logarithms.
template <class Logs>
void log_pair_messages(const double* e, const MessageBuffer::View<double>& b) {
  const Chances<double> first = Logs::chances_of(b.x[0]), second = Logs::chances_of(b.x[1]);
  b.x.set(0, Logs::add(e[2] + second.no, e[3] + second.yes) -
                 Logs::add(e[0] + second.no, e[1] + second.yes));
  b.x.set(1, Logs::add(e[1] + first.no, e[3] + first.yes) -
                 Logs::add(e[0] + first.no, e[2] + first.yes));
}

inline double log_conjunction_bethe(std::size_t k, double weight, LaneNumbers<double> x,
                                    std::span<const double> messages) {
  Chances<double> all = kCertainLogs;
  double sum = 0;
  for (std::size_t i = 0; i < k; ++i) {
    const Chances<double> own = SumOfLogs::chances_of(x[i]);
    all = both_logs<SumOfLogs>(all, own);
    sum += SumOfLogs::add(own.yes + messages[i], own.no);
  }
  return SumOfLogs::add(weight + all.yes, all.no) - sum;
}

// How tables are contracted: with probabilities, or with logarithms put together as `Logs` says.
struct PlainNumbers {
  static constexpr double kNothing = 0;
  static double add(double a, double b) noexcept { return a + b; }
  static double times(double a, double b) noexcept { return a * b; }
};

template <class Logs>
struct LogNumbers {
  static constexpr double kNothing = -std::numeric_limits<double>::infinity();
  static double add(double a, double b) noexcept { return Logs::add(a, b); }
  static double times(double a, double b) noexcept { return a + b; }
};

// A table with its first or last variable summed out, weighted by p. `table` is n x p.size(), or
// p.size() x n.
template <class Algebra>
void contract_last(std::vector<double>& table, std::span<const double> p) {
  const std::size_t n = table.size() / p.size();
  for (std::size_t o = 0; o < n; ++o) {
    double sum = Algebra::kNothing;
    for (std::size_t a = 0; a < p.size(); ++a)
      sum = Algebra::add(sum, Algebra::times(table[o * p.size() + a], p[a]));
    table[o] = sum;
  }
  table.resize(n);
}

template <class Algebra>
void contract_first(std::vector<double>& table, std::span<const double> p) {
  const std::size_t n = table.size() / p.size();
  for (std::size_t i = 0; i < n; ++i) {
    double sum = Algebra::kNothing;
    for (std::size_t a = 0; a < p.size(); ++a)
      sum = Algebra::add(sum, Algebra::times(table[a * n + i], p[a]));
    table[i] = sum;
  }
  table.resize(n);
}

// To each variable, the table with all the others summed out; `incoming` is what the variables say,
// end to end, and `answers` is laid out likewise.
template <class Algebra>
void contract_to_each(std::span<const double> entries, std::span<const std::size_t> cardinalities,
                      std::span<const double> incoming, std::span<double> answers) {
  std::vector<double> rest(entries.begin(), entries.end()), own;
  std::size_t first = 0;
  for (std::size_t i = 0; i < cardinalities.size(); ++i) {
    own = rest;
    std::size_t end = incoming.size();
    for (std::size_t j = cardinalities.size(); --j > i;) {
      end -= cardinalities[j];
      contract_last<Algebra>(own, incoming.subspan(end, cardinalities[j]));
    }
    std::ranges::copy(own, answers.begin() + static_cast<std::ptrdiff_t>(first));
    contract_first<Algebra>(rest, incoming.subspan(first, cardinalities[i]));
    first += cardinalities[i];
  }
}

}  // namespace feldspar
