// Inference: belief propagation and mean field on a 30 x 30 Ising grid and on models of the shape that
// learners produce, the junction tree on a 10 x 60 grid. An entry is a message (one factor to one
// variable), a test visited by a mean-field sweep, or a table entry; bytes: eight for each.
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <feldspar/infer/belief_propagation.hpp>
#include <feldspar/infer/junction_tree.hpp>
#include <feldspar/infer/mean_field.hpp>

#include "measure.hpp"
#include "workload.hpp"

using namespace feldspar;
using namespace feldspar::bench;

namespace {

// X_v = 1, and X_a = X_b on the edges of a grid, with random weights.
MarkovNetwork ising_grid(std::size_t n_rows, std::size_t n_columns, double coupling) {
  Numbers numbers(3);
  FeatureSetBuilder builder(Schema(std::vector<Value>(n_rows * n_columns, 2)));
  std::vector<double> weights;
  const auto weight = [&](double size) { return size * (2 * numbers.uniform() - 1); };
  const auto couple = [&](Variable a, Variable b) {
    const double w = weight(coupling);
    for (const Value value : {Value{0}, Value{1}}) {
      builder.add(std::vector<Variable>{a, b}, std::vector<Value>{value, value});
      weights.push_back(w);
    }
  };
  for (std::size_t r = 0; r < n_rows; ++r)
    for (std::size_t c = 0; c < n_columns; ++c) {
      const auto v = static_cast<Variable>(r * n_columns + c);
      const Value one = 1;
      builder.add({&v, 1}, {&one, 1});
      weights.push_back(weight(1.0));
      if (c + 1 < n_columns) couple(v, v + 1);
      if (r + 1 < n_rows) couple(v, v + static_cast<Variable>(n_columns));
    }
  return {std::move(builder).finish(), std::move(weights)};
}

// Conjunctions of two to eight tests over 100 binary variables, weights as of a learned model.
MarkovNetwork learned_shape(std::size_t n_features) {
  Numbers numbers(4);
  const std::size_t n = 100;
  FeatureSetBuilder builder(Schema(std::vector<Value>(n, 2)));
  while (builder.size() < n_features) {
    std::vector<Variable> variables;
    std::vector<Value> values;
    const std::size_t length = 2 + numbers.below(7);
    for (std::size_t i = 0; i < length; ++i) {
      variables.push_back(static_cast<Variable>(numbers.below(n)));
      values.push_back(static_cast<Value>(numbers.below(2)));
    }
    builder.add(variables, values);
  }
  std::vector<double> weights;
  for (std::size_t j = 0; j < n_features; ++j) weights.push_back(0.4 * (2 * numbers.uniform() - 1));
  return {std::move(builder).finish(), std::move(weights)};
}

void bench_propagation(const std::string& name, const MarkovNetwork& network, double bandwidth) {
  const std::vector<std::int32_t> nothing(network.schema().n_variables(), kUnknown);
  const FactorLayout layout(network.features());
  const FactorGraph graph(layout, network.weights());
  for (const Schedule schedule : {Schedule::synchronous, Schedule::residual}) {
    BeliefPropagationOptions options;
    options.schedule = schedule;
    const Marginals result = belief_propagation_marginals(network, {nothing, {}}, options);
    const double seconds =
        time_call([&] { belief_propagation_marginals(network, {nothing, {}}, options); });
    const double messages = static_cast<double>(graph.n_messages()) * result.rows[0].iterations;
    report(name + (schedule == Schedule::synchronous ? ", BP synchronous, " : ", BP residual, ") +
               std::to_string(result.rows[0].iterations) + " iterations, " +
               std::string(feldspar::name(result.rows[0].status)),
           seconds, messages, messages * 8, bandwidth);
  }
  const Marginals result = mean_field_marginals(network, {nothing, {}}, {});
  const double seconds = time_call([&] { mean_field_marginals(network, {nothing, {}}, {}); });
  const double tests =
      static_cast<double>(network.features().n_tests()) * result.rows[0].iterations;
  report(name + ", mean field, " + std::to_string(result.rows[0].iterations) + " sweeps", seconds,
         tests, tests * 8, bandwidth);
}

// Thousands of rows that hide the same 25 variables.
void bench_rows(const MarkovNetwork& network, double bandwidth) {
  Numbers numbers(5);
  const std::size_t n_rows = 500, n = network.schema().n_variables();
  std::vector<std::int32_t> codes;
  for (std::size_t i = 0; i < n_rows * n; ++i)
    codes.push_back(i % n < n / 4 ? kUnknown : static_cast<std::int32_t>(numbers.below(2)));
  for (const int threads : {1, 2}) {
    const double seconds = time_call(
        [&] { belief_propagation_marginals(network, {codes, {}}, {}, {threads, nullptr}); }, 0.2,
        2);
    const auto tests = static_cast<double>(network.features().n_tests() * n_rows);
    report(std::to_string(n_rows) + " rows hiding 25, BP, " + std::to_string(threads) +
               " threads, tests of the model",
           seconds, tests, tests * 8, bandwidth);
  }
}

void bench_junction_tree(double bandwidth) {
  const MarkovNetwork network = ising_grid(10, 60, 2.0);
  const std::vector<std::int32_t> nothing(600, kUnknown);
  const EliminationCost cost = elimination_cost(network, nothing, 1e9);
  const double seconds = time_call([&] { junction_tree_marginals(network, {nothing, {}}, {}); });
  report("grid 10 x 60, junction tree, width " + std::to_string(cost.width), seconds,
         cost.table_entries, cost.table_entries * 8, bandwidth);
}

}  // namespace

int main() {
  const double bandwidth = measure_bandwidth();
  std::printf("memory: %.1f GB/s on one core\n", bandwidth / 1e9);
  bench_propagation("grid 30 x 30", ising_grid(30, 30, 1.0), bandwidth);
  for (const std::size_t n_features : {std::size_t{5000}, std::size_t{50000}}) {
    const MarkovNetwork network = learned_shape(n_features);
    bench_propagation("100 variables, " + std::to_string(n_features) + " features", network,
                      bandwidth);
    bench_rows(network, bandwidth);
  }
  bench_junction_tree(bandwidth);
}
