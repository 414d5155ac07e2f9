// Growing a tree for every variable. Entries: (distinct example, variable, target).
#include <feldspar/learn/decision_tree.hpp>

#include "measure.hpp"
#include "shapes.hpp"

using namespace feldspar;
using namespace feldspar::bench;

int main(int argc, char** argv) {
  for (const auto& [name, data] : workloads(argc, argv)) {
    std::size_t leaves = 0;
    const double seconds = time_call([&] {
      leaves = 0;
      for (const auto& t : grow_trees(data, {}, {1, nullptr})) leaves += t.n_leaves();
    }, 0.05, 3);
    std::printf("%-30s %9.2f ms %zu leaves\n", name.c_str(), seconds * 1e3, leaves);
  }
}
