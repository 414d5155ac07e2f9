// Contexts that serve many variables at once: M = A U for all variables side by side.
//
// U has one row per context and one column per margin of the variables; columns are cut into tiles
// of kLanes, so that a row of margins in a tile fits into registers. Per tile, the values of the
// patterns (see PatternTable) are tabulated, kLanes numbers each; then each example adds up the
// table rows it needs. Compared with a matrix product this does no multiplications and, on dense
// data, one addition for about log2(rows) contexts. Pattern tables are worked through in blocks
// that fit into the second-level cache; the rows of U that a block needs are asked for when its turn
// comes, and are still in the cache when they are used.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <feldspar/base/aligned.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/simd.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/feature/context_table.hpp>
#include <feldspar/objective/listed_sums.hpp>
#include <feldspar/objective/logistic.hpp>
#include <feldspar/objective/pattern_table.hpp>

namespace feldspar {

// A run of rows, or of other things that are numbered.
struct Range {
  std::size_t first, last;

  std::size_t size() const noexcept { return last - first; }
};

// A run of groups: entries 1 ... n of a table of its own, the contexts that they are made of, and the
// lookups into it.
struct WideBlock {
  // Of one range of rows; rows are counted from its first.
  struct Lookups {
    ListedSums by_row;
    ListedSums by_entry;  // the other way round, where rows are few; otherwise empty
  };
  std::uint32_t first_context = 0, n_contexts = 0;
  std::vector<std::uint16_t> parent;   // by entry; entry 0 is zero
  std::vector<std::uint32_t> context;  // by entry, counted from the first; unused for entry 0
  std::vector<Lookups> lookups;        // by range

  std::size_t n_entries() const noexcept { return parent.size(); }
  std::size_t n_lookups() const noexcept {
    std::size_t n = 0;
    for (const Lookups& range : lookups) n += range.by_row.sources.size();
    return n;
  }
};

class WideIndex {
 public:
  WideIndex() = default;
  // `ranges` cut the rows, in order.
  WideIndex(const FeatureSet& features, const ContextTable& table, const Dataset& data,
            std::span<const ContextId> contexts, std::span<const Range> ranges,
            const Execution& execution = {});

  std::size_t n_contexts() const noexcept { return n_contexts_; }
  std::span<const WideBlock> blocks() const noexcept { return blocks_; }
  std::size_t n_lookups() const noexcept {
    std::size_t n = 0;
    for (const WideBlock& block : blocks_) n += block.n_lookups();
    return n;
  }
  std::size_t n_entries() const noexcept {
    std::size_t n = 0;
    for (const WideBlock& block : blocks_) n += block.n_entries();
    return n;
  }
  std::size_t bytes() const noexcept;

  // margins[i * kLanes + k] += (A U)[range's first row + i][k], for its rows. fill(first, n, u) writes
  // the n rows of U from `first` on, kLanes numbers each.
  template <class Number, class Fill>
  void add_margins(SimdLevel simd, std::size_t range, const Fill& fill, Number* margins,
                   AlignedVector<Number>& scratch) const;

  // The transpose over the same rows: du = A' g, overwritten; n_contexts x kLanes.
  template <class Number>
  void gradient(SimdLevel simd, std::size_t range, const Number* g, Number* du,
                AlignedVector<Number>& scratch) const;

 private:
  // The table of a block takes 256 KiB, and the rows of U as much again at most, contexts that hold
  // nowhere aside. Every row costs something in every block.
  static constexpr std::size_t kMaxBlockEntries = 2048;

  std::size_t n_contexts_ = 0;
  std::vector<WideBlock> blocks_;
};

namespace detail {

// Values of the patterns.
struct TabulateKernel {
  template <class Number>
  FELDSPAR_ALWAYS_INLINE void operator()(const WideBlock* block, const Number* u,
                                         Number* table) const noexcept {
    std::fill_n(table, kLanes, Number{0});
    const std::uint16_t* parent = block->parent.data();
    const std::uint32_t* context = block->context.data();
    const std::size_t n = block->n_entries();
    for (std::size_t e = 1; e < n; ++e) {
      auto row = LaneRow<Number>::load(table + parent[e] * kLanes);
      row.add(u + context[e] * kLanes);
      row.store(table + e * kLanes);
    }
  }
};

// The transpose of TabulateKernel.
struct CollectKernel {
  template <class Number>
  FELDSPAR_ALWAYS_INLINE void operator()(const WideBlock* block, Number* table,
                                         Number* du) const noexcept {
    std::fill_n(du, block->n_contexts * kLanes, Number{0});
    const std::uint16_t* parent = block->parent.data();
    const std::uint32_t* context = block->context.data();
    for (std::size_t e = block->n_entries(); e-- > 1;) {
      const auto row = LaneRow<Number>::load(table + e * kLanes);
      row.add_to(du + context[e] * kLanes);
      row.add_to(table + parent[e] * kLanes);
    }
  }
};

// Splits a pattern table at group borders into blocks of at most `max_entries` entries, which together
// have all contexts.
inline std::vector<WideBlock> cut_into_blocks(const PatternTable& patterns, std::size_t n_contexts,
                                              std::span<const Range> ranges,
                                              std::size_t max_entries) {
  std::vector<WideBlock> blocks;
  std::vector<std::uint32_t> rows;
  std::vector<std::uint16_t> entries;
  std::size_t group = 0, lookup = 0;
  std::uint32_t context = 0;
  Entry first = 1;
  while (group < patterns.group_end.size()) {
    std::size_t end = group + 1;
    while (end < patterns.group_end.size() && patterns.group_end[end] - first < max_entries) ++end;
    const Entry last = patterns.group_end[end - 1];
    const std::size_t lookup_end = patterns.lookup_end[end - 1];

    WideBlock& block = blocks.emplace_back();
    block.first_context = context;
    block.parent.push_back(0);
    block.context.push_back(0);
    for (Entry e = first; e < last; ++e) {
      const Entry parent = patterns.parent[e];
      block.parent.push_back(static_cast<std::uint16_t>(parent == 0 ? 0 : parent - first + 1));
      block.context.push_back(patterns.context[e] - context);
    }
    // Contexts that hold nowhere have no entries; they go to the block of the next that holds.
    context = end == patterns.group_end.size() ? static_cast<std::uint32_t>(n_contexts)
                                               : patterns.context[last - 1] + 1;
    block.n_contexts = context - block.first_context;

    for (const Range range : ranges) {
      rows.clear();
      entries.clear();
      for (std::size_t i = lookup; i < lookup_end; ++i) {
        const std::size_t row = patterns.rows[i];
        if (row < range.first || row >= range.last) continue;
        rows.push_back(static_cast<std::uint32_t>(row - range.first));
        entries.push_back(static_cast<std::uint16_t>(patterns.entries[i] - first + 1));
      }
      WideBlock::Lookups& lookups = block.lookups.emplace_back();
      lookups.by_row = list_sums<std::uint32_t, std::uint16_t>(rows, entries, range.size(), false);
      constexpr std::size_t kFewRows = 16384;  // a megabyte of floats
      if (range.size() <= kFewRows)
        lookups.by_entry =
            list_sums<std::uint16_t, std::uint32_t>(entries, rows, block.n_entries(), true);
    }
    group = end;
    first = last;
    lookup = lookup_end;
  }
  return blocks;
}

}  // namespace detail

inline WideIndex::WideIndex(const FeatureSet& features, const ContextTable& table,
                            const Dataset& data, std::span<const ContextId> contexts,
                            std::span<const Range> ranges, const Execution& execution)
    : n_contexts_(contexts.size()) {
  constexpr double kEntryCost = 2.0;
  // A group larger than this would crowd the block; on dense data it also bounds the group at about
  // log2(kMaxGroup) contexts.
  constexpr std::size_t kMaxGroup = 64;
  PatternTableBuilder builder(data.n_rows(), kEntryCost, kMaxGroup);
  std::vector<Word> rows(data.columns().n_words());
  for (std::size_t c = 0; c < contexts.size(); ++c) {
    execution.poll_or_throw();
    table.match(features, data.columns(), contexts[c], rows);
    builder.add(static_cast<std::uint32_t>(c), rows);
  }
  blocks_ =
      detail::cut_into_blocks(std::move(builder).finish(), n_contexts_, ranges, kMaxBlockEntries);
}

template <class Number, class Fill>
void WideIndex::add_margins(SimdLevel simd, std::size_t range, const Fill& fill, Number* margins,
                            AlignedVector<Number>& scratch) const {
  for (const WideBlock& block : blocks_) {
    const std::size_t room = (block.n_entries() + block.n_contexts) * kLanes;
    scratch.resize(std::max(scratch.size(), room));
    Number* table = scratch.data();
    Number* u = table + block.n_entries() * kLanes;
    fill(block.first_context, block.n_contexts, u);
    run_kernel<detail::TabulateKernel>(simd, &block, u, table);
    run_kernel<detail::SumListsKernel>(simd, &block.lookups[range].by_row, table, margins,
                                       std::true_type{});
  }
}

template <class Number>
void WideIndex::gradient(SimdLevel simd, std::size_t range, const Number* g, Number* du,
                         AlignedVector<Number>& scratch) const {
  if (blocks_.empty()) std::fill_n(du, n_contexts_ * kLanes, Number{0});  // no context holds
  for (const WideBlock& block : blocks_) {
    scratch.resize(std::max(scratch.size(), block.n_entries() * kLanes));
    Number* table = scratch.data();
    const auto& [by_row, by_entry] = block.lookups[range];
    if (!by_entry.empty()) {
      run_kernel<detail::SumListsKernel>(simd, &by_entry, g, table, std::false_type{});
    } else {
      std::fill_n(table, block.n_entries() * kLanes, Number{0});
      run_kernel<detail::SpreadListsKernel>(simd, &by_row, g, table);
    }
    run_kernel<detail::CollectKernel>(simd, &block, table, du + block.first_context * kLanes);
  }
}

inline std::size_t WideIndex::bytes() const noexcept {
  std::size_t bytes = 0;
  for (const WideBlock& block : blocks_) {
    bytes += 2 * block.parent.size() + 4 * block.context.size();
    for (const auto& [by_row, by_entry] : block.lookups) bytes += by_row.bytes() + by_entry.bytes();
  }
  return bytes;
}

}  // namespace feldspar
