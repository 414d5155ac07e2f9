// Building the index of a feature set. Entries: (example, test) pairs of the features' tests, each
// one bit of work at the least; bytes: the finished index.
#include <feldspar/objective/pseudo_likelihood.hpp>

#include "measure.hpp"
#include "shapes.hpp"

using namespace feldspar;
using namespace feldspar::bench;

int main(int argc, char** argv) {
  const double bandwidth = measure_bandwidth();
  for (const auto& [name, data] : workloads(argc, argv))
    for (const auto& [kind, features] : feature_sets(data))
      for (const int threads : {1, 2}) {
        std::size_t bytes = 0;
        const double seconds = time_call(
            [&] {
              const PseudoLikelihood likelihood(features, data, {threads, nullptr});
              bytes = likelihood.statistics().bytes;
            },
            0.1, 3);
        report(name + ", " + kind + " (" + std::to_string(features.size()) + "), index, " +
                   std::to_string(threads) + " threads",
               seconds, static_cast<double>(features.n_tests() * data.n_rows()),
               static_cast<double>(bytes), bandwidth);
      }
}
