// objective/weighted_gram.hpp: exact where it is, near and positive semi-definite where it is not.
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include <Eigen/Core>
#include <Eigen/Eigenvalues>

#include <feldspar/base/bits.hpp>
#include <feldspar/objective/weighted_gram.hpp>

#include "support/compare.hpp"
#include "support/random_models.hpp"
#include "support/simd_levels.hpp"

namespace test_weighted_gram {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

struct Columns {
  std::vector<std::vector<Word>> words;
  Eigen::MatrixXd dense;

  Columns(Dice& dice, std::size_t n_rows, std::size_t n_columns, double density)
      : words(n_columns, std::vector<Word>(words_for(n_rows), 0)),
        dense(Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(n_rows),
                                    static_cast<Eigen::Index>(n_columns))) {
    for (std::size_t c = 0; c < n_columns; ++c)
      for (std::size_t r = 0; r < n_rows; ++r)
        if (dice.chance(density)) {
          set_bit(words[c], r);
          dense(static_cast<Eigen::Index>(r), static_cast<Eigen::Index>(c)) = 1;
        }
  }

  std::vector<std::span<const Word>> views() const { return {words.begin(), words.end()}; }
  Eigen::MatrixXd gram(const std::vector<double>& d) const {
    const Eigen::Map<const Eigen::VectorXd> weights(d.data(), static_cast<Eigen::Index>(d.size()));
    return dense.transpose() * weights.asDiagonal() * dense;
  }
};

// Largest difference relative to the geometric mean of the diagonals.
double relative_error(const Eigen::MatrixXd& got, const Eigen::MatrixXd& exact) {
  double worst = 0;
  for (Eigen::Index i = 0; i < exact.rows(); ++i)
    for (Eigen::Index j = 0; j < exact.cols(); ++j)
      worst =
          std::max(worst, std::abs(got(i, j) - exact(i, j)) / std::sqrt(exact(i, i) * exact(j, j)));
  return worst;
}

double least_eigenvalue(const Eigen::MatrixXd& m) {
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(m).eigenvalues().minCoeff();
}

}  // namespace

TEST_CASE("sparse columns are added up exactly") {
  Dice dice(1);
  const Columns columns(dice, 900, 60, 0.05);
  const std::vector<double> d = dice.numbers(900, 0.0, 3.0);
  const Eigen::MatrixXd gram = weighted_gram(columns.views(), d);
  CHECK((gram - columns.gram(d)).cwiseAbs().maxCoeff() < 1e-11);
}

TEST_CASE("dense columns can be added up exactly too") {
  Dice dice(8);
  const Columns columns(dice, 500, 30, 0.6);
  const std::vector<double> d = dice.numbers(500, 0.0, 3.0);
  const Eigen::MatrixXd exact = columns.gram(d);
  CHECK((weighted_gram(columns.views(), d, true) - exact).cwiseAbs().maxCoeff() < 1e-11);
  CHECK((weighted_gram(columns.views(), d) - exact).cwiseAbs().maxCoeff() > 1e-6);
}

TEST_CASE("dense columns are near, symmetric and positive semi-definite") {
  Dice dice(2);
  for (const std::size_t n_rows : {std::size_t{300}, std::size_t{1024}, std::size_t{2500}}) {
    CAPTURE(n_rows);
    const Columns columns(dice, n_rows, 37, 0.5);
    const std::vector<double> d = dice.numbers(n_rows, 0.0, 0.25);
    const Eigen::MatrixXd gram = weighted_gram(columns.views(), d);
    CHECK(relative_error(gram, columns.gram(d)) < 0.01);
    CHECK((gram - gram.transpose()).cwiseAbs().maxCoeff() == 0);
    CHECK(least_eigenvalue(gram) > -1e-9);
  }
}

TEST_CASE("weights of very different sizes are all heard") {
  // In one block: a few rows of great weight, most of a thousandth of it. A single digit would lose
  // the small ones.
  Dice dice(3);
  const Columns columns(dice, 1000, 20, 0.4);
  std::vector<double> d(1000), light(1000);
  for (std::size_t r = 0; r < 1000; ++r) {
    d[r] = r % 100 == 0 ? 1000.0 : dice.between(0.5, 1.5);
    light[r] = r % 100 == 0 ? 0.0 : d[r];
  }
  const Eigen::MatrixXd gram = weighted_gram(columns.views(), d);
  CHECK(relative_error(gram, columns.gram(d)) < 0.001);
  const Eigen::MatrixXd rest = gram - (columns.gram(d) - columns.gram(light));
  CHECK(relative_error(rest, columns.gram(light)) < 0.01);
}

TEST_CASE("rounding does not push in one direction") {
  // All weights are a third of a unit: rounding to the nearest would leave nothing of them.
  Dice dice(4);
  const Columns columns(dice, 4096, 10, 0.5);
  std::vector<double> d(4096, 1.0 / 3);
  for (std::size_t r = 0; r < 4096; r += 8) d[r] = 63.0;
  std::vector<double> light(d);
  for (std::size_t r = 0; r < 4096; r += 8) light[r] = 0;
  const Eigen::MatrixXd rest =
      weighted_gram(columns.views(), d) - (columns.gram(d) - columns.gram(light));
  CHECK(relative_error(rest, columns.gram(light)) < 0.1);
}

TEST_CASE("equal columns stay equal") {
  Dice dice(5);
  Columns columns(dice, 800, 6, 0.5);
  columns.words[4] = columns.words[1];
  const Eigen::MatrixXd gram = weighted_gram(columns.views(), dice.numbers(800, 0.0, 1.0));
  CHECK((gram.row(4) - gram.row(1)).cwiseAbs().maxCoeff() == 0);
}

TEST_CASE("no rows with weight, no columns") {
  Dice dice(6);
  const Columns columns(dice, 100, 3, 0.5);
  CHECK(weighted_gram(columns.views(), std::vector<double>(100, 0.0)).isZero(0));
  CHECK(weighted_gram({}, std::vector<double>(100, 1.0)).size() == 0);
}

TEST_CASE("the kernel gives the same sums on every instruction set") {
  using Kernel = detail::MaskedByteSumsKernel;
  Dice dice(7);
  std::vector<std::uint64_t> weights(detail::kGramBlockWords), masks(8 * detail::kGramBlockWords);
  for (auto& w : weights) w = dice.bits() & 0x3f3f3f3f3f3f3f3fu;
  for (auto& m : masks) m = detail::kBitsAsBytes[dice.below(256)];
  std::vector<std::uint32_t> expected(8, 0);
  for (std::size_t c = 0; c < 8; ++c)
    for (std::size_t w = 0; w < weights.size(); ++w)
      for (unsigned byte = 0; byte < 64; byte += 8)
        expected[c] += static_cast<std::uint32_t>(
            ((weights[w] & masks[c * weights.size() + w]) >> byte) & 0xff);
  for (const SimdLevel level : simd_levels()) {
    std::vector<std::uint32_t> sums(8, 0);
    run_kernel<Kernel>(level, static_cast<const std::uint64_t*>(weights.data()),
                       static_cast<const std::uint64_t*>(masks.data()), std::size_t{5},
                       detail::kGramBlockWords, sums.data());
    CHECK(sums == expected);
  }
}

}  // namespace test_weighted_gram
