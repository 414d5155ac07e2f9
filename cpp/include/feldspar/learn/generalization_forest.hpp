// The generation of GSSL as a forest: examples are its roots, generalisations hang below what they
// generalise (Van Haaren and Davis 2012, Algorithm 1).
//
// A multiset starts with one conjunction for each distinct example, however often it occurs. Again
// and again a member is drawn, all equally likely; n of its l tests are dropped, n uniform in
// 1 ... l - 2; and the result joins the multiset, so that short conjunctions, which are often
// generated, are often drawn. Members of fewer than three tests are never drawn.
//
// Who is drawn and how long the result is depends on lengths alone. So the forest is drawn first,
// without any tests. Then it is walked, a branch at a time: a member is the front of a list of its
// example's tests, its generalisations are fronts of that front, brought there by swaps which are
// taken back when the walk leaves them. No member's tests are ever stored, and the list a walk works
// on stays in the first cache.
//
// The tests a member drops follow from its own stream of random numbers and those of the members
// above it, so that every walk finds the same tests, whether it visits all members or some of them
// and however far the forest has grown.
//
// Memory: 8 bytes a member, 16 while it grows or is walked. Cost: O(1) a draw; in a walk as many
// steps as tests are kept or dropped, whichever are fewer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/hash.hpp>
#include <feldspar/base/random.hpp>
#include <feldspar/base/random_subset.hpp>
#include <feldspar/base/tally.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/learn/example_features.hpp>

namespace feldspar {

namespace detail {

// Asks for memory before it is needed; where the compiler has no word for that, nothing happens.
inline void prefetch([[maybe_unused]] const void* address) noexcept {
#if defined(__GNUC__)
  __builtin_prefetch(address);
#endif
}

}  // namespace detail

class GeneralizationForest {
 public:
  using Member = std::uint32_t;
  // A test in one number: the variable's first value and the value added up.
  using Atom = std::uint32_t;

  // A multiset of n members, or only the examples where they are more or none has three tests. The
  // data must outlive the forest.
  GeneralizationForest(const Dataset& data, InitialFeatures initial, std::size_t n,
                       std::uint64_t seed, const Execution& execution = {});

  // The examples come first, then members in the order in which they were generated.
  std::size_t n_examples() const noexcept { return rows_.size(); }
  std::size_t size() const noexcept { return members_.size(); }
  std::size_t length(Member member) const noexcept { return members_[member].length; }

  // Calls visit(member, its tests in any order, their fingerprint) for the members that are
  // `wanted` and all above them, each before its generalisations.
  template <class Visit>
  void walk(const std::vector<bool>& wanted, Visit&& visit) const;

 private:
  static constexpr Member kNone = std::numeric_limits<Member>::max();

  struct Node {
    Member parent;
    std::uint32_t length;
  };

  void add_examples();
  void grow(std::size_t n, Random choices, const Execution& execution);
  std::vector<Member> walk_order(const std::vector<bool>& wanted) const;
  void read_example(Row row, std::vector<Atom>& atoms) const;

  const Dataset& data_;
  InitialFeatures initial_;
  std::vector<std::size_t> offsets_;  // by variable: its first atom
  std::vector<Fingerprint> keys_;     // by atom
  std::uint64_t drops_;               // seed of the members' own random numbers
  std::vector<Row> rows_;             // by example with a test: its row
  std::vector<Node> members_;
};

inline GeneralizationForest::GeneralizationForest(const Dataset& data, InitialFeatures initial,
                                                  std::size_t n, std::uint64_t seed,
                                                  const Execution& execution)
    : data_(data),
      initial_(initial),
      offsets_(value_offsets(data.schema())),
      keys_(offsets_.back()),
      drops_(Random(seed, {"generate features", 1}).bits()) {
  Random keys(seed, {"generate features", 2});
  for (Fingerprint& key : keys_)
    for (std::uint32_t& word : key.words) word = static_cast<std::uint32_t>(keys.bits() >> 32);
  members_.reserve(std::max(n, data.n_rows()));
  add_examples();
  grow(n, Random(seed, {"generate features", 0}), execution);
}

inline void GeneralizationForest::add_examples() {
  std::vector<Atom> atoms;
  for (Row row = 0; row < data_.n_rows(); ++row) {
    read_example(row, atoms);
    if (atoms.empty()) continue;
    rows_.push_back(row);
    members_.push_back({kNone, static_cast<std::uint32_t>(atoms.size())});
  }
}

inline void GeneralizationForest::grow(std::size_t n, Random choices, const Execution& execution) {
  struct Drawable {
    Member member;
    std::uint32_t length;  // here too: one wait for memory instead of two
  };
  std::vector<Drawable> drawable;
  drawable.reserve(members_.capacity());
  for (Member member = 0; member < size(); ++member)
    if (length(member) > 2) drawable.push_back({member, members_[member].length});
  if (drawable.empty()) return;
  while (size() < n) {
    if (size() % (1 << 16) == 0) execution.poll_or_throw();
    const Drawable parent = drawable[choices.below(drawable.size())];
    const std::uint32_t length =
        parent.length - 1 - static_cast<std::uint32_t>(choices.below(parent.length - 2));
    if (length > 2) drawable.push_back({static_cast<Member>(size()), length});
    members_.push_back({parent.member, length});
  }
}

inline void GeneralizationForest::read_example(Row row, std::vector<Atom>& atoms) const {
  const PackedColumns& columns = data_.columns();
  atoms.clear();
  for (Variable v = 0; v < columns.n_variables(); ++v) {
    std::size_t value = 0;
    for (std::size_t bit = 0; bit < columns.n_slices(v); ++bit)
      value |= std::size_t{test_bit(columns.slice(v, bit), row)} << bit;
    if (data_.schema().cardinality(v) > 1 && (initial_ == InitialFeatures::full || value != 0))
      atoms.push_back(static_cast<Atom>(offsets_[v] + value));
  }
}

template <class Visit>
void GeneralizationForest::walk(const std::vector<bool>& wanted, Visit&& visit) const {
  // From an example down to where the walk is, members whose tests are the first of `atoms`. Their
  // swaps stand in a row: the places they need are no more than the tests that are dropped.
  struct Level {
    Member member;
    std::span<Atom> atoms;
    Fingerprint fingerprint;
    std::uint32_t* swaps_end;
  };
  std::vector<Atom> atoms;
  std::vector<std::uint32_t> swaps(data_.n_variables());
  std::vector<Level> path;
  const std::vector<Member> order = walk_order(wanted);
  constexpr std::size_t kAhead = 16;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i + kAhead < order.size()) detail::prefetch(&members_[order[i + kAhead]]);
    const Member member = order[i];
    const Node node = members_[member];
    if (node.parent == kNone) {
      read_example(rows_[member], atoms);
      Fingerprint fingerprint;
      for (const Atom atom : atoms) fingerprint ^= keys_[atom];
      path.assign(1, {member, atoms, fingerprint, swaps.data()});
    } else {
      for (; path.back().member != node.parent; path.pop_back()) {
        const Level& above = path[path.size() - 2];
        take_back(above.atoms, path.back().atoms.size(), above.swaps_end);
      }
      const Level& parent = path.back();
      SplitMix64 random(combine_hash(drops_, member));
      bring_to_front(parent.atoms, node.length, random, parent.swaps_end);
      const auto kept = parent.atoms.first(node.length),
                 dropped = parent.atoms.subspan(node.length);
      const bool keeps_fewer = kept.size() <= dropped.size();
      Fingerprint fingerprint = keeps_fewer ? Fingerprint{} : parent.fingerprint;
      for (const Atom atom : keeps_fewer ? kept : dropped) fingerprint ^= keys_[atom];
      path.push_back({member, kept, fingerprint,
                      parent.swaps_end + n_subset_swaps(parent.atoms.size(), node.length)});
    }
    visit(member, std::span<const Atom>(path.back().atoms), path.back().fingerprint);
  }
}

// The members that are wanted and all above them, each followed by all below it. No step waits for
// the one before it, as steps along pointers from member to member would.
inline std::vector<GeneralizationForest::Member> GeneralizationForest::walk_order(
    const std::vector<bool>& wanted) const {
  std::vector<std::uint32_t> place(size(),
                                   0);  // at first: how many are in the order, from here down
  for (std::size_t member = size(); member-- > 0;) {
    if (wanted[member] || place[member] > 0) ++place[member];
    if (members_[member].parent != kNone) place[members_[member].parent] += place[member];
  }
  std::uint32_t end = 0;
  for (std::size_t example = 0; example < n_examples(); ++example) end += place[example];
  std::vector<Member> order(end);
  end = 0;
  for (std::size_t member = 0; member < size(); ++member) {
    const std::uint32_t n = place[member];
    if (n == 0) continue;
    const Member parent = members_[member].parent;
    std::uint32_t& next = parent == kNone ? end : place[parent];
    order[next] = static_cast<Member>(member);
    place[member] = next + 1;  // from now on: the place of the next one below
    next += n;
  }
  return order;
}

}  // namespace feldspar
