#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/learn/decision_tree.hpp>
#include <feldspar/learn/tree_features.hpp>

#include "support/brute_force.hpp"
#include "support/random_models.hpp"

namespace feldspar::test_tree_features {
namespace {

using namespace testing;
using Names = std::set<std::string>;

// "X1=0 X4={1,2}" for each feature.
Names names(const FeatureSet& features) {
  Names all;
  for (FeatureId j = 0; j < features.size(); ++j) {
    std::string name;
    for (const Test test : features[j]) {
      name += (name.empty() ? "X" : " X") + std::to_string(test.variable) + "=";
      const auto values = features.values(test.values);
      if (values.size() == 1) {
        name += std::to_string(values[0]);
        continue;
      }
      for (std::size_t i = 0; i < values.size(); ++i)
        name += (i == 0 ? "{" : ",") + std::to_string(values[i]);
      name += "}";
    }
    all.insert(name);
  }
  CHECK(all.size() == features.size());
  return all;
}

std::vector<DecisionTree> one_tree(const Schema& schema, Variable target,
                                   std::vector<TreeNode> nodes) {
  const std::size_t n_values = schema.cardinality(target);
  std::vector<double> log_probabilities(nodes.size() * n_values,
                                        -std::log(static_cast<double>(n_values)));
  return {DecisionTree(schema, target, std::move(nodes), std::move(log_probabilities))};
}

// Figure 1 of Lowd and Davis (2014): X1 ? leaf : (X2 ? leaf : leaf), of X4.
TEST_CASE("the tree of figure 1 becomes the features that the paper lists") {
  const Schema schema = binary_schema(5);
  const auto trees = one_tree(schema, 4, {{1, 1, 1, 2, 9}, {}, {2, 1, 3, 4, 5}, {}, {}});
  const auto convert = [&](TreeConversion conversion) {
    return names(tree_features(trees, schema, conversion));
  };
  const Names paths{"X1=1 X4=1",      "X1=1 X4=0",      "X1=0 X2=1 X4=1",
                    "X1=0 X2=1 X4=0", "X1=0 X2=0 X4=1", "X1=0 X2=0 X4=0"};
  CHECK(convert(TreeConversion::default_) == paths);
  Names pruned = paths;
  pruned.insert({"X4=1", "X4=0", "X1=0 X4=1", "X1=0 X4=0"});
  CHECK(convert(TreeConversion::prune) == pruned);
  CHECK(convert(TreeConversion::prune_10) == pruned);
  CHECK(convert(TreeConversion::prune_5) == pruned);
  CHECK(convert(TreeConversion::nonzero) ==
        Names{"X1=1 X4=1", "X1=1", "X2=1 X4=1", "X2=1", "X4=1"});
}

// X_v = 1 at every split, down the `no` side: features of 1 ... depth + 1 conditions.
TEST_CASE("long features are left out by their number of conditions, the target's included") {
  const Schema schema = binary_schema(13);
  std::vector<TreeNode> nodes;
  for (NodeId i = 0; i < 12; ++i) {
    nodes.push_back({i, 1, 2 * i + 1, 2 * i + 2, 1});
    nodes.emplace_back();
  }
  nodes.emplace_back();
  const auto trees = one_tree(schema, 12, nodes);
  const auto longest = [&](TreeConversion conversion) {
    const FeatureSet features = tree_features(trees, schema, conversion);
    std::size_t most = 0;
    for (FeatureId j = 0; j < features.size(); ++j) most = std::max(most, features[j].size());
    return std::pair(most, features.size());
  };
  CHECK(longest(TreeConversion::prune) == std::pair<std::size_t, std::size_t>(13, 50));
  CHECK(longest(TreeConversion::prune_10) == std::pair<std::size_t, std::size_t>(10, 38));
  CHECK(longest(TreeConversion::prune_5) == std::pair<std::size_t, std::size_t>(5, 18));
  CHECK(longest(TreeConversion::default_) == std::pair<std::size_t, std::size_t>(13, 26));
}

TEST_CASE("tests of one variable on a path are one condition") {
  const Schema schema({4, 3});
  // X0 = 1 ? leaf : (X0 = 2 ? leaf : leaf)
  const auto trees = one_tree(schema, 1, {{0, 1, 1, 2, 9}, {}, {0, 2, 3, 4, 5}, {}, {}});
  CHECK(names(tree_features(trees, schema, TreeConversion::default_)) ==
        Names{"X0=1 X1=0", "X0=1 X1=1", "X0=1 X1=2", "X0=2 X1=0", "X0=2 X1=1", "X0=2 X1=2",
              "X0={0,3} X1=0", "X0={0,3} X1=1", "X0={0,3} X1=2"});
  // {0, 3} admits zero, and so does X1 = 0.
  CHECK(names(tree_features(trees, schema, TreeConversion::nonzero)) ==
        Names{"X0=1", "X0=1 X1=1", "X0=1 X1=2", "X0=2", "X0=2 X1=1", "X0=2 X1=2", "X1=1", "X1=2"});
  // With other zeros it is X0 = 1 and X1 = 2 that go.
  CHECK(names(tree_features(trees, schema, TreeConversion::nonzero, std::vector<Value>{1, 2})) ==
        Names{"X1=0", "X1=1", "X0=2 X1=0", "X0=2 X1=1", "X0=2", "X0={0,3} X1=0", "X0={0,3} X1=1",
              "X0={0,3}"});
}

TEST_CASE("paths that no row can take have no features") {
  const Schema schema({3, 3, 2});
  const Names expected{"X0=0 X2=0", "X0=0 X2=1", "X0={1,2} X2=0", "X0={1,2} X2=1"};
  // X0 = 0 ? (X0 = 1 ? (X1 = 0 ? leaf : leaf) : leaf) : leaf; nothing is left of X0, two values of X1.
  const auto two =
      one_tree(schema, 2, {{0, 0, 1, 6, 9}, {0, 1, 2, 5, 5}, {1, 0, 3, 4, 2}, {}, {}, {}, {}});
  CHECK(names(tree_features(two, schema, TreeConversion::default_)) == expected);
  // The same with X0 = 2 in the place of X1 = 0.
  const auto one =
      one_tree(schema, 2, {{0, 0, 1, 6, 9}, {0, 1, 2, 5, 5}, {0, 2, 3, 4, 2}, {}, {}, {}, {}});
  CHECK(names(tree_features(one, schema, TreeConversion::default_)) == expected);
}

TEST_CASE("default features of grown trees say which leaf a row falls into") {
  Dice dice(7);
  const Schema schema = random_schema(dice, 6, 2, 4);
  const Codes codes = random_codes(dice, schema, 400);
  const auto trees = grow_trees(Dataset::merge(schema, codes), {1, 5, 1});
  for (const DecisionTree& tree : trees) {
    const FeatureSet features = tree_features({&tree, 1}, schema, TreeConversion::default_);
    CHECK(features.size() == tree.n_leaves() * tree.n_values());
    // Of the features of one tree, exactly one holds on a row: two rows agree on it if and only if
    // they agree on leaf and target.
    std::set<std::pair<FeatureId, std::pair<NodeId, int>>> seen;
    for (std::size_t r = 0; r < 400; ++r) {
      const CodeRow row = row_of(codes, schema.n_variables(), r);
      std::vector<FeatureId> holding;
      for (FeatureId j = 0; j < features.size(); ++j)
        if (holds(features, j, row)) holding.push_back(j);
      REQUIRE(holding.size() == 1);
      seen.insert({holding[0], {tree.leaf(row), row[tree.target()]}});
    }
    std::set<FeatureId> once;
    std::set<std::pair<NodeId, int>> places;
    for (const auto& [feature, place] : seen) {
      CHECK(once.insert(feature).second);
      CHECK(places.insert(place).second);
    }
  }
}

TEST_CASE("conversions have names, zero values are checked") {
  CHECK(tree_conversion("prune-10") == TreeConversion::prune_10);
  CHECK(tree_conversion("default") == TreeConversion::default_);
  CHECK_THROWS_WITH_AS(tree_conversion("prune10"),
                       doctest::Contains("expected default, prune, prune-10"), InvalidInput);
  const Schema schema({2, 3});
  const auto convert = [&](std::vector<Value> zeros) {
    return tree_features({}, schema, TreeConversion::nonzero, zeros);
  };
  CHECK(convert({1, 2}).size() == 0);
  CHECK_THROWS_AS(convert({0}), InvalidInput);
  CHECK_THROWS_AS(convert({0, 3}), InvalidInput);
}

}  // namespace
}  // namespace feldspar::test_tree_features
