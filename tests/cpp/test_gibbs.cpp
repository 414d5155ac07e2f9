// infer/gibbs.hpp against sums over all states, on every path that the scores can take.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <feldspar/infer/gibbs.hpp>

#include "support/compare.hpp"
#include "support/enumerate_states.hpp"
#include "support/random_models.hpp"
#include "support/stop_after.hpp"

namespace test_gibbs {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

constexpr Execution kOneThread{.n_threads = 1};

// Long enough for batches to forget where they began.
GibbsOptions long_chains(std::uint64_t seed, int max_table_bits = 10) {
  GibbsOptions options;
  options.chains.n_chains = 8;
  options.chains.burn_in = 200;
  options.chains.n_samples = 2500;
  options.chains.standard_errors = true;
  options.chains.seed = seed;
  options.max_table_bits = max_table_bits;
  return options;
}

void compare(const MarkovNetwork& network, const EvidenceView& evidence,
             const GibbsOptions& options, Deviations& deviations) {
  const SampledMarginals result = gibbs_marginals(network, evidence, options, kOneThread);
  deviations.add(network.schema(), result.probabilities,
                 sum_over_states(network, evidence).marginals, result.standard_errors);
}

// Rows over the variables of a network, some of them equal.
Codes evidence_rows(Dice& dice, const Schema& schema, std::size_t n_rows, double observed) {
  Codes rows;
  for (std::size_t r = 0; r < n_rows; ++r) {
    const Codes row =
        r % 5 == 4
            ? Codes(rows.end() - static_cast<std::ptrdiff_t>(schema.n_variables()), rows.end())
            : small_evidence(dice, schema, observed, false).codes;
    rows.insert(rows.end(), row.begin(), row.end());
  }
  return rows;
}

GibbsOptions short_chains() {
  GibbsOptions options;
  options.chains = {.n_chains = 5, .burn_in = 7, .n_samples = 60, .standard_errors = true};
  return options;
}

MarkovNetwork mixed_network() { return enumerated_networks(3, 4)[4].network; }

}  // namespace

TEST_CASE("over 20 seeds marginals are as far from the exact ones as their errors say") {
  Deviations means, single;
  for (const Value most_values : {Value{2}, Value{4}})
    for (const EnumeratedNetwork& model : enumerated_networks(10 + most_values, most_values)) {
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
          auto result =
              gibbs_marginals(model.network, evidence.view(), long_chains(seed), kOneThread);
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

TEST_CASE("counters, short tables and long tables all give the exact marginals") {
  for (const int bits : {0, 2, 4, 16}) {
    CAPTURE(bits);
    Deviations deviations;
    for (const Value most_values : {Value{2}, Value{4}})
      for (const EnumeratedNetwork& model : enumerated_networks(20 + most_values, most_values)) {
        Dice dice(6);
        const auto evidence = small_evidence(dice, model.network.schema(), 0.2, true);
        compare(model.network, evidence.view(), long_chains(1, bits), deviations);
      }
    CHECK(deviations.size() > 50);
    CHECK(deviations.worst() < 4);
    CHECK(deviations.root_mean_square() < 1.2);
  }
}

TEST_CASE("counters and tables follow the same path but for rounding") {
  const MarkovNetwork network = enumerated_networks(7, 2)[4].network;
  const Codes unknown(network.schema().n_variables(), kUnknown);
  GibbsOptions options = short_chains();
  const auto tables = gibbs_marginals(network, {unknown, {}}, options, kOneThread);
  options.max_table_bits = 0;
  const auto counters = gibbs_marginals(network, {unknown, {}}, options, kOneThread);
  CHECK(distance(tables.probabilities, counters.probabilities) < 1e-12);
}

TEST_CASE("a single hidden variable has its exact distribution") {
  for (const Value most_values : {Value{2}, Value{4}}) {
    const MarkovNetwork network = enumerated_networks(31, most_values)[4].network;
    Dice dice(2);
    for (Variable v = 0; v < network.schema().n_variables(); ++v) {
      auto evidence = small_evidence(dice, network.schema(), 1.0, true);
      evidence.codes[v] = kUnknown;
      const auto result = gibbs_marginals(network, evidence.view(), short_chains(), kOneThread);
      const auto exact = sum_over_states(network, evidence.view()).marginals;
      CHECK(distance(result.probabilities, exact) < 1e-13);
      CHECK(result.r_hat[0] == 1);
      CHECK(result.effective_size[0] == 300);
    }
  }
}

TEST_CASE("counts add one to each value and agree with the exact marginals") {
  for (const Value most_values : {Value{2}, Value{4}}) {
    const MarkovNetwork network = enumerated_networks(41, most_values)[2].network;
    const Codes unknown(network.schema().n_variables(), kUnknown);
    Deviations deviations;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      GibbsOptions options = long_chains(seed);
      options.chains.rao_blackwell = false;
      compare(network, {unknown, {}}, options, deviations);
    }
    CHECK(deviations.worst() < 4);
    CHECK(deviations.root_mean_square() < 1.2);
    CHECK(deviations.root_mean_square() > 0.8);
  }
  // Never drawn, and still not impossible.
  FeatureSetBuilder builder(Schema({2, 3}));
  builder.add(std::vector<Variable>{0}, std::vector<Value>{1});
  const MarkovNetwork certain(std::move(builder).finish(), {200.0});
  GibbsOptions options = short_chains();
  options.chains.rao_blackwell = false;
  const auto result = gibbs_marginals(certain, {Codes{-1, 2}, {}}, options, kOneThread);
  CHECK(result.probabilities[0] == doctest::Approx(1.0 / 302).epsilon(1e-12));
  CHECK(result.probabilities[1] == doctest::Approx(301.0 / 302).epsilon(1e-12));
}

TEST_CASE("thinning spaces samples out and leaves the answer alone") {
  const MarkovNetwork network = enumerated_networks(51, 2)[0].network;
  const Codes unknown(network.schema().n_variables(), kUnknown);
  GibbsOptions options = long_chains(3);
  const double dense =
      gibbs_marginals(network, {unknown, {}}, options, kOneThread).effective_size[0];
  options.chains.thinning = 10;
  const auto thinned = gibbs_marginals(network, {unknown, {}}, options, kOneThread);
  Deviations deviations;
  deviations.add(network.schema(), thinned.probabilities,
                 sum_over_states(network, {unknown, {}}).marginals, thinned.standard_errors);
  CHECK(deviations.worst() < 4);
  CHECK(thinned.effective_size[0] > dense);
}

TEST_CASE("observed variables are certain, and a fully observed row needs no sampling") {
  const MarkovNetwork network(FeatureSetBuilder(Schema({2, 3, 1})).finish(), {});
  const auto result = gibbs_marginals(network, {Codes{1, 2, 0, -1, 0, -1}, {}}, short_chains());
  const std::vector<double> expected{0, 1, 0, 0, 1, 1, 0.5, 0.5, 1, 0, 0, 1};
  CHECK(distance(result.probabilities, expected) < 1e-15);
  CHECK(result.is_done == std::vector<std::uint8_t>{1, 1});
  CHECK(distance(result.standard_errors, std::vector<double>(12, 0.0)) == 0);
}

TEST_CASE("results have the same bits for any number of threads, many rows or one") {
  const MarkovNetwork network = mixed_network();
  Dice dice(8);
  for (const std::size_t n_rows : {std::size_t{1}, std::size_t{150}}) {
    const Codes rows = evidence_rows(dice, network.schema(), n_rows, 0.5);
    GibbsOptions options = short_chains();
    options.chains.n_chains = n_rows == 1 ? 70 : 5;  // more than one word of chains
    const auto one = gibbs_marginals(network, {rows, {}}, options, kOneThread);
    for (const int threads : {2, 3}) {
      const auto several = gibbs_marginals(network, {rows, {}}, options, {.n_threads = threads});
      CHECK(same_bits(one.probabilities, several.probabilities));
      CHECK(same_bits(one.standard_errors, several.standard_errors));
      CHECK(same_bits(one.r_hat, several.r_hat));
      CHECK(same_bits(one.effective_size, several.effective_size));
    }
  }
}

TEST_CASE("a row's result does not depend on the other rows") {
  const MarkovNetwork network = mixed_network();
  Dice dice(9);
  const std::size_t n = network.schema().n_variables();
  const std::size_t width = value_offsets(network.schema()).back();
  const Codes rows = evidence_rows(dice, network.schema(), 130, 0.3);
  const auto soft = dice.numbers(130 * width, -1.0, 1.0);
  for (const bool with_soft : {false, true}) {
    const std::span<const double> likelihoods = with_soft ? soft : std::span<const double>{};
    const auto all = gibbs_marginals(network, {rows, likelihoods}, short_chains());
    for (const std::size_t r : {0, 4, 77, 129}) {
      const EvidenceView alone{std::span(rows).subspan(r * n, n),
                               with_soft ? likelihoods.subspan(r * width, width) : likelihoods};
      const auto single = gibbs_marginals(network, alone, short_chains());
      CHECK(
          same_bits(single.probabilities, std::span(all.probabilities).subspan(r * width, width)));
      CHECK(single.r_hat[0] == all.r_hat[r]);
    }
    if (!with_soft)  // row 4 has the evidence of row 3
      CHECK(same_bits(std::span(all.probabilities).subspan(3 * width, width),
                      std::span(all.probabilities).subspan(4 * width, width)));
  }
}

TEST_CASE("seeds differ") {
  const MarkovNetwork network = mixed_network();
  const Codes unknown(network.schema().n_variables(), kUnknown);
  GibbsOptions options = short_chains();
  const auto first = gibbs_marginals(network, {unknown, {}}, options);
  options.chains.seed = 1;
  CHECK_FALSE(same_bits(first.probabilities,
                        gibbs_marginals(network, {unknown, {}}, options).probabilities));
}

TEST_CASE("chains that stay in different modes show in R-hat") {
  // X_0 = X_1 with overwhelming weight, no way from 00 to 11 by single changes.
  FeatureSetBuilder builder(binary_schema(2));
  builder.add(std::vector<Variable>{0, 1}, std::vector<Value>{0, 0});
  builder.add(std::vector<Variable>{0, 1}, std::vector<Value>{1, 1});
  const MarkovNetwork network(std::move(builder).finish(), {40.0, 40.0});
  GibbsOptions options = short_chains();
  options.chains.n_chains = 10;
  const auto result = gibbs_marginals(network, {Codes{-1, -1}, {}}, options);
  CHECK(result.r_hat[0] > 2);
  CHECK(result.effective_size[0] < 20);
  CHECK(result.standard_errors[0] > 0.1);
}

TEST_CASE("a stop leaves the rows that are finished, or throws if there are none") {
  const MarkovNetwork network = mixed_network();
  Dice dice(10);
  const Codes rows = evidence_rows(dice, network.schema(), 1200, 0.2);
  const std::size_t width = value_offsets(network.schema()).back();
  GibbsOptions options = short_chains();
  const auto all = gibbs_marginals(network, {rows, {}}, options, kOneThread);
  StopAfter monitor(300);
  const auto some = gibbs_marginals(network, {rows, {}}, options, {1, &monitor});
  CHECK(some.status == SamplingStatus::interrupted);
  const auto n_done = std::ranges::count(some.is_done, 1);
  CHECK(n_done > 0);
  CHECK(n_done < 1200);
  for (std::size_t r = 0; r < 1200; ++r) {
    const auto row = std::span(some.probabilities).subspan(r * width, width);
    if (some.is_done[r] != 0)
      CHECK(same_bits(row, std::span(all.probabilities).subspan(r * width, width)));
    else
      CHECK(std::isnan(some.r_hat[r]));
  }
  for (const int threads : {1, 2}) {
    StopAfter at_once(0);
    at_once.poll();
    CHECK_THROWS_AS(gibbs_marginals(network, {rows, {}}, options, {threads, &at_once}),
                    Interrupted);
  }
}

TEST_CASE("a time limit is kept inside a row, which has what was sampled until then") {
  const MarkovNetwork network = enumerated_networks(61, 2)[3].network;
  const Codes unknown(network.schema().n_variables(), kUnknown);
  GibbsOptions options = short_chains();
  options.chains.n_samples = 1 << 30;
  options.chains.max_seconds = 0.2;
  const auto result = gibbs_marginals(network, {unknown, {}}, options, kOneThread);
  CHECK(result.status == SamplingStatus::time_limit);
  CHECK(result.is_done[0] == 0);
  CHECK(result.n_samples[0] > 0);
  CHECK(std::isnan(result.r_hat[0]));
  const auto exact = sum_over_states(network, {unknown, {}}).marginals;
  CHECK(distance(result.probabilities, exact) < 0.1);
  options.chains.max_seconds = 1e-9;
  const auto nothing = gibbs_marginals(network, {unknown, {}}, options, kOneThread);
  CHECK(nothing.n_samples[0] == 0);
  CHECK(std::isnan(nothing.probabilities[0]));
}

TEST_CASE("a stop inside the only row leaves what was sampled, or throws before the first sample") {
  const MarkovNetwork network = enumerated_networks(61, 2)[3].network;
  const Codes unknown(network.schema().n_variables(), kUnknown);
  GibbsOptions options = short_chains();
  options.chains.n_samples = 1 << 30;
  StopAfter monitor(200);
  const auto result = gibbs_marginals(network, {unknown, {}}, options, {1, &monitor});
  CHECK(result.status == SamplingStatus::interrupted);
  CHECK(result.is_done[0] == 0);
  CHECK(result.n_samples[0] > 0);
  CHECK(std::isnan(result.r_hat[0]));
  const auto exact = sum_over_states(network, {unknown, {}}).marginals;
  CHECK(distance(result.probabilities, exact) < 0.1);
  options.chains.burn_in = 1 << 30;
  StopAfter before(200);
  CHECK_THROWS_AS(gibbs_marginals(network, {unknown, {}}, options, {1, &before}), Interrupted);
}

TEST_CASE("bad options and bad evidence are refused by name") {
  const MarkovNetwork network(FeatureSetBuilder(Schema({2, 3})).finish(), {});
  const Codes row{-1, -1};
  const auto with = [](auto change) {
    GibbsOptions options;
    change(options);
    return options;
  };
  const auto refuses = [&](const GibbsOptions& options, const char* message) {
    CHECK_THROWS_WITH_AS(gibbs_marginals(network, {row, {}}, options), message, InvalidInput);
  };
  refuses(with([](auto& o) { o.chains.n_chains = 0; }), "n_chains must be at least 1, got 0");
  refuses(with([](auto& o) { o.chains.burn_in = -1; }), "burn_in must not be negative, got -1");
  refuses(with([](auto& o) { o.chains.n_samples = 0; }), "n_samples must be at least 1, got 0");
  refuses(with([](auto& o) { o.chains.thinning = 0; }), "thinning must be at least 1, got 0");
  refuses(with([](auto& o) { o.chains.max_seconds = 0; }), "max_seconds must be positive, got 0");
  refuses(with([](auto& o) { o.max_table_bits = 17; }),
          "max_table_bits must be from 0 to 16, got 17");
  CHECK_THROWS_WITH_AS(gibbs_marginals(network, {Codes{0, 3}, {}}, {}),
                       "evidence: row 0, variable 1: code 3 is out of range; expected -1 (unknown) "
                       "or 0 to 2",
                       InvalidInput);
  CHECK(gibbs_marginals(network, {}, {}).probabilities.empty());
}

TEST_CASE("sampled states have the frequencies of the model") {
  for (const Value most_values : {Value{2}, Value{4}})
    for (const EnumeratedNetwork& model : enumerated_networks(71, most_values)) {
      CAPTURE(model.name);
      Dice dice(11);
      const Schema& schema = model.network.schema();
      const auto evidence = small_evidence(dice, schema, 0.3, true);
      const std::size_t n = 20000, n_variables = schema.n_variables();
      const auto offsets = value_offsets(schema);
      const auto states =
          sample(model.network, evidence.view(), n, {.n_chains = 50, .thinning = 20}, kOneThread);
      REQUIRE(states.size() == n * n_variables);
      std::vector<double> shares(offsets.back(), 0.0), errors(offsets.back());
      for (std::size_t i = 0; i < states.size(); ++i)
        shares[offsets[i % n_variables] + static_cast<std::size_t>(states[i])] += 1.0 / n;
      for (std::size_t v = 0; v < n_variables; ++v)
        if (evidence.codes[v] != kUnknown)
          CHECK(shares[offsets[v] + static_cast<std::size_t>(evidence.codes[v])] ==
                doctest::Approx(1.0));
      const auto exact = sum_over_states(model.network, evidence.view()).marginals;
      for (std::size_t i = 0; i < errors.size(); ++i)
        errors[i] = std::sqrt(exact[i] * (1 - exact[i]) / n);
      Deviations deviations;
      deviations.add(schema, shares, exact, errors);
      CHECK(deviations.worst() < 4);
    }
}

TEST_CASE(
    "sampled states have the same bits for any number of threads, and any number is possible") {
  const MarkovNetwork network = mixed_network();
  const Codes unknown(network.schema().n_variables(), kUnknown);
  for (const std::size_t n : {std::size_t{0}, std::size_t{3}, std::size_t{1001}}) {
    const SampleOptions options{.n_chains = 130};
    const auto one = sample(network, {unknown, {}}, n, options, kOneThread);
    CHECK(one.size() == n * network.schema().n_variables());
    for (const int threads : {2, 3})
      CHECK(one == sample(network, {unknown, {}}, n, options, {.n_threads = threads}));
  }
  CHECK_THROWS_WITH_AS(sample(network, {}, 5, {}), "evidence: expected one row, got 0",
                       InvalidInput);
  CHECK_THROWS_WITH_AS(sample(network, {unknown, {}}, 5, {.thinning = 0}),
                       "thinning must be at least 1, got 0", InvalidInput);
  StopAfter monitor(0);
  CHECK_THROWS_AS(sample(network, {unknown, {}}, 5, {}, {1, &monitor}), Interrupted);
}

}  // namespace test_gibbs
