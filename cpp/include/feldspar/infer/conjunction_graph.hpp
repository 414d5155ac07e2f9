// Conjunctions with weights, to be walked through from either side: the literals of a conjunction,
// and the conjunctions that a literal is in. For methods that change one variable at a time.
//
// Features of one test are potentials of their variables; features of weight 0 are left out. O(active
// tests) to make.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <feldspar/base/types.hpp>
#include <feldspar/data/schema.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/infer/literals.hpp>

namespace feldspar {

class ConjunctionGraph {
 public:
  // Keeps references to `features` and `literals`, which are those of each other.
  ConjunctionGraph(const FeatureSet& features, const Literals& literals,
                   std::span<const double> weights)
      : features_(features), literals_(literals), offsets_(value_offsets(features.schema())) {
    unary_.assign(offsets_.back(), 0.0);
    std::vector<std::size_t> n_edges(literals.size() + 1, 0);
    for (FeatureId j = 0; j < features.size(); ++j) {
      if (weights[j] == 0) continue;
      if (features[j].size() == 1) {
        add_unary(features[j].front(), weights[j]);
        continue;
      }
      weights_.push_back(weights[j]);
      for (std::size_t i = 0; i < features[j].size(); ++i) {
        const LiteralId literal = literals.of_test(features.first_test(j) + i);
        literal_of_.push_back(literal);
        conjunction_of_.push_back(static_cast<std::uint32_t>(weights_.size() - 1));
        ++n_edges[literal + 1];
      }
      begin_.push_back(literal_of_.size());
    }
    sort_by_literal(n_edges);
  }

  const Schema& schema() const noexcept { return features_.schema(); }
  const Literals& literals() const noexcept { return literals_; }
  const std::vector<std::size_t>& offsets() const noexcept { return offsets_; }
  const std::vector<double>& unary() const noexcept { return unary_; }

  // An edge is a conjunction with one of its literals; those of conjunction f are first_edge(f) ...
  // first_edge(f + 1), in the order of the variables.
  std::size_t n_conjunctions() const noexcept { return weights_.size(); }
  std::size_t n_edges() const noexcept { return literal_of_.size(); }
  double weight(std::size_t f) const noexcept { return weights_[f]; }
  std::size_t first_edge(std::size_t f) const noexcept { return begin_[f]; }
  LiteralId literal_of(std::size_t edge) const noexcept { return literal_of_[edge]; }
  std::uint32_t conjunction_of(std::size_t edge) const noexcept { return conjunction_of_[edge]; }
  std::span<const std::uint32_t> edges_of(LiteralId literal) const noexcept {
    return {by_literal_.data() + literal_begin_[literal],
            literal_begin_[literal + 1] - literal_begin_[literal]};
  }

 private:
  void add_unary(Test test, double weight) {
    for (const Value a : features_.values(test.values))
      unary_[offsets_[test.variable] + a] += weight;
  }
  void sort_by_literal(std::vector<std::size_t>& n_edges) {
    for (std::size_t l = 1; l < n_edges.size(); ++l) n_edges[l] += n_edges[l - 1];
    literal_begin_ = n_edges;
    by_literal_.resize(literal_of_.size());
    for (std::size_t e = 0; e < literal_of_.size(); ++e)
      by_literal_[n_edges[literal_of_[e]]++] = static_cast<std::uint32_t>(e);
  }

  const FeatureSet& features_;
  const Literals& literals_;
  std::vector<std::size_t> offsets_;
  std::vector<double> unary_;
  std::vector<double> weights_;
  std::vector<std::size_t> begin_{0};
  std::vector<LiteralId> literal_of_;
  std::vector<std::uint32_t> conjunction_of_;
  std::vector<std::size_t> literal_begin_;
  std::vector<std::uint32_t> by_literal_;
};

}  // namespace feldspar
