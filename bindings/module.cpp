// feldspar._core: the compiled core, private to the package. This file only lists what is bound.
#include "bindings.hpp"

PYBIND11_MODULE(_core, m, py::mod_gil_not_used()) {
  using namespace feldspar::bindings;
  m.doc() = "The compiled core of feldspar; use the package, not this module.";
  m.attr("__version__") = FELDSPAR_VERSION;
  bind_errors(m);
  bind_delimited(m);
  bind_data(m);
  bind_features(m);
  bind_generate(m);
  bind_network(m);
  bind_dependency_network(m);
  bind_inference(m);
  bind_optim(m);
  bind_trees(m);
  bind_sampling(m);
  bind_weights(m);
  bind_grafting(m);
  bind_search(m);
  bind_busl(m);
  bind_l1(m);
}
