// A monitor that asks to stop when it is polled for the (n + 1)-th time.
#pragma once

#include <feldspar/base/monitor.hpp>

namespace feldspar::testing {

class StopAfter : public Monitor {
 public:
  explicit StopAfter(int polls) : left_(polls) {}

 protected:
  bool wants_stop() override { return left_-- <= 0; }

 private:
  int left_;
};

}  // namespace feldspar::testing
