// objective/pseudo_likelihood.hpp against enumeration of the conditionals and numeric derivatives,
// for every way of indexing the features.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/base/parallel.hpp>
#include <feldspar/objective/pseudo_likelihood.hpp>

#include "support/brute_force.hpp"
#include "support/compare.hpp"
#include "support/random_models.hpp"
#include "support/simd_levels.hpp"
#include "support/stop_after.hpp"

namespace test_pseudo_likelihood {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

using Wide = PlanOptions::Wide;

constexpr Execution kOneThread{.n_threads = 1};
constexpr Wide kEveryWay[] = {Wide::never, Wide::always, Wide::by_cost};

struct Evaluation {
  double value = 0;
  std::vector<double> gradient;

  bool operator==(const Evaluation& other) const {
    return same_bits({&value, 1}, {&other.value, 1}) && same_bits(gradient, other.gradient);
  }
};

Evaluation evaluate(PseudoLikelihood& likelihood, const std::vector<double>& weights,
                    const Execution& execution = kOneThread) {
  Evaluation result{0, std::vector<double>(weights.size(), 1e9)};  // overwritten
  result.value = likelihood.value_and_gradient(weights, result.gradient, execution);
  return result;
}

double enumerated(const Problem& problem) {
  return pseudo_log_likelihood(problem.features, problem.weights, problem.codes,
                               problem.row_weights);
}

// Relative to its largest component, the error of the gradient against four-point differences.
double gradient_error(PseudoLikelihood& likelihood, const std::vector<double>& weights) {
  const auto value = [&](const std::vector<double>& w) { return evaluate(likelihood, w).value; };
  return distance(evaluate(likelihood, weights).gradient,
                  four_point_gradient(value, weights, 1e-3));
}

std::vector<float> singles(const std::vector<double>& numbers) {
  return {numbers.begin(), numbers.end()};
}

// The same of minus the product of the Hessian and some direction, against two-point differences of
// gradients.
double product_error(PseudoLikelihood& likelihood, const std::vector<double>& weights) {
  constexpr double kStep = 1e-4;
  const std::vector<double> direction = Dice(5).numbers(weights.size(), -1.0, 1.0);
  std::vector<double> ahead = weights, behind = weights, gradient(weights.size());
  for (std::size_t j = 0; j < weights.size(); ++j) {
    ahead[j] += kStep * direction[j];
    behind[j] -= kStep * direction[j];
  }
  PseudoLikelihood::Curvature curvature;
  likelihood.value_and_gradient(weights, gradient, curvature, kOneThread);
  const std::vector<double> after = evaluate(likelihood, ahead).gradient;
  const std::vector<double> before = evaluate(likelihood, behind).gradient;
  std::vector<float> product(weights.size(), 1e9f);
  likelihood.hessian_product(curvature, singles(direction), product, kOneThread);
  std::vector<double> expected(weights.size());
  for (std::size_t j = 0; j < weights.size(); ++j)
    expected[j] = (before[j] - after[j]) / (2 * kStep);
  return distance(std::vector<double>(product.begin(), product.end()), expected);
}

// Binary variables with two in eight of three values; all pairs, whose contexts serve every
// variable, and triples of the first few, whose contexts serve one; most values are 1. The estimate
// then uses both kinds of index.
Problem mixed_problem(std::size_t n_rows) {
  Dice dice(42);
  std::vector<Value> cardinalities(32, 2);
  for (std::size_t v = 3; v < cardinalities.size(); v += 8) cardinalities[v] = 3;
  Problem problem;
  problem.schema = Schema(cardinalities);
  problem.codes = random_codes(dice, problem.schema, n_rows, 0.0);
  for (auto& code : problem.codes)
    if (dice.chance(0.8)) code = 1;
  problem.row_weights = dice.numbers(n_rows, 0.1, 3.0);
  FeatureSetBuilder builder(problem.schema);
  add_pairs(builder, cardinalities.size());
  add_triples(builder, 8, 30, dice);
  problem.features = std::move(builder).finish();
  problem.weights = dice.numbers(problem.features.size(), -0.3, 0.3);
  return problem;
}

void check_mixed(const IndexStatistics& statistics) {
  REQUIRE(statistics.n_wide_contexts > 0);
  REQUIRE(statistics.n_wide_contexts + 1 < statistics.n_contexts);
  REQUIRE(statistics.n_wide_variables > 0);
  REQUIRE(statistics.n_narrow_lookups > 0);
}

}  // namespace

TEST_CASE("the value equals enumeration for random models, however indexed") {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const Value most = seed % 3 == 0 ? Value{2} : seed % 3 == 1 ? Value{4} : Value{20};
    const Problem problem = random_problem(seed, 7, 1, most, 60, 80, 4);
    const Dataset data = problem.dataset();
    const double expected = enumerated(problem);
    for (const Wide wide : kEveryWay) {
      CAPTURE(seed);
      CAPTURE(static_cast<int>(wide));
      PseudoLikelihood likelihood(problem.features, data, kOneThread, {wide});
      CHECK(evaluate(likelihood, problem.weights).value ==
            doctest::Approx(expected).epsilon(1e-12));
    }
  }
}

TEST_CASE("the gradient equals four-point differences for random models, however indexed") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const Problem problem = random_problem(seed, 6, 1, seed % 2 == 0 ? 2 : 19, 50, 50, 3);
    const Dataset data = problem.dataset();
    for (const Wide wide : kEveryWay) {
      CAPTURE(seed);
      CAPTURE(static_cast<int>(wide));
      PseudoLikelihood likelihood(problem.features, data, kOneThread, {wide});
      CHECK(gradient_error(likelihood, problem.weights) < 1e-8);
    }
  }
}

TEST_CASE("a model that uses both indexes at once equals enumeration") {
  const Problem problem = mixed_problem(400);
  const Dataset data = problem.dataset();
  PseudoLikelihood mixed(problem.features, data);
  check_mixed(mixed.statistics());
  const Evaluation result = evaluate(mixed, problem.weights);
  CHECK(result.value == doctest::Approx(enumerated(problem)).epsilon(1e-12));
  for (const Wide wide : {Wide::never, Wide::always}) {
    PseudoLikelihood other(problem.features, data, kOneThread, {wide});
    const Evaluation again = evaluate(other, problem.weights);
    CHECK(again.value == doctest::Approx(result.value).epsilon(1e-12));
    CHECK(distance(again.gradient, result.gradient) < 1e-12);
  }
}

TEST_CASE("rows of equal weights, alone or in runs, equal enumeration") {
  Problem problem = mixed_problem(300);
  for (std::size_t r = 0; r < 300; ++r) problem.row_weights[r] = r % 100 == 0 ? 2.0 : 1.0;
  for (const Wide wide : kEveryWay) {
    PseudoLikelihood likelihood(problem.features, problem.dataset(), kOneThread, {wide});
    CHECK(evaluate(likelihood, problem.weights).value ==
          doctest::Approx(enumerated(problem)).epsilon(1e-12));
  }
}

TEST_CASE("merged and unmerged data give the same") {
  const Problem problem = random_problem(21, 6, 2, 3, 200, 40, 3);
  PseudoLikelihood merged(problem.features, problem.dataset(), kOneThread);
  double value = 0;
  std::vector<double> gradient(problem.weights.size(), 0.0);
  for (std::size_t r = 0; r < problem.row_weights.size(); ++r) {
    const Dataset row = Dataset::merge(problem.schema, row_of(problem.codes, 6, r));
    PseudoLikelihood single(problem.features, row, kOneThread);
    const Evaluation part = evaluate(single, problem.weights);
    value += problem.row_weights[r] * part.value;
    for (std::size_t j = 0; j < gradient.size(); ++j)
      gradient[j] += problem.row_weights[r] * part.gradient[j];
  }
  const Evaluation whole = evaluate(merged, problem.weights);
  CHECK(problem.dataset().n_rows() < problem.row_weights.size());
  CHECK(whole.value == doctest::Approx(value).epsilon(1e-12));
  CHECK(distance(whole.gradient, gradient) < 1e-12);
}

TEST_CASE("any number of threads gives the same bits, and so does every instruction set") {
  const Problem problem = mixed_problem(5000);
  const Dataset data = problem.dataset();
  PseudoLikelihood narrow(problem.features, data, kOneThread, {Wide::never});
  const Evaluation reference = evaluate(narrow, problem.weights);
  for (const Wide wide : kEveryWay) {
    CAPTURE(static_cast<int>(wide));
    PseudoLikelihood likelihood(problem.features, data, kOneThread, {wide});
    if (wide == Wide::by_cost) check_mixed(likelihood.statistics());
    const Evaluation single = evaluate(likelihood, problem.weights);
    CHECK(single.value == doctest::Approx(reference.value).epsilon(1e-12));
    CHECK(distance(single.gradient, reference.gradient) < 1e-12);
    for (const int threads : {1, 2, 3}) {
      PseudoLikelihood again(problem.features, data, {.n_threads = threads}, {wide});
      for (const SimdLevel level : simd_levels()) {
        again.use_simd(level);
        CHECK(evaluate(again, problem.weights, {.n_threads = threads}) == single);
      }
    }
  }
}

TEST_CASE("products with the Hessian equal differences of gradients, however indexed") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const Problem problem = random_problem(seed, 7, 1, seed % 2 == 0 ? 2 : 5, 60, 80, 3);
    for (const Wide wide : kEveryWay) {
      CAPTURE(seed);
      CAPTURE(static_cast<int>(wide));
      PseudoLikelihood likelihood(problem.features, problem.dataset(), kOneThread, {wide});
      CHECK(product_error(likelihood, problem.weights) < 1e-6);
    }
  }
  const Problem mixed = mixed_problem(400);
  PseudoLikelihood likelihood(mixed.features, mixed.dataset());
  check_mixed(likelihood.statistics());
  CHECK(product_error(likelihood, mixed.weights) < 1e-6);
}

TEST_CASE("keeping the curvature changes nothing else, and a curvature can be filled again") {
  const Problem problem = mixed_problem(300);
  PseudoLikelihood likelihood(problem.features, problem.dataset());
  std::vector<double> elsewhere = problem.weights, gradient(problem.weights.size());
  for (double& w : elsewhere) w = 1 - w;
  PseudoLikelihood::Curvature again, fresh;
  likelihood.value_and_gradient(elsewhere, gradient, again);
  Evaluation kept{0, gradient};
  kept.value = likelihood.value_and_gradient(problem.weights, kept.gradient, again, kOneThread);
  CHECK(kept == evaluate(likelihood, problem.weights));
  likelihood.value_and_gradient(problem.weights, gradient, fresh);
  std::vector<float> product(gradient.size()), expected(gradient.size());
  likelihood.hessian_product(again, singles(elsewhere), product);
  likelihood.hessian_product(fresh, singles(elsewhere), expected);
  CHECK(product == expected);
}

TEST_CASE("any number of threads gives the same product, and so does every instruction set") {
  const Problem problem = mixed_problem(5000);
  const auto direction = singles(Dice(9).numbers(problem.weights.size(), -1.0, 1.0));
  for (const Wide wide : kEveryWay) {
    CAPTURE(static_cast<int>(wide));
    PseudoLikelihood likelihood(problem.features, problem.dataset(), kOneThread, {wide});
    std::vector<double> gradient(direction.size());
    std::vector<float> expected, product(direction.size());
    for (const int threads : {1, 2, 3})
      for (const SimdLevel level : simd_levels()) {
        likelihood.use_simd(level);
        PseudoLikelihood::Curvature curvature;
        likelihood.value_and_gradient(problem.weights, gradient, curvature, {.n_threads = threads});
        likelihood.hessian_product(curvature, direction, product, {.n_threads = threads});
        if (expected.empty()) expected = product;
        CHECK(product == expected);
      }
  }
}

TEST_CASE("products are cheap where the wide index has most of the work") {
  const Problem problem = mixed_problem(300);
  for (const Wide wide : {Wide::never, Wide::always}) {
    PseudoLikelihood likelihood(problem.features, problem.dataset(), kOneThread, {wide});
    CHECK(likelihood.has_cheap_products() == (wide == Wide::always));
  }
}

TEST_CASE("few columns and many rows, worked through in blocks of rows, give the same") {
  Dice dice(43);
  const Schema schema = binary_schema(14);
  const Dataset data = Dataset::merge(schema, random_codes(dice, schema, 8000, 0.0));
  REQUIRE(data.n_rows() > 2 * 1024);
  FeatureSetBuilder builder(schema);
  add_pairs(builder, 14);
  const FeatureSet features = std::move(builder).finish();
  const std::vector<double> weights = dice.numbers(features.size());
  PseudoLikelihood narrow(features, data, kOneThread, {Wide::never});
  PseudoLikelihood wide(features, data, kOneThread, {Wide::always});
  REQUIRE(wide.statistics().n_tiles == 1);
  const Evaluation expected = evaluate(narrow, weights), result = evaluate(wide, weights);
  CHECK(result.value == doctest::Approx(expected.value).epsilon(1e-12));
  CHECK(distance(result.gradient, expected.gradient) < 1e-12);
  for (const int threads : {2, 3}) CHECK(evaluate(wide, weights, {threads, nullptr}) == result);
}

TEST_CASE("evaluating again gives the same bits: nothing is left behind in the buffers") {
  const Problem problem = mixed_problem(300);
  for (const Wide wide : kEveryWay) {
    PseudoLikelihood likelihood(problem.features, problem.dataset(), kOneThread, {wide});
    const Evaluation first = evaluate(likelihood, problem.weights);
    evaluate(likelihood, std::vector<double>(problem.weights.size(), 3.0));
    CHECK(evaluate(likelihood, problem.weights) == first);
  }
}

TEST_CASE("evaluations at the same time wait for each other") {
  const Problem problem = mixed_problem(300);
  PseudoLikelihood likelihood(problem.features, problem.dataset());
  const Evaluation alone = evaluate(likelihood, problem.weights);
  std::atomic<int> equal{0};
  parallel_for(8, {.n_threads = 2}, [&](std::size_t i) {
    std::vector<double> weights = problem.weights;
    if (i % 2 == 1) std::ranges::fill(weights, 0.5);
    const Evaluation result = evaluate(likelihood, weights);
    if (i % 2 == 0 && result == alone) ++equal;
  });
  CHECK(equal == 4);
}

TEST_CASE("without features the conditionals are uniform") {
  const Schema schema({2, 1, 5});
  PseudoLikelihood likelihood(FeatureSetBuilder(schema).finish(),
                              Dataset::merge(schema, Codes{0, 0, 4, 1, 0, 2}, std::vector{2., 1.}));
  CHECK(likelihood.n_features() == 0);
  CHECK(likelihood.n_variables() == 3);
  CHECK(likelihood.total_weight() == 3);
  CHECK(evaluate(likelihood, {}).value == doctest::Approx(-3 * (std::log(2) + std::log(5))));
}

TEST_CASE("features that hold nowhere still count where they would hold") {
  // X_0 = 1 & X_1 = 1 holds on no row, but lowers P(X_1 = 1 | X_0 = 1) all the same.
  FeatureSetBuilder builder(binary_schema(3));
  builder.add(std::vector<Variable>{0, 1}, std::vector<Value>{1, 1});
  builder.add(std::vector<Variable>{0, 1, 2}, std::vector<Value>{1, 1, 1});  // two tests fail
  Problem problem{
      binary_schema(3), {1, 0, 0, 0, 0, 0}, {2.0, 1.0}, std::move(builder).finish(), {-0.7, 5.0}};
  for (const Wide wide : kEveryWay) {
    PseudoLikelihood likelihood(problem.features, problem.dataset(), kOneThread, {wide});
    const Evaluation result = evaluate(likelihood, problem.weights);
    CHECK(result.value == doctest::Approx(enumerated(problem)).epsilon(1e-14));
    CHECK(result.gradient[0] == doctest::Approx(-2 / (1 + std::exp(0.7))));
    CHECK(result.gradient[1] == 0.0);
  }
}

TEST_CASE("extreme weights stay finite and true") {
  Problem problem = random_problem(31, 6, 1, 5, 60, 60, 3);
  for (double& w : problem.weights) w = w > 0 ? 800 : -800;
  for (const Wide wide : kEveryWay) {
    PseudoLikelihood likelihood(problem.features, problem.dataset(), kOneThread, {wide});
    const Evaluation result = evaluate(likelihood, problem.weights);
    CHECK(result.value == doctest::Approx(enumerated(problem)).epsilon(1e-12));
    CHECK(std::ranges::all_of(result.gradient, [](double g) { return std::isfinite(g); }));
  }
}

TEST_CASE("a stop interrupts the evaluation, and the next one is as good as ever") {
  const Problem problem = mixed_problem(300);
  for (const Wide wide : kEveryWay) {
    PseudoLikelihood likelihood(problem.features, problem.dataset(), kOneThread, {wide});
    const Evaluation before = evaluate(likelihood, problem.weights);
    bool finished = false;
    for (int polls = 0; !finished; polls += 2) {
      CAPTURE(polls);
      REQUIRE(polls < 1000);
      StopAfter monitor(polls);
      try {
        evaluate(likelihood, problem.weights, {1, &monitor});
        finished = true;
      } catch (const Interrupted&) {
      }
      CHECK(finished != monitor.stopped());
      CHECK((polls > 0 || !finished));
      CHECK(evaluate(likelihood, problem.weights) == before);
    }
  }
}

TEST_CASE("a stop interrupts the building of the index, whenever it comes") {
  const Problem problem = mixed_problem(300);
  const Dataset data = problem.dataset();
  for (const Wide wide : kEveryWay) {
    bool finished = false;
    for (int polls = 0; !finished; polls += 9) {
      CAPTURE(polls);
      REQUIRE(polls < 1000);
      StopAfter monitor(polls);
      try {
        const PseudoLikelihood likelihood(problem.features, data, {1, &monitor}, {wide});
        finished = true;
      } catch (const Interrupted&) {
      }
      CHECK(finished != monitor.stopped());
    }
  }
}

TEST_CASE("what does not belong together is refused") {
  const Problem problem = random_problem(71, 4, 2, 3, 20, 10, 2);
  const Dataset other = Dataset::merge(binary_schema(5), Codes(5, 0));
  CHECK_THROWS_WITH_AS(PseudoLikelihood(problem.features, other),
                       "features and data: their variables or numbers of values differ",
                       InvalidInput);
  PseudoLikelihood likelihood(problem.features, problem.dataset());
  const std::size_t n = problem.features.size();
  std::vector<double> gradient(n);
  CHECK_THROWS_WITH_AS(likelihood.value_and_gradient(std::vector<double>(n + 1), gradient),
                       concat("weights: got ", n + 1, " for ", n, " features").c_str(),
                       InvalidInput);
}

TEST_CASE("statistics count what the indexes hold") {
  const Problem problem = mixed_problem(300);
  const Dataset data = problem.dataset();
  PseudoLikelihood narrow(problem.features, data, kOneThread, {Wide::never});
  PseudoLikelihood wide(problem.features, data, kOneThread, {Wide::always});
  CHECK(narrow.statistics().n_contexts == ContextTable(problem.features).size());
  CHECK(narrow.statistics().n_wide_contexts == 0);
  CHECK(narrow.statistics().n_tiles == 0);
  CHECK(narrow.statistics().n_wide_lookups == 0);
  CHECK(wide.statistics().n_wide_contexts + 1 == wide.statistics().n_contexts);
  CHECK(wide.statistics().n_wide_variables == 32);
  CHECK(wide.statistics().n_narrow_patterns == 0);
  CHECK(wide.statistics().n_tiles == 3);  // 28 margins of binary variables, 4 x 2 of the others
  CHECK(wide.statistics().bytes > 0);
}

namespace {

// The variables that share a feature with v, and v itself.
std::vector<bool> scope_of(const FeatureSet& features, Variable v) {
  std::vector<bool> scope(features.schema().n_variables(), false);
  scope[v] = true;
  for (FeatureId f = 0; f < features.size(); ++f) {
    const auto tests = features[f];
    if (std::ranges::none_of(tests, [&](Test test) { return test.variable == v; })) continue;
    for (const Test test : tests) scope[test.variable] = true;
  }
  return scope;
}

}  // namespace

TEST_CASE("with data for each variable, terms of known scope count and no others") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    const Problem problem = random_problem(seed, 6, 1, seed % 2 == 0 ? 2 : 5, 50, 14, 3);
    const std::size_t n = problem.schema.n_variables(), n_rows = problem.codes.size() / n;
    Dice dice(seed + 100);
    std::vector<bool> missing(problem.codes.size());
    for (std::size_t i = 0; i < missing.size(); ++i) missing[i] = dice.chance(0.15);
    std::vector<std::vector<std::size_t>> rows_of(n);
    for (Variable v = 0; v + 1 < n; ++v) {  // the last has no data at all
      const std::vector<bool> scope = scope_of(problem.features, v);
      for (std::size_t r = 0; r < n_rows; ++r) {
        bool known = true;
        for (std::size_t u = 0; u < n; ++u) known = known && !(scope[u] && missing[r * n + u]);
        if (known) rows_of[v].push_back(r);
      }
    }
    std::vector<Dataset> data;
    data.reserve(n);
    std::vector<const Dataset*> data_of(n, nullptr);
    double expected = 0;
    for (Variable v = 0; v < n; ++v) {
      if (rows_of[v].empty()) continue;
      Codes codes;
      std::vector<double> row_weights;
      for (const std::size_t r : rows_of[v]) {
        const CodeRow row = row_of(problem.codes, n, r);
        const double weight = problem.row_weights.empty() ? 1.0 : problem.row_weights[r];
        codes.insert(codes.end(), row.begin(), row.end());
        row_weights.push_back(weight);
        const auto value = static_cast<std::size_t>(row[v]);
        expected += weight * log_conditional(problem.features, problem.weights, row, v)[value];
        for (std::size_t u = 0; u < n; ++u)  // what is missing may hold anything
          if (missing[r * n + u]) codes[codes.size() - n + u] = 0;
      }
      data.push_back(Dataset::merge(problem.schema, codes, row_weights));
      data_of[v] = &data.back();
    }
    PseudoLikelihood likelihood(problem.features, data_of, kOneThread);
    const Evaluation one = evaluate(likelihood, problem.weights);
    CHECK(one.value == doctest::Approx(expected).epsilon(1e-12));
    CHECK(gradient_error(likelihood, problem.weights) < 1e-8);
    CHECK(evaluate(likelihood, problem.weights, {.n_threads = 4}) == one);
  }
}

TEST_CASE("complete data for each variable are the data") {
  const Problem problem = random_problem(3, 6, 2, 4, 50, 40, 3);
  const Dataset data = problem.dataset();
  PseudoLikelihood whole(problem.features, data, kOneThread, {Wide::never});
  const std::vector<const Dataset*> same(problem.schema.n_variables(), &data);
  PseudoLikelihood parts(problem.features, same, kOneThread);
  CHECK(evaluate(parts, problem.weights) == evaluate(whole, problem.weights));
  CHECK(parts.total_weight() == whole.total_weight());
  CHECK_THROWS_AS(PseudoLikelihood(problem.features, std::span(same).first(2), kOneThread),
                  InvalidInput);
  const std::vector<const Dataset*> none(problem.schema.n_variables(), nullptr);
  CHECK_THROWS_AS(PseudoLikelihood(problem.features, none, kOneThread), InvalidInput);
}

}  // namespace test_pseudo_likelihood
