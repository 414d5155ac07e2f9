// The conditional distribution of every hidden variable, in a form to be read thousands of times.
//
// P(X_h = a | the other hidden variables) is proportional to exp(score(h, a)), the sum of the
// weights of the parts (hidden_model.hpp) that admit a and whose other tests, their *context*,
// hold. Two ways lead to the sum:
//
// - Tables. The contexts of h are gathered into a few groups that look at few variables each; all
//   states of a group's variables have their sum in a table, and the state's place in the table is
//   kept with the chain: an index of bits, of which a change of a variable flips some. A score is then
//   one lookup a group, however many parts there are. Where one group is enough, the table holds
//   probabilities outright.
// - Counters, for parts too long for a table. Each counts its unsatisfied tests and remembers which
//   they are by their exclusive or. A change of a variable touches the parts it is in, and scores
//   only where a part holds, or is one short of it, before or after the change.
//
// What goes where follows from sizes and from how often scores will be read: making the tables must
// cost less than reading them. Results do not depend on it but for rounding.
//
// Made once for a row of evidence. Chains (chains.hpp) keeps the states and reads the scores.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/infer/context_groups.hpp>
#include <feldspar/infer/hidden_model.hpp>

namespace feldspar {

struct ScoreOptions {
  std::size_t visits = 10000;  // how often each variable's scores will be read, in all chains
  bool probabilities = true;   // whether a lone table may hold probabilities instead of scores
  int max_table_bits = 10;     // tables have at most 2^this entries; 0: counters only
};

// Scores to probabilities, in place.
inline void normalize_scores(std::span<double> scores) noexcept {
  const double top = *std::ranges::max_element(scores);
  double total = 0;
  for (double& s : scores) total += s = std::exp(s - top);
  for (double& s : scores) s /= total;
}

class ConditionalScores {
 public:
  // One hidden variable. Binary variables have one number, score(h, 1) - score(h, 0), or the
  // probability of value 1; others have one for each value.
  struct Local {
    std::size_t first_table = 0, n_tables = 0;
    std::size_t width = 0;        // numbers of an entry
    std::size_t wide_offset = 0;  // in Chains' sums of counted parts
    double unary_margin = 0;      // binary: unary score of value 1 less that of value 0
    Value cardinality = 1;
    bool has_probabilities = false;  // the only table does
    bool is_counted = false;         // some part is kept by counters
    bool is_isolated = false;        // in no part at all
  };
  struct Table {
    std::size_t offset;  // of its entries
    std::size_t slot;    // of its index within a chain
  };
  // What a flipped bit of a variable's code does to the indexes, four of them to the word.
  struct Flip {
    std::uint32_t word;
    Word mask;
  };
  struct CountedTest {
    std::uint32_t variable;
    ValueSetId values;
  };
  struct Occurrence {
    std::uint32_t part;      // a counted part
    std::uint32_t position;  // of the test in it
    std::int32_t only;       // the admitted value, or kSeveral
  };
  static constexpr std::int32_t kSeveral = -1;
  static constexpr std::size_t kSlotsPerWord = sizeof(Word) / sizeof(std::uint16_t);

  ConditionalScores(const FeatureSet& features, const HiddenModel& model,
                    const ScoreOptions& options);

  std::size_t n_variables() const noexcept { return locals_.size(); }
  const Local& local(std::size_t h) const noexcept { return locals_[h]; }
  std::span<const Table> tables(const Local& local) const noexcept {
    return {tables_.data() + local.first_table, local.n_tables};
  }
  const double* entries() const noexcept { return entries_.data(); }
  std::size_t n_entries() const noexcept { return entries_.size(); }
  std::span<const double> unary(std::size_t h) const noexcept {
    return {unary_.data() + unary_offsets_[h], locals_[h].cardinality};
  }
  std::span<const Flip> flips(std::size_t h, std::size_t bit) const noexcept {
    const std::size_t plane = first_plane_[h] + bit;
    return {flips_.data() + flip_begin_[plane], flip_begin_[plane + 1] - flip_begin_[plane]};
  }
  std::size_t n_words() const noexcept { return n_words_; }  // of a chain's indexes

  std::size_t n_counted() const noexcept { return counted_weights_.size(); }
  double counted_weight(std::size_t part) const noexcept { return counted_weights_[part]; }
  std::span<const CountedTest> counted_tests(std::size_t part) const noexcept {
    return {counted_tests_.data() + counted_begin_[part],
            counted_begin_[part + 1] - counted_begin_[part]};
  }
  std::span<const Occurrence> occurrences(std::size_t h) const noexcept {
    return {occurrences_.data() + occurrence_begin_[h],
            occurrence_begin_[h + 1] - occurrence_begin_[h]};
  }
  std::size_t n_wide_numbers() const noexcept { return n_wide_numbers_; }
  const FeatureSet& features() const noexcept { return *features_; }

 private:
  static constexpr std::size_t kMostEntries = std::size_t{1} << 22;

  int bits(std::size_t h) const noexcept { return code_bits(locals_[h].cardinality); }
  void describe_variables(const HiddenModel& model);
  void choose_limits(const HiddenModel& model, const ScoreOptions& options);
  bool build_tables(const HiddenModel& model, const GroupLimits& limits, std::size_t most_entries);
  bool is_counted(std::span<const Test> tests, const GroupLimits& limits) const noexcept;
  void list_tabulated(const HiddenModel& model, const GroupLimits& limits);
  void make_table(std::size_t h, const ContextGroups& groups, std::uint32_t group,
                  const HiddenModel& model);
  void add_context(std::size_t h, const WeightedPart& part, std::size_t offset, Word all_bits);
  void make_probabilities(std::size_t h);
  void merge_flips();
  void build_counters(const HiddenModel& model, const GroupLimits& limits);

  const FeatureSet* features_;
  std::vector<Local> locals_;
  std::vector<double> unary_;
  std::vector<std::size_t> unary_offsets_;
  std::vector<std::size_t> first_plane_{0};  // by variable, plus the end: bits of codes
  bool allow_probabilities_;

  std::vector<Table> tables_;
  std::vector<double> entries_;
  std::size_t n_slots_ = 0, n_words_ = 0;
  std::vector<std::size_t> flip_begin_;
  std::vector<Flip> flips_;

  std::vector<double> counted_weights_;
  std::vector<std::size_t> counted_begin_{0};
  std::vector<CountedTest> counted_tests_;
  std::vector<std::size_t> occurrence_begin_;
  std::vector<Occurrence> occurrences_;
  std::size_t n_wide_numbers_ = 0;

  // Only while tables are made.
  struct SlotBit {
    std::uint32_t plane, slot, bit;
  };
  std::vector<SlotBit> slot_bits_;
  std::vector<std::size_t> tabulated_begin_;  // by variable: its parts that go into tables
  std::vector<std::uint32_t> tabulated_;
  std::vector<std::uint32_t> shift_;  // by variable: its first bit in the table that is made
  std::vector<std::size_t> patterns_, next_patterns_;
};

inline ConditionalScores::ConditionalScores(const FeatureSet& features, const HiddenModel& model,
                                            const ScoreOptions& options)
    : features_(&features), unary_(model.unary), allow_probabilities_(options.probabilities) {
  unary_offsets_ = value_offsets(features.schema());
  describe_variables(model);
  choose_limits(model, options);
  merge_flips();
}

inline void ConditionalScores::describe_variables(const HiddenModel& model) {
  const auto isolated = isolated_variables(*features_, model);
  locals_.resize(features_->schema().n_variables());
  for (std::size_t h = 0; h < locals_.size(); ++h) {
    Local& local = locals_[h];
    local.cardinality = features_->schema().cardinalities()[h];
    local.width = local.cardinality == 2 ? 1 : local.cardinality;
    local.is_isolated = isolated[h];
    if (local.cardinality == 2) local.unary_margin = unary(h)[1] - unary(h)[0];
    first_plane_.push_back(first_plane_.back() + static_cast<std::size_t>(bits(h)));
  }
  shift_.assign(locals_.size(), 0);
}

// The largest tables that are worth their making.
inline void ConditionalScores::choose_limits(const HiddenModel& model,
                                             const ScoreOptions& options) {
  const int affordable = static_cast<int>(std::bit_width(options.visits / 8)) - 1;
  const int most = std::clamp(affordable, 0, options.max_table_bits);
  const std::size_t most_entries =
      std::min(kMostEntries, options.visits / 4 * std::max<std::size_t>(1, n_variables()));
  GroupLimits limits{most, std::min(most, 8)};
  while (!build_tables(model, limits, most_entries)) {
    limits.lone_bits = limits.group_bits = std::max(0, std::min(limits.group_bits, 8) - 2);
  }
  build_counters(model, limits);
}

inline bool ConditionalScores::is_counted(std::span<const Test> tests,
                                          const GroupLimits& limits) const noexcept {
  int total = 0, least = 64;
  for (const Test test : tests) {
    total += bits(test.variable);
    least = std::min(least, bits(test.variable));
  }
  return total - least > limits.lone_bits;
}

// By variable, the parts that tables take care of.
inline void ConditionalScores::list_tabulated(const HiddenModel& model, const GroupLimits& limits) {
  std::vector<bool> counted(model.parts.size());
  tabulated_begin_.assign(n_variables() + 1, 0);
  for (std::size_t p = 0; p < model.parts.size(); ++p) {
    const auto tests = (*features_)[model.parts[p].part];
    counted[p] = is_counted(tests, limits);
    for (const Test test : tests) {
      if (counted[p])
        locals_[test.variable].is_counted = true;
      else
        ++tabulated_begin_[test.variable + 1];
    }
  }
  std::partial_sum(tabulated_begin_.begin(), tabulated_begin_.end(), tabulated_begin_.begin());
  tabulated_.resize(tabulated_begin_.back());
  auto next = tabulated_begin_;
  for (std::size_t p = 0; p < model.parts.size(); ++p)
    if (!counted[p])
      for (const Test test : (*features_)[model.parts[p].part])
        tabulated_[next[test.variable]++] = static_cast<std::uint32_t>(p);
}

// False, with nothing of use made, if the tables would have more than `most_entries`; not for limits
// of no bits at all.
inline bool ConditionalScores::build_tables(const HiddenModel& model, const GroupLimits& limits,
                                            std::size_t most_entries) {
  tables_.clear();
  entries_.clear();
  slot_bits_.clear();
  n_slots_ = 0;
  for (Local& local : locals_) local.is_counted = local.has_probabilities = false;
  list_tabulated(model, limits);
  ContextGroups groups(*features_);
  for (Variable h = 0; h < n_variables(); ++h) {
    const std::size_t first = tabulated_begin_[h], last = tabulated_begin_[h + 1];
    groups.gather(model, std::span(tabulated_).subspan(first, last - first), h);
    Local& local = locals_[h];
    const bool lone_probability = allow_probabilities_ && !local.is_counted;
    const std::size_t n_groups =
        groups.contexts().empty() && !lone_probability ? 0 : groups.group(limits);
    local.first_table = tables_.size();
    local.n_tables = n_groups;
    for (std::uint32_t g = 0; g < n_groups; ++g) make_table(h, groups, g, model);
    if (lone_probability && n_groups == 1) make_probabilities(h);
    if (limits.lone_bits > 0 && entries_.size() > most_entries) return false;
  }
  return true;
}

inline void ConditionalScores::make_table(std::size_t h, const ContextGroups& groups,
                                          std::uint32_t group, const HiddenModel& model) {
  const std::size_t slot = n_slots_++, offset = entries_.size();
  std::uint32_t n_bits = 0;
  for (const Variable u : groups.blanket()) {
    if (!groups.looks_at(group, u)) continue;
    shift_[u] = n_bits;
    for (int bit = 0; bit < bits(u); ++bit)
      slot_bits_.push_back(
          {static_cast<std::uint32_t>(first_plane_[u]) + static_cast<std::uint32_t>(bit),
           static_cast<std::uint32_t>(slot), n_bits++});
  }
  tables_.push_back({offset, slot});
  entries_.resize(offset + (locals_[h].width << n_bits), 0.0);
  const Word all_bits = (Word{1} << n_bits) - 1;
  for (const ContextGroups::Context& context : groups.contexts())
    if (context.group == group) add_context(h, model.parts[context.part], offset, all_bits);
}

// Adds a part's weight at all entries where its context holds.
inline void ConditionalScores::add_context(std::size_t h, const WeightedPart& part,
                                           std::size_t offset, Word all_bits) {
  Word free = all_bits;
  patterns_.assign(1, 0);  // the tested bits of entries where the tests so far hold
  ValueSetId own = 0;
  for (const Test test : (*features_)[part.part]) {
    if (test.variable == h) {
      own = test.values;
      continue;
    }
    const std::uint32_t shift = shift_[test.variable];
    free &= ~(((Word{1} << bits(test.variable)) - 1) << shift);
    next_patterns_.clear();
    for (const std::size_t p : patterns_)
      for (const Value a : features_->values(test.values))
        next_patterns_.push_back(p | (std::size_t{a} << shift));
    patterns_.swap(next_patterns_);
  }
  const std::size_t width = locals_[h].width;
  double* entries = entries_.data() + offset;
  const auto admitted = features_->values(own);
  const double margin = admitted[0] == 1 ? part.weight : -part.weight;
  for (const std::size_t p : patterns_) {
    Word rest = 0;  // runs through the subsets of `free`
    do {
      if (width == 1)
        entries[p | rest] += margin;
      else
        for (const Value a : admitted) entries[(p | rest) * width + a] += part.weight;
      rest = (rest - free) & free;
    } while (rest != 0);
  }
}

// Turns the entries of h's only table into probabilities.
inline void ConditionalScores::make_probabilities(std::size_t h) {
  Local& local = locals_[h];
  local.has_probabilities = true;
  const std::span own(entries_.data() + tables_.back().offset,
                      entries_.size() - tables_.back().offset);
  for (std::size_t i = 0; i < own.size(); i += local.width) {
    if (local.width == 1) {
      own[i] = 1 / (1 + std::exp(-(own[i] + local.unary_margin)));
    } else {
      for (std::size_t a = 0; a < local.width; ++a) own[i + a] += unary(h)[a];
      normalize_scores(own.subspan(i, local.width));
    }
  }
}

// From the list of all (bit of a code, bit of an index) to words of four indexes.
inline void ConditionalScores::merge_flips() {
  n_words_ = (n_slots_ + kSlotsPerWord - 1) / kSlotsPerWord;
  std::ranges::stable_sort(slot_bits_, {}, &SlotBit::plane);
  flip_begin_.assign(first_plane_.back() + 1, 0);
  for (std::size_t i = 0; i < slot_bits_.size(); ++i) {
    const SlotBit& s = slot_bits_[i];
    std::uint16_t indexes[kSlotsPerWord] = {};
    indexes[s.slot % kSlotsPerWord] = static_cast<std::uint16_t>(1u << s.bit);
    Word mask;
    std::memcpy(&mask, indexes, sizeof mask);
    const auto word = static_cast<std::uint32_t>(s.slot / kSlotsPerWord);
    const bool same = i > 0 && slot_bits_[i - 1].plane == s.plane && flips_.back().word == word;
    if (same)
      flips_.back().mask |= mask;
    else
      flips_.push_back({word, mask});
    flip_begin_[s.plane + 1] = flips_.size();
  }
  for (std::size_t p = 1; p < flip_begin_.size(); ++p)
    flip_begin_[p] = std::max(flip_begin_[p], flip_begin_[p - 1]);
  slot_bits_ = {};
}

inline void ConditionalScores::build_counters(const HiddenModel& model, const GroupLimits& limits) {
  std::vector<std::vector<Occurrence>> lists(n_variables());
  for (const WeightedPart& part : model.parts) {
    const auto tests = (*features_)[part.part];
    if (!is_counted(tests, limits)) continue;
    const auto id = static_cast<std::uint32_t>(n_counted());
    for (std::uint32_t i = 0; i < tests.size(); ++i) {
      const auto values = features_->values(tests[i].values);
      const std::int32_t only = values.size() == 1 ? std::int32_t{values[0]} : kSeveral;
      lists[tests[i].variable].push_back({id, i, only});
      counted_tests_.push_back({tests[i].variable, tests[i].values});
    }
    counted_begin_.push_back(counted_tests_.size());
    counted_weights_.push_back(part.weight);
  }
  occurrence_begin_.assign(1, 0);
  for (std::size_t h = 0; h < n_variables(); ++h) {
    occurrences_.insert(occurrences_.end(), lists[h].begin(), lists[h].end());
    occurrence_begin_.push_back(occurrences_.size());
    locals_[h].wide_offset = n_wide_numbers_;
    if (locals_[h].is_counted) n_wide_numbers_ += locals_[h].width;
  }
}

}  // namespace feldspar
