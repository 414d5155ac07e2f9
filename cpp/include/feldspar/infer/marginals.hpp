// What inference says of each row of evidence: the marginal distribution of every variable, an
// estimate of log Z, and how the method fared.
//
// Probabilities are laid out by value_offsets(schema), row after row; an observed variable has
// probability 1 at its value. log Z of a row is the log of the sum of exp(log-potential) over all
// states that agree with the evidence, soft evidence included: the difference of two rows' log Z is
// the log of the ratio of their probabilities.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include <feldspar/base/types.hpp>

namespace feldspar {

// How the work on a row ended. Not a number stands for what was not computed.
enum class RowStatus : std::uint8_t {
  not_done,        // the time was up before the row was finished: no results
  time_limit,      // the time was up: results as far as they were reached
  max_iterations,  // stopped short of the tolerance
  converged,       // within the tolerance; or exact
};

constexpr std::string_view name(RowStatus status) noexcept {
  switch (status) {
    case RowStatus::not_done:
      return "not_done";
    case RowStatus::time_limit:
      return "time_limit";
    case RowStatus::max_iterations:
      return "max_iterations";
    case RowStatus::converged:
      return "converged";
  }
  return "unknown";
}

// What the reported log Z is.
enum class LogPartitionKind : std::uint8_t { exact, bethe, lower_bound };

constexpr std::string_view name(LogPartitionKind kind) noexcept {
  switch (kind) {
    case LogPartitionKind::exact:
      return "exact";
    case LogPartitionKind::bethe:
      return "bethe";
    case LogPartitionKind::lower_bound:
      return "lower_bound";
  }
  return "unknown";
}

// How an iteration on one row ended.
struct RowDiagnostics {
  RowStatus status = RowStatus::not_done;
  std::int32_t iterations = 0;
  double residual = std::numeric_limits<double>::quiet_NaN();  // largest change of the last one
};

struct Marginals {
  LogPartitionKind log_partition_kind = LogPartitionKind::exact;
  std::size_t n_values = 0;            // of all variables together: the width of a row
  std::vector<double> probabilities;   // rows x n_values
  std::vector<double> log_partitions;  // a row
  std::vector<RowDiagnostics> rows;

  Marginals(LogPartitionKind kind, std::size_t n_rows, std::size_t values)
      : log_partition_kind(kind),
        n_values(values),
        probabilities(n_rows * values, std::numeric_limits<double>::quiet_NaN()),
        log_partitions(n_rows, std::numeric_limits<double>::quiet_NaN()),
        rows(n_rows) {}

  std::span<double> row(std::size_t r) noexcept {
    return {probabilities.data() + r * n_values, n_values};
  }
  std::span<const double> row(std::size_t r) const noexcept {
    return {probabilities.data() + r * n_values, n_values};
  }
};

}  // namespace feldspar
