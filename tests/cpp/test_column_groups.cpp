// objective/column_groups.hpp: products with random 0/1 matrices of all densities, the slow way.
#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/objective/column_groups.hpp>

#include "support/brute_force.hpp"
#include "support/compare.hpp"
#include "support/random_models.hpp"

namespace test_column_groups {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

// A matrix as packed columns and densely.
struct Matrix {
  std::vector<std::vector<Word>> columns;
  DenseMatrix dense;

  Matrix(Dice& dice, std::size_t n_rows, std::size_t n_columns, double density)
      : columns(n_columns, std::vector<Word>(words_for(n_rows), 0)), dense(n_rows, n_columns) {
    for (std::size_t c = 0; c < n_columns; ++c)
      for (std::size_t r = 0; r < n_rows; ++r)
        if (dice.chance(density)) {
          set_bit(columns[c], r);
          dense.at(r, c) = 1;
        }
  }
};

void check_products(const Matrix& matrix, std::size_t n_columns, const ColumnGroups& groups,
                    Dice& dice) {
  REQUIRE(groups.n_columns() == n_columns);
  std::vector<double> u = dice.numbers(n_columns), v = dice.numbers(groups.n_rows());
  std::vector<double> all(u);
  all.resize(matrix.dense.n_columns, 0.0);
  std::vector<double> expected = matrix.dense.times(all, 1), product(groups.n_rows(), 0.5);
  for (double& x : expected) x += 0.5;
  groups.add_product(u, product);
  CHECK(distance(product, expected) < 1e-13);

  std::vector<double> back(n_columns, 7.0), transposed = matrix.dense.transpose_times(v, 1);
  transposed.resize(n_columns);
  groups.transpose_product(v, back);
  CHECK(distance(back, transposed) < 1e-13);
}

}  // namespace

TEST_CASE("products of dense, sparse, full and empty columns") {
  Dice dice(3);
  for (const double density : {0.0, 0.02, 0.2, 0.6, 1.0})
    for (const std::size_t n_columns : {std::size_t{1}, std::size_t{7}, std::size_t{75}}) {
      CAPTURE(density);
      CAPTURE(n_columns);
      const Matrix matrix(dice, 700, n_columns, density);
      ColumnGroups groups(700);
      for (const auto& rows : matrix.columns) groups.append(rows);
      check_products(matrix, n_columns, groups, dice);
    }
}

TEST_CASE("columns can be appended one by one") {
  Dice dice(4);
  const Matrix matrix(dice, 1000, 40, 0.4);
  ColumnGroups groups(1000);
  for (std::size_t c = 0; c < 40; ++c) {
    groups.append(matrix.columns[c]);
    check_products(matrix, c + 1, groups, dice);
  }
}

TEST_CASE("dense columns share a group as far as a byte goes, exclusive ones much further") {
  Dice dice(5);
  const Matrix dense(dice, 5000, 16, 0.5);
  ColumnGroups groups(5000);
  for (const auto& rows : dense.columns) groups.append(rows);
  CHECK(groups.n_groups() == 2);

  ColumnGroups exclusive(5000);
  for (std::size_t c = 0; c < 200; ++c) {
    std::vector<Word> rows(words_for(5000), 0);
    for (std::size_t r = c; r < 5000; r += 200) set_bit(rows, r);
    exclusive.append(rows);
  }
  CHECK(exclusive.n_groups() == 1);
}

TEST_CASE("columns without rows make no patterns, and yet have numbers of a byte") {
  Dice dice(6);
  Matrix matrix(dice, 100, 600, 0.0);
  for (const std::size_t c :
       {std::size_t{255}, std::size_t{256}, std::size_t{299}, std::size_t{599}})
    for (std::size_t r = c % 7; r < 100; r += 3) {
      set_bit(matrix.columns[c], r);
      matrix.dense.at(r, c) = 1;
    }
  ColumnGroups groups(100);
  for (const auto& rows : matrix.columns) groups.append(rows);
  check_products(matrix, 600, groups, dice);
}

TEST_CASE("no columns at all") {
  const ColumnGroups groups(10);
  std::vector<double> out(10, 2.0), none;
  groups.add_product(none, out);
  groups.transpose_product(out, none);
  CHECK(out == std::vector<double>(10, 2.0));
}

}  // namespace test_column_groups
