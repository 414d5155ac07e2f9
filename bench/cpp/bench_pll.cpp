// One value and gradient of the pseudo-log-likelihood. Entries: what a plain index would touch, one
// for each (distinct example, feature, test) whose other tests hold, there and back; bytes: the
// same as 32-bit numbers with a double each. The engine reaches the same sums with fewer, which is
// the point.
#include <feldspar/objective/pseudo_likelihood.hpp>

#include "measure.hpp"
#include "shapes.hpp"

using namespace feldspar;
using namespace feldspar::bench;

namespace {

double plain_entries(const FeatureSet& features, const Dataset& data) {
  const ContextTable table(features);
  std::vector<double> n_users(table.size(), 0);
  for (std::size_t t = 0; t < features.n_tests(); ++t) ++n_users[table.of_test(t)];
  std::vector<Word> rows(data.columns().n_words());
  double entries = 0;
  for (ContextId c = 0; c < table.size(); ++c) {
    table.match(features, data.columns(), c, rows);
    entries += static_cast<double>(count_bits(rows)) * n_users[c];
  }
  return entries;
}

}  // namespace

int main(int argc, char** argv) {
  const double bandwidth = measure_bandwidth();
  std::printf("memory: %.1f GB/s on one core\n", bandwidth / 1e9);
  for (const auto& [name, data] : workloads(argc, argv))
    for (const auto& [kind, features] : feature_sets(data)) {
      const double entries = 2 * plain_entries(features, data);
      for (const int threads : {1, 2}) {
        PseudoLikelihood likelihood(features, data, {threads, nullptr});
        std::vector<double> weights(features.size(), 0.01), gradient(features.size());
        const double seconds = time_call(
            [&] { likelihood.value_and_gradient(weights, gradient, {threads, nullptr}); });
        report(name + ", " + kind + " (" + std::to_string(features.size()) + "), PLL, " +
                   std::to_string(threads) + " threads",
               seconds, entries, entries * 12, bandwidth);
      }
    }
}
