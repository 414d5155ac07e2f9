// infer/dependency_gibbs.hpp against the stationary distribution of its own sweeps, enumerated.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <feldspar/infer/dependency_gibbs.hpp>

#include "support/brute_force.hpp"
#include "support/dependency_networks.hpp"
#include "support/random_models.hpp"
#include "support/stop_after.hpp"

namespace test_dependency_gibbs {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

// A state's place in all_states.
std::size_t place_of(const Schema& schema, CodeRow state) {
  std::size_t place = 0;
  for (std::size_t v = 0; v < state.size(); ++v)
    place = place * schema.cardinalities()[v] + static_cast<std::size_t>(state[v]);
  return place;
}

// What a sweep makes of a distribution over states.
std::vector<double> swept(const DependencyNetwork& network, std::vector<double> p) {
  const Schema& schema = network.schema();
  const std::size_t n = schema.n_variables();
  const Codes states = all_states(schema);
  for (Variable v = 0; v < n; ++v) {
    std::vector<double> next(p.size(), 0.0);
    for (std::size_t i = 0; i < p.size(); ++i) {
      Codes state(row_of(states, n, i).begin(), row_of(states, n, i).end());
      const auto conditional = local_conditional(network, state, v);
      for (std::size_t a = 0; a < conditional.size(); ++a) {
        state[v] = static_cast<std::int32_t>(a);
        next[place_of(schema, state)] += p[i] * std::exp(conditional[a]);
      }
    }
    p = std::move(next);
  }
  return p;
}

std::vector<double> stationary(const DependencyNetwork& network) {
  const std::size_t n_states = all_states(network.schema()).size() / network.schema().n_variables();
  std::vector<double> p(n_states, 1 / static_cast<double>(n_states));
  for (int sweep = 0; sweep < 200; ++sweep) p = swept(network, std::move(p));
  return p;
}

// The frequency of every state among the samples is within 4 standard errors of its probability;
// the error comes from the spread between chains, which are independent.
void check_frequencies(const DependencyNetwork& network, const std::vector<double>& expected,
                       const DependencyGibbsOptions& options) {
  const std::size_t n = network.schema().n_variables();
  const auto chains = static_cast<std::size_t>(options.n_chains);
  const std::size_t length = static_cast<std::size_t>(options.n_samples) / chains;
  const Codes samples = sample(network, options);
  std::vector<double> frequencies(chains * expected.size(), 0.0);
  for (std::size_t i = 0; i < chains * length; ++i)
    frequencies[i / length * expected.size() + place_of(network.schema(), row_of(samples, n, i))] +=
        1 / static_cast<double>(length);
  for (std::size_t s = 0; s < expected.size(); ++s) {
    double sum = 0, squares = 0;
    for (std::size_t c = 0; c < chains; ++c) {
      const double f = frequencies[c * expected.size() + s];
      sum += f;
      squares += f * f;
    }
    const auto m = static_cast<double>(chains);
    const double mean = sum / m, variance = std::max(squares / m - mean * mean, 1e-6);
    CAPTURE(s);
    CHECK(std::abs(mean - expected[s]) < 4 * std::sqrt(variance / m));
  }
}

}  // namespace

TEST_CASE("samples of a consistent network follow its joint distribution") {
  Dice dice(51);
  const MarkovNetwork truth = random_network(dice, Schema({2, 3, 2}), 12, 3);
  for (const Form form : {Form::terms, Form::trees, Form::mixed})
    check_frequencies(consistent(truth, form), joint(truth),
                      {.n_samples = 40000, .burn_in = 20, .n_chains = 400, .seed = 1});
}

TEST_CASE("samples of an inconsistent network follow the sampler's stationary distribution") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Dice dice(seed);
    const DependencyNetwork network = inconsistent(dice, Schema({2, 2, 3, 2}));
    check_frequencies(
        network, stationary(network),
        {.n_samples = 40000, .burn_in = 30, .thinning = 2, .n_chains = 400, .seed = seed});
  }
}

TEST_CASE("terms too few for a table are looked at one by one, with the same result") {
  const Schema schema({2, 60});
  FeatureSetBuilder builder(schema);
  builder.add(std::vector<Variable>{0, 1}, std::vector<Value>{1, 7});
  builder.add(std::vector<Variable>{1}, std::vector<Value>{7});
  const MarkovNetwork truth(std::move(builder).finish(), {2.0, 3.0});
  check_frequencies(consistent(truth, Form::terms), joint(truth),
                    {.n_samples = 40000, .burn_in = 20, .n_chains = 400, .seed = 3});
}

TEST_CASE("after no burn-in and one sweep, chains have what one sweep makes of uniform states") {
  Dice dice(52);
  const Schema schema({2, 3, 2});
  const DependencyNetwork network = inconsistent(dice, schema);
  const std::vector<double> uniform(12, 1.0 / 12);
  check_frequencies(network, swept(network, uniform),
                    {.n_samples = 20000, .burn_in = 0, .n_chains = 20000, .seed = 4});
  // Burn-in and thinning both count in sweeps.
  check_frequencies(
      network, swept(network, swept(network, swept(network, uniform))),
      {.n_samples = 20000, .burn_in = 1, .thinning = 2, .n_chains = 20000, .seed = 5});
}

TEST_CASE("burn-in and thinning leave out states of the same chain") {
  Dice dice(57);
  const DependencyNetwork network = inconsistent(dice, Schema({2, 3, 2, 4, 3}));
  const auto run = [&](std::int64_t n_samples, int burn_in, int thinning) {
    return sample(network, {.n_samples = n_samples,
                            .burn_in = burn_in,
                            .thinning = thinning,
                            .n_chains = 1,
                            .seed = 10});
  };
  const Codes every = run(40, 0, 1), some = run(10, 4, 3);
  for (std::size_t i = 0; i < 10; ++i)  // the sweeps number 4 + 3, 4 + 6, ...
    CHECK(std::ranges::equal(row_of(some, 5, i), row_of(every, 5, 4 + 3 * (i + 1) - 1)));
}

TEST_CASE("extreme weights are drawn without overflow") {
  const Schema schema({2, 2});
  FeatureSetBuilder builder(schema);
  builder.add(std::vector<Variable>{0, 1}, std::vector<Value>{1, 1});
  const MarkovNetwork truth(std::move(builder).finish(), {5000.0});
  const Codes samples = sample(consistent(truth, Form::terms), {.n_samples = 100, .seed = 6});
  CHECK(std::ranges::count(samples, 1) == 200);  // reached in the burn-in and never left
}

TEST_CASE("the same seed gives the same samples for any number of threads") {
  Dice dice(53);
  const DependencyNetwork network = inconsistent(dice, random_schema(dice, 8, 2, 4));
  const DependencyGibbsOptions options{.n_samples = 107, .burn_in = 3, .n_chains = 5, .seed = 7};
  const Codes samples = sample(network, options, {.n_threads = 1});
  CHECK(samples.size() == 107 * 8);
  for (const int threads : {2, 3, 8})
    CHECK(sample(network, options, {.n_threads = threads}) == samples);
  DependencyGibbsOptions other = options;
  other.seed = 8;
  CHECK(sample(network, other) != samples);
}

TEST_CASE("a chain is the same beside others and when it goes on longer") {
  Dice dice(54);
  const DependencyNetwork network = inconsistent(dice, Schema({2, 3, 2, 2}));
  const auto run = [&](std::int64_t n_samples, int n_chains) {
    return sample(network, {.n_samples = n_samples, .burn_in = 2, .n_chains = n_chains, .seed = 9});
  };
  const Codes alone = run(50, 1), beside = run(30, 3);
  CHECK(std::equal(beside.begin(), beside.begin() + 40, alone.begin()));
  CHECK(!std::equal(beside.begin() + 40, beside.begin() + 80, alone.begin()));
  // 7 samples of 3 chains: 3, 2 and 2.
  const Codes uneven = run(7, 3), even = run(9, 3);
  CHECK(std::equal(uneven.begin(), uneven.begin() + 12, even.begin()));
  CHECK(std::equal(uneven.begin() + 12, uneven.begin() + 20, even.begin() + 12));
  CHECK(run(2, 5).size() == 8);  // chains without samples do nothing
}

TEST_CASE("sampling reports and can be stopped") {
  struct Reports : Monitor {
    void report(const Progress& p) override { last = p; }
    Progress last;
  };
  Dice dice(55);
  const DependencyNetwork network = inconsistent(dice, Schema({2, 2}));
  Reports reports;
  const DependencyGibbsOptions options{.n_samples = 500, .burn_in = 10, .thinning = 3};
  sample(network, options, {1, &reports});
  CHECK(reports.last.stage == "samples");
  CHECK(reports.last.done == 160);
  CHECK(reports.last.total == 160);
  StopAfter first_round(3);
  CHECK_THROWS_AS(sample(network, options, {1, &first_round}), Interrupted);
  StopAfter later(12);
  CHECK_THROWS_AS(sample(network, {.n_samples = 1000000}, {1, &later}), Interrupted);
}

TEST_CASE("options out of range are refused") {
  Dice dice(56);
  const DependencyNetwork network = inconsistent(dice, Schema({2, 2}));
  CHECK_THROWS_WITH_AS(sample(network, {.n_samples = 0}), "n_samples must be at least 1, got 0",
                       InvalidInput);
  CHECK_THROWS_WITH_AS(sample(network, {.burn_in = -1}), "burn_in must not be negative, got -1",
                       InvalidInput);
  CHECK_THROWS_WITH_AS(sample(network, {.thinning = 0}), "thinning must be at least 1, got 0",
                       InvalidInput);
  CHECK_THROWS_WITH_AS(sample(network, {.n_chains = 0}), "n_chains must be at least 1, got 0",
                       InvalidInput);
  CHECK_THROWS_AS(sample(DependencyNetwork(Schema(), {}), {}), InvalidInput);
}

}  // namespace test_dependency_gibbs
