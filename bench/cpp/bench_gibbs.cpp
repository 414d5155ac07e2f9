// Gibbs sampling by the protocol of the papers: a quarter of the variables hidden, 10 chains of 100 +
// 1,000 sweeps. Entries: resamplings of one variable in one chain; bytes: the one probability that
// each has to look up at the least.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <feldspar/infer/gibbs.hpp>

#include "measure.hpp"
#include "shapes.hpp"

using namespace feldspar;
using namespace feldspar::bench;

namespace {

constexpr std::size_t kRows = 20;

// Every initial part of every feature in three random orders of the variables: many overlapping
// conjunctions, as the conversion of a dependency network gives.
FeatureSet flatten_features(const FeatureSet& features, Numbers& numbers) {
  FeatureSetBuilder builder(features.schema());
  std::vector<Variable> variables;
  std::vector<Value> values;
  for (int order = 0; order < 3; ++order)
    for (FeatureId j = 0; j < features.size(); ++j) {
      std::vector<Test> tests(features[j].begin(), features[j].end());
      for (std::size_t i = tests.size(); i > 1; --i)
        std::swap(tests[i - 1], tests[numbers.below(i)]);
      variables.clear();
      values.clear();
      for (const Test test : tests) {
        variables.push_back(test.variable);
        values.push_back(features.values(test.values)[0]);
        builder.add(variables, values);
      }
    }
  return std::move(builder).finish();
}

MarkovNetwork weighted(FeatureSet features, double scale, Numbers& numbers) {
  std::vector<double> weights(features.size());
  for (double& w : weights) w = scale * (2 * numbers.uniform() - 1);
  return {std::move(features), std::move(weights)};
}

// Rows of the data with the first quarter of the variables hidden.
std::vector<std::int32_t> evidence_rows(const Dataset& data) {
  const std::size_t n_rows = std::min<std::size_t>(kRows, data.n_rows());
  const std::size_t n_variables = data.n_variables();
  std::vector<std::int32_t> codes(n_rows * n_variables, kUnknown);
  for (auto v = static_cast<Variable>(n_variables / 4); v < n_variables; ++v) {
    const auto column = data.columns().codes(v);
    for (std::size_t r = 0; r < n_rows; ++r) codes[r * n_variables + v] = column[r];
  }
  return codes;
}

}  // namespace

int main(int argc, char** argv) {
  const double bandwidth = measure_bandwidth();
  for (const auto& [name, data] : workloads(argc, argv)) {
    Numbers numbers(3);
    const FeatureSet leaves = tree_features(data, 8, 20);
    std::vector<std::pair<std::string, MarkovNetwork>> models;
    models.emplace_back("tree leaves", weighted(leaves, 1.0, numbers));
    if (data.n_variables() <= 100)
      models.emplace_back("flat", weighted(flatten_features(leaves, numbers), 0.1, numbers));
    const auto codes = evidence_rows(data);
    const GibbsOptions options;
    const double entries =
        static_cast<double>(codes.size()) / 4 * static_cast<double>(options.chains.n_steps());
    for (const auto& [kind, network] : models)
      for (const int threads : {1, 2}) {
        const double seconds = time_call(
            [&] { gibbs_marginals(network, {codes, {}}, options, {threads, nullptr}); }, 0.1, 3);
        report(name + ", " + kind + " (" + std::to_string(network.features().size()) +
                   "), Gibbs, " + std::to_string(threads) + " threads",
               seconds, entries, entries * sizeof(double), bandwidth);
      }
  }
}
