// Conjunctions within the cliques of a graph: all "X_i takes its non-zero value v" over two or more
// variables that are joined to each other, and that hold somewhere in the data.
//
// With all values but the first of each variable, and all subsets of a clique, these features can
// say whatever a potential of the clique can. They come length by length, in lexicographic order.
// Cost: an intersection of packed rows for each, and for each that holds nowhere.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
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
#include <feldspar/learn/edges.hpp>

namespace feldspar {

struct CliqueOptions {
  int max_length = 3;          // most variables in a conjunction
  double min_support = 1;      // least weight of the rows on which one holds
  std::size_t most = 1000000;  // more conjunctions are an error

  void check() const {
    require(max_length >= 2, "max_length must be at least 2, got ", max_length);
    require(min_support > 0, "min_support must be positive, got ", min_support);
  }
};

namespace detail {

class CliqueSearch {
 public:
  CliqueSearch(const Dataset& data, std::span<const Edge> edges, const CliqueOptions& options,
               const Execution& execution)
      : data_(data),
        counter_(data),
        options_(options),
        execution_(execution),
        later_(data.n_variables()),
        builder_(data.schema()) {
    for (const Edge& edge : edges) {
      require(edge.first < edge.second && edge.second < data.n_variables(), "edges: ", edge.first,
              " - ", edge.second, " is none of ", data.n_variables(), " variables");
      later_[edge.first].push_back(edge.second);
    }
    for (auto& later : later_) std::ranges::sort(later);
  }

  FeatureSet run() && {
    std::vector<Word> all(data_.columns().n_words());
    fill_bits(all, data_.n_rows());
    std::vector<Variable> variables(data_.n_variables());
    for (Variable v = 0; v < data_.n_variables(); ++v) variables[v] = v;
    for (length_ = 2; length_ <= static_cast<std::size_t>(options_.max_length); ++length_) {
      const std::size_t before = builder_.size();
      extend(variables, all);
      if (builder_.size() == before) break;  // a part of a conjunction is one itself
    }
    return std::move(builder_).finish();
  }

 private:
  // `next`: the variables that may follow, all of them joined to those that are in.
  void extend(std::span<const Variable> next, std::span<const Word> rows) {
    if (variables_.size() == length_) {
      require(builder_.size() < options_.most, "cliques: more than ", options_.most,
              " conjunctions; a smaller alpha, a smaller max_length or a larger min_support "
              "would give fewer");
      builder_.add(variables_, values_);
      return;
    }
    execution_.poll_or_throw();
    std::vector<Word> matched;
    std::vector<Variable> common;
    for (const Variable v : next) {
      common.clear();
      std::ranges::set_intersection(next, later_[v], std::back_inserter(common));
      if (variables_.size() + 1 + common.size() < length_) continue;
      for (Value value = 1; value < data_.schema().cardinality(v); ++value) {
        matched.assign(rows.begin(), rows.end());
        data_.columns().intersect(v, {&value, 1}, matched);
        if (counter_.count(matched) < options_.min_support) continue;
        variables_.push_back(v);
        values_.push_back(value);
        extend(common, matched);
        variables_.pop_back();
        values_.pop_back();
      }
    }
  }

  const Dataset& data_;
  WeightedCounter counter_;
  const CliqueOptions& options_;
  const Execution& execution_;
  std::vector<std::vector<Variable>> later_;  // by variable: its neighbours after it
  FeatureSetBuilder builder_;
  std::size_t length_ = 0;
  std::vector<Variable> variables_;
  std::vector<Value> values_;
};

}  // namespace detail

inline FeatureSet clique_conjunctions(const Dataset& data, std::span<const Edge> edges,
                                      const CliqueOptions& options,
                                      const Execution& execution = {}) {
  options.check();
  return detail::CliqueSearch(data, edges, options, execution).run();
}

}  // namespace feldspar
