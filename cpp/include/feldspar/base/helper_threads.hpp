// Threads that help the thread that calls, for as long as it takes.
//
//   if (helpers.open(2, help)) {   // up to two others now call `help`, whenever they come
//     ...                          // the caller does the same work meanwhile
//     helpers.close(poll);         // none may begin any more; waits for those that have
//   }
//
// The caller never waits for a thread that has not begun: on a busy machine, where a helper may not
// get a core for milliseconds, the caller has done the work by then and goes on. What helpers do has
// to be divided as it goes, as parallel_for does.
//
// A helper that has nothing to do looks for work for a tenth of a millisecond before it sleeps. Learning
// calls for help thousands of times with little in between, and waking a thread takes as long as
// many of these calls; looking for longer takes time from others, see docs/decisions/0018.
//
// One call is helped at a time; open() of another thread meanwhile returns false, and so it does in a
// forked process until helpers of its own are there: threads do not survive a fork. Helpers are never
// joined: they sleep until the process ends.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

namespace feldspar {

class HelperThreads {
 public:
  // What helpers call. Must not throw.
  struct Help {
    void (*call)(void* context) = nullptr;
    void* context = nullptr;
  };

  HelperThreads() = default;
  HelperThreads(const HelperThreads&) = delete;
  HelperThreads& operator=(const HelperThreads&) = delete;

  // Lets up to `seats` helpers call `help`, starting threads where there are too few. False: the
  // helpers are busy for somebody else, or no thread can be had.
  bool open(int seats, Help help) {
    std::unique_lock in_use(in_use_, std::try_to_lock);
    if (!in_use) return false;
    start_threads(seats);
    if (n_threads_ == 0) return false;
    bool sleeping;
    {
      const std::lock_guard lock(mutex_);
      help_ = help;
      seats_ = seats;
      generation_.store(generation_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
      sleeping = n_asleep_ > 0;
    }
    if (sleeping) wake_.notify_all();
    in_use.release();  // until close()
    return true;
  }

  // After an open() that returned true, on the same thread. While it waits, calls poll() now and
  // then, which must not throw: it alone can tell helpers to hurry.
  template <class Poll>
  void close(Poll&& poll) {
    std::unique_lock lock(mutex_);
    seats_ = 0;
    if (n_inside_.load(std::memory_order_relaxed) > 0) {
      lock.unlock();
      spin_while([this] { return n_inside_.load(std::memory_order_acquire) > 0; });
      lock.lock();
      const auto all_left = [this] { return n_inside_.load(std::memory_order_relaxed) == 0; };
      while (!left_.wait_for(lock, kBetweenPolls, all_left)) {
        lock.unlock();
        poll();
        lock.lock();
      }
    }
    lock.unlock();
    in_use_.unlock();
  }
  void close() {
    close([] {});
  }

 private:
  static constexpr std::chrono::microseconds kPatience{100};
  static constexpr std::chrono::milliseconds kBetweenPolls{20};
  // A yield that takes longer has let somebody else run; 64 looks take about 2.
  static constexpr std::chrono::microseconds kOwnTurn{15};

  void start_threads(int wanted) {
    for (; n_threads_ < wanted; ++n_threads_) {
      try {
        std::thread([this] { help_out(); }).detach();
      } catch (const std::exception&) {  // no thread, or no memory for one
        return;                          // with those there are
      }
    }
  }

  void help_out() {
    std::uint64_t seen = 0;
    for (;;) {
      spin_while([&] { return generation_.load(std::memory_order_acquire) == seen; });
      std::unique_lock lock(mutex_);
      ++n_asleep_;
      wake_.wait(lock, [&] { return generation_.load(std::memory_order_relaxed) != seen; });
      --n_asleep_;
      seen = generation_.load(std::memory_order_relaxed);
      if (seats_ == 0) continue;  // too late
      --seats_;
      n_inside_.fetch_add(1, std::memory_order_relaxed);
      const Help help = help_;
      lock.unlock();
      help.call(help.context);
      lock.lock();
      if (n_inside_.fetch_sub(1, std::memory_order_release) == 1) left_.notify_one();
    }
  }

  // While the condition holds, but no longer than kPatience, and only as long as nobody else wants
  // this core: a thread of ours that was started or woken on the caller's own core would take it
  // from the caller, and finds a free one only if it sleeps and is woken.
  template <class Condition>
  static void spin_while(Condition&& condition) {
    using Clock = std::chrono::steady_clock;
    constexpr int kLooks = 64;  // between two looks at the clock
    const auto end = Clock::now() + kPatience;
    for (auto now = Clock::now(); now < end;) {
      for (int i = 0; i < kLooks; ++i) {
        if (!condition()) return;
        pause();
      }
      std::this_thread::yield();
      const auto before = std::exchange(now, Clock::now());
      if (now - before > kOwnTurn) return;  // others were here
    }
  }

  // Tells the processor that this is a loop that waits.
  static void pause() noexcept {
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) && defined(__GNUC__)
    asm volatile("yield");
#endif
  }

  std::mutex in_use_;  // from open() to close()
  int n_threads_ = 0;  // guarded by in_use_

  std::mutex mutex_;  // guards the rest; atomics are also read without it
  std::condition_variable wake_, left_;
  Help help_;
  int seats_ = 0;  // helpers that may still begin
  int n_asleep_ = 0;
  std::atomic<int> n_inside_{0};              // helpers that have begun and not left
  std::atomic<std::uint64_t> generation_{0};  // calls of open()
};

// Those of this process: made when first asked for, and anew in a forked process.
inline HelperThreads& helper_threads() {
  static std::atomic<HelperThreads*> current{new HelperThreads};
#if defined(__unix__) || defined(__APPLE__)
  static std::atomic<pid_t> owner{getpid()};
  static std::mutex mutex;
  if (owner.load(std::memory_order_acquire) != getpid()) {
    const std::lock_guard lock(mutex);
    if (owner.load(std::memory_order_relaxed) != getpid()) {
      current.store(new HelperThreads, std::memory_order_relaxed);
      owner.store(getpid(), std::memory_order_release);
    }
  }
#endif
  return *current.load(std::memory_order_acquire);
}

}  // namespace feldspar
