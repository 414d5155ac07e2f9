#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/monitor.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/learn/decision_tree.hpp>

#include "support/compare.hpp"
#include "support/random_models.hpp"
#include "support/slow_trees.hpp"
#include "support/stop_after.hpp"

namespace feldspar::test_grow_trees {
namespace {

using namespace testing;

struct Sample {
  Schema schema;
  Codes codes;
  std::vector<double> weights;

  Dataset dataset() const { return Dataset::merge(schema, codes, weights); }
};

Sample random_sample(std::uint64_t seed, std::size_t n_variables, Value least, Value most,
                     std::size_t n_rows) {
  Dice dice(seed);
  Sample sample{random_schema(dice, n_variables, least, most), {}, std::vector<double>(n_rows, 1)};
  sample.codes = random_codes(dice, sample.schema, n_rows);
  return sample;
}

// The same splits as grown the slow way; gains and distributions up to rounding.
void check_against_slow(const Sample& sample, const TreeOptions& options) {
  const auto trees = grow_trees(sample.dataset(), options);
  REQUIRE(trees.size() == sample.schema.n_variables());
  const double total = sample.dataset().total_weight();
  for (Variable target = 0; target < trees.size(); ++target) {
    CAPTURE(target);
    const DecisionTree slow =
        SlowTree(sample.schema, sample.codes, sample.weights, options, target).tree();
    const DecisionTree& tree = trees[target];
    REQUIRE(tree.nodes().size() == slow.nodes().size());
    for (NodeId id = 0; id < tree.nodes().size(); ++id) {
      TreeNode node = tree.nodes()[id];
      CHECK(std::abs(node.gain - slow.nodes()[id].gain) < 1e-13 * total * std::log(total));
      node.gain = slow.nodes()[id].gain;
      CHECK(node == slow.nodes()[id]);
      CHECK(distance(tree.log_probabilities(id), slow.log_probabilities(id)) < 1e-9);
    }
  }
}

TEST_CASE("trees are those of counting row by row") {
  for (const double min_leaf_weight : {0.0, 3.0, 10.0})
    for (const double kappa : {1.0, 0.1}) {
      CAPTURE(min_leaf_weight);
      CAPTURE(kappa);
      const TreeOptions options{kappa, min_leaf_weight, 1};
      check_against_slow(random_sample(1, 8, 2, 2, 700), options);
      check_against_slow(random_sample(2, 6, 1, 5, 500), options);
    }
  check_against_slow(random_sample(3, 5, 2, 4, 300), {0.5, 4, 0.3});
}

TEST_CASE("whole and fractional weights count as what they are") {
  Dice dice(5);
  for (const Value most : {Value{2}, Value{4}}) {
    Sample sample = random_sample(6 + most, 6, 2, most, 400);
    SUBCASE("whole") {
      for (double& w : sample.weights) w = static_cast<double>(dice.below(40));
    }
    SUBCASE("halves and quarters") {
      for (double& w : sample.weights) w = 0.25 * static_cast<double>(1 + dice.below(9));
    }
    SUBCASE("fractions") { sample.weights = dice.numbers(400, 0.0, 3.0); }
    SUBCASE("large and small") {
      for (double& w : sample.weights) w = std::exp(dice.between(-12.0, 12.0));
    }
    check_against_slow(sample, {1, 10, 1});
  }
}

// Columns of codes to a sample of binary variables.
Sample from_columns(const std::vector<std::vector<int>>& columns) {
  Sample sample{binary_schema(columns.size()), {}, std::vector<double>(columns[0].size(), 1.0)};
  for (std::size_t r = 0; r < columns[0].size(); ++r)
    for (const auto& column : columns) sample.codes.push_back(column[r]);
  return sample;
}

std::vector<int> column(std::size_t n, const auto& code) {
  std::vector<int> codes;
  for (std::size_t r = 0; r < n; ++r) codes.push_back(static_cast<int>(code(r)));
  return codes;
}

TEST_CASE("a known function is found with its gain") {
  // X3 = X0 and X1; X2 tells nothing.
  const auto bit = [](std::size_t shift) {
    return column(64, [=](std::size_t r) { return (r >> shift) & 1; });
  };
  const auto both = column(64, [](std::size_t r) { return (r & 3) == 3; });
  const auto trees = grow_trees(from_columns({bit(0), bit(1), bit(2), both}).dataset(), {});
  const DecisionTree& tree = trees[3];
  REQUIRE(tree.nodes().size() == 5);
  CHECK(tree.nodes()[0].variable == 0);  // as good as X1, and lower
  CHECK(tree.nodes()[0].value == 1);
  CHECK(tree.nodes()[1].variable == 1);
  const auto part = [](double n, double of) { return n * std::log((n + 1) / (of + 2)); };
  const double root = part(16, 64) + part(48, 64), upper = 2 * part(16, 32), pure = part(32, 32);
  CHECK(tree.nodes()[0].gain == doctest::Approx(upper + pure - root).epsilon(1e-8));
  CHECK(tree.nodes()[1].gain == doctest::Approx(2 * part(16, 16) - upper).epsilon(1e-8));
  CHECK(tree.log_probabilities(2)[1] == doctest::Approx(std::log(17.0 / 18)));
  CHECK(tree.log_probabilities(4)[0] == doctest::Approx(std::log(33.0 / 34)));
}

TEST_CASE("of equal splits the lower variable is made, then the lower value") {
  const Sample base = random_sample(11, 5, 2, 2, 300);
  const auto original = [&](std::size_t v) {
    return column(300, [&](std::size_t r) { return base.codes[r * 5 + v]; });
  };
  const auto opposite = [&](std::size_t v) {
    return column(300, [&](std::size_t r) { return 1 - base.codes[r * 5 + v]; });
  };
  // Each predictor twice, the second time turned round: variables 4 and above are never used.
  Sample doubled = from_columns({original(0), original(1), original(2), original(3), opposite(0),
                                 opposite(1), opposite(2), opposite(3), original(4)});
  const auto check = [&] {
    const DecisionTree tree = grow_trees(doubled.dataset(), {1, 2, 1})[8];
    CHECK(tree.n_leaves() > 10);
    for (const TreeNode& node : tree.nodes()) CHECK(node.variable < 4);
  };
  SUBCASE("unweighted") { check(); }
  SUBCASE("fractions") {
    doubled.weights = Dice(3).numbers(300, 0.0, 3.0);
    check();
  }
  SUBCASE("values") {  // with three values of which one never comes, X = 0 and X = 1 are one split
    Sample sample{Schema({3, 2}), {}, {}};
    for (int r = 0; r < 60; ++r) {
      sample.codes.insert(sample.codes.end(), {r % 2, r % 2});
      sample.weights.push_back(0.1 + 0.01 * r);
    }
    const DecisionTree tree = grow_trees(sample.dataset(), {1, 1, 1})[1];
    REQUIRE(tree.nodes().size() == 3);
    CHECK(tree.nodes()[0].value == 0);
  }
}

TEST_CASE("a split that gains nothing on paper is not made") {
  // Half and half everywhere: rounding alone could make the gain positive.
  for (std::size_t n : {4u, 12u, 44u, 100u, 1000u}) {
    const Sample sample = from_columns({column(n, [](std::size_t r) { return r % 2; }),
                                        column(n, [=](std::size_t r) { return r / 2 < n / 8; })});
    CHECK(grow_trees(sample.dataset(), {1, 0, 1})[0].nodes().size() == 1);
  }
}

TEST_CASE("both sides of a split have the least weight") {
  const auto grown = [](std::size_t ones, double weight, double min_leaf_weight) {
    Sample sample = from_columns({column(100, [&](std::size_t r) { return r < ones; }),
                                  column(100, [&](std::size_t r) { return r < ones; })});
    for (double& w : sample.weights) w = weight;
    return grow_trees(sample.dataset(), {1, min_leaf_weight, 1})[0].n_leaves();
  };
  CHECK(grown(10, 1, 10) == 2);
  CHECK(grown(9, 1, 10) == 1);
  CHECK(grown(90, 1, 10) == 2);
  CHECK(grown(91, 1, 10) == 1);
  CHECK(grown(50, 0.1, 5) == 2);
  CHECK(grown(49, 0.1, 5) == 1);
  CHECK(grown(1, 1, 0) == 2);
  CHECK(grown(50, 1, 1e300) == 1);
}

TEST_CASE("a hundred rows of weight 0.1 have a weight of 10, though their sum falls short of it") {
  const auto half = column(200, [](std::size_t r) { return r % 2; });
  Sample sample = from_columns({half, half});
  for (double& w : sample.weights) w = 0.1;
  REQUIRE(sample.dataset().weights()[0] < 10);
  CHECK(grow_trees(sample.dataset(), {1, 10, 1})[0].n_leaves() == 2);
  CHECK(grow_trees(sample.dataset(), {1, 10.01, 1})[0].n_leaves() == 1);
}

TEST_CASE("cutting back a tree gives the tree of the smaller kappa, bit for bit") {
  Sample binary = random_sample(21, 12, 2, 2, 3000), mixed = random_sample(22, 8, 2, 5, 2000);
  const auto check = [](const Sample& sample) {
    const Dataset data = sample.dataset();
    const auto full = grow_trees(data, {1, 10, 1});
    std::size_t before = 1u << 31;
    for (const double kappa : {1.0, 0.1, 1e-2, 1e-3, 1e-4}) {
      const auto trees = grow_trees(data, {kappa, 10, 1});
      std::size_t leaves = 0;
      for (std::size_t v = 0; v < trees.size(); ++v) {
        CHECK(trees[v] == full[v].pruned(least_gain(kappa, full[v].n_values())));
        leaves += trees[v].n_leaves();
      }
      CHECK(leaves < before);
      before = leaves;
    }
  };
  SUBCASE("unweighted") {}
  SUBCASE("fractions") {
    binary.weights = Dice(1).numbers(3000, 0.0, 3.0);
    mixed.weights = Dice(2).numbers(2000, 0.0, 3.0);
  }
  check(binary);
  check(mixed);
}

TEST_CASE("trees do not depend on threads, on the order of rows, or on how weights are given") {
  Sample sample = random_sample(31, 10, 2, 4, 800);
  const TreeOptions options{1, 5, 1};
  const auto trees = grow_trees(sample.dataset(), options, {1, nullptr});
  CHECK(grow_trees(sample.dataset(), options, {3, nullptr}) == trees);
  Sample halves = sample;  // every row twice, backwards, with half the weight
  for (std::size_t r = 800; r-- > 0;) {
    const auto row = sample.codes.begin() + static_cast<std::ptrdiff_t>(r * 10);
    halves.codes.insert(halves.codes.end(), row, row + 10);
    halves.weights.push_back(0.5);
    halves.weights[r] = 0.5;
  }
  CHECK(grow_trees(halves.dataset(), options) == trees);
}

TEST_CASE("a stop is noticed within a tree") {
  const Sample sample = random_sample(41, 10, 2, 2, 2000);
  const Dataset data = sample.dataset();
  StopAfter never(kNever);
  grow_trees(data, {}, {1, &never});
  // More often asked than there are trees and pair counts.
  CHECK(never.polls() > 200);
  for (const int allowed : {0, 15, 50, never.polls() - 1})
    for (const int threads : {1, 2}) {
      StopAfter monitor(allowed);
      if (threads == 1)
        CHECK_THROWS_AS(grow_trees(data, {}, {threads, &monitor}), Interrupted);
      else
        try {
          grow_trees(data, {}, {threads, &monitor});
          CHECK(monitor.polls() <= allowed);
        } catch (const Interrupted&) {
          CHECK(monitor.stopped());
        }
    }
}

TEST_CASE("progress counts trees") {
  struct Reports : Monitor {
    std::vector<double> done;
    void report(const Progress& progress) override {
      CHECK(progress.stage == "trees");
      CHECK(progress.total == 6);
      done.push_back(progress.done);
    }
  } reports;
  grow_trees(random_sample(51, 6, 2, 3, 100).dataset(), {}, {1, &reports});
  CHECK(reports.done == std::vector<double>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("options out of range are refused") {
  const Dataset data = random_sample(61, 3, 2, 2, 50).dataset();
  for (const TreeOptions& options :
       {TreeOptions{0, 10, 1}, TreeOptions{1.5, 10, 1}, TreeOptions{NAN, 10, 1},
        TreeOptions{1, -1, 1}, TreeOptions{1, INFINITY, 1}, TreeOptions{1, 10, 0},
        TreeOptions{1, 10, INFINITY}})
    CHECK_THROWS_AS(grow_trees(data, options), InvalidInput);
}

TEST_CASE("data without anything to split on have trees of one leaf") {
  const Sample sample{Schema({1, 1, 2}), {0, 0, 1, 0, 0, 0, 0, 0, 1}, {1, 1, 1}};
  const auto trees = grow_trees(sample.dataset(), {1, 0, 1});
  CHECK(trees[0].log_probabilities(0)[0] == 0);
  CHECK(trees[2].nodes().size() == 1);
  CHECK(trees[2].log_probabilities(0)[1] == doctest::Approx(std::log(3.0 / 5)));
}

}  // namespace
}  // namespace feldspar::test_grow_trees
