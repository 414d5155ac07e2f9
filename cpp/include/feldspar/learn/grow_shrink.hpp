// Markov blankets by tests of conditional independence (Margaritis and Thrun 1999), the first step
// of BUSL (Mihalkova and Mooney 2007) for propositional data.
//
// For each variable X: *grow* - go through the other variables, the most dependent on X first, and
// add each that depends on X given the blanket so far, until none does; *shrink* - drop each that is
// independent of X given the rest of the blanket. Blankets are made consistent by a rule: two
// variables are joined if each is in the other's blanket, or if either is.
//
// Cost: for each variable about (its blanket + 2) tests with every other variable. Parallel over the
// variables; the result does not depend on the number of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <utility>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/parallel.hpp>
#include <feldspar/base/stop_sign.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/learn/conditional_independence.hpp>
#include <feldspar/learn/edges.hpp>

namespace feldspar {

struct GrowShrinkOptions {
  double alpha = 0.01;  // dependent is what has p < alpha
  IndependenceStatistic statistic = IndependenceStatistic::g;
  double min_weight_per_degree = 5;  // less data than that are not judged
  std::size_t max_blanket = 20;      // growing ends here

  void check() const {
    require(alpha > 0 && alpha < 1, "alpha must be between 0 and 1, got ", alpha);
    require(min_weight_per_degree >= 0, "min_weight_per_degree must not be negative, got ",
            min_weight_per_degree);
    require(max_blanket >= 1, "max_blanket must be at least 1, got ", max_blanket);
  }
};

using Blankets = std::vector<std::vector<Variable>>;  // by variable, ascending

namespace detail {

// The other variables, the most dependent on x first.
inline std::vector<Variable> by_dependence(const CodedRows& rows, Variable x,
                                           IndependenceTest& test, const StopSign& stop) {
  const Strata all = one_stratum(rows);
  std::vector<std::pair<IndependenceResult, Variable>> tested;
  for (Variable y = 0; y < rows.codes.size(); ++y) {
    stop.throw_if_interrupted();
    if (y != x) tested.emplace_back(test(x, y, all), y);
  }
  // Small p first; where p vanishes, large statistics.
  std::ranges::stable_sort(tested, [](const auto& a, const auto& b) {
    return std::pair(a.first.p, -a.first.statistic) < std::pair(b.first.p, -b.first.statistic);
  });
  std::vector<Variable> order;
  for (const auto& [result, y] : tested) order.push_back(y);
  return order;
}

inline std::vector<Variable> markov_blanket(const CodedRows& rows, Variable x,
                                            const GrowShrinkOptions& options,
                                            const StopSign& stop) {
  IndependenceTest test(rows, options.statistic, options.min_weight_per_degree);
  const std::vector<Variable> others = by_dependence(rows, x, test, stop);
  std::vector<Variable> blanket;
  Strata strata = one_stratum(rows);
  for (bool grows = true; grows;) {
    grows = false;
    for (const Variable y : others) {
      stop.throw_if_interrupted();
      if (blanket.size() == options.max_blanket) break;
      if (std::ranges::find(blanket, y) != blanket.end()) continue;
      if (!(test(x, y, strata).p < options.alpha)) continue;
      blanket.push_back(y);
      strata = refine(strata, rows, y);
      grows = true;
    }
  }
  for (std::size_t i = 0; i < blanket.size();) {
    const Variable y = blanket[i];
    std::vector<Variable> rest = blanket;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    if (test(x, y, stratify(rows, rest)).p < options.alpha)
      ++i;
    else
      blanket = std::move(rest);
  }
  std::ranges::sort(blanket);
  return blanket;
}

}  // namespace detail

inline Blankets grow_shrink(const Dataset& data, const GrowShrinkOptions& options,
                            const Execution& execution = {}) {
  options.check();
  const CodedRows rows(data);
  Blankets blankets(data.n_variables());
  const StopSign stop(execution);
  std::atomic<std::size_t> done = 0;
  parallel_for(data.n_variables(), execution, [&](std::size_t x) {
    blankets[x] = detail::markov_blanket(rows, static_cast<Variable>(x), options, stop);
    const std::size_t n = ++done;
    if (stop.on_calling_thread())
      execution.report({.stage = "blankets",
                        .done = static_cast<double>(n),
                        .total = static_cast<double>(data.n_variables()),
                        .value = 0.0});
  });
  execution.throw_if_stopped();
  return blankets;
}

// In the order of the first variable, then of the second.
inline std::vector<Edge> consistent_edges(const Blankets& blankets, EdgeRule rule) {
  const auto names = [&](Variable x, Variable y) {
    return std::ranges::binary_search(blankets[x], y);
  };
  std::vector<Edge> edges;
  for (Variable x = 0; x < blankets.size(); ++x)
    for (Variable y = x + 1; y < blankets.size(); ++y)
      if (joins(rule, names(x, y), names(y, x))) edges.push_back({x, y});
  return edges;
}

}  // namespace feldspar
