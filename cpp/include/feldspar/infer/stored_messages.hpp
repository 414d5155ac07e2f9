// The messages of one run of message passing, kept for the next on the same layout.
//
// A factor graph leaves out features of weight 0 and packs the rest, so that graphs of one layout
// differ in shape from one vector of weights to the next. Here messages are filed by what they belong
// to: those of a conjunction by its tests, those of a table by its variables' values. What a graph
// has no message for starts from none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <feldspar/base/pack.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/infer/factor_graph.hpp>
#include <feldspar/infer/propagation.hpp>

namespace feldspar {

class StoredMessages {
 public:
  explicit StoredMessages(const FactorLayout& layout) {
    std::size_t n_messages = layout.features().n_tests();
    for (const TableLayout& table : layout.tables()) {
      first_of_table_.push_back(n_messages);
      for (const Variable v : table.variables) n_messages += layout.schema().cardinality(v);
    }
    messages_.assign(n_messages, 0.0);
  }

  template <class Logs>
  void keep(const FactorGraph& graph, const Propagation<Logs>& run) {
    for_each_packed(graph, [&](std::size_t place, std::size_t edge) {
      messages_[place] = run.packed_messages()[edge];
    });
    for_each_in_table(graph, [&](std::size_t place, std::size_t message) {
      messages_[place] = run.unpacked_messages()[message];
    });
  }

  template <class Logs>
  void start(const FactorGraph& graph, Propagation<Logs>& run) const {
    std::vector<double> packed(graph.edge_literals().size(), 0.0);
    std::vector<double> in_tables(graph.n_table_messages(), 0.0);
    for_each_packed(graph,
                    [&](std::size_t place, std::size_t edge) { packed[edge] = messages_[place]; });
    for_each_in_table(graph, [&](std::size_t place, std::size_t message) {
      in_tables[message] = messages_[place];
    });
    run.start_from(std::move(packed), std::move(in_tables));
  }

 private:
  // visit(place here, edge). A message to a binary variable of a packed table is filed with its
  // value 1; that of value 0 is always 0, being the one that the others are relative to.
  template <class Visit>
  void for_each_packed(const FactorGraph& graph, Visit&& visit) const {
    for (std::size_t p = 0; p < graph.packs().size(); ++p) {
      const FactorPack& pack = graph.packs()[p];
      for (std::size_t lane = 0; lane < pack.n_factors; ++lane) {
        const std::uint32_t member = graph.members()[p * kPackSize + lane];
        for (std::size_t i = 0; i < pack.length; ++i)
          visit(pack.kind == FactorPack::Kind::table
                    ? first_of_table_[member] + 2 * i + 1
                    : graph.layout().features().first_test(member) + i,
                (pack.first_edge + i) * kPackSize + lane);
      }
    }
  }

  // visit(place here, message of the graph's tables).
  template <class Visit>
  void for_each_in_table(const FactorGraph& graph, Visit&& visit) const {
    for (const TableFactor& table : graph.tables()) {
      const auto t = static_cast<std::size_t>(table.layout - graph.layout().tables().data());
      std::size_t n_values = 0;
      for (const Variable v : table.layout->variables) n_values += graph.schema().cardinality(v);
      for (std::size_t i = 0; i < n_values; ++i)
        visit(first_of_table_[t] + i, table.first_message + i);
    }
  }

  std::vector<double> messages_;  // by test, then by table and value
  std::vector<std::size_t> first_of_table_;
};

}  // namespace feldspar
