// When long work on several threads has to end: the monitor asks for it, or the time is up.
//
// Only the thread that called into the library may poll its monitor; the others look at the flag.
// A StopSign is made on that thread and remembers it, so that a step deep inside a parallel loop,
// or in a loop that turned out to be serial, does the right one of the two.
#pragma once

#include <chrono>
#include <limits>
#include <thread>

#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>

namespace feldspar {

class StopSign {
 public:
  explicit StopSign(const Execution& execution,
                    double max_seconds = std::numeric_limits<double>::infinity())
      : monitor_(execution.monitor), max_seconds_(max_seconds) {}

  bool on_calling_thread() const noexcept { return std::this_thread::get_id() == caller_; }

  bool interrupted() const {
    if (monitor_ == nullptr) return false;
    return on_calling_thread() ? monitor_->poll() : monitor_->stopped();
  }
  void throw_if_interrupted() const {
    if (interrupted()) throw Interrupted();
  }

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  bool out_of_time() const {
    return max_seconds_ != std::numeric_limits<double>::infinity() && seconds() >= max_seconds_;
  }

  // For work that ends alike for either reason.
  bool is_up() const { return interrupted() || out_of_time(); }

 private:
  using Clock = std::chrono::steady_clock;

  Monitor* monitor_;
  double max_seconds_;
  std::thread::id caller_ = std::this_thread::get_id();
  Clock::time_point start_ = Clock::now();
};

}  // namespace feldspar
