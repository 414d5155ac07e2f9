// The only door to pybind11: every unit of the module sees the same casters (one-definition rule).
// Each bind_* function lives in the file of its name.
#pragma once

#include <pybind11/native_enum.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;

namespace feldspar::bindings {

void bind_busl(py::module_& m);
void bind_data(py::module_& m);
void bind_delimited(py::module_& m);
void bind_dependency_network(py::module_& m);
void bind_errors(py::module_& m);
void bind_features(py::module_& m);
void bind_generate(py::module_& m);
void bind_grafting(py::module_& m);
void bind_inference(py::module_& m);
void bind_l1(py::module_& m);
void bind_network(py::module_& m);
void bind_optim(py::module_& m);
void bind_trees(py::module_& m);
void bind_sampling(py::module_& m);
void bind_search(py::module_& m);
void bind_weights(py::module_& m);

}  // namespace feldspar::bindings
