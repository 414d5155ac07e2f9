// How long work talks to its caller: it reports progress and asks whether to stop. The core never
// prints; whoever calls decides what a report looks like.
//
// Threads: any thread may ask stopped(); only the thread that called into the library may poll()
// and report(), since these may reach into an interpreter.
#pragma once

#include <atomic>
#include <string_view>

namespace feldspar {

struct Progress {
  std::string_view stage;  // what is being done, e.g. "weights"
  double done = 0;         // steps finished
  double total = 0;        // steps in all, 0 when unknown
  double value = 0;        // the figure of merit so far, e.g. the objective
};

class Monitor {
 public:
  virtual ~Monitor() = default;

  virtual void report(const Progress&) {}

  bool stopped() const noexcept { return stopped_.load(std::memory_order_relaxed); }

  // Asks the caller's side once more; returns whether to stop.
  bool poll() {
    if (!stopped() && wants_stop()) stopped_.store(true, std::memory_order_relaxed);
    return stopped();
  }

 protected:
  virtual bool wants_stop() { return false; }

 private:
  std::atomic<bool> stopped_{false};
};

}  // namespace feldspar
