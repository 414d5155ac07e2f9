// The only door to OpenMP. Without OpenMP everything runs on the calling thread with equal results:
// tasks are indexed, each writes its own slot, and whatever is summed is summed in task order.
//
// - parallel_for(n, execution, task) runs task(i) for i in [0, n), on several threads, any order.
//   An exception leaves the loop (the one with the lowest index wins); a stop asked by the
//   monitor skips the tasks not yet begun and is seen by the caller through Monitor::stopped().
// - parallel_sum(n, execution, term) adds term(0) + term(1) + ... in that order.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <vector>

#include <feldspar/base/execution.hpp>

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
#ifdef _OPENMP
  const int threads = n < 2 ? 1 : resolve_threads(execution);
  if (threads > 1 && !omp_in_parallel()) {
    detail::FirstException first;
    std::atomic<std::size_t> next{0};
#pragma omp parallel num_threads(threads)
    {
      const bool caller = omp_get_thread_num() == 0;
      for (std::size_t i = next++; i < n && !first.failed(); i = next++) {
        try {
          const bool stop = caller ? execution.poll_stop()
                                   : execution.monitor != nullptr && execution.monitor->stopped();
          if (stop) break;
          task(i);
        } catch (...) {
          first.keep(i, std::current_exception());
        }
      }
    }
    first.rethrow();
    return;
  }
#endif
  detail::run_serially(n, execution, task);
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
