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

#include <cstdint>
#include <span>
#include <vector>

#include <feldspar/base/bits.hpp>
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
      : entry_cost_(entry_cost), max_group_(max_group), current_(n_rows, 0) {}

  // The next context, numbered by the caller, and the rows on which it holds.
  void add(std::uint32_t context, std::span<const Word> rows) {
    members_.clear();
    for_each_bit(rows, [&](std::size_t r) { members_.push_back(static_cast<Row>(r)); });
    const Count count = count_patterns();
    if (count.fresh == 0) return;  // holds nowhere
    const bool fits = table_.n_entries() - group_begin_ + count.fresh <= max_group_;
    if (!touched_.empty() &&
        !(fits && static_cast<double>(count.saved) >= entry_cost_ * (count.fresh - 1)))
      close_group();
    extend(context);
  }

  PatternTable finish() && {
    if (!touched_.empty()) close_group();
    return std::move(table_);
  }

 private:
  struct Count {
    std::size_t saved = 0;    // rows that have a pattern in the open group already
    std::uint32_t fresh = 0;  // patterns that would be new
  };

  // What became of an entry when it was last met.
  struct Meeting {
    std::uint32_t round = 0;
    Entry child = 0;  // made from the entry by the context of that round
  };

  void open_round() {
    ++round_;
    meetings_.resize(table_.n_entries());  // those that a round makes it does not meet
  }

  // Whether it is the first time in this round.
  bool meet(Entry e) {
    const bool first = meetings_[e].round != round_;
    meetings_[e].round = round_;
    return first;
  }

  Count count_patterns() {
    open_round();
    Count count;
    for (const Row r : members_) {
      const Entry e = current_[r];
      count.saved += e != 0;
      count.fresh += meet(e);
    }
    return count;
  }

  void extend(std::uint32_t context) {
    open_round();
    for (const Row r : members_) {
      const Entry e = current_[r];
      if (meet(e)) {
        meetings_[e].child = static_cast<Entry>(table_.n_entries());
        table_.parent.push_back(e);
        table_.context.push_back(context);
      }
      if (e == 0) touched_.push_back(r);
      current_[r] = meetings_[e].child;
    }
  }

  void close_group() {
    for (const Row r : touched_) {
      table_.rows.push_back(r);
      table_.entries.push_back(current_[r]);
      current_[r] = 0;
    }
    touched_.clear();
    group_begin_ = table_.n_entries();
    table_.group_end.push_back(static_cast<Entry>(table_.n_entries()));
    table_.lookup_end.push_back(table_.rows.size());
  }

  double entry_cost_;
  std::size_t max_group_;
  std::vector<Entry> current_;  // by row: its pattern in the open group
  std::vector<Row> touched_;    // rows with a pattern in the open group
  std::vector<Row> members_;    // rows of the context at hand
  std::vector<Meeting> meetings_;
  std::uint32_t round_ = 0;
  std::size_t group_begin_ = 1;
  PatternTable table_;
};

}  // namespace feldspar
