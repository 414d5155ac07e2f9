// Random features for GSSL: generalisations of the examples, and how often each was generated
// (Van Haaren and Davis 2012, Algorithm 1 and the first half of Algorithm 2).
//
// A multiset starts with one conjunction for each distinct example. Again and again a member is
// drawn, all equally likely; n of its l tests are dropped, n uniform in 1 ... l - 2; and the result
// joins the multiset, so that short conjunctions, which are often generated, are often drawn.
// Members of fewer than three tests are never drawn. A conjunction survives if the multiset holds
// it more than `threshold` times.
//
// Memory is bounded by the size of the multiset, not by the length of the examples: equal members
// are one node, and a node of many tests is not written down but made again from its parent, by
// the random numbers that made it. Cost per draw: O(tests of the result), or O(tests of the
// example) for the few that are long.
//
// Sequential, since each draw depends on those before it. The same seed gives the same features.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/hash.hpp>
#include <feldspar/base/random.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/learn/example_features.hpp>

namespace feldspar {

struct GenerateOptions {
  InitialFeatures initial = InitialFeatures::positive;
  std::vector<std::uint64_t> sizes{1'000'000};  // of the multiset; results for each, ascending
  std::vector<std::uint32_t> thresholds{1};     // results for each
  std::uint64_t seed = 0;

  void check() const {
    require(!sizes.empty(), "sizes: expected at least one");
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      require(i == 0 || sizes[i] > sizes[i - 1], "sizes must ascend, got ", sizes[i], " after ",
              i == 0 ? 0 : sizes[i - 1]);
      require(sizes[i] < std::numeric_limits<std::uint32_t>::max(), "sizes: ", sizes[i],
              " is too many");
    }
    require(!thresholds.empty(), "thresholds: expected at least one");
  }
};

namespace detail {

// A test in one number: the variable's first value and the value added up.
using Atom = std::uint32_t;

class GeneralizationMultiset {
 public:
  GeneralizationMultiset(const Dataset& data, InitialFeatures initial, std::uint64_t seed);

  std::uint64_t size() const noexcept { return size_; }

  // Adds a generalisation of a random member; false if no member has three tests.
  bool grow();

  // The conjunctions of at least one test that are there more than `threshold` times.
  FeatureSet more_frequent_than(std::uint32_t threshold);

 private:
  using Node = std::uint32_t;
  static constexpr Node kNone = std::numeric_limits<Node>::max();
  static constexpr std::size_t kWritten = 32;  // nodes of no more tests are written down

  struct NodeData {
    std::uint64_t hash;
    std::uint64_t place;   // a written node: of its first atom; another: the draw that made it
    Node parent = kNone;   // of a node that is not written down
    std::uint32_t length;  // number of tests
    std::uint32_t count = 1;
  };

  bool is_written(const NodeData& node) const noexcept { return node.parent == kNone; }
  void add(std::uint64_t draw, Node parent);
  Node find_or_insert(std::uint64_t draw, Node parent);
  void drop_some(std::uint64_t draw, std::vector<Atom>& atoms);
  void read(Node node, std::vector<Atom>& atoms);
  void grow_table();

  Schema schema_;
  std::vector<std::size_t> offsets_;
  std::uint64_t seed_;
  Random random_;
  std::uint64_t size_ = 0, n_draws_ = 0;
  std::vector<NodeData> nodes_;
  std::vector<Atom> written_;
  std::vector<Node> drawable_;  // the members of three tests or more, as often as they are there
  std::vector<Node> table_;     // open addressing by hash, size a power of two
  std::vector<Atom> scratch_, other_;
  std::vector<std::pair<Node, std::uint64_t>> chain_;
};

inline GeneralizationMultiset::GeneralizationMultiset(const Dataset& data, InitialFeatures initial,
                                                      std::uint64_t seed)
    : schema_(data.schema()),
      offsets_(value_offsets(schema_)),
      seed_(seed),
      random_(seed, {"generate features", 0}) {
  table_.assign(1024, kNone);
  std::vector<std::vector<Value>> codes;
  for (Variable v = 0; v < data.n_variables(); ++v) codes.push_back(data.columns().codes(v));
  for (Row r = 0; r < data.n_rows(); ++r) {
    scratch_.clear();
    for (Variable v = 0; v < data.n_variables(); ++v)
      if (schema_.cardinality(v) > 1 && (initial == InitialFeatures::full || codes[v][r] != 0))
        scratch_.push_back(static_cast<Atom>(offsets_[v] + codes[v][r]));
    // Examples are written down whatever their length: what is generated is made from them.
    if (!scratch_.empty()) add(0, kNone);
  }
}

inline bool GeneralizationMultiset::grow() {
  if (drawable_.empty()) return false;
  const Node parent = drawable_[random_.below(drawable_.size())];
  const std::uint64_t draw = ++n_draws_;
  read(parent, scratch_);
  drop_some(draw, scratch_);
  add(draw, scratch_.size() <= kWritten ? kNone : parent);
  return true;
}

// Keeps l - n of the l atoms, in their order. The random numbers are those of the draw alone.
inline void GeneralizationMultiset::drop_some(std::uint64_t draw, std::vector<Atom>& atoms) {
  Random random(seed_, {"drop tests", draw});
  const std::size_t n_dropped = 1 + random.below(atoms.size() - 2);
  // Selection sampling: each atom goes with the chance that makes all subsets equally likely.
  std::size_t to_drop = n_dropped, kept = 0;
  for (std::size_t i = 0; i < atoms.size(); ++i) {
    if (to_drop > 0 && random.below(atoms.size() - i) < to_drop)
      --to_drop;
    else
      atoms[kept++] = atoms[i];
  }
  atoms.resize(kept);
}

// The conjunction in scratch_ joins the multiset.
inline void GeneralizationMultiset::add(std::uint64_t draw, Node parent) {
  const Node node = find_or_insert(draw, parent);
  if (nodes_[node].length > 2) drawable_.push_back(node);
  ++size_;
}

inline GeneralizationMultiset::Node GeneralizationMultiset::find_or_insert(std::uint64_t draw,
                                                                           Node parent) {
  const std::uint64_t hash = hash_sequence(std::span<const Atom>(scratch_));
  const std::size_t mask = table_.size() - 1;
  std::size_t slot = hash & mask;
  for (; table_[slot] != kNone; slot = (slot + 1) & mask) {
    NodeData& found = nodes_[table_[slot]];
    if (found.hash != hash || found.length != scratch_.size()) continue;
    read(table_[slot], other_);
    if (other_ != scratch_) continue;
    ++found.count;
    return table_[slot];
  }
  const auto node = static_cast<Node>(nodes_.size());
  nodes_.push_back({hash, parent == kNone ? written_.size() : draw, parent,
                    static_cast<std::uint32_t>(scratch_.size())});
  if (parent == kNone) written_.insert(written_.end(), scratch_.begin(), scratch_.end());
  table_[slot] = node;
  if (2 * nodes_.size() > table_.size()) grow_table();
  return node;
}

inline void GeneralizationMultiset::read(Node node, std::vector<Atom>& atoms) {
  chain_.clear();
  for (; !is_written(nodes_[node]); node = nodes_[node].parent)
    chain_.emplace_back(node, nodes_[node].place);
  const auto first = written_.begin() + static_cast<std::ptrdiff_t>(nodes_[node].place);
  atoms.assign(first, first + nodes_[node].length);
  for (std::size_t i = chain_.size(); i-- > 0;) drop_some(chain_[i].second, atoms);
}

inline void GeneralizationMultiset::grow_table() {
  table_.assign(2 * table_.size(), kNone);
  const std::size_t mask = table_.size() - 1;
  for (Node node = 0; node < nodes_.size(); ++node) {
    std::size_t slot = nodes_[node].hash & mask;
    while (table_[slot] != kNone) slot = (slot + 1) & mask;
    table_[slot] = node;
  }
}

inline FeatureSet GeneralizationMultiset::more_frequent_than(std::uint32_t threshold) {
  FeatureSetBuilder builder(schema_);
  std::vector<Atom> atoms;
  std::vector<Variable> variables;
  std::vector<Value> values;
  for (Variable v = 0; v < schema_.n_variables(); ++v)
    for (Value value = 1; value < schema_.cardinality(v); ++value)
      builder.add({&v, 1}, {&value, 1});
  for (Node node = 0; node < nodes_.size(); ++node) {
    if (nodes_[node].count <= threshold) continue;
    read(node, atoms);
    variables.clear();
    values.clear();
    for (const Atom atom : atoms) {
      const auto v =
          static_cast<Variable>(std::ranges::upper_bound(offsets_, atom) - offsets_.begin() - 1);
      variables.push_back(v);
      values.push_back(static_cast<Value>(atom - offsets_[v]));
    }
    builder.add(variables, values);
  }
  return std::move(builder).finish();
}

}  // namespace detail

// By size, then by threshold: the single tests X_v = a, a > 0, and all conjunctions that survive.
inline std::vector<std::vector<FeatureSet>> generate_features(const Dataset& data,
                                                              const GenerateOptions& options,
                                                              const Execution& execution = {}) {
  options.check();
  detail::GeneralizationMultiset multiset(data, options.initial, options.seed);
  std::vector<std::vector<FeatureSet>> survivors;
  constexpr std::uint64_t kBetweenLooks = 1 << 14;
  for (const std::uint64_t size : options.sizes) {
    bool can_grow = true;
    while (can_grow && multiset.size() < size) {
      execution.poll_or_throw();
      execution.report({"features", static_cast<double>(multiset.size()),
                        static_cast<double>(options.sizes.back()), 0});
      const std::uint64_t pause = std::min(size, multiset.size() + kBetweenLooks);
      while (can_grow && multiset.size() < pause) can_grow = multiset.grow();
    }
    survivors.emplace_back();
    for (const std::uint32_t threshold : options.thresholds)
      survivors.back().push_back(multiset.more_frequent_than(threshold));
  }
  return survivors;
}

}  // namespace feldspar
