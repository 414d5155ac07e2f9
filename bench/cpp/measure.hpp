// Timing and reporting shared by the benchmarks.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

namespace feldspar::bench {

inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Seconds of one call of `work`: the fastest of several rounds, each long enough for the clock.
template <class Work>
double time_call(Work&& work, double round_seconds = 0.2, int rounds = 5) {
  double best = 1e300;
  for (int round = 0; round < rounds; ++round) {
    const double start = seconds_now();
    int calls = 0;
    do {
      work();
      ++calls;
    } while (seconds_now() - start < round_seconds);
    best = std::min(best, (seconds_now() - start) / calls);
  }
  return best;
}

// Bytes per second that one core reads from memory: a sum over 256 MiB, eight sums side by side.
inline double measure_bandwidth() {
  const std::vector<double> data(std::size_t{1} << 25, 1.0);
  double sink = 0;
  const double seconds = time_call([&] {
    double sums[8] = {};
    for (std::size_t i = 0; i < data.size(); i += 8)
      for (std::size_t k = 0; k < 8; ++k) sums[k] += data[i + k];
    sink += std::accumulate(sums, sums + 8, 0.0);
  });
  if (sink < 0) std::puts("");  // keeps the sum alive
  return static_cast<double>(data.size() * sizeof(double)) / seconds;
}

// One line: what was done, how fast, and how that compares with reading memory.
inline void report(const std::string& workload, double seconds, double entries, double bytes,
                   double bandwidth) {
  std::printf("%-58s %10.3f ms  %8.3f G entries/s  %7.2f GB/s  %5.2f x memory\n", workload.c_str(),
              seconds * 1e3, entries / seconds / 1e9, bytes / seconds / 1e9,
              bytes / seconds / bandwidth);
}

}  // namespace feldspar::bench
