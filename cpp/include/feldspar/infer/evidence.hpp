// Evidence: what is known of the variables before asking about the others.
//
// A row of evidence has a code for every variable that is observed and kUnknown for the others.
// Soft evidence adds, for each value of each variable, the log-likelihood of an observation that is
// not one of the variables ("the test says ill, and is right nine times in ten"): a factor of its
// own on each variable. Batches are row-major, all rows over one schema.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/hash.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/schema.hpp>

namespace feldspar {

inline constexpr std::int32_t kUnknown = -1;

struct EvidenceView {
  std::span<const std::int32_t> codes;      // n_variables a row
  std::span<const double> log_likelihoods;  // value_offsets(schema).back() a row; empty: none
};

// The number of rows; throws InvalidInput naming the first row and variable that does not fit.
inline std::size_t check_evidence(const Schema& schema, const EvidenceView& evidence) {
  const std::size_t n_variables = schema.n_variables();
  require(n_variables > 0, "evidence: the model has no variables");
  require(evidence.codes.size() % n_variables == 0, "evidence: ", evidence.codes.size(),
          " codes are not whole rows of ", n_variables, " variables");
  const std::size_t n_rows = evidence.codes.size() / n_variables;
  for (std::size_t i = 0; i < evidence.codes.size(); ++i) {
    const auto v = static_cast<Variable>(i % n_variables);
    require(evidence.codes[i] >= kUnknown && evidence.codes[i] < schema.cardinality(v),
            "evidence: row ", i / n_variables, ", variable ", v, ": code ", evidence.codes[i],
            " is out of range; expected ", kUnknown, " (unknown) or 0 to ",
            schema.cardinality(v) - 1);
  }
  const std::size_t n_values = value_offsets(schema).back();
  const auto soft = evidence.log_likelihoods;
  require(soft.empty() || soft.size() == n_rows * n_values, "evidence: got ", soft.size(),
          " log-likelihoods for ", n_rows, " rows of ", n_values, " values");
  for (std::size_t i = 0; i < soft.size(); ++i)
    require(std::isfinite(soft[i]), "evidence: row ", i / n_values, ", value ", i % n_values,
            ": log-likelihood ", soft[i], "; expected a finite number");
  return n_rows;
}

// The rows of each pattern of hidden variables; patterns in the order in which they first come.
inline std::vector<std::vector<std::size_t>> rows_by_pattern(std::size_t n_variables,
                                                             std::span<const std::int32_t> codes) {
  const auto hides = [&](std::size_t r, std::size_t v) {
    return codes[r * n_variables + v] == kUnknown;
  };
  const auto same = [&](std::size_t r, std::size_t s) {
    for (std::size_t v = 0; v < n_variables; ++v)
      if (hides(r, v) != hides(s, v)) return false;
    return true;
  };
  std::vector<std::vector<std::size_t>> patterns;
  std::map<std::uint64_t, std::size_t> known;  // by hash; equal hashes move on to the next
  for (std::size_t r = 0; r < codes.size() / n_variables; ++r) {
    std::uint64_t hash = 0;
    for (std::size_t v = 0; v < n_variables; ++v) hash = combine_hash(hash, hides(r, v));
    auto place = known.find(hash);
    while (place != known.end() && !same(r, patterns[place->second].front()))
      place = known.find(++hash);
    if (place == known.end()) {
      place = known.emplace(hash, patterns.size()).first;
      patterns.emplace_back();
    }
    patterns[place->second].push_back(r);
  }
  return patterns;
}

}  // namespace feldspar
