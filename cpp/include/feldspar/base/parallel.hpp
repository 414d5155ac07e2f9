// Loops on several threads, with results that do not depend on their number: tasks are indexed, each
// writes its own slot, and whatever is summed is summed in task order.
//
// The threads are our own (helper_threads.hpp). OpenMP, where the compiler has it, is only asked how
// many there should be: limits set by joblib or threadpoolctl are limits on OpenMP.
//
// - parallel_for(n, execution, task) runs task(i) for i in [0, n), on several threads, any order.
//   An exception leaves the loop (the one with the lowest index wins); a stop asked by the
//   monitor skips the tasks not yet begun and is seen by the caller through Monitor::stopped().
// - parallel_sum(n, execution, term) adds term(0) + term(1) + ... in that order.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include <feldspar/base/execution.hpp>
#include <feldspar/base/helper_threads.hpp>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace feldspar {

inline int available_threads() noexcept {
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}

// The thread count is resolved at call time, so that limits set by joblib or threadpoolctl hold.
inline int resolve_threads(const Execution& execution) noexcept {
  return execution.n_threads > 0 ? execution.n_threads : available_threads();
}

namespace detail {

// Keeps the exception of the lowest task index, so that errors do not depend on timing.
class FirstException {
 public:
  void keep(std::size_t index, std::exception_ptr error) noexcept {
    const std::lock_guard lock(mutex_);
    if (!error_ || index < index_) {
      index_ = index;
      error_ = std::move(error);
    }
    failed_.store(true, std::memory_order_relaxed);
  }
  bool failed() const noexcept { return failed_.load(std::memory_order_relaxed); }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::atomic<bool> failed_{false};
  std::size_t index_ = 0;
  std::exception_ptr error_;
};

// Whether the current thread is in a task of a parallel loop: loops within it run on this thread.
inline thread_local bool in_parallel_loop = false;

template <class Task>
void run_serially(std::size_t n, const Execution& execution, Task& task) {
  for (std::size_t i = 0; i < n; ++i) {
    if (execution.poll_stop()) return;
    task(i);
  }
}

}  // namespace detail

template <class Task>
void parallel_for(std::size_t n, const Execution& execution, Task&& task) {
  const int threads =
      static_cast<int>(std::min(n, static_cast<std::size_t>(resolve_threads(execution))));
  if (threads < 2 || detail::in_parallel_loop) {
    detail::run_serially(n, execution, task);
    return;
  }
  detail::FirstException first;
  std::atomic<std::size_t> next{0};
  auto take_tasks = [&](bool caller) {
    detail::in_parallel_loop = true;
    // Unless stopped, every task that was taken is run, so that of those that fail the lowest is
    // among them.
    while (!first.failed()) {
      const std::size_t i = next++;
      if (i >= n) break;
      try {
        const bool stop = caller ? execution.poll_stop()
                                 : execution.monitor != nullptr && execution.monitor->stopped();
        if (stop) break;
        task(i);
      } catch (...) {
        first.keep(i, std::current_exception());
      }
    }
    detail::in_parallel_loop = false;
  };
  using TakeTasks = decltype(take_tasks);
  const auto help = [](void* own) { (*static_cast<TakeTasks*>(own))(false); };
  HelperThreads& helpers = helper_threads();
  const bool helped = helpers.open(threads - 1, {help, &take_tasks});
  take_tasks(true);
  if (helped)
    helpers.close([&]() noexcept {
      // A signal's handler may call into the library. What it asks for runs on this thread alone:
      // one thread must not open the helpers twice.
      detail::in_parallel_loop = true;
      try {
        execution.poll_stop();
      } catch (...) {
        first.keep(n, std::current_exception());
      }
      detail::in_parallel_loop = false;
    });
  first.rethrow();
}

template <class Term>
double parallel_sum(std::size_t n, const Execution& execution, Term&& term) {
  std::vector<double> terms(n, 0.0);
  parallel_for(n, execution, [&](std::size_t i) { terms[i] = term(i); });
  double sum = 0;
  for (const double t : terms) sum += t;
  return sum;
}

}  // namespace feldspar
