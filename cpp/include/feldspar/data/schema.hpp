// How many values each variable has. Names and labels are the host language's business; the core
// speaks of variables and values by number.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/types.hpp>

namespace feldspar {

class Schema {
 public:
  Schema() = default;

  explicit Schema(std::vector<Value> cardinalities) : cardinalities_(std::move(cardinalities)) {
    for (std::size_t v = 0; v < cardinalities_.size(); ++v)
      require(cardinalities_[v] >= 1, "variable ", v, ": cardinality must be at least 1, got 0");
  }

  std::size_t n_variables() const noexcept { return cardinalities_.size(); }
  Value cardinality(Variable v) const noexcept { return cardinalities_[v]; }
  const std::vector<Value>& cardinalities() const noexcept { return cardinalities_; }

  friend bool operator==(const Schema&, const Schema&) = default;

 private:
  std::vector<Value> cardinalities_;
};

// Where each variable's values start when those of all variables are put side by side, plus the
// end.
inline std::vector<std::size_t> value_offsets(const Schema& schema) {
  std::vector<std::size_t> offsets{0};
  for (const Value c : schema.cardinalities()) offsets.push_back(offsets.back() + c);
  return offsets;
}

}  // namespace feldspar
