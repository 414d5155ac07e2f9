// Growing a tree for every variable, and scoring the data with them for five kappas. Entries:
// (distinct example, predictor, target), as if each tree looked at the data once, and (distinct
// example, target); bytes: the packed bits of the former, the codes of the latter.
#include <feldspar/learn/decision_tree.hpp>
#include <feldspar/model/conditional_trees.hpp>

#include "measure.hpp"
#include "shapes.hpp"

using namespace feldspar;
using namespace feldspar::bench;

namespace {

std::vector<std::int32_t> row_major(const Dataset& data) {
  std::vector<std::int32_t> codes(data.n_rows() * data.n_variables());
  for (Variable v = 0; v < data.n_variables(); ++v) {
    const std::vector<Value> column = data.columns().codes(v);
    for (std::size_t r = 0; r < column.size(); ++r) codes[r * data.n_variables() + v] = column[r];
  }
  return codes;
}

}  // namespace

int main(int argc, char** argv) {
  const double bandwidth = measure_bandwidth();
  const std::vector<double> kappas{1e-4, 1e-3, 1e-2, 1e-1, 1};
  for (const auto& [name, data] : workloads(argc, argv)) {
    const auto n = static_cast<double>(data.n_variables());
    const double entries = n * (n - 1) * static_cast<double>(data.n_rows());
    const ConditionalTrees trees(data.schema(), grow_trees(data, {}));
    const std::string size = ", " + std::to_string(trees.n_leaves()) + " leaves, ";
    for (const int threads : {1, 2}) {
      const double seconds = time_call([&] { grow_trees(data, {}, {threads, nullptr}); });
      report(name + size + std::to_string(threads) + " threads", seconds, entries, entries / 8,
             bandwidth);
    }
    const auto codes = row_major(data);
    const double steps = n * static_cast<double>(data.n_rows());
    const double seconds =
        time_call([&] { log_likelihoods(trees, codes, data.weights(), kappas, {1, nullptr}); });
    report(name + ", scores of 5 kappas", seconds, steps, steps * 4, bandwidth);
  }
}
