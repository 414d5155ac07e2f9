// Many short lists of indices, laid out for summing: out[i] = sum of source[k] over k in list i.
//
// Lists are sorted by length and cut into slices of kWidth lists; a slice is stored index by index
// across its lists and padded to its longest. The inner loop then has independent sums, a
// predictable trip count and no per-list branch (the layout known as SELL for sparse matrices, with
// all values 1). Padding points to the place behind the last source element, which the caller keeps
// at zero. Empty lists, of which there may be many, take no room; nor does the order of lists that
// come longest first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace feldspar {

template <class Id>
class SlicedLists {
 public:
  SlicedLists() = default;

  // List i is ids[begin[i] .. begin[i + 1]); ids are below `n_source`.
  SlicedLists(std::span<const std::size_t> begin, std::span<const std::uint32_t> ids,
              std::size_t n_source) {
    n_lists_ = begin.size() - 1;
    const auto length = [&](std::size_t i) { return begin[i + 1] - begin[i]; };
    std::vector<std::uint32_t> order = longest_first(begin);
    const std::size_t n = n_filled_ = order.size();
    std::size_t n_ids = 0;
    for (std::size_t first = 0; first < n; first += kWidth) {
      lengths_.push_back(static_cast<std::uint32_t>(length(order[first])));  // its longest
      n_ids += lengths_.back() * kWidth;
    }
    lengths_.shrink_to_fit();
    ids_.assign(n_ids, static_cast<Id>(n_source));
    Id* slice = ids_.data();
    for (std::size_t place = 0; place < n; ++place) {
      const std::size_t lane = place % kWidth, i = order[place];
      for (std::size_t j = 0; j < length(i); ++j)
        slice[j * kWidth + lane] = static_cast<Id>(ids[begin[i] + j]);
      if (lane + 1 == kWidth) slice += lengths_[place / kWidth] * kWidth;
    }
    const bool in_order = std::ranges::is_sorted(order) && (n == 0 || order.back() == n - 1);
    if (!in_order) order_ = std::move(order);
  }

  std::size_t n_lists() const noexcept { return n_lists_; }
  std::size_t n_stored() const noexcept { return ids_.size(); }
  std::size_t bytes() const noexcept {
    return ids_.size() * sizeof(Id) + (order_.size() + lengths_.size()) * sizeof(std::uint32_t);
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

  // The list at a place of the order.
  std::size_t list(std::size_t place) const noexcept {
    return order_.empty() ? place : order_[place];
  }

  void sum_scalars(const double* source, double* out) const noexcept {
    const Id* ids = ids_.data();
    for (std::size_t s = 0; s < lengths_.size(); ++s) {
      double sums[kWidth] = {};
      for (std::uint32_t j = 0; j < lengths_[s]; ++j, ids += kWidth)
        for (std::size_t lane = 0; lane < kWidth; ++lane) sums[lane] += source[ids[lane]];
      const std::size_t first = s * kWidth;
      const std::size_t here = std::min(kWidth, n_filled_ - first);
      for (std::size_t lane = 0; lane < here; ++lane) out[list(first + lane)] = sums[lane];
    }
  }

  void sum_vectors(const double* source, std::size_t width, double* out) const noexcept {
    const Id* ids = ids_.data();
    for (std::size_t s = 0; s < lengths_.size(); ++s) {
      const std::size_t first = s * kWidth;
      const std::size_t here = std::min(kWidth, n_filled_ - first);
      for (std::size_t lane = 0; lane < here; ++lane) {
        double* target = out + list(first + lane) * width;
        std::fill_n(target, width, 0.0);
        for (std::uint32_t j = 0; j < lengths_[s]; ++j) {
          const double* element = source + ids[j * kWidth + lane] * width;
          for (std::size_t k = 0; k < width; ++k) target[k] += element[k];
        }
      }
      ids += lengths_[s] * kWidth;
    }
  }

  std::size_t n_lists_ = 0, n_filled_ = 0;
  std::vector<std::uint32_t> order_;    // filled lists by falling length; empty: as they come
  std::vector<std::uint32_t> lengths_;  // by slice: its longest list
  std::vector<Id> ids_;
};

}  // namespace feldspar
