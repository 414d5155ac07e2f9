// When long sampling shall end early: a time limit is over, or the monitor was asked to stop.
#pragma once

#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

#include <feldspar/base/execution.hpp>

namespace feldspar {

// For all threads of a call. The monitor may only be polled by the thread that called, so other
// threads see a stop once that one has.
class StopCheck {
 public:
  StopCheck(const Execution& execution, double max_seconds)
      : execution_(execution),
        caller_(std::this_thread::get_id()),
        start_(Clock::now()),
        max_seconds_(max_seconds) {}

  bool operator()() const { return interrupted() || seconds() >= max_seconds_; }

  bool interrupted() const {
    if (execution_.monitor == nullptr) return false;
    return std::this_thread::get_id() == caller_ ? execution_.poll_stop()
                                                 : execution_.monitor->stopped();
  }

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;

  Execution execution_;
  std::thread::id caller_;
  Clock::time_point start_;
  double max_seconds_;
};

}  // namespace feldspar
