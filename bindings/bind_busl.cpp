#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <feldspar/learn/best_additions.hpp>
#include <feldspar/learn/clique_conjunctions.hpp>
#include <feldspar/learn/grow_shrink.hpp>

#include "arrays.hpp"
#include "bindings.hpp"
#include "running.hpp"

namespace feldspar::bindings {

namespace {

py::tuple columns(const std::vector<Edge>& edges) {
  std::vector<Variable> first, second;
  for (const Edge& edge : edges) {
    first.push_back(edge.first);
    second.push_back(edge.second);
  }
  return py::make_tuple(adopt(std::move(first)), adopt(std::move(second)));
}

std::vector<Edge> edges_of(const Array<Variable>& first, const Array<Variable>& second) {
  const auto from = view(first), to = view(second);
  require(from.size() == to.size(), "edges: got ", from.size(), " first and ", to.size(),
          " second ends");
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < from.size(); ++i) edges.push_back({from[i], to[i]});
  return edges;
}

py::tuple columns(const std::vector<Addition>& additions) {
  std::vector<std::int64_t> candidates;
  std::vector<double> weights, gains;
  for (const Addition& addition : additions) {
    candidates.push_back(addition.candidate);
    weights.push_back(addition.weight);
    gains.push_back(addition.gain);
  }
  return py::make_tuple(adopt(std::move(candidates)), adopt(std::move(weights)),
                        adopt(std::move(gains)));
}

}  // namespace

void bind_busl(py::module_& m) {
  m.def(
      "grow_shrink",
      [](const Dataset& data, double alpha, const std::string& test, double min_weight_per_degree,
         std::size_t max_blanket, int n_threads, py::object progress) {
        const GrowShrinkOptions options{alpha, independence_statistic(test), min_weight_per_degree,
                                        max_blanket};
        return run_watched(n_threads, std::move(progress), [&](const Execution& execution) {
          return grow_shrink(data, options, execution);
        });
      },
      py::arg("data"), py::arg("alpha"), py::arg("test"), py::arg("min_weight_per_degree"),
      py::arg("max_blanket"), py::arg("n_threads"), py::arg("progress"));
  m.def(
      "consistent_edges",
      [](const Blankets& blankets, const std::string& rule) {
        return columns(consistent_edges(blankets, edge_rule(rule)));
      },
      py::arg("blankets"), py::arg("rule"));
  m.def(
      "clique_conjunctions",
      [](const Dataset& data, const Array<Variable>& first, const Array<Variable>& second,
         int max_length, double min_support) {
        const std::vector<Edge> edges = edges_of(first, second);
        CliqueOptions options;
        options.max_length = max_length;
        options.min_support = min_support;
        return run_watched(1, py::none(), [&](const Execution& execution) {
          return clique_conjunctions(data, edges, options, execution);
        });
      },
      py::arg("data"), py::arg("first").noconvert(), py::arg("second").noconvert(),
      py::arg("max_length"), py::arg("min_support"));
  m.def(
      "best_additions",
      [](const Dataset& data, const MarkovNetwork& network, const FeatureSet& candidates,
         double prior_sd, double min_gain, std::size_t most, int n_threads, py::object progress) {
        const AdditionOptions options{prior_sd, min_gain, most};
        return columns(run_watched(n_threads, std::move(progress), [&](const Execution& execution) {
          return best_additions(data, network, candidates, options, execution);
        }));
      },
      py::arg("data"), py::arg("network"), py::arg("candidates"), py::arg("prior_sd"),
      py::arg("min_gain"), py::arg("most"), py::arg("n_threads"), py::arg("progress"));
}

}  // namespace feldspar::bindings
