#include <feldspar/model/conditionals.hpp>
#include <feldspar/model/markov_network.hpp>

#include "arrays.hpp"
#include "bindings.hpp"
#include "running.hpp"

namespace feldspar::bindings {

namespace {

// A verb that turns rows of codes into numbers, `width` to the row.
template <class Verb>
py::array_t<double> per_row(const MarkovNetwork& network, const Array<std::int32_t>& codes,
                            int n_threads, std::size_t width, Verb verb) {
  require(codes.ndim() == 2 &&
              static_cast<std::size_t>(codes.shape(1)) == network.schema().n_variables(),
          "codes must be a table of ", network.schema().n_variables(), " columns");
  const auto rows = view(codes);
  auto values = run_watched(n_threads, py::none(), [&](const Execution& execution) {
    return verb(network, rows, execution);
  });
  const auto n = static_cast<py::ssize_t>(codes.shape(0));
  return adopt(std::move(values), {n, static_cast<py::ssize_t>(width)});
}

}  // namespace

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
                           &log_conditionals);
          },
          py::arg("codes").noconvert(), py::arg("n_threads"))
      .def(
          "observed_log_conditionals",
          [](const MarkovNetwork& network, const Array<std::int32_t>& codes, int n_threads) {
            return per_row(network, codes, n_threads, network.schema().n_variables(),
                           &observed_log_conditionals);
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
