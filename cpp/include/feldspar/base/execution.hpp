// How a verb shall run: on how many threads and watched by whom. It never changes what is computed.
#pragma once

#include <feldspar/base/monitor.hpp>

namespace feldspar {

struct Execution {
  int n_threads = 0;           // 0: what OpenMP would use at the time of the call
  Monitor* monitor = nullptr;  // not owned; may be null

  // For the calling thread, between steps of long work.
  bool poll_stop() const { return monitor != nullptr && monitor->poll(); }
  void report(const Progress& progress) const {
    if (monitor != nullptr) monitor->report(progress);
  }
};

}  // namespace feldspar
