#include <optional>
#include <string>

#include <feldspar/infer/annealed_importance.hpp>
#include <feldspar/infer/gibbs.hpp>
#include <feldspar/infer/mcsat.hpp>

#include "arrays.hpp"
#include "bindings.hpp"
#include "evidence.hpp"
#include "running.hpp"

namespace feldspar::bindings {

namespace {

// A number for each row, or for each row and value.
template <class T>
py::array_t<T> by_row(const std::vector<T>& numbers) {
  return copy(std::span<const T>(numbers));
}
py::array_t<double> by_value(const SampledMarginals& result, const std::vector<double>& numbers) {
  const auto n_rows = static_cast<py::ssize_t>(result.is_done.size());
  const auto n = static_cast<py::ssize_t>(numbers.size());
  return adopt(numbers, {n_rows, n_rows == 0 ? 0 : n / n_rows});
}

void bind_sampling_options(py::module_& m) {
  py::class_<ChainOptions>(m, "ChainOptions", "How Markov chains run, and what is kept of them.")
      .def(py::init<>())
      .def_readwrite("n_chains", &ChainOptions::n_chains)
      .def_readwrite("burn_in", &ChainOptions::burn_in)
      .def_readwrite("n_samples", &ChainOptions::n_samples)
      .def_readwrite("thinning", &ChainOptions::thinning)
      .def_readwrite("rao_blackwell", &ChainOptions::rao_blackwell)
      .def_readwrite("standard_errors", &ChainOptions::standard_errors)
      .def_readwrite("seed", &ChainOptions::seed)
      .def_readwrite("max_seconds", &ChainOptions::max_seconds);

  py::class_<GibbsOptions>(m, "GibbsOptions", "Gibbs sampling.")
      .def(py::init<>())
      .def_readwrite("chains", &GibbsOptions::chains)
      .def_readwrite("max_table_bits", &GibbsOptions::max_table_bits);

  py::class_<SampleSatOptions>(m, "SampleSatOptions", "The search inside a step of MC-SAT.")
      .def(py::init<>())
      .def_readwrite("walk_probability", &SampleSatOptions::walk_probability)
      .def_readwrite("walk_noise", &SampleSatOptions::walk_noise)
      .def_readwrite("temperature", &SampleSatOptions::temperature)
      .def_readwrite("max_moves", &SampleSatOptions::max_moves)
      .def_readwrite("max_enumerated", &SampleSatOptions::max_enumerated);

  py::class_<McSatOptions>(m, "McSatOptions", "MC-SAT.")
      .def(py::init<>())
      .def_readwrite("chains", &McSatOptions::chains)
      .def_readwrite("sat", &McSatOptions::sat);

  py::class_<SampleOptions>(m, "SampleOptions", "Chains that states are taken from.")
      .def(py::init<>())
      .def_readwrite("n_chains", &SampleOptions::n_chains)
      .def_readwrite("burn_in", &SampleOptions::burn_in)
      .def_readwrite("thinning", &SampleOptions::thinning)
      .def_readwrite("seed", &SampleOptions::seed)
      .def_readwrite("max_table_bits", &SampleOptions::max_table_bits);
}

void bind_marginals(py::module_& m) {
  py::class_<SampledMarginals>(m, "SampledMarginals", "Marginals by Markov chains.")
      .def_property_readonly(
          "probabilities",
          [](const SampledMarginals& result) { return by_value(result, result.probabilities); })
      .def_property_readonly(
          "standard_errors",
          [](const SampledMarginals& result) -> std::optional<py::array_t<double>> {
            if (result.standard_errors.size() != result.probabilities.size()) return {};
            return by_value(result, result.standard_errors);
          })
      .def_property_readonly("r_hat",
                             [](const SampledMarginals& result) { return by_row(result.r_hat); })
      .def_property_readonly(
          "effective_size",
          [](const SampledMarginals& result) { return by_row(result.effective_size); })
      .def_property_readonly(
          "n_samples", [](const SampledMarginals& result) { return by_row(result.n_samples); })
      .def_property_readonly("is_done",
                             [](const SampledMarginals& result) { return by_row(result.is_done); })
      .def_property_readonly(
          "status", [](const SampledMarginals& result) { return std::string(name(result.status)); })
      .def_readonly("seconds", &SampledMarginals::seconds);

  m.def(
      "gibbs_marginals",
      [](const MarkovNetwork& network, const Codes& codes, const LogLikelihoods& log_likelihoods,
         const GibbsOptions& options, int n_threads, py::object progress) {
        const EvidenceView evidence = evidence_view(network, codes, log_likelihoods);
        return run_watched(n_threads, std::move(progress), [&](const Execution& execution) {
          return gibbs_marginals(network, evidence, options, execution);
        });
      },
      py::arg("network"), py::arg("codes").noconvert(), py::arg("log_likelihoods").noconvert(),
      py::arg("options"), py::arg("n_threads"), py::arg("progress"));

  m.def(
      "mcsat_marginals",
      [](const MarkovNetwork& network, const Codes& codes, const LogLikelihoods& log_likelihoods,
         const McSatOptions& options, int n_threads, py::object progress) {
        const EvidenceView evidence = evidence_view(network, codes, log_likelihoods);
        return run_watched(n_threads, std::move(progress), [&](const Execution& execution) {
          return mcsat_marginals(network, evidence, options, execution);
        });
      },
      py::arg("network"), py::arg("codes").noconvert(), py::arg("log_likelihoods").noconvert(),
      py::arg("options"), py::arg("n_threads"), py::arg("progress"));

  m.def(
      "sample",
      [](const MarkovNetwork& network, const Codes& codes, const LogLikelihoods& log_likelihoods,
         std::size_t n, const SampleOptions& options, int n_threads) {
        const EvidenceView evidence = evidence_view(network, codes, log_likelihoods);
        auto states = run_watched(n_threads, py::none(), [&](const Execution& execution) {
          return sample(network, evidence, n, options, execution);
        });
        return adopt(std::move(states), {static_cast<py::ssize_t>(n), codes.shape(1)});
      },
      py::arg("network"), py::arg("codes").noconvert(), py::arg("log_likelihoods").noconvert(),
      py::arg("n"), py::arg("options"), py::arg("n_threads"));
}

void bind_annealing(py::module_& m) {
  py::native_enum<AnnealingBase>(m, "AnnealingBase", "enum.Enum")
      .value("independent", AnnealingBase::independent)
      .value("uniform", AnnealingBase::uniform)
      .finalize();
  py::native_enum<AnnealingSchedule>(m, "AnnealingSchedule", "enum.Enum")
      .value("linear", AnnealingSchedule::linear)
      .value("geometric", AnnealingSchedule::geometric)
      .value("sigmoid", AnnealingSchedule::sigmoid)
      .finalize();

  py::class_<AnnealingOptions>(m, "AnnealingOptions", "Annealed importance sampling.")
      .def(py::init<>())
      .def_readwrite("n_chains", &AnnealingOptions::n_chains)
      .def_readwrite("n_temperatures", &AnnealingOptions::n_temperatures)
      .def_readwrite("n_sweeps", &AnnealingOptions::n_sweeps)
      .def_readwrite("base", &AnnealingOptions::base)
      .def_readwrite("schedule", &AnnealingOptions::schedule)
      .def_readwrite("reverse", &AnnealingOptions::reverse)
      .def_readwrite("reverse_burn_in", &AnnealingOptions::reverse_burn_in)
      .def_readwrite("seed", &AnnealingOptions::seed)
      .def_readwrite("max_seconds", &AnnealingOptions::max_seconds);

  py::class_<AnnealedEstimate>(m, "AnnealedEstimate", "log Z from one direction.")
      .def_readonly("log_partition", &AnnealedEstimate::log_partition)
      .def_readonly("standard_error", &AnnealedEstimate::standard_error)
      .def_readonly("effective_size", &AnnealedEstimate::effective_size)
      .def_readonly("n_chains", &AnnealedEstimate::n_chains);

  py::class_<AnnealedPartition>(m, "AnnealedPartition", "log Z from below and from above.")
      .def_readonly("forward", &AnnealedPartition::forward)
      .def_readonly("reverse", &AnnealedPartition::reverse)
      .def_property_readonly(
          "status",
          [](const AnnealedPartition& result) { return std::string(name(result.status)); })
      .def_readonly("seconds", &AnnealedPartition::seconds);

  m.def(
      "annealed_log_partition",
      [](const MarkovNetwork& network, const Codes& codes, const LogLikelihoods& log_likelihoods,
         const AnnealingOptions& options, int n_threads) {
        const EvidenceView evidence = evidence_view(network, codes, log_likelihoods);
        return run_watched(n_threads, py::none(), [&](const Execution& execution) {
          return annealed_log_partition(network, evidence, options, execution);
        });
      },
      py::arg("network"), py::arg("codes").noconvert(), py::arg("log_likelihoods").noconvert(),
      py::arg("options"), py::arg("n_threads"));
}

}  // namespace

void bind_sampling(py::module_& m) {
  bind_sampling_options(m);
  bind_marginals(m);
  bind_annealing(m);
}

}  // namespace feldspar::bindings
