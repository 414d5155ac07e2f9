// The states of several Markov chains over one row's hidden variables, side by side, and with each
// what it takes to read the scores of ConditionalScores at once: the places in its tables, the
// counts of its counted parts. A change of a variable updates what depends on it and no more.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <feldspar/base/bits.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/infer/conditional_scores.hpp>

namespace feldspar {

// Starts with every variable at value 0.
class Chains {
 public:
  Chains(const ConditionalScores& scores, std::size_t n_chains);

  std::size_t size() const noexcept { return n_chains_; }

  Value value(std::size_t h, std::size_t chain) const noexcept {
    return states_[h * n_chains_ + chain];
  }

  // For a variable whose table has probabilities: an entry of it.
  const double* probabilities(const ConditionalScores::Local& local,
                              std::size_t chain) const noexcept {
    const auto& table = scores_->tables(local)[0];
    return scores_->entries() + table.offset + index(table, chain) * local.width;
  }

  // The same of a binary variable in all chains.
  void probabilities(const ConditionalScores::Local& local, double* out) const noexcept {
    const auto& table = scores_->tables(local)[0];
    const double* entries = scores_->entries() + table.offset;
    const std::uint16_t* indexes = indexes_.data() + table.slot;
    for (std::size_t c = 0; c < n_chains_; ++c) out[c] = entries[indexes[c * n_slots_]];
  }

  // For other binary variables, score(h, 1) - score(h, 0) in all chains.
  void margins(const ConditionalScores::Local& local, double* out) const noexcept {
    const auto tables = scores_->tables(local);
    const double* entries = scores_->entries();
    const std::uint16_t* indexes = indexes_.data();
    const double* wide = wide_.data() + local.wide_offset;
    for (std::size_t c = 0; c < n_chains_; ++c) {
      double sum = local.unary_margin;
      if (local.is_counted) sum += wide[c * scores_->n_wide_numbers()];
      for (const auto& table : tables) sum += entries[table.offset + indexes[table.slot]];
      indexes += n_slots_;
      out[c] = sum;
    }
  }

  // For any variable without a table of probabilities: all scores, less the unary parts.
  void scores(const ConditionalScores::Local& local, std::size_t chain, double* out) const noexcept;

  void assign(std::size_t h, std::size_t chain, Value value) noexcept;

  // A binary variable in all chains, at most 64: a bit each; bits beyond are not looked at.
  void assign_bits(std::size_t h, Word ones) noexcept {
    Value* states = states_.data() + h * n_chains_;
    Word before = 0;
    for (std::size_t c = 0; c < n_chains_; ++c) before |= Word{states[c]} << c;
    for (Word changed = (before ^ ones) & tail_mask(n_chains_); changed != 0;
         changed &= changed - 1) {
      const auto c = static_cast<std::size_t>(std::countr_zero(changed));
      const Value value = (ones >> c) & 1;
      states[c] = value;
      flip(scores_->flips(h, 0), c);
      if (scores_->local(h).is_counted) update_counters(h, c, value ^ 1, value);
    }
  }

 private:
  struct Counter {
    std::uint32_t unsatisfied;
    std::uint32_t positions;  // of the unsatisfied tests: their exclusive or
  };

  std::size_t index(const ConditionalScores::Table& table, std::size_t chain) const noexcept {
    return indexes_[chain * n_slots_ + table.slot];
  }
  void flip(std::span<const ConditionalScores::Flip> flips, std::size_t chain) noexcept {
    std::uint16_t* indexes = indexes_.data() + chain * n_slots_;
    for (const auto& f : flips) {
      std::uint16_t* place = indexes + f.word * ConditionalScores::kSlotsPerWord;
      Word word;
      std::memcpy(&word, place, sizeof word);
      word ^= f.mask;
      std::memcpy(place, &word, sizeof word);
    }
  }
  void update_counters(std::size_t h, std::size_t chain, Value before, Value after) noexcept;
  void add_to(const ConditionalScores::CountedTest& test, double* sums, double weight) noexcept;

  const ConditionalScores* scores_;
  std::size_t n_chains_, n_slots_;
  std::vector<Value> states_;           // [variable][chain]
  std::vector<std::uint16_t> indexes_;  // [chain][slot]
  std::vector<Counter> counters_;       // [chain][counted part]
  std::vector<double> wide_;            // [chain][number]
};

inline Chains::Chains(const ConditionalScores& scores, std::size_t n_chains)
    : scores_(&scores),
      n_chains_(n_chains),
      n_slots_(scores.n_words() * ConditionalScores::kSlotsPerWord),
      states_(scores.n_variables() * n_chains, 0),
      indexes_(n_chains * n_slots_, 0),
      counters_(n_chains * scores.n_counted(), Counter{0, 0}),
      wide_(n_chains * scores.n_wide_numbers(), 0.0) {
  for (std::size_t c = 0; c < n_chains; ++c)
    for (std::size_t p = 0; p < scores.n_counted(); ++p) {
      Counter& counter = counters_[c * scores.n_counted() + p];
      const auto tests = scores.counted_tests(p);
      for (std::uint32_t i = 0; i < tests.size(); ++i)
        if (!scores.features().admits(tests[i].values, 0)) {
          ++counter.unsatisfied;
          counter.positions ^= i;
        }
      double* sums = wide_.data() + c * scores.n_wide_numbers();
      for (std::uint32_t i = 0; i < tests.size(); ++i)
        if (counter.unsatisfied == 0 || (counter.unsatisfied == 1 && counter.positions == i))
          add_to(tests[i], sums, scores.counted_weight(p));
    }
}

inline void Chains::scores(const ConditionalScores::Local& local, std::size_t chain,
                           double* out) const noexcept {
  if (local.width == 1) {
    out[0] = 0;
    out[1] = local.is_counted ? wide_[chain * scores_->n_wide_numbers() + local.wide_offset] : 0.0;
    for (const auto& table : scores_->tables(local))
      out[1] += scores_->entries()[table.offset + index(table, chain)];
    return;
  }
  const double* wide = wide_.data() + chain * scores_->n_wide_numbers() + local.wide_offset;
  for (std::size_t a = 0; a < local.width; ++a) out[a] = local.is_counted ? wide[a] : 0.0;
  for (const auto& table : scores_->tables(local)) {
    const double* entry = scores_->entries() + table.offset + index(table, chain) * local.width;
    for (std::size_t a = 0; a < local.width; ++a) out[a] += entry[a];
  }
}

inline void Chains::assign(std::size_t h, std::size_t chain, Value value) noexcept {
  Value& state = states_[h * n_chains_ + chain];
  const Value before = state;
  if (before == value) return;
  state = value;
  for (auto changed = static_cast<unsigned>(before ^ value); changed != 0; changed &= changed - 1)
    flip(scores_->flips(h, static_cast<std::size_t>(std::countr_zero(changed))), chain);
  if (scores_->local(h).is_counted) update_counters(h, chain, before, value);
}

inline void Chains::add_to(const ConditionalScores::CountedTest& test, double* sums,
                           double weight) noexcept {
  const auto& local = scores_->local(test.variable);
  const auto values = scores_->features().values(test.values);
  if (local.width == 1) {
    sums[local.wide_offset] += values[0] == 1 ? weight : -weight;
    return;
  }
  for (const Value a : values) sums[local.wide_offset + a] += weight;
}

inline void Chains::update_counters(std::size_t h, std::size_t chain, Value before,
                                    Value after) noexcept {
  double* sums = wide_.data() + chain * scores_->n_wide_numbers();
  Counter* counters = counters_.data() + chain * scores_->n_counted();
  const auto admits = [&](const ConditionalScores::Occurrence& o, Value a) {
    if (o.only != ConditionalScores::kSeveral) return o.only == a;
    return scores_->features().admits(scores_->counted_tests(o.part)[o.position].values, a);
  };
  for (const auto& o : scores_->occurrences(h)) {
    const bool holds = admits(o, after);
    if (holds == admits(o, before)) continue;
    Counter& counter = counters[o.part];
    if (holds) {
      --counter.unsatisfied;
      counter.positions ^= o.position;
    }
    // Without the test of h: a part that holds, or is one short, counts in the scores of the others,
    // or of the one.
    const double weight =
        holds ? scores_->counted_weight(o.part) : -scores_->counted_weight(o.part);
    if (counter.unsatisfied == 0) {
      const auto tests = scores_->counted_tests(o.part);
      for (std::uint32_t i = 0; i < tests.size(); ++i)
        if (i != o.position) add_to(tests[i], sums, weight);
    } else if (counter.unsatisfied == 1) {
      add_to(scores_->counted_tests(o.part)[counter.positions], sums, weight);
    }
    if (!holds) {
      ++counter.unsatisfied;
      counter.positions ^= o.position;
    }
  }
}

}  // namespace feldspar
