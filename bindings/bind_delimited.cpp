// Coded text to arrays.
#include <string_view>
#include <utility>

#include <feldspar/data/delimited.hpp>

#include "arrays.hpp"
#include "bindings.hpp"

namespace feldspar::bindings {

namespace {

py::tuple parse_integers_to_arrays(const py::bytes& text, char delimiter) {
  const std::string_view view = text;
  DelimitedCodes parsed;
  {
    // Safe without the lock: the caller holds the bytes, and bytes never change.
    const py::gil_scoped_release release;
    parsed = parse_integers(view, delimiter);
  }
  const auto rows = static_cast<py::ssize_t>(parsed.n_rows);
  const auto columns = static_cast<py::ssize_t>(parsed.n_columns);
  py::object weights = py::none();
  if (!parsed.weights.empty()) weights = adopt(std::move(parsed.weights), {rows});
  return py::make_tuple(adopt(std::move(parsed.codes), {rows, columns}), weights);
}

}  // namespace

void bind_delimited(py::module_& m) {
  m.def("parse_integers", &parse_integers_to_arrays, py::arg("text"), py::arg("delimiter"),
        "Codes (rows x columns, -1 unknown) and weights (or None) of coded text.");
}

}  // namespace feldspar::bindings
