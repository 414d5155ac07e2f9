// All conjunctions of "X_i takes its non-zero value v" over up to `max_length` variables that hold
// on at least `min_support` of the data's weight. For binary data these are the positive
// conjunctions X_i = 1 & X_j = 1 & ... that all pairwise and many higher-order models are made of.
//
// Features come length by length, in lexicographic order. With a positive `min_support` a
// conjunction is extended only where it has the support (a part of a conjunction holds wherever the
// whole does). Cost: one intersection of packed rows per candidate.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/error.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/feature/feature_set.hpp>

namespace feldspar {

struct ConjunctionOptions {
  int max_length = 2;  // most variables in a feature
  double min_support =
      0;  // least weight of the rows where it holds; applies from min_length_for_support on
  int supported_from = 1;  // shortest length to which min_support applies

  void check() const {
    require(max_length >= 1, "order must be at least 1, got ", max_length);
    require(min_support >= 0, "min_support must not be negative, got ", min_support);
    require(supported_from >= 1, "supported_from must be at least 1, got ", supported_from);
  }
};

namespace detail {

// Depth-first over sets of tests in ascending variable order, to one fixed length.
class ConjunctionSearch {
 public:
  ConjunctionSearch(const Dataset& data, const ConjunctionOptions& options,
                    FeatureSetBuilder& builder)
      : data_(data), options_(options), builder_(builder) {}

  void run(int length) {
    length_ = length;
    std::vector<Word> all(data_.columns().n_words());
    fill_bits(all, data_.n_rows());
    extend(0, all);
  }

 private:
  bool wants_support(std::size_t length) const noexcept {
    return options_.min_support > 0 && length >= static_cast<std::size_t>(options_.supported_from);
  }

  double support(std::span<const Word> rows) const {
    double sum = 0;
    for_each_bit(rows, [&](std::size_t r) { sum += data_.weights()[r]; });
    return sum;
  }

  void extend(Variable from, std::span<const Word> rows) {
    if (variables_.size() == static_cast<std::size_t>(length_)) {
      builder_.add(variables_, values_);
      return;
    }
    std::vector<Word> matched(rows.size());
    for (Variable v = from; v < data_.n_variables(); ++v)
      for (Value value = 1; value < data_.schema().cardinality(v); ++value) {
        variables_.push_back(v);
        values_.push_back(value);
        matched.assign(rows.begin(), rows.end());
        data_.columns().intersect(v, {&value, 1}, matched);
        if (!wants_support(variables_.size()) || support(matched) >= options_.min_support)
          extend(v + 1, matched);
        variables_.pop_back();
        values_.pop_back();
      }
  }

  const Dataset& data_;
  const ConjunctionOptions& options_;
  FeatureSetBuilder& builder_;
  int length_ = 0;
  std::vector<Variable> variables_;
  std::vector<Value> values_;
};

}  // namespace detail

inline FeatureSet enumerate_conjunctions(const Dataset& data, const ConjunctionOptions& options) {
  options.check();
  FeatureSetBuilder builder(data.schema());
  detail::ConjunctionSearch search(data, options, builder);
  for (int length = 1; length <= options.max_length; ++length) search.run(length);
  return std::move(builder).finish();
}

}  // namespace feldspar
