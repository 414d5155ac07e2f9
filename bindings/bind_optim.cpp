// The optimizers, for functions written in Python.
#include <utility>

#include <Eigen/Core>

#include <feldspar/base/execution.hpp>
#include <feldspar/base/monitor.hpp>
#include <feldspar/optim/minimize.hpp>

#include "bindings.hpp"

namespace feldspar::bindings {

namespace {

using Numbers = py::array_t<double, py::array::c_style>;

Eigen::VectorXd to_vector(const Numbers& array) {
  return Eigen::Map<const Eigen::VectorXd>(array.data(), array.size());
}

// A Python callable x -> (value, gradient) as a SmoothObjective. It gets a copy of x each time,
// since it may keep what it gets.
class CallableObjective {
 public:
  CallableObjective(py::function function, Eigen::Index dimension)
      : function_(std::move(function)), dimension_(dimension) {}

  Eigen::Index dimension() const noexcept { return dimension_; }

  double value_and_gradient(const Eigen::VectorXd& x, Eigen::VectorXd& gradient) {
    const auto result = function_(Numbers(x.size(), x.data())).cast<std::pair<double, Numbers>>();
    gradient = to_vector(result.second);
    return result.first;
  }

 private:
  py::function function_;
  Eigen::Index dimension_;
};

// Calls callback(iteration, value) after every iteration; a true answer asks to stop.
class CallbackMonitor : public Monitor {
 public:
  explicit CallbackMonitor(py::object callback) : callback_(std::move(callback)) {}

  void report(const Progress& progress) override {
    if (!callback_.is_none())
      stop_ = py::bool_(callback_(static_cast<int>(progress.done), progress.value));
  }

 protected:
  bool wants_stop() override { return stop_; }

 private:
  py::object callback_;
  bool stop_ = false;
};

// The interpreter lock is kept: almost all the time is spent in the callable, which needs it, and
// which sees to signals and to other threads as any Python code does.
OptimizeResult minimize_callable(const py::function& function, const Numbers& x0, const Numbers& l1,
                                 const Numbers& inverse_diagonal, const OptimizeOptions& options,
                                 const py::object& callback) {
  CallableObjective objective(function, x0.size());
  CallbackMonitor monitor(callback);
  return minimize(objective, to_vector(x0), to_vector(l1), options, Execution{.monitor = &monitor},
                  to_vector(inverse_diagonal));
}

// A read-only view of memory that `owner` holds.
template <class T>
py::array_t<T> owned_view(const py::object& owner, const T* data, py::ssize_t size) {
  py::array_t<T> array(size, data, owner);
  py::detail::array_proxy(array.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return array;
}

void bind_optim_options(py::module_& m) {
  using Options = OptimizeOptions;
  py::class_<Options>(m, "OptimizeOptions", "When the optimizers stop, and how they search.")
      .def(py::init<>())
      .def_readwrite("max_iterations", &Options::max_iterations)
      .def_readwrite("max_evaluations", &Options::max_evaluations)
      .def_readwrite("gradient_tolerance", &Options::gradient_tolerance)
      .def_readwrite("relative_decrease", &Options::relative_decrease)
      .def_readwrite("memory", &Options::memory)
      .def_readwrite("max_seconds", &Options::max_seconds)
      .def_readwrite("value_noise", &Options::value_noise);
}

void bind_result(py::module_& m) {
  using Result = OptimizeResult;
  PYBIND11_NUMPY_DTYPE(OptimizeStep, iteration, value, gradient_norm, step, evaluations, seconds);
  py::class_<Result>(m, "OptimizeResult", "What an optimizer returns.")
      .def_property_readonly("x",
                             [](const py::object& self) {
                               const auto& x = self.cast<const Result&>().x;
                               return owned_view(self, x.data(), x.size());
                             })
      .def_readonly("value", &Result::value)
      .def_readonly("gradient_norm", &Result::gradient_norm)
      .def_readonly("iterations", &Result::iterations)
      .def_readonly("evaluations", &Result::evaluations)
      .def_readonly("seconds", &Result::seconds)
      .def_property_readonly("status", [](const Result& self) { return name(self.status); })
      .def_property_readonly("message", [](const Result& self) { return describe(self.status); })
      .def_property_readonly("history", [](const py::object& self) {
        const auto& history = self.cast<const Result&>().history;
        return owned_view(self, history.data(), static_cast<py::ssize_t>(history.size()));
      });
}

}  // namespace

void bind_optim(py::module_& m) {
  bind_optim_options(m);
  bind_result(m);
  m.def("minimize", &minimize_callable, py::arg("function"), py::arg("x0").noconvert(),
        py::arg("l1").noconvert(), py::arg("inverse_diagonal").noconvert(), py::arg("options"),
        py::arg("callback"), "Minimises function(x)[0] + sum(l1 * abs(x)).");
}

}  // namespace feldspar::bindings
