// The ways from a tree's root to its nodes, and the tests that each amounts to.
//
// Cost: O(steps) a path, and the sizes of the value sets.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <feldspar/base/types.hpp>
#include <feldspar/data/schema.hpp>
#include <feldspar/feature/feature_set.hpp>
#include <feldspar/model/decision_tree.hpp>

namespace feldspar {

// One step down a tree: X_variable = value, or not.
struct Branch {
  Variable variable;
  Value value;
  bool equal;
};

// Calls visit(node, branches from the root) for all nodes, in their order.
template <class Visit>
void for_each_path(const DecisionTree& tree, Visit&& visit) {
  std::vector<Branch> path;
  std::vector<std::size_t> open;  // places in `path` where the other branch is still to come
  const auto nodes = tree.nodes();
  for (NodeId node = 0; node < nodes.size(); ++node) {  // preorder: the next node is the next visit
    visit(node, std::span<const Branch>(path));
    if (!nodes[node].is_leaf()) {
      open.push_back(path.size());
      path.push_back({nodes[node].variable, nodes[node].value, true});
      continue;
    }
    if (open.empty()) return;
    path.resize(open.back() + 1);
    path.back().equal = false;
    open.pop_back();
  }
}

// Tests, at most one for each variable, such as those of a path; buffers are kept between paths.
class PathTests {
 public:
  std::size_t size() const noexcept { return variables_.size(); }
  Variable variable(std::size_t test) const noexcept { return variables_[test]; }
  std::span<const Value> values(std::size_t test) const noexcept {
    return std::span(values_).subspan(begin_[test], begin_[test + 1] - begin_[test]);
  }

  // What all steps of a path on one variable let through; false if the path contradicts itself.
  bool assign(const Schema& schema, std::span<const Branch> path) {
    sorted_.assign(path.begin(), path.end());
    std::ranges::sort(sorted_, {}, &Branch::variable);
    clear();
    for (auto first = sorted_.begin(); first != sorted_.end();) {
      const auto last = std::find_if(
          first, sorted_.end(), [&](const Branch& b) { return b.variable != first->variable; });
      append_admitted(schema.cardinality(first->variable), {first, last});
      if (values_.size() == begin_.back()) return false;
      end_test(first->variable);
      first = last;
    }
    return true;
  }

  void clear() {
    variables_.clear();
    values_.clear();
    begin_.assign(1, 0);
  }
  void push(Variable variable, std::span<const Value> values) {
    values_.insert(values_.end(), values.begin(), values.end());
    end_test(variable);
  }
  void pop() {
    variables_.pop_back();
    begin_.pop_back();
    values_.resize(begin_.back());
  }

  AddResult add_to(FeatureSetBuilder& builder) const {
    if (values_.size() == variables_.size())  // one value each: the quicker way
      return builder.add(variables_, values_);
    return builder.add(variables_, begin_, values_);
  }

 private:
  void end_test(Variable variable) {
    variables_.push_back(variable);
    begin_.push_back(values_.size());
  }

  // The values that all branches, of one variable, let through.
  void append_admitted(Value cardinality, std::span<const Branch> branches) {
    const auto admitted = [&](Value a) {
      return std::ranges::all_of(branches,
                                 [&](const Branch& b) { return (a == b.value) == b.equal; });
    };
    const auto equal = std::ranges::find(branches, true, &Branch::equal);
    if (equal != branches.end()) {
      if (admitted(equal->value)) values_.push_back(equal->value);
      return;
    }
    for (Value a = 0; a < cardinality; ++a)
      if (admitted(a)) values_.push_back(a);
  }

  std::vector<Variable> variables_;
  std::vector<std::size_t> begin_{0};
  std::vector<Value> values_;
  std::vector<Branch> sorted_;
};

}  // namespace feldspar
