// base/stop_sign.hpp: who polls, who looks, and when the time is up.
#include <doctest/doctest.h>

#include <chrono>
#include <limits>
#include <thread>

#include <feldspar/base/stop_sign.hpp>

#include "support/stop_after.hpp"

namespace test_stop_sign {

using namespace feldspar;
using namespace feldspar::testing;

TEST_CASE("without a monitor nothing interrupts") {
  const StopSign stop(Execution{});
  CHECK(stop.on_calling_thread());
  CHECK_FALSE(stop.interrupted());
  CHECK_NOTHROW(stop.throw_if_interrupted());
}

TEST_CASE("the calling thread polls, others only look") {
  StopAfter monitor(1);
  const StopSign stop(Execution{1, &monitor});
  const auto elsewhere = [&] {
    bool result = false;
    std::thread([&] { result = stop.interrupted(); }).join();
    return result;
  };
  CHECK_FALSE(elsewhere());
  CHECK(monitor.polls() == 0);
  CHECK_FALSE(stop.interrupted());
  CHECK(monitor.polls() == 1);
  CHECK(stop.interrupted());
  CHECK(elsewhere());
  CHECK(stop.is_up());
  CHECK_FALSE(stop.out_of_time());
  CHECK_THROWS_AS(stop.throw_if_interrupted(), Interrupted);
}

TEST_CASE("the time is up when it is") {
  CHECK_FALSE(StopSign(Execution{}).out_of_time());
  CHECK_FALSE(StopSign(Execution{}, 1e6).out_of_time());
  const StopSign soon(Execution{}, 1e-9);
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(soon.out_of_time());
  CHECK(soon.is_up());
  CHECK_FALSE(soon.interrupted());
  CHECK(soon.seconds() >= 1e-3);
}

}  // namespace test_stop_sign
