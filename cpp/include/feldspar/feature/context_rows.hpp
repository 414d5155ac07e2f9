// Where a conjunction's contexts hold: for each of its tests, the rows that pass all the others.
//
// The conditional distributions that the conjunction has a say in are those of its variables on
// these rows. They are the rows that pass all tests, which every context has, and for each test
// those that fail it alone: together no more than there are rows, and for long conjunctions few.
// So they are kept as ascending lists, which a search can hold for all its features.
//
// Cost of finding them: two looks at the packed rows a test, and the rows found.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/packed_columns.hpp>
#include <feldspar/feature/feature_set.hpp>

namespace feldspar {

class ContextRows {
 public:
  // Whether they have been found.
  bool known() const noexcept { return !ends_.empty(); }
  std::size_t n_tests() const noexcept { return ends_.empty() ? 0 : ends_.size() - 1; }
  std::size_t n_rows() const noexcept { return rows_.size(); }

  // The rows that pass all tests,
  std::span<const Row> matched() const noexcept { return {rows_.data(), ends_[0]}; }
  // and those that pass all but the i-th.
  std::span<const Row> missed(std::size_t i) const noexcept {
    return {rows_.data() + ends_[i], ends_[i + 1] - ends_[i]};
  }

 private:
  friend class ContextFinder;

  std::vector<Row> rows_;            // matched, then missed by test
  std::vector<std::uint32_t> ends_;  // of each of these lists
};

// Owns buffers and is for one thread.
class ContextFinder {
 public:
  void find(std::span<const Test> tests, const ValueSets& sets, const PackedColumns& columns,
            ContextRows& found) {
    count_failures(tests, sets, columns);
    found.rows_.resize(count_bits(none_) + count_bits(one_));
    found.ends_.resize(tests.size() + 1);
    Row* next = found.rows_.data();
    const auto write = [&](std::size_t w, Word bits) {
      for (; bits != 0; bits &= bits - 1)
        *next++ =
            static_cast<Row>(w * kWordBits + static_cast<std::size_t>(std::countr_zero(bits)));
    };
    words_.clear();
    for (std::size_t w = 0; w < none_.size(); ++w) {
      write(w, none_[w]);
      if (one_[w] != 0) words_.push_back(w);
    }
    const auto end = [&] { return static_cast<std::uint32_t>(next - found.rows_.data()); };
    found.ends_[0] = end();
    for (std::size_t i = 0; i < tests.size(); ++i) {
      const Plane passes = plane(tests[i], sets, columns);
      for (const std::size_t w : words_) write(w, one_[w] & ~passes[w]);
      found.ends_[i + 1] = end();
    }
  }

 private:
  // The rows that pass a test; those of a binary variable are there already, or their opposite.
  struct Plane {
    const Word* words;
    Word flip;
    Word operator[](std::size_t w) const noexcept { return words[w] ^ flip; }
  };

  Plane plane(Test test, const ValueSets& sets, const PackedColumns& columns) {
    const auto values = sets[test.values];
    if (columns.n_slices(test.variable) == 1 && values.size() == 1)
      return {columns.slice(test.variable, 0).data(), values[0] == 1 ? Word{0} : ~Word{0}};
    passing_.resize(columns.n_words());
    fill_bits(passing_, columns.n_rows());
    columns.intersect(test.variable, values, passing_);
    return {passing_.data(), 0};
  }

  // The rows that fail none of the tests, and exactly one.
  void count_failures(std::span<const Test> tests, const ValueSets& sets,
                      const PackedColumns& columns) {
    none_.resize(columns.n_words());
    fill_bits(none_, columns.n_rows());
    one_.assign(columns.n_words(), 0);
    for (const Test test : tests) {
      const Plane passes = plane(test, sets, columns);
      Word* none = none_.data();
      Word* one = one_.data();
      for (std::size_t w = 0; w < none_.size(); ++w) {
        one[w] = (one[w] & passes[w]) | (none[w] & ~passes[w]);
        none[w] &= passes[w];
      }
    }
  }

  std::vector<Word> none_, one_, passing_;
  std::vector<std::size_t> words_;  // where some row fails one test
};

}  // namespace feldspar
