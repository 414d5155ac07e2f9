// How often conjunctions hold whose variables no clique or factor has together.
//
// By the chain rule, a test at a time: P(t1 & t2 & t3) = P(t1) P(t2 | t1) P(t3 | t1 & t2), where
// P(t | tests) are marginals of the network with these tests clamped, that is, with all other values
// forbidden. Conjunctions that begin alike share the work, so that all pairs of n variables cost n
// inferences, run in parallel. Exact where the marginals are; with message passing exact on forests,
// and the product of the beliefs where variables are not connected.
//
// To clamp is to change weights: the engine's feature set gets a feature for every single value, of
// weight 0, or of kForbidden.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/base/execution.hpp>
#include <feldspar/base/parallel.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/schema.hpp>
#include <feldspar/feature/feature_set.hpp>

namespace feldspar {

// Beyond the reach of any other weights together.
inline constexpr double kForbidden = -1e100;

// A feature set with room for clamps: its features keep their numbers, others follow.
class ClampableFeatures {
 public:
  explicit ClampableFeatures(const FeatureSet& features) : n_given_(features.size()) {
    const Schema& schema = features.schema();
    FeatureSetBuilder builder(schema);
    for (FeatureId j = 0; j < features.size(); ++j) builder.add(features, j);
    for (Variable v = 0; v < schema.n_variables(); ++v) {
      first_.push_back(of_value_.size());
      for (Value a = 0; a < schema.cardinality(v) && schema.cardinality(v) > 1; ++a)
        of_value_.push_back(builder.add({&v, 1}, {&a, 1}).feature);
    }
    features_ = std::move(builder).finish();
  }

  const FeatureSet& features() const noexcept { return features_; }
  std::size_t n_given() const noexcept { return n_given_; }

  std::vector<double> weights(std::span<const double> given) const {
    std::vector<double> all(given.begin(), given.end());
    all.resize(features_.size(), 0.0);
    return all;
  }
  // Forbids all values of a variable but `allowed`, ascending.
  void clamp(Variable v, std::span<const Value> allowed, std::vector<double>& weights) const {
    for (Value a = 0; a < features_.schema().cardinality(v); ++a)
      if (!std::ranges::binary_search(allowed, a)) weights[of_value_[first_[v] + a]] += kForbidden;
  }

 private:
  std::size_t n_given_;
  FeatureSet features_;
  std::vector<FeatureId> of_value_;  // by variable and value
  std::vector<std::size_t> first_;
};

// `marginals(weights)` gives the marginals of all variables, laid out by value_offsets, for the
// weights of clampable.features(); it is called from several threads.
template <class ComputeMarginals>
std::vector<double> conditioned_expectations(
    const ClampableFeatures& clampable, std::span<const double> weights, const FeatureSet& others,
    std::span<const FeatureId> wanted, const Execution& execution, ComputeMarginals&& marginals) {
  using Beginning = std::vector<std::pair<Variable, ValueSetId>>;
  struct Given {
    double probability = 1;
    std::vector<double> marginals;
  };
  const auto beginning_of = [&](FeatureId j, std::size_t length) {
    Beginning beginning;
    for (const Test test : others[j].first(length))
      beginning.emplace_back(test.variable, test.values);
    return beginning;
  };
  std::map<Beginning, Given> known;
  std::size_t longest = 0;
  for (const FeatureId j : wanted) {
    longest = std::max(longest, others[j].size());
    for (std::size_t length = 0; length < others[j].size(); ++length)
      known.try_emplace(beginning_of(j, length));
  }
  const auto offsets = value_offsets(others.schema());
  const auto chance = [&](const Given& given, std::pair<Variable, ValueSetId> test) {
    double sum = 0;
    for (const Value a : others.values(test.second))
      sum += given.marginals[offsets[test.first] + a];
    return std::min(sum, 1.0);
  };
  for (std::size_t length = 0; length < longest; ++length) {
    std::vector<std::pair<const Beginning*, Given*>> tasks;
    for (auto& [beginning, given] : known)
      if (beginning.size() == length) tasks.emplace_back(&beginning, &given);
    parallel_for(tasks.size(), execution, [&](std::size_t i) {
      const auto& [beginning, given] = tasks[i];
      std::vector<double> clamped = clampable.weights(weights);
      for (const auto& [v, values] : *beginning) clampable.clamp(v, others.values(values), clamped);
      if (length > 0) {
        const Given& before = known.at(Beginning(beginning->begin(), beginning->end() - 1));
        given->probability = before.probability * chance(before, beginning->back());
      }
      given->marginals = marginals(std::span<const double>(clamped));
    });
    execution.throw_if_stopped();
  }
  std::vector<double> result;
  for (const FeatureId j : wanted) {
    const Given& given = known.at(beginning_of(j, others[j].size() - 1));
    const Test last = others[j].back();
    result.push_back(given.probability * chance(given, {last.variable, last.values}));
  }
  return result;
}

}  // namespace feldspar
