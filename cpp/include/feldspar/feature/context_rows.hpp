// Where a conjunction's contexts hold: for each of its tests, the rows that pass all the others.
//
// The conditional distributions that the conjunction has a say in are those of its variables on
// these rows. Cost: two intersections of packed rows a test. The buffers are reused.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/data/packed_columns.hpp>
#include <feldspar/feature/feature_set.hpp>

namespace feldspar {

class ContextRows {
 public:
  void find(std::span<const Test> tests, const ValueSets& sets, const PackedColumns& columns) {
    n_tests_ = tests.size();
    n_words_ = columns.n_words();
    contexts_.resize(n_tests_ * n_words_);
    matched_.resize(n_words_);
    others_.resize(n_words_);
    fill_bits(matched_, columns.n_rows());
    for (std::size_t i = 0; i < n_tests_; ++i) {  // the tests before each
      std::ranges::copy(matched_, context_begin(i));
      columns.intersect(tests[i].variable, sets[tests[i].values], matched_);
    }
    fill_bits(others_, columns.n_rows());
    for (std::size_t i = n_tests_; i-- > 0;) {  // and those after
      const auto context = context_begin(i);
      for (std::size_t w = 0; w < n_words_; ++w)
        context[static_cast<std::ptrdiff_t>(w)] &= others_[w];
      columns.intersect(tests[i].variable, sets[tests[i].values], others_);
    }
  }

  std::size_t n_tests() const noexcept { return n_tests_; }
  std::span<const Word> context(std::size_t i) const noexcept {
    return {contexts_.data() + i * n_words_, n_words_};
  }
  // The rows that pass all tests.
  std::span<const Word> matched() const noexcept { return matched_; }

 private:
  std::vector<Word>::iterator context_begin(std::size_t i) {
    return contexts_.begin() + static_cast<std::ptrdiff_t>(i * n_words_);
  }

  std::size_t n_tests_ = 0, n_words_ = 0;
  std::vector<Word> contexts_, matched_, others_;
};

}  // namespace feldspar
