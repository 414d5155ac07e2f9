// Many short lists of ascending indices, laid out for summing: out[i] = sum of source[k] over k in
// list i.
//
// Lists are sorted by length and cut into slices of kWidth lists; a slice is stored index by index
// across its lists and padded to its longest. The inner loop then has independent sums, a
// predictable trip count and no per-list branch (the layout known as SELL for sparse matrices, with
// all values 1). Padding points to the place behind the last source element, which the caller keeps
// at zero. Empty lists, of which there may be many, take no room; nor does the order of lists that
// come longest first.
//
// Where the indices of a slice lie close together, it has *steps* from one to the next instead of
// indices, a byte each. kSkip goes on by as much and adds nothing; it is the padding too. That
// nearly halves the room of such slices and costs a few per cent of the time at most: the sums wait
// for loads, and taking steps is work for units that are idle.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/base/simd.hpp>

namespace feldspar {

template <class Id>
class SlicedLists {
 public:
  SlicedLists() = default;

  // List i is ids[begin[i] .. begin[i + 1]), ascending; ids are below `n_source`.
  SlicedLists(std::span<const std::size_t> begin, std::span<const std::uint32_t> ids,
              std::size_t n_source)
      : n_lists_(begin.size() - 1), nowhere_(static_cast<Id>(n_source)) {
    std::vector<std::uint32_t> order = longest_first(begin);
    n_filled_ = order.size();
    const auto list_at = [&](std::size_t place) {
      const std::size_t i = order[place];
      return ids.subspan(begin[i], begin[i + 1] - begin[i]);
    };
    cut_slices(list_at);
    fill_slices(list_at);
    const bool in_order =
        std::ranges::is_sorted(order) && (order.empty() || order.back() == order.size() - 1);
    if (!in_order) order_ = std::move(order);
  }

  std::size_t n_lists() const noexcept { return n_lists_; }
  // Places that a sum looks at, padding and skips included.
  std::size_t n_stored() const noexcept { return ids_.size() + steps_.size(); }
  std::size_t bytes() const noexcept {
    return steps_.size() + ids_.size() * sizeof(Id) + order_.size() * sizeof(std::uint32_t) +
           slices_.size() * sizeof(Slice);
  }

  // source has n_source + 1 elements of `width` numbers, the last all zero; out has n_lists
  // elements.
  void sum(const double* source, std::size_t width, double* out) const noexcept {
    if (n_filled_ < n_lists_) std::fill_n(out, n_lists_ * width, 0.0);
    if (width == 1)
      sum_scalars(source, out);
    else
      sum_vectors(source, width, out);
  }

 private:
  static constexpr std::size_t kWidth = 8;
  static constexpr std::uint8_t kSkip = 255;
#if defined(__GNUC__)
  typedef Id Places __attribute__((vector_size(kWidth * sizeof(Id))));
#else
  using Places = std::array<Id, kWidth>;
#endif

  struct Slice {
    std::uint32_t length : 31;  // of its longest list, in ids or steps
    std::uint32_t in_steps : 1;
  };

  // The lists that are not empty, by falling length; of one length, in their order.
  static std::vector<std::uint32_t> longest_first(std::span<const std::size_t> begin) {
    std::size_t longest = 0;
    for (std::size_t i = 0; i + 1 < begin.size(); ++i)
      longest = std::max(longest, begin[i + 1] - begin[i]);
    std::vector<std::size_t> next(longest + 2, 0);  // by length: where its next list goes
    for (std::size_t i = 0; i + 1 < begin.size(); ++i) ++next[begin[i + 1] - begin[i]];
    std::size_t filled = 0;
    for (std::size_t l = longest; l > 0; --l) filled += std::exchange(next[l], filled);
    std::vector<std::uint32_t> order(filled);
    for (std::size_t i = 0; i + 1 < begin.size(); ++i)
      if (const std::size_t l = begin[i + 1] - begin[i]; l > 0)
        order[next[l]++] = static_cast<std::uint32_t>(i);
    return order;
  }

  // Steps, skips included, from one id of a list to the next.
  static std::size_t n_steps(std::span<const std::uint32_t> list) noexcept {
    assert(std::ranges::is_sorted(list));
    std::size_t n = list.size();
    std::uint32_t at = 0;
    for (const std::uint32_t id : list) n += (id - std::exchange(at, id)) / kSkip;
    return n;
  }

  // Steps where they lengthen a slice by a quarter at most: a skip costs as much as a sum.
  template <class ListAt>
  void cut_slices(const ListAt& list_at) {
    slices_.reserve((n_filled_ + kWidth - 1) / kWidth);
    std::size_t all_ids = 0, all_steps = 0;
    for (std::size_t first = 0; first < n_filled_; first += kWidth) {
      const std::size_t longest = list_at(first).size(), limit = longest + longest / 4;
      std::size_t most_steps = 0;
      for (std::size_t place = first; place < std::min(first + kWidth, n_filled_); ++place) {
        const auto list = list_at(place);
        most_steps = std::max<std::size_t>(most_steps, list.back() / kSkip);  // at the least
        if (most_steps > limit) break;
        most_steps = std::max(most_steps, n_steps(list));
      }
      const bool in_steps = most_steps <= limit;
      const std::size_t length = in_steps ? most_steps : longest;
      slices_.push_back({static_cast<std::uint32_t>(length) & 0x7fffffffu, in_steps});
      (in_steps ? all_steps : all_ids) += length * kWidth;
    }
    ids_.assign(all_ids, nowhere_);
    steps_.assign(all_steps, kSkip);
  }

  template <class ListAt>
  void fill_slices(const ListAt& list_at) {
    Id* ids = ids_.data();
    std::uint8_t* steps = steps_.data();
    for (std::size_t s = 0; s < slices_.size(); ++s) {
      const std::size_t first = s * kWidth, here = std::min(kWidth, n_filled_ - first);
      if (slices_[s].in_steps) {
        for (std::size_t lane = 0; lane < here; ++lane)
          write_steps(list_at(first + lane), steps + lane);
        steps += slices_[s].length * kWidth;
      } else {
        for (std::size_t lane = 0; lane < here; ++lane)
          write_ids(list_at(first + lane), ids + lane);
        ids += slices_[s].length * kWidth;
      }
    }
  }

  static void write_ids(std::span<const std::uint32_t> list, Id* to) noexcept {
    for (std::size_t j = 0; j < list.size(); ++j) to[j * kWidth] = static_cast<Id>(list[j]);
  }

  static void write_steps(std::span<const std::uint32_t> list, std::uint8_t* to) noexcept {
    std::uint32_t at = 0;
    for (const std::uint32_t id : list) {
      const std::uint32_t distance = id - std::exchange(at, id);
      to += distance / kSkip * kWidth;
      *to = static_cast<std::uint8_t>(distance % kSkip);
      to += kWidth;
    }
  }

  // The list at a place of the order.
  std::size_t list(std::size_t place) const noexcept {
    return order_.empty() ? place : order_[place];
  }

  // One step of every lane: `at` goes on, and `places` is where to look.
  FELDSPAR_ALWAYS_INLINE void take_step(const std::uint8_t* steps, Places& at,
                                        Id* places) const noexcept {
#if defined(__GNUC__)
    typedef std::uint8_t Steps __attribute__((vector_size(kWidth)));
    Steps bytes;
    std::memcpy(&bytes, steps, sizeof bytes);
    const Places step = __builtin_convertvector(bytes, Places);
    at += step;
    const Places found = step == kSkip ? Places{} + nowhere_ : at;
    std::memcpy(places, &found, sizeof found);
#else
    for (std::size_t lane = 0; lane < kWidth; ++lane) {
      at[lane] = static_cast<Id>(at[lane] + steps[lane]);
      places[lane] = steps[lane] == kSkip ? nowhere_ : at[lane];
    }
#endif
  }

  static FELDSPAR_ALWAYS_INLINE void add_places(const double* source, const Id* places,
                                                std::size_t length, double* sums) noexcept {
    for (std::size_t j = 0; j < length; ++j, places += kWidth)
      for (std::size_t lane = 0; lane < kWidth; ++lane) sums[lane] += source[places[lane]];
  }

  void sum_scalars(const double* source, double* out) const noexcept {
    constexpr std::size_t kBlock = 16;  // steps taken before their places are looked at
    Id places[kBlock * kWidth];
    const Id* ids = ids_.data();
    const std::uint8_t* steps = steps_.data();
    for (std::size_t s = 0; s < slices_.size(); ++s) {
      double sums[kWidth] = {};
      const std::size_t length = slices_[s].length;
      if (slices_[s].in_steps) {
        Places at{};
        for (std::size_t j = 0; j < length; j += kBlock) {
          const std::size_t here = std::min(kBlock, length - j);
          for (std::size_t k = 0; k < here; ++k, steps += kWidth)
            take_step(steps, at, places + k * kWidth);
          add_places(source, places, here, sums);
        }
      } else {
        add_places(source, ids, length, sums);
        ids += length * kWidth;
      }
      const std::size_t first = s * kWidth;
      const std::size_t here = std::min(kWidth, n_filled_ - first);
      for (std::size_t lane = 0; lane < here; ++lane) out[list(first + lane)] = sums[lane];
    }
  }

  void sum_vectors(const double* source, std::size_t width, double* out) const noexcept {
    const Id* ids = ids_.data();
    const std::uint8_t* steps = steps_.data();
    for (std::size_t s = 0; s < slices_.size(); ++s) {
      const std::size_t first = s * kWidth;
      const std::size_t here = std::min(kWidth, n_filled_ - first);
      for (std::size_t lane = 0; lane < here; ++lane)
        std::fill_n(out + list(first + lane) * width, width, 0.0);
      Places at{};
      for (std::uint32_t j = 0; j < slices_[s].length; ++j) {
        Id places[kWidth];
        if (slices_[s].in_steps)
          take_step(std::exchange(steps, steps + kWidth), at, places);
        else
          std::copy_n(std::exchange(ids, ids + kWidth), kWidth, places);
        for (std::size_t lane = 0; lane < here; ++lane) {
          const double* element = source + places[lane] * width;
          double* target = out + list(first + lane) * width;
          for (std::size_t k = 0; k < width; ++k) target[k] += element[k];
        }
      }
    }
  }

  std::size_t n_lists_ = 0, n_filled_ = 0;
  Id nowhere_ = 0;                    // the place behind the last source element
  std::vector<std::uint32_t> order_;  // filled lists by falling length; empty: as they come
  std::vector<Slice> slices_;
  std::vector<Id> ids_;              // of slices that are not in steps
  std::vector<std::uint8_t> steps_;  // of those that are
};

}  // namespace feldspar
