// The 0/1 columns "X_v takes its non-zero value u", one for every variable and u = 1 ... l - 1, as
// packed rows: what linear models of discrete data multiply their weights with. A binary variable
// is one column.
//
// Cost: one pass over the packed data for each column; memory of n_rows bits a column.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/packed_columns.hpp>
#include <feldspar/data/schema.hpp>

namespace feldspar {

struct Indicator {
  Variable variable;
  Value value;

  friend bool operator==(const Indicator&, const Indicator&) = default;
};

class IndicatorColumns {
 public:
  explicit IndicatorColumns(const PackedColumns& data)
      : n_rows_(data.n_rows()), n_words_(data.n_words()) {
    const Schema& schema = data.schema();
    for (Variable v = 0; v < schema.n_variables(); ++v) {
      for (Value u = 1; u < schema.cardinality(v); ++u) indicators_.push_back({v, u});
      first_.push_back(indicators_.size());
    }
    words_.resize(size() * n_words_);
    for (std::size_t c = 0; c < size(); ++c) {
      const std::span<Word> rows(words_.data() + c * n_words_, n_words_);
      fill_bits(rows, n_rows_);
      data.intersect(indicators_[c].variable, {&indicators_[c].value, 1}, rows);
    }
  }

  std::size_t size() const noexcept { return indicators_.size(); }
  std::size_t n_rows() const noexcept { return n_rows_; }

  // Columns are in the order of their variables, then values; those of v are first(v) ... first(v +
  // 1).
  std::size_t first(Variable v) const noexcept { return first_[v]; }
  Indicator operator[](std::size_t c) const noexcept { return indicators_[c]; }
  std::span<const Word> rows(std::size_t c) const noexcept {
    return {words_.data() + c * n_words_, n_words_};
  }

 private:
  std::size_t n_rows_, n_words_;
  std::vector<std::size_t> first_{0};
  std::vector<Indicator> indicators_;
  std::vector<Word> words_;
};

}  // namespace feldspar
