// Features and sets of them.
//
// A feature holds on a row when each of its tests does; a test "X_v in S" looks at one variable. The
// canonical form has its tests in the order of the variables, no variable twice, and no S that is
// empty or everything; equal forms are one feature. A FeatureSet keeps distinct features, in the
// order in which they first came, in flat arrays: eight bytes a test. Value sets are interned; the
// set {v} has number v, so with binary variables a test is simply (variable, value).
//
// A FeatureSetBuilder makes one: it canonicalises, finds duplicates in O(tests) expected time, and
// says of each conjunction what became of it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/hash.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/schema.hpp>

namespace feldspar {

using ValueSetId = std::uint32_t;

// One test of a feature in a FeatureSet.
struct Test {
  Variable variable;
  ValueSetId values;

  friend bool operator==(const Test&, const Test&) = default;
};

inline std::uint64_t hash_tests(std::span<const Test> tests) noexcept {
  std::uint64_t h = tests.size();
  for (const Test t : tests)
    h = combine_hash(h, (static_cast<std::uint64_t>(t.variable) << 32) | t.values);
  return h;
}

// The value sets that a FeatureSet's tests refer to. Numbers below `n_singletons` are {0}, {1}, ...
class ValueSets {
 public:
  explicit ValueSets(Value n_singletons = 0) {
    for (Value v = 0; v < n_singletons; ++v) append({&v, 1});
  }

  std::span<const Value> operator[](ValueSetId id) const noexcept {
    return {values_.data() + begin_[id], begin_[id + 1] - begin_[id]};
  }
  std::size_t size() const noexcept { return begin_.size() - 1; }

  void append(std::span<const Value> values) {
    values_.insert(values_.end(), values.begin(), values.end());
    begin_.push_back(values_.size());
  }

 private:
  std::vector<std::size_t> begin_{0};
  std::vector<Value> values_;
};

class FeatureSet {
 public:
  FeatureSet() = default;

  const Schema& schema() const noexcept { return schema_; }
  std::size_t size() const noexcept { return begin_.size() - 1; }
  std::size_t n_tests() const noexcept { return tests_.size(); }

  std::span<const Test> operator[](FeatureId id) const noexcept {
    return {tests_.data() + begin_[id], begin_[id + 1] - begin_[id]};
  }
  // All tests in one array; those of feature j start at first_test(j).
  std::span<const Test> tests() const noexcept { return tests_; }
  std::size_t first_test(FeatureId id) const noexcept { return begin_[id]; }

  std::span<const Value> values(ValueSetId id) const noexcept { return sets_[id]; }
  bool admits(ValueSetId id, Value value) const noexcept {
    const auto admitted = sets_[id];
    return admitted.size() == 1 ? admitted[0] == value
                                : std::ranges::binary_search(admitted, value);
  }
  const ValueSets& value_sets() const noexcept { return sets_; }
  std::size_t n_value_sets() const noexcept { return sets_.size(); }

 private:
  friend class FeatureSetBuilder;

  Schema schema_;
  std::vector<std::size_t> begin_{0};
  std::vector<Test> tests_;
  ValueSets sets_;
};

// What became of a conjunction handed to a FeatureSetBuilder.
enum class Added { new_feature, duplicate, always_true, never_true };

struct AddResult {
  Added outcome;
  FeatureId feature;  // meaningful for new_feature and duplicate
};

class FeatureSetBuilder {
 public:
  explicit FeatureSetBuilder(Schema schema) {
    Value most = 0;
    for (const Value c : schema.cardinalities()) most = std::max(most, c);
    set_.schema_ = std::move(schema);
    set_.sets_ = ValueSets(most);
    table_.assign(16, kEmpty);
  }

  // The conjunction of "variables[i] takes one of the values in values[value_begin[i],
  // value_begin[i+1])". A variable may come twice: the sets are intersected.
  AddResult add(std::span<const Variable> variables, std::span<const std::size_t> value_begin,
                std::span<const Value> values);

  // The conjunction of "variables[i] = values[i]".
  AddResult add(std::span<const Variable> variables, std::span<const Value> values);

  // The same tests as an existing feature of another set over the same schema.
  AddResult add(const FeatureSet& other, FeatureId feature);

  // For those who make many conjunctions of few sets: the number of a set, its values ascending, and
  // a conjunction of such in canonical form, taken as it is.
  ValueSetId intern(std::span<const Value> values);
  AddResult add_canonical(std::span<const Test> tests);

  // A conjunction in canonical form that is no duplicate, as the caller knows. Nothing is looked up:
  // in millions of features that would be a wait for memory each.
  FeatureId append_new(std::span<const Test> tests);

  std::size_t size() const noexcept { return set_.size(); }
  FeatureSet finish() && { return std::move(set_); }

 private:
  static constexpr FeatureId kEmpty = ~FeatureId{0};

  void check_variable(Variable v) const {
    require(v < set_.schema_.n_variables(), "variable ", v, " does not exist; there are ",
            set_.schema_.n_variables());
  }
  void check_value(Variable v, Value value) const {
    require(value < set_.schema_.cardinality(v), "variable ", v, " has no value ", value,
            "; expected 0 to ", set_.schema_.cardinality(v) - 1);
  }
  bool intersect_repeated();
  AddResult commit();
  void fill_table();

  FeatureSet set_;
  std::map<std::vector<Value>, ValueSetId> larger_sets_;  // ids of sets with more than one value
  std::vector<FeatureId> table_;                          // open addressing, size a power of two
  std::size_t n_in_table_ = 0;                            // features that can be looked up
  std::vector<Test> scratch_;                             // the conjunction being added
};

inline ValueSetId FeatureSetBuilder::intern(std::span<const Value> values) {
  if (values.size() == 1) return values[0];
  const auto [place, fresh] = larger_sets_.try_emplace({values.begin(), values.end()},
                                                       static_cast<ValueSetId>(set_.sets_.size()));
  if (fresh) set_.sets_.append(values);
  return place->second;
}

inline AddResult FeatureSetBuilder::add(std::span<const Variable> variables,
                                        std::span<const std::size_t> value_begin,
                                        std::span<const Value> values) {
  scratch_.clear();
  std::vector<Value> sorted;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const Variable v = variables[i];
    check_variable(v);
    sorted.assign(values.begin() + static_cast<std::ptrdiff_t>(value_begin[i]),
                  values.begin() + static_cast<std::ptrdiff_t>(value_begin[i + 1]));
    for (const Value value : sorted) check_value(v, value);
    std::ranges::sort(sorted);
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    if (sorted.empty()) return {Added::never_true, kEmpty};
    scratch_.push_back({v, intern(sorted)});
  }
  return commit();
}

inline AddResult FeatureSetBuilder::add(std::span<const Variable> variables,
                                        std::span<const Value> values) {
  scratch_.clear();
  for (std::size_t i = 0; i < variables.size(); ++i) {
    check_variable(variables[i]);
    check_value(variables[i], values[i]);
    scratch_.push_back({variables[i], values[i]});
  }
  return commit();
}

inline AddResult FeatureSetBuilder::add(const FeatureSet& other, FeatureId feature) {
  require(other.schema() == set_.schema_, "feature sets: their schemas differ");
  scratch_.clear();
  for (const Test test : other[feature])
    scratch_.push_back({test.variable, intern(other.values(test.values))});
  return commit();
}

// Merges tests of the same variable in the sorted scratch; false if some variable is left no value.
inline bool FeatureSetBuilder::intersect_repeated() {
  std::size_t kept = 0;
  for (const Test test : scratch_) {
    if (kept == 0 || scratch_[kept - 1].variable != test.variable) {
      scratch_[kept++] = test;
      continue;
    }
    const auto left = set_.sets_[scratch_[kept - 1].values], right = set_.sets_[test.values];
    std::vector<Value> both;
    std::ranges::set_intersection(left, right, std::back_inserter(both));
    if (both.empty()) return false;
    scratch_[kept - 1].values = intern(both);
  }
  scratch_.resize(kept);
  return true;
}

inline AddResult FeatureSetBuilder::commit() {
  std::ranges::sort(scratch_, {}, &Test::variable);
  if (!intersect_repeated()) return {Added::never_true, kEmpty};
  std::erase_if(scratch_, [&](const Test t) {
    return set_.sets_[t.values].size() == set_.schema_.cardinality(t.variable);
  });
  return add_canonical(scratch_);
}

inline AddResult FeatureSetBuilder::add_canonical(std::span<const Test> tests) {
  if (tests.empty()) return {Added::always_true, kEmpty};
  if (n_in_table_ < size()) fill_table();
  const std::size_t mask = table_.size() - 1;
  std::size_t place = hash_tests(tests) & mask;
  for (; table_[place] != kEmpty; place = (place + 1) & mask)
    if (std::ranges::equal(set_[table_[place]], tests)) return {Added::duplicate, table_[place]};

  const FeatureId id = append_new(tests);
  table_[place] = id;
  n_in_table_ = size();
  if (2 * size() > table_.size()) fill_table();
  return {Added::new_feature, id};
}

inline FeatureId FeatureSetBuilder::append_new(std::span<const Test> tests) {
  require(size() < kEmpty - 1, "feature set: too many features");
  const auto id = static_cast<FeatureId>(size());
  set_.tests_.insert(set_.tests_.end(), tests.begin(), tests.end());
  set_.begin_.push_back(set_.tests_.size());
  return id;
}

// Enters all features, in a table at least twice as large.
inline void FeatureSetBuilder::fill_table() {
  table_.assign(std::bit_ceil(std::max(table_.size(), 2 * size())), kEmpty);
  const std::size_t mask = table_.size() - 1;
  for (FeatureId id = 0; id < size(); ++id) {
    std::size_t place = hash_tests(set_[id]) & mask;
    while (table_[place] != kEmpty) place = (place + 1) & mask;
    table_[place] = id;
  }
  n_in_table_ = size();
}

}  // namespace feldspar
