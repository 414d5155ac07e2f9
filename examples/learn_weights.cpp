#include <cstdint>
#include <iostream>
#include <numeric>
#include <vector>

#include <feldspar/data/dataset.hpp>
#include <feldspar/feature/conjunctions.hpp>
#include <feldspar/learn/fit_weights.hpp>
#include <feldspar/model/conditionals.hpp>

int main() {
  using namespace feldspar;
  // Six rows of two binary variables and one of three values.
  const std::vector<std::int32_t> rows{0, 0, 0, 1, 1, 2, 1, 1, 1, 0, 0, 2, 1, 0, 1, 0, 0, 0};
  const Dataset data = Dataset::merge(Schema({2, 2, 3}), rows);
  const FeatureSet pairs = enumerate_conjunctions(data, {.order = 2});

  PseudoLikelihood likelihood(pairs, data);
  const Penalty prior{.prior_sd = 1.0};
  const WeightFit fit = fit_weight_path(likelihood, {&prior, 1}, {}, {})[0];

  const auto scores = observed_log_conditionals(MarkovNetwork(pairs, fit.weights), rows);
  std::cout << pairs.size() << " features, mean PLL "
            << std::accumulate(scores.begin(), scores.end(), 0.0) / 6 << '\n';
}
