// Products with a 0/1 matrix X that is given by its columns: X u and X' v.
//
// Consecutive columns form groups. Within a group, the set of columns that are 1 on a row is the
// row's *pattern*; a group takes columns as long as its patterns can be numbered with a byte (eight
// dense columns, dozens of sparse or exclusive ones). A pattern is an earlier one plus a column, so
// that sums by column and sums by pattern turn into each other with one addition a pattern, and
//
//   X u    is one lookup a row and group,
//   X' v   is one addition into a table a row and group.
//
// Columns can be appended. Unlike PatternTable, which lists the rows that have a pattern and serves
// a fixed set of contexts over hundreds of evaluations, this is cheap to build (two operations for
// each 1 in X, one byte a row and group) for column sets that change all the time.
//
// Sums are added in a fixed order. Runs on the calling thread.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <feldspar/base/bits.hpp>

namespace feldspar {

class ColumnGroups {
 public:
  explicit ColumnGroups(std::size_t n_rows) : n_rows_(n_rows) {}

  // The next column is 1 on these packed rows.
  void append(std::span<const Word> rows) {
    if (groups_.empty() || !join(rows)) {
      groups_.push_back({.first_column = n_columns_});
      patterns_.resize(groups_.size() * n_rows_, 0);
      join(rows);
    }
    ++n_columns_;
  }

  std::size_t n_rows() const noexcept { return n_rows_; }
  std::size_t n_columns() const noexcept { return n_columns_; }
  std::size_t n_groups() const noexcept { return groups_.size(); }

  // out += X u
  void add_product(std::span<const double> u, std::span<double> out) const noexcept;

  // out = X' v
  void transpose_product(std::span<const double> v, std::span<double> out) const noexcept;

 private:
  static constexpr std::size_t kMaxPatterns = 256;
  static constexpr std::size_t kTogether = 4;  // groups in one pass over the rows

  using Pattern = std::uint8_t;
  using Table = std::array<double, kMaxPatterns>;

  struct Group {
    std::size_t first_column;
    std::size_t n_columns = 0;
    std::size_t n_patterns = 1;  // pattern 0 is the empty one
    // By pattern: the one it extends, and the column, counted within the group, that it adds.
    std::array<Pattern, kMaxPatterns> parent{};
    std::array<Pattern, kMaxPatterns> column{};
  };

  Pattern* patterns(std::size_t g) noexcept { return patterns_.data() + g * n_rows_; }
  const Pattern* patterns(std::size_t g) const noexcept { return patterns_.data() + g * n_rows_; }

  bool join(std::span<const Word> rows);

  static void spread(const Group& group, const double* u, Table& table) noexcept;
  static void fold(const Group& group, Table& table, double* out) noexcept;

  std::size_t n_rows_;
  std::size_t n_columns_ = 0;
  std::vector<Group> groups_;
  std::vector<Pattern> patterns_;  // group after group, by row
};

// Adds a column to the last group; if its patterns do not fit, changes nothing and returns false.
inline bool ColumnGroups::join(std::span<const Word> rows) {
  Group& group = groups_.back();
  if (group.n_columns == kMaxPatterns) return false;  // a column without rows takes a number only
  Pattern* pattern = patterns(groups_.size() - 1);
  std::array<Pattern, kMaxPatterns> child{};  // 0: not made yet
  std::size_t n_patterns = group.n_patterns;
  const auto take_back = [&](std::span<const Word> done) {
    for_each_bit(done, [&](std::size_t r) { pattern[r] = group.parent[pattern[r]]; });
  };
  for (std::size_t w = 0; w < rows.size(); ++w)
    for (Word rest = rows[w]; rest != 0; rest &= rest - 1) {
      const std::size_t r = w * kWordBits + static_cast<std::size_t>(std::countr_zero(rest));
      Pattern& made = child[pattern[r]];
      if (made == 0) {
        if (n_patterns == kMaxPatterns) {
          take_back(rows.first(w));
          for (Word done = rows[w] & ~rest; done != 0; done &= done - 1) {
            const std::size_t q = w * kWordBits + static_cast<std::size_t>(std::countr_zero(done));
            pattern[q] = group.parent[pattern[q]];
          }
          return false;
        }
        group.parent[n_patterns] = pattern[r];
        group.column[n_patterns] = static_cast<Pattern>(group.n_columns);
        made = static_cast<Pattern>(n_patterns++);
      }
      pattern[r] = made;
    }
  group.n_patterns = n_patterns;
  ++group.n_columns;
  return true;
}

// table[p] = sum of u over the columns of pattern p.
inline void ColumnGroups::spread(const Group& group, const double* u, Table& table) noexcept {
  table[0] = 0;
  for (std::size_t p = 1; p < group.n_patterns; ++p)
    table[p] = table[group.parent[p]] + u[group.column[p]];
}

// out[c] = sum of table over the patterns that have column c; uses the table up.
inline void ColumnGroups::fold(const Group& group, Table& table, double* out) noexcept {
  std::fill_n(out, group.n_columns, 0.0);
  for (std::size_t p = group.n_patterns; p-- > 1;) {
    out[group.column[p]] += table[p];
    table[group.parent[p]] += table[p];
  }
}

inline void ColumnGroups::add_product(std::span<const double> u,
                                      std::span<double> out) const noexcept {
  std::array<Table, kTogether> tables;
  std::size_t g = 0;
  for (; g + kTogether <= n_groups(); g += kTogether) {
    for (std::size_t i = 0; i < kTogether; ++i)
      spread(groups_[g + i], u.data() + groups_[g + i].first_column, tables[i]);
    const Pattern *a = patterns(g), *b = patterns(g + 1), *c = patterns(g + 2),
                  *d = patterns(g + 3);
    for (std::size_t r = 0; r < n_rows_; ++r)
      out[r] += (tables[0][a[r]] + tables[1][b[r]]) + (tables[2][c[r]] + tables[3][d[r]]);
  }
  for (; g < n_groups(); ++g) {
    spread(groups_[g], u.data() + groups_[g].first_column, tables[0]);
    const Pattern* a = patterns(g);
    for (std::size_t r = 0; r < n_rows_; ++r) out[r] += tables[0][a[r]];
  }
}

inline void ColumnGroups::transpose_product(std::span<const double> v,
                                            std::span<double> out) const noexcept {
  std::array<Table, kTogether> tables;
  std::size_t g = 0;
  for (; g + kTogether <= n_groups(); g += kTogether) {
    for (std::size_t i = 0; i < kTogether; ++i)
      std::fill_n(tables[i].begin(), groups_[g + i].n_patterns, 0.0);
    const Pattern *a = patterns(g), *b = patterns(g + 1), *c = patterns(g + 2),
                  *d = patterns(g + 3);
    for (std::size_t r = 0; r < n_rows_; ++r) {
      const double x = v[r];
      tables[0][a[r]] += x;
      tables[1][b[r]] += x;
      tables[2][c[r]] += x;
      tables[3][d[r]] += x;
    }
    for (std::size_t i = 0; i < kTogether; ++i)
      fold(groups_[g + i], tables[i], out.data() + groups_[g + i].first_column);
  }
  for (; g < n_groups(); ++g) {
    std::fill_n(tables[0].begin(), groups_[g].n_patterns, 0.0);
    const Pattern* a = patterns(g);
    for (std::size_t r = 0; r < n_rows_; ++r) tables[0][a[r]] += v[r];
    fold(groups_[g], tables[0], out.data() + groups_[g].first_column);
  }
}

}  // namespace feldspar
