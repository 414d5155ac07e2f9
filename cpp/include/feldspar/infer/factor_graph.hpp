// A network as a factor graph for message passing.
//
// Features become factors so that messages are cheap and few loops arise:
// - a feature of one test is part of its variable's own potential;
// - two or more features on the same two variables make one *table*, so that a network without
//   cycles is a graph without cycles; so do features on the same three or four variables, together
//   with those on some of them, where the table is not larger than the conjunctions it replaces;
// - all others stay conjunctions: a feature of k tests has k numbers, never a table.
//
// A FactorLayout says which feature goes where; it is made once for a feature set. A FactorGraph is a
// layout with weights, less what has weight 0: O(active tests) to make, for each row of evidence.
// It is ordered for speed: four factors of the same length lie side by side in a *pack*, their
// literals and messages interleaved, and are worked on as one. Tables over binary variables are
// packed too, as their messages are single numbers.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include <feldspar/base/hash.hpp>
#include <feldspar/base/pack.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/schema.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/infer/literals.hpp>
#include <feldspar/infer/table_box.hpp>

namespace feldspar {

inline constexpr std::uint32_t kNoMember = ~std::uint32_t{0};

// Tables over up to this many binary variables are packed.
inline constexpr std::size_t kMaxPackedVariables = 4;

namespace detail {

// The features of two or more tests, by the set of variables that they test.
class ScopeIndex {
 public:
  explicit ScopeIndex(const FeatureSet& features) : features_(features) {
    std::vector<Variable> scope;
    for (FeatureId j = 0; j < features.size(); ++j) {
      if (features[j].size() < 2) continue;
      scope.clear();
      for (const Test test : features[j]) scope.push_back(test.variable);
      std::uint64_t hash = hash_sequence(std::span<const Variable>(scope));
      const auto known = locate(scope, hash);
      if (!known) {
        place_.emplace(hash, members_.size());
        members_.emplace_back();
      }
      members_[known.value_or(members_.size() - 1)].push_back(j);
    }
  }

  // Groups of features in the order of their first ones.
  const std::vector<std::vector<FeatureId>>& groups() const noexcept { return members_; }

  std::optional<std::size_t> find(std::span<const Variable> scope) const {
    std::uint64_t hash = hash_sequence(scope);
    return locate(scope, hash);
  }

 private:
  // Different scopes of equal hash sit at the following ones; `hash` ends where the search does.
  std::optional<std::size_t> locate(std::span<const Variable> scope, std::uint64_t& hash) const {
    for (auto at = place_.find(hash); at != place_.end(); at = place_.find(++hash))
      if (std::ranges::equal(features_[members_[at->second].front()], scope, {}, &Test::variable))
        return at->second;
    return std::nullopt;
  }

  const FeatureSet& features_;
  std::vector<std::vector<FeatureId>> members_;
  std::unordered_map<std::uint64_t, std::size_t> place_;
};

}  // namespace detail

// A factor that is a table over a few variables, and the features that add up to it.
struct TableLayout {
  std::vector<Variable> variables;  // ascending, the last one fastest
  std::size_t n_entries = 1;
  std::vector<FeatureId> features;
  std::vector<TableBox> boxes;  // where each of them holds
};

class FactorLayout {
 public:
  explicit FactorLayout(const FeatureSet& features)
      : features_(features), literals_(features), offsets_(value_offsets(features.schema())) {
    const detail::ScopeIndex scopes(features_);
    std::vector<bool> in_table(features.size(), false);
    choose_tables(scopes, in_table);
    for (FeatureId j = 0; j < features.size(); ++j) {
      if (features[j].size() == 1) unaries_.push_back(j);
      if (features[j].size() >= 2 && !in_table[j]) conjunctions_.push_back(j);
    }
    std::ranges::stable_sort(conjunctions_, {}, [&](FeatureId j) { return features_[j].size(); });
  }

  const FeatureSet& features() const noexcept { return features_; }
  const Schema& schema() const noexcept { return features_.schema(); }
  const Literals& literals() const noexcept { return literals_; }
  const std::vector<std::size_t>& offsets() const noexcept { return offsets_; }

  const std::vector<FeatureId>& unaries() const noexcept { return unaries_; }
  const std::vector<FeatureId>& conjunctions() const noexcept {
    return conjunctions_;
  }  // by length
  const std::vector<TableLayout>& tables() const noexcept { return tables_; }

 private:
  // Tables of more variables would rarely be smaller than the conjunctions in them.
  static constexpr std::size_t kMaxTableVariables = kMaxPackedVariables;
  static constexpr std::size_t kMaxTableEntries = 256;
  // Several features on two variables must not make a cycle, so for them tables may be larger.
  static constexpr std::size_t kMaxPairEntries = std::size_t{1} << 16;

  void choose_tables(const detail::ScopeIndex& scopes, std::vector<bool>& in_table);
  bool worth_a_table(const TableLayout& table) const;

  FeatureSet features_;
  Literals literals_;
  std::vector<std::size_t> offsets_;
  std::vector<FeatureId> unaries_, conjunctions_;
  std::vector<TableLayout> tables_;
};

inline bool FactorLayout::worth_a_table(const TableLayout& table) const {
  if (table.features.size() < 2) return false;
  if (table.variables.size() == 2) return table.n_entries <= kMaxPairEntries;
  std::size_t n_tests = 0;
  for (const FeatureId j : table.features) n_tests += features_[j].size();
  return table.n_entries <= std::min(kMaxTableEntries, 2 * n_tests);
}

// From the largest scopes to the smallest: a table takes in all that lies within it.
inline void FactorLayout::choose_tables(const detail::ScopeIndex& scopes,
                                        std::vector<bool>& in_table) {
  const auto& groups = scopes.groups();
  const auto length = [&](std::size_t g) { return features_[groups[g].front()].size(); };
  std::vector<std::size_t> order(groups.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t g) { return length(g) > kMaxTableVariables; });
  std::ranges::stable_sort(order, std::greater{}, length);
  std::vector<Variable> part;
  for (const std::size_t g : order) {
    if (in_table[groups[g].front()]) continue;
    TableLayout table;
    for (const Test test : features_[groups[g].front()]) {
      table.variables.push_back(test.variable);
      table.n_entries *= features_.schema().cardinality(test.variable);
    }
    for (std::size_t mask = 1; mask < std::size_t{1} << table.variables.size(); ++mask) {
      part.clear();
      for (std::size_t i = 0; i < table.variables.size(); ++i)
        if (mask >> i & 1) part.push_back(table.variables[i]);
      const auto found = part.size() < 2 ? std::nullopt : scopes.find(part);
      if (found && !in_table[groups[*found].front()])
        table.features.insert(table.features.end(), groups[*found].begin(), groups[*found].end());
    }
    if (!worth_a_table(table)) continue;
    std::ranges::sort(table.features);
    for (const FeatureId j : table.features) {
      in_table[j] = true;
      table.boxes.push_back(table_box(features_, j, table.variables));
    }
    tables_.push_back(std::move(table));
  }
}

// Four factors of the same length, side by side.
struct FactorPack {
  enum class Kind : std::uint8_t {
    conjunction,
    strong_conjunction,  // of a weight whose exponential leaves the range of a double
    table,               // over binary variables; literals: "is 1" of each
  };
  Kind kind;
  std::uint32_t length;           // literals of each factor
  std::uint32_t n_factors;        // of the four that are real
  std::size_t first_edge;         // edge i of lane l is at 4 (first_edge + i) + l
  std::size_t first_coefficient;  // coefficient c of lane l is at first_coefficient + 4 c + l
};

// Conjunction: the factor is exp(kWeight) where all tests hold and 1 elsewhere, that is
// exp(kShift) times kYes where they hold and kNo elsewhere, both at most 1.
// Table over k binary variables: exp(coefficient 0) times one of the next 2^k, whose logarithms are the
// 2^k after these.
enum ConjunctionCoefficient : std::size_t { kYes, kNo, kShift, kWeight, kConjunctionCoefficients };

constexpr std::size_t table_coefficients(std::size_t length) noexcept {
  return 1 + 2 * (std::size_t{1} << length);
}

struct TableFactor {
  const TableLayout* layout;
  std::size_t first_entry;    // of its log-potentials, and of their exponentials if `plain`
  std::size_t first_message;  // of its messages: the values of its variables, end to end
  bool plain;                 // exponentials relative to the largest do not leave their range
};

class FactorGraph {
 public:
  // Keeps a reference to `layout`; one weight for each of its features.
  FactorGraph(const FactorLayout& layout, std::span<const double> weights) : layout_(layout) {
    add_unaries(weights);
    add_conjunctions(weights, FactorPack::Kind::conjunction);
    add_conjunctions(weights, FactorPack::Kind::strong_conjunction);
    add_tables(weights);
  }

  const FactorLayout& layout() const noexcept { return layout_; }
  const Schema& schema() const noexcept { return layout_.schema(); }
  const std::vector<double>& unary() const noexcept { return unary_; }
  const std::vector<FactorPack>& packs() const noexcept { return packs_; }
  // What lane l of pack p is, at 4 p + l: a conjunction's feature, or the place of a table in the
  // layout's; kNoMember for empty lanes.
  const std::vector<std::uint32_t>& members() const noexcept { return members_; }
  // Empty lanes have the literal literals().size(), which is none.
  const std::vector<LiteralId>& edge_literals() const noexcept { return edge_literals_; }
  const std::vector<double>& coefficients() const noexcept { return coefficients_; }
  const std::vector<TableFactor>& tables() const noexcept { return tables_; }
  const std::vector<double>& log_entries() const noexcept { return log_entries_; }
  const std::vector<double>& entries() const noexcept { return entries_; }
  std::size_t n_table_messages() const noexcept { return n_table_messages_; }
  std::size_t n_factors() const noexcept { return n_factors_; }
  // Messages from factors to variables; those of tables count as many as the variable has values.
  std::size_t n_messages() const noexcept { return n_messages_; }
  std::size_t longest() const noexcept { return longest_; }

 private:
  // Exponentials of numbers up to this size can be multiplied by probabilities and added safely.
  static constexpr double kMaxLog = 500;

  void add_unaries(std::span<const double> weights);
  void add_conjunctions(std::span<const double> weights, FactorPack::Kind kind);
  void add_tables(std::span<const double> weights);
  void add_table_pack(std::span<const std::pair<const TableLayout*, std::vector<double>>> tables);
  void add_pack(FactorPack::Kind kind, std::size_t length, std::size_t n_factors,
                std::size_t n_coefficients);

  const FactorLayout& layout_;
  std::vector<double> unary_;
  std::vector<FactorPack> packs_;
  std::vector<std::uint32_t> members_;
  std::vector<LiteralId> edge_literals_;
  std::vector<double> coefficients_;
  std::vector<TableFactor> tables_;
  std::vector<double> log_entries_, entries_;
  std::size_t n_table_messages_ = 0, n_factors_ = 0, n_messages_ = 0, longest_ = 0;
};

inline void FactorGraph::add_unaries(std::span<const double> weights) {
  unary_.assign(layout_.offsets().back(), 0.0);
  for (const FeatureId j : layout_.unaries()) {
    const Test test = layout_.features()[j].front();
    for (const Value a : layout_.features().values(test.values))
      unary_[layout_.offsets()[test.variable] + a] += weights[j];
  }
}

// Lanes start as factors that say nothing: no literal, potential 1.
inline void FactorGraph::add_pack(FactorPack::Kind kind, std::size_t length, std::size_t n_factors,
                                  std::size_t n_coefficients) {
  packs_.push_back({kind, static_cast<std::uint32_t>(length), static_cast<std::uint32_t>(n_factors),
                    edge_literals_.size() / kPackSize, coefficients_.size()});
  members_.resize(members_.size() + kPackSize, kNoMember);
  edge_literals_.resize(edge_literals_.size() + length * kPackSize,
                        static_cast<LiteralId>(layout_.literals().size()));
  coefficients_.resize(coefficients_.size() + n_coefficients * kPackSize, 0.0);
  n_factors_ += n_factors;
  n_messages_ += n_factors * length;
  longest_ = std::max(longest_, length);
}

inline void FactorGraph::add_conjunctions(std::span<const double> weights, FactorPack::Kind kind) {
  const FeatureSet& features = layout_.features();
  const bool strong = kind == FactorPack::Kind::strong_conjunction;
  std::array<FeatureId, kPackSize> waiting{};
  std::size_t n_waiting = 0;
  const auto flush = [&] {
    if (n_waiting == 0) return;
    const std::size_t length = features[waiting[0]].size();
    add_pack(kind, length, n_waiting, kConjunctionCoefficients);
    double* coefficients = coefficients_.data() + packs_.back().first_coefficient;
    for (std::size_t lane = 0; lane < kPackSize; ++lane) {
      const double weight = lane < n_waiting ? weights[waiting[lane]] : 0.0;
      coefficients[kYes * kPackSize + lane] = std::exp(std::min(weight, 0.0));
      coefficients[kNo * kPackSize + lane] = std::exp(-std::max(weight, 0.0));
      coefficients[kShift * kPackSize + lane] = std::max(weight, 0.0);
      coefficients[kWeight * kPackSize + lane] = weight;
    }
    LiteralId* edges = edge_literals_.data() + packs_.back().first_edge * kPackSize;
    for (std::size_t lane = 0; lane < n_waiting; ++lane) {
      members_[members_.size() - kPackSize + lane] = waiting[lane];
      for (std::size_t i = 0; i < length; ++i)
        edges[i * kPackSize + lane] =
            layout_.literals().of_test(features.first_test(waiting[lane]) + i);
    }
    n_waiting = 0;
  };
  for (const FeatureId j : layout_.conjunctions()) {
    if (weights[j] == 0 || (std::abs(weights[j]) > kMaxLog) != strong) continue;
    if (n_waiting == kPackSize ||
        (n_waiting > 0 && features[waiting[0]].size() != features[j].size()))
      flush();
    waiting[n_waiting++] = j;
  }
  flush();
}

inline void FactorGraph::add_tables(std::span<const double> weights) {
  const FeatureSet& features = layout_.features();
  std::vector<double> table;
  std::vector<std::pair<const TableLayout*, std::vector<double>>> packed;
  for (const TableLayout& layout : layout_.tables()) {
    table.assign(layout.n_entries, 0.0);
    bool active = false;
    for (std::size_t i = 0; i < layout.features.size(); ++i)
      if (const double weight = weights[layout.features[i]]; weight != 0) {
        add_to_box(features, layout.boxes[i], weight, table.data());
        active = true;
      }
    if (!active) continue;
    const auto [least, most] = std::ranges::minmax(table);
    const bool plain = most - least <= kMaxLog;
    const bool binary = layout.n_entries == std::size_t{1} << layout.variables.size();
    if (plain && binary) {
      packed.emplace_back(&layout, table);
      continue;
    }
    tables_.push_back({&layout, log_entries_.size(), n_table_messages_, plain});
    for (const double x : table) {
      log_entries_.push_back(x);
      entries_.push_back(std::exp(x - most));
    }
    for (const Variable v : layout.variables) n_table_messages_ += schema().cardinality(v);
    ++n_factors_;
  }
  n_messages_ += n_table_messages_;
  // Layouts come with the longest first, so those of one length are neighbours.
  const auto length = [&](std::size_t i) { return packed[i].first->variables.size(); };
  for (std::size_t first = 0, end = 0; first < packed.size(); first = end) {
    while (end < packed.size() && end - first < kPackSize && length(end) == length(first)) ++end;
    add_table_pack(std::span(packed).subspan(first, end - first));
  }
}

inline void FactorGraph::add_table_pack(
    std::span<const std::pair<const TableLayout*, std::vector<double>>> tables) {
  const std::size_t length = tables[0].first->variables.size(), size = std::size_t{1} << length;
  add_pack(FactorPack::Kind::table, length, tables.size(), table_coefficients(length));
  double* coefficients = coefficients_.data() + packs_.back().first_coefficient;
  LiteralId* edges = edge_literals_.data() + packs_.back().first_edge * kPackSize;
  for (std::size_t lane = 0; lane < kPackSize; ++lane) {
    const bool real = lane < tables.size();
    if (real)
      members_[members_.size() - kPackSize + lane] =
          static_cast<std::uint32_t>(tables[lane].first - layout_.tables().data());
    const double top = real ? std::ranges::max(tables[lane].second) : 0.0;
    coefficients[lane] = top;
    for (std::size_t e = 0; e < size; ++e) {
      const double log_entry = real ? tables[lane].second[e] - top : 0.0;
      coefficients[(1 + e) * kPackSize + lane] = std::exp(log_entry);
      coefficients[(1 + size + e) * kPackSize + lane] = log_entry;
    }
    for (std::size_t i = 0; real && i < length; ++i)
      edges[i * kPackSize + lane] = layout_.literals().first(tables[lane].first->variables[i]) + 1;
  }
}

}  // namespace feldspar
