// Rows of evidence from Python: codes, and what else speaks for each value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <feldspar/base/error.hpp>
#include <feldspar/data/schema.hpp>
#include <feldspar/infer/evidence.hpp>
#include <feldspar/model/markov_network.hpp>

#include "arrays.hpp"
#include "bindings.hpp"

namespace feldspar::bindings {

using Codes = Array<std::int32_t>;
using LogLikelihoods = std::optional<Array<double>>;

inline EvidenceView evidence_view(const MarkovNetwork& network, const Codes& codes,
                                  const LogLikelihoods& log_likelihoods) {
  const auto is_table = [&](const auto& array, std::size_t n_columns) {
    return array.ndim() == 2 && array.shape(0) == codes.shape(0) &&
           static_cast<std::size_t>(array.shape(1)) == n_columns;
  };
  const std::size_t n_variables = network.schema().n_variables();
  const std::size_t n_values = value_offsets(network.schema()).back();
  require(is_table(codes, n_variables), "codes must be a table of ", n_variables, " columns");
  require(!log_likelihoods || is_table(*log_likelihoods, n_values),
          "log_likelihoods must be a table of ", n_values, " columns, a row for each of codes");
  return {view(codes), view(log_likelihoods)};
}

}  // namespace feldspar::bindings
