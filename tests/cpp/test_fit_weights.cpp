// learn/fit_weights.hpp: optima by their own conditions, closed forms, paths, limits and stops.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/learn/fit_weights.hpp>

#include "support/brute_force.hpp"
#include "support/compare.hpp"
#include "support/random_models.hpp"
#include "support/stop_after.hpp"

namespace test_fit_weights {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Execution kOneThread{.n_threads = 1};

Problem binary_problem() { return random_problem(1, 8, 2, 2, 400, 40, 3); }
Problem mixed_problem() { return random_problem(2, 6, 1, 5, 300, 40, 3); }

FitWeightsOptions precise() {
  FitWeightsOptions options;
  options.tolerance = 1e-16;
  return options;
}

WeightFit fit(PseudoLikelihood& likelihood, const Penalty& penalty,
              const FitWeightsOptions& options = precise(), std::span<const double> initial = {},
              const Execution& execution = kOneThread) {
  return fit_weight_path(likelihood, {&penalty, 1}, initial, options, execution).front();
}

// What is maximised, per unit of example weight, by enumeration.
double objective_by_enumeration(const Problem& problem, const std::vector<double>& weights,
                                const Penalty& penalty) {
  double value =
      pseudo_log_likelihood(problem.features, weights, problem.codes, problem.row_weights);
  double total = 0;
  for (const double w : problem.row_weights) total += w;
  for (const double w : weights)
    value -= w * w / (2 * penalty.prior_sd * penalty.prior_sd) + penalty.l1 * std::abs(w);
  return value / total;
}

// The largest violation of optimality, per unit of example weight, from the gradient of the
// pseudo-likelihood alone.
double violation(PseudoLikelihood& likelihood, const WeightFit& result) {
  std::vector<double> gradient(result.weights.size());
  likelihood.value_and_gradient(result.weights, gradient, kOneThread);
  double worst = 0;
  for (std::size_t j = 0; j < gradient.size(); ++j) {
    const double w = result.weights[j], sd = result.penalty.prior_sd, l1 = result.penalty.l1;
    const double smooth = gradient[j] - w / (sd * sd);
    const double here =
        w != 0 ? std::abs(smooth - std::copysign(l1, w)) : std::max(0.0, std::abs(smooth) - l1);
    worst = std::max(worst, here);
  }
  return worst / likelihood.total_weight();
}

// How often one evaluation polls: a stop after that many finds a first point to return.
int polls_of_evaluation(PseudoLikelihood& likelihood) {
  StopAfter monitor(kNever);
  const std::vector<double> weights(likelihood.n_features(), 0.0);
  std::vector<double> gradient(weights.size());
  likelihood.value_and_gradient(weights, gradient, {1, &monitor});
  return monitor.polls();
}

std::size_t n_zeros(const std::vector<double>& weights) {
  return static_cast<std::size_t>(std::ranges::count(weights, 0.0));
}

}  // namespace

TEST_CASE("the smooth optimum has no gradient") {
  for (const Problem& problem : {binary_problem(), mixed_problem()})
    for (const double prior_sd : {0.1, 1.0, 10.0}) {
      CAPTURE(prior_sd);
      PseudoLikelihood likelihood(problem.features, problem.dataset());
      const WeightFit result = fit(likelihood, {.prior_sd = prior_sd});
      CHECK(result.run.status == Status::converged);
      CHECK(violation(likelihood, result) < 1e-8);
      CHECK(std::abs(result.gradient_norm - violation(likelihood, result)) < 1e-12);
      CHECK(result.objective ==
            doctest::Approx(objective_by_enumeration(problem, result.weights, result.penalty))
                .epsilon(1e-12));
    }
}

TEST_CASE("with L1, alone or beside a prior, the subgradient condition holds") {
  for (const Problem& problem : {binary_problem(), mixed_problem()})
    for (const double prior_sd : {1.0, kInfinity})
      for (const double l1 : {2.0, 10.0}) {
        CAPTURE(prior_sd);
        CAPTURE(l1);
        PseudoLikelihood likelihood(problem.features, problem.dataset());
        const WeightFit result = fit(likelihood, {prior_sd, l1});
        CHECK(result.run.status == Status::converged);
        CHECK(violation(likelihood, result) < 1e-8);
        CHECK(std::abs(result.gradient_norm - violation(likelihood, result)) < 1e-12);
        CHECK(n_zeros(result.weights) > 0);
        CHECK(n_zeros(result.weights) < result.weights.size());
        CHECK(result.objective ==
              doctest::Approx(objective_by_enumeration(problem, result.weights, result.penalty))
                  .epsilon(1e-12));
      }
}

TEST_CASE("an L1 penalty beyond every gradient leaves all weights at zero") {
  const Problem problem = binary_problem();
  PseudoLikelihood likelihood(problem.features, problem.dataset());
  const WeightFit result = fit(likelihood, {.prior_sd = kInfinity, .l1 = 1e6});
  CHECK(n_zeros(result.weights) == result.weights.size());
  CHECK(result.gradient_norm == 0.0);
}

TEST_CASE("independent features without prior get their log-odds") {
  // X_0 = 1 and X_1 = 0 of binary variables; X_2 = 1, X_2 = 2 against value 0 of three.
  const Schema schema({2, 2, 3});
  FeatureSetBuilder builder(schema);
  builder.add(std::vector<Variable>{0}, std::vector<Value>{1});
  builder.add(std::vector<Variable>{1}, std::vector<Value>{0});
  builder.add(std::vector<Variable>{2}, std::vector<Value>{1});
  builder.add(std::vector<Variable>{2}, std::vector<Value>{2});
  const Codes codes{1, 0, 0, 0, 1, 1, 0, 1, 2, 0, 0, 2};
  const std::vector<double> weights{1, 2, 3, 4};
  PseudoLikelihood likelihood(std::move(builder).finish(), Dataset::merge(schema, codes, weights));
  const WeightFit result = fit(likelihood, {.prior_sd = kInfinity});
  const std::vector<double> expected{std::log(1.0 / 9.0), std::log(5.0 / 5.0), std::log(2.0 / 1.0),
                                     std::log(7.0 / 1.0)};
  CHECK(distance(result.weights, expected) < 1e-7);
}

TEST_CASE("a path gives what single fits give, in the order asked for") {
  const Problem problem = mixed_problem();
  PseudoLikelihood likelihood(problem.features, problem.dataset());
  const std::vector<Penalty> penalties{{1.0, 0.0}, {0.1, 0.0}, {1.0, 5.0}, {10.0, 0.0}, {1.0, 20.}};
  const auto fits = fit_weight_path(likelihood, penalties, {}, precise(), kOneThread);
  REQUIRE(fits.size() == penalties.size());
  for (std::size_t i = 0; i < fits.size(); ++i) {
    CAPTURE(i);
    CHECK(fits[i].penalty.prior_sd == penalties[i].prior_sd);
    CHECK(fits[i].penalty.l1 == penalties[i].l1);
    const WeightFit single = fit(likelihood, penalties[i]);
    CHECK(fits[i].objective == doctest::Approx(single.objective).epsilon(1e-12));
    CHECK(distance(fits[i].weights, single.weights) < 1e-6);
  }
}

TEST_CASE("a path starts each fit from the solution before") {
  const Problem problem = binary_problem();
  PseudoLikelihood likelihood(problem.features, problem.dataset());
  const std::vector<Penalty> twice{{1.0, 0.0}, {1.0, 0.0}};
  const auto fits = fit_weight_path(likelihood, twice, {}, precise(), kOneThread);
  CHECK(fits[0].run.iterations > 2);
  CHECK(fits[1].run.iterations <= 2);
}

TEST_CASE("a start at the optimum takes a couple of iterations at most") {
  const Problem problem = mixed_problem();
  PseudoLikelihood likelihood(problem.features, problem.dataset());
  for (const Penalty penalty : {Penalty{1.0, 0.0}, Penalty{1.0, 3.0}}) {
    const WeightFit cold = fit(likelihood, penalty);
    const WeightFit warm = fit(likelihood, penalty, precise(), cold.weights);
    CHECK(cold.run.iterations > 2);
    CHECK(warm.run.iterations <= 2);
    CHECK(distance(warm.weights, cold.weights) < 1e-6);
  }
}

TEST_CASE("the tolerance bounds the distance to the optimal objective") {
  const Problem problem = binary_problem();
  PseudoLikelihood likelihood(problem.features, problem.dataset());
  const double best = fit(likelihood, {}).objective;
  for (const double tolerance : {1e-4, 1e-6, 1e-8}) {
    FitWeightsOptions options;
    options.tolerance = tolerance;
    CAPTURE(tolerance);
    // The estimate goes by the curvature of the independent model, hence the factor.
    CHECK(best - fit(likelihood, {}, options).objective < 10 * tolerance);
  }
}

TEST_CASE("a run taken further in steps ends where one run ends, at hardly more cost") {
  const Problem problem = mixed_problem();
  PseudoLikelihood likelihood(problem.features, problem.dataset(), kOneThread);
  const WeightFit whole = fit(likelihood, {});
  WeightRun run(likelihood, {}, {});
  FitWeightsOptions options;
  int evaluations = 0;
  double objective = -kInfinity;
  for (const double tolerance : {1e-2, 1e-4, 1e-8, 1e-16}) {
    options.tolerance = tolerance;
    const WeightFit step = run.advance(options, kOneThread);
    CHECK(step.objective >= objective);
    objective = step.objective;
    evaluations += step.run.evaluations;
    if (tolerance == 1e-16) CHECK(distance(step.weights, whole.weights) < 1e-7);
  }
  CHECK(objective == doctest::Approx(whole.objective).epsilon(1e-13));
  CHECK(evaluations < whole.run.evaluations + 20);
  CHECK_THROWS_AS(WeightRun(likelihood, {-1.0, 0.0}, {}), InvalidInput);
  CHECK_THROWS_AS(WeightRun(likelihood, {}, std::vector<double>{1.0}), InvalidInput);
}

TEST_CASE("a point is not evaluated twice") {
  struct Counting {
    int calls = 0;
    double value_and_gradient(std::span<const double> weights, std::span<double> gradient,
                              const Execution&) {
      ++calls;
      if (weights[0] < 0) throw Interrupted();
      for (std::size_t i = 0; i < weights.size(); ++i) gradient[i] = 2 * weights[i];
      return weights[0] * weights[0] + weights[1] * weights[1];
    }
  } counting;
  detail::LastEvaluation<Counting> last(counting);
  std::vector<double> gradient(2);
  const auto at = [&](double a, double b) {
    gradient.assign(2, 99.0);
    return last.value_and_gradient(std::vector<double>{a, b}, gradient, kOneThread);
  };
  CHECK(at(3, 4) == 25);
  CHECK(at(3, 4) == 25);
  CHECK(gradient == std::vector<double>{6, 8});
  CHECK(counting.calls == 1);
  CHECK(at(3, 5) == 34);
  CHECK(at(3, 4) == 25);
  CHECK(counting.calls == 3);
  CHECK_THROWS_AS(at(-1, 0), Interrupted);
  CHECK_THROWS_AS(at(-1, 0), Interrupted);  // what failed is not known
  CHECK(at(3, 4) == 25);
  CHECK(counting.calls == 6);
}

TEST_CASE("products with the Hessian by coordinates equal differences of gradients") {
  using Likelihood = detail::LastEvaluation<PseudoLikelihood>;
  static_assert(CurvedObjective<Penalized<Likelihood>>);
  static_assert(!CurvedObjective<PenalizedPseudoLikelihood>);
  const Problem problem = mixed_problem();
  PseudoLikelihood likelihood(problem.features, problem.dataset(), kOneThread);
  const auto n = static_cast<Eigen::Index>(problem.features.size());
  for (const double precision : {0.0, 4.0}) {
    for (const bool centred : {false, true}) {
      CAPTURE(precision);
      CAPTURE(centred);
      Likelihood last(likelihood);
      last.keep_curvature();
      const Preconditioner coordinates(likelihood.geometry(), precision, centred);
      Penalized<Likelihood> objective(last, precision, coordinates, kOneThread);
      const std::vector<double> at = Dice(1).numbers(problem.features.size(), -1.0, 1.0);
      const std::vector<double> along = Dice(2).numbers(problem.features.size(), -1.0, 1.0);
      const Eigen::Map<const Eigen::VectorXd> z(at.data(), n), direction(along.data(), n);
      Eigen::VectorXd ahead(n), behind(n), gradient(n);
      Eigen::VectorXf product(n);
      objective.value_and_gradient(z + 1e-4 * direction, ahead);
      objective.value_and_gradient(z - 1e-4 * direction, behind);
      objective.value_and_gradient(z, gradient);
      REQUIRE(objective.hessian_product(direction.cast<float>(), product));
      const Eigen::VectorXd expected = (ahead - behind) / 2e-4;
      CHECK((product.cast<double>() - expected).norm() < 1e-5 * expected.norm());
    }
  }
}

TEST_CASE("where products are cheap, fewer steps of Newton's lead to the same optimum") {
  const Problem problem = mixed_problem();
  PseudoLikelihood narrow(problem.features, problem.dataset(), {}, {PlanOptions::Wide::never});
  PseudoLikelihood wide(problem.features, problem.dataset(), {}, {PlanOptions::Wide::always});
  const WeightFit pairs = fit(narrow, {}), newton = fit(wide, {});
  CHECK(newton.run.status == Status::converged);
  CHECK(newton.run.iterations < pairs.run.iterations);
  CHECK(newton.objective == doctest::Approx(pairs.objective).epsilon(1e-13));
  // A run that is taken further goes on from where it was, and does not evaluate that again.
  WeightRun run(wide, {}, {});
  FitWeightsOptions options;
  options.tolerance = 1e-2;
  const WeightFit loose = run.advance(options, kOneThread);
  options.tolerance = 1e-16;
  const WeightFit tight = run.advance(options, kOneThread);
  CHECK(loose.objective < tight.objective);
  CHECK(distance(tight.weights, newton.weights) < 1e-7);
}

TEST_CASE("weights are not learned with what was made for scoring") {
  const Problem problem = mixed_problem();
  const Dataset data = problem.dataset();
  PseudoLikelihood learning(problem.features, data, kOneThread);
  PseudoLikelihood scoring(problem.features, data, kOneThread, {}, PseudoLikelihood::Use::scoring);
  std::vector<double> ours(problem.features.size()), theirs(problem.features.size());
  CHECK(scoring.value_and_gradient(problem.weights, ours) ==
        learning.value_and_gradient(problem.weights, theirs));
  CHECK(ours == theirs);
  CHECK_THROWS_AS(WeightRun(scoring, {}, {}), InvalidInput);
}

TEST_CASE("L-BFGS remembers fewer pairs where they would fill the memory, never more than asked") {
  CHECK(detail::affordable_memory(20, 1000) == 20);
  CHECK(detail::affordable_memory(20, 500'000) == 16);
  CHECK(detail::affordable_memory(20, Eigen::Index{1} << 40) == 5);
  CHECK(detail::affordable_memory(3, Eigen::Index{1} << 40) == 3);
  CHECK(detail::affordable_memory(20, 0) == 20);
}

TEST_CASE("however the features are indexed, the optimum is the same") {
  const Problem problem = mixed_problem();
  const Dataset data = problem.dataset();
  PseudoLikelihood narrow(problem.features, data, {}, {PlanOptions::Wide::never});
  PseudoLikelihood wide(problem.features, data, {}, {PlanOptions::Wide::always});
  CHECK(distance(fit(narrow, {}).weights, fit(wide, {}).weights) < 1e-6);
}

TEST_CASE("any number of threads gives the same bits") {
  const Problem problem = mixed_problem();
  const std::vector<Penalty> penalties{{1.0, 0.0}, {1.0, 3.0}};
  PseudoLikelihood first(problem.features, problem.dataset(), {.n_threads = 1});
  PseudoLikelihood second(problem.features, problem.dataset(), {.n_threads = 2});
  const auto one = fit_weight_path(first, penalties, {}, {}, {.n_threads = 1});
  const auto two = fit_weight_path(second, penalties, {}, {}, {.n_threads = 2});
  for (std::size_t i = 0; i < penalties.size(); ++i) {
    CHECK(same_bits(one[i].weights, two[i].weights));
    CHECK(one[i].objective == two[i].objective);
    CHECK(one[i].run.evaluations == two[i].run.evaluations);
  }
}

TEST_CASE("without features there is nothing to fit, and that converges") {
  const Schema schema({2, 3});
  PseudoLikelihood likelihood(FeatureSetBuilder(schema).finish(),
                              Dataset::merge(schema, Codes{0, 1, 1, 2}));
  const WeightFit result = fit(likelihood, {});
  CHECK(result.weights.empty());
  CHECK(result.run.status == Status::converged);
  CHECK(result.objective == doctest::Approx(-std::log(2) - std::log(3)));
}

TEST_CASE("no iterations allowed leave the start, with its objective") {
  const Problem problem = binary_problem();
  PseudoLikelihood likelihood(problem.features, problem.dataset());
  FitWeightsOptions options;
  options.max_iterations = 0;
  const WeightFit result = fit(likelihood, {}, options, problem.weights);
  CHECK(result.run.status == Status::max_iterations);
  CHECK(distance(result.weights, problem.weights) < 1e-12);
  CHECK(result.objective ==
        doctest::Approx(objective_by_enumeration(problem, problem.weights, {})).epsilon(1e-12));
}

TEST_CASE("any number of iterations may be allowed") {
  const Problem problem = binary_problem();
  PseudoLikelihood likelihood(problem.features, problem.dataset());
  FitWeightsOptions options;
  options.max_iterations = std::numeric_limits<int>::max();
  CHECK(fit(likelihood, {}, options).run.status == Status::converged);
}

TEST_CASE("at the time limit every fit of the path keeps the best weights so far") {
  const Problem problem = binary_problem();
  PseudoLikelihood likelihood(problem.features, problem.dataset());
  FitWeightsOptions options = precise();
  options.max_seconds = 1e-9;
  const std::vector<Penalty> penalties{{1.0, 0.0}, {0.5, 0.0}};
  for (const WeightFit& result :
       fit_weight_path(likelihood, penalties, problem.weights, options, kOneThread)) {
    CHECK(result.run.status == Status::time_limit);
    CHECK(distance(result.weights, problem.weights) < 1e-12);
    CHECK(std::isfinite(result.gradient_norm));
  }
}

TEST_CASE("a stop at any moment after the first evaluation keeps the best weights so far") {
  const Problem problem = binary_problem();
  PseudoLikelihood likelihood(problem.features, problem.dataset());
  const double start =
      objective_by_enumeration(problem, std::vector<double>(problem.weights.size(), 0.0), {});
  bool finished = false;
  for (int polls = polls_of_evaluation(likelihood); !finished; polls += 5) {
    CAPTURE(polls);
    REQUIRE(polls < 10'000);
    StopAfter monitor(polls);
    const WeightFit result = fit(likelihood, {}, precise(), {}, {1, &monitor});
    finished = !monitor.stopped();
    CHECK(result.objective >= start - 1e-12);
    CHECK(result.objective ==
          doctest::Approx(objective_by_enumeration(problem, result.weights, {})).epsilon(1e-12));
    if (!result.run.converged()) CHECK(result.run.status == Status::interrupted);
  }
}

TEST_CASE("a path goes from strong to weak, and a stop leaves the rest with the weights so far") {
  const Problem problem = binary_problem();
  PseudoLikelihood likelihood(problem.features, problem.dataset());
  const std::vector<Penalty> penalties{{1.0, 0.0}, {0.5, 0.0}, {1.0, 3.0}, {2.0, 0.0}};
  const std::vector<std::size_t> by_strength{2, 1, 0, 3};
  bool finished = false;
  for (int polls = polls_of_evaluation(likelihood); !finished; polls += 13) {
    CAPTURE(polls);
    REQUIRE(polls < 10'000);
    StopAfter monitor(polls);
    const auto fits = fit_weight_path(likelihood, penalties, {}, {}, {1, &monitor});
    finished = !monitor.stopped();
    REQUIRE(fits.size() == penalties.size());
    const WeightFit* stopped = nullptr;
    for (const std::size_t i : by_strength) {
      CAPTURE(i);
      CHECK(fits[i].penalty.prior_sd == penalties[i].prior_sd);
      CHECK(fits[i].run.status == (stopped == nullptr && fits[i].run.converged()
                                       ? Status::converged
                                       : Status::interrupted));
      if (stopped != nullptr) CHECK(distance(fits[i].weights, stopped->weights) < 1e-12);
      if (!fits[i].run.converged()) stopped = &fits[i];
    }
  }
}

TEST_CASE("a stop before the first evaluation has nothing to return") {
  const Problem problem = binary_problem();
  PseudoLikelihood likelihood(problem.features, problem.dataset());
  StopAfter monitor(0);
  CHECK_THROWS_AS(fit(likelihood, {}, precise(), {}, {1, &monitor}), Interrupted);
}

TEST_CASE("options and penalties out of range are refused by name") {
  const auto refuse = [](const char* message, auto change) {
    FitWeightsOptions options;
    change(options);
    CHECK_THROWS_WITH_AS(options.check(), message, InvalidInput);
  };
  refuse("max_iterations must not be negative, got -1", [](auto& o) { o.max_iterations = -1; });
  refuse("tolerance must be positive, got 0", [](auto& o) { o.tolerance = 0; });
  refuse("memory must be at least 1, got 0", [](auto& o) { o.memory = 0; });
  refuse("max_seconds must be positive, got 0", [](auto& o) { o.max_seconds = 0; });
  CHECK_THROWS_WITH_AS(Penalty{.prior_sd = 1e-200}.check(),
                       "prior_sd is too small to compute with: 1e-200", InvalidInput);
  CHECK_THROWS_WITH_AS(Penalty{.prior_sd = 0}.check(), "prior_sd must be positive, got 0",
                       InvalidInput);
  CHECK_THROWS_WITH_AS((Penalty{.prior_sd = 1, .l1 = -2}.check()),
                       "l1 must be finite and not negative, got -2", InvalidInput);
  CHECK_THROWS_WITH_AS((Penalty{.prior_sd = 1, .l1 = kInfinity}.check()),
                       "l1 must be finite and not negative, got inf", InvalidInput);
}

TEST_CASE("a path checks all it is given before it starts") {
  const Problem problem = binary_problem();
  PseudoLikelihood likelihood(problem.features, problem.dataset());
  const std::size_t n = problem.features.size();
  CHECK_THROWS_AS(fit(likelihood, {.prior_sd = -1}), InvalidInput);
  FitWeightsOptions options;
  options.memory = 0;
  CHECK_THROWS_AS(fit(likelihood, {}, options), InvalidInput);
  CHECK_THROWS_WITH_AS(fit(likelihood, {}, {}, std::vector<double>(n - 1)),
                       concat("initial_weights: got ", n - 1, " for ", n, " features").c_str(),
                       InvalidInput);
  std::vector<double> initial(n, 0.0);
  initial[2] = kInfinity;
  CHECK_THROWS_WITH_AS(fit(likelihood, {}, {}, initial),
                       "initial_weights: feature 2 has weight inf; expected a finite number",
                       InvalidInput);
  CHECK(fit_weight_path(likelihood, {}, {}, {}).empty());
}

}  // namespace test_fit_weights
