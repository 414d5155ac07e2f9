#include <optional>
#include <string>

#include <feldspar/learn/decision_tree.hpp>
#include <feldspar/learn/tree_features.hpp>
#include <feldspar/model/conditional_trees.hpp>
#include <feldspar/model/dependency_network.hpp>

#include "arrays.hpp"
#include "bindings.hpp"
#include "running.hpp"

namespace feldspar::bindings {

namespace {

void check_table(const ConditionalTrees& trees, const Array<std::int32_t>& codes) {
  const std::size_t n = trees.schema().n_variables();
  require(codes.ndim() == 2 && static_cast<std::size_t>(codes.shape(1)) == n,
          "codes must be a table of ", n, " columns");
}

void bind_learning(py::class_<ConditionalTrees>& trees) {
  trees
      .def_static(
          "grow",
          [](const Dataset& data, double kappa, double min_leaf_weight, double leaf_prior,
             int n_threads, py::object progress) {
            return run_watched(n_threads, std::move(progress), [&](const Execution& execution) {
              return ConditionalTrees(
                  data.schema(), grow_trees(data, {kappa, min_leaf_weight, leaf_prior}, execution));
            });
          },
          py::arg("data"), py::arg("kappa"), py::arg("min_leaf_weight"), py::arg("leaf_prior"),
          py::arg("n_threads"), py::arg("progress"))
      .def("pruned", &ConditionalTrees::pruned, py::arg("kappa"))
      .def(
          "features",
          [](const ConditionalTrees& self, const std::string& conversion,
             const std::optional<Array<Value>>& zero_values) {
            const TreeConversion wanted = tree_conversion(conversion);
            const auto zeros = view(zero_values);
            const py::gil_scoped_release release;  // the arguments keep the arrays alive
            return tree_features(self.trees(), self.schema(), wanted, zeros);
          },
          py::arg("conversion"), py::arg("zero_values").noconvert());
}

void bind_scores(py::class_<ConditionalTrees>& trees) {
  trees.def(
      "log_likelihoods",
      [](const ConditionalTrees& self, const Array<std::int32_t>& codes,
         const std::optional<Array<double>>& weights, const Array<double>& kappas, int n_threads) {
        check_table(self, codes);
        const auto rows = view(codes);
        const auto row_weights = view(weights), grid = view(kappas);
        return adopt(run_watched(n_threads, py::none(), [&](const Execution& execution) {
          return log_likelihoods(self, rows, row_weights, grid, execution);
        }));
      },
      py::arg("codes").noconvert(), py::arg("weights").noconvert(), py::arg("kappas").noconvert(),
      py::arg("n_threads"));
}

}  // namespace

void bind_trees(py::module_& m) {
  py::class_<ConditionalTrees> trees(m, "Trees",
                                     "A probabilistic decision tree for each variable.");
  bind_learning(trees);
  bind_scores(trees);
  trees.def_property_readonly("n_leaves", &ConditionalTrees::n_leaves);
  trees.def("to_dependency_network", [](const ConditionalTrees& self) {
    return DependencyNetwork(self.schema(), {self.trees().begin(), self.trees().end()});
  });
}

}  // namespace feldspar::bindings
