// What an optimizer returns. Not converging is a result, never an exception: the status says why
// the run ended, and x is the best point seen whatever the reason.
#pragma once

#include <limits>
#include <string_view>
#include <vector>

#include <Eigen/Core>

namespace feldspar {

enum class Status { converged, stalled, max_iterations, max_evaluations, time_limit, interrupted };

// The name as it is written in code.
constexpr std::string_view name(Status status) noexcept {
  switch (status) {
    case Status::converged:
      return "converged";
    case Status::stalled:
      return "stalled";
    case Status::max_iterations:
      return "max_iterations";
    case Status::max_evaluations:
      return "max_evaluations";
    case Status::time_limit:
      return "time_limit";
    case Status::interrupted:
      return "interrupted";
  }
  return "unknown";
}

// One sentence for people.
constexpr std::string_view describe(Status status) noexcept {
  switch (status) {
    case Status::converged:
      return "The gradient, the distance to the optimum or the relative decrease fell below its "
             "tolerance.";
    case Status::stalled:
      return "No step decreased the value any further; floating point may not allow more.";
    case Status::max_iterations:
      return "The limit on iterations was reached.";
    case Status::max_evaluations:
      return "The limit on evaluations of the objective was reached.";
    case Status::time_limit:
      return "The time limit was reached.";
    case Status::interrupted:
      return "The caller asked to stop.";
  }
  return "The run ended for an unknown reason.";
}

// The state after an iteration; iteration 0 is the start, with step 0.
struct OptimizeStep {
  int iteration = 0;
  double value = 0;          // as OptimizeResult::value
  double gradient_norm = 0;  // as OptimizeResult::gradient_norm
  double step = 0;           // multiple of the search direction that was taken
  int evaluations = 0;       // so far
  double seconds = 0;        // so far
};

struct OptimizeResult {
  Eigen::VectorXd x;
  double value =
      std::numeric_limits<double>::infinity();  // the L1 term included where there is one
  // Largest absolute component of the gradient at x; OWL-QN: of the pseudo-gradient.
  double gradient_norm = std::numeric_limits<double>::infinity();
  int iterations = 0;
  int evaluations = 0;
  double seconds = 0;
  Status status = Status::stalled;
  std::vector<OptimizeStep> history;

  bool converged() const noexcept { return status == Status::converged; }
};

}  // namespace feldspar
