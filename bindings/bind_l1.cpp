#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <feldspar/learn/l1_logistic.hpp>
#include <feldspar/learn/l1_neighborhood.hpp>
#include <feldspar/learn/l1_score.hpp>
#include <feldspar/model/dependency_network.hpp>

#include "arrays.hpp"
#include "bindings.hpp"
#include "running.hpp"

namespace feldspar::bindings {

namespace {

// A number of each fit, targets x C.
template <class Number>
auto table(const L1Path& path, Number number) {
  using T = decltype(number(path.at(0, 0)));
  std::vector<T> values;
  const std::size_t n_targets = path.schema().n_variables();
  for (Variable target = 0; target < n_targets; ++target)
    for (std::size_t c = 0; c < path.n_values(); ++c) values.push_back(number(path.at(target, c)));
  return adopt(std::move(values),
               {static_cast<py::ssize_t>(n_targets), static_cast<py::ssize_t>(path.n_values())});
}

// The non-zero weights of a fit by column.
template <class Field>
auto field(const L1Fit& fit, Field L1Weight::* member) {
  std::vector<Field> values;
  for (const L1Weight& w : fit.weights) values.push_back(w.*member);
  return adopt(std::move(values));
}

py::tuple edges(const L1Path& path, const std::vector<std::size_t>& choice,
                const std::string& rule) {
  std::vector<Variable> first, second;
  for (const Edge& edge : neighborhood_edges(path, choice, edge_rule(rule))) {
    first.push_back(edge.first);
    second.push_back(edge.second);
  }
  return py::make_tuple(adopt(std::move(first)), adopt(std::move(second)));
}

DependencyNetwork to_dependency_network(const L1Path& path,
                                        const std::vector<std::size_t>& choice) {
  std::vector<Conditional> conditionals;
  Variable target = 0;
  for (MarkovNetwork& terms : conditional_networks(path, choice))
    conditionals.emplace_back(LogLinearConditional(target++, std::move(terms)));
  return {path.schema(), std::move(conditionals)};
}

void bind_l1_options(py::module_& m) {
  py::class_<L1Options>(m, "L1Options", "How L1-penalised regressions are solved.")
      .def(py::init<>())
      .def_property(
          "solver", [](const L1Options& options) { return std::string(name(options.solver)); },
          [](L1Options& options, const std::string& solver) { options.solver = l1_solver(solver); })
      .def_readwrite("tolerance", &L1Options::tolerance)
      .def_readwrite("max_iterations", &L1Options::max_iterations)
      .def_readwrite("penalize_intercept", &L1Options::penalize_intercept);
}

void bind_fits(py::class_<L1Path>& path) {
  path.def(
          "intercepts",
          [](const L1Path& self, Variable target, std::size_t c_index) {
            return copy(std::span<const double>(self.at(target, c_index).intercepts));
          },
          py::arg("target"), py::arg("c_index"))
      .def(
          "weights",
          [](const L1Path& self, Variable target, std::size_t c_index) {
            const L1Fit& fit = self.at(target, c_index);
            return py::make_tuple(field(fit, &L1Weight::variable), field(fit, &L1Weight::value),
                                  field(fit, &L1Weight::target_value),
                                  field(fit, &L1Weight::weight));
          },
          py::arg("target"), py::arg("c_index"))
      .def(
          "objective",
          [](const L1Path& self, Variable target, std::size_t c_index) {
            return self.at(target, c_index).objective;
          },
          py::arg("target"), py::arg("c_index"))
      .def(
          "status",
          [](const L1Path& self, Variable target, std::size_t c_index) {
            return std::string(name(self.at(target, c_index).status));
          },
          py::arg("target"), py::arg("c_index"))
      .def_property_readonly("objectives",
                             [](const L1Path& self) {
                               return table(self, [](const L1Fit& fit) { return fit.objective; });
                             })
      .def_property_readonly("training_log_likelihoods",
                             [](const L1Path& self) {
                               return table(self,
                                            [](const L1Fit& fit) { return fit.log_likelihood; });
                             })
      .def_property_readonly("violations",
                             [](const L1Path& self) {
                               return table(self, [](const L1Fit& fit) { return fit.violation; });
                             })
      .def_property_readonly("seconds",
                             [](const L1Path& self) {
                               return table(self, [](const L1Fit& fit) { return fit.seconds; });
                             })
      .def_property_readonly("n_nonzeros",
                             [](const L1Path& self) {
                               return table(self, [](const L1Fit& fit) {
                                 return static_cast<std::int64_t>(fit.weights.size());
                               });
                             })
      .def_property_readonly("iterations", [](const L1Path& self) {
        return table(self,
                     [](const L1Fit& fit) { return static_cast<std::int64_t>(fit.iterations); });
      });
}

void bind_structure(py::class_<L1Path>& path) {
  path.def(
          "ebic",
          [](const L1Path& self, double gamma) {
            return adopt(ebic(self, gamma), {static_cast<py::ssize_t>(self.schema().n_variables()),
                                             static_cast<py::ssize_t>(self.n_values())});
          },
          py::arg("gamma"))
      .def("choose_by_ebic", &choose_by_ebic, py::arg("gamma"))
      .def("edges", &edges, py::arg("choice"), py::arg("rule"))
      .def(
          "features",
          [](const L1Path& self, std::size_t c_index, const std::string& rule) {
            return neighborhood_features(self, uniform_choice(self, c_index), edge_rule(rule));
          },
          py::arg("c_index"), py::arg("rule"))
      .def(
          "features_by_choice",
          [](const L1Path& self, const std::vector<std::size_t>& choice, const std::string& rule) {
            return neighborhood_features(self, choice, edge_rule(rule));
          },
          py::arg("choice"), py::arg("rule"))
      .def("to_dependency_network", &to_dependency_network, py::arg("choice"));
}

}  // namespace

void bind_l1(py::module_& m) {
  bind_l1_options(m);
  py::class_<L1Path> path(m, "L1Path", "L1-penalised regressions of all variables, for many C.");
  path.def_static(
          "fit",
          [](const Dataset& data, const Array<double>& c_values, const L1Options& options,
             int n_threads, py::object progress, const L1Path* before) {
            const auto c = view(c_values);
            return run_watched(n_threads, std::move(progress), [&](const Execution& execution) {
              return fit_l1_path(data, c, options, execution, before);
            });
          },
          py::arg("data"), py::arg("c_values").noconvert(), py::arg("options"),
          py::arg("n_threads"), py::arg("progress"), py::arg("before") = nullptr)
      .def_static("default_c_values", [] { return copy(std::span<const double>(kDefaultCValues)); })
      .def_property_readonly("n_values", &L1Path::n_values)
      .def_property_readonly("c_values", [](const L1Path& self) { return copy(self.c_values()); })
      .def(
          "log_likelihoods",
          [](const L1Path& self, const Array<std::int32_t>& codes,
             const std::optional<Array<double>>& weights, int n_threads) {
            const auto rows = view(codes);
            const auto row_weights = view(weights);
            return adopt(run_watched(n_threads, py::none(), [&](const Execution& execution) {
              return log_likelihoods(self, rows, row_weights, execution);
            }));
          },
          py::arg("codes").noconvert(), py::arg("weights").noconvert(), py::arg("n_threads"));
  bind_fits(path);
  bind_structure(path);
}

}  // namespace feldspar::bindings
