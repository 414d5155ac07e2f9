// An order in which to eliminate variables, and what it costs.
//
// Eliminating a variable joins it with its neighbours into a clique and connects these with each
// other. Min-fill takes next the variable that adds the fewest connections; among equals the one
// with the smallest clique table, then the lowest number. The cost of exact inference is the number
// of entries of the maximal cliques' tables.
//
// Adjacency is kept as bits: n^2 / 64 words, and a candidate with d neighbours is judged in
// d n / 64. Only candidates near the eliminated variable are judged anew.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/parallel.hpp>
#include <feldspar/base/stop_sign.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/infer/condition.hpp>
#include <feldspar/infer/evidence.hpp>
#include <feldspar/infer/evidence_batch.hpp>
#include <feldspar/model/markov_network.hpp>

namespace feldspar {

struct EliminationCost {
  std::size_t width = 0;     // variables in the clique with the largest table
  double table_entries = 0;  // of all maximal cliques together; infinite beyond all bounds
  bool complete = true;      // false: a limit was passed, the true figures are at least these
};

struct EliminationStep {
  Variable variable;
  std::vector<Variable> neighbours;  // when it was eliminated; ascending
};

struct Elimination {
  std::vector<EliminationStep> steps;
  EliminationCost cost;
};

namespace detail {

class MinFill {
 public:
  explicit MinFill(const FeatureSet& features)
      : schema_(features.schema()),
        n_words_(words_for(features.schema().n_variables())),
        adjacent_(features.schema().n_variables() * n_words_, 0),
        price_(features.schema().n_variables()),
        open_(features.schema().n_variables(), true) {
    std::vector<Word> scope(n_words_);
    for (FeatureId j = 0; j < features.size(); ++j) {
      std::ranges::fill(scope, Word{0});
      for (const Test test : features[j]) set_bit(scope, test.variable);
      for (const Test test : features[j])
        for (std::size_t w = 0; w < n_words_; ++w) row(test.variable)[w] |= scope[w];
    }
    for (Variable v = 0; v < open_.size(); ++v) clear(row(v), v);
    for (Variable v = 0; v < open_.size(); ++v) price_[v] = judge(v);
  }

  // The number of entries of the table over v and its neighbours.
  double table_entries(Variable v) const { return price_[v].second; }

  Variable cheapest() const {
    Variable best = 0;
    bool found = false;
    for (Variable v = 0; v < open_.size(); ++v)
      if (open_[v] && (!found || price_[v] < price_[best])) {
        best = v;
        found = true;
      }
    return best;
  }

  EliminationStep eliminate(Variable v) {
    EliminationStep step{v, {}};
    const std::vector<Word> around(row(v).begin(), row(v).end());
    std::vector<Word> touched = around;
    const bool fills = price_[v].first > 0;
    for_each_bit(around,
                 [&](std::size_t u) { step.neighbours.push_back(static_cast<Variable>(u)); });
    for (const Variable u : step.neighbours) {
      for (std::size_t w = 0; w < n_words_; ++w) {
        row(u)[w] |= around[w];
        if (fills) touched[w] |= row(u)[w];  // an edge may be new between two neighbours of these
      }
      clear(row(u), u);
      clear(row(u), v);
    }
    open_[v] = false;
    for_each_bit(touched, [&](std::size_t u) {
      if (open_[u]) price_[u] = judge(static_cast<Variable>(u));
    });
    return step;
  }

 private:
  using Price = std::pair<std::size_t, double>;  // connections to add, entries of the table

  std::span<Word> row(Variable v) { return {adjacent_.data() + v * n_words_, n_words_}; }
  std::span<const Word> row(Variable v) const {
    return {adjacent_.data() + v * n_words_, n_words_};
  }
  static void clear(std::span<Word> words, Variable v) {
    words[v / kWordBits] &= ~(Word{1} << (v % kWordBits));
  }

  Price judge(Variable v) const {
    std::size_t missing = 0;  // ordered pairs of neighbours not connected; each with itself too
    double entries = schema_.cardinality(v);
    for_each_bit(row(v), [&](std::size_t u) {
      entries *= schema_.cardinality(static_cast<Variable>(u));
      const auto other = row(static_cast<Variable>(u));
      for (std::size_t w = 0; w < n_words_; ++w)
        missing += static_cast<std::size_t>(std::popcount(row(v)[w] & ~other[w]));
      --missing;
    });
    return {missing / 2, entries};
  }

  const Schema& schema_;
  std::size_t n_words_;
  std::vector<Word> adjacent_;
  std::vector<Price> price_;
  std::vector<bool> open_;
};

inline double joint_values(const Schema& schema, const EliminationStep& step) {
  double entries = schema.cardinality(step.variable);
  for (const Variable u : step.neighbours) entries *= schema.cardinality(u);
  return entries;
}

}  // namespace detail

// Which steps open a clique of their own: step i's clique lies inside that of an earlier step k if
// i is the first neighbour of k to go and all others of k are neighbours of i. Then the result has k
// at i, else i itself. `parent` becomes the step at which each one's first neighbour goes.
inline std::vector<std::size_t> absorbing_steps(const std::vector<EliminationStep>& steps,
                                                std::vector<std::size_t>& parent) {
  constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> position(steps.size()), absorbed_by(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) position[steps[i].variable] = i;
  parent.assign(steps.size(), kNone);
  for (std::size_t i = 0; i < steps.size(); ++i) absorbed_by[i] = i;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const Variable u : steps[i].neighbours) parent[i] = std::min(parent[i], position[u]);
    const std::size_t p = parent[i];
    if (p != kNone && absorbed_by[p] == p &&
        steps[p].neighbours.size() + 1 == steps[i].neighbours.size())
      absorbed_by[p] = i;
  }
  return absorbed_by;
}

// Stops early once a single table has more than `max_table_entries`.
inline Elimination eliminate_by_min_fill(
    const FeatureSet& features, double max_table_entries = std::numeric_limits<double>::infinity(),
    const StopSign& stop = StopSign(Execution{})) {
  const Schema& schema = features.schema();
  detail::MinFill graph(features);
  Elimination result;
  double largest = 0;
  while (result.steps.size() < schema.n_variables()) {
    stop.throw_if_interrupted();
    const Variable v = graph.cheapest();
    const double entries = graph.table_entries(v);
    result.steps.push_back(graph.eliminate(v));
    if (entries > largest) {
      largest = entries;
      result.cost.width = result.steps.back().neighbours.size() + 1;
    }
    if (entries > max_table_entries) {
      result.cost.table_entries = entries;
      result.cost.complete = false;
      return result;
    }
  }
  std::vector<std::size_t> parent;
  const auto absorbed_by = absorbing_steps(result.steps, parent);
  for (std::size_t i = 0; i < result.steps.size(); ++i)
    if (absorbed_by[i] == i)
      result.cost.table_entries += detail::joint_values(schema, result.steps[i]);
  return result;
}

// What exact inference would cost for rows of evidence that hide what `codes`, a row, hides.
inline EliminationCost elimination_cost(const MarkovNetwork& network,
                                        std::span<const std::int32_t> codes,
                                        double max_table_entries,
                                        const StopSign& stop = StopSign(Execution{})) {
  require(check_evidence(network.schema(), {codes, {}}) == 1,
          "evidence: expected one row that tells which variables are hidden");
  const Conditioner conditioner(network, codes, /*soft=*/false);
  return eliminate_by_min_fill(conditioner.features(), max_table_entries, stop).cost;
}

// The same for every row; rows that hide the same variables are looked at once.
inline std::vector<EliminationCost> elimination_costs(const MarkovNetwork& network,
                                                      std::span<const std::int32_t> codes,
                                                      double max_table_entries,
                                                      const Execution& execution = {}) {
  std::vector<EliminationCost> costs(check_evidence(network.schema(), {codes, {}}));
  const std::size_t n = network.schema().n_variables();
  const StopSign stop(execution);
  const auto patterns = rows_by_pattern(n, codes);
  parallel_for(patterns.size(), execution, [&](std::size_t p) {
    const auto row = codes.subspan(patterns[p].front() * n, n);
    const EliminationCost cost = elimination_cost(network, row, max_table_entries, stop);
    for (const std::size_t r : patterns[p]) costs[r] = cost;
  });
  execution.throw_if_stopped();
  return costs;
}

}  // namespace feldspar
