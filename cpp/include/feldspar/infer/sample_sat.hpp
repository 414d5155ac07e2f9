// Uniform draws from the solutions of a constraint problem: what each step of MC-SAT needs.
//
// A problem gives each variable a set of admitted values, its domain, and forbids some conjunctions
// of tests: at least one test of each must fail. It comes with a state that solves it.
//
// Tests that can no longer fail drop out of a forbidden conjunction and tests that can no longer
// hold make it harmless; where a single test is left its values leave the domain, and so on until
// nothing changes. What remains falls into components that share no variable, and each is drawn by
// itself:
//
// - a variable that is alone: uniformly from its domain;
// - by rejection, from up to kRejections uniform states: exactly uniform;
// - if none was a solution and there are at most `max_enumerated` states: from the list of all
//   solutions, exactly uniform too;
// - else by SampleSAT (Wei, Erenrich and Selman 2004), only nearly uniform: from a random state,
//   moves of WalkSAT (change a variable of a violated conjunction) mixed with moves of simulated
//   annealing at a fixed temperature (change any variable, more violations being accepted with
//   probability exp(-increase / temperature)) until a solution is reached, or back to the state that
//   it came with if `max_moves` do not get there; then a draw of each variable in turn from the
//   values that keep it a solution, which leaves uniform solutions uniform.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/random.hpp>
#include <feldspar/base/types.hpp>

namespace feldspar {

struct SampleSatOptions {
  double walk_probability = 0.5;  // of a WalkSAT move; else one of annealing
  double walk_noise = 0.5;        // of a WalkSAT move to a random variable; else to the best
  double temperature = 0.5;       // of annealing, in violated conjunctions
  int max_moves = 10000;          // of SampleSAT, for one component
  int max_enumerated = 4096;      // states of a component whose solutions may be listed

  void check() const {
    require(walk_probability > 0 && walk_probability <= 1,
            "walk_probability must be above 0 and at most 1, got ", walk_probability);
    require(walk_noise >= 0 && walk_noise <= 1, "walk_noise must be from 0 to 1, got ", walk_noise);
    require(temperature > 0, "temperature must be positive, got ", temperature);
    require(max_moves >= 0, "max_moves must not be negative, got ", max_moves);
    require(max_enumerated >= 0, "max_enumerated must not be negative, got ", max_enumerated);
  }
};

// Domains and forbidden conjunctions; begun anew for each draw, so that storage is reused.
class ConstraintProblem {
 public:
  struct Literal {
    std::uint32_t variable;
    std::uint32_t offset;  // of its admitted values in the table of sets
  };

  explicit ConstraintProblem(std::span<const Value> cardinalities)
      : cardinalities_(cardinalities.begin(), cardinalities.end()) {
    offsets_.push_back(0);
    for (const Value c : cardinalities_) offsets_.push_back(offsets_.back() + c);
  }

  void begin() {
    domains_.assign(offsets_.back(), 1);
    sizes_.assign(cardinalities_.begin(), cardinalities_.end());
    literals_.clear();
    literal_begin_.assign(1, 0);
    sets_.clear();
  }

  // Takes a value out of a variable's domain.
  void exclude(std::size_t variable, Value value) {
    std::uint8_t& admitted = domains_[offsets_[variable] + value];
    sizes_[variable] = static_cast<Value>(sizes_[variable] - admitted);
    admitted = 0;
  }

  // The test that the variable takes one of `values` joins the conjunction that is being made.
  void add_test(std::size_t variable, std::span<const Value> values) {
    literals_.push_back(
        {static_cast<std::uint32_t>(variable), static_cast<std::uint32_t>(sets_.size())});
    sets_.resize(sets_.size() + cardinalities_[variable], 0);
    for (const Value a : values) sets_[literals_.back().offset + a] = 1;
  }
  void forbid() { literal_begin_.push_back(literals_.size()); }

  std::size_t n_variables() const noexcept { return cardinalities_.size(); }
  std::size_t n_forbidden() const noexcept { return literal_begin_.size() - 1; }
  std::span<const Literal> forbidden(std::size_t k) const noexcept {
    return {literals_.data() + literal_begin_[k], literal_begin_[k + 1] - literal_begin_[k]};
  }
  Value cardinality(std::size_t v) const noexcept { return cardinalities_[v]; }
  Value domain_size(std::size_t v) const noexcept { return sizes_[v]; }
  bool admits(std::size_t v, std::size_t a) const noexcept {
    return domains_[offsets_[v] + a] != 0;
  }
  bool holds(const Literal& test, std::size_t a) const noexcept {
    return sets_[test.offset + a] != 0;
  }

 private:
  std::vector<Value> cardinalities_;
  std::vector<std::size_t> offsets_;
  std::vector<std::uint8_t> domains_;  // by value of each variable
  std::vector<Value> sizes_;
  std::vector<Literal> literals_;
  std::vector<std::size_t> literal_begin_{0};
  std::vector<std::uint8_t> sets_;
};

class SampleSat {
 public:
  SampleSat(const SampleSatOptions& options, std::size_t n_variables)
      : options_(options), occurrences_(n_variables), component_of_(n_variables) {}

  // Replaces a solution by a uniform one (see above for how nearly). Domains of the problem shrink.
  void draw(ConstraintProblem& problem, std::span<Value> state, Random& random);

 private:
  static constexpr int kRejections = 64;

  struct Clause {
    std::size_t first, last;  // of its tests
  };

  void propagate(ConstraintProblem& problem);
  bool reduce(ConstraintProblem& problem, std::size_t k);
  void find_components(const ConstraintProblem& problem);
  void draw_component(const ConstraintProblem& problem, std::span<Value> state, Random& random);
  Value draw_value(const ConstraintProblem& problem, std::size_t v, Random& random) const;
  bool violated(const ConstraintProblem& problem, const Clause& clause,
                std::span<const Value> state) const;
  bool solved(const ConstraintProblem& problem, std::span<const Value> state) const;
  bool draw_by_rejection(const ConstraintProblem& problem, std::span<Value> state, Random& random);
  bool draw_from_list(const ConstraintProblem& problem, std::span<Value> state, Random& random);
  void draw_by_moves(const ConstraintProblem& problem, std::span<Value> state, Random& random);
  void start_moves(const ConstraintProblem& problem, std::span<Value> state, Random& random);
  void stir(const ConstraintProblem& problem, std::span<Value> state, Random& random);
  int increase(const ConstraintProblem& problem, std::span<Value> state, std::size_t v, Value a);
  void move(const ConstraintProblem& problem, std::span<Value> state, std::size_t v, Value a);
  void walk(const ConstraintProblem& problem, std::span<Value> state, Random& random);
  void anneal(const ConstraintProblem& problem, std::span<Value> state, Random& random);

  SampleSatOptions options_;
  std::vector<std::vector<std::uint32_t>> occurrences_;  // by variable: forbidden conjunctions
  std::vector<std::uint8_t> settled_;                    // conjunctions that cannot hold any more
  std::vector<std::size_t> queue_;
  std::vector<ConstraintProblem::Literal> tests_;  // of the clauses, those that may fail
  std::vector<Clause> clauses_;                    // of all components
  std::vector<std::size_t> component_of_;
  std::vector<std::size_t> variables_;                  // of one component,
  std::vector<std::size_t> own_;                        // and its clauses
  std::vector<std::vector<std::uint32_t>> clauses_of_;  // by variable
  std::vector<std::size_t> violated_;                   // clauses,
  std::vector<std::size_t> violated_place_;             // by clause: place in that list, or none
};

inline void SampleSat::draw(ConstraintProblem& problem, std::span<Value> state, Random& random) {
  propagate(problem);
  find_components(problem);
  // Components in the order of their first variables.
  std::vector<std::vector<std::size_t>> members(problem.n_variables()), own(problem.n_variables());
  for (std::size_t v = 0; v < problem.n_variables(); ++v) members[component_of_[v]].push_back(v);
  for (std::size_t k = 0; k < clauses_.size(); ++k)
    own[component_of_[tests_[clauses_[k].first].variable]].push_back(k);
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i].empty()) continue;
    variables_.swap(members[i]);
    own_.swap(own[i]);
    draw_component(problem, state, random);
  }
}

// Unit propagation. Never empties a domain: the state that comes with the problem solves it.
inline void SampleSat::propagate(ConstraintProblem& problem) {
  for (auto& list : occurrences_) list.clear();
  settled_.assign(problem.n_forbidden(), 0);
  queue_.clear();
  for (std::size_t k = 0; k < problem.n_forbidden(); ++k) {
    for (const auto& test : problem.forbidden(k))
      occurrences_[test.variable].push_back(static_cast<std::uint32_t>(k));
    queue_.push_back(k);
  }
  while (!queue_.empty()) {
    const std::size_t k = queue_.back();
    queue_.pop_back();
    if (settled_[k] == 0 && reduce(problem, k)) settled_[k] = 1;
  }
  tests_.clear();
  clauses_.clear();
  for (std::size_t k = 0; k < problem.n_forbidden(); ++k) {
    if (settled_[k] != 0) continue;
    const std::size_t first = tests_.size();
    for (const auto& test : problem.forbidden(k))
      for (std::size_t a = 0; a < problem.cardinality(test.variable); ++a)
        if (problem.admits(test.variable, a) && !problem.holds(test, a)) {
          tests_.push_back(test);
          break;
        }
    clauses_.push_back({first, tests_.size()});
  }
}

// True if conjunction k cannot hold any more, perhaps because values have just been excluded.
inline bool SampleSat::reduce(ConstraintProblem& problem, std::size_t k) {
  const ConstraintProblem::Literal* only = nullptr;
  int open = 0;
  for (const auto& test : problem.forbidden(k)) {
    bool can_hold = false, can_fail = false;
    for (std::size_t a = 0; a < problem.cardinality(test.variable); ++a)
      if (problem.admits(test.variable, a)) (problem.holds(test, a) ? can_hold : can_fail) = true;
    if (!can_hold) return true;
    if (can_fail) {
      only = &test;
      ++open;
    }
  }
  if (open != 1) return false;
  for (std::size_t a = 0; a < problem.cardinality(only->variable); ++a)
    if (problem.holds(*only, a)) problem.exclude(only->variable, static_cast<Value>(a));
  for (const std::uint32_t other : occurrences_[only->variable]) queue_.push_back(other);
  return true;
}

inline void SampleSat::find_components(const ConstraintProblem& problem) {
  std::iota(component_of_.begin(), component_of_.end(), std::size_t{0});
  const auto root = [&](std::size_t v) {
    while (component_of_[v] != v) v = component_of_[v] = component_of_[component_of_[v]];
    return v;
  };
  for (const Clause& clause : clauses_)
    for (std::size_t t = clause.first + 1; t < clause.last; ++t) {
      const std::size_t a = root(tests_[clause.first].variable), b = root(tests_[t].variable);
      component_of_[std::max(a, b)] = std::min(a, b);
    }
  for (std::size_t v = 0; v < problem.n_variables(); ++v) component_of_[v] = root(v);
}

inline Value SampleSat::draw_value(const ConstraintProblem& problem, std::size_t v,
                                   Random& random) const {
  auto rest = random.below(problem.domain_size(v));
  for (Value a = 0;; ++a)
    if (problem.admits(v, a) && rest-- == 0) return a;
}

inline void SampleSat::draw_component(const ConstraintProblem& problem, std::span<Value> state,
                                      Random& random) {
  if (draw_by_rejection(problem, state, random) || draw_from_list(problem, state, random)) return;
  draw_by_moves(problem, state, random);
}

inline bool SampleSat::violated(const ConstraintProblem& problem, const Clause& clause,
                                std::span<const Value> state) const {
  for (std::size_t t = clause.first; t < clause.last; ++t)
    if (!problem.holds(tests_[t], state[tests_[t].variable])) return false;
  return true;
}

inline bool SampleSat::solved(const ConstraintProblem& problem,
                              std::span<const Value> state) const {
  return std::ranges::none_of(own_,
                              [&](std::size_t k) { return violated(problem, clauses_[k], state); });
}

// On failure the state is left as it came.
inline bool SampleSat::draw_by_rejection(const ConstraintProblem& problem, std::span<Value> state,
                                         Random& random) {
  std::vector<Value> before;
  for (const std::size_t v : variables_) before.push_back(state[v]);
  for (int i = 0; i < kRejections; ++i) {
    for (const std::size_t v : variables_) state[v] = draw_value(problem, v, random);
    if (solved(problem, state)) return true;
  }
  for (std::size_t i = 0; i < variables_.size(); ++i) state[variables_[i]] = before[i];
  return false;
}

inline bool SampleSat::draw_from_list(const ConstraintProblem& problem, std::span<Value> state,
                                      Random& random) {
  std::size_t n_states = 1;
  const auto most = static_cast<std::size_t>(options_.max_enumerated);
  for (const std::size_t v : variables_) {
    n_states *= problem.domain_size(v);
    if (n_states > most) return false;
  }
  std::vector<std::vector<Value>> domains;
  for (const std::size_t v : variables_) {
    domains.emplace_back();
    for (Value a = 0; a < problem.cardinality(v); ++a)
      if (problem.admits(v, a)) domains.back().push_back(a);
  }
  const auto set_state = [&](std::size_t number) {
    for (std::size_t i = 0; i < variables_.size(); ++i) {
      state[variables_[i]] = domains[i][number % domains[i].size()];
      number /= domains[i].size();
    }
  };
  std::vector<std::size_t> solutions;
  for (std::size_t number = 0; number < n_states; ++number) {
    set_state(number);
    if (solved(problem, state)) solutions.push_back(number);
  }
  set_state(solutions[random.below(solutions.size())]);
  return true;
}

// How many more clauses are violated with v at value a.
inline int SampleSat::increase(const ConstraintProblem& problem, std::span<Value> state,
                               std::size_t v, Value a) {
  const Value before = state[v];
  int change = 0;
  for (const std::uint32_t k : clauses_of_[v]) change -= violated(problem, clauses_[k], state);
  state[v] = a;
  for (const std::uint32_t k : clauses_of_[v]) change += violated(problem, clauses_[k], state);
  state[v] = before;
  return change;
}

inline void SampleSat::move(const ConstraintProblem& problem, std::span<Value> state, std::size_t v,
                            Value a) {
  constexpr std::size_t kNone = ~std::size_t{0};
  state[v] = a;
  for (const std::uint32_t k : clauses_of_[v]) {
    const bool now = violated(problem, clauses_[k], state);
    if (now == (violated_place_[k] != kNone)) continue;
    if (now) {
      violated_place_[k] = violated_.size();
      violated_.push_back(k);
    } else {
      violated_[violated_place_[k]] = violated_.back();
      violated_place_[violated_.back()] = violated_place_[k];
      violated_place_[k] = kNone;
      violated_.pop_back();
    }
  }
}

// Makes a test of a violated conjunction fail.
inline void SampleSat::walk(const ConstraintProblem& problem, std::span<Value> state,
                            Random& random) {
  const Clause& clause = clauses_[violated_[random.below(violated_.size())]];
  std::vector<std::pair<std::size_t, Value>> moves;
  for (std::size_t t = clause.first; t < clause.last; ++t)
    for (Value a = 0; a < problem.cardinality(tests_[t].variable); ++a)
      if (problem.admits(tests_[t].variable, a) && !problem.holds(tests_[t], a))
        moves.emplace_back(tests_[t].variable, a);
  auto best = moves[random.below(moves.size())];
  if (random.uniform() >= options_.walk_noise) {
    int least = increase(problem, state, best.first, best.second);
    for (const auto& [v, a] : moves)
      if (const int change = increase(problem, state, v, a); change < least) {
        best = {v, a};
        least = change;
      }
  }
  move(problem, state, best.first, best.second);
}

inline void SampleSat::anneal(const ConstraintProblem& problem, std::span<Value> state,
                              Random& random) {
  const std::size_t v = variables_[random.below(variables_.size())];
  const Value a = draw_value(problem, v, random);
  if (a == state[v]) return;
  const int change = increase(problem, state, v, a);
  if (change <= 0 || random.uniform() < std::exp(-change / options_.temperature))
    move(problem, state, v, a);
}

inline void SampleSat::start_moves(const ConstraintProblem& problem, std::span<Value> state,
                                   Random& random) {
  clauses_of_.assign(problem.n_variables(), {});
  violated_.clear();
  violated_place_.assign(clauses_.size(), ~std::size_t{0});
  for (const std::size_t v : variables_) state[v] = draw_value(problem, v, random);
  for (const std::size_t k : own_) {
    for (std::size_t t = clauses_[k].first; t < clauses_[k].last; ++t)
      clauses_of_[tests_[t].variable].push_back(static_cast<std::uint32_t>(k));
    if (!violated(problem, clauses_[k], state)) continue;
    violated_place_[k] = violated_.size();
    violated_.push_back(k);
  }
}

inline void SampleSat::draw_by_moves(const ConstraintProblem& problem, std::span<Value> state,
                                     Random& random) {
  std::vector<Value> before;
  for (const std::size_t v : variables_) before.push_back(state[v]);
  start_moves(problem, state, random);
  for (int i = 0; i < options_.max_moves && !violated_.empty(); ++i) {
    if (random.uniform() < options_.walk_probability)
      walk(problem, state, random);
    else
      anneal(problem, state, random);
  }
  if (!violated_.empty())
    for (std::size_t i = 0; i < variables_.size(); ++i) state[variables_[i]] = before[i];
  stir(problem, state, random);
}

inline void SampleSat::stir(const ConstraintProblem& problem, std::span<Value> state,
                            Random& random) {
  std::vector<Value> allowed;
  for (const std::size_t v : variables_) {
    allowed.clear();
    for (Value a = 0; a < problem.cardinality(v); ++a)
      if (problem.admits(v, a) && increase(problem, state, v, a) == 0) allowed.push_back(a);
    state[v] = allowed[random.below(allowed.size())];
  }
}

}  // namespace feldspar
