// learn/l1_logistic.hpp with its solvers (l1_newton.hpp, l1_owlqn.hpp, l1_problem.hpp): optima by
// their own conditions, from the rows and by definition; the two solvers; hard data; stops.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <feldspar/learn/l1_logistic.hpp>

#include "support/brute_force.hpp"
#include "support/compare.hpp"
#include "support/random_models.hpp"
#include "support/stop_after.hpp"

namespace test_l1_logistic {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

const std::vector<double> kPath(kDefaultCValues.begin(), kDefaultCValues.end());
constexpr Execution kOneThread{.n_threads = 1};

struct Rows {
  Schema schema;
  Codes codes;
  std::vector<double> weights;

  std::size_t n() const { return weights.size(); }
  double total() const {
    double sum = 0;
    for (const double w : weights) sum += w;
    return sum;
  }
  Dataset dataset() const { return Dataset::merge(schema, codes, weights); }
};

Rows random_rows(std::uint64_t seed, std::size_t n_variables, Value least, Value most,
                 std::size_t n_rows) {
  Dice dice(seed);
  Rows rows;
  rows.schema = random_schema(dice, n_variables, least, most);
  rows.codes = random_codes(dice, rows.schema, n_rows);
  rows.weights = dice.numbers(n_rows, 0.0, 3.0);
  return rows;
}

// The regression's margins of all values of the target on one row.
std::vector<double> margins(const L1Fit& fit, CodeRow row) {
  std::vector<double> m = fit.intercepts;
  for (const L1Weight& w : fit.weights)
    if (row[w.variable] == w.value) m[w.target_value] += w.weight;
  return m;
}

double loss_by_definition(const Rows& rows, Variable target, const L1Fit& fit) {
  double sum = 0;
  for (std::size_t r = 0; r < rows.n(); ++r) {
    const CodeRow row = row_of(rows.codes, rows.schema.n_variables(), r);
    const auto m = margins(fit, row);
    sum += rows.weights[r] * (log_sum_exp(m) - m[static_cast<std::size_t>(row[target])]);
  }
  return sum;
}

double l1_norm(const L1Fit& fit) {
  double sum = 0;
  for (const L1Weight& w : fit.weights) sum += std::abs(w.weight);
  return sum;
}

double weight_of(const L1Fit& fit, Variable variable, Value value, Value target_value) {
  for (const L1Weight& w : fit.weights)
    if (w.variable == variable && w.value == value && w.target_value == target_value)
      return w.weight;
  return 0;
}

// By every weight, used or not, and every intercept: how far zero is from the subdifferential of C *
// loss + |w|_1.
double violation_by_definition(const Rows& rows, Variable target, const L1Fit& fit, double c,
                               bool penalize_intercept = false) {
  const std::size_t n_variables = rows.schema.n_variables();
  const Value n_values = rows.schema.cardinality(target);
  const auto outside = [](double x, double gradient, double l1) {
    return x != 0 ? std::abs(gradient + std::copysign(l1, x))
                  : std::max(0.0, std::abs(gradient) - l1);
  };
  double worst = 0;
  for (Value a = n_values == 2 ? 1 : 0; a < n_values; ++a) {
    std::vector<double> residuals(rows.n());
    double sum = 0;
    for (std::size_t r = 0; r < rows.n(); ++r) {
      const CodeRow row = row_of(rows.codes, n_variables, r);
      const auto m = margins(fit, row);
      const double p = std::exp(m[a] - log_sum_exp(m));
      residuals[r] = c * rows.weights[r] * (p - (row[target] == a ? 1.0 : 0.0));
      sum += residuals[r];
    }
    worst = std::max(worst, outside(fit.intercepts[a], sum, penalize_intercept ? 1.0 : 0.0));
    for (Variable v = 0; v < n_variables; ++v)
      for (Value u = 1; v != target && u < rows.schema.cardinality(v); ++u) {
        double gradient = 0;
        for (std::size_t r = 0; r < rows.n(); ++r)
          if (rows.codes[r * n_variables + v] == u) gradient += residuals[r];
        worst = std::max(worst, outside(weight_of(fit, v, u, a), gradient, 1.0));
      }
  }
  return worst;
}

L1Options precise(L1Solver solver = L1Solver::coordinate) {
  L1Options options;
  options.solver = solver;
  options.tolerance = 1e-8;
  return options;
}

void check_optimal(const Rows& rows, const L1Path& path, const L1Options& options) {
  for (Variable target = 0; target < rows.schema.n_variables(); ++target)
    for (std::size_t c = 0; c < path.n_values(); ++c) {
      CAPTURE(target);
      CAPTURE(path.c_values()[c]);
      const L1Fit& fit = path.at(target, c);
      CHECK(fit.status == Status::converged);
      CHECK(fit.violation <= 0.5 * options.tolerance);
      CHECK(violation_by_definition(rows, target, fit, path.c_values()[c],
                                    options.penalize_intercept) < 0.5 * options.tolerance + 1e-10);
      const double loss = loss_by_definition(rows, target, fit);
      CHECK(fit.log_likelihood == doctest::Approx(-loss).epsilon(1e-9));
      double norm = l1_norm(fit);
      if (options.penalize_intercept)
        for (const double b : fit.intercepts) norm += std::abs(b);
      CHECK(fit.objective == doctest::Approx(path.c_values()[c] * loss + norm).epsilon(1e-9));
    }
}

double worst_objective_difference(const L1Path& a, const L1Path& b) {
  double worst = 0;
  for (Variable v = 0; v < a.schema().n_variables(); ++v)
    for (std::size_t c = 0; c < a.n_values(); ++c) {
      const double x = a.at(v, c).objective, y = b.at(v, c).objective;
      worst = std::max(worst, std::abs(x - y) / std::max(std::abs(y), 1e-300));
    }
  return worst;
}

bool same_path(const L1Path& a, const L1Path& b) {
  for (Variable v = 0; v < a.schema().n_variables(); ++v)
    for (std::size_t c = 0; c < a.n_values(); ++c) {
      const L1Fit &x = a.at(v, c), &y = b.at(v, c);
      if (x.weights != y.weights || !same_bits(x.intercepts, y.intercepts) ||
          x.objective != y.objective || x.iterations != y.iterations)
        return false;
    }
  return true;
}

std::size_t n_weights(const L1Path& path, std::size_t c) {
  std::size_t n = 0;
  for (Variable v = 0; v < path.schema().n_variables(); ++v) n += path.at(v, c).weights.size();
  return n;
}

}  // namespace

TEST_CASE("binary data: every C meets the optimality conditions") {
  const Rows rows = random_rows(1, 9, 2, 2, 400);
  const L1Path path = fit_l1_path(rows.dataset(), kPath, precise(), kOneThread);
  check_optimal(rows, path, precise());
  CHECK(n_weights(path, 0) == 0);
  CHECK(n_weights(path, 3) > 0);
  CHECK(n_weights(path, 3) < n_weights(path, 6));
}

TEST_CASE("variables of one to five values, fractional weights") {
  const Rows rows = random_rows(2, 7, 1, 5, 500);
  const L1Path path = fit_l1_path(rows.dataset(), kPath, precise(), kOneThread);
  check_optimal(rows, path, precise());
  CHECK(n_weights(path, 6) > n_weights(path, 3));
}

TEST_CASE("a working set that has to grow ends at the same conditions") {
  // More groups of columns than are looked at all the time.
  Dice dice(3);
  Rows rows;
  rows.schema = binary_schema(150);
  rows.codes = random_codes(dice, rows.schema, 600);
  rows.weights = dice.numbers(600, 0.0, 2.0);
  const Dataset data = rows.dataset();
  REQUIRE(L1Design(data.columns()).groups.n_groups() > 16);
  L1Options options;
  options.tolerance = 1e-6;
  const L1Path path = fit_l1_path(data, std::vector<double>{0.05, 0.2, 1}, options, kOneThread);
  CHECK(n_weights(path, 2) > 150 * 40);
  for (const Variable target : {0u, 77u, 149u})
    for (std::size_t c = 0; c < 3; ++c) {
      CHECK(path.at(target, c).status == Status::converged);
      CHECK(violation_by_definition(rows, target, path.at(target, c), path.c_values()[c]) < 6e-7);
    }
}

TEST_CASE("sparse columns") {
  Dice dice(4);
  Rows rows;
  rows.schema = binary_schema(40);
  rows.codes.resize(40 * 800);
  for (auto& code : rows.codes) code = dice.chance(0.04);
  for (std::size_t r = 0; r < 800; ++r)
    for (std::size_t v = 1; v < 40; v += 2)
      if (rows.codes[r * 40 + v - 1] != 0 && dice.chance(0.5)) rows.codes[r * 40 + v] = 1;
  rows.weights = dice.numbers(800, 0.5, 1.5);
  const L1Path path = fit_l1_path(rows.dataset(), kPath, precise(), kOneThread);
  check_optimal(rows, path, precise());
}

TEST_CASE("both solvers reach the same objective") {
  for (const Rows& rows : {random_rows(5, 8, 2, 2, 300), random_rows(6, 6, 2, 4, 300)}) {
    const Dataset data = rows.dataset();
    const L1Path one = fit_l1_path(data, kPath, precise(), kOneThread);
    const L1Path other = fit_l1_path(data, kPath, precise(L1Solver::owlqn), kOneThread);
    check_optimal(rows, other, precise());
    CHECK(worst_objective_difference(one, other) < 1e-9);
  }
}

TEST_CASE("targets of many values are left to OWL-QN") {
  for (const bool many : {false, true}) {
    const Rows rows = many ? random_rows(18, 8, 12, 13, 200) : random_rows(18, 8, 3, 4, 200);
    const Dataset data = rows.dataset();
    const L1Path one = fit_l1_path(data, kPath, precise(), kOneThread);
    const L1Path other = fit_l1_path(data, kPath, precise(L1Solver::owlqn), kOneThread);
    CHECK(same_path(one, other) == many);
    CHECK(worst_objective_difference(one, other) < 1e-9);
  }
}

TEST_CASE("a penalised intercept is treated like a weight") {
  for (const Rows& rows : {random_rows(7, 6, 2, 2, 300), random_rows(8, 5, 2, 4, 300)})
    for (const L1Solver solver : {L1Solver::coordinate, L1Solver::owlqn}) {
      L1Options options = precise(solver);
      options.penalize_intercept = true;
      const L1Path path = fit_l1_path(rows.dataset(), kPath, options, kOneThread);
      check_optimal(rows, path, options);
    }
}

TEST_CASE("merged rows, repeated rows and weights are one thing") {
  Rows rows = random_rows(9, 6, 2, 3, 120);
  for (double& w : rows.weights) w = std::ceil(w);
  Rows repeated{rows.schema, {}, {}};
  for (std::size_t r = rows.n(); r-- > 0;)
    for (int i = 0; i < static_cast<int>(rows.weights[r]); ++i) {
      const CodeRow row = row_of(rows.codes, 6, r);
      repeated.codes.insert(repeated.codes.end(), row.begin(), row.end());
      repeated.weights.push_back(1.0);
    }
  CHECK(same_path(fit_l1_path(rows.dataset(), kPath, precise(), kOneThread),
                  fit_l1_path(repeated.dataset(), kPath, precise(), kOneThread)));
  check_optimal(repeated, fit_l1_path(rows.dataset(), kPath, precise(), kOneThread), precise());
}

TEST_CASE("very unequal weights") {
  Rows rows = random_rows(10, 8, 2, 2, 500);
  for (std::size_t r = 0; r < rows.n(); ++r)
    rows.weights[r] = std::pow(10.0, static_cast<double>(r % 7) - 3);
  const L1Path path = fit_l1_path(rows.dataset(), kPath, L1Options{}, kOneThread);
  check_optimal(rows, path, L1Options{});
}

TEST_CASE("separable data have a finite solution, at large C too") {
  // X_1 = X_0, X_2 is its opposite, X_3 depends on nothing.
  Rows rows{binary_schema(4), {}, {}};
  for (std::int32_t r = 0; r < 60; ++r) {
    const std::int32_t x = r % 3 == 0;
    rows.codes.insert(rows.codes.end(), {x, x, 1 - x, (r / 3) % 2});
    rows.weights.push_back(1.0);
  }
  const std::vector<double> path_c{0.1, 10, 1e3, 1e5};
  const L1Path path = fit_l1_path(rows.dataset(), path_c, L1Options{}, kOneThread);
  check_optimal(rows, path, L1Options{});
  for (Variable v = 0; v < 3; ++v) CHECK(l1_norm(path.at(v, 3)) > 5);
}

TEST_CASE("constant predictors get no weight") {
  Rows rows = random_rows(11, 5, 2, 2, 200);
  for (std::size_t r = 0; r < rows.n(); ++r) {
    rows.codes[r * 5 + 2] = 1;
    rows.codes[r * 5 + 4] = 0;
  }
  const L1Path path = fit_l1_path(rows.dataset(), kPath, precise(), kOneThread);
  for (const Variable target : {0u, 1u, 3u})
    for (std::size_t c = 0; c < kPath.size(); ++c) {
      CHECK(weight_of(path.at(target, c), 2, 1, 1) == 0);
      CHECK(weight_of(path.at(target, c), 4, 1, 1) == 0);
      CHECK(violation_by_definition(rows, target, path.at(target, c), kPath[c]) < 1e-8);
    }
}

TEST_CASE("values that do not occur get the odds of the rule of succession") {
  Rows rows = random_rows(12, 4, 2, 2, 99);
  rows.weights.assign(99, 1.0);
  for (std::size_t r = 0; r < rows.n(); ++r) rows.codes[r * 4 + 1] = 1;
  const L1Path path = fit_l1_path(rows.dataset(), kPath, precise(), kOneThread);
  const L1Fit& fit = path.at(1, 6);
  CHECK(fit.weights.empty());
  CHECK(fit.objective == 0);
  CHECK(fit.log_likelihood == 0);
  CHECK(fit.status == Status::converged);
  REQUIRE(fit.intercepts.size() == 2);
  CHECK(fit.intercepts[1] == 0);
  CHECK(std::exp(fit.intercepts[0]) == doctest::Approx(1.0 / 100).epsilon(1e-12));
}

TEST_CASE("a value that does not occur leaves the others as they are without it") {
  // Variable 0 has values 0 and 2 of three: as if it were binary.
  Rows three = random_rows(13, 5, 2, 2, 200), two = three;
  three.schema = Schema({3, 2, 2, 2, 2});
  for (std::size_t r = 0; r < three.n(); ++r) three.codes[r * 5] *= 2;
  const L1Path with = fit_l1_path(three.dataset(), kPath, precise(), kOneThread);
  const L1Path without = fit_l1_path(two.dataset(), kPath, precise(), kOneThread);
  CHECK(worst_objective_difference(with, without) < 1e-9);
  const L1Fit &fit = with.at(0, 6), &plain = without.at(0, 6);
  CHECK(fit.intercepts[0] == 0);
  CHECK(fit.intercepts[2] == doctest::Approx(plain.intercepts[1]).epsilon(1e-6));
  CHECK(fit.intercepts[1] ==
        doctest::Approx(std::log((1 + std::exp(fit.intercepts[2])) / (two.total() + 1))));
  for (const L1Weight& w : fit.weights) CHECK(w.target_value == 2);
}

TEST_CASE("a variable of one value is neither target nor predictor") {
  Rows rows = random_rows(14, 3, 2, 2, 80);
  rows.schema = Schema({2, 1, 2});
  for (std::size_t r = 0; r < rows.n(); ++r) rows.codes[r * 3 + 1] = 0;
  const L1Path path = fit_l1_path(rows.dataset(), kPath, precise(), kOneThread);
  CHECK(path.at(1, 3).intercepts == std::vector<double>{0.0});
  CHECK(path.at(1, 3).weights.empty());
  for (const L1Weight& w : path.at(0, 6).weights) CHECK(w.variable == 2);
}

TEST_CASE("variables alone, or all of one value") {
  const Codes codes{0, 1, 1, 1};
  const L1Path alone = fit_l1_path(Dataset::merge(Schema({2}), codes), kPath, precise());
  CHECK(alone.at(0, 4).intercepts[1] == doctest::Approx(std::log(3.0)));
  const Codes zeros{0, 0, 0, 0};
  const L1Path nothing = fit_l1_path(Dataset::merge(Schema({1, 1}), zeros), kPath, precise());
  CHECK(nothing.at(1, 0).weights.empty());
}

TEST_CASE("fits come in the order of the C, each warm-started from the next smaller") {
  const Rows rows = random_rows(15, 6, 2, 3, 200);
  const std::vector<double> shuffled{1, 0.01, 0.5, 0.01};
  const L1Path path = fit_l1_path(rows.dataset(), shuffled, precise(), kOneThread);
  check_optimal(rows, path, precise());
  CHECK(path.at(2, 1).weights == path.at(2, 3).weights);
  CHECK(path.at(2, 3).iterations == 0);
}

TEST_CASE("a path goes on from another as if it had been one") {
  Rows wide{binary_schema(150), {}, {}};
  Dice dice(21);
  wide.codes = random_codes(dice, wide.schema, 300);
  wide.weights = dice.numbers(300, 0.0, 2.0);
  REQUIRE(L1Design(wide.dataset().columns()).groups.n_groups() > 16);
  for (const Rows& rows : {random_rows(22, 7, 1, 4, 300), wide})
    for (const L1Solver solver : {L1Solver::coordinate, L1Solver::owlqn}) {
      const Dataset data = rows.dataset();
      L1Options options = precise(solver);
      if (rows.schema.n_variables() > 100) options.tolerance = 1e-5;
      const L1Path first = fit_l1_path(data, std::vector<double>{0.1, 0.02}, options, kOneThread);
      const L1Path rest =
          fit_l1_path(data, std::vector<double>{0.1, 0.4}, options, kOneThread, &first);
      const L1Path whole =
          fit_l1_path(data, std::vector<double>{0.02, 0.1, 0.4}, options, kOneThread);
      for (Variable v = 0; v < rows.schema.n_variables(); ++v) {
        CHECK(rest.at(v, 0).iterations <= 1);  // it starts from the solution
        CHECK(rest.at(v, 1).status == Status::converged);
        CHECK(rest.at(v, 1).objective ==
              doctest::Approx(whole.at(v, 2).objective).epsilon(10 * options.tolerance));
      }
    }
}

TEST_CASE("the same bits for any number of threads") {
  const Dataset data = random_rows(16, 12, 2, 4, 300).dataset();
  for (const L1Solver solver : {L1Solver::coordinate, L1Solver::owlqn}) {
    L1Options options;
    options.solver = solver;
    const L1Path one = fit_l1_path(data, kPath, options, {.n_threads = 1});
    for (const int threads : {2, 5})
      CHECK(same_path(one, fit_l1_path(data, kPath, options, {.n_threads = threads})));
  }
}

TEST_CASE("limits are kept and told") {
  const Rows rows = random_rows(17, 8, 2, 2, 300);
  for (const L1Solver solver : {L1Solver::coordinate, L1Solver::owlqn}) {
    L1Options options = precise(solver);
    options.max_iterations = 1;
    const L1Path path = fit_l1_path(rows.dataset(), std::vector<double>{1.0}, options, kOneThread);
    CHECK(path.at(0, 0).status == Status::max_iterations);
    CHECK(path.at(0, 0).iterations == 1);
    CHECK(path.at(0, 0).violation ==
          doctest::Approx(violation_by_definition(rows, 0, path.at(0, 0), 1.0)).epsilon(1e-8));
  }
}

TEST_CASE("a stop between targets and within one throws Interrupted") {
  const Dataset data = random_rows(18, 8, 2, 3, 300).dataset();
  for (const L1Solver solver : {L1Solver::coordinate, L1Solver::owlqn}) {
    StopAfter never(kNever);
    fit_l1_path(data, kPath, precise(solver), {1, &never});
    CHECK(never.polls() > 8 * 7);  // not only once a target
    for (const int allowed : {0, 1, 5, never.polls() - 1}) {
      StopAfter monitor(allowed);
      CHECK_THROWS_AS(fit_l1_path(data, kPath, precise(solver), {1, &monitor}), Interrupted);
    }
    StopAfter stopped(0);
    CHECK(stopped.poll());
    CHECK_THROWS_AS(fit_l1_path(data, kPath, precise(solver), {3, &stopped}), Interrupted);
  }
}

TEST_CASE("progress counts targets") {
  struct Recorder : Monitor {
    std::vector<double> done;
    void report(const Progress& progress) override {
      CHECK(progress.stage == "l1");
      CHECK(progress.total == 5);
      done.push_back(progress.done);
    }
  } recorder;
  fit_l1_path(random_rows(19, 5, 2, 2, 50).dataset(), kPath, L1Options{}, {1, &recorder});
  CHECK(recorder.done == std::vector<double>{1, 2, 3, 4, 5});
}

TEST_CASE("unusable arguments are named") {
  const Dataset data = random_rows(20, 3, 2, 2, 20).dataset();
  const auto message = [&](std::vector<double> c_values, L1Options options) -> std::string {
    try {
      fit_l1_path(data, c_values, options);
    } catch (const InvalidInput& error) {
      return error.what();
    }
    return "";
  };
  CHECK(message({}, {}) == "c_values: none given");
  CHECK(message({1, 0}, {}) == "c_values: number 1 is 0; expected a positive, finite number");
  CHECK(message({1}, {.tolerance = 0}) == "tolerance must be positive, got 0");
  CHECK(message({1}, {.max_iterations = 0}) == "max_iterations must be at least 1, got 0");
  CHECK_THROWS_WITH_AS(l1_solver("saga"), "solver must be 'coordinate' or 'owlqn', got 'saga'",
                       InvalidInput);
  CHECK(l1_solver("owlqn") == L1Solver::owlqn);
  const L1Path path = fit_l1_path(data, kPath, {});
  const Dataset other = random_rows(21, 3, 2, 2, 20).dataset();
  CHECK_THROWS_WITH_AS(fit_l1_path(other, kPath, {}, {}, &path),
                       "the path to go on from is of other data", InvalidInput);
  // As many rows of the same schema, but a value that the other data do not show.
  const Rows shown{Schema({3, 2}), {0, 0, 0, 0, 1, 0, 2, 1, 2, 1, 1, 1}, {}};
  const Rows hidden{shown.schema, {0, 0, 0, 0, 1, 0, 1, 1, 1, 1, 1, 1}, {}};
  const L1Path of_shown = fit_l1_path(shown.dataset(), std::vector<double>{50.0}, {});
  CHECK_THROWS_WITH_AS(
      fit_l1_path(hidden.dataset(), std::vector<double>{50.0}, {}, kOneThread, &of_shown),
      "the path to go on from is of other data", InvalidInput);
  CHECK_THROWS_WITH_AS(path.at(3, 0), "target 3 does not exist; there are 3 variables",
                       InvalidInput);
  CHECK_THROWS_WITH_AS(path.at(0, 7), "c_index 7 does not exist; the path has 7 values",
                       InvalidInput);
}

}  // namespace test_l1_logistic
