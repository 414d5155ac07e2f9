#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/data/schema.hpp>
#include <feldspar/model/decision_tree.hpp>

namespace feldspar::test_decision_tree {
namespace {

const Schema kSchema({2, 2, 3, 2});

// Of variable 3: X0 = 1 ? (leaf) : (X2 = 2 ? leaf : leaf); the inner split gains less.
DecisionTree example(double outer_gain = 5, double inner_gain = 2) {
  std::vector<double> log_probabilities;
  for (const double p : {0.5, 0.9, 0.3, 0.8, 0.2}) {
    log_probabilities.push_back(std::log(1 - p));
    log_probabilities.push_back(std::log(p));
  }
  return {kSchema,
          3,
          {{0, 1, 1, 2, outer_gain}, {}, {2, 2, 3, 4, inner_gain}, {}, {}},
          std::move(log_probabilities)};
}

TEST_CASE("a row falls into the leaf at the end of its path") {
  const DecisionTree tree = example();
  CHECK(tree.n_leaves() == 3);
  const auto leaf = [&](std::array<std::int32_t, 4> row) { return tree.leaf(row); };
  CHECK(leaf({1, 0, 2, 0}) == 1);
  CHECK(leaf({0, 0, 2, 0}) == 3);
  CHECK(leaf({0, 0, 0, 0}) == 4);
  CHECK(leaf({0, 1, 1, 1}) == 4);
  CHECK(tree.log_probabilities(3)[1] == doctest::Approx(std::log(0.8)));
}

TEST_CASE("pruning cuts every path at the first split that gains too little") {
  const DecisionTree tree = example();
  CHECK(tree.pruned(1) == tree);
  const DecisionTree cut = tree.pruned(2);  // not above: 2 does not exceed 2
  REQUIRE(cut.nodes().size() == 3);
  CHECK(cut.nodes()[0] == TreeNode{0, 1, 1, 2, 5});
  CHECK(cut.log_probabilities(2)[1] == doctest::Approx(std::log(0.3)));
  CHECK(tree.pruned(5).nodes().size() == 1);
  // A split below one that fails goes with it, whatever its own gain.
  CHECK(example(1, 9).pruned(3).nodes().size() == 1);
}

TEST_CASE("a tree that is none is refused") {
  const std::vector<double> two(2, -0.7), six(6, -0.7);
  const auto make = [](std::vector<TreeNode> nodes, std::vector<double> log_probabilities) {
    return DecisionTree(kSchema, 3, std::move(nodes), std::move(log_probabilities));
  };
  CHECK_NOTHROW(make({{}}, two));
  CHECK_THROWS_AS(make({}, {}), InvalidInput);
  CHECK_THROWS_AS(make({{}, {}}, {-1, -1, -1, -1}), InvalidInput);               // not reached
  CHECK_THROWS_AS(make({{0, 1, 1, 2, 1}, {}}, {-1, -1, -1, -1}), InvalidInput);  // no child
  CHECK_THROWS_AS(make({{3, 1, 1, 2, 1}, {}, {}}, six), InvalidInput);           // on the target
  CHECK_THROWS_AS(make({{4, 1, 1, 2, 1}, {}, {}}, six), InvalidInput);
  CHECK_THROWS_AS(make({{2, 3, 1, 2, 1}, {}, {}}, six), InvalidInput);  // no such value
  CHECK_THROWS_AS(make({{0, 1, 2, 1, 1}, {}, {}}, six), InvalidInput);  // not in preorder
  CHECK_THROWS_AS(make({{0, 1, 1, 3, 1}, {}, {}}, six), InvalidInput);
  CHECK_THROWS_AS(make({{0, 1, 1, 2, NAN}, {}, {}}, six), InvalidInput);
  CHECK_THROWS_AS(make({{}}, six), InvalidInput);
  CHECK_THROWS_AS(make({{}}, {0.5, -1}), InvalidInput);
  CHECK_THROWS_AS(make({{}}, {-INFINITY, 0}), InvalidInput);
  CHECK_THROWS_AS(DecisionTree(kSchema, 4, {{}}, two), InvalidInput);
}

}  // namespace
}  // namespace feldspar::test_decision_tree
