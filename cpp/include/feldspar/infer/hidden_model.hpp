// What a network says of its hidden variables in one row of evidence, without what it does not.
//
// A Conditioner (condition.hpp) has a weight for every feature that any row may leave over; of a
// single row most are zero. A HiddenModel lists the others: scores of single variables, and the
// conjunctions of two tests or more, the *parts*. Thousands of features come down to a small
// log-linear model, made once for each row of evidence and then used for many thousands of steps.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <feldspar/base/types.hpp>
#include <feldspar/data/schema.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/infer/condition.hpp>
#include <feldspar/infer/evidence.hpp>

namespace feldspar {

struct WeightedPart {
  FeatureId part;  // of the conditioner's features
  double weight;
};

// log P(x) = constant + sum_h unary[h][x_h] + sum over parts of weight * [part holds] - log Z.
struct HiddenModel {
  std::vector<double> unary;        // at value_offsets(features.schema())[h] + value
  std::vector<WeightedPart> parts;  // of two tests or more, in ascending order
  double constant = 0;              // from features and soft evidence that are all observed
};

// The weights of one row: as many as there are features.
inline HiddenModel hidden_model(const FeatureSet& features, std::span<const double> weights,
                                double constant) {
  const auto offsets = value_offsets(features.schema());
  HiddenModel model{std::vector<double>(offsets.back(), 0.0), {}, constant};
  for (FeatureId j = 0; j < features.size(); ++j) {
    if (weights[j] == 0) continue;
    const auto tests = features[j];
    if (tests.size() > 1)
      model.parts.push_back({j, weights[j]});
    else
      for (const Value a : features.values(tests[0].values))
        model.unary[offsets[tests[0].variable] + a] += weights[j];
  }
  return model;
}

// One model for each row in `rows`, all of which hide the conditioner's variables.
inline std::vector<HiddenModel> hidden_models(const Conditioner& conditioner,
                                              const EvidenceView& evidence,
                                              std::span<const std::size_t> rows) {
  std::vector<HiddenModel> models;
  models.reserve(rows.size());
  Conditioner::Weights weights;
  const std::size_t n_features = conditioner.features().size(), step = conditioner.rows_at_once();
  for (std::size_t first = 0; first < rows.size(); first += step) {
    const auto block = rows.subspan(first, std::min(step, rows.size() - first));
    conditioner.weigh(evidence, block, weights);
    for (std::size_t i = 0; i < block.size(); ++i)
      models.push_back(hidden_model(conditioner.features(),
                                    std::span(weights.weights).subspan(i * n_features, n_features),
                                    weights.log_constants[i]));
  }
  return models;
}

// Whether each hidden variable is in no part: its distribution is that of its unary scores.
inline std::vector<bool> isolated_variables(const FeatureSet& features, const HiddenModel& model) {
  std::vector<bool> isolated(features.schema().n_variables(), true);
  for (const WeightedPart& p : model.parts)
    for (const Test test : features[p.part]) isolated[test.variable] = false;
  return isolated;
}

}  // namespace feldspar
