#include <feldspar/feature/conjunctions.hpp>
#include <feldspar/feature/flat_conjunctions.hpp>

#include "arrays.hpp"
#include "bindings.hpp"
#include "running.hpp"

namespace feldspar::bindings {

void bind_features(py::module_& m) {
  py::class_<FeatureSet>(m, "FeatureSet", "Distinct conjunctive features in canonical form.")
      .def_static(
          "build",
          [](const std::vector<Value>& cardinalities, const Array<std::int64_t>& begin,
             const Array<Variable>& variables, const Array<std::int64_t>& value_begin,
             const Array<Value>& values) {
            const auto tests = view(begin), test_values = view(value_begin);
            const auto tested = view(variables);
            const auto admitted = view(values);
            auto built = [&] {
              const py::gil_scoped_release release;  // the arguments keep the arrays alive
              return build_features(Schema(cardinalities), tests, tested, test_values, admitted);
            }();
            return py::make_tuple(std::move(built.features), adopt(std::move(built.numbers)));
          },
          py::arg("cardinalities"), py::arg("begin").noconvert(), py::arg("variables").noconvert(),
          py::arg("value_begin").noconvert(), py::arg("values").noconvert())
      .def_static(
          "conjunctions",
          [](const Dataset& data, int order, double min_support, int supported_from) {
            return run_watched(1, py::none(), [&](const Execution& execution) {
              return enumerate_conjunctions(data, {order, min_support, supported_from}, execution);
            });
          },
          py::arg("data"), py::arg("order"), py::arg("min_support"), py::arg("supported_from"))
      .def("flatten",
           [](const FeatureSet& features) {
             FlatConjunctions flat = flatten(features);
             return py::make_tuple(adopt(std::move(flat.begin)), adopt(std::move(flat.variables)),
                                   adopt(std::move(flat.value_begin)),
                                   adopt(std::move(flat.values)));
           })
      .def("__len__", &FeatureSet::size);
}

}  // namespace feldspar::bindings
