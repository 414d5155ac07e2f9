// The contexts of one variable, indexed for A u and A' g with rows that cannot be told apart
// merged.
//
// Two examples on which the same contexts of a variable are active have the same conditional
// distribution of that variable, so only distinct activation patterns are kept, with the weight
// each value has on them. On top of that, PatternTable shares sums between patterns. Used for
// contexts that serve few variables; those that serve most are better off in a WideIndex.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include <feldspar/base/aligned.hpp>
#include <feldspar/base/hash.hpp>
#include <feldspar/base/sliced_lists.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/feature/context_table.hpp>
#include <feldspar/objective/logistic.hpp>
#include <feldspar/objective/pattern_table.hpp>

namespace feldspar {

class NarrowIndex {
 public:
  NarrowIndex() = default;

  // `contexts`: the variable's contexts, none of them empty. With `keep_rows`, pattern_of_row()
  // tells each row's pattern, for a caller that adds something of its own to the margins of single
  // rows.
  NarrowIndex(const FeatureSet& features, const ContextTable& table, const Dataset& data,
              Variable variable, std::span<const ContextId> contexts, bool keep_rows);

  std::size_t n_contexts() const noexcept { return n_contexts_; }
  std::size_t n_patterns() const noexcept { return n_patterns_; }
  std::size_t n_entries() const noexcept { return parent_.size(); }
  std::size_t n_lookups() const noexcept {
    return std::visit([](const auto& lists) { return lists.n_stored(); }, by_pattern_);
  }
  std::span<const std::uint32_t> pattern_of_row() const noexcept { return pattern_of_row_; }
  // Returns use(weights), a span of numbers: the weight of value a on pattern p is
  // weights[a * n_patterns() + p] for binary variables (planes), else weights[p * cardinality + a]
  // (rows). Mostly these are small whole numbers and kept in a byte or two each.
  template <class Use>
  auto with_value_weights(Use&& use) const {
    return std::visit([&](const auto& weights) { return use(std::span(weights)); }, value_weights_);
  }
  std::size_t bytes() const noexcept;

  // margins[p * width + k] = sum of u[c * width + k] over the contexts c active on pattern p.
  // `scratch` is resized as needed. Tables are in double precision, whatever u and du are in.
  template <class Number>
  void margins(std::span<const Number> u, std::size_t width, std::span<double> margins,
               AlignedVector<double>& scratch) const;

  // The transpose: du[c * width + k] = sum of g[p * width + k] over the patterns where c is active.
  // `g` has room for one element more than there are patterns, which is overwritten.
  template <class Number>
  void gradient(std::span<double> g, std::size_t width, std::span<Number> du,
                AlignedVector<double>& scratch) const;

 private:
  using Lists = std::variant<SlicedLists<std::uint16_t>, SlicedLists<std::uint32_t>>;

  static Lists make_lists(std::span<const std::size_t> begin, std::span<const std::uint32_t> ids,
                          std::size_t n_source) {
    if (n_source < 65535) return SlicedLists<std::uint16_t>(begin, ids, n_source);
    return SlicedLists<std::uint32_t>(begin, ids, n_source);
  }
  using Weights =
      std::variant<std::vector<std::uint8_t>, std::vector<std::uint16_t>, std::vector<double>>;

  void merge_rows(PatternTable& patterns, const Dataset& data, Variable variable, bool keep_rows);
  static Weights make_weights(std::vector<double> weights);

  std::size_t n_contexts_ = 0;
  std::size_t n_patterns_ = 0;
  // The entries that one context makes are a run, their parents distinct and in front of it.
  struct Run {
    std::uint32_t context;
    Entry end;  // the run begins where the one before ends, the first at entry 1
  };

  std::vector<Entry> parent_;  // by entry
  std::vector<Run> runs_;
  Lists by_pattern_;  // entries of each pattern
  Lists by_entry_;    // patterns of each entry
  Weights value_weights_;
  std::vector<std::uint32_t> pattern_of_row_;
};

namespace detail {

// Lists in one array: list i is ids[begin[i] .. begin[i + 1]).
struct FlatLists {
  std::vector<std::size_t> begin;
  std::vector<std::uint32_t> ids;

  std::span<const std::uint32_t> operator[](std::size_t i) const noexcept {
    return {ids.data() + begin[i], begin[i + 1] - begin[i]};
  }
};

// values[i] goes to the list keys[i]; within a list the order is kept.
inline FlatLists group_by(std::span<const std::uint32_t> keys,
                          std::span<const std::uint32_t> values, std::size_t n_lists) {
  FlatLists lists{std::vector<std::size_t>(n_lists + 1, 0),
                  std::vector<std::uint32_t>(values.size())};
  for (const std::uint32_t key : keys) ++lists.begin[key + 1];
  std::partial_sum(lists.begin.begin(), lists.begin.end(), lists.begin.begin());
  std::vector<std::size_t> next(lists.begin.begin(), lists.begin.end() - 1);
  for (std::size_t i = 0; i < keys.size(); ++i) lists.ids[next[keys[i]]++] = values[i];
  return lists;
}

// The lists that hold each id, in their order.
inline FlatLists transpose(const FlatLists& lists, std::size_t n_ids) {
  FlatLists owners{std::vector<std::size_t>(n_ids + 1, 0),
                   std::vector<std::uint32_t>(lists.ids.size())};
  for (const std::uint32_t id : lists.ids) ++owners.begin[id + 1];
  std::partial_sum(owners.begin.begin(), owners.begin.end(), owners.begin.begin());
  std::vector<std::size_t> next(owners.begin.begin(), owners.begin.end() - 1);
  for (std::size_t i = 0; i + 1 < lists.begin.size(); ++i)
    for (const std::uint32_t id : lists[i]) owners.ids[next[id]++] = static_cast<std::uint32_t>(i);
  return owners;
}

// The lists chosen, one after another.
inline FlatLists chosen_lists(const FlatLists& lists, std::span<const std::uint32_t> chosen) {
  FlatLists selected{{0}, {}};
  selected.begin.reserve(chosen.size() + 1);
  for (const std::uint32_t i : chosen)
    selected.begin.push_back(selected.begin.back() + lists[i].size());
  selected.ids.resize(selected.begin.back());
  std::uint32_t* next = selected.ids.data();
  for (const std::uint32_t i : chosen)
    for (const std::uint32_t id : lists[i]) *next++ = id;  // lists are short: no call for each
  return selected;
}

// The number of the distinct list each list is equal to.
struct DistinctLists {
  std::vector<std::uint32_t> which;  // by list
  std::vector<std::uint32_t> first;  // by distinct list: its first occurrence
};

// Numbered by first occurrence. Ids are distinct within a list.
inline DistinctLists find_distinct(const FlatLists& lists) {
  const std::size_t n = lists.begin.size() - 1;
  DistinctLists distinct;
  distinct.which.resize(n);
  // Open addressing: a place holds the number of a distinct list plus 1, or 0.
  std::vector<std::uint32_t> table(std::bit_ceil(2 * n + 1), 0);
  const std::size_t mask = table.size() - 1;
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t place = hash_set(lists[i]) & mask;
    while (table[place] != 0 &&
           !std::ranges::equal(lists[distinct.first[table[place] - 1]], lists[i]))
      place = (place + 1) & mask;
    if (table[place] == 0) {
      distinct.first.push_back(static_cast<std::uint32_t>(i));
      table[place] = static_cast<std::uint32_t>(distinct.first.size());
    }
    distinct.which[i] = table[place] - 1;
  }
  return distinct;
}

// Numbers the distinct lists anew, longest first; of one length, as before.
inline void number_by_length(const FlatLists& lists, DistinctLists& distinct) {
  const auto length = [&](std::uint32_t i) { return lists.begin[i + 1] - lists.begin[i]; };
  std::size_t longest = 0;
  for (const std::uint32_t i : distinct.first) longest = std::max(longest, length(i));
  std::vector<std::uint32_t> next(longest + 1, 0);  // by length: the next number
  for (const std::uint32_t i : distinct.first) ++next[length(i)];
  std::uint32_t taken = 0;
  for (std::size_t l = longest + 1; l-- > 0;) taken += std::exchange(next[l], taken);
  std::vector<std::uint32_t> number(distinct.first.size()), first(distinct.first.size());
  for (std::size_t d = 0; d < number.size(); ++d) {
    number[d] = next[length(distinct.first[d])]++;
    first[number[d]] = distinct.first[d];
  }
  distinct.first = std::move(first);
  for (std::uint32_t& which : distinct.which) which = number[which];
}

}  // namespace detail

inline NarrowIndex::NarrowIndex(const FeatureSet& features, const ContextTable& table,
                                const Dataset& data, Variable variable,
                                std::span<const ContextId> contexts, bool keep_rows)
    : n_contexts_(contexts.size()) {
  // An entry is written, read and scattered again where a lookup is one load each way. Measured on
  // tree features of five sets: 4 is the best or within 5 % of it, 2 and 8 cost up to 50 %.
  constexpr double kEntryCost = 4.0;
  PatternTableBuilder builder(data.n_rows(), kEntryCost, ~std::size_t{0});
  std::vector<Word> rows(data.columns().n_words());
  for (std::size_t c = 0; c < contexts.size(); ++c) {
    table.match(features, data.columns(), contexts[c], rows);
    builder.add(static_cast<std::uint32_t>(c), rows);
  }
  PatternTable patterns = std::move(builder).finish();
  merge_rows(patterns, data, variable, keep_rows);
  for (Entry e = 1; e < patterns.n_entries(); ++e) {
    if (e == 1 || patterns.context[e] != patterns.context[e - 1])
      runs_.push_back({patterns.context[e], e});
    ++runs_.back().end;
  }
  parent_ = std::move(patterns.parent);
}

// Lists are let go as soon as they have served, those of `patterns` too: all of them together are a
// multiple of what is kept.
inline void NarrowIndex::merge_rows(PatternTable& patterns, const Dataset& data, Variable variable,
                                    bool keep_rows) {
  detail::FlatLists by_row = detail::group_by(patterns.rows, patterns.entries, data.n_rows());
  patterns.rows = std::vector<Row>();
  patterns.entries = std::vector<Entry>();
  detail::DistinctLists distinct = detail::find_distinct(by_row);
  detail::number_by_length(by_row, distinct);  // then by_pattern_ needs no order of its own
  n_patterns_ = distinct.first.size();

  detail::FlatLists by_pattern = detail::chosen_lists(by_row, distinct.first);
  by_row = {};
  by_pattern_ = make_lists(by_pattern.begin, by_pattern.ids, patterns.n_entries());
  const detail::FlatLists by_entry = detail::transpose(by_pattern, patterns.n_entries());
  by_pattern = {};
  by_entry_ = make_lists(by_entry.begin, by_entry.ids, n_patterns_);

  const std::size_t cardinality = data.schema().cardinality(variable);
  const std::vector<Value> codes = data.columns().codes(variable);
  std::vector<double> weights(n_patterns_ * cardinality, 0.0);
  for (std::size_t r = 0; r < codes.size(); ++r) {
    const std::size_t p = distinct.which[r];
    const std::size_t place =
        cardinality == 2 ? codes[r] * n_patterns_ + p : p * cardinality + codes[r];
    weights[place] += data.weights()[r];
  }
  value_weights_ = make_weights(std::move(weights));
  if (keep_rows) pattern_of_row_ = std::move(distinct.which);
}

// In the smallest type that holds them all.
inline NarrowIndex::Weights NarrowIndex::make_weights(std::vector<double> weights) {
  const auto fit = [&]<class Type>(Type) {
    return std::ranges::all_of(weights, [](double w) {
      return w <= std::numeric_limits<Type>::max() && w == static_cast<Type>(w);
    });
  };
  if (fit(std::uint8_t{})) return std::vector<std::uint8_t>(weights.begin(), weights.end());
  if (fit(std::uint16_t{})) return std::vector<std::uint16_t>(weights.begin(), weights.end());
  return weights;
}

template <class Number>
void NarrowIndex::margins(std::span<const Number> u, std::size_t width, std::span<double> margins,
                          AlignedVector<double>& scratch) const {
  scratch.resize((n_entries() + 1) * width);
  double* table = scratch.data();
  std::fill_n(table, width, 0.0);
  std::fill_n(table + n_entries() * width, width, 0.0);
  Entry e = 1;
  for (const auto [context, end] : runs_) {
    if (width == 1) {
      for (const double own = u[context]; e < end; ++e) table[e] = table[parent_[e]] + own;
    } else {
      for (const Number* own = &u[context * width]; e < end; ++e)
        for (std::size_t k = 0; k < width; ++k)
          table[e * width + k] = table[parent_[e] * width + k] + own[k];
    }
  }
  std::visit([&](const auto& lists) { lists.sum(table, width, margins.data()); }, by_pattern_);
}

template <class Number>
void NarrowIndex::gradient(std::span<double> g, std::size_t width, std::span<Number> du,
                           AlignedVector<double>& scratch) const {
  std::fill_n(g.begin() + static_cast<std::ptrdiff_t>(n_patterns_ * width), width, 0.0);
  scratch.resize(n_entries() * width);
  double* table = scratch.data();
  std::visit([&](const auto& lists) { lists.sum(g.data(), width, table); }, by_entry_);
  std::ranges::fill(du, Number{0});
  for (std::size_t r = runs_.size(); r-- > 0;) {
    const Entry first = r == 0 ? 1 : runs_[r - 1].end, end = runs_[r].end;
    Number* own = &du[runs_[r].context * width];
    if (width == 1) {
      own[0] = static_cast<Number>(detail::add_up(table + first, end - first));
      for (Entry e = first; e < end; ++e) table[parent_[e]] += table[e];
    } else {
      for (Entry e = first; e < end; ++e)
        for (std::size_t k = 0; k < width; ++k) {
          own[k] += static_cast<Number>(table[e * width + k]);
          table[parent_[e] * width + k] += table[e * width + k];
        }
    }
  }
}

inline std::size_t NarrowIndex::bytes() const noexcept {
  const auto lists = [](const Lists& l) {
    return std::visit([](const auto& s) { return s.bytes(); }, l);
  };
  return lists(by_pattern_) + lists(by_entry_) +
         (parent_.size() + pattern_of_row_.size()) * sizeof(std::uint32_t) +
         runs_.size() * sizeof(Run) +
         with_value_weights([](auto weights) { return weights.size_bytes(); });
}

}  // namespace feldspar
