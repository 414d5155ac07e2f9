// Every translation of a C++ exception into a Python one.
#include <feldspar/base/error.hpp>

#include "bindings.hpp"

namespace feldspar::bindings {

void bind_errors(py::module_&) {
  py::register_local_exception_translator([](std::exception_ptr error) {
    try {
      if (error) std::rethrow_exception(error);
    } catch (const InvalidInput& e) {
      py::set_error(PyExc_ValueError, e.what());
    } catch (const NumericalFailure& e) {
      py::set_error(PyExc_ArithmeticError, e.what());
    } catch (const Interrupted&) {
      PyErr_SetNone(PyExc_KeyboardInterrupt);
    }
  });
}

}  // namespace feldspar::bindings
