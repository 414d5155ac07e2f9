#include <optional>

#include <feldspar/data/dataset.hpp>

#include "arrays.hpp"
#include "bindings.hpp"

namespace feldspar::bindings {

void bind_data(py::module_& m) {
  py::class_<Dataset>(m, "Dataset", "Distinct rows with weights, in packed columns.")
      .def_static(
          "merge",
          [](const std::vector<Value>& cardinalities, const Array<std::int32_t>& codes,
             const std::optional<Array<double>>& weights) {
            const auto rows = view(codes);
            const auto row_weights = view(weights);
            const py::gil_scoped_release release;  // the arguments keep the arrays alive
            return Dataset::merge(Schema(cardinalities), rows, row_weights);
          },
          py::arg("cardinalities"), py::arg("codes").noconvert(), py::arg("weights").noconvert());
}

}  // namespace feldspar::bindings
