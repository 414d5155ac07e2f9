// Decision trees as conjunctive features (Lowd and Davis, 2014, section 4.2).
//
//   default    every path from the root to a leaf, with every value of the target
//   prune      the same for paths to all nodes, the root (no test but the target's) included
//   prune-10   prune without features of more than 10 conditions, the target's included
//   prune-5    prune without those of more than 5
//   nonzero    default; then every condition that admits its variable's zero value is dropped
//
// All tests of one variable on a path are one condition, the set of values that they leave; with
// more than two values a condition "X != v" admits zero unless v is the zero value. Features that
// come from several paths are one; those without conditions vanish. A path that no row can take has
// none.
//
// Cost: O(conditions) of all paths together, before duplicates are merged. Serial.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/schema.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/model/decision_tree.hpp>

namespace feldspar {

enum class TreeConversion { default_, prune, prune_10, prune_5, nonzero };

inline constexpr std::array<std::pair<std::string_view, TreeConversion>, 5> kTreeConversions{{
    {"default", TreeConversion::default_},
    {"prune", TreeConversion::prune},
    {"prune-10", TreeConversion::prune_10},
    {"prune-5", TreeConversion::prune_5},
    {"nonzero", TreeConversion::nonzero},
}};

inline TreeConversion tree_conversion(std::string_view name) {
  for (const auto& [known, conversion] : kTreeConversions)
    if (name == known) return conversion;
  throw InvalidInput(concat("conversion: got \"", name,
                            "\"; expected default, prune, prune-10, prune-5 or nonzero"));
}

namespace detail {

// The conditions on the way to a node.
class TreePath {
 public:
  struct Condition {
    Variable variable;
    std::vector<Value> values;  // admitted, ascending
  };

  explicit TreePath(const Schema& schema) : schema_(schema) {}

  const std::vector<Condition>& conditions() const noexcept { return conditions_; }
  bool is_possible() const {
    return std::ranges::none_of(conditions_, [](const Condition& c) { return c.values.empty(); });
  }

  // Goes down one side of a split.
  void push(const TreeNode& split, bool yes) {
    const auto known = std::ranges::find(conditions_, split.variable, &Condition::variable);
    const bool is_new = known == conditions_.end();
    steps_.push_back({static_cast<std::size_t>(known - conditions_.begin()), is_new, {}});
    if (is_new) {
      conditions_.push_back({split.variable, {}});
      for (Value v = 0; v < schema_.cardinality(split.variable); ++v)
        if ((v == split.value) == yes) conditions_.back().values.push_back(v);
    } else {
      steps_.back().before = known->values;
      std::erase_if(known->values, [&](Value v) { return (v == split.value) != yes; });
    }
  }

  void pop() {
    Step& step = steps_.back();
    if (step.is_new)
      conditions_.pop_back();
    else
      conditions_[step.condition].values = std::move(step.before);
    steps_.pop_back();
  }

 private:
  struct Step {
    std::size_t condition;
    bool is_new;
    std::vector<Value> before;  // what it admitted before, if it is not
  };

  const Schema& schema_;
  std::vector<Condition> conditions_;
  std::vector<Step> steps_;
};

// Calls visit(node, path) for the nodes of a tree, in their order.
template <class Visit>
void for_each_path(const DecisionTree& tree, const Schema& schema, Visit&& visit) {
  const auto nodes = tree.nodes();
  TreePath path(schema);
  std::vector<NodeId> open;  // the splits on the way to the node
  for (NodeId node = 0; node < nodes.size(); ++node) {
    visit(node, path);
    if (!nodes[node].is_leaf()) {
      open.push_back(node);
      path.push(nodes[node], true);
      continue;
    }
    for (; !open.empty() && nodes[open.back()].no != node + 1; open.pop_back()) path.pop();
    if (open.empty()) return;
    path.pop();
    path.push(nodes[open.back()], false);
  }
}

// Adds conjunctions of conditions to a builder; buffers are kept between them.
class ConjunctionWriter {
 public:
  explicit ConjunctionWriter(Schema schema) : builder_(std::move(schema)) {}

  void clear() {
    variables_.clear();
    values_.clear();
    begin_.assign(1, 0);
  }
  void condition(Variable variable, std::span<const Value> values) {
    variables_.push_back(variable);
    values_.insert(values_.end(), values.begin(), values.end());
    begin_.push_back(values_.size());
  }
  void add() {
    if (values_.size() == variables_.size())  // one value each: the quicker way
      builder_.add(variables_, values_);
    else
      builder_.add(variables_, begin_, values_);
  }
  FeatureSet finish() && { return std::move(builder_).finish(); }

 private:
  FeatureSetBuilder builder_;
  std::vector<Variable> variables_;
  std::vector<std::size_t> begin_;
  std::vector<Value> values_;
};

inline void check_zero_values(const Schema& schema, std::span<const Value> zero_values) {
  require(zero_values.empty() || zero_values.size() == schema.n_variables(), "zero_values: got ",
          zero_values.size(), " for ", schema.n_variables(), " variables");
  for (Variable v = 0; v < zero_values.size(); ++v)
    require(zero_values[v] < schema.cardinality(v), "zero_values: variable ", v, " has no value ",
            zero_values[v], "; expected 0 to ", schema.cardinality(v) - 1);
}

}  // namespace detail

// `zero_values` holds the zero value of every variable; empty: it is 0 for all.
inline FeatureSet tree_features(std::span<const DecisionTree> trees, const Schema& schema,
                                TreeConversion conversion,
                                std::span<const Value> zero_values = {}) {
  detail::check_zero_values(schema, zero_values);
  const bool leaves_only =
      conversion == TreeConversion::default_ || conversion == TreeConversion::nonzero;
  const std::size_t longest = conversion == TreeConversion::prune_10  ? 10
                              : conversion == TreeConversion::prune_5 ? 5
                                                                      : schema.n_variables();
  const auto dropped = [&](Variable v, std::span<const Value> values) {
    const Value zero = zero_values.empty() ? Value{0} : zero_values[v];
    return conversion == TreeConversion::nonzero && std::ranges::find(values, zero) != values.end();
  };
  detail::ConjunctionWriter writer(schema);
  for (const DecisionTree& tree : trees)
    detail::for_each_path(tree, schema, [&](NodeId node, const detail::TreePath& path) {
      if (leaves_only && !tree.nodes()[node].is_leaf()) return;
      if (path.conditions().size() + 1 > longest || !path.is_possible()) return;
      for (Value a = 0; a < tree.n_values(); ++a) {
        writer.clear();
        for (const auto& condition : path.conditions())
          if (!dropped(condition.variable, condition.values))
            writer.condition(condition.variable, condition.values);
        if (!dropped(tree.target(), {&a, 1})) writer.condition(tree.target(), {&a, 1});
        writer.add();
      }
    });
  return std::move(writer).finish();
}

}  // namespace feldspar
