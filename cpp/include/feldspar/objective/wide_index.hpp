// Contexts that serve many variables at once: M = A U for all variables side by side.
//
// U has one row per context and one column per margin of the variables; columns are cut into tiles
// of kLanes, so that a row of margins in a tile fits into registers. Per tile, the values of the
// patterns (see PatternTable) are tabulated, kLanes numbers each; then each example adds up the
// table rows it needs. Compared with a matrix product this does no multiplications and, on dense
// data, one addition for about log2(rows) contexts. Pattern tables are worked through in blocks
// that fit into the second-level cache together with nothing else of size.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/base/aligned.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/pack.hpp>
#include <feldspar/base/simd.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/feature/context_table.hpp>
#include <feldspar/objective/logistic.hpp>
#include <feldspar/objective/pattern_table.hpp>

namespace feldspar {

// A run of groups: entries 1 ... n of a table of its own, and the lookups of every row into it.
struct WideBlock {
  std::vector<std::uint16_t> parent;   // by entry; entry 0 is zero
  std::vector<std::uint32_t> context;  // by entry; unused for entry 0
  std::vector<std::uint32_t> begin;    // by row, plus the end
  std::vector<std::uint16_t> entries;
  // The same lookups the other way round, where rows are few; otherwise empty. The entries, those with
  // most rows first so that the ends of loops can be guessed, and the rows of each, ascending.
  std::vector<std::uint16_t> order;
  std::vector<std::uint32_t> order_begin;  // by place in `order`, plus the end
  std::vector<std::uint16_t> rows;

  std::size_t n_entries() const noexcept { return parent.size(); }
  std::size_t n_rows() const noexcept { return begin.size() - 1; }
};

class WideIndex {
 public:
  WideIndex() = default;
  WideIndex(const FeatureSet& features, const ContextTable& table, const Dataset& data,
            std::span<const ContextId> contexts, const Execution& execution = {});

  std::size_t n_contexts() const noexcept { return n_contexts_; }
  std::span<const WideBlock> blocks() const noexcept { return blocks_; }
  std::size_t n_lookups() const noexcept {
    std::size_t n = 0;
    for (const WideBlock& block : blocks_) n += block.entries.size();
    return n;
  }
  std::size_t n_entries() const noexcept {
    std::size_t n = 0;
    for (const WideBlock& block : blocks_) n += block.n_entries();
    return n;
  }
  std::size_t bytes() const noexcept;

  // margins[(r - first) * kLanes + k] += (A u)[r][k] for rows first <= r < last; u is n_contexts x
  // kLanes.
  template <class Number>
  void add_margins(SimdLevel simd, const Number* u, std::size_t first, std::size_t last,
                   Number* margins, AlignedVector<Number>& scratch) const;

  // The transpose over the same rows: du = A' g, overwritten.
  template <class Number>
  void gradient(SimdLevel simd, const Number* g, std::size_t first, std::size_t last, Number* du,
                AlignedVector<Number>& scratch) const;

 private:
  // x kLanes x 8 bytes = 512 KiB. Every row costs something in every block, most of it for loops
  // whose ends cannot be predicted: 1024 entries take 35 % longer on triples, 256 twice as long.
  static constexpr std::size_t kMaxBlockEntries = 4096;

  std::size_t n_contexts_ = 0;
  std::vector<WideBlock> blocks_;
};

namespace detail {

// A row of a tile in registers.
template <class Number>
struct LaneRow {
#if defined(__GNUC__)
  typedef Number Part __attribute__((vector_size(sizeof(Pack))));
#else
  using Part = Number;
#endif
  static constexpr std::size_t kPartSize = sizeof(Part) / sizeof(Number);
  static constexpr std::size_t kParts = kLanes / kPartSize;

  Part parts[kParts];

  static FELDSPAR_ALWAYS_INLINE Part load_part(const Number* from) noexcept {
    Part part;
    std::memcpy(&part, from, sizeof part);
    return part;
  }
  static FELDSPAR_ALWAYS_INLINE void store_part(Number* to, Part part) noexcept {
    std::memcpy(to, &part, sizeof part);
  }
  static FELDSPAR_ALWAYS_INLINE LaneRow load(const Number* from) noexcept {
    LaneRow row;
    for (std::size_t p = 0; p < kParts; ++p) row.parts[p] = load_part(from + p * kPartSize);
    return row;
  }
  FELDSPAR_ALWAYS_INLINE void store(Number* to) const noexcept {
    for (std::size_t p = 0; p < kParts; ++p) store_part(to + p * kPartSize, parts[p]);
  }
  FELDSPAR_ALWAYS_INLINE void add(const Number* from) noexcept {
    for (std::size_t p = 0; p < kParts; ++p) parts[p] += load_part(from + p * kPartSize);
  }
  FELDSPAR_ALWAYS_INLINE void add_to(Number* to) const noexcept {
    for (std::size_t p = 0; p < kParts; ++p)
      store_part(to + p * kPartSize, load_part(to + p * kPartSize) + parts[p]);
  }
};

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

// margins += values of the patterns of each row.
struct LookUpKernel {
  template <class Number>
  FELDSPAR_ALWAYS_INLINE void operator()(const WideBlock* block, const Number* table,
                                         std::size_t first, std::size_t last,
                                         Number* margins) const noexcept {
    const std::uint32_t* begin = block->begin.data();
    const std::uint16_t* entries = block->entries.data();
    for (std::size_t r = first; r < last; ++r, margins += kLanes) {
      auto row = LaneRow<Number>::load(margins);
      for (std::size_t i = begin[r]; i < begin[r + 1]; ++i) row.add(table + entries[i] * kLanes);
      row.store(margins);
    }
  }
};

// The transpose of LookUpKernel: each row's derivatives go to its patterns.
struct SpreadKernel {
  template <class Number>
  FELDSPAR_ALWAYS_INLINE void operator()(const WideBlock* block, const Number* g, std::size_t first,
                                         std::size_t last, Number* table) const noexcept {
    std::fill_n(table, block->n_entries() * kLanes, Number{0});
    const std::uint32_t* begin = block->begin.data();
    const std::uint16_t* entries = block->entries.data();
    for (std::size_t r = first; r < last; ++r, g += kLanes) {
      const auto row = LaneRow<Number>::load(g);
      for (std::size_t i = begin[r]; i < begin[r + 1]; ++i) row.add_to(table + entries[i] * kLanes);
    }
  }
};

// The same for all rows of a block that knows them by entry, to the same bits: sums stay in registers
// instead of being read and written in the table. Half the time while the derivatives of all rows
// stay in the second-level cache.
struct GatherKernel {
  template <class Number>
  FELDSPAR_ALWAYS_INLINE void operator()(const WideBlock* block, const Number* g,
                                         Number* table) const noexcept {
    const std::uint16_t* order = block->order.data();
    const std::uint32_t* begin = block->order_begin.data();
    const std::uint16_t* rows = block->rows.data();
    const std::size_t n = block->n_entries();
    for (std::size_t e = 0; e < n; ++e) {
      LaneRow<Number> sum{};
      for (std::size_t i = begin[e]; i < begin[e + 1]; ++i) sum.add(g + rows[i] * kLanes);
      sum.store(table + order[e] * kLanes);
    }
  }
};

// The transpose of TabulateKernel.
struct CollectKernel {
  template <class Number>
  FELDSPAR_ALWAYS_INLINE void operator()(const WideBlock* block, Number* table,
                                         Number* du) const noexcept {
    const std::uint16_t* parent = block->parent.data();
    const std::uint32_t* context = block->context.data();
    for (std::size_t e = block->n_entries(); e-- > 1;) {
      const auto row = LaneRow<Number>::load(table + e * kLanes);
      row.add_to(du + context[e] * kLanes);
      row.add_to(table + parent[e] * kLanes);
    }
  }
};

// Fills in the lookups by entry.
inline void order_by_entry(WideBlock& block) {
  std::vector<std::uint32_t> n_rows_of(block.n_entries(), 0);
  for (const std::uint16_t entry : block.entries) ++n_rows_of[entry];
  block.order.resize(block.n_entries());
  std::iota(block.order.begin(), block.order.end(), std::uint16_t{0});
  std::ranges::stable_sort(block.order, std::greater<>{},
                           [&](std::uint16_t entry) { return n_rows_of[entry]; });
  block.order_begin.assign(1, 0);
  std::vector<std::uint32_t> next(block.n_entries());
  for (const std::uint16_t entry : block.order) {
    next[entry] = block.order_begin.back();
    block.order_begin.push_back(next[entry] + n_rows_of[entry]);
  }
  block.rows.resize(block.entries.size());
  for (std::size_t r = 0; r < block.n_rows(); ++r)
    for (std::size_t i = block.begin[r]; i < block.begin[r + 1]; ++i)
      block.rows[next[block.entries[i]]++] = static_cast<std::uint16_t>(r);
}

// Splits a pattern table at group borders into blocks of at most `max_entries` entries.
inline std::vector<WideBlock> cut_into_blocks(const PatternTable& patterns, std::size_t n_rows,
                                              std::size_t max_entries) {
  std::vector<WideBlock> blocks;
  std::size_t group = 0, lookup = 0;
  Entry first = 1;
  while (group < patterns.group_end.size()) {
    std::size_t end = group + 1;
    while (end < patterns.group_end.size() && patterns.group_end[end] - first < max_entries) ++end;
    const Entry last = patterns.group_end[end - 1];
    const std::size_t lookup_end = patterns.lookup_end[end - 1];

    WideBlock& block = blocks.emplace_back();
    block.parent.push_back(0);
    block.context.push_back(0);
    for (Entry e = first; e < last; ++e) {
      const Entry parent = patterns.parent[e];
      block.parent.push_back(static_cast<std::uint16_t>(parent == 0 ? 0 : parent - first + 1));
      block.context.push_back(patterns.context[e]);
    }
    block.begin.assign(n_rows + 1, 0);
    for (std::size_t i = lookup; i < lookup_end; ++i) ++block.begin[patterns.rows[i] + 1];
    for (std::size_t r = 0; r < n_rows; ++r) block.begin[r + 1] += block.begin[r];
    std::vector<std::uint32_t> next(block.begin.begin(), block.begin.end() - 1);
    block.entries.resize(lookup_end - lookup);
    for (std::size_t i = lookup; i < lookup_end; ++i)
      block.entries[next[patterns.rows[i]]++] =
          static_cast<std::uint16_t>(patterns.entries[i] - first + 1);
    constexpr std::size_t kFewRows = 16384;  // a megabyte of floats
    if (n_rows <= kFewRows) order_by_entry(block);

    group = end;
    first = last;
    lookup = lookup_end;
  }
  return blocks;
}

}  // namespace detail

inline WideIndex::WideIndex(const FeatureSet& features, const ContextTable& table,
                            const Dataset& data, std::span<const ContextId> contexts,
                            const Execution& execution)
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
  blocks_ = detail::cut_into_blocks(std::move(builder).finish(), data.n_rows(), kMaxBlockEntries);
}

template <class Number>
void WideIndex::add_margins(SimdLevel simd, const Number* u, std::size_t first, std::size_t last,
                            Number* margins, AlignedVector<Number>& scratch) const {
  for (const WideBlock& block : blocks_) {
    scratch.resize(std::max(scratch.size(), block.n_entries() * kLanes));
    run_kernel<detail::TabulateKernel>(simd, &block, u, scratch.data());
    run_kernel<detail::LookUpKernel>(simd, &block, static_cast<const Number*>(scratch.data()),
                                     first, last, margins);
  }
}

template <class Number>
void WideIndex::gradient(SimdLevel simd, const Number* g, std::size_t first, std::size_t last,
                         Number* du, AlignedVector<Number>& scratch) const {
  std::fill_n(du, n_contexts_ * kLanes, Number{0});
  for (const WideBlock& block : blocks_) {
    scratch.resize(std::max(scratch.size(), block.n_entries() * kLanes));
    if (!block.order.empty() && last - first == block.n_rows())
      run_kernel<detail::GatherKernel>(simd, &block, g, scratch.data());
    else
      run_kernel<detail::SpreadKernel>(simd, &block, g, first, last, scratch.data());
    run_kernel<detail::CollectKernel>(simd, &block, scratch.data(), du);
  }
}

inline std::size_t WideIndex::bytes() const noexcept {
  std::size_t bytes = 0;
  for (const WideBlock& block : blocks_)
    bytes +=
        (block.parent.size() + block.entries.size() + block.order.size() + block.rows.size()) * 2 +
        (block.context.size() + block.begin.size() + block.order_begin.size()) * 4;
  return bytes;
}

}  // namespace feldspar
