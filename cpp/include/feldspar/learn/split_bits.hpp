// The data as a tree learner wants them: for a set of rows, the bits of every test that could split
// it, arranged so that the weight of each value of the target among the rows that pass is a
// population count.
//
// SplitData, made once for all trees, lists the candidate tests "X = v" and holds a bit for each row
// and test. Weights are whole numbers of units (exact_weights.hpp); a row stands once for every
// binary digit of its weight, in the group of that digit, so no weight is ever looked up: what
// passes in a group counts 2^digit.
//
// NodeBits holds the same for the rows that reach one node of a tree, packed without gaps and
// sorted by (digit, value of the target). Words are laid out test by test, all tests of the first 64
// rows first, since everything that is done to a word is done to that word of all tests: a split
// compresses each word to the bits of the rows on either side.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/compress_bits.hpp>
#include <feldspar/base/simd.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/data/exact_weights.hpp>

namespace feldspar::detail {

struct SplitTest {
  Variable variable;
  Value value;
};

// The tests that can tell rows apart, by variable, then value. Those of a binary variable, X = 0
// and X = 1, are the same split with its sides exchanged: X = 1 stands for both.
inline std::vector<SplitTest> split_tests(const Schema& schema) {
  std::vector<SplitTest> tests;
  for (Variable v = 0; v < schema.n_variables(); ++v) {
    const Value cardinality = schema.cardinality(v);
    if (cardinality == 2) tests.push_back({v, 1});
    for (Value value = 0; cardinality > 2 && value < cardinality; ++value)
      tests.push_back({v, value});
  }
  return tests;
}

// Some rows of one word that belong to the same digit and the same value of the target.
struct Piece {
  std::uint32_t word;
  std::uint32_t group;  // digit * values of the target + value
  Word rows;
};

// Some rows of one word; what is left of them after a split stays together.
struct Run {
  std::size_t word;
  Word rows;
};

class SplitData {
 public:
  SplitData(const Dataset& data, const ExactWeights& weights);

  const std::vector<SplitTest>& tests() const noexcept { return tests_; }
  std::size_t n_digits() const noexcept { return n_digits_; }
  const Word* words() const noexcept { return bits_.data(); }  // [word][test]

  // All rows by digit, then by value of the target.
  std::vector<Piece> pieces(const PackedColumns& columns, Variable target) const;

 private:
  std::vector<Word> spread(std::span<const Word> rows) const;

  std::vector<SplitTest> tests_;
  std::vector<Row> row_of_;            // by place; places without a row are left out of `filled_`
  std::vector<Word> filled_;           // by word
  std::vector<std::uint32_t> digit_;   // by word
  std::size_t n_digits_ = 0;
  std::vector<Word> bits_;
};

inline SplitData::SplitData(const Dataset& data, const ExactWeights& weights)
    : tests_(split_tests(data.schema())) {
  std::uint64_t all = 0;
  for (const std::uint64_t units : weights.units) all |= units;
  n_digits_ = static_cast<std::size_t>(std::bit_width(all));
  for (std::uint32_t digit = 0; digit < n_digits_; ++digit) {
    std::size_t n = 0;
    for (Row r = 0; r < data.n_rows(); ++r)
      if ((weights.units[r] >> digit) & 1) {
        if (n++ % kWordBits == 0) {
          row_of_.resize(filled_.size() * kWordBits);
          filled_.push_back(0);
          digit_.push_back(digit);
        }
        row_of_.push_back(r);
        filled_.back() = (filled_.back() << 1) | 1;
      }
  }
  row_of_.resize(filled_.size() * kWordBits);
  bits_.resize(filled_.size() * tests_.size());
  std::vector<Word> rows(data.columns().n_words());
  for (std::size_t t = 0; t < tests_.size(); ++t) {
    fill_bits(rows, data.n_rows());
    data.columns().intersect(tests_[t].variable, {&tests_[t].value, 1}, rows);
    const std::vector<Word> places = spread(rows);
    for (std::size_t w = 0; w < places.size(); ++w) bits_[w * tests_.size() + t] = places[w];
  }
}

// A set of rows as a set of places.
inline std::vector<Word> SplitData::spread(std::span<const Word> rows) const {
  std::vector<Word> places(filled_.size());
  for (std::size_t w = 0; w < places.size(); ++w) {
    Word word = 0;
    for (std::size_t bit = 0; bit < kWordBits; ++bit)
      word |= static_cast<Word>(test_bit(rows, row_of_[w * kWordBits + bit])) << bit;
    places[w] = word & filled_[w];
  }
  return places;
}

inline std::vector<Piece> SplitData::pieces(const PackedColumns& columns, Variable target) const {
  const std::size_t n_values = columns.schema().cardinality(target);
  std::vector<std::vector<Word>> places;
  std::vector<Word> rows(columns.n_words());
  for (Value value = 0; value < n_values; ++value) {
    fill_bits(rows, columns.n_rows());
    columns.intersect(target, {&value, 1}, rows);
    places.push_back(spread(rows));
  }
  std::vector<Piece> pieces;
  for (std::size_t first = 0, end = 0; first < digit_.size(); first = end) {
    while (end < digit_.size() && digit_[end] == digit_[first]) ++end;
    for (std::size_t value = 0; value < n_values; ++value)
      for (std::size_t w = first; w < end; ++w)
        if (places[value][w] != 0)
          pieces.push_back({static_cast<std::uint32_t>(w),
                            static_cast<std::uint32_t>(digit_[first] * n_values + value),
                            places[value][w]});
  }
  return pieces;
}

// The rows that reach a node, as a view: of SplitData at the root, of NodeBits below.
struct NodeRows {
  const Word* words;   // [word][test]
  std::size_t n_tests;
  std::span<const Piece> pieces;  // by group
  std::span<const Run> runs;      // the same rows in the same order
  std::size_t n_values;           // of the target

  Word passed(std::size_t word, std::size_t test) const noexcept {
    return words[word * n_tests + test];
  }
};

// What a node below the root owns.
struct NodeBits {
  std::vector<std::uint32_t> tests;    // the numbers of its tests in SplitData
  std::vector<std::uint32_t> lengths;  // by group: how many rows
  std::vector<Word> words;

  // Rows by group, as they stand in `words`.
  void list_rows(std::vector<Piece>& pieces, std::vector<Run>& runs) const {
    pieces.clear();
    runs.clear();
    std::size_t place = 0;
    for (std::uint32_t group = 0; group < lengths.size(); ++group)
      for (std::size_t end = place + lengths[group]; place < end;) {
        const std::size_t word = place / kWordBits, bit = place % kWordBits;
        const std::size_t here = std::min(end - place, kWordBits - bit);
        const Word rows = tail_mask(here) << bit;
        pieces.push_back({static_cast<std::uint32_t>(word), group, rows});
        if (bit == 0) runs.push_back({word, 0});
        runs.back().rows |= rows;
        place += here;
      }
  }
};

// counts[value][test]: how much of each value of the target passes each test, in units.
struct CountKernel {
  FELDSPAR_ALWAYS_INLINE void operator()(const NodeRows* node, std::uint64_t* counts) const noexcept {
    const std::size_t n = node->n_tests;
    std::fill_n(counts, n * node->n_values, 0);
    for (const Piece& piece : node->pieces) {
      const Word* words = node->words + piece.word * n;
      const std::size_t digit = piece.group / node->n_values;
      std::uint64_t* own = counts + piece.group % node->n_values * n;
      for (std::size_t i = 0; i < n; ++i)
        own[i] += static_cast<std::uint64_t>(std::popcount(words[i] & piece.rows)) << digit;
    }
  }
};

// Rows that are being moved into the words of a child, one run after the other.
struct Filling {
  Word* words;  // all zero at first
  std::size_t n_rows = 0;

  // Takes the bits of `rows` from word[i] of each of n tests.
  FELDSPAR_ALWAYS_INLINE void append(const Word* word, std::size_t n, Word rows) noexcept {
    if (rows == 0) return;
    const BitCompressor compress(rows);
    const std::size_t used = n_rows % kWordBits;
    Word* low = words + n_rows / kWordBits * n;
    n_rows += static_cast<std::size_t>(std::popcount(rows));
    if (used + static_cast<std::size_t>(std::popcount(rows)) <= kWordBits) {
      for (std::size_t i = 0; i < n; ++i) low[i] |= compress(word[i]) << used;
      return;
    }
    for (std::size_t i = 0; i < n; ++i) {
      const Word packed = compress(word[i]);
      low[i] |= packed << used;
      low[n + i] = packed >> (kWordBits - used);
    }
  }
};

// Moves the rows of a node to its children, the bits of the tests `kept` only; a child that needs
// no bits has no words. `gathered` has room for as many words as there are tests kept.
struct PartitionKernel {
  FELDSPAR_ALWAYS_INLINE void operator()(const NodeRows* node, std::size_t split,
                                         std::span<const std::uint32_t> kept, Word* gathered,
                                         Word* yes_words, Word* no_words) const noexcept {
    Filling yes{yes_words}, no{no_words};
    for (const Run& run : node->runs) {
      const Word* words = node->words + run.word * node->n_tests;
      for (std::size_t i = 0; i < kept.size(); ++i) gathered[i] = words[kept[i]];
      if (yes_words != nullptr) yes.append(gathered, kept.size(), run.rows & words[split]);
      if (no_words != nullptr) no.append(gathered, kept.size(), run.rows & ~words[split]);
    }
  }
};

}  // namespace feldspar::detail
