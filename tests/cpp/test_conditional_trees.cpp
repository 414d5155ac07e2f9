#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/learn/decision_tree.hpp>
#include <feldspar/model/conditional_trees.hpp>

#include "support/brute_force.hpp"
#include "support/compare.hpp"
#include "support/random_models.hpp"
#include "support/stop_after.hpp"

namespace feldspar::test_conditional_trees {
namespace {

using namespace testing;

const std::vector<double> kKappas{1, 0.1, 0.01, 1e-3, 1e-4};

struct Setting {
  Schema schema;
  Codes codes;  // rows that the trees have not seen
  std::vector<double> weights;
  ConditionalTrees trees;
};

Setting random_setting(Value most) {
  Dice dice(most);
  const Schema schema = random_schema(dice, 9, 2, most);
  const Codes train = random_codes(dice, schema, 2500);
  ConditionalTrees trees(schema, grow_trees(Dataset::merge(schema, train), {1, 5, 1}));
  Codes codes = random_codes(dice, schema, 150);
  return {schema, std::move(codes), dice.numbers(150, 0.0, 2.0), std::move(trees)};
}

TEST_CASE("log-likelihoods of all kappas are those of the trees cut back to each") {
  for (const Value most : {Value{2}, Value{4}}) {
    const Setting s = random_setting(most);
    REQUIRE(s.trees.pruned(kKappas.back()).n_leaves() > s.schema.n_variables());
    REQUIRE(s.trees.pruned(kKappas.back()).n_leaves() < s.trees.pruned(kKappas[1]).n_leaves());
    const auto sums = log_likelihoods(s.trees, s.codes, s.weights, kKappas);
    for (std::size_t k = 0; k < kKappas.size(); ++k) {
      const ConditionalTrees cut = s.trees.pruned(kKappas[k]);
      double expected = 0;
      for (std::size_t r = 0; r < s.weights.size(); ++r) {
        const CodeRow row = row_of(s.codes, s.schema.n_variables(), r);
        for (const DecisionTree& tree : cut.trees())
          expected +=
              s.weights[r] *
              tree.log_probabilities(tree.leaf(row))[static_cast<std::size_t>(row[tree.target()])];
      }
      CHECK(sums[k] == doctest::Approx(expected).epsilon(1e-12));
    }
    CHECK(same_bits(sums, log_likelihoods(s.trees, s.codes, s.weights, kKappas, {3, nullptr})));
    const std::vector<double> ones(s.weights.size(), 1.0);
    CHECK(same_bits(log_likelihoods(s.trees, s.codes, {}, kKappas),
                    log_likelihoods(s.trees, s.codes, ones, kKappas)));
    CHECK(log_likelihoods(s.trees, s.codes, {}, {}).empty());
  }
}

TEST_CASE("scores refuse wrong rows, weights and kappas, and stop when asked") {
  const Setting s = random_setting(3);
  Codes wrong = s.codes;
  wrong[3] = 17;
  CHECK_THROWS_AS(log_likelihoods(s.trees, wrong, {}, kKappas), InvalidInput);
  CHECK_THROWS_AS(log_likelihoods(s.trees, s.codes, std::vector<double>{1}, kKappas), InvalidInput);
  CHECK_THROWS_AS(log_likelihoods(s.trees, s.codes, {}, std::vector<double>{2}), InvalidInput);
  StopAfter at_once(0);
  CHECK_THROWS_AS(log_likelihoods(s.trees, s.codes, {}, kKappas, {1, &at_once}), Interrupted);
}

TEST_CASE("there is a tree for every variable, in order") {
  const Setting s = random_setting(3);
  std::vector<DecisionTree> trees(s.trees.trees().begin(), s.trees.trees().end());
  std::swap(trees[0], trees[1]);
  CHECK_THROWS_AS(ConditionalTrees(s.schema, trees), InvalidInput);
  trees.pop_back();
  CHECK_THROWS_AS(ConditionalTrees(s.schema, trees), InvalidInput);
}

}  // namespace
}  // namespace feldspar::test_conditional_trees
