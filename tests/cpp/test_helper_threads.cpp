// base/helper_threads.hpp: who may begin, who is waited for, and what happens to the second caller.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include <feldspar/base/helper_threads.hpp>

namespace test_helper_threads {

using namespace feldspar;

namespace {

// Helpers are never joined, so that those of a test live as long as the process.
HelperThreads& fresh_helpers() { return *new HelperThreads; }

// Counts its calls and holds each of them until it is let go.
struct Gate {
  std::atomic<int> begun{0};
  std::atomic<int> ended{0};
  std::atomic<bool> open{false};

  HelperThreads::Help help() {
    return {[](void* own) {
              Gate& gate = *static_cast<Gate*>(own);
              ++gate.begun;
              gate.open.wait(false);
              ++gate.ended;
            },
            this};
  }
  void let_go() {
    open = true;
    open.notify_all();
  }
};

void wait_until(const auto& condition) {
  while (!condition()) std::this_thread::sleep_for(std::chrono::microseconds(100));
}

}  // namespace

TEST_CASE("as many helpers begin as there are seats, and all of them are waited for") {
  HelperThreads& helpers = fresh_helpers();
  for (const int seats : {1, 3, 2}) {
    CAPTURE(seats);
    Gate gate;
    REQUIRE(helpers.open(seats, gate.help()));
    wait_until([&] { return gate.begun == seats; });
    CHECK(gate.ended == 0);
    gate.let_go();
    helpers.close();
    CHECK(gate.begun == seats);
    CHECK(gate.ended == seats);
  }
}

TEST_CASE("close waits for a helper that is long at work") {
  HelperThreads& helpers = fresh_helpers();
  Gate gate;
  REQUIRE(helpers.open(1, gate.help()));
  wait_until([&] { return gate.begun == 1; });
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    gate.let_go();
  });
  helpers.close();
  CHECK(gate.ended == 1);
  later.join();
}

TEST_CASE("nobody begins after close, and none that did not begin is waited for") {
  HelperThreads& helpers = fresh_helpers();
  for (int round = 0; round < 2000; ++round) {  // helpers asleep, looking, and on their way
    std::atomic<int> calls{0};
    const HelperThreads::Help count{[](void* own) { ++*static_cast<std::atomic<int>*>(own); },
                                    &calls};
    REQUIRE(helpers.open(2, count));
    if (round % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(round % 200));
    helpers.close();
    const int when_closed = calls;
    CHECK(when_closed <= 2);
    if (round % 100 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    CHECK(calls == when_closed);
  }
}

TEST_CASE("one caller is helped at a time") {
  HelperThreads& helpers = fresh_helpers();
  Gate gate;
  REQUIRE(helpers.open(1, gate.help()));
  bool second = true;
  std::thread([&] { second = helpers.open(1, gate.help()); }).join();
  CHECK_FALSE(second);
  gate.let_go();
  helpers.close();
  CHECK(helpers.open(1, gate.help()));
  helpers.close();
}

}  // namespace test_helper_threads
