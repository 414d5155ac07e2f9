// Rows of evidence sorted for sampling: equal ones taken together, those with the same hidden
// variables side by side.
//
// A row is known by a hash of its evidence, from which the random streams of its chains follow: so a
// row has the same answer wherever it stands.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include <feldspar/base/hash.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/schema.hpp>
#include <feldspar/infer/evidence.hpp>

namespace feldspar {

inline std::uint64_t hash_evidence(const Schema& schema, const EvidenceView& evidence,
                                   std::size_t row) {
  const std::size_t n_variables = schema.n_variables();
  std::uint64_t hash = hash_sequence(evidence.codes.subspan(row * n_variables, n_variables));
  if (evidence.log_likelihoods.empty()) return hash;
  const std::size_t n_values = value_offsets(schema).back();
  for (const double x : evidence.log_likelihoods.subspan(row * n_values, n_values))
    hash = combine_hash(hash, std::bit_cast<std::uint64_t>(x));
  return hash;
}

class EvidenceRows {
 public:
  struct Section {
    std::size_t pattern;
    std::vector<std::size_t> rows;  // no two the same
  };

  EvidenceRows(const Schema& schema, const EvidenceView& evidence);

  std::size_t n_distinct() const noexcept { return n_distinct_; }
  std::size_t original(std::size_t row) const noexcept { return original_[row]; }
  std::uint64_t hash(std::size_t row) const noexcept { return hashes_[row]; }
  const std::vector<Section>& sections() const noexcept { return sections_; }

 private:
  static constexpr std::size_t kSectionRows = 64;

  std::vector<std::uint64_t> hashes_;
  std::vector<std::size_t> original_;  // the first row with the same evidence
  std::size_t n_distinct_ = 0;
  std::vector<Section> sections_;
};

inline EvidenceRows::EvidenceRows(const Schema& schema, const EvidenceView& evidence) {
  const std::size_t n_variables = schema.n_variables();
  const std::size_t n_rows = evidence.codes.size() / n_variables;
  const std::size_t n_soft = evidence.log_likelihoods.size() / std::max<std::size_t>(1, n_rows);
  const auto same = [&](std::size_t a, std::size_t b) {
    return std::ranges::equal(evidence.codes.subspan(a * n_variables, n_variables),
                              evidence.codes.subspan(b * n_variables, n_variables)) &&
           std::ranges::equal(evidence.log_likelihoods.subspan(a * n_soft, n_soft),
                              evidence.log_likelihoods.subspan(b * n_soft, n_soft));
  };
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> by_hash;
  for (std::size_t r = 0; r < n_rows; ++r) {
    hashes_.push_back(hash_evidence(schema, evidence, r));
    auto& candidates = by_hash[hashes_[r]];
    const auto twin = std::ranges::find_if(candidates, [&](std::size_t q) { return same(q, r); });
    original_.push_back(twin == candidates.end() ? r : *twin);
    if (twin != candidates.end()) continue;
    candidates.push_back(r);
    ++n_distinct_;
  }
  std::size_t pattern = 0;
  for (auto& rows : rows_by_pattern(n_variables, evidence.codes)) {
    std::erase_if(rows, [&](std::size_t r) { return original_[r] != r; });
    for (std::size_t first = 0; first < rows.size(); first += kSectionRows) {
      const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(first);
      const std::size_t here = std::min(kSectionRows, rows.size() - first);
      sections_.push_back({pattern, {begin, begin + static_cast<std::ptrdiff_t>(here)}});
    }
    ++pattern;
  }
}

}  // namespace feldspar
