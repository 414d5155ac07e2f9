// Weight learning from start to convergence, index included. Entries: numbers looked up in tables,
// there and back, in all evaluations (and products with the Hessian, where it is Newton's method that
// learns); bytes: eight for each, or four in products.
#include <feldspar/learn/fit_weights.hpp>

#include "measure.hpp"
#include "shapes.hpp"

using namespace feldspar;
using namespace feldspar::bench;

int main(int argc, char** argv) {
  const double bandwidth = measure_bandwidth();
  for (const auto& [name, data] : workloads(argc, argv))
    for (const auto& [kind, features] : feature_sets(data))
      for (const int threads : {1, 2}) {
        const double start = seconds_now();
        PseudoLikelihood likelihood(features, data, {threads, nullptr});
        const Penalty penalty{1.0, 0.0};
        const WeightFit fit =
            fit_weight_path(likelihood, {&penalty, 1}, {}, {}, {threads, nullptr}).front();
        const double seconds = seconds_now() - start;
        const IndexStatistics index = likelihood.statistics();
        const double entries = 2.0 * fit.run.evaluations *
                               static_cast<double>(index.n_narrow_lookups +
                                                   index.n_wide_lookups * index.n_tiles * kLanes);
        const bool newton = likelihood.has_cheap_products();
        report(name + ", " + kind + " (" + std::to_string(features.size()) +
                   (newton ? "), Newton " : "), L-BFGS ") + std::to_string(fit.run.iterations) +
                   " iterations, " + std::to_string(threads) + " threads",
               seconds, entries, entries * (newton ? sizeof(float) : sizeof(double)), bandwidth);
      }
}
