// Is X independent of Y, given the variables of a set S? Tests on weighted contingency tables.
//
// Rows that agree on S are a stratum, a table of the values of X and Y. Within a stratum, with sums
// n_xy, row sums n_x, column sums n_y and total n, independence expects e_xy = n_x n_y / n. The
// statistic, added up over strata, is
//
//   G = 2 sum n_xy log(n_xy / e_xy)    or    Pearson's    X^2 = sum (n_xy - e_xy)^2 / e_xy.
//
// Either is chi-square distributed where X and Y are independent given S, with (r - 1)(c - 1)
// degrees of freedom a stratum, r and c counting the values of X and Y seen in it. Where the rows
// are too few to tell, less than `min_weight_per_degree` for each degree of freedom, the test does
// not judge: p = 1.
//
// Cost: O(rows + strata x values) a test.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/gamma.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/dataset.hpp>

namespace feldspar {

enum class IndependenceStatistic { g, pearson };

// From the names that users know.
inline IndependenceStatistic independence_statistic(std::string_view name) {
  require(name == "g" || name == "chi2", "test must be 'g' or 'chi2', got '", name, "'");
  return name == "g" ? IndependenceStatistic::g : IndependenceStatistic::pearson;
}

struct IndependenceResult {
  double statistic = 0;
  double degrees = 0;  // of freedom
  double p = 1;
};

// The columns of a data set as codes, for those who look at them often.
struct CodedRows {
  explicit CodedRows(const Dataset& data)
      : cardinalities(data.schema().cardinalities().begin(), data.schema().cardinalities().end()),
        weights(data.weights().begin(), data.weights().end()),
        total_weight(data.total_weight()) {
    for (Variable v = 0; v < data.n_variables(); ++v) codes.push_back(data.columns().codes(v));
  }

  std::vector<Value> cardinalities;
  std::vector<std::vector<Value>> codes;  // by variable, by row
  std::vector<double> weights;
  double total_weight;
};

// Rows that agree on some variables have one number, below `count`.
struct Strata {
  std::vector<std::uint32_t> of_row;
  std::uint32_t count = 1;
};

inline Strata one_stratum(const CodedRows& rows) {
  return {std::vector<std::uint32_t>(rows.weights.size(), 0), 1};
}

// Tells rows apart by one more variable. Strata are numbered as they come.
inline Strata refine(const Strata& strata, const CodedRows& rows, Variable v) {
  constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> number(std::size_t{strata.count} * rows.cardinalities[v], kNone);
  Strata finer{std::vector<std::uint32_t>(strata.of_row.size()), 0};
  for (std::size_t r = 0; r < strata.of_row.size(); ++r) {
    std::uint32_t& own =
        number[std::size_t{strata.of_row[r]} * rows.cardinalities[v] + rows.codes[v][r]];
    if (own == kNone) own = finer.count++;
    finer.of_row[r] = own;
  }
  return finer;
}

inline Strata stratify(const CodedRows& rows, std::span<const Variable> given) {
  Strata strata = one_stratum(rows);
  for (const Variable v : given) strata = refine(strata, rows, v);
  return strata;
}

// Tests pairs of variables; it owns buffers and is for one thread.
class IndependenceTest {
 public:
  // Keeps a reference to `rows`.
  IndependenceTest(const CodedRows& rows, IndependenceStatistic statistic,
                   double min_weight_per_degree)
      : rows_(rows), statistic_(statistic), min_weight_per_degree_(min_weight_per_degree) {}

  IndependenceResult operator()(Variable x, Variable y, const Strata& strata) {
    const std::size_t n_x = rows_.cardinalities[x], n_y = rows_.cardinalities[y];
    counts_.assign(strata.count * n_x * n_y, 0.0);
    const std::vector<Value>&x_codes = rows_.codes[x], &y_codes = rows_.codes[y];
    for (std::size_t r = 0; r < rows_.weights.size(); ++r)
      counts_[(strata.of_row[r] * n_x + x_codes[r]) * n_y + y_codes[r]] += rows_.weights[r];
    IndependenceResult result;
    for (std::size_t s = 0; s < strata.count; ++s)
      add_stratum({counts_.data() + s * n_x * n_y, n_x * n_y}, n_x, n_y, result);
    if (result.degrees > 0 && rows_.total_weight >= min_weight_per_degree_ * result.degrees)
      result.p = chi_square_tail(result.statistic, result.degrees);
    return result;
  }

 private:
  void add_stratum(std::span<const double> table, std::size_t n_x, std::size_t n_y,
                   IndependenceResult& result) {
    x_sums_.assign(n_x, 0.0);
    y_sums_.assign(n_y, 0.0);
    for (std::size_t a = 0; a < n_x; ++a)
      for (std::size_t b = 0; b < n_y; ++b) {
        x_sums_[a] += table[a * n_y + b];
        y_sums_[b] += table[a * n_y + b];
      }
    double total = 0;
    int seen_x = 0, seen_y = 0;
    for (const double sum : x_sums_) {
      total += sum;
      seen_x += sum > 0;
    }
    for (const double sum : y_sums_) seen_y += sum > 0;
    if (seen_x < 2 || seen_y < 2) return;
    result.degrees += (seen_x - 1.0) * (seen_y - 1.0);
    for (std::size_t a = 0; a < n_x; ++a)
      for (std::size_t b = 0; b < n_y; ++b) {
        const double expected = x_sums_[a] * y_sums_[b] / total, seen = table[a * n_y + b];
        if (expected > 0) result.statistic += cell(seen, expected);
      }
    result.statistic = std::max(result.statistic, 0.0);  // G of a product table may round below
  }

  double cell(double seen, double expected) const {
    if (statistic_ == IndependenceStatistic::pearson)
      return (seen - expected) * (seen - expected) / expected;
    return seen > 0 ? 2 * seen * std::log(seen / expected) : 0.0;
  }

  const CodedRows& rows_;
  IndependenceStatistic statistic_;
  double min_weight_per_degree_;
  std::vector<double> counts_, x_sums_, y_sums_;
};

}  // namespace feldspar
