// infer/context_groups.hpp: every context is in a group that looks at all its bits, and none is large.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include <feldspar/infer/context_groups.hpp>

#include "support/random_models.hpp"

namespace test_context_groups {

using namespace feldspar;
using namespace feldspar::testing;

namespace {

// All parts of two tests or more, each with weight 1.
HiddenModel every_part(const FeatureSet& features) {
  return hidden_model(features, std::vector<double>(features.size(), 1.0), 0);
}

std::vector<std::uint32_t> parts_of(const FeatureSet& features, const HiddenModel& model,
                                    Variable h) {
  std::vector<std::uint32_t> parts;
  for (std::uint32_t p = 0; p < model.parts.size(); ++p)
    for (const Test test : features[model.parts[p].part])
      if (test.variable == h) parts.push_back(p);
  return parts;
}

int group_bits(const FeatureSet& features, const ContextGroups& groups, std::size_t group) {
  int bits = 0;
  for (const Variable v : groups.blanket())
    if (groups.looks_at(group, v)) bits += code_bits(features.schema().cardinality(v));
  return bits;
}

}  // namespace

TEST_CASE("codes take as many bits as they need") {
  CHECK(code_bits(1) == 0);
  CHECK(code_bits(2) == 1);
  CHECK(code_bits(3) == 2);
  CHECK(code_bits(4) == 2);
  CHECK(code_bits(5) == 3);
}

TEST_CASE("groups cover their contexts and keep to the limits") {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    const Problem problem = random_problem(seed, 30, 2, seed == 1 ? 2 : 5, 1, 300, 5);
    const FeatureSet& features = problem.features;
    const HiddenModel model = every_part(features);
    ContextGroups groups(features);
    for (Variable h = 0; h < 30; ++h) {
      const auto parts = parts_of(features, model, h);
      groups.gather(model, parts, h);
      REQUIRE(groups.contexts().size() == parts.size());
      const std::size_t n_groups = groups.group({8, 6});
      CHECK(n_groups > 1);
      std::vector<int> longest(n_groups, 0);
      std::size_t seen = 0;
      for (const ContextGroups::Context& context : groups.contexts()) {
        seen += context.part;
        longest[context.group] = std::max(longest[context.group], context.bits);
        for (const Test test : features[model.parts[context.part].part])
          if (test.variable != h) CHECK(groups.looks_at(context.group, test.variable));
      }
      CHECK(seen == std::accumulate(parts.begin(), parts.end(), std::size_t{0}));
      for (std::size_t g = 0; g < n_groups; ++g)
        CHECK(group_bits(features, groups, g) <= std::max(6, longest[g]));
    }
  }
}

TEST_CASE("what fits into one table is one group") {
  const Problem problem = random_problem(4, 6, 2, 2, 1, 40, 4);
  const HiddenModel model = every_part(problem.features);
  ContextGroups groups(problem.features);
  groups.gather(model, parts_of(problem.features, model, 0), 0);
  CHECK(groups.blanket().size() == 5);
  CHECK(groups.group({5, 2}) == 1);
  CHECK(group_bits(problem.features, groups, 0) == 5);
  CHECK(groups.group({4, 2}) > 1);
}

TEST_CASE("a variable in no part has one empty group") {
  const Problem problem = random_problem(5, 3, 2, 2, 1, 4, 2);
  ContextGroups groups(problem.features);
  groups.gather({}, {}, 1);
  CHECK(groups.blanket().empty());
  CHECK(groups.contexts().empty());
  CHECK(groups.group({0, 0}) == 1);
}

}  // namespace test_context_groups
