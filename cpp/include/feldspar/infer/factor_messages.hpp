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

// Numbers of one factor, or four factors' side by side, in memory: to read, ...
template <class Real>
class LaneView {
 public:
  explicit LaneView(const double* data) noexcept : data_(data) {}

  FELDSPAR_ALWAYS_INLINE Real operator[](std::size_t i) const noexcept {
    Real x;
    std::memcpy(&x, data_ + i * kLanes, sizeof x);
    return x;
  }

 protected:
  static constexpr std::size_t kLanes = sizeof(Real) / sizeof(double);

 private:
  const double* data_;
};

// ... and to write.
template <class Real>
class LaneNumbers : public LaneView<Real> {
 public:
  explicit LaneNumbers(double* data) noexcept : LaneView<Real>(data), data_(data) {}

  FELDSPAR_ALWAYS_INLINE void set(std::size_t i, const Real& x) const noexcept {
    std::memcpy(data_ + i * LaneView<Real>::kLanes, &x, sizeof x);
  }
  LaneNumbers starting_at(std::size_t i) const noexcept {
    return LaneNumbers(data_ + i * LaneView<Real>::kLanes);
  }

 private:
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

// How tables are contracted: with probabilities, ...
struct PlainNumbers {
  template <class Real>
  FELDSPAR_ALWAYS_INLINE static Real nothing() noexcept {
    return constant<Real>(0.0);
  }
  template <class Real>
  FELDSPAR_ALWAYS_INLINE static Real add(Real a, Real b) noexcept {
    return a + b;
  }
  template <class Real>
  FELDSPAR_ALWAYS_INLINE static Real times(Real a, Real b) noexcept {
    return a * b;
  }
  template <class Real>
  FELDSPAR_ALWAYS_INLINE static Chances<Real> chances(Real odds) noexcept {
    return chances_of(odds);
  }
  template <class Real>
  FELDSPAR_ALWAYS_INLINE static Real log_ratio(Real a, Real b) noexcept {
    return log_positive(a / b);
  }
};

// ... or with their logarithms, put together as `Logs` says (SumOfLogs, MaxOfLogs below).
template <class Logs>
struct LogNumbers {
  template <class Real>
  static double nothing() noexcept {
    return -std::numeric_limits<double>::infinity();
  }
  static double add(double a, double b) noexcept { return Logs::add(a, b); }
  static double times(double a, double b) noexcept { return a + b; }
  static Chances<double> chances(double odds) noexcept { return Logs::chances_of(odds); }
  static double log_ratio(double a, double b) noexcept { return a - b; }
};

// A table over k <= kMaxPackedVariables binary variables, row-major: log-odds of "is 1" in, log-ratios
// of what the table says of 1 and of 0 out. Variables before i are summed out for good on the way.
template <class Algebra, class Real>
FELDSPAR_ALWAYS_INLINE void table_messages(std::size_t k, const LaneView<Real>& entries,
                                           const MessageBuffer::View<Real>& b) noexcept {
  constexpr std::size_t kMost = std::size_t{1} << kMaxPackedVariables;
  const ChanceList<Real> said{b.own_yes, b.own_no};
  Real rest[kMost], own[kMost];
  std::size_t size = std::size_t{1} << k;
  for (std::size_t e = 0; e < size; ++e) rest[e] = entries[e];
  for (std::size_t i = 0; i < k; ++i) said.set(i, Algebra::chances(b.x[i]));
  for (std::size_t i = 0; i < k; ++i) {
    for (std::size_t e = 0; e < size; ++e) own[e] = rest[e];
    for (std::size_t j = k, n = size / 2; --j > i; n /= 2)
      for (std::size_t e = 0; e < n; ++e)
        own[e] = Algebra::add(Algebra::times(own[2 * e], said[j].no),
                              Algebra::times(own[2 * e + 1], said[j].yes));
    b.x.set(i, Algebra::log_ratio(own[1], own[0]));
    size /= 2;
    for (std::size_t e = 0; e < size; ++e)
      rest[e] = Algebra::add(Algebra::times(rest[e], said[i].no),
                             Algebra::times(rest[size + e], said[i].yes));
  }
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
                                              LaneView<Real> x, LaneView<Real> messages) noexcept {
  Chances<Real> all{constant<Real>(1.0), constant<Real>(0.0)};
  Real sum = constant<Real>(0.0);
  for (std::size_t i = 0; i < k; ++i) {
    all = both(all, chances_of(x[i]));
    sum += log_mean_message(x[i], messages[i]);
  }
  return log_positive(all.yes * yes + all.no * no) + shift - sum;
}

template <class Real>
FELDSPAR_ALWAYS_INLINE Real table_bethe(std::size_t k, const LaneView<Real>& entries, Real shift,
                                        LaneView<Real> x, LaneView<Real> messages) noexcept {
  Real rest[std::size_t{1} << kMaxPackedVariables];
  std::size_t size = std::size_t{1} << k;
  for (std::size_t e = 0; e < size; ++e) rest[e] = entries[e];
  Real sum = constant<Real>(0.0);
  for (std::size_t i = 0; i < k; ++i) {
    const Chances<Real> said = chances_of(x[i]);
    size /= 2;
    for (std::size_t e = 0; e < size; ++e) rest[e] = rest[e] * said.no + rest[size + e] * said.yes;
    sum += log_mean_message(x[i], messages[i]);
  }
  return log_positive(rest[0]) + shift - sum;
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

inline double log_conjunction_bethe(std::size_t k, double weight, LaneView<double> x,
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

// A table with its first or last variable summed out, weighted by p. `table` is n x p.size(), or
// p.size() x n.
template <class Algebra>
void contract_last(std::vector<double>& table, std::span<const double> p) {
  const std::size_t n = table.size() / p.size();
  for (std::size_t o = 0; o < n; ++o) {
    double sum = Algebra::template nothing<double>();
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
    double sum = Algebra::template nothing<double>();
    for (std::size_t a = 0; a < p.size(); ++a)
      sum = Algebra::add(sum, Algebra::times(table[a * n + i], p[a]));
    table[i] = sum;
  }
  table.resize(n);
}

// To each variable, the table with all the others summed out; `incoming` is what the variables say,
// end to end, and `answers` is laid out likewise. The two tables are room to work in.
template <class Algebra>
void contract_to_each(std::span<const double> entries, std::span<const std::size_t> cardinalities,
                      std::span<const double> incoming, std::span<double> answers,
                      std::vector<double>& rest, std::vector<double>& own) {
  rest.assign(entries.begin(), entries.end());
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
