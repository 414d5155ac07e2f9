// The factors of a graph by number, and which of them each variable is in.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <feldspar/base/pack.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/infer/factor_graph.hpp>
#include <feldspar/infer/literals.hpp>

namespace feldspar {

// First the factors in packs, then the tables. Keeps a reference to the graph.
class FactorNeighbours {
 public:
  explicit FactorNeighbours(const FactorGraph& graph) : graph_(graph) {
    for (std::size_t p = 0; p < graph.packs().size(); ++p)
      for (std::size_t lane = 0; lane < graph.packs()[p].n_factors; ++lane)
        lanes_.emplace_back(p, lane);
    const std::size_t n = graph.schema().n_variables();
    factors_of_.resize(n);
    for (std::size_t f = 0; f < size(); ++f) {
      std::size_t n_variables = 0;
      for_each_variable(f, [&](Variable v) {
        factors_of_[v].push_back(f);
        ++n_variables;
      });
      most_variables_ = std::max(most_variables_, n_variables);
    }
    neighbours_of_.resize(n);
    std::vector<Variable> seen_by(n, static_cast<Variable>(n));
    for (Variable v = 0; v < n; ++v)
      for (const std::size_t f : factors_of_[v])
        for_each_variable(f, [&](Variable u) {
          if (u != v && std::exchange(seen_by[u], v) != v) neighbours_of_[v].push_back(u);
        });
  }

  std::size_t size() const noexcept { return lanes_.size() + graph_.tables().size(); }
  bool is_table(std::size_t f) const noexcept { return f >= lanes_.size(); }
  const TableFactor& table(std::size_t f) const { return graph_.tables()[f - lanes_.size()]; }
  const FactorPack& pack(std::size_t f) const { return graph_.packs()[lanes_[f].first]; }
  std::size_t lane(std::size_t f) const { return lanes_[f].second; }
  const std::vector<std::size_t>& factors_of(Variable v) const { return factors_of_[v]; }
  // The other variables of these factors, each once.
  const std::vector<Variable>& neighbours_of(Variable v) const { return neighbours_of_[v]; }
  // Of any one factor.
  std::size_t most_variables() const noexcept { return most_variables_; }

  template <class Visit>
  void for_each_variable(std::size_t f, Visit&& visit) const {
    if (is_table(f)) {
      for (const Variable v : table(f).layout->variables) visit(v);
      return;
    }
    for (std::size_t i = 0; i < pack(f).length; ++i)
      visit(graph_.layout().literals().variable(
          graph_.edge_literals()[(pack(f).first_edge + i) * kPackSize + lane(f)]));
  }

 private:
  const FactorGraph& graph_;
  std::vector<std::pair<std::size_t, std::size_t>> lanes_;
  std::vector<std::vector<std::size_t>> factors_of_;
  std::vector<std::vector<Variable>> neighbours_of_;
  std::size_t most_variables_ = 0;
};

// Whether no path leads from a variable through different factors back to it.
inline bool is_forest(const FactorGraph& graph) {
  std::vector<Variable> root(graph.schema().n_variables());
  std::iota(root.begin(), root.end(), Variable{0});
  const auto find = [&](Variable v) {
    while (root[v] != v) v = root[v] = root[root[v]];
    return v;
  };
  const FactorNeighbours factors(graph);
  bool forest = true;
  for (std::size_t f = 0; f < factors.size(); ++f) {
    std::optional<Variable> first;
    factors.for_each_variable(f, [&](Variable v) {
      if (first && find(v) == find(*first)) forest = false;
      if (first) root[find(v)] = find(*first);
      first = v;
    });
  }
  return forest;
}

}  // namespace feldspar
