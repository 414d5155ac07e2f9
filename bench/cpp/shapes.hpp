// The data sets that every benchmark runs on: files named on the command line, else made-up data in
// the shape of four of the public benchmark sets.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "workload.hpp"

namespace feldspar::bench {

inline std::vector<std::pair<std::string, Dataset>> workloads(int argc, char** argv) {
  std::vector<std::pair<std::string, Dataset>> list;
  for (int i = 1; i < argc; ++i) {
    const std::string path = argv[i];
    list.emplace_back(path.substr(path.find_last_of('/') + 1), read_data(path));
  }
  if (!list.empty()) return list;
  for (const Shape& shape :
       {Shape{"16k x 16 dense", 16000, 16, 0.33, 40}, Shape{"17k x 69", 17000, 69, 0.18, 200},
        Shape{"9k x 100 dense", 9000, 100, 0.6, 100},
        Shape{"29k x 294 sparse", 29000, 294, 0.01, 60}})
    list.emplace_back(shape.name, make_data(shape));
  return list;
}

struct NamedFeatures {
  std::string name;
  FeatureSet features;
};

// The shapes of feature set that learners produce.
inline std::vector<NamedFeatures> feature_sets(const Dataset& data) {
  std::vector<NamedFeatures> sets;
  sets.push_back({"all pairs", enumerate_conjunctions(data, {2, 0, 1})});
  if (data.n_variables() <= 70)
    sets.push_back({"triples", enumerate_conjunctions(data, {3, 10, 3})});
  if (data.n_variables() <= 200) sets.push_back({"tree leaves", tree_features(data, 8, 20)});
  return sets;
}

}  // namespace feldspar::bench
