// A monitor that asks to stop when it is polled for the (n + 1)-th time, and counts the polls.
#pragma once

#include <limits>

#include <feldspar/base/monitor.hpp>

namespace feldspar::testing {

class StopAfter : public Monitor {
 public:
  explicit StopAfter(int allowed) : allowed_(allowed) {}

  int polls() const { return polls_; }

 protected:
  bool wants_stop() override { return polls_++ >= allowed_; }

 private:
  int allowed_;
  int polls_ = 0;
};

inline constexpr int kNever = std::numeric_limits<int>::max();

}  // namespace feldspar::testing
