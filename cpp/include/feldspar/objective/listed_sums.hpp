// Sums of listed rows of a table, a tile's lanes side by side: a product with a sparse 0/1 matrix.
//
// Targets whose lists are of one length stand together, so that loops have ends that need not be
// guessed, and short ones have none. Targets are never far apart in memory: they are ordered so within
// chunks only.
//
// The order of additions is that of the lists and nothing else: same bits on every instruction set.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <type_traits>
#include <vector>

#include <feldspar/base/pack.hpp>
#include <feldspar/base/simd.hpp>
#include <feldspar/objective/logistic.hpp>

namespace feldspar {

// Lists of sources, numbered by 16 bits, for each target.
struct ListedSums {
  struct Run {
    std::uint32_t n_targets, length;  // of the list of each
  };
  std::vector<Run> runs;
  std::vector<std::uint32_t> targets;
  std::vector<std::uint16_t> sources;

  bool empty() const noexcept { return targets.empty(); }
  std::size_t bytes() const noexcept {
    return 8 * runs.size() + 4 * targets.size() + 2 * sources.size();
  }
};

// Of pairs (targets[i], sources[i]), which keep their order; targets are numbered from 0 to
// n_targets - 1, and those without a source are left out unless `keep_empty`.
template <class Target, class Source>
ListedSums list_sums(std::span<const Target> targets, std::span<const Source> sources,
                     std::size_t n_targets, bool keep_empty) {
  std::vector<std::uint32_t> begin(n_targets + 1, 0);
  for (const Target t : targets) ++begin[t + std::size_t{1}];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
  std::vector<std::uint16_t> by_target(sources.size());
  for (std::size_t i = 0; i < targets.size(); ++i)
    by_target[next[targets[i]]++] = static_cast<std::uint16_t>(sources[i]);

  const auto length = [&](std::uint32_t t) { return begin[t + 1] - begin[t]; };
  ListedSums sums;
  constexpr std::size_t kChunk = 4096;  // half a megabyte of doubles
  for (std::size_t first = 0; first < n_targets; first += kChunk) {
    const auto from = static_cast<std::ptrdiff_t>(sums.targets.size());
    const std::size_t last = std::min(n_targets, first + kChunk);
    for (auto t = static_cast<std::uint32_t>(first); t < last; ++t)
      if (keep_empty || length(t) > 0) sums.targets.push_back(t);
    std::stable_sort(sums.targets.begin() + from, sums.targets.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return length(a) > length(b); });
  }
  sums.sources.reserve(sources.size());
  for (const std::uint32_t t : sums.targets) {
    if (sums.runs.empty() || sums.runs.back().length != length(t))
      sums.runs.push_back({0, length(t)});
    ++sums.runs.back().n_targets;
    const auto own = std::span(by_target).subspan(begin[t], length(t));
    sums.sources.insert(sums.sources.end(), own.begin(), own.end());
  }
  sums.targets.shrink_to_fit();
  return sums;
}

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

// Calls work(target, sources, length) for all targets; where lists are short, `length` is known to the
// compiler.
template <class Work>
FELDSPAR_ALWAYS_INLINE void for_each_list(const ListedSums& sums, const Work& work) noexcept {
  const std::uint32_t* target = sums.targets.data();
  const std::uint16_t* source = sums.sources.data();
  const auto do_run = [&](std::size_t n, auto length) FELDSPAR_ALWAYS_INLINE_LAMBDA {
    for (std::size_t i = 0; i < n; ++i, ++target, source += length) work(*target, source, length);
  };
  for (const auto& [n, length] : sums.runs) switch (length) {
      case 1:
        do_run(n, std::integral_constant<std::size_t, 1>{});
        break;
      case 2:
        do_run(n, std::integral_constant<std::size_t, 2>{});
        break;
      case 3:
        do_run(n, std::integral_constant<std::size_t, 3>{});
        break;
      case 4:
        do_run(n, std::integral_constant<std::size_t, 4>{});
        break;
      case 5:
        do_run(n, std::integral_constant<std::size_t, 5>{});
        break;
      case 6:
        do_run(n, std::integral_constant<std::size_t, 6>{});
        break;
      default:
        do_run(n, std::size_t{length});
    }
}

// to[target] += sum of from[source], or = where kOnto is false.
struct SumListsKernel {
  template <class Number, bool kOnto>
  FELDSPAR_ALWAYS_INLINE void operator()(const ListedSums* sums, const Number* from, Number* to,
                                         std::bool_constant<kOnto>) const noexcept {
    using Row = LaneRow<Number>;
    for_each_list(*sums, [&](std::size_t target, const std::uint16_t* source, auto length)
                             FELDSPAR_ALWAYS_INLINE_LAMBDA {
                               Row row{};
                               if constexpr (kOnto) row = Row::load(to + target * kLanes);
                               for (std::size_t i = 0; i < length; ++i)
                                 row.add(from + source[i] * kLanes);
                               row.store(to + target * kLanes);
                             });
  }
};

// The transpose: to[source] += from[target].
struct SpreadListsKernel {
  template <class Number>
  FELDSPAR_ALWAYS_INLINE void operator()(const ListedSums* sums, const Number* from,
                                         Number* to) const noexcept {
    for_each_list(*sums, [&](std::size_t target, const std::uint16_t* source, auto length)
                             FELDSPAR_ALWAYS_INLINE_LAMBDA {
                               const auto row = LaneRow<Number>::load(from + target * kLanes);
                               for (std::size_t i = 0; i < length; ++i)
                                 row.add_to(to + source[i] * kLanes);
                             });
  }
};

}  // namespace detail

}  // namespace feldspar
