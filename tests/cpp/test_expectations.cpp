// infer/*_expectations.hpp: log Z and expectations against enumeration, derivatives, standard errors.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include <feldspar/infer/expectation_method.hpp>

#include "support/brute_force.hpp"
#include "support/compare.hpp"
#include "support/enumerate_states.hpp"
#include "support/random_networks.hpp"

namespace test_expectations {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

constexpr Execution kOneThread{.n_threads = 1};

std::vector<FeatureId> all_of(const FeatureSet& features) {
  std::vector<FeatureId> ids(features.size());
  std::iota(ids.begin(), ids.end(), FeatureId{0});
  return ids;
}

// The chances of the features of any set, by going through all states.
std::vector<double> enumerated(const MarkovNetwork& network, const FeatureSet& features) {
  const Codes unknown(network.schema().n_variables(), kUnknown);
  const double log_partition = sum_over_states(network, {unknown, {}}).log_partition;
  std::vector<double> chances(features.size(), 0.0);
  for_each_state(network.schema(), unknown, [&](const Codes& state) {
    const double p =
        std::exp(log_potential(network.features(), network.weights(), state) - log_partition);
    for (FeatureId j = 0; j < features.size(); ++j)
      if (holds(features, j, state)) chances[j] += p;
  });
  return chances;
}

double log_partition_of(const MarkovNetwork& network) {
  const Codes unknown(network.schema().n_variables(), kUnknown);
  return sum_over_states(network, {unknown, {}}).log_partition;
}

ExpectationOptions by(ExpectationMethod method) {
  ExpectationOptions options;
  options.method = method;
  options.bp.tolerance = 1e-13;
  options.bp.max_iterations = 2000;
  return options;
}

// Ising spins that each want to differ from all the others.
MarkovNetwork frustrated(std::size_t n, double strength) {
  FeatureSetBuilder builder(binary_schema(n));
  add_pairs(builder, n);
  FeatureSet features = std::move(builder).finish();
  std::vector<double> weights(features.size(), -strength);
  std::fill_n(weights.begin(), n, 0.5 * strength * static_cast<double>(n - 1));
  return {std::move(features), std::move(weights)};
}

}  // namespace

TEST_CASE("exact: log Z and expectations of its own and of any other features") {
  for (const auto& [name, network, is_forest] : small_networks(11)) {
    CAPTURE(name);
    Dice dice(5);
    const FeatureSet others = random_features(dice, network.schema(), 30, 4);
    ExactExpectations engine(network.features(), 1e6);
    std::vector<double> own(network.features().size());
    CHECK(engine.infer(network.weights(), own, kOneThread) ==
          doctest::Approx(log_partition_of(network)).epsilon(1e-12));
    CHECK(distance(own, enumerated(network, network.features())) < 1e-12);
    const auto ids = all_of(others);
    const auto chances = engine.expectations_of(network.weights(), others, ids, kOneThread);
    CHECK(distance(chances, enumerated(network, others)) < 1e-12);
    CHECK(same_bits(chances,
                    engine.expectations_of(network.weights(), others, ids, {.n_threads = 3})));
  }
}

TEST_CASE("belief propagation: exact without cycles, also for pairs that no factor has") {
  for (const auto& [name, network, is_forest] : small_networks(12)) {
    if (!is_forest) continue;
    CAPTURE(name);
    Dice dice(6);
    const FeatureSet others = random_features(dice, network.schema(), 30, 3);
    BeliefExpectations engine(network.features(), by(ExpectationMethod::bp).bp);
    std::vector<double> own(network.features().size());
    CHECK(engine.infer(network.weights(), own, kOneThread) ==
          doctest::Approx(log_partition_of(network)).epsilon(1e-10));
    CHECK(distance(own, enumerated(network, network.features())) < 1e-10);
    const auto ids = all_of(others);
    CHECK(distance(engine.expectations_of(network.weights(), others, ids, kOneThread),
                   enumerated(network, others)) < 1e-9);
  }
}

TEST_CASE("belief propagation: expectations are the derivatives of the Bethe estimate") {
  for (const auto& [name, network, is_forest] : small_networks(13, 0.5)) {
    CAPTURE(name);
    auto weights = network.weights();
    for (std::size_t j = 0; j < weights.size(); j += 5) weights[j] = 0;  // left out of the graph
    BeliefExpectations engine(network.features(), by(ExpectationMethod::bp).bp);
    std::vector<double> expectations(weights.size()), unused(weights.size());
    REQUIRE(std::isfinite(engine.infer(weights, expectations, kOneThread)));
    const auto log_partition = [&](const std::vector<double>& w) {
      return engine.infer(w, unused, kOneThread);
    };
    CHECK(distance(expectations, four_point_gradient(log_partition, weights, 1e-3)) < 1e-8);
  }
}

TEST_CASE("belief propagation: a warm start comes to the same fixed point, sooner") {
  Dice dice(3);
  const MarkovNetwork network = ising_grid(dice, 5, 5, 0.5, 0.7);
  auto options = by(ExpectationMethod::bp).bp;
  BeliefExpectations cold(network.features(), options);
  std::vector<double> expected(network.weights().size()), found(network.weights().size());
  const double log_partition = cold.infer(network.weights(), expected, kOneThread);
  options.max_iterations = 60;  // too few from nothing
  BeliefExpectations warm(network.features(), options);
  auto weights = network.weights();
  for (int step = 1; step <= 10; ++step) {
    for (std::size_t j = 0; j < weights.size(); ++j) weights[j] = network.weights()[j] * 0.1 * step;
    warm.infer(weights, found, kOneThread);
  }
  CHECK(warm.infer(network.weights(), found, kOneThread) ==
        doctest::Approx(log_partition).epsilon(1e-10));
  CHECK(distance(found, expected) < 1e-9);
}

TEST_CASE("belief propagation: no answer where messages do not converge, and one again elsewhere") {
  const MarkovNetwork network = frustrated(9, 6.0);
  auto options = by(ExpectationMethod::bp).bp;
  options.max_iterations = 100;
  BeliefExpectations engine(network.features(), options);
  std::vector<double> expectations(network.weights().size());
  CHECK(std::isnan(engine.infer(network.weights(), expectations, kOneThread)));
  const MarkovNetwork weak = frustrated(9, 0.1);
  CHECK(std::isfinite(engine.infer(weak.weights(), expectations, kOneThread)));
}

TEST_CASE("Gibbs samples: expectations within their errors, ratios of Z with their derivatives") {
  for (const auto& [name, network, is_forest] : small_networks(14, 0.4)) {
    if (network.features().size() > 30) continue;
    CAPTURE(name);
    SampledExpectationsOptions options;
    options.n_states = 2000;
    options.chains.thinning = 2;
    SampledExpectations engine(network.features(), options);
    std::vector<double> own(network.features().size());
    CHECK(engine.infer(network.weights(), own, kOneThread) == doctest::Approx(0.0));
    const auto truth = enumerated(network, network.features());
    for (std::size_t j = 0; j < own.size(); ++j)
      CHECK(std::abs(own[j] - truth[j]) < 6 * std::sqrt(0.25 / 2000));

    Dice dice(8);
    auto near = network.weights();
    for (double& w : near) w += dice.between(-0.03, 0.03);
    const MarkovNetwork moved(network.features(), near);
    std::vector<double> expectations(near.size()), unused(near.size());
    CHECK(engine.infer(near, expectations, kOneThread) ==
          doctest::Approx(log_partition_of(moved) - log_partition_of(network)).epsilon(0.05));
    const auto ratio = [&](const std::vector<double>& w) {
      return engine.infer(w, unused, kOneThread);
    };
    CHECK(distance(expectations, four_point_gradient(ratio, near, 1e-4)) < 1e-8);
    const auto ids = all_of(network.features());
    CHECK(distance(engine.expectations_of(near, network.features(), ids, kOneThread),
                   expectations) < 1e-12);
    auto far = near;
    for (double& w : far) w += 20;
    CHECK_FALSE(std::isfinite(engine.infer(far, unused, kOneThread)));
  }
}

TEST_CASE("methods by name, and automatic by width") {
  CHECK(expectation_method_named("bp") == ExpectationMethod::bp);
  CHECK_THROWS_WITH_AS(expectation_method_named("mcmc"),
                       doctest::Contains("'auto', 'exact', 'bp' or 'gibbs', got 'mcmc'"),
                       InvalidInput);
  const FeatureSet dense = frustrated(10, 1.0).features();
  ExpectationOptions options;
  CHECK(make_expectation_engine(dense, options)->method() == "exact");
  options.automatic_table_entries = 512;
  CHECK(make_expectation_engine(dense, options)->method() == "bp");
  options.automatic_table_entries = 1e9;
  options.max_table_entries = 512;  // nor is what exact inference refuses chosen
  CHECK(make_expectation_engine(dense, options)->method() == "bp");
  options.method = ExpectationMethod::exact;
  CHECK_THROWS_WITH_AS(make_expectation_engine(dense, options),
                       doctest::Contains("max_table_entries is 512"), InvalidInput);
}

}  // namespace test_expectations
