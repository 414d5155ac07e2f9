// All conjunctions of "X_i takes its non-zero value v" over up to `order` variables that hold
// on at least `min_support` of the data's weight. For binary data these are the positive
// conjunctions X_i = 1 & X_j = 1 & ... that all pairwise and many higher-order models are made of.
//
// Features come length by length, in lexicographic order. With a positive `min_support` a
// conjunction is extended only where it has the support (a part of a conjunction holds wherever the
// whole does). Cost: one intersection of packed rows per candidate.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/counts.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/feature/feature_set.hpp>

namespace feldspar {

struct ConjunctionOptions {
  int order = 2;           // most variables in a feature
  double min_support = 0;  // least weight of the rows on which a feature holds
  int supported_from = 1;  // shortest length to which min_support applies

  void check() const {
    require(order >= 1, "order must be at least 1, got ", order);
    require(min_support >= 0, "min_support must not be negative, got ", min_support);
    require(supported_from >= 1, "supported_from must be at least 1, got ", supported_from);
  }
};

namespace detail {

// Depth-first over sets of tests in ascending variable order, to one fixed length: no set comes
// twice, and each is in canonical form.
class ConjunctionSearch {
 public:
  ConjunctionSearch(const Dataset& data, const ConjunctionOptions& options,
                    const Execution& execution, FeatureSetBuilder& builder)
      : data_(data), counter_(data), options_(options), execution_(execution), builder_(builder) {}

  void run(std::size_t length) {
    length_ = length;
    std::vector<Word> all(data_.columns().n_words());
    fill_bits(all, data_.n_rows());
    extend(0, all);
  }

 private:
  bool wants_support(std::size_t length) const noexcept {
    return options_.min_support > 0 && length >= static_cast<std::size_t>(options_.supported_from);
  }

  void extend(Variable from, std::span<const Word> rows) {
    if (tests_.size() == length_) {
      builder_.append_new(tests_);
      return;
    }
    execution_.poll_or_throw();
    std::vector<Word> matched(rows.size());
    for (Variable v = from; v < data_.n_variables(); ++v)
      for (Value value = 1; value < data_.schema().cardinality(v); ++value) {
        tests_.push_back({v, value});  // {value} has number value
        matched.assign(rows.begin(), rows.end());
        data_.columns().intersect(v, {&value, 1}, matched);
        if (!wants_support(tests_.size()) || counter_.count(matched) >= options_.min_support)
          extend(v + 1, matched);
        tests_.pop_back();
      }
  }

  const Dataset& data_;
  WeightedCounter counter_;
  const ConjunctionOptions& options_;
  const Execution& execution_;
  FeatureSetBuilder& builder_;
  std::size_t length_ = 0;
  std::vector<Test> tests_;
};

}  // namespace detail

inline FeatureSet enumerate_conjunctions(const Dataset& data, const ConjunctionOptions& options,
                                         const Execution& execution = {}) {
  options.check();
  FeatureSetBuilder builder(data.schema());
  detail::ConjunctionSearch search(data, options, execution, builder);
  const auto longest =
      std::min<std::size_t>(static_cast<std::size_t>(options.order), data.n_variables());
  for (std::size_t length = 1; length <= longest; ++length) search.run(length);
  return std::move(builder).finish();
}

}  // namespace feldspar
