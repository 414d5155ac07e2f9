// What a network says of every variable on every row, kept up to date while features come and go.
//
// A binary variable has one number a row, the log-odds of its observed value; a variable of more
// values has a score for each of them. Adding a weight to a conjunction changes the numbers only
// where one of its contexts holds (context_rows.hpp). Searches work on this state between
// relearnings and make it anew from the network at each, so that rounding does not pile up.
//
// Cost of a change: the intersections of the contexts, and an addition for each row found.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/numeric.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/feature/context_rows.hpp>
#include <feldspar/feature/feature_set.hpp>

namespace feldspar {

class MarginState {
 public:
  // The network without features. Keeps a reference to `data`.
  explicit MarginState(const Dataset& data);

  const Dataset& data() const noexcept { return data_; }

  // The network of these features and weights, from scratch.
  void assign(const FeatureSet& features, std::span<const double> weights);

  // Adds to the weight of a conjunction; `rows` are its contexts on the data.
  void add(std::span<const Test> tests, const ValueSets& sets, const ContextRows& rows,
           double weight);

  // The pseudo-log-likelihood: a sum over rows, by weight, and variables.
  double log_likelihood() const;

  // Appends, for each of `rows`, the log-odds of "the value is in `values`" (is_in), or of "it is
  // not", whichever holds on all these rows, to `odds`.
  void gather(Variable v, std::span<const Value> values, bool is_in, std::span<const Word> rows,
              std::vector<double>& odds) const;

 private:
  Value cardinality(Variable v) const noexcept { return data_.schema().cardinality(v); }

  const Dataset& data_;
  std::vector<std::vector<double>>
      margins_;  // by variable: log-odds by row, or scores by row, value
};

inline MarginState::MarginState(const Dataset& data) : data_(data) {
  for (Variable v = 0; v < data.n_variables(); ++v) {
    const std::size_t width = cardinality(v) > 2 ? cardinality(v) : cardinality(v) - 1u;
    margins_.emplace_back(data.n_rows() * width, 0.0);
  }
}

inline void MarginState::assign(const FeatureSet& features, std::span<const double> weights) {
  for (auto& margins : margins_) std::ranges::fill(margins, 0.0);
  ContextRows rows;
  for (FeatureId j = 0; j < features.size(); ++j) {
    rows.find(features[j], features.value_sets(), data_.columns());
    add(features[j], features.value_sets(), rows, weights[j]);
  }
}

inline void MarginState::add(std::span<const Test> tests, const ValueSets& sets,
                             const ContextRows& rows, double weight) {
  const auto matched = rows.matched();
  for (std::size_t i = 0; i < tests.size(); ++i) {
    const Variable v = tests[i].variable;
    const auto context = rows.context(i);
    double* margins = margins_[v].data();
    if (cardinality(v) == 2) {  // the observed value is the one admitted where the test holds
      for (std::size_t w = 0; w < context.size(); ++w)
        for (Word rest = context[w]; rest != 0; rest &= rest - 1) {
          const auto bit = static_cast<std::size_t>(std::countr_zero(rest));
          margins[w * kWordBits + bit] += (matched[w] >> bit) & 1 ? weight : -weight;
        }
    } else {
      for_each_bit(context, [&](std::size_t r) {
        for (const Value a : sets[tests[i].values]) margins[r * cardinality(v) + a] += weight;
      });
    }
  }
}

inline double MarginState::log_likelihood() const {
  double sum = 0;
  for (Variable v = 0; v < margins_.size(); ++v) {
    const auto& margins = margins_[v];
    const auto weights = data_.weights();
    double own = 0;
    if (cardinality(v) == 2) {
      for (std::size_t r = 0; r < weights.size(); ++r)
        own += weights[r] *
               (std::min(margins[r], 0.0) - log1p_unit(exp_negative(-std::abs(margins[r]))));
    } else if (cardinality(v) > 2) {
      const std::vector<Value> codes = data_.columns().codes(v);
      for (std::size_t r = 0; r < weights.size(); ++r) {
        const std::span<const double> scores(&margins[r * cardinality(v)], cardinality(v));
        const double top = *std::ranges::max_element(scores);
        double total = 0;
        for (const double score : scores) total += std::exp(score - top);
        own += weights[r] * (scores[codes[r]] - top - std::log(total));
      }
    }
    sum += own;
  }
  return sum;
}

inline void MarginState::gather(Variable v, std::span<const Value> values, bool is_in,
                                std::span<const Word> rows, std::vector<double>& odds) const {
  const double* margins = margins_[v].data();
  const std::size_t n_values = cardinality(v);
  if (n_values == 2) {
    for_each_bit(rows, [&](std::size_t r) { odds.push_back(margins[r]); });
    return;
  }
  for_each_bit(rows, [&](std::size_t r) {
    const double* scores = margins + r * n_values;
    const double top = *std::max_element(scores, scores + n_values);
    double admitted = 0, other = 0;
    for (std::size_t a = 0, next = 0; a < n_values; ++a) {
      const bool in = next < values.size() && values[next] == a;
      next += in;
      (in ? admitted : other) += std::exp(scores[a] - top);
    }
    const double log_odds = std::log(admitted) - std::log(other);
    odds.push_back(is_in ? log_odds : -log_odds);
  });
}

}  // namespace feldspar
