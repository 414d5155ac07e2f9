// infer/annealed_importance.hpp against sums over all states.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <feldspar/infer/annealed_importance.hpp>

#include "support/compare.hpp"
#include "support/enumerate_states.hpp"
#include "support/random_models.hpp"
#include "support/stop_after.hpp"

namespace test_annealed_importance {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

constexpr Execution kOneThread{.n_threads = 1};

AnnealingOptions quick(std::uint64_t seed) {
  AnnealingOptions options;
  options.n_chains = 150;
  options.n_temperatures = 60;
  options.reverse_burn_in = 60;
  options.seed = seed;
  return options;
}

Codes unknown(const MarkovNetwork& network) {
  return Codes(network.schema().n_variables(), kUnknown);
}

}  // namespace

TEST_CASE("both estimates are as far from log Z as their standard errors say") {
  Deviations forward, reverse;
  for (const Value most_values : {Value{2}, Value{4}})
    for (const EnumeratedNetwork& model : enumerated_networks(210 + most_values, most_values)) {
      CAPTURE(model.name);
      CAPTURE(most_values);
      Dice dice(5);
      Deviations own;
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const auto evidence =
            small_evidence(dice, model.network.schema(), seed % 2 == 0 ? 0.0 : 0.4, seed % 4 >= 2);
        AnnealingOptions options = quick(seed);
        options.base = seed % 3 == 0 ? AnnealingBase::uniform : AnnealingBase::independent;
        options.schedule = static_cast<AnnealingSchedule>(seed % 3);
        const auto result =
            annealed_log_partition(model.network, evidence.view(), options, kOneThread);
        const double exact = sum_over_states(model.network, evidence.view()).log_partition;
        for (Deviations* list : {&forward, &own})
          list->add(result.forward.log_partition, exact, result.forward.standard_error);
        reverse.add(result.reverse.log_partition, exact, result.reverse.standard_error);
        CHECK(result.forward.n_chains == 150);
        CHECK(result.forward.effective_size <= 150.0001);
        CHECK(result.forward.effective_size > 10);
      }
      CHECK(own.worst() < 4);
    }
  CHECK(forward.root_mean_square() < 1.2);
  CHECK(forward.root_mean_square() > 0.8);
  CHECK(reverse.worst() < 4);
  CHECK(reverse.root_mean_square() < 1.25);
  CHECK(reverse.root_mean_square() > 0.8);
}

TEST_CASE("with few temperatures the estimates enclose log Z on average") {
  const MarkovNetwork network = enumerated_networks(231, 2)[2].network;
  const double exact = sum_over_states(network, {unknown(network), {}}).log_partition;
  double below = 0, above = 0;
  const int n = 400;  // the means have an error of a fifth of their size
  for (int seed = 0; seed < n; ++seed) {
    AnnealingOptions options = quick(static_cast<std::uint64_t>(seed));
    options.n_chains = 2;
    options.n_temperatures = 2;
    const auto result =
        annealed_log_partition(network, {unknown(network), {}}, options, kOneThread);
    below += (result.forward.log_partition - exact) / n;
    above += (result.reverse.log_partition - exact) / n;
  }
  CHECK(below < 0);
  CHECK(above > 0);
}

TEST_CASE("independent variables need no annealing") {
  FeatureSetBuilder builder(Schema({2, 3, 1}));
  builder.add(std::vector<Variable>{0}, std::vector<Value>{1});
  builder.add(std::vector<Variable>{1}, std::vector<Value>{2});
  const MarkovNetwork network(std::move(builder).finish(), {1.5, -0.5});
  const auto result = annealed_log_partition(network, {unknown(network), {}}, quick(0), kOneThread);
  const double exact = std::log(1 + std::exp(1.5)) + std::log(2 + std::exp(-0.5));
  CHECK(result.forward.log_partition == doctest::Approx(exact).epsilon(1e-13));
  CHECK(result.reverse.log_partition == doctest::Approx(exact).epsilon(1e-13));
  CHECK(result.forward.standard_error < 1e-7);
  CHECK(result.forward.effective_size == doctest::Approx(150));
}

TEST_CASE("with everything observed log Z is the log-potential of the row") {
  const MarkovNetwork network = enumerated_networks(241, 4)[4].network;
  Dice dice(2);
  const auto evidence = small_evidence(dice, network.schema(), 1.0, true);
  const auto result = annealed_log_partition(network, evidence.view(), quick(0), kOneThread);
  const double exact = sum_over_states(network, evidence.view()).log_partition;
  CHECK(result.forward.log_partition == doctest::Approx(exact).epsilon(1e-12));
  CHECK(result.reverse.log_partition == doctest::Approx(exact).epsilon(1e-12));
}

TEST_CASE("temperatures rise from zero to one as their schedule says") {
  for (const auto schedule :
       {AnnealingSchedule::linear, AnnealingSchedule::geometric, AnnealingSchedule::sigmoid}) {
    const auto betas = annealing_temperatures(schedule, 100);
    REQUIRE(betas.size() == 101);
    CHECK(betas.front() == 0);
    CHECK(betas.back() == 1);
    CHECK(std::ranges::is_sorted(betas));
  }
  CHECK(annealing_temperatures(AnnealingSchedule::linear, 4)[1] == 0.25);
  const auto geometric = annealing_temperatures(AnnealingSchedule::geometric, 10);
  const double first = geometric[2] - geometric[1], later = geometric[9] - geometric[8];
  CHECK(std::log(later / first) == doctest::Approx(0.7 * std::log(1000.0)).epsilon(1e-9));
  const auto sigmoid = annealing_temperatures(AnnealingSchedule::sigmoid, 10);
  CHECK(sigmoid[1] - sigmoid[0] < sigmoid[5] - sigmoid[4]);
  CHECK(sigmoid[3] + sigmoid[7] == doctest::Approx(1).epsilon(1e-12));
}

TEST_CASE("results have the same bits for any number of threads") {
  const MarkovNetwork network = enumerated_networks(251, 4)[4].network;
  const auto one = annealed_log_partition(network, {unknown(network), {}}, quick(1), kOneThread);
  for (const int threads : {2, 3}) {
    const auto several =
        annealed_log_partition(network, {unknown(network), {}}, quick(1), {threads, nullptr});
    CHECK(one.forward.log_partition == several.forward.log_partition);
    CHECK(one.reverse.log_partition == several.reverse.log_partition);
    CHECK(one.forward.standard_error == several.forward.standard_error);
  }
}

TEST_CASE("stops, time limits, no reverse, bad options") {
  const MarkovNetwork network = enumerated_networks(261, 2)[3].network;
  const Codes row = unknown(network);
  StopAfter monitor(100);
  CHECK_THROWS_AS(annealed_log_partition(network, {row, {}}, quick(0), {1, &monitor}), Interrupted);

  AnnealingOptions options = quick(0);
  options.n_temperatures = 1 << 24;
  options.max_seconds = 0.02;
  const auto late = annealed_log_partition(network, {row, {}}, options, kOneThread);
  CHECK(late.status == SamplingStatus::time_limit);
  CHECK(late.forward.n_chains == 0);
  CHECK(std::isnan(late.forward.log_partition));

  options = quick(0);
  options.reverse = false;
  const auto forward = annealed_log_partition(network, {row, {}}, options, kOneThread);
  CHECK(forward.status == SamplingStatus::finished);
  CHECK(forward.reverse.n_chains == 0);
  CHECK(std::isnan(forward.reverse.log_partition));

  const auto refuses = [&](auto change, const char* message) {
    AnnealingOptions bad;
    change(bad);
    CHECK_THROWS_WITH_AS(annealed_log_partition(network, {row, {}}, bad), message, InvalidInput);
  };
  refuses([](auto& o) { o.n_chains = 1; }, "n_chains must be at least 2, got 1");
  refuses([](auto& o) { o.n_temperatures = 0; }, "n_temperatures must be at least 1, got 0");
  refuses([](auto& o) { o.n_sweeps = 0; }, "n_sweeps must be at least 1, got 0");
  refuses([](auto& o) { o.reverse_burn_in = -1; }, "reverse_burn_in must not be negative, got -1");
  refuses([](auto& o) { o.max_seconds = 0; }, "max_seconds must be positive, got 0");
  CHECK_THROWS_WITH_AS(annealed_log_partition(network, {}, {}), "evidence: expected one row, got 0",
                       InvalidInput);
}

}  // namespace test_annealed_importance
