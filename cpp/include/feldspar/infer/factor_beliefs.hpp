// How often features hold according to message passing.
//
// A factor's belief is its potential times what its variables say without it, normalised. A feature
// that the graph has as (part of) a factor is read from that belief; one of weight 0, which the graph
// leaves out, is a factor that says nothing: its belief is the product of its variables' own. Where
// the messages are a fixed point these numbers are the derivatives of the Bethe estimate of log Z by
// the weights, also at weight 0: value and gradient of a likelihood belong together.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <feldspar/base/pack.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/infer/factor_graph.hpp>
#include <feldspar/infer/factor_messages.hpp>
#include <feldspar/infer/propagation.hpp>
#include <feldspar/infer/table_box.hpp>

namespace feldspar {

namespace detail {

// Turns a table of logarithms into probabilities and reads its features.
inline void read_table(const FactorLayout& layout, const TableLayout& table,
                       std::vector<double>& logs, std::span<double> expectations) {
  const double top = std::ranges::max(logs);
  double total = 0;
  for (double& x : logs) total += x = std::exp(x - top);
  for (double& x : logs) x /= total;
  for (std::size_t i = 0; i < table.features.size(); ++i)
    expectations[table.features[i]] = sum_of_box(layout.features(), table.boxes[i], logs.data());
}

// Adds numbers, one for each value of variable i of a table, to its entries.
inline void add_along(const Schema& schema, const TableLayout& table, std::size_t i,
                      std::span<const double> numbers, std::vector<double>& entries) {
  std::size_t stride = 1;
  for (std::size_t k = i + 1; k < table.variables.size(); ++k)
    stride *= schema.cardinality(table.variables[k]);
  for (std::size_t e = 0; e < entries.size(); ++e)
    entries[e] += numbers[e / stride % numbers.size()];
}

}  // namespace detail

// expectations[j]: the chance that feature j of the layout holds.
inline void read_beliefs(const FactorGraph& graph, const Propagation<SumOfLogs>& run,
                         std::span<double> expectations) {
  const FactorLayout& layout = graph.layout();
  const FeatureSet& features = layout.features();
  for (FeatureId j = 0; j < features.size(); ++j) {
    expectations[j] = 1;
    for (std::size_t t = features.first_test(j), n = features[j].size(); n > 0; --n, ++t)
      expectations[j] *= chances_of(run.odds()[layout.literals().of_test(t)]).yes;
  }
  std::vector<double> table;
  for (std::size_t p = 0; p < graph.packs().size(); ++p) {
    const FactorPack& pack = graph.packs()[p];
    for (std::size_t lane = 0; lane < pack.n_factors; ++lane) {
      const double* c = graph.coefficients().data() + pack.first_coefficient + lane;
      const auto heard = [&](std::size_t i) {
        const std::size_t edge = (pack.first_edge + i) * kPackSize + lane;
        return SumOfLogs::chances_of(run.odds()[graph.edge_literals()[edge]] -
                                     run.packed_messages()[edge]);
      };
      const std::uint32_t member = graph.members()[p * kPackSize + lane];
      if (pack.kind != FactorPack::Kind::table) {
        Chances<double> all = kCertainLogs;
        for (std::size_t i = 0; i < pack.length; ++i) all = both_logs<SumOfLogs>(all, heard(i));
        all.yes += c[kWeight * kPackSize];
        expectations[member] = std::exp(all.yes - SumOfLogs::add(all.yes, all.no));
        continue;
      }
      const TableLayout& own = layout.tables()[member];
      table.clear();
      for (std::size_t e = 0; e < own.n_entries; ++e)
        table.push_back(c[(1 + own.n_entries + e) * kPackSize]);
      for (std::size_t i = 0; i < pack.length; ++i) {
        const Chances<double> chances = heard(i);
        const double numbers[] = {chances.no, chances.yes};
        detail::add_along(graph.schema(), own, i, numbers, table);
      }
      detail::read_table(layout, own, table, expectations);
    }
  }
  std::vector<double> numbers;
  for (const TableFactor& factor : graph.tables()) {
    const TableLayout& own = *factor.layout;
    const auto first =
        graph.log_entries().begin() + static_cast<std::ptrdiff_t>(factor.first_entry);
    table.assign(first, first + static_cast<std::ptrdiff_t>(own.n_entries));
    std::size_t message = factor.first_message;
    for (std::size_t i = 0; i < own.variables.size(); ++i) {
      const std::size_t offset = layout.offsets()[own.variables[i]];
      numbers.clear();
      for (Value a = 0; a < graph.schema().cardinality(own.variables[i]); ++a)
        numbers.push_back(run.totals()[offset + a] - run.unpacked_messages()[message++]);
      detail::add_along(graph.schema(), own, i, numbers, table);
    }
    detail::read_table(layout, own, table, expectations);
  }
}

}  // namespace feldspar
