// Long calls: without the interpreter's lock, watched for signals, reporting progress.
//
//   return run_watched(n_threads, progress, [&](const Execution& execution) { return work(...); });
//
// The lock is released for the whole call and taken back on the calling thread only, to look for
// signals (at most every 50 ms) and to call `progress`. A signal stops the work: work that has a
// partial result returns it with its status; work that has none throws Interrupted, and the
// signal's own exception is raised.
#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/monitor.hpp>

#include "bindings.hpp"

namespace feldspar::bindings {

class InterpreterMonitor : public Monitor {
 public:
  explicit InterpreterMonitor(py::object progress) : progress_(std::move(progress)) {}

  void report(const Progress& p) override {
    if (progress_.is_none() || error_) return;
    const py::gil_scoped_acquire lock;
    call([&] { progress_(py::str(p.stage.data(), p.stage.size()), p.done, p.total, p.value); });
  }

  // Raises what a signal handler or `progress` raised; except, where a partial result is at hand, an
  // interrupt that the work has seen: the result's status tells of that.
  void raise_pending(bool has_result) {
    const bool is_told = has_result && stopped();
    if (error_ && !(is_told && error_->matches(PyExc_KeyboardInterrupt)))
      throw *std::exchange(error_, {});
  }

 protected:
  bool wants_stop() override {
    if (error_) return true;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_look_ < std::chrono::milliseconds(50)) return false;
    last_look_ = now;
    const py::gil_scoped_acquire lock;
    call([] {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    });
    return error_.has_value();
  }

 private:
  template <class Call>
  void call(Call&& call) {
    try {
      call();
    } catch (py::error_already_set& e) {
      error_ = std::move(e);
    }
  }

  py::object progress_;
  std::optional<py::error_already_set> error_;
  std::chrono::steady_clock::time_point last_look_{};
};

template <class Work>
auto run_watched(int n_threads, py::object progress, Work&& work) {
  InterpreterMonitor monitor(std::move(progress));
  try {
    auto result = [&] {
      const py::gil_scoped_release release;
      return work(Execution{n_threads, &monitor});
    }();
    monitor.raise_pending(/*has_result=*/true);
    return result;
  } catch (const Interrupted&) {
    monitor.raise_pending(/*has_result=*/false);
    throw;
  }
}

}  // namespace feldspar::bindings
