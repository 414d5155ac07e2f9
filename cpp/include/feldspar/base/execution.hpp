// How a verb shall run: on how many threads and watched by whom. It never changes what is computed.
#pragma once

#include <feldspar/base/error.hpp>
#include <feldspar/base/monitor.hpp>

namespace feldspar {

struct Execution {
  int n_threads = 0;           // 0: what OpenMP would use at the time of the call
  Monitor* monitor = nullptr;  // not owned; may be null

  // For the calling thread, between steps of long work.
  bool poll_stop() const { return monitor != nullptr && monitor->poll(); }
  // After a parallel loop: a loop that was stopped has left tasks undone.
  void throw_if_stopped() const {
    if (monitor != nullptr && monitor->stopped()) throw Interrupted();
  }
  // Between steps on the calling thread.
  void poll_or_throw() const {
    if (poll_stop()) throw Interrupted();
  }
  void report(const Progress& progress) const {
    if (monitor != nullptr) monitor->report(progress);
  }
};

}  // namespace feldspar
