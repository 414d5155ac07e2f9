// infer/hidden_model.hpp: the model of the hidden variables says what the network says.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <feldspar/infer/hidden_model.hpp>

#include "support/enumerate_states.hpp"
#include "support/random_models.hpp"

namespace test_hidden_model {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

double log_potential(const Conditioner& conditioner, const HiddenModel& model, const Codes& state) {
  const FeatureSet& features = conditioner.features();
  const auto& hidden = conditioner.hidden();
  const auto offsets = value_offsets(features.schema());
  const auto value = [&](std::size_t h) { return static_cast<Value>(state[hidden[h]]); };
  double sum = model.constant;
  for (std::size_t h = 0; h < hidden.size(); ++h) sum += model.unary[offsets[h] + value(h)];
  for (const WeightedPart& part : model.parts) {
    const auto tests = features[part.part];
    if (std::ranges::all_of(tests,
                            [&](Test t) { return features.admits(t.values, value(t.variable)); }))
      sum += part.weight;
  }
  return sum;
}

}  // namespace

TEST_CASE("the hidden model has the network's log-potential at every state of the hidden") {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    CAPTURE(seed);
    const Problem problem = random_problem(seed, 6, 1, seed % 2 == 0 ? 2 : 4, 1, 80, 5);
    const MarkovNetwork network(problem.features, problem.weights);
    const auto offsets = value_offsets(problem.schema);
    Dice dice(seed);
    // 70 rows with the same variables observed: more than a word.
    const std::size_t n = 6;
    Codes codes = random_codes(dice, problem.schema, 70);
    for (std::size_t r = 0; r < 70; ++r)
      for (const std::size_t v : {seed % n, (seed + 2) % n, (seed + 3) % n})
        codes[r * n + v] = kUnknown;
    const bool soft = seed % 3 == 0;
    const auto likelihoods = dice.numbers(soft ? 70 * offsets.back() : 0, -1.0, 1.0);
    const EvidenceView evidence{codes, likelihoods};
    const Conditioner conditioner(network, row_of(codes, n, 0), soft);
    std::vector<std::size_t> rows;
    for (std::size_t r = 69; r > 0; --r) rows.push_back(r);  // not all, not in order
    const auto models = hidden_models(conditioner, evidence, rows);
    REQUIRE(models.size() == 69);
    for (std::size_t i = 0; i < rows.size(); ++i)
      for_each_state(problem.schema, row_of(codes, n, rows[i]), [&](const Codes& state) {
        double expected = testing::log_potential(problem.features, problem.weights, state);
        if (soft)
          for (std::size_t v = 0; v < n; ++v)
            expected += likelihoods[rows[i] * offsets.back() + offsets[v] +
                                    static_cast<std::size_t>(state[v])];
        CHECK(log_potential(conditioner, models[i], state) ==
              doctest::Approx(expected).epsilon(1e-12));
      });
  }
}

TEST_CASE("features with the same hidden part become one, in ascending order") {
  FeatureSetBuilder builder(binary_schema(4));
  builder.add(std::vector<Variable>{0, 1, 2}, std::vector<Value>{1, 1, 1});
  builder.add(std::vector<Variable>{1, 2}, std::vector<Value>{0, 1});
  builder.add(std::vector<Variable>{1, 2, 3}, std::vector<Value>{1, 1, 0});
  builder.add(std::vector<Variable>{1, 2, 3}, std::vector<Value>{1, 1, 1});
  builder.add(std::vector<Variable>{0, 1}, std::vector<Value>{1, 1});
  builder.add(std::vector<Variable>{0, 3}, std::vector<Value>{1, 0});
  const MarkovNetwork network(std::move(builder).finish(), {1, 2, 4, 8, 16, 32});
  const Codes row{1, -1, -1, 0};
  const Conditioner conditioner(network, row, false);
  const HiddenModel model = hidden_models(conditioner, {row, {}}, std::vector<std::size_t>{0})[0];
  REQUIRE(model.parts.size() == 2);
  CHECK(model.parts[0].weight == 5);
  CHECK(model.parts[1].weight == 2);
  CHECK(model.parts[0].part < model.parts[1].part);
  CHECK(model.unary == std::vector<double>{0, 16, 0, 0});
  CHECK(model.constant == 32);
  CHECK(isolated_variables(conditioner.features(), model) == std::vector<bool>{false, false});
}

TEST_CASE("a variable whose features are all falsified is isolated") {
  FeatureSetBuilder builder(binary_schema(3));
  builder.add(std::vector<Variable>{0, 1, 2}, std::vector<Value>{1, 1, 1});
  const MarkovNetwork network(std::move(builder).finish(), {1.5});
  for (const std::int32_t code : {0, 1}) {
    const Codes row{code, -1, -1};
    const Conditioner conditioner(network, row, false);
    const HiddenModel model = hidden_models(conditioner, {row, {}}, std::vector<std::size_t>{0})[0];
    CHECK(isolated_variables(conditioner.features(), model) == std::vector<bool>(2, code == 0));
  }
}

TEST_CASE("thousands of parts are told apart") {
  Dice dice(4);
  const Problem problem = random_problem(4, 40, 2, 3, 1, 5000, 6);
  const MarkovNetwork network(problem.features, problem.weights);
  const Codes unknown(40, kUnknown);
  const Conditioner conditioner(network, unknown, false);
  const HiddenModel model =
      hidden_models(conditioner, {unknown, {}}, std::vector<std::size_t>{0})[0];
  std::size_t longer = 0;
  for (FeatureId j = 0; j < problem.features.size(); ++j) longer += problem.features[j].size() > 1;
  CHECK(model.parts.size() == longer);
  for (int i = 0; i < 20; ++i) {
    const Codes state = random_codes(dice, problem.schema, 1);
    CHECK(log_potential(conditioner, model, state) ==
          doctest::Approx(testing::log_potential(problem.features, problem.weights, state)));
  }
}

}  // namespace test_hidden_model
