// Random features for GSSL: generalisations of the examples that were generated often (Van Haaren and
// Davis 2012, Algorithm 1 and the first half of Algorithm 2).
//
// A conjunction survives if the multiset of a GeneralizationForest holds it more than `threshold`
// times. Counts only grow: one run passes through all sizes, its results are those of separate runs
// with the same seed, and what survives a smaller size or a larger threshold survives the others too.
//
// The forest is walked twice: once to count its members by their fingerprints, once more for the
// tests of those that survive.
//
// Memory: 32 bytes a member, and the results. Sequential. The same seed gives the same features.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/execution.hpp>
#include <feldspar/base/tally.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/dataset.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/learn/example_features.hpp>
#include <feldspar/learn/generalization_forest.hpp>

namespace feldspar {

struct GenerateOptions {
  InitialFeatures initial = InitialFeatures::positive;
  std::vector<std::uint64_t> sizes{1'000'000};  // of the multiset; results for each, ascending
  std::vector<std::uint32_t> thresholds{1};     // results for each
  std::uint64_t seed = 0;

  void check() const {
    require(!sizes.empty(), "sizes: expected at least one");
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      require(i == 0 || sizes[i] > sizes[i - 1], "sizes must ascend, got ", sizes[i], " after ",
              i == 0 ? 0 : sizes[i - 1]);
      require(sizes[i] < std::numeric_limits<std::uint32_t>::max(), "sizes: ", sizes[i],
              " is too many");
    }
    require(!thresholds.empty(), "thresholds: expected at least one");
  }
};

namespace detail {

// Conjunctions that are frequent enough for one of the results, in the order in which they came.
struct Survivors {
  struct Survivor {
    GeneralizationForest::Member first;  // the first of its members
    std::size_t count;                   // the place of its counts, one for each size
    std::size_t begin;                   // the place of its tests
  };

  std::vector<Survivor> all;
  std::vector<std::uint32_t> counts;
  std::vector<GeneralizationForest::Atom> atoms;
};

inline Survivors count_members(const GeneralizationForest& forest, const GenerateOptions& options,
                               const Execution& execution) {
  Tally tally(forest.size());
  std::size_t n_visited = 0;
  forest.walk(std::vector<bool>(forest.size(), true),
              [&](std::uint32_t member, auto /*atoms*/, const Fingerprint& fingerprint) {
                tally.add(fingerprint, member);
                if (n_visited++ % (1 << 14) != 0) return;
                execution.poll_or_throw();
                execution.report({"features", static_cast<double>(n_visited),
                                  static_cast<double>(forest.size()), 0});
              });
  std::vector<std::uint64_t> limits = options.sizes;
  for (std::uint64_t& limit : limits)  // the examples are there in any case
    limit = std::max<std::uint64_t>(limit, forest.n_examples());
  const std::uint32_t least = std::ranges::min(options.thresholds);
  Survivors survivors;
  tally.for_each_thing(limits, [&](std::uint32_t first, std::span<const std::uint32_t> counts) {
    if (counts.back() <= least) return;
    survivors.all.push_back({first, survivors.counts.size(), 0});
    survivors.counts.insert(survivors.counts.end(), counts.begin(), counts.end());
  });
  std::ranges::sort(survivors.all, {}, &Survivors::Survivor::first);
  return survivors;
}

inline void read_tests(const GeneralizationForest& forest, Survivors& survivors,
                       const Execution& execution) {
  std::vector<bool> wanted(forest.size(), false);
  std::size_t end = 0;
  for (auto& survivor : survivors.all) {
    wanted[survivor.first] = true;
    survivor.begin = end;
    end += forest.length(survivor.first);
  }
  survivors.atoms.resize(end);
  std::size_t n_visited = 0;
  forest.walk(wanted, [&](std::uint32_t member, auto atoms, const Fingerprint&) {
    if (n_visited++ % (1 << 14) == 0) execution.poll_or_throw();
    if (!wanted[member]) return;
    const auto survivor =
        std::ranges::lower_bound(survivors.all, member, {}, &Survivors::Survivor::first);
    const auto own = std::span(survivors.atoms).subspan(survivor->begin, atoms.size());
    std::ranges::copy(atoms, own.begin());
    std::ranges::sort(own);
  });
}

// The single tests X_v = a, a > 0, and the conjunctions that are there more than `threshold` times.
inline FeatureSet frequent_features(const Schema& schema, const GeneralizationForest& forest,
                                    const Survivors& survivors, std::size_t size,
                                    std::uint32_t threshold) {
  FeatureSetBuilder builder(schema);
  std::vector<Test> test_of;  // by atom; the set {a} has number a
  for (Variable v = 0; v < schema.n_variables(); ++v)
    for (Value value = 0; value < schema.cardinality(v); ++value) {
      test_of.push_back({v, value});
      if (value > 0) builder.add_canonical({&test_of.back(), 1});
    }
  std::vector<Test> tests;
  for (const auto& survivor : survivors.all) {
    if (survivors.counts[survivor.count + size] <= threshold) continue;
    tests.clear();
    for (std::size_t t = 0; t < forest.length(survivor.first); ++t)
      tests.push_back(test_of[survivors.atoms[survivor.begin + t]]);
    builder.add_canonical(tests);
  }
  return std::move(builder).finish();
}

}  // namespace detail

// By size, then by threshold: the single tests X_v = a, a > 0, and all conjunctions that survive.
inline std::vector<std::vector<FeatureSet>> generate_features(const Dataset& data,
                                                              const GenerateOptions& options,
                                                              const Execution& execution = {}) {
  options.check();
  const GeneralizationForest forest(data, options.initial, options.sizes.back(), options.seed,
                                    execution);
  detail::Survivors survivors = detail::count_members(forest, options, execution);
  detail::read_tests(forest, survivors, execution);
  std::vector<std::vector<FeatureSet>> results(options.sizes.size());
  for (std::size_t size = 0; size < results.size(); ++size)
    for (const std::uint32_t threshold : options.thresholds) {
      execution.poll_or_throw();
      results[size].push_back(
          detail::frequent_features(data.schema(), forest, survivors, size, threshold));
    }
  return results;
}

}  // namespace feldspar
