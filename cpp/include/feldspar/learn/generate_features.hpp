// Random features for GSSL: generalisations of the examples, and how often each was generated
// (Van Haaren and Davis 2012, Algorithm 1 and the first half of Algorithm 2).
//
// A multiset starts with one conjunction for each distinct example, however often it occurs. Again
// and again a member is drawn, all equally likely; n of its l tests are dropped, n uniform in
// 1 ... l - 2; and the result joins the multiset, so that short conjunctions, which are often
// generated, are often drawn. Members of fewer than three tests are never drawn. A conjunction
// survives if the multiset holds it more than `threshold` times.
//
// Counts only grow: one run passes through all sizes, its results are those of separate runs with
// the same seed, and what survives a smaller size or a larger threshold survives the others too.
//
// Memory: equal members are one node of 24 bytes (and about 10 for looking it up, 8 for each time it
// may be drawn), with its tests as a list of 4 bytes each or as bits of the example it comes from,
// whichever is less. Cost per draw:
// O(tests that are kept) + O(tests of the example) / 8.
//
// Sequential, since each draw depends on those before it. The same seed gives the same features.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/hash.hpp>
#include <feldspar/base/random.hpp>
#include <feldspar/base/random_subset.hpp>
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

// Asks for memory before it is needed; where the compiler has no word for that, nothing happens.
inline void prefetch([[maybe_unused]] const void* address) noexcept {
#if defined(__GNUC__)
  __builtin_prefetch(address);
#endif
}

// Words in chunks that never move: no copy of everything when it grows.
class WordPool {
 public:
  // A place for n words in a row, below 2^20.
  std::uint64_t allocate(std::size_t n) {
    if (used_ + n > kChunk || chunks_.empty()) {
      chunks_.push_back(std::make_unique_for_overwrite<std::uint32_t[]>(kChunk));
      used_ = 0;
    }
    const std::uint64_t place = (chunks_.size() - 1) * kChunk + used_;
    used_ += n;
    return place;
  }
  std::uint32_t* at(std::uint64_t place) const noexcept {
    return chunks_[place / kChunk].get() + place % kChunk;
  }

  static constexpr std::size_t kChunk = std::size_t{1} << 20;

 private:
  std::vector<std::unique_ptr<std::uint32_t[]>> chunks_;
  std::size_t used_ = 0;
};

// Bits that the code of any variable fits in.
inline std::size_t most_code_bits(const Schema& schema) {
  int most = 0;
  for (Variable v = 0; v < schema.n_variables(); ++v)
    most = std::max(most, static_cast<int>(std::bit_width(schema.cardinality(v) - 1u)));
  return static_cast<std::size_t>(most);
}

class GeneralizationMultiset {
 public:
  GeneralizationMultiset(const Dataset& data, InitialFeatures initial, std::uint64_t seed);

  std::uint64_t size() const noexcept { return size_; }

  // Adds n generalisations of random members; false if no member has three tests.
  bool grow(std::size_t n);

  // The conjunctions of at least one test that are there more than `threshold` times.
  FeatureSet more_frequent_than(std::uint32_t threshold) const;

 private:
  using Node = std::uint32_t;
  static constexpr Node kNone = std::numeric_limits<Node>::max();

  struct NodeData {
    std::uint64_t place;   // of its words
    Row example;           // the words' bits are the variables whose values in this row are tested;
                           // kNone: the words are the atoms
    std::uint32_t length;  // number of tests
    std::uint32_t count;
  };
  struct Slot {
    std::uint32_t hash = 0;
    Node node = kNone;
  };

  // A generalisation that is decided on but for its tests: whose, and how many tests it loses.
  struct Draw {
    std::size_t parent;  // a place in drawable_
    std::uint32_t n_dropped;
    Row example = 0;
    std::uint32_t hash = 0;
    std::vector<Atom> atoms;
  };

  std::size_t n_words() const noexcept { return words_for(schema_.n_variables()); }
  // Codes in bits: a row of a thousand variables is two cache lines and not thirty.
  const Word* example(Row r) const noexcept { return codes_.data() + r * n_slices_ * n_words(); }
  Atom atom_of(const Word* codes, std::size_t v) const noexcept {
    std::size_t code = 0;
    for (std::size_t slice = 0; slice < n_slices_; ++slice, codes += n_words())
      code |= ((codes[v / kWordBits] >> (v % kWordBits)) & 1) << slice;
    return static_cast<Atom>(offsets_[v] + code);
  }

  void draw(std::span<Draw> draws);
  void fetch_parents(std::span<const Draw> draws) const;
  void generalize(Draw& draw);
  void add(std::span<const Atom> atoms, std::uint32_t hash, Row example);
  Node find_or_insert(std::span<const Atom> atoms, std::uint32_t hash, Row example);
  NodeData write(std::span<const Atom> atoms, Row example);
  void read(const NodeData& node, std::vector<Atom>& atoms) const;
  std::uint32_t hash(std::span<const Atom> atoms) const noexcept;
  void grow_table();

  Schema schema_;
  std::vector<std::size_t> offsets_;      // by variable: its first atom
  std::vector<Variable> variable_of_;     // by atom
  std::vector<std::uint32_t> atom_hash_;  // by atom
  std::size_t n_slices_;                  // bits of a code
  std::vector<Word> codes_;               // by example and slice: a bit for each variable
  std::size_t n_bit_words_;               // of a set of variables
  Random choices_;                        // of members, and of how many tests they lose
  Random drops_;                          // of the tests
  std::uint64_t size_ = 0;
  std::vector<NodeData> nodes_;
  WordPool words_;
  std::vector<Node> drawable_;  // the members of three tests or more, as often as they are there
  std::vector<std::uint32_t> lengths_;  // of drawable_; ahead of it while draws are decided on
  std::vector<Slot> table_;             // open addressing by hash, size a power of two
  std::vector<Draw> draws_;
  std::vector<Word> kept_, dropped_;  // tests of the member that is generalised
  std::vector<Atom> other_;           // one to compare another with
};

inline GeneralizationMultiset::GeneralizationMultiset(const Dataset& data, InitialFeatures initial,
                                                      std::uint64_t seed)
    : schema_(data.schema()),
      offsets_(value_offsets(schema_)),
      n_slices_(most_code_bits(schema_)),
      codes_(data.n_rows() * n_slices_ * words_for(data.n_variables())),
      n_bit_words_((data.n_variables() + 31) / 32),
      choices_(seed, {"generate features", 0}),
      drops_(seed, {"generate features", 1}),
      table_(1024) {
  for (Variable v = 0; v < data.n_variables(); ++v) {
    variable_of_.insert(variable_of_.end(), schema_.cardinality(v), v);
    const std::vector<Value> column = data.columns().codes(v);
    for (Row r = 0; r < data.n_rows(); ++r)
      for (std::size_t slice = 0; slice < n_slices_; ++slice)
        if ((column[r] >> slice) & 1)
          set_bit(std::span(codes_).subspan((r * n_slices_ + slice) * n_words(), n_words()), v);
  }
  for (std::size_t atom = 0; atom < variable_of_.size(); ++atom)
    atom_hash_.push_back(static_cast<std::uint32_t>(mix_bits(atom + 1)));
  std::vector<Atom> atoms;
  for (Row r = 0; r < data.n_rows(); ++r) {
    atoms.clear();
    for (Variable v = 0; v < data.n_variables(); ++v) {
      const Atom atom = atom_of(example(r), v);
      if (schema_.cardinality(v) > 1 && (initial == InitialFeatures::full || atom != offsets_[v]))
        atoms.push_back(atom);
    }
    if (!atoms.empty()) add(atoms, hash(atoms), r);
    if (atoms.size() > 2) lengths_.push_back(static_cast<std::uint32_t>(atoms.size()));
  }
}

// Where everything lies far apart, most of the time would go into waiting for memory. How long a
// generalisation will be is known before its tests are, and with it what can be drawn next: so a
// block of draws is decided on first, and what they need is fetched side by side.
inline bool GeneralizationMultiset::grow(std::size_t n) {
  constexpr std::size_t kBlock = 32;
  draws_.resize(kBlock);
  for (std::size_t done = 0; done < n; done += std::min(kBlock, n - done)) {
    if (lengths_.empty()) return false;
    const std::span<Draw> block(draws_.data(), std::min(kBlock, n - done));
    draw(block);
    fetch_parents(block);
    std::size_t added = 0;
    const auto add_until = [&](std::size_t end) {
      for (; added < end; ++added) add(block[added].atoms, block[added].hash, block[added].example);
    };
    for (std::size_t i = 0; i < block.size(); ++i) {
      if (block[i].parent >= drawable_.size()) add_until(i);  // the parent is of this block
      generalize(block[i]);
    }
    add_until(block.size());
  }
  return true;
}

inline void GeneralizationMultiset::draw(std::span<Draw> draws) {
  for (Draw& draw : draws) {
    draw.parent = choices_.below(lengths_.size());
    const std::uint32_t length = lengths_[draw.parent];
    draw.n_dropped = 1 + static_cast<std::uint32_t>(choices_.below(length - 2));
    if (length - draw.n_dropped > 2) lengths_.push_back(length - draw.n_dropped);
    if (draw.parent < drawable_.size()) prefetch(&drawable_[draw.parent]);
  }
}

inline void GeneralizationMultiset::fetch_parents(std::span<const Draw> draws) const {
  for (const Draw& draw : draws)
    if (draw.parent < drawable_.size()) prefetch(&nodes_[drawable_[draw.parent]]);
  for (const Draw& draw : draws) {
    if (draw.parent >= drawable_.size()) continue;
    const NodeData& node = nodes_[drawable_[draw.parent]];
    prefetch(words_.at(node.place));
    if (node.example != kNone) prefetch(example(node.example));
  }
}

// Keeps l - n of the parent's l atoms, in their order, all choices equally likely.
inline void GeneralizationMultiset::generalize(Draw& draw) {
  const NodeData& parent = nodes_[drawable_[draw.parent]];
  draw.example = parent.example;
  const std::uint32_t* words = words_.at(parent.place);
  const bool is_list = parent.example == kNone;
  kept_.resize(words_for(is_list ? parent.length : schema_.n_variables()));
  if (is_list) {
    fill_bits(kept_, parent.length);  // by place in the list; else by variable
  } else {
    for (std::size_t w = 0; w < kept_.size(); ++w) {
      const bool has_upper = 2 * w + 1 < n_bit_words_;
      kept_[w] = words[2 * w] | (has_upper ? Word{words[2 * w + 1]} << 32 : 0);
    }
  }
  dropped_.resize(kept_.size());
  const std::size_t n_kept = parent.length - draw.n_dropped;
  keep_random_bits(kept_, parent.length, n_kept, dropped_, drops_);
  draw.atoms.resize(n_kept);
  Atom* next = draw.atoms.data();
  if (is_list) {
    for_each_bit(kept_, [&](std::size_t i) { *next++ = words[i]; });
  } else {
    const Word* codes = example(parent.example);
    for_each_bit(kept_, [&](std::size_t v) { *next++ = atom_of(codes, v); });
  }
  draw.hash = hash(draw.atoms);
  prefetch(&table_[draw.hash & (table_.size() - 1)]);
}

// A conjunction made of tests that hold in the example joins the multiset.
inline void GeneralizationMultiset::add(std::span<const Atom> atoms, std::uint32_t hash,
                                        Row example) {
  const Node node = find_or_insert(atoms, hash, example);
  if (atoms.size() > 2) drawable_.push_back(node);
  ++size_;
}

inline GeneralizationMultiset::Node GeneralizationMultiset::find_or_insert(
    std::span<const Atom> atoms, std::uint32_t hash, Row example) {
  const std::size_t mask = table_.size() - 1;
  std::size_t slot = hash & mask;
  for (; table_[slot].node != kNone; slot = (slot + 1) & mask) {
    if (table_[slot].hash != hash) continue;
    NodeData& found = nodes_[table_[slot].node];
    if (found.length != atoms.size()) continue;
    read(found, other_);
    if (!std::ranges::equal(other_, atoms)) continue;
    ++found.count;
    return table_[slot].node;
  }
  const auto node = static_cast<Node>(nodes_.size());
  nodes_.push_back(write(atoms, example));
  table_[slot] = {hash, node};
  if (4 * nodes_.size() > 3 * table_.size()) grow_table();
  return node;
}

inline std::uint32_t GeneralizationMultiset::hash(std::span<const Atom> atoms) const noexcept {
  std::uint32_t sum = 0;
  for (const Atom atom : atoms) sum += atom_hash_[atom];
  return static_cast<std::uint32_t>(mix_bits(sum));
}

inline GeneralizationMultiset::NodeData GeneralizationMultiset::write(std::span<const Atom> atoms,
                                                                      Row example) {
  const auto length = static_cast<std::uint32_t>(atoms.size());
  if (example == kNone || length <= n_bit_words_) {
    const std::uint64_t place = words_.allocate(length);
    std::ranges::copy(atoms, words_.at(place));
    return {place, kNone, length, 1};
  }
  const std::uint64_t place = words_.allocate(n_bit_words_);
  std::uint32_t* bits = words_.at(place);
  std::fill_n(bits, n_bit_words_, 0u);
  for (const Atom atom : atoms) {
    const Variable v = variable_of_[atom];
    bits[v / 32] |= 1u << (v % 32);
  }
  return {place, example, length, 1};
}

inline void GeneralizationMultiset::read(const NodeData& node, std::vector<Atom>& atoms) const {
  atoms.resize(node.length);
  const std::uint32_t* words = words_.at(node.place);
  if (node.example == kNone) {
    std::copy_n(words, node.length, atoms.data());
    return;
  }
  const Word* codes = example(node.example);
  Atom* next = atoms.data();
  for (std::size_t w = 0; w < n_bit_words_; ++w)
    for (std::uint32_t bits = words[w]; bits != 0; bits &= bits - 1) {
      const std::size_t v = 32 * w + static_cast<std::size_t>(std::countr_zero(bits));
      *next++ = atom_of(codes, v);
    }
}

inline void GeneralizationMultiset::grow_table() {
  std::vector<Slot> smaller(2 * table_.size());
  smaller.swap(table_);
  const std::size_t mask = table_.size() - 1;
  for (const Slot& one : smaller) {
    if (one.node == kNone) continue;
    std::size_t slot = one.hash & mask;
    while (table_[slot].node != kNone) slot = (slot + 1) & mask;
    table_[slot] = one;
  }
}

inline FeatureSet GeneralizationMultiset::more_frequent_than(std::uint32_t threshold) const {
  FeatureSetBuilder builder(schema_);
  std::vector<Test> tests;
  for (Variable v = 0; v < schema_.n_variables(); ++v)
    for (Value value = 1; value < schema_.cardinality(v); ++value)
      builder.add({&v, 1}, {&value, 1});
  std::vector<Atom> atoms;
  for (const NodeData& node : nodes_) {
    if (node.count <= threshold) continue;
    read(node, atoms);
    tests.clear();
    for (const Atom atom : atoms) {
      const Variable v = variable_of_[atom];
      tests.push_back({v, static_cast<ValueSetId>(atom - offsets_[v])});  // {a} has number a
    }
    builder.add_canonical(tests);
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
      can_grow = multiset.grow(std::min(size - multiset.size(), kBetweenLooks));
    }
    survivors.emplace_back();
    for (const std::uint32_t threshold : options.thresholds)
      survivors.back().push_back(multiset.more_frequent_than(threshold));
  }
  return survivors;
}

}  // namespace feldspar
