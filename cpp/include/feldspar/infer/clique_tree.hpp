// Cliques in a tree, with tables: the machinery of exact inference.
//
// The maximal cliques of an elimination order form a forest in which each clique holds on to its
// parent by a *separator*. In a clique's table the separator's variables come first and the
// variables that are eliminated here (the *residual*) last, so the table is a list of blocks, one
// for each state of the separator, and every variable is residual in exactly one clique.
//
// Summing:   upwards in the log domain, a block becomes a message, log sum exp(block), to the parent
//            and the distribution of the residual given the separator; downwards these conditional
//            distributions are multiplied by the separators' probabilities. There is one exponential
//            an entry, and no difference of large numbers: weights of any size are safe.
// Maximising: the same with max for the sum; then from the roots the best block entry is taken.
// Sampling:  from the roots, a block entry is drawn from each conditional distribution.
//
// All in O(table entries) per feature set's weights, plus the boxes of the features. The tree is
// built once and serves any weights; it is never changed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <feldspar/base/numeric.hpp>
#include <feldspar/base/pack.hpp>
#include <feldspar/base/random.hpp>
#include <feldspar/base/simd.hpp>
#include <feldspar/base/stop_sign.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/schema.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/infer/elimination.hpp>
#include <feldspar/infer/table_box.hpp>

namespace feldspar {

inline constexpr std::size_t kNoClique = std::numeric_limits<std::size_t>::max();

// How a separator lies in a table that contains it: neighbouring variables of the table that are all
// in it, or all not, make one dimension.
struct SeparatorRun {
  std::size_t size;
  bool inside;
};

struct Clique {
  std::vector<Variable> variables;  // those eliminated last come first
  std::size_t n_separator = 0;      // this many of them are shared with the parent
  std::size_t parent = kNoClique;
  std::size_t n_blocks = 1;       // states of the separator
  std::size_t block = 1;          // states of the residual
  std::size_t first_entry = 0;    // of its table, in all tables
  std::size_t first_message = 0;  // of its n_blocks messages, in all messages
  std::vector<SeparatorRun> in_parent;

  std::size_t n_entries() const noexcept { return n_blocks * block; }
};

class CliqueTree {
 public:
  // `elimination` is a complete one of `features`.
  CliqueTree(const FeatureSet& features, const Elimination& elimination) : features_(features) {
    add_cliques(elimination);
    place_features(elimination);
  }

  const Schema& schema() const noexcept { return features_.schema(); }
  const FeatureSet& features() const noexcept { return features_; }
  // Children before their parents.
  const std::vector<Clique>& cliques() const noexcept { return cliques_; }
  std::size_t n_entries() const noexcept { return n_entries_; }
  std::size_t n_messages() const noexcept { return n_messages_; }

  // Where feature j is added.
  std::size_t clique_of(FeatureId j) const noexcept { return clique_of_feature_[j]; }
  const TableBox& box(FeatureId j) const noexcept { return boxes_[j]; }

 private:
  void add_cliques(const Elimination& elimination);
  void place_features(const Elimination& elimination);
  Clique make_clique(std::vector<Variable> variables, std::size_t n_separator) const;
  static std::vector<SeparatorRun> runs(const Schema& schema, const Clique& child,
                                        const Clique& parent);

  FeatureSet features_;
  std::vector<Clique> cliques_;
  std::vector<std::size_t> clique_of_step_;  // where the variable of each step is residual
  std::vector<std::size_t> clique_of_feature_;
  std::vector<TableBox> boxes_;
  std::size_t n_entries_ = 0, n_messages_ = 0;
};

inline Clique CliqueTree::make_clique(std::vector<Variable> variables,
                                      std::size_t n_separator) const {
  Clique clique;
  for (std::size_t i = 0; i < variables.size(); ++i)
    (i < n_separator ? clique.n_blocks : clique.block) *= schema().cardinality(variables[i]);
  clique.variables = std::move(variables);
  clique.n_separator = n_separator;
  return clique;
}

inline std::vector<SeparatorRun> CliqueTree::runs(const Schema& schema, const Clique& child,
                                                  const Clique& parent) {
  std::vector<SeparatorRun> runs;
  const auto separator = std::span(child.variables).first(child.n_separator);
  for (const Variable v : parent.variables) {
    const bool inside = std::ranges::find(separator, v) != separator.end();
    if (runs.empty() || runs.back().inside != inside) runs.push_back({1, inside});
    runs.back().size *= schema.cardinality(v);
  }
  return runs;
}

// A chain of steps, each absorbed by the one before it, is one clique; its last step is where the
// clique hands over to its parent, so in the order of last steps children come first.
inline void CliqueTree::add_cliques(const Elimination& elimination) {
  const auto& steps = elimination.steps;
  std::vector<std::size_t> parent_step, position(steps.size());
  const auto absorbed_by = absorbing_steps(steps, parent_step);
  std::vector<std::size_t> opener(steps.size());  // the step whose clique holds this one
  std::vector<bool> last(steps.size(), true);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    position[steps[i].variable] = i;
    opener[i] = absorbed_by[i] == i ? i : opener[absorbed_by[i]];
    if (absorbed_by[i] != i) last[absorbed_by[i]] = false;
  }
  std::vector<std::size_t> clique_of_opener(steps.size(), kNoClique);
  std::vector<std::size_t> last_step;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!last[i]) continue;
    clique_of_opener[opener[i]] = cliques_.size();
    std::vector<Variable> variables = steps[opener[i]].neighbours;
    variables.push_back(steps[opener[i]].variable);
    std::ranges::sort(variables, std::greater{}, [&](Variable v) { return position[v]; });
    cliques_.push_back(make_clique(std::move(variables), steps[i].neighbours.size()));
    last_step.push_back(i);
  }
  for (std::size_t i = 0; i < steps.size(); ++i)
    clique_of_step_.push_back(clique_of_opener[opener[i]]);
  for (std::size_t c = 0; c < cliques_.size(); ++c) {
    Clique& clique = cliques_[c];
    clique.first_entry = std::exchange(n_entries_, n_entries_ + clique.n_entries());
    clique.first_message = std::exchange(n_messages_, n_messages_ + clique.n_blocks);
    if (clique.n_separator == 0) continue;
    clique.parent = clique_of_step_[parent_step[last_step[c]]];
    clique.in_parent = runs(schema(), clique, cliques_[clique.parent]);
  }
}

// The clique where the first of a feature's variables goes has all the others.
inline void CliqueTree::place_features(const Elimination& elimination) {
  std::vector<std::size_t> position(elimination.steps.size());
  for (std::size_t i = 0; i < position.size(); ++i) position[elimination.steps[i].variable] = i;
  for (FeatureId j = 0; j < features_.size(); ++j) {
    std::size_t first = position.size();
    for (const Test test : features_[j]) first = std::min(first, position[test.variable]);
    clique_of_feature_.push_back(clique_of_step_[first]);
    boxes_.push_back(table_box(features_, j, cliques_[clique_of_feature_.back()].variables));
  }
}

// Tables and messages of one run over a tree.
struct CliqueTables {
  std::vector<double> entries;
  std::vector<double> messages;
};

namespace detail {

// Walks over a table and a separator inside it together: visit(entry, message, outer, inner,
// inside) for pieces of `outer` times `inner` entries, of which either the outer or (`inside`) the
// inner index runs over the separator as well.
template <class Visit>
void walk_separator(std::span<const SeparatorRun> runs, std::size_t entry, std::size_t message,
                    std::size_t entry_stride, std::size_t message_stride, Visit& visit) {
  if (runs.size() <= 2) {
    const bool inside = runs.back().inside;
    const std::size_t inner = runs.back().size, outer = runs.size() == 2 ? runs.front().size : 1;
    visit(entry, message, outer, inner, inside);
    return;
  }
  entry_stride /= runs.front().size;
  if (runs.front().inside) message_stride /= runs.front().size;
  for (std::size_t i = 0; i < runs.front().size; ++i)
    walk_separator(runs.subspan(1), entry + i * entry_stride,
                   message + (runs.front().inside ? i * message_stride : 0), entry_stride,
                   message_stride, visit);
}

template <class Visit>
void walk_separator(const Clique& child, const Clique& parent, Visit&& visit) {
  walk_separator(child.in_parent, 0, 0, parent.n_entries(), child.n_blocks, visit);
}

inline void add_message(const Clique& child, const Clique& parent, const double* messages,
                        double* table) {
  walk_separator(child, parent,
                 [=](std::size_t entry, std::size_t message, std::size_t outer, std::size_t inner,
                     bool inside) {
                   double* to = table + entry;
                   const double* from = messages + message;
                   for (std::size_t o = 0; o < outer; ++o, to += inner)
                     if (inside)
                       for (std::size_t i = 0; i < inner; ++i) to[i] += from[i];
                     else
                       for (std::size_t i = 0; i < inner; ++i) to[i] += from[o];
                 });
}

inline void sum_over_separator(const Clique& child, const Clique& parent, const double* table,
                               double* sums) {
  std::fill_n(sums, child.n_blocks, 0.0);
  walk_separator(child, parent,
                 [=](std::size_t entry, std::size_t message, std::size_t outer, std::size_t inner,
                     bool inside) {
                   const double* from = table + entry;
                   double* to = sums + message;
                   for (std::size_t o = 0; o < outer; ++o, from += inner)
                     if (inside)
                       for (std::size_t i = 0; i < inner; ++i) to[i] += from[i];
                     else
                       for (std::size_t i = 0; i < inner; ++i) to[o] += from[i];
                 });
}

// Each block of log-potentials becomes a distribution; its log-sum is the message.
struct NormalizeBlocks {
  FELDSPAR_ALWAYS_INLINE void operator()(double* entries, std::size_t n_blocks, std::size_t block,
                                         double* messages) const noexcept {
    // Blocks of two, one binary variable, are the common case: constants let loops unroll.
    if (block == 2)
      normalize(entries, n_blocks, 2, messages);
    else
      normalize(entries, n_blocks, block, messages);
  }

 private:
  // In pieces that stay in the first cache between the three passes.
  FELDSPAR_ALWAYS_INLINE static void normalize(double* entries, std::size_t n_blocks,
                                               std::size_t block, double* messages) noexcept {
    const std::size_t step = std::max<std::size_t>(1, 2048 / block);
    for (std::size_t b = 0; b < n_blocks; b += step) {
      const std::size_t here = std::min(step, n_blocks - b);
      subtract_top(entries + b * block, here, block, messages + b);
      exponentiate(entries + b * block, here * block);
      divide_by_sum(entries + b * block, here, block, messages + b);
    }
  }

  FELDSPAR_ALWAYS_INLINE static void subtract_top(double* x, std::size_t n_blocks,
                                                  std::size_t block, double* tops) noexcept {
    for (std::size_t b = 0; b < n_blocks; ++b, x += block) {
      double top = x[0];
      for (std::size_t i = 1; i < block; ++i) top = x[i] > top ? x[i] : top;
      for (std::size_t i = 0; i < block; ++i) x[i] -= top;
      tops[b] = top;
    }
  }

  FELDSPAR_ALWAYS_INLINE static void exponentiate(double* x, std::size_t n) noexcept {
    std::size_t i = 0;
    for (; i + kPackSize <= n; i += kPackSize) store_pack(x + i, exp_negative(load_pack(x + i)));
    for (; i < n; ++i) x[i] = exp_negative(x[i]);
  }

  FELDSPAR_ALWAYS_INLINE static void divide_by_sum(double* x, std::size_t n_blocks,
                                                   std::size_t block, double* messages) noexcept {
    for (std::size_t b = 0; b < n_blocks; ++b, x += block) {
      double sum = 0;
      for (std::size_t i = 0; i < block; ++i) sum += x[i];
      const double scale = 1 / sum;
      for (std::size_t i = 0; i < block; ++i) x[i] *= scale;
      messages[b] += log_from_one(sum);
    }
  }
};

// The place of `state` among the states of `variables`, the last one fastest.
inline std::size_t joint_index(const Schema& schema, std::span<const Variable> variables,
                               std::span<const Value> state) {
  std::size_t index = 0;
  for (const Variable v : variables) index = index * schema.cardinality(v) + state[v];
  return index;
}

inline void set_joint(const Schema& schema, std::span<const Variable> variables, std::size_t index,
                      std::span<Value> state) {
  for (std::size_t i = variables.size(); i-- > 0;) {
    const Value cardinality = schema.cardinality(variables[i]);
    state[variables[i]] = static_cast<Value>(index % cardinality);
    index /= cardinality;
  }
}

// From the roots down, choose(block) picks the state of each clique's residual.
template <class Choose>
void choose_downwards(const CliqueTree& tree, const CliqueTables& tables, std::span<Value> state,
                      Choose&& choose) {
  for (std::size_t c = tree.cliques().size(); c-- > 0;) {
    const Clique& clique = tree.cliques()[c];
    const std::span variables(clique.variables);
    const std::size_t b = joint_index(tree.schema(), variables.first(clique.n_separator), state);
    const double* block = tables.entries.data() + clique.first_entry + b * clique.block;
    set_joint(tree.schema(), variables.subspan(clique.n_separator),
              choose(std::span(block, clique.block)), state);
  }
}

// Fills the tables, then works from the leaves up: reduce(clique, table, messages) turns a table
// that has heard its children into messages. Returns the sum of the roots' messages.
template <class Reduce>
double collect(const CliqueTree& tree, std::span<const double> weights, CliqueTables& tables,
               const StopSign& stop, Reduce&& reduce) {
  tables.entries.assign(tree.n_entries(), 0.0);
  tables.messages.resize(tree.n_messages());
  const auto table_of = [&](const Clique& c) { return tables.entries.data() + c.first_entry; };
  for (FeatureId j = 0; j < weights.size(); ++j)
    if (weights[j] != 0)
      add_to_box(tree.features(), tree.box(j), weights[j],
                 table_of(tree.cliques()[tree.clique_of(j)]));
  double total = 0;
  for (const Clique& clique : tree.cliques()) {
    stop.throw_if_interrupted();
    double* messages = tables.messages.data() + clique.first_message;
    reduce(clique, table_of(clique), messages);
    if (clique.parent == kNoClique)
      total += messages[0];
    else
      add_message(clique, tree.cliques()[clique.parent], messages,
                  table_of(tree.cliques()[clique.parent]));
  }
  return total;
}

}  // namespace detail

// log Z for these weights; the tables become distributions of the residuals given the separators.
inline double collect_sums(const CliqueTree& tree, std::span<const double> weights,
                           CliqueTables& tables, const StopSign& stop) {
  return detail::collect(tree, weights, tables, stop,
                         [](const Clique& clique, double* table, double* messages) {
                           run_kernel<detail::NormalizeBlocks>(simd_level(), table, clique.n_blocks,
                                                               clique.block, messages);
                         });
}

// After collect_sums: the tables become joint distributions of the cliques.
inline void distribute(const CliqueTree& tree, CliqueTables& tables, const StopSign& stop) {
  for (std::size_t c = tree.cliques().size(); c-- > 0;) {
    const Clique& clique = tree.cliques()[c];
    if (clique.parent == kNoClique) continue;
    stop.throw_if_interrupted();
    const Clique& parent = tree.cliques()[clique.parent];
    double* separator = tables.messages.data() + clique.first_message;
    detail::sum_over_separator(clique, parent, tables.entries.data() + parent.first_entry,
                               separator);
    double* table = tables.entries.data() + clique.first_entry;
    for (std::size_t b = 0; b < clique.n_blocks; ++b, table += clique.block)
      for (std::size_t i = 0; i < clique.block; ++i) table[i] *= separator[b];
  }
}

// After distribute: the marginals of all variables, laid out by value_offsets(tree.schema()).
inline std::vector<double> read_marginals(const CliqueTree& tree, const CliqueTables& tables) {
  const auto offsets = value_offsets(tree.schema());
  std::vector<double> marginals(offsets.back(), 0.0);
  for (const Clique& clique : tree.cliques()) {
    std::size_t stride = clique.block;
    for (std::size_t k = clique.n_separator; k < clique.variables.size(); ++k) {
      const Variable v = clique.variables[k];
      const Value cardinality = tree.schema().cardinality(v);
      stride /= cardinality;
      const double* entry = tables.entries.data() + clique.first_entry;
      const double* end = entry + clique.n_entries();
      while (entry != end)
        for (Value a = 0; a < cardinality; ++a)
          for (std::size_t i = 0; i < stride; ++i) marginals[offsets[v] + a] += *entry++;
    }
  }
  return marginals;
}

// A state of the highest log-potential. Equal ones: in each clique the first in the table's order.
inline std::vector<Value> most_probable_state(const CliqueTree& tree,
                                              std::span<const double> weights, CliqueTables& tables,
                                              const StopSign& stop) {
  detail::collect(tree, weights, tables, stop,
                  [](const Clique& clique, const double* table, double* messages) {
                    for (std::size_t b = 0; b < clique.n_blocks; ++b, table += clique.block)
                      messages[b] = *std::max_element(table, table + clique.block);
                  });
  std::vector<Value> state(tree.schema().n_variables());
  detail::choose_downwards(tree, tables, state, [](std::span<const double> block) {
    return static_cast<std::size_t>(std::ranges::max_element(block) - block.begin());
  });
  return state;
}

// After collect_sums: a state drawn from the distribution.
inline void draw_state(const CliqueTree& tree, const CliqueTables& tables, Random& random,
                       std::span<Value> state) {
  detail::choose_downwards(tree, tables, state,
                           [&](std::span<const double> block) { return random.choose(block); });
}

}  // namespace feldspar
