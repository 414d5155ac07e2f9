// The contexts of one hidden variable, gathered into groups that look at few bits each.
//
// A part's *context*, as seen from one of its variables, is the conjunction of its other tests. A
// context looks at the bits of some variables' codes; contexts that look at much the same bits share a
// table of sums (conditional_scores.hpp), of which every bit doubles the size. So contexts are grouped
// greedily: the longest first, each into the group that grows least by it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/infer/hidden_model.hpp>

namespace feldspar {

// The bits that a code of a variable takes.
inline int code_bits(Value cardinality) noexcept {
  return std::bit_width(static_cast<unsigned>(cardinality - 1));
}

struct GroupLimits {
  int lone_bits;   // for a group that is the only one of its variable, or of one long context
  int group_bits;  // for the others
};

class ContextGroups {
 public:
  struct Context {
    std::uint32_t part;  // in the model's list
    std::uint32_t group;
    int bits;
    std::vector<Word> planes;  // the bits of its variables, as numbered here
  };

  // Keeps a reference to the features.
  explicit ContextGroups(const FeatureSet& features)
      : features_(features), place_(features.schema().n_variables(), 0) {}

  // The contexts of h in those parts of the model that are listed.
  void gather(const HiddenModel& model, std::span<const std::uint32_t> parts, Variable h);
  // Returns the number of groups: all contexts in one if they fit.
  std::size_t group(const GroupLimits& limits);

  const std::vector<Context>& contexts() const noexcept { return contexts_; }
  // The variables that some context looks at, and whether one of a group does.
  std::span<const Variable> blanket() const noexcept { return blanket_; }
  bool looks_at(std::size_t group, Variable v) const noexcept {
    return test_bit(groups_[group], place_[v]);
  }

 private:
  int bits(Variable v) const noexcept { return code_bits(features_.schema().cardinality(v)); }
  void number_blanket(const HiddenModel& model, std::span<const std::uint32_t> parts, Variable h);
  std::size_t best_group(const Context& context, int most_bits) const noexcept;

  const FeatureSet& features_;
  std::vector<Context> contexts_;
  std::vector<Variable> blanket_;
  std::vector<std::uint32_t> place_;  // by variable: its first bit, of those numbered
  std::size_t n_planes_ = 0;
  std::vector<std::vector<Word>> groups_;  // the bits of each
};

inline void ContextGroups::number_blanket(const HiddenModel& model,
                                          std::span<const std::uint32_t> parts, Variable h) {
  constexpr std::uint32_t kNew = ~std::uint32_t{0};
  for (const std::uint32_t p : parts)
    for (const Test test : features_[model.parts[p].part]) place_[test.variable] = kNew;
  blanket_.clear();
  n_planes_ = 0;
  for (const std::uint32_t p : parts)
    for (const Test test : features_[model.parts[p].part]) {
      if (test.variable == h || place_[test.variable] != kNew) continue;
      blanket_.push_back(test.variable);
      place_[test.variable] = static_cast<std::uint32_t>(n_planes_);
      n_planes_ += static_cast<std::size_t>(bits(test.variable));
    }
}

inline void ContextGroups::gather(const HiddenModel& model, std::span<const std::uint32_t> parts,
                                  Variable h) {
  number_blanket(model, parts, h);
  contexts_.clear();
  for (const std::uint32_t p : parts) {
    Context context{p, 0, 0, std::vector<Word>(words_for(n_planes_), 0)};
    for (const Test test : features_[model.parts[p].part]) {
      if (test.variable == h) continue;
      for (int bit = 0; bit < bits(test.variable); ++bit)
        set_bit(context.planes, place_[test.variable] + static_cast<std::size_t>(bit));
      context.bits += bits(test.variable);
    }
    contexts_.push_back(std::move(context));
  }
}

// The group that grows least by a context and stays small enough, or the next new one.
inline std::size_t ContextGroups::best_group(const Context& context, int most_bits) const noexcept {
  std::size_t best = groups_.size(), least = ~std::size_t{0};
  for (std::size_t g = 0; g < groups_.size() && least > 0; ++g) {
    std::size_t size = 0, added = 0;
    for (std::size_t w = 0; w < context.planes.size(); ++w) {
      size += static_cast<std::size_t>(std::popcount(groups_[g][w] | context.planes[w]));
      added += static_cast<std::size_t>(std::popcount(context.planes[w] & ~groups_[g][w]));
    }
    const bool fits = added == 0 || size <= static_cast<std::size_t>(most_bits);
    if (fits && added < least) {
      best = g;
      least = added;
    }
  }
  return best;
}

inline std::size_t ContextGroups::group(const GroupLimits& limits) {
  groups_.clear();
  if (static_cast<int>(n_planes_) <= limits.lone_bits) {
    groups_.emplace_back(words_for(n_planes_), 0);
    fill_bits(groups_[0], n_planes_);
    return 1;
  }
  std::ranges::sort(contexts_, [](const Context& a, const Context& b) {
    if (a.bits != b.bits) return a.bits > b.bits;
    if (a.planes != b.planes) return a.planes > b.planes;
    return a.part < b.part;
  });
  for (std::size_t i = 0; i < contexts_.size(); ++i) {
    Context& context = contexts_[i];
    if (i > 0 && context.planes == contexts_[i - 1].planes) {
      context.group = contexts_[i - 1].group;
      continue;
    }
    const std::size_t best = best_group(context, limits.group_bits);
    if (best == groups_.size()) groups_.emplace_back(context.planes.size(), 0);
    for (std::size_t w = 0; w < context.planes.size(); ++w) groups_[best][w] |= context.planes[w];
    context.group = static_cast<std::uint32_t>(best);
  }
  return groups_.size();
}

}  // namespace feldspar
