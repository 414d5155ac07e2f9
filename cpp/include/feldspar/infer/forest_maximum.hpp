// The most probable state of a factor graph without cycles.
//
// Max-sum by dynamic programming. Every tree hangs from its first variable. From the leaves upwards
// each factor tells the variable above it, for each of its values, the best that the variables below
// can add; from the root downwards each factor then gives the variables below it the values which
// that best was made of. So there is nothing to converge, and of states that are equally good one is
// found, where the best value of each variable by itself could mix several.
//
// O(tests of the conjunctions x values + entries of the tables x variables). Sums are exact but for
// rounding. One thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/base/types.hpp>
#include <feldspar/data/schema.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/infer/factor_graph.hpp>
#include <feldspar/infer/table_box.hpp>

namespace feldspar {

namespace detail {

class ForestMaximum {
 public:
  ForestMaximum(const FactorGraph& graph, std::span<const double> weights)
      : layout_(graph.layout()),
        scores_(graph.unary()),
        factors_of_(graph.schema().n_variables()),
        state_(graph.schema().n_variables(), 0) {
    add_conjunctions(weights);
    add_tables(weights);
    hang();
  }

  std::vector<Value> find() {
    for (std::size_t i = order_.size(); i > 0; --i) tell(factors_[order_[i - 1]]);
    for (const Variable root : roots_) {
      const auto own = scores_of(root);
      state_[root] = static_cast<Value>(std::ranges::max_element(own) - own.begin());
    }
    for (const std::size_t f : order_) choose(factors_[f]);
    return std::move(state_);
  }

 private:
  static constexpr double kNone = -std::numeric_limits<double>::infinity();

  struct Factor {
    std::vector<Variable> variables;
    std::vector<double> table;  // log-potentials; a conjunction has none,
    FeatureId conjunction = 0;  // but a feature
    double weight = 0;          // and its weight
    std::size_t top = 0;        // the place of the variable from which it hangs
  };

  std::span<double> scores_of(Variable v) {
    return std::span(scores_).subspan(layout_.offsets()[v],
                                      layout_.offsets()[v + 1] - layout_.offsets()[v]);
  }
  bool passes(const Factor& factor, std::size_t i, Value a) const {
    const FeatureSet& features = layout_.features();
    return std::ranges::binary_search(features.values(features[factor.conjunction][i].values), a);
  }

  void add_conjunctions(std::span<const double> weights);
  void add_tables(std::span<const double> weights);
  void hang();
  void tell(const Factor& factor);
  void choose(const Factor& factor);
  double best_below(const Factor& factor, bool top_passes);
  template <class Visit>
  void for_each_entry(const Factor& factor, Visit&& visit);

  const FactorLayout& layout_;
  std::vector<double> scores_;  // of every value, the best that the tree below it can have
  std::vector<Factor> factors_;
  std::vector<std::vector<std::size_t>> factors_of_;
  std::vector<Variable> roots_;
  std::vector<std::size_t> order_;  // of the factors, those above before those below
  std::vector<Value> state_;
  std::vector<Value> values_;  // of one factor's variables
};

inline void ForestMaximum::add_conjunctions(std::span<const double> weights) {
  for (const FeatureId j : layout_.conjunctions()) {
    if (weights[j] == 0) continue;
    Factor factor{.variables = {}, .table = {}, .conjunction = j, .weight = weights[j]};
    for (const Test test : layout_.features()[j]) factor.variables.push_back(test.variable);
    factors_.push_back(std::move(factor));
  }
}

inline void ForestMaximum::add_tables(std::span<const double> weights) {
  for (const TableLayout& layout : layout_.tables()) {
    const auto active = [&](FeatureId j) { return weights[j] != 0; };
    if (std::ranges::none_of(layout.features, active)) continue;
    Factor factor{.variables = layout.variables,
                  .table = std::vector<double>(layout.n_entries, 0.0)};
    for (std::size_t i = 0; i < layout.features.size(); ++i)
      add_to_box(layout_.features(), layout.boxes[i], weights[layout.features[i]],
                 factor.table.data());
    factors_.push_back(std::move(factor));
  }
}

inline void ForestMaximum::hang() {
  for (std::size_t f = 0; f < factors_.size(); ++f)
    for (const Variable v : factors_[f].variables) factors_of_[v].push_back(f);
  std::vector<bool> seen(state_.size(), false), hangs(factors_.size(), false);
  std::vector<Variable> reached;
  for (Variable root = 0; root < seen.size(); ++root) {
    if (seen[root]) continue;
    seen[root] = true;
    roots_.push_back(root);
    reached.assign(1, root);
    for (std::size_t i = 0; i < reached.size(); ++i)
      for (const std::size_t f : factors_of_[reached[i]]) {
        if (hangs[f]) continue;
        hangs[f] = true;
        order_.push_back(f);
        auto& variables = factors_[f].variables;
        factors_[f].top =
            static_cast<std::size_t>(std::ranges::find(variables, reached[i]) - variables.begin());
        for (const Variable v : variables) {
          if (seen[v]) continue;
          seen[v] = true;
          reached.push_back(v);
        }
      }
  }
}

// Calls visit(total) for all values_ of a table's variables: what these and the variables below add.
template <class Visit>
void ForestMaximum::for_each_entry(const Factor& factor, Visit&& visit) {
  values_.assign(factor.variables.size(), 0);
  for (const double entry : factor.table) {
    double total = entry;
    for (std::size_t i = 0; i < values_.size(); ++i)
      if (i != factor.top) total += scores_of(factor.variables[i])[values_[i]];
    visit(total);
    for (std::size_t i = values_.size(); i > 0; --i) {  // the last variable is the fastest
      if (++values_[i - 1] < layout_.schema().cardinality(factor.variables[i - 1])) break;
      values_[i - 1] = 0;
    }
  }
}

// The best that a conjunction and the variables below it add, and their values_. If the test above
// holds that is either with all tests holding or with one failing at least: all variables at their
// best, or if that makes all tests hold, all but the one that loses least.
inline double ForestMaximum::best_below(const Factor& factor, bool top_passes) {
  const std::size_t n = factor.variables.size();
  values_.assign(n, 0);
  std::vector<Value> passing(n, 0), failing(n, 0);
  double all_pass = factor.weight, free = 0, least_loss = -kNone;
  std::size_t least = n;
  for (std::size_t i = 0; i < n; ++i) {
    if (i == factor.top) continue;
    const auto own = scores_of(factor.variables[i]);
    double pass = kNone, fail = kNone;
    for (std::size_t a = 0; a < own.size(); ++a) {
      const bool holds = passes(factor, i, static_cast<Value>(a));
      double& best = holds ? pass : fail;
      if (own[a] <= best) continue;
      best = own[a];
      (holds ? passing : failing)[i] = static_cast<Value>(a);
    }
    all_pass += pass;
    free += std::max(pass, fail);
    values_[i] = pass > fail ? passing[i] : failing[i];
    const double loss = std::max(0.0, pass - fail);
    if (loss < least_loss) {
      least_loss = loss;
      least = i;
    }
  }
  if (!top_passes) return free;
  if (all_pass >= free - least_loss) {
    values_ = passing;
    return all_pass;
  }
  values_[least] = failing[least];
  return free - least_loss;
}

// Adds to the scores of the variable above what this factor and all below it can be.
inline void ForestMaximum::tell(const Factor& factor) {
  const auto above = scores_of(factor.variables[factor.top]);
  if (factor.table.empty()) {
    const double pass = best_below(factor, true), fail = best_below(factor, false);
    for (std::size_t a = 0; a < above.size(); ++a)
      above[a] += passes(factor, factor.top, static_cast<Value>(a)) ? pass : fail;
    return;
  }
  std::vector<double> best(above.size(), kNone);
  for_each_entry(factor, [&](double total) {
    double& own = best[values_[factor.top]];
    own = std::max(own, total);
  });
  for (std::size_t a = 0; a < above.size(); ++a) above[a] += best[a];
}

// The variables below get their best values, given that of the one above.
inline void ForestMaximum::choose(const Factor& factor) {
  const Value above = state_[factor.variables[factor.top]];
  std::vector<Value> chosen;
  if (factor.table.empty()) {
    best_below(factor, passes(factor, factor.top, above));
    chosen = values_;
  } else {
    double best = kNone;
    for_each_entry(factor, [&](double total) {
      if (values_[factor.top] != above || total <= best) return;
      best = total;
      chosen = values_;
    });
  }
  for (std::size_t i = 0; i < chosen.size(); ++i)
    if (i != factor.top) state_[factor.variables[i]] = chosen[i];
}

}  // namespace detail

// A state of the highest log-potential. `weights` are those that `graph`, which has no cycles
// (is_forest), was made with.
inline std::vector<Value> forest_maximum(const FactorGraph& graph,
                                         std::span<const double> weights) {
  return detail::ForestMaximum(graph, weights).find();
}

}  // namespace feldspar
