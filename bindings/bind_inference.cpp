#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <feldspar/infer/belief_propagation.hpp>
#include <feldspar/infer/elimination.hpp>
#include <feldspar/infer/enumeration.hpp>
#include <feldspar/infer/evidence.hpp>
#include <feldspar/infer/junction_tree.hpp>
#include <feldspar/infer/marginals.hpp>
#include <feldspar/infer/mean_field.hpp>
#include <feldspar/infer/most_probable.hpp>

#include "arrays.hpp"
#include "bindings.hpp"
#include "evidence.hpp"
#include "running.hpp"

namespace feldspar::bindings {

namespace {

py::ssize_t length(std::size_t n) { return static_cast<py::ssize_t>(n); }

// One number, or name, of each row's diagnostics.
template <class T>
py::array_t<T> of_rows(const std::vector<RowDiagnostics>& rows, T RowDiagnostics::* field) {
  std::vector<T> values;
  for (const RowDiagnostics& row : rows) values.push_back(row.*field);
  return adopt(std::move(values));
}

std::vector<std::string> statuses(const std::vector<RowDiagnostics>& rows) {
  std::vector<std::string> names;
  for (const RowDiagnostics& row : rows) names.emplace_back(name(row.status));
  return names;
}

void bind_results(py::module_& m) {
  py::class_<Marginals>(m, "Marginals", "Marginals of rows of evidence, and how they were found.")
      .def_property_readonly("probabilities",
                             [](const py::object& self) {
                               const auto& result = self.cast<const Marginals&>();
                               return borrow(self, result.probabilities,
                                             {length(result.rows.size()), length(result.n_values)});
                             })
      .def_property_readonly("log_partitions",
                             [](const py::object& self) {
                               const auto& result = self.cast<const Marginals&>();
                               return borrow(self, result.log_partitions,
                                             {length(result.log_partitions.size())});
                             })
      .def_property_readonly(
          "log_partition_kind",
          [](const Marginals& result) { return std::string(name(result.log_partition_kind)); })
      .def_property_readonly("statuses",
                             [](const Marginals& result) { return statuses(result.rows); })
      .def_property_readonly(
          "iterations",
          [](const Marginals& result) { return of_rows(result.rows, &RowDiagnostics::iterations); })
      .def_property_readonly("residuals", [](const Marginals& result) {
        return of_rows(result.rows, &RowDiagnostics::residual);
      });

  py::class_<MostProbable>(m, "MostProbable", "Most probable states of rows of evidence.")
      .def_property_readonly("states",
                             [](const py::object& self) {
                               const auto& result = self.cast<const MostProbable&>();
                               return borrow(
                                   self, result.states,
                                   {length(result.rows.size()), length(result.n_variables)});
                             })
      .def_property_readonly("log_potentials",
                             [](const py::object& self) {
                               const auto& result = self.cast<const MostProbable&>();
                               return borrow(self, result.log_potentials,
                                             {length(result.log_potentials.size())});
                             })
      .def_property_readonly("methods",
                             [](const MostProbable& result) {
                               std::vector<std::string> names;
                               for (const MostProbableMethod method : result.methods)
                                 names.emplace_back(name(method));
                               return names;
                             })
      .def_property_readonly("proven",
                             [](const MostProbable& result) {
                               return std::vector<bool>(result.proven.begin(), result.proven.end());
                             })
      .def_property_readonly("statuses",
                             [](const MostProbable& result) { return statuses(result.rows); })
      .def_property_readonly("iterations", [](const MostProbable& result) {
        return of_rows(result.rows, &RowDiagnostics::iterations);
      });
}

void bind_inference_options(py::module_& m) {
  py::class_<EnumerationOptions>(m, "EnumerationOptions", "How many states to add up at most.")
      .def(py::init<>())
      .def_readwrite("max_states", &EnumerationOptions::max_states);

  py::class_<JunctionTreeOptions>(m, "JunctionTreeOptions", "How wide a junction tree may be.")
      .def(py::init<>())
      .def_readwrite("max_table_entries", &JunctionTreeOptions::max_table_entries)
      .def_readwrite("max_seconds", &JunctionTreeOptions::max_seconds);

  py::class_<BeliefPropagationOptions>(m, "BeliefPropagationOptions", "How messages are passed.")
      .def(py::init<>())
      .def_property(
          "schedule",
          [](const BeliefPropagationOptions& options) {
            return std::string(name(options.schedule));
          },
          [](BeliefPropagationOptions& options, const std::string& schedule) {
            options.schedule = schedule_named(schedule);
          })
      .def_readwrite("damping", &BeliefPropagationOptions::damping)
      .def_readwrite("max_iterations", &BeliefPropagationOptions::max_iterations)
      .def_readwrite("tolerance", &BeliefPropagationOptions::tolerance)
      .def_readwrite("max_seconds", &BeliefPropagationOptions::max_seconds);

  py::class_<MeanFieldOptions>(m, "MeanFieldOptions", "When mean field stops and restarts.")
      .def(py::init<>())
      .def_readwrite("max_iterations", &MeanFieldOptions::max_iterations)
      .def_readwrite("tolerance", &MeanFieldOptions::tolerance)
      .def_readwrite("n_starts", &MeanFieldOptions::n_starts)
      .def_readwrite("seed", &MeanFieldOptions::seed)
      .def_readwrite("max_seconds", &MeanFieldOptions::max_seconds);

  py::class_<MostProbableOptions>(m, "MostProbableOptions", "How the best state is looked for.")
      .def(py::init<>())
      .def_property(
          "method",
          [](const MostProbableOptions& options) { return std::string(name(options.method)); },
          [](MostProbableOptions& options, const std::string& method) {
            options.method = most_probable_method_named(method);
          })
      .def_readwrite("max_table_entries", &MostProbableOptions::max_table_entries)
      .def_property(
          "schedule",
          [](const MostProbableOptions& options) { return std::string(name(options.schedule)); },
          [](MostProbableOptions& options, const std::string& schedule) {
            options.schedule = schedule_named(schedule);
          })
      .def_readwrite("damping", &MostProbableOptions::damping)
      .def_readwrite("max_iterations", &MostProbableOptions::max_iterations)
      .def_readwrite("tolerance", &MostProbableOptions::tolerance)
      .def_readwrite("n_starts", &MostProbableOptions::n_starts)
      .def_readwrite("seed", &MostProbableOptions::seed)
      .def_readwrite("max_seconds", &MostProbableOptions::max_seconds);
}

// A function from a network, evidence and options to a result.
template <class Options, class Result>
void bind_verb(py::module_& m, const char* name,
               Result (*verb)(const MarkovNetwork&, const EvidenceView&, const Options&,
                              const Execution&)) {
  m.def(
      name,
      [verb](const MarkovNetwork& network, const Codes& codes,
             const LogLikelihoods& log_likelihoods, const Options& options, int n_threads,
             py::object progress) {
        const EvidenceView evidence = evidence_view(network, codes, log_likelihoods);
        return run_watched(n_threads, std::move(progress), [&](const Execution& execution) {
          return verb(network, evidence, options, execution);
        });
      },
      py::arg("network"), py::arg("codes").noconvert(), py::arg("log_likelihoods").noconvert(),
      py::arg("options"), py::arg("n_threads"), py::arg("progress"));
}

void bind_elimination(py::module_& m) {
  py::class_<EliminationCost>(m, "EliminationCost", "What exact inference would cost.")
      .def_readonly("width", &EliminationCost::width)
      .def_readonly("table_entries", &EliminationCost::table_entries)
      .def_readonly("complete", &EliminationCost::complete);

  m.def(
      "elimination_costs",
      [](const MarkovNetwork& network, const Codes& codes, double max_table_entries,
         int n_threads) {
        const EvidenceView evidence = evidence_view(network, codes, std::nullopt);
        return run_watched(n_threads, py::none(), [&](const Execution& execution) {
          return elimination_costs(network, evidence.codes, max_table_entries, execution);
        });
      },
      py::arg("network"), py::arg("codes").noconvert(), py::arg("max_table_entries"),
      py::arg("n_threads"));
}

void bind_samples(py::module_& m) {
  m.def(
      "junction_tree_samples",
      [](const MarkovNetwork& network, const Codes& codes, const LogLikelihoods& log_likelihoods,
         std::size_t n_samples, std::uint64_t seed, const JunctionTreeOptions& options,
         int n_threads, py::object progress) {
        const EvidenceView evidence = evidence_view(network, codes, log_likelihoods);
        auto samples = run_watched(n_threads, std::move(progress), [&](const Execution& execution) {
          return junction_tree_samples(network, evidence, n_samples, seed, options, execution);
        });
        return adopt(std::move(samples), {codes.shape(0), length(n_samples), codes.shape(1)});
      },
      py::arg("network"), py::arg("codes").noconvert(), py::arg("log_likelihoods").noconvert(),
      py::arg("n_samples"), py::arg("seed"), py::arg("options"), py::arg("n_threads"),
      py::arg("progress"));
}

}  // namespace

void bind_inference(py::module_& m) {
  bind_results(m);
  bind_inference_options(m);
  bind_verb(m, "enumerate_marginals", &enumerate_marginals);
  bind_verb(m, "junction_tree_marginals", &junction_tree_marginals);
  bind_verb(m, "belief_propagation_marginals", &belief_propagation_marginals);
  bind_verb(m, "mean_field_marginals", &mean_field_marginals);
  bind_verb(m, "most_probable", &most_probable);
  bind_elimination(m);
  bind_samples(m);
}

}  // namespace feldspar::bindings
