// Verbs that a model applies to complete rows.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <feldspar/base/error.hpp>

#include "arrays.hpp"
#include "bindings.hpp"
#include "running.hpp"

namespace feldspar::bindings {

// verb(model, codes, execution) turns rows of codes into numbers, `width` to the row.
template <class Model, class Verb>
py::array_t<double> per_row(const Model& model, const Array<std::int32_t>& codes, int n_threads,
                            std::size_t width, Verb verb) {
  require(
      codes.ndim() == 2 && static_cast<std::size_t>(codes.shape(1)) == model.schema().n_variables(),
      "codes must be a table of ", model.schema().n_variables(), " columns");
  const auto rows = view(codes);
  auto values = run_watched(n_threads, py::none(), [&](const Execution& execution) {
    return verb(model, rows, execution);
  });
  const auto n = static_cast<py::ssize_t>(codes.shape(0));
  return adopt(std::move(values), {n, static_cast<py::ssize_t>(width)});
}

}  // namespace feldspar::bindings
