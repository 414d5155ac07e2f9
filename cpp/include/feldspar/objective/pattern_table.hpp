// Sums over the active contexts of a row, shared between rows and between contexts.
//
// Let A be the 0/1 matrix "context c holds on row r". Learning needs A u and A' g over and over.
// Contexts come one after another and are put into groups; within a group, the set of contexts
// active on a row is a *pattern*, and rows share patterns. Patterns form a tree: a pattern is its
// parent plus one context, so
//
//   value(entry) = value(parent) + u[context]                                 one addition a pattern
//   (A u)[r]     = sum over the groups of value(r's entry in the group)       one lookup a group
//
// and backwards the same with additions turned round. For dense contexts this is the method of the
// Four Russians (about log2(rows) contexts for one lookup); for the nested and exclusive contexts
// of a decision tree a whole tree is one lookup; for sparse contexts it falls back to one lookup
// per active context.
//
// Whether a context joins the open group is decided by counting: joining costs `fresh - 1` entries
// more than opening a new group would, and saves a lookup on every row that has a pattern in this
// group already.
//
// Cost: O(active (row, context) pairs).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/simd.hpp>
#include <feldspar/base/types.hpp>

namespace feldspar {

using Entry = std::uint32_t;  // a pattern; 0 is the empty one, which is never looked up

struct PatternTable {
  // By entry. Parents come before their children; entry 0 is its own parent and has no context.
  std::vector<Entry> parent{0};
  std::vector<std::uint32_t> context{0};
  // Rows and the entries to look up for them, group after group.
  std::vector<Row> rows;
  std::vector<Entry> entries;
  // Where each group's entries and lookups end.
  std::vector<Entry> group_end;
  std::vector<std::size_t> lookup_end;

  std::size_t n_entries() const noexcept { return parent.size(); }
};

class PatternTableBuilder {
 public:
  // `entry_cost`: the cost of an entry in lookups; `max_group`: entries a group may have.
  PatternTableBuilder(std::size_t n_rows, double entry_cost, std::size_t max_group)
      : entry_cost_(entry_cost),
        max_group_(max_group),
        current_(n_rows, 0),
        touched_(n_rows + 1),
        members_(n_rows + kListBitsSpare) {}

  // The next context, numbered by the caller, and the rows on which it holds.
  void add(std::uint32_t context, std::span<const Word> rows) {
    const std::size_t saved = meet_patterns(rows);
    if (n_members_ == 0) return;  // holds nowhere
    const bool fits = table_.n_entries() - group_begin_ + fresh_.size() <= max_group_;
    const double cost = entry_cost_ * static_cast<double>(fresh_.size() - 1);
    if (n_touched_ > 0 && !(fits && static_cast<double>(saved) >= cost)) {
      close_group();
      meet_empty_pattern();
    }
    extend(context);
  }

  PatternTable finish() && {
    if (n_touched_ > 0) close_group();
    return std::move(table_);
  }

 private:
  // What becomes of an entry that was met.
  struct Meeting {
    std::uint32_t round = 0;
    Entry child = 0;  // made from the entry by the context of that round
  };

  // Looks at the patterns that the members have in the open group, and numbers those that would be
  // made of them, in the order in which they are met. Returns how many members have one already.
  std::size_t meet_patterns(std::span<const Word> rows) {
    open_round();
    const auto n_entries = static_cast<Entry>(table_.n_entries());
    n_members_ = run_kernel<ListBitsKernel>(simd_, rows.data(), rows.size(), members_.data());
    std::size_t saved = 0;
    for (const Row r : std::span(members_).first(n_members_)) {
      const Entry e = current_[r];
      saved += e != 0;
      if (meetings_[e].round == round_) continue;
      meetings_[e] = {round_, n_entries + static_cast<Entry>(fresh_.size())};
      fresh_.push_back(e);
    }
    return saved;
  }

  // The same right after a group was closed: nobody has a pattern.
  void meet_empty_pattern() {
    open_round();
    meetings_[0] = {round_, static_cast<Entry>(table_.n_entries())};
    fresh_.push_back(0);
  }

  void open_round() {
    ++round_;
    fresh_.clear();
    meetings_.resize(table_.n_entries());  // those that a round makes it does not meet
  }

  void extend(std::uint32_t context) {
    table_.parent.insert(table_.parent.end(), fresh_.begin(), fresh_.end());
    table_.context.resize(table_.n_entries(), context);
    for (std::size_t i = 0; i < n_members_; ++i) {
      const Row r = members_[i];
      const Entry e = current_[r];
      touched_[n_touched_] = r;  // overwritten by the next unless it counts: no branch to guess
      n_touched_ += e == 0;
      current_[r] = meetings_[e].child;
    }
  }

  void close_group() {
    const auto touched = std::span(touched_).first(n_touched_);
    table_.rows.insert(table_.rows.end(), touched.begin(), touched.end());
    table_.entries.resize(table_.rows.size());
    Entry* entry = table_.entries.data() + table_.entries.size() - n_touched_;
    for (const Row r : touched) *entry++ = std::exchange(current_[r], 0);
    n_touched_ = 0;
    group_begin_ = table_.n_entries();
    table_.group_end.push_back(static_cast<Entry>(table_.n_entries()));
    table_.lookup_end.push_back(table_.rows.size());
  }

  SimdLevel simd_ = simd_level();
  double entry_cost_;
  std::size_t max_group_;
  std::vector<Entry> current_;  // by row: its pattern in the open group
  std::vector<Row> touched_;    // rows with a pattern in the open group; room for one more
  std::size_t n_touched_ = 0;
  std::vector<Row> members_;  // rows of the context at hand, and room to spare
  std::size_t n_members_ = 0;
  std::vector<Entry> fresh_;       // the parents of the patterns that it would make
  std::vector<Meeting> meetings_;  // by entry
  std::uint32_t round_ = 0;
  std::size_t group_begin_ = 1;
  PatternTable table_;
};

}  // namespace feldspar
