#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <feldspar/learn/fit_weights.hpp>
#include <feldspar/objective/pseudo_likelihood.hpp>

#include "arrays.hpp"
#include "bindings.hpp"
#include "running.hpp"

namespace feldspar::bindings {

namespace {

void bind_pseudo_likelihood(py::module_& m) {
  py::class_<IndexStatistics>(m, "IndexStatistics", "What an index holds.")
      .def_readonly("n_contexts", &IndexStatistics::n_contexts)
      .def_readonly("n_wide_contexts", &IndexStatistics::n_wide_contexts)
      .def_readonly("n_wide_variables", &IndexStatistics::n_wide_variables)
      .def_readonly("n_wide_lookups", &IndexStatistics::n_wide_lookups)
      .def_readonly("n_tiles", &IndexStatistics::n_tiles)
      .def_readonly("n_narrow_lookups", &IndexStatistics::n_narrow_lookups)
      .def_readonly("n_narrow_patterns", &IndexStatistics::n_narrow_patterns)
      .def_readonly("bytes", &IndexStatistics::bytes);

  py::class_<PseudoLikelihood>(m, "PseudoLikelihood", "The PLL of a feature set on a data set.")
      .def(py::init([](const FeatureSet& features, const Dataset& data, bool for_scoring,
                       int n_threads) {
             using Use = PseudoLikelihood::Use;
             const Use use = for_scoring ? Use::scoring : Use::learning;
             return run_watched(n_threads, py::none(), [&](const Execution& execution) {
               return std::make_unique<PseudoLikelihood>(features, data, execution, PlanOptions{},
                                                         use);
             });
           }),
           py::arg("features"), py::arg("data"), py::arg("for_scoring"), py::arg("n_threads"))
      .def_static(
          "by_variable",
          [](const FeatureSet& features, const std::vector<const Dataset*>& data_of_variable,
             int n_threads) {
            return run_watched(n_threads, py::none(), [&](const Execution& execution) {
              return std::make_unique<PseudoLikelihood>(features, std::span(data_of_variable),
                                                        execution);
            });
          },
          py::arg("features"), py::arg("data_of_variable"), py::arg("n_threads"))
      .def(
          "value_and_gradient",
          [](PseudoLikelihood& likelihood, const Array<double>& weights, int n_threads) {
            std::vector<double> gradient(likelihood.n_features());
            const auto w = view(weights);
            const double value =
                run_watched(n_threads, py::none(), [&](const Execution& execution) {
                  return likelihood.value_and_gradient(w, gradient, execution);
                });
            return py::make_tuple(value, adopt(std::move(gradient)));
          },
          py::arg("weights").noconvert(), py::arg("n_threads"))
      .def_property_readonly("total_weight", &PseudoLikelihood::total_weight)
      .def_property_readonly("statistics", &PseudoLikelihood::statistics);
}

void bind_fit(py::module_& m) {
  py::class_<Penalty>(m, "Penalty", "A Gaussian prior and an L1 term.")
      .def(py::init<double, double>(), py::arg("prior_sd"), py::arg("l1"))
      .def_readonly("prior_sd", &Penalty::prior_sd)
      .def_readonly("l1", &Penalty::l1);

  py::class_<FitWeightsOptions>(m, "FitWeightsOptions", "When weight learning stops.")
      .def(py::init<>())
      .def_readwrite("max_iterations", &FitWeightsOptions::max_iterations)
      .def_readwrite("tolerance", &FitWeightsOptions::tolerance)
      .def_readwrite("memory", &FitWeightsOptions::memory)
      .def_readwrite("max_seconds", &FitWeightsOptions::max_seconds);

  py::class_<WeightFit>(m, "WeightFit", "Weights and how they were found.")
      .def_readonly("penalty", &WeightFit::penalty)
      .def_property_readonly(
          "weights",
          [](const WeightFit& fit) { return copy(std::span<const double>(fit.weights)); })
      .def_readonly("objective", &WeightFit::objective)
      .def_readonly("gradient_norm", &WeightFit::gradient_norm)
      .def_property_readonly("status",
                             [](const WeightFit& fit) { return std::string(name(fit.run.status)); })
      .def_property_readonly(
          "message", [](const WeightFit& fit) { return std::string(describe(fit.run.status)); })
      .def_property_readonly("iterations", [](const WeightFit& fit) { return fit.run.iterations; })
      .def_property_readonly("evaluations",
                             [](const WeightFit& fit) { return fit.run.evaluations; })
      .def_property_readonly("seconds", [](const WeightFit& fit) { return fit.run.seconds; })
      .def_property_readonly("history", [](const WeightFit& fit) {
        py::list history;
        for (const OptimizeStep& step : fit.run.history)
          history.append(py::make_tuple(step.iteration, step.value, step.seconds));
        return history;
      });

  py::class_<WeightRun<PseudoLikelihood>>(m, "WeightRun",
                                          "Weight learning that can be taken further.")
      .def(py::init([](PseudoLikelihood& likelihood, const Penalty& penalty,
                       const std::optional<Array<double>>& initial) {
             return std::make_unique<WeightRun<PseudoLikelihood>>(likelihood, penalty,
                                                                  view(initial));
           }),
           py::arg("likelihood"), py::arg("penalty"), py::arg("initial").noconvert(),
           py::keep_alive<1, 2>())
      .def(
          "advance",
          [](WeightRun<PseudoLikelihood>& run, const FitWeightsOptions& options, int n_threads,
             py::object progress) {
            return run_watched(n_threads, std::move(progress), [&](const Execution& execution) {
              return run.advance(options, execution);
            });
          },
          py::arg("options"), py::arg("n_threads"), py::arg("progress"));

  m.def(
      "fit_weight_path",
      [](PseudoLikelihood& likelihood, const std::vector<Penalty>& penalties,
         const std::optional<Array<double>>& initial, const FitWeightsOptions& options,
         int n_threads, py::object progress) {
        const auto start = view(initial);
        return run_watched(n_threads, std::move(progress), [&](const Execution& execution) {
          return fit_weight_path(likelihood, penalties, start, options, execution);
        });
      },
      py::arg("likelihood"), py::arg("penalties"), py::arg("initial").noconvert(),
      py::arg("options"), py::arg("n_threads"), py::arg("progress"));
}

}  // namespace

void bind_weights(py::module_& m) {
  bind_pseudo_likelihood(m);
  bind_fit(m);
}

}  // namespace feldspar::bindings
