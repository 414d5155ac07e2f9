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

namespace feldspar {
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

}  // namespace
}  // namespace feldspar
