// What L1-penalised logistic regression is asked and what it answers, for all variables of a data
// set and a path of penalties; l1_logistic.hpp has the formulas.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <feldspar/base/error.hpp>
#include <feldspar/base/types.hpp>
#include <feldspar/data/schema.hpp>
#include <feldspar/optim/result.hpp>

namespace feldspar {

// The path of those who do not name one.
inline constexpr std::array<double, 7> kDefaultCValues{0.001, 0.01, 0.05, 0.1, 0.5, 1, 5};

// `coordinate` leaves targets of many values to `owlqn` (l1_logistic.hpp).
enum class L1Solver { coordinate, owlqn };

constexpr std::string_view name(L1Solver solver) noexcept {
  return solver == L1Solver::coordinate ? "coordinate" : "owlqn";
}

// The inverse of name().
inline L1Solver l1_solver(std::string_view wanted) {
  for (const L1Solver solver : {L1Solver::coordinate, L1Solver::owlqn})
    if (name(solver) == wanted) return solver;
  throw InvalidInput(concat("solver must be 'coordinate' or 'owlqn', got '", wanted, "'"));
}

struct L1Options {
  L1Solver solver = L1Solver::coordinate;
  // Converged when no component of the objective's subgradient is larger than half of this; the
  // objective is then within this share of its optimum (l1_logistic.hpp tells why).
  double tolerance = 1e-6;
  int max_iterations = 1000;  // for each target and C
  bool penalize_intercept = false;

  void check() const {
    require(tolerance > 0 && std::isfinite(tolerance), "tolerance must be positive, got ",
            tolerance);
    require(max_iterations >= 1, "max_iterations must be at least 1, got ", max_iterations);
  }
};

// The weight of the predictor "variable = value" in favour of the target's value `target_value`.
struct L1Weight {
  Variable variable;
  Value value;
  Value target_value;
  double weight;

  friend bool operator==(const L1Weight&, const L1Weight&) = default;
};

// One target at one C.
struct L1Fit {
  std::vector<double> intercepts;  // by value of the target
  std::vector<L1Weight> weights;   // the non-zero ones, by predictor, then value of the target
  double objective = 0;            // C * loss + |w|_1
  double log_likelihood = 0;       // minus the loss, a sum over examples
  double violation = 0;            // largest component of the objective's subgradient
  int iterations = 0;
  double seconds = 0;
  Status status = Status::converged;
};

class L1Path {
 public:
  // `fits` by target, then C.
  L1Path(Schema schema, std::vector<double> c_values, double total_weight, std::vector<L1Fit> fits)
      : schema_(std::move(schema)),
        c_values_(std::move(c_values)),
        total_weight_(total_weight),
        fits_(std::move(fits)) {}

  const Schema& schema() const noexcept { return schema_; }
  std::span<const double> c_values() const noexcept { return c_values_; }
  std::size_t n_values() const noexcept { return c_values_.size(); }
  double total_weight() const noexcept { return total_weight_; }  // of the examples

  const L1Fit& at(Variable target, std::size_t c) const {
    require(target < schema_.n_variables(), "target ", target, " does not exist; there are ",
            schema_.n_variables(), " variables");
    require(c < n_values(), "c_index ", c, " does not exist; the path has ", n_values(), " values");
    return fits_[target * n_values() + c];
  }

 private:
  Schema schema_;
  std::vector<double> c_values_;
  double total_weight_;
  std::vector<L1Fit> fits_;
};

}  // namespace feldspar
