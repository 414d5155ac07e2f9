// Dependency networks: scoring rows, Gibbs sampling, and the conversion to a Markov network. Entries
// are (row, variable) pairs of the first two, features of the result of the third; bytes are those
// of the codes, or of the result's tests.
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <feldspar/base/random.hpp>
#include <feldspar/infer/dependency_gibbs.hpp>
#include <feldspar/learn/dn2mn.hpp>
#include <feldspar/model/dependency_conditionals.hpp>

#include "measure.hpp"

using namespace feldspar;
using namespace feldspar::bench;

namespace {

// A tree of `n_leaves` leaves: one side of a split often gets most of them, so that paths are long.
class TreeMaker {
 public:
  TreeMaker(const Schema& schema, Variable target, Random& random)
      : schema_(schema), target_(target), random_(random), used_(schema.n_variables(), false) {
    used_[target] = true;
  }

  DecisionTree grow(std::size_t n_leaves) && {
    split(n_leaves);
    return {schema_, target_, std::move(nodes_), std::move(log_probabilities_)};
  }

 private:
  void split(std::size_t n_leaves) {
    const auto node = static_cast<NodeId>(nodes_.size());
    const double p = 0.02 + 0.96 * random_.uniform();
    nodes_.emplace_back();
    log_probabilities_.insert(log_probabilities_.end(), {std::log(1 - p), std::log(p)});
    if (n_leaves == 1) return;
    Variable v = target_;
    while (used_[v]) v = static_cast<Variable>(random_.below(schema_.n_variables()));
    used_[v] = true;
    const std::size_t left = 1 + random_.below(std::max<std::size_t>(1, n_leaves / 4));
    split(left);
    const auto no = static_cast<NodeId>(nodes_.size());
    split(n_leaves - left);
    used_[v] = false;
    nodes_[node] = {v, 1, node + 1, no, 1.0};
  }

  const Schema& schema_;
  Variable target_;
  Random& random_;
  std::vector<bool> used_;  // on the path
  std::vector<TreeNode> nodes_;
  std::vector<double> log_probabilities_;
};

DependencyNetwork trees(std::size_t n_variables, std::size_t n_leaves) {
  const Schema schema(std::vector<Value>(n_variables, 2));
  Random random(1, {"trees"});
  std::vector<Conditional> conditionals;
  for (Variable v = 0; v < n_variables; ++v)
    conditionals.emplace_back(TreeMaker(schema, v, random).grow(n_leaves));
  return {schema, std::move(conditionals)};
}

DependencyNetwork logistic(std::size_t n_variables) {
  const Schema schema(std::vector<Value>(n_variables, 2));
  Random random(2, {"logistic"});
  std::vector<Conditional> conditionals;
  for (Variable v = 0; v < n_variables; ++v) {
    FeatureSetBuilder builder(schema);
    std::vector<double> weights;
    builder.add(std::vector<Variable>{v}, std::vector<Value>{1});
    for (Variable other = 0; other < n_variables; ++other)
      if (other != v) builder.add(std::vector<Variable>{v, other}, std::vector<Value>{1, 1});
    while (weights.size() < builder.size()) weights.push_back(random.uniform() - 0.5);
    conditionals.emplace_back(
        LogLinearConditional(v, MarkovNetwork(std::move(builder).finish(), std::move(weights))));
  }
  return {schema, std::move(conditionals)};
}

void measure(const std::string& name, const DependencyNetwork& network, double bandwidth) {
  const double n_variables = static_cast<double>(network.schema().n_variables());
  const DependencyGibbsOptions options{.n_samples = 4000, .n_chains = 8};
  const auto samples = sample(network, options);
  const auto n_codes = static_cast<double>(samples.size());
  for (const int threads : {1, 2}) {
    const Execution execution{threads, nullptr};
    const std::string on = ", " + std::to_string(threads) + " threads";
    report(name + ", score 4000 rows" + on,
           time_call([&] { observed_log_conditionals(network, samples, execution); }), n_codes,
           4 * n_codes, bandwidth);
    report(name + ", 4800 Gibbs sweeps" + on,
           time_call([&] { sample(network, options, execution); }), 4800 * n_variables, 4 * n_codes,
           bandwidth);
  }
  const auto base = ProductDistribution::uniform(network.schema());
  for (const auto& [words, orders] :
       {std::pair{"one order", Orders::one}, std::pair{"2n orders", Orders::opposite_rotations}}) {
    const MarkovNetwork converted = dn2mn(network, base, {orders, {}});
    const auto n_features = static_cast<double>(converted.features().size());
    report(name + ", dn2mn, " + words + " (" + std::to_string(converted.features().size()) + ")",
           time_call([&] { dn2mn(network, base, {orders, {}}); }), n_features,
           static_cast<double>(converted.features().n_tests() * sizeof(Test)), bandwidth);
  }
}

}  // namespace

int main() {
  const double bandwidth = measure_bandwidth();
  measure("69 trees of 60 leaves", trees(69, 60), bandwidth);
  measure("100 logistic regressions", logistic(100), bandwidth);
}
