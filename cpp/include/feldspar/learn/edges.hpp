// Edges between variables, and how two opinions about one become one.
#pragma once

#include <string_view>

#include <feldspar/base/error.hpp>
#include <feldspar/base/types.hpp>

namespace feldspar {

// Two variables are joined if both name the other, or if either does.
enum class EdgeRule { both, either };

// From the names that users know.
inline EdgeRule edge_rule(std::string_view rule) {
  require(rule == "and" || rule == "or", "rule must be 'and' or 'or', got '", rule, "'");
  return rule == "and" ? EdgeRule::both : EdgeRule::either;
}

inline bool joins(EdgeRule rule, bool one, bool other) noexcept {
  return rule == EdgeRule::both ? one && other : one || other;
}

struct Edge {
  Variable first, second;  // first < second

  friend bool operator==(const Edge&, const Edge&) = default;
};

}  // namespace feldspar
