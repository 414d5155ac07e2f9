// infer/mcsat.hpp against sums over all states.
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <feldspar/infer/gibbs.hpp>
#include <feldspar/infer/mcsat.hpp>

#include "support/compare.hpp"
#include "support/enumerate_states.hpp"
#include "support/random_models.hpp"
#include "support/stop_after.hpp"

namespace test_mcsat {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

constexpr Execution kOneThread{.n_threads = 1};

McSatOptions chains_of(std::uint64_t seed, bool rao_blackwell) {
  McSatOptions options;
  options.chains.n_chains = 4;
  options.chains.burn_in = 50;
  options.chains.n_samples = 700;
  options.chains.rao_blackwell = rao_blackwell;
  options.chains.standard_errors = true;
  options.chains.seed = seed;
  return options;
}

// Both variables alike, by so much that single changes never cross.
MarkovNetwork two_modes() {
  FeatureSetBuilder builder(binary_schema(3));
  builder.add(std::vector<Variable>{0, 1}, std::vector<Value>{0, 1});
  builder.add(std::vector<Variable>{0, 1}, std::vector<Value>{1, 0});
  builder.add(std::vector<Variable>{1, 2}, std::vector<Value>{1, 1});
  return {std::move(builder).finish(), {-30.0, -30.0, 0.7}};
}

}  // namespace

TEST_CASE("over 20 seeds marginals are as far from the exact ones as their errors say") {
  Deviations means, single;
  for (const Value most_values : {Value{2}, Value{4}})
    for (const EnumeratedNetwork& model : enumerated_networks(110 + most_values, most_values)) {
      CAPTURE(model.name);
      CAPTURE(most_values);
      Dice dice(5);
      for (const bool with_evidence : {false, true}) {
        const auto evidence =
            small_evidence(dice, model.network.schema(), with_evidence ? 0.4 : 0.0, with_evidence);
        const auto exact = sum_over_states(model.network, evidence.view()).marginals;
        Deviations own, own_mean;
        std::vector<std::vector<double>> estimates, errors;
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
          auto result = mcsat_marginals(model.network, evidence.view(),
                                        chains_of(seed, seed % 3 != 0), kOneThread);
          for (Deviations* list : {&own, &single})
            list->add(model.network.schema(), result.probabilities, exact, result.standard_errors);
          estimates.push_back(std::move(result.probabilities));
          errors.push_back(std::move(result.standard_errors));
        }
        for (Deviations* list : {&own_mean, &means})
          list->add_mean(model.network.schema(), estimates, errors, exact);
        CHECK(own_mean.worst() < 4);
        // The marginals of a run hang together: these are 20 independent numbers, not hundreds.
        CHECK(own.root_mean_square() < 1.4);
        CHECK(own.root_mean_square() > 0.6);
      }
    }
  CHECK(means.size() > 150);
  CHECK(means.root_mean_square() < 1.2);
  CHECK(means.root_mean_square() > 0.8);
  CHECK(single.root_mean_square() < 1.1);
  CHECK(single.root_mean_square() > 0.9);
  CHECK(single.beyond_four() <= 1);  // 0.3 are to be expected
}

TEST_CASE("it crosses between modes where Gibbs sampling stays") {
  const MarkovNetwork network = two_modes();
  const Codes unknown(3, kUnknown);
  const auto exact = sum_over_states(network, {unknown, {}}).marginals;
  const auto result = mcsat_marginals(network, {unknown, {}}, chains_of(1, true), kOneThread);
  Deviations deviations;
  deviations.add(network.schema(), result.probabilities, exact, result.standard_errors);
  CHECK(deviations.worst() < 4);
  CHECK(result.r_hat[0] < 1.05);
  GibbsOptions gibbs;
  CHECK(gibbs_marginals(network, {unknown, {}}, gibbs, kOneThread).r_hat[0] > 2);
}

TEST_CASE("results have the same bits for any number of threads and do not depend on other rows") {
  const MarkovNetwork network = enumerated_networks(121, 4)[4].network;
  const std::size_t n = network.schema().n_variables();
  const std::size_t width = value_offsets(network.schema()).back();
  Dice dice(3);
  Codes rows;
  for (int r = 0; r < 9; ++r)
    for (const std::int32_t code : small_evidence(dice, network.schema(), 0.4, false).codes)
      rows.push_back(code);
  McSatOptions options;
  options.chains = {.n_chains = 3, .burn_in = 5, .n_samples = 30};
  const auto one = mcsat_marginals(network, {rows, {}}, options, kOneThread);
  for (const int threads : {2, 3})
    CHECK(
        same_bits(one.probabilities,
                  mcsat_marginals(network, {rows, {}}, options, {threads, nullptr}).probabilities));
  for (const std::size_t r : {0, 8})
    CHECK(same_bits(
        mcsat_marginals(network, {std::span(rows).subspan(r * n, n), {}}, options).probabilities,
        std::span(one.probabilities).subspan(r * width, width)));
}

TEST_CASE("stops, time limits and bad options") {
  const MarkovNetwork network = two_modes();
  const Codes unknown(3, kUnknown);
  StopAfter monitor(20);
  CHECK_THROWS_AS(mcsat_marginals(network, {unknown, {}}, {}, {1, &monitor}), Interrupted);
  McSatOptions options;
  options.chains.n_samples = 1 << 30;
  options.chains.max_seconds = 0.05;
  const auto result = mcsat_marginals(network, {unknown, {}}, options, kOneThread);
  CHECK(result.status == SamplingStatus::time_limit);
  CHECK(result.is_done[0] == 0);
  CHECK(result.n_samples[0] > 0);
  options = {};
  options.chains.n_chains = 0;
  CHECK_THROWS_WITH_AS(mcsat_marginals(network, {unknown, {}}, options),
                       "n_chains must be at least 1, got 0", InvalidInput);
  options = {};
  options.sat.temperature = -1;
  CHECK_THROWS_WITH_AS(mcsat_marginals(network, {unknown, {}}, options),
                       "temperature must be positive, got -1", InvalidInput);
}

}  // namespace test_mcsat
