#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <feldspar/infer/dependency_gibbs.hpp>
#include <feldspar/learn/dn2mn.hpp>
#include <feldspar/model/conditional_terms.hpp>
#include <feldspar/model/dependency_conditionals.hpp>
#include <feldspar/model/dependency_network.hpp>
#include <feldspar/model/flat_dependency_network.hpp>
#include <feldspar/model/product_distribution.hpp>

#include "arrays.hpp"
#include "bindings.hpp"
#include "rows.hpp"
#include "running.hpp"

namespace feldspar::bindings {

namespace {

// The members of FlatTrees, of FlatConjunctions and of FlatTerms, in their order.
using TreeArrays = std::tuple<Array<Variable>, Array<std::int64_t>, Array<Variable>, Array<Value>,
                              Array<NodeId>, Array<NodeId>, Array<double>, Array<double>>;
using ConjunctionArrays =
    std::tuple<Array<std::int64_t>, Array<Variable>, Array<std::int64_t>, Array<Value>>;
using TermArrays =
    std::tuple<Array<Variable>, Array<std::int64_t>, ConjunctionArrays, Array<double>>;

template <class T>
std::vector<T> copied(const Array<T>& array) {
  const auto values = view(array);
  return {values.begin(), values.end()};
}

FlatTrees flat_trees(const TreeArrays& arrays) {
  return std::apply([](const auto&... array) { return FlatTrees{copied(array)...}; }, arrays);
}

FlatTerms flat_terms(const TermArrays& arrays) {
  const auto& [targets, begin, conjunctions, weights] = arrays;
  return {copied(targets), copied(begin),
          std::apply([](const auto&... array) { return FlatConjunctions{copied(array)...}; },
                     conjunctions),
          copied(weights)};
}

py::tuple to_arrays(FlatTrees trees) {
  return py::make_tuple(adopt(std::move(trees.targets)), adopt(std::move(trees.node_begin)),
                        adopt(std::move(trees.variables)), adopt(std::move(trees.values)),
                        adopt(std::move(trees.yes)), adopt(std::move(trees.no)),
                        adopt(std::move(trees.gains)), adopt(std::move(trees.log_probabilities)));
}

py::tuple to_arrays(FlatTerms terms) {
  FlatConjunctions& all = terms.conjunctions;
  return py::make_tuple(
      adopt(std::move(terms.targets)), adopt(std::move(terms.begin)),
      py::make_tuple(adopt(std::move(all.begin)), adopt(std::move(all.variables)),
                     adopt(std::move(all.value_begin)), adopt(std::move(all.values))),
      adopt(std::move(terms.weights)));
}

py::tuple to_parts(const MarkovNetwork& network) {
  return py::make_tuple(network.features(), copy(std::span<const double>(network.weights())));
}

void check_variable(const DependencyNetwork& network, Variable v) {
  require(v < network.schema().n_variables(), "variable ", v, " does not exist; there are ",
          network.schema().n_variables());
}

void bind_product_distribution(py::module_& m) {
  py::class_<ProductDistribution>(m, "ProductDistribution", "A distribution for every variable.")
      .def(
          py::init([](const std::vector<Value>& cardinalities, const Array<double>& probabilities) {
            return ProductDistribution(Schema(cardinalities), copied(probabilities));
          }),
          py::arg("cardinalities"), py::arg("probabilities").noconvert())
      .def_static(
          "uniform",
          [](const std::vector<Value>& cardinalities) {
            return ProductDistribution::uniform(Schema(cardinalities));
          },
          py::arg("cardinalities"))
      .def_static(
          "point",
          [](const std::vector<Value>& cardinalities, const Array<std::int32_t>& state) {
            return ProductDistribution::point(Schema(cardinalities), view(state));
          },
          py::arg("cardinalities"), py::arg("state").noconvert())
      .def_static("marginals", &ProductDistribution::marginals, py::arg("data"),
                  py::call_guard<py::gil_scoped_release>())
      .def_property_readonly("probabilities",
                             [](const ProductDistribution& d) { return copy(d.probabilities()); })
      .def("mode", [](const ProductDistribution& d) { return adopt(d.mode()); });
}

void bind_dependency_network_options(py::module_& m) {
  py::class_<DependencyGibbsOptions>(m, "DependencyGibbsOptions", "What is sampled, and how.")
      .def(py::init<>())
      .def_readwrite("n_samples", &DependencyGibbsOptions::n_samples)
      .def_readwrite("burn_in", &DependencyGibbsOptions::burn_in)
      .def_readwrite("thinning", &DependencyGibbsOptions::thinning)
      .def_readwrite("n_chains", &DependencyGibbsOptions::n_chains)
      .def_readwrite("seed", &DependencyGibbsOptions::seed);
}

}  // namespace

void bind_dependency_network(py::module_& m) {
  bind_product_distribution(m);
  bind_dependency_network_options(m);
  py::class_<DependencyNetwork>(m, "DependencyNetwork", "A conditional for every variable.")
      .def(py::init([](const std::vector<Value>& cardinalities, const TreeArrays& trees,
                       const TermArrays& terms) {
             return build_dependency_network(Schema(cardinalities), flat_trees(trees),
                                             flat_terms(terms));
           }),
           py::arg("cardinalities"), py::arg("trees").noconvert(), py::arg("terms").noconvert())
      .def("flatten",
           [](const DependencyNetwork& network) {
             auto [trees, terms] = flatten(network);
             return py::make_tuple(to_arrays(std::move(trees)), to_arrays(std::move(terms)));
           })
      .def(
          "log_conditionals",
          [](const DependencyNetwork& network, const Array<std::int32_t>& codes, int n_threads) {
            return per_row(network, codes, n_threads, value_offsets(network.schema()).back(),
                           [](auto&&... args) { return log_conditionals(args...); });
          },
          py::arg("codes").noconvert(), py::arg("n_threads"))
      .def(
          "observed_log_conditionals",
          [](const DependencyNetwork& network, const Array<std::int32_t>& codes, int n_threads) {
            return per_row(network, codes, n_threads, network.schema().n_variables(),
                           [](auto&&... args) { return observed_log_conditionals(args...); });
          },
          py::arg("codes").noconvert(), py::arg("n_threads"))
      .def(
          "conditional_terms",
          [](const DependencyNetwork& network, Variable variable) {
            check_variable(network, variable);
            return to_parts(conditional_terms(network, variable));
          },
          py::arg("variable"))
      .def(
          "parents",
          [](const DependencyNetwork& network, Variable variable) {
            check_variable(network, variable);
            return parents(network, variable);
          },
          py::arg("variable"))
      .def(
          "sample",
          [](const DependencyNetwork& network, const DependencyGibbsOptions& options, int n_threads,
             py::object progress) {
            auto codes = run_watched(
                n_threads, std::move(progress),
                [&](const Execution& execution) { return sample(network, options, execution); });
            return adopt(std::move(codes),
                         {static_cast<py::ssize_t>(options.n_samples),
                          static_cast<py::ssize_t>(network.schema().n_variables())});
          },
          py::arg("options"), py::arg("n_threads"), py::arg("progress"))
      .def(
          "to_markov",
          [](const DependencyNetwork& network, const ProductDistribution& base,
             const std::string& orders, const std::vector<Variable>& base_order) {
            const Dn2mnOptions options{orders_named(orders), base_order};
            return to_parts(run_watched(1, py::none(), [&](const Execution& execution) {
              return dn2mn(network, base, options, execution);
            }));
          },
          py::arg("base"), py::arg("orders"), py::arg("base_order"));
}

}  // namespace feldspar::bindings
