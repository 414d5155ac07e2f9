// base/parallel.hpp: every task once, the same sums for any number of threads, exceptions and stops
// that leave the loop.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <feldspar/base/parallel.hpp>

namespace test_parallel {

using namespace feldspar;

namespace {

const std::vector<int> kThreadCounts{1, 2, 3, 8};

Execution on_threads(int n) { return Execution{.n_threads = n}; }

// Asks to stop once it has been polled `patience` times.
class ImpatientMonitor : public Monitor {
 public:
  explicit ImpatientMonitor(int patience) : patience_(patience) {}

 protected:
  bool wants_stop() override { return patience_-- <= 0; }

 private:
  int patience_;
};

}  // namespace

TEST_CASE("parallel_for runs every task exactly once") {
  for (const int threads : kThreadCounts) {
    for (const std::size_t n : {0u, 1u, 2u, 1000u}) {
      CAPTURE(threads);
      CAPTURE(n);
      std::vector<std::atomic<int>> runs(n);
      parallel_for(n, on_threads(threads), [&](std::size_t i) { ++runs[i]; });
      for (const auto& count : runs) CHECK(count == 1);
    }
  }
}

TEST_CASE("parallel_sum gives the same bits for any number of threads") {
  constexpr std::size_t kTerms = 1000;
  const auto term = [](std::size_t i) { return 1.0 / static_cast<double>(i + 1); };
  double in_order = 0;
  double in_reverse = 0;
  for (std::size_t i = 0; i < kTerms; ++i) in_order += term(i);
  for (std::size_t i = kTerms; i-- > 0;) in_reverse += term(i);
  REQUIRE(in_order != in_reverse);  // else the order of adding could not be seen

  for (const int threads : kThreadCounts) {
    CAPTURE(threads);
    CHECK(parallel_sum(kTerms, on_threads(threads), term) == in_order);
  }
}

TEST_CASE("an exception leaves the loop with its message") {
  for (const int threads : kThreadCounts) {
    CAPTURE(threads);
    const auto fail_at_seven = [](std::size_t i) {
      if (i == 7) throw std::runtime_error("task 7");
    };
    CHECK_THROWS_WITH_AS(parallel_for(100, on_threads(threads), fail_at_seven), "task 7",
                         std::runtime_error);
  }
}

TEST_CASE("of several exceptions kept the one of the lowest task wins") {
  const auto error = [](const char* what) {
    return std::make_exception_ptr(std::runtime_error(what));
  };
  detail::FirstException first;
  CHECK_FALSE(first.failed());
  first.keep(5, error("five"));
  first.keep(2, error("two"));
  first.keep(9, error("nine"));
  CHECK(first.failed());
  CHECK_THROWS_WITH(first.rethrow(), "two");
}

TEST_CASE("of tasks that fail the lowest tells, whatever ends first") {
  const auto fail = [](std::size_t i) {
    if (i >= 3) throw std::runtime_error("task " + std::to_string(i));
  };
  for (int round = 0; round < 500; ++round)
    CHECK_THROWS_WITH(parallel_for(8, on_threads(4), fail), "task 3");
}

TEST_CASE("a stop is seen while the caller waits for a helper") {
  using Clock = std::chrono::steady_clock;
  const auto caller = std::this_thread::get_id();
  for (int round = 0; round < 20; ++round) {
    ImpatientMonitor monitor(2);  // before the caller's task, and once more after it
    const Execution execution{.n_threads = 2, .monitor = &monitor};
    std::atomic<bool> is_helped{false}, is_seen{false};
    const auto end = Clock::now() + std::chrono::seconds(5);
    parallel_for(2, execution, [&](std::size_t) {
      if (std::this_thread::get_id() != caller) {
        is_helped = true;
        while (!(is_seen = monitor.stopped()) && Clock::now() < end) std::this_thread::yield();
      } else {
        while (!is_helped && Clock::now() < end - std::chrono::milliseconds(4900))
          std::this_thread::yield();
      }
    });
    if (is_helped) CHECK(is_seen);
  }
}

TEST_CASE("a stop skips the tasks not yet begun") {
  for (const int threads : kThreadCounts) {
    CAPTURE(threads);
    ImpatientMonitor monitor(0);
    const Execution execution{.n_threads = threads, .monitor = &monitor};
    std::atomic<std::size_t> runs{0};
    CHECK(monitor.poll());  // the stop is asked for before any task has begun
    parallel_for(1000, execution, [&](std::size_t) { ++runs; });
    CHECK(runs == 0);
    CHECK(monitor.stopped());
  }
}

TEST_CASE("on one thread a stop comes after exactly the tasks the monitor allows") {
  ImpatientMonitor monitor(3);
  const Execution execution{.n_threads = 1, .monitor = &monitor};
  std::size_t runs = 0;
  parallel_for(10, execution, [&](std::size_t) { ++runs; });
  CHECK(runs == 3);
}

TEST_CASE("a loop inside a loop runs on the thread it is in") {
  std::vector<std::size_t> sums(8, 0);
  parallel_for(sums.size(), on_threads(2), [&](std::size_t i) {
    parallel_for(10, on_threads(2), [&](std::size_t j) { sums[i] += j; });
  });
  CHECK(sums == std::vector<std::size_t>(8, 45));
}

TEST_CASE("polls count as within the loop, also while the caller waits") {
  // A signal's handler, which Python calls from a poll, may open loops of its own.
  class LookingMonitor : public Monitor {
   public:
    std::atomic<int> polls{0}, outside{0};

   protected:
    bool wants_stop() override {
      ++polls;
      outside += !detail::in_parallel_loop;
      return false;
    }
  };
  using Clock = std::chrono::steady_clock;
  const auto caller = std::this_thread::get_id();
  LookingMonitor monitor;
  const Execution execution{.n_threads = 2, .monitor = &monitor};
  const auto end = Clock::now() + std::chrono::seconds(5);
  std::atomic<bool> is_helped{false};
  parallel_for(2, execution, [&](std::size_t) {
    if (std::this_thread::get_id() != caller) {
      is_helped = true;
      while (monitor.polls < 5 && Clock::now() < end) std::this_thread::yield();
    } else {
      while (!is_helped && Clock::now() < end - std::chrono::milliseconds(4900))
        std::this_thread::yield();
    }
  });
  if (is_helped) CHECK(monitor.polls >= 5);
  CHECK(monitor.outside == 0);
  CHECK(!detail::in_parallel_loop);
}

TEST_CASE("zero threads means what is available at the time of the call") {
  CHECK(resolve_threads(on_threads(0)) == available_threads());
  CHECK(resolve_threads(on_threads(3)) == 3);
  CHECK(available_threads() >= 1);
}

}  // namespace test_parallel
