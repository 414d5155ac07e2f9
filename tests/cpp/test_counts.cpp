#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/hash.hpp>
#include <feldspar/data/counts.hpp>

namespace test_counts {

using namespace feldspar;

namespace {

struct Rows {
  std::vector<Value> cardinalities;
  std::vector<std::int32_t> codes;
  std::vector<double> weights;

  std::size_t n_rows() const { return weights.size(); }
  std::int32_t code(std::size_t r, std::size_t v) const {
    return codes[r * cardinalities.size() + v];
  }
};

// `unit` is the smallest difference between weights: 1 makes whole numbers, 0.25 fractions.
Rows random_rows(std::vector<Value> cardinalities, std::size_t n, unsigned levels, double unit) {
  Rows rows{std::move(cardinalities), {}, {}};
  std::uint64_t state = 7;
  for (std::size_t r = 0; r < n; ++r) {
    for (const Value c : rows.cardinalities)
      rows.codes.push_back(static_cast<std::int32_t>(mix_bits(++state) % c));
    rows.weights.push_back(unit * static_cast<double>(1 + mix_bits(++state) % levels));
  }
  return rows;
}

double naive(const Rows& rows, std::size_t i, int a, std::size_t j, int b) {
  double sum = 0;
  for (std::size_t r = 0; r < rows.n_rows(); ++r)
    if (rows.code(r, i) == a && rows.code(r, j) == b) sum += rows.weights[r];
  return sum;
}

void check_against_naive(const Rows& rows) {
  const PairCounts counts(Dataset::merge(Schema(rows.cardinalities), rows.codes, rows.weights));
  for (Variable i = 0; i < rows.cardinalities.size(); ++i)
    for (Value a = 0; a < rows.cardinalities[i]; ++a) {
      CHECK(counts.count(i, a) == doctest::Approx(naive(rows, i, a, i, a)));
      for (Variable j = 0; j < rows.cardinalities.size(); ++j)
        for (Value b = 0; j != i && b < rows.cardinalities[j]; ++b)
          CHECK(counts.count(i, a, j, b) == doctest::Approx(naive(rows, i, a, j, b)));
    }
}

}  // namespace

TEST_CASE("pair counts agree with counting row by row") {
  SUBCASE("unweighted, rows mostly distinct") {
    check_against_naive(random_rows({2, 2, 200, 3}, 130, 1, 1.0));
  }
  SUBCASE("whole weights, many repeated rows") {
    check_against_naive(random_rows({2, 3, 2, 5, 2}, 500, 9, 1.0));
  }
  SUBCASE("fractions") { check_against_naive(random_rows({2, 3, 4}, 300, 9, 0.3)); }
  SUBCASE("a variable with one value") { check_against_naive(random_rows({2, 1, 3}, 70, 3, 1.0)); }
}

TEST_CASE("few rows and many rows are counted exactly, whatever their weights") {
  for (const double unit : {1.0, 0.25}) {
    const Rows rows = random_rows(std::vector<Value>(12, 2), 3000, 9, unit);
    const Dataset data = Dataset::merge(Schema(rows.cardinalities), rows.codes, rows.weights);
    const WeightedCounter counter(data);
    std::vector<Word> some(data.columns().n_words()), all = some;
    fill_bits(all, data.n_rows());
    double expected = 0;
    for (std::size_t r = 0; r < data.n_rows(); ++r) {
      set_bit(some, r);
      expected += data.weights()[r];
      CHECK(counter.count(some) == expected);
      CHECK(counter.count(some, all) == expected);
    }
  }
}

TEST_CASE("one row that weighs much is counted among many that do not") {
  Rows rows = random_rows(std::vector<Value>(12, 2), 500, 1, 1.0);
  rows.weights[130] = 1'000'003;
  const Dataset data = Dataset::merge(Schema(rows.cardinalities), rows.codes, rows.weights);
  const WeightedCounter counter(data);
  std::vector<Word> all(data.columns().n_words());
  fill_bits(all, data.n_rows());
  CHECK(counter.count(all) == 499 + 1'000'003);
  for (Variable v = 0; v < 12; ++v) {
    std::vector<Word> ones = all;
    const Value one = 1;
    data.columns().intersect(v, {&one, 1}, ones);
    double expected = 0;
    for_each_bit(ones, [&](std::size_t r) { expected += data.weights()[r]; });
    CHECK(counter.count(ones, all) == expected);
  }
}

TEST_CASE("pair counts do not depend on the number of threads") {
  const Rows rows = random_rows({2, 3, 2, 2, 4}, 300, 9, 0.3);
  const Dataset data = Dataset::merge(Schema(rows.cardinalities), rows.codes, rows.weights);
  const PairCounts one(data, {1, nullptr}), three(data, {3, nullptr});
  for (Variable i = 0; i < 5; ++i)
    for (Variable j = 0; j < i; ++j) CHECK(one.count(i, 1, j, 1) == three.count(i, 1, j, 1));
}

}  // namespace test_counts
