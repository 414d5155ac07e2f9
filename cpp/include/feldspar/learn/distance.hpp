// How far examples are from a feature, and which tests stand between the feature and its nearest
// neighbours (Davis and Domingos 2010, section 4.3).
//
// The generalised value difference metric of a feature f and an example e,
//
//   D(f, e) = sum over c, i in f, c != i, and values h of c of |P(c = h | f_i) - P(c = h | e_i)|^Q,
//
// is a sum over the tests i of f of a term that depends on e only through e_i: a table for each
// test. A test that holds adds nothing; one that admits a set of values and fails is compared by
// P(c | X_i in the set). The probabilities come from pair counts, one added to each. The
// generalised Hamming distance counts the tests that fail: tables of zeros and ones.
//
// Rows are kept as codes of groups of variables, up to 256 combinations a group, so that a distance
// takes one look-up for each group, not for each test. Table entries are rounded to 2^-28: sums are
// exact, and equal distances are equal whatever the order of addition. Ties go to the lower row.
//
// A merged row of weight w is w examples at one distance: the k nearest examples are the first rows
// whose weights add up to k or more, the same as without merging.
//
// Cost for a feature of n tests: rows * groups + n^2 * values.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/parallel.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/counts.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/feature/feature_set.hpp>

namespace feldspar {

enum class DistanceKind { value_difference, hamming };

struct DistanceOptions {
  DistanceKind kind = DistanceKind::value_difference;
  int power = 1;  // Q of the value difference metric

  void check() const { require(power >= 1, "power must be at least 1, got ", power); }
};

class FeatureDistance {
 public:
  // Keeps a reference to `data`.
  FeatureDistance(const Dataset& data, const DistanceOptions& options,
                  const Execution& execution = {});

  struct Scratch {
    std::vector<double> table, distances, sample;
    std::vector<Word> matched;
    std::vector<std::pair<double, Row>> order;
  };

  // What a test adds to the distance of the examples with each value of its variable.
  std::vector<double> terms(std::span<const Test> tests, const ValueSets& sets,
                            std::size_t test) const;

  // By row; infinite where the feature matches.
  std::span<const double> unmatched_distances(std::span<const Test> tests, const ValueSets& sets,
                                              Scratch& scratch) const;

  // For each test, the number of the first of `ks` (ascending) such that one of the k nearest
  // unmatched examples fails the test; ks.size() where none does. Where there are fewer than k
  // unmatched examples, all of them are the nearest.
  std::vector<std::uint8_t> first_failures(std::span<const Test> tests, const ValueSets& sets,
                                           std::span<const double> ks, Scratch& scratch) const;

 private:
  static constexpr std::size_t kCombinations = 256;
  static constexpr double kUnit = 0x1p-28;

  // Variables whose values together are one code.
  struct Group {
    std::vector<Variable> variables;
    std::size_t n_codes = 1;
    std::vector<std::uint16_t> codes;  // by row; the first variable is the least significant
  };

  void make_groups();
  void collect_nearest(std::span<const double> distances, double weight, Scratch& scratch) const;
  std::vector<double> conditional(Variable i, std::span<const Value> values, Variable c) const;
  double difference(std::span<const double> p, std::span<const double> q) const;

  const Dataset& data_;
  DistanceOptions options_;
  PairCounts counts_;
  std::vector<std::size_t> offsets_;       // of the variables' values side by side
  std::vector<double> probabilities_;      // [offset(i) + a][offset(c) + h] = P(c = h | i = a)
  std::vector<std::vector<Value>> codes_;  // by variable
  std::vector<Group> groups_;
};

inline FeatureDistance::FeatureDistance(const Dataset& data, const DistanceOptions& options,
                                        const Execution& execution)
    : data_(data),
      options_(options),
      counts_(data, execution),
      offsets_(value_offsets(data.schema())) {
  options_.check();
  for (Variable v = 0; v < data.n_variables(); ++v) codes_.push_back(data.columns().codes(v));
  make_groups();
  if (options_.kind == DistanceKind::hamming) return;
  const std::size_t n_values = offsets_.back();
  probabilities_.resize(n_values * n_values);
  parallel_for(data.n_variables(), execution, [&](std::size_t v) {
    const auto i = static_cast<Variable>(v);
    for (Value a = 0; a < data.schema().cardinality(i); ++a)
      for (Variable c = 0; c < data.n_variables(); ++c) {
        if (c == i) continue;
        const auto p = conditional(i, {&a, 1}, c);
        std::ranges::copy(
            p, probabilities_.begin() +
                   static_cast<std::ptrdiff_t>((offsets_[i] + a) * n_values + offsets_[c]));
      }
  });
  execution.throw_if_stopped();
}

inline void FeatureDistance::make_groups() {
  for (Variable v = 0; v < data_.n_variables(); ++v) {
    const std::size_t cardinality = data_.schema().cardinality(v);
    if (groups_.empty() || groups_.back().n_codes * cardinality > kCombinations) {
      groups_.emplace_back();
      groups_.back().codes.assign(data_.n_rows(), 0);
    }
    Group& group = groups_.back();
    for (std::size_t r = 0; r < data_.n_rows(); ++r)
      group.codes[r] = static_cast<std::uint16_t>(group.codes[r] + group.n_codes * codes_[v][r]);
    group.variables.push_back(v);
    group.n_codes *= cardinality;
  }
}

// P(c = h | i takes one of the values), by h.
inline std::vector<double> FeatureDistance::conditional(Variable i, std::span<const Value> values,
                                                        Variable c) const {
  const Value n = data_.schema().cardinality(c);
  std::vector<double> p(n, 1.0);
  double total = n;
  for (const Value a : values) {
    for (Value h = 0; h < n; ++h) p[h] += counts_.count(i, a, c, h);
    total += counts_.count(i, a);
  }
  for (double& x : p) x /= total;
  return p;
}

inline double FeatureDistance::difference(std::span<const double> p,
                                          std::span<const double> q) const {
  double sum = 0;
  for (std::size_t h = 0; h < p.size(); ++h) {
    const double distance = std::abs(p[h] - q[h]);
    double term = distance;
    for (int power = 1; power < options_.power; ++power) term *= distance;
    sum += term;
  }
  return sum;
}

inline std::vector<double> FeatureDistance::terms(std::span<const Test> tests,
                                                  const ValueSets& sets, std::size_t test) const {
  const Variable i = tests[test].variable;
  const auto admitted = sets[tests[test].values];
  const bool hamming = options_.kind == DistanceKind::hamming;
  std::vector<double> result(data_.schema().cardinality(i), hamming ? 1.0 : 0.0);
  for (std::size_t other = 0; other < tests.size() && !hamming; ++other) {
    if (other == test) continue;
    const Variable c = tests[other].variable;
    const std::size_t n = data_.schema().cardinality(c);
    const auto known = [&](std::size_t a) {
      return std::span(probabilities_)
          .subspan((offsets_[i] + a) * offsets_.back() + offsets_[c], n);
    };
    std::vector<double> of_set;
    if (admitted.size() > 1) of_set = conditional(i, admitted, c);
    const auto own = admitted.size() > 1 ? std::span<const double>(of_set) : known(admitted[0]);
    for (std::size_t b = 0; b < result.size(); ++b) result[b] += difference(own, known(b));
  }
  for (const Value a : admitted) result[a] = 0.0;
  for (double& x : result) x = std::nearbyint(x / kUnit) * kUnit;
  return result;
}

inline std::span<const double> FeatureDistance::unmatched_distances(std::span<const Test> tests,
                                                                    const ValueSets& sets,
                                                                    Scratch& scratch) const {
  auto& distances = scratch.distances;
  distances.assign(data_.n_rows(), 0.0);
  std::size_t next = 0;
  for (const Group& group : groups_) {
    if (next == tests.size() || tests[next].variable > group.variables.back()) continue;
    // The table of the group's first variables, once for each value of the next.
    auto& table = scratch.table;
    table.assign(group.n_codes, 0.0);
    std::size_t filled = 1;
    for (const Variable v : group.variables) {
      const std::size_t n = data_.schema().cardinality(v);
      const bool tested = next < tests.size() && tests[next].variable == v;
      const auto own = tested ? terms(tests, sets, next) : std::vector<double>(n, 0.0);
      next += tested;
      for (std::size_t a = n; a-- > 0;)
        for (std::size_t k = 0; k < filled; ++k) table[a * filled + k] = table[k] + own[a];
      filled *= n;
    }
    for (std::size_t r = 0; r < distances.size(); ++r) distances[r] += table[group.codes[r]];
  }
  scratch.matched.resize(data_.columns().n_words());
  fill_bits(scratch.matched, data_.n_rows());
  for (const Test test : tests)
    data_.columns().intersect(test.variable, sets[test.values], scratch.matched);
  for_each_bit(scratch.matched,
               [&](std::size_t r) { distances[r] = std::numeric_limits<double>::infinity(); });
  return distances;
}

// Puts the nearest unmatched rows, of that weight or more, into scratch.order, if not all. A sample
// of the distances tells about how near that is.
inline void FeatureDistance::collect_nearest(std::span<const double> distances, double weight,
                                             Scratch& scratch) const {
  constexpr std::size_t kSample = 256, kSafety = 4;
  constexpr double kFar = std::numeric_limits<double>::infinity();
  double limit = kFar;
  const std::size_t stride = distances.size() / kSample;
  const double share = weight / data_.total_weight() * static_cast<double>(kSample);
  if (const auto place = kSafety + 2 * static_cast<std::size_t>(std::min(share, 1e6));
      stride > 1 && place < kSample / 2) {
    scratch.sample.clear();
    for (std::size_t i = 0; i < kSample; ++i) scratch.sample.push_back(distances[i * stride]);
    const auto nth = scratch.sample.begin() + static_cast<std::ptrdiff_t>(place);
    std::nth_element(scratch.sample.begin(), nth, scratch.sample.end());
    limit = *nth;
  }
  const auto collect = [&](auto is_near) {
    double found = 0;
    scratch.order.clear();
    for (Row r = 0; r < distances.size(); ++r)
      if (is_near(distances[r])) {
        scratch.order.emplace_back(distances[r], r);
        found += data_.weights()[r];
      }
    return found;
  };
  if (limit == kFar || collect([limit](double x) { return x <= limit; }) < weight)
    collect([](double x) { return x < kFar; });
}

inline std::vector<std::uint8_t> FeatureDistance::first_failures(std::span<const Test> tests,
                                                                 const ValueSets& sets,
                                                                 std::span<const double> ks,
                                                                 Scratch& scratch) const {
  const auto distances = unmatched_distances(tests, sets, scratch);
  auto& order = scratch.order;
  collect_nearest(distances, ks.back(), scratch);
  std::vector<std::uint8_t> failures(tests.size(), static_cast<std::uint8_t>(ks.size()));
  std::size_t sorted = 0, k = 0;
  double weight = 0;  // of the rows that are nearer
  for (std::size_t n = 0; n < order.size(); ++n) {
    while (k < ks.size() && weight >= ks[k]) ++k;
    if (k == ks.size()) break;
    if (n == sorted) {  // sort as many more as are likely to be needed
      const std::size_t end = std::min(order.size(), std::max<std::size_t>(64, 2 * sorted));
      const auto from = order.begin() + static_cast<std::ptrdiff_t>(sorted),
                 to = order.begin() + static_cast<std::ptrdiff_t>(end);
      if (to != order.end()) std::nth_element(from, to, order.end());
      std::sort(from, to);
      sorted = end;
    }
    const Row row = order[n].second;
    weight += data_.weights()[row];
    for (std::size_t i = 0; i < tests.size(); ++i) {
      if (failures[i] <= k) continue;
      const auto admitted = sets[tests[i].values];
      if (!std::ranges::binary_search(admitted, codes_[tests[i].variable][row]))
        failures[i] = static_cast<std::uint8_t>(k);
    }
  }
  return failures;
}

}  // namespace feldspar
