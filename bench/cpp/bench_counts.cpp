// Pair counts of all variables. Entries: (pair of variables, example); bytes: packed rows read.
#include <feldspar/data/counts.hpp>

#include "measure.hpp"
#include "shapes.hpp"

using namespace feldspar;
using namespace feldspar::bench;

int main(int argc, char** argv) {
  const double bandwidth = measure_bandwidth();
  for (const auto& [name, data] : workloads(argc, argv)) {
    const auto n = static_cast<double>(data.n_variables());
    const double pairs = n * (n + 1) / 2;
    const double words = static_cast<double>(data.columns().n_words());
    for (const int threads : {1, 2}) {
      const double seconds = time_call([&] { PairCounts counts(data, {threads, nullptr}); });
      report(name + ", pair counts, " + std::to_string(threads) + " threads", seconds,
             pairs * static_cast<double>(data.n_rows()), pairs * words * 16, bandwidth);
    }
  }
}
