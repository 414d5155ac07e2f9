#include <feldspar/model/conditionals.hpp>
#include <feldspar/model/markov_network.hpp>

#include "arrays.hpp"
#include "bindings.hpp"
#include "rows.hpp"

namespace feldspar::bindings {

void bind_network(py::module_& m) {
  py::class_<MarkovNetwork>(m, "MarkovNetwork", "A feature set with weights.")
      .def(py::init([](const FeatureSet& features, const Array<double>& weights) {
             const auto w = view(weights);
             return MarkovNetwork(features, {w.begin(), w.end()});
           }),
           py::arg("features"), py::arg("weights").noconvert())
      .def(
          "log_conditionals",
          [](const MarkovNetwork& network, const Array<std::int32_t>& codes, int n_threads) {
            return per_row(network, codes, n_threads, value_offsets(network.schema()).back(),
                           [](auto&&... args) { return log_conditionals(args...); });
          },
          py::arg("codes").noconvert(), py::arg("n_threads"))
      .def(
          "observed_log_conditionals",
          [](const MarkovNetwork& network, const Array<std::int32_t>& codes, int n_threads) {
            return per_row(network, codes, n_threads, network.schema().n_variables(),
                           [](auto&&... args) { return observed_log_conditionals(args...); });
          },
          py::arg("codes").noconvert(), py::arg("n_threads"))
      .def(
          "log_potentials",
          [](const MarkovNetwork& network, const Array<std::int32_t>& codes, int n_threads) {
            return per_row(network, codes, n_threads, 1, &log_potentials);
          },
          py::arg("codes").noconvert(), py::arg("n_threads"));
}

}  // namespace feldspar::bindings
