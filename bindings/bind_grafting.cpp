#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <feldspar/learn/fit_likelihood.hpp>
#include <feldspar/learn/grafting.hpp>

#include "arrays.hpp"
#include "bindings.hpp"
#include "running.hpp"

namespace feldspar::bindings {

namespace {

void bind_expectation_options(py::module_& m) {
  py::class_<ExpectationOptions>(m, "ExpectationOptions", "How likelihoods are inferred.")
      .def(py::init<>())
      .def_property(
          "method",
          [](const ExpectationOptions& options) { return std::string(name(options.method)); },
          [](ExpectationOptions& options, const std::string& method) {
            options.method = expectation_method_named(method);
          })
      .def_readwrite("max_table_entries", &ExpectationOptions::max_table_entries)
      .def_readwrite("automatic_table_entries", &ExpectationOptions::automatic_table_entries)
      .def_readwrite("bp", &ExpectationOptions::bp)
      .def_property(
          "n_states", [](const ExpectationOptions& options) { return options.gibbs.n_states; },
          [](ExpectationOptions& options, std::size_t n) { options.gibbs.n_states = n; })
      .def_property(
          "seed", [](const ExpectationOptions& options) { return options.gibbs.chains.seed; },
          [](ExpectationOptions& options, std::uint64_t seed) {
            options.gibbs.chains.seed = seed;
          });
}

void bind_likelihood(py::module_& m) {
  py::class_<InferredLikelihood>(m, "Likelihood", "The likelihood of a feature set on a data set.")
      .def(py::init([](const FeatureSet& features, const Dataset& data,
                       const ExpectationOptions& options, int n_threads) {
             return run_watched(n_threads, py::none(), [&](const Execution& execution) {
               return std::make_unique<InferredLikelihood>(features, data, options, execution);
             });
           }),
           py::arg("features"), py::arg("data"), py::arg("options"), py::arg("n_threads"))
      .def(
          "value_and_gradient",
          [](InferredLikelihood& likelihood, const Array<double>& weights, int n_threads) {
            std::vector<double> gradient(likelihood.n_features());
            const auto w = view(weights);
            const double value =
                run_watched(n_threads, py::none(), [&](const Execution& execution) {
                  return likelihood.value_and_gradient(w, gradient, execution);
                });
            return py::make_tuple(value, adopt(std::move(gradient)));
          },
          py::arg("weights").noconvert(), py::arg("n_threads"))
      .def_property_readonly("total_weight", &InferredLikelihood::total_weight)
      .def_property_readonly("method",
                             [](const InferredLikelihood& likelihood) {
                               return std::string(likelihood.engine().method());
                             })
      .def_property_readonly("n_inferences", &InferredLikelihood::n_inferences)
      .def_property_readonly("n_failures", &InferredLikelihood::n_failures);

  m.def(
      "fit_likelihood_path",
      [](InferredLikelihood& likelihood, const std::vector<Penalty>& penalties,
         const std::optional<Array<double>>& initial, const FitWeightsOptions& options,
         int n_threads, py::object progress) {
        const auto start = view(initial);
        return run_watched(n_threads, std::move(progress), [&](const Execution& execution) {
          return fit_likelihood_path(likelihood, penalties, start, options, execution);
        });
      },
      py::arg("likelihood"), py::arg("penalties"), py::arg("initial").noconvert(),
      py::arg("options"), py::arg("n_threads"), py::arg("progress"));
}

void bind_grafting_options(py::module_& m) {
  py::class_<GraftingOptions>(m, "GraftingOptions", "How features are introduced.")
      .def(py::init<>())
      .def_property(
          "scheme",
          [](const GraftingOptions& options) { return std::string(name(options.scheme)); },
          [](GraftingOptions& options, const std::string& scheme) {
            options.scheme = introduction_named(scheme);
          })
      .def_readwrite("n_add", &GraftingOptions::n_add)
      .def_readwrite("anneal", &GraftingOptions::anneal)
      .def_readwrite("min_gradient", &GraftingOptions::min_gradient)
      .def_readwrite("max_features", &GraftingOptions::max_features)
      .def_readwrite("weights", &GraftingOptions::weights)
      .def_readwrite("inference", &GraftingOptions::inference);
}

void bind_fits(py::module_& m) {
  py::class_<GraftingFit>(m, "GraftingFit", "A network found by grafting, and its certificate.")
      .def_readonly("features", &GraftingFit::features)
      .def_readonly("fit", &GraftingFit::fit)
      .def_property_readonly("stop",
                             [](const GraftingFit& fit) { return std::string(name(fit.stop)); })
      .def_readonly("message", &GraftingFit::message)
      .def_readonly("threshold", &GraftingFit::threshold)
      .def_readonly("largest_gradient", &GraftingFit::largest_gradient)
      .def_readonly("violation", &GraftingFit::violation)
      .def_readonly("n_inactive", &GraftingFit::n_inactive)
      .def_readonly("method", &GraftingFit::method)
      .def_readonly("n_rounds", &GraftingFit::n_rounds)
      .def_readonly("n_inferences", &GraftingFit::n_inferences);

  m.def(
      "learn_by_grafting",
      [](const Dataset& data, const FeatureSet& pool, const std::vector<Penalty>& penalties,
         const GraftingOptions& options, int n_threads, py::object progress) {
        return run_watched(n_threads, std::move(progress), [&](const Execution& execution) {
          return learn_by_grafting(data, pool, penalties, options, execution);
        });
      },
      py::arg("data"), py::arg("pool"), py::arg("penalties"), py::arg("options"),
      py::arg("n_threads"), py::arg("progress"));
}

}  // namespace

void bind_grafting(py::module_& m) {
  bind_expectation_options(m);
  bind_likelihood(m);
  bind_grafting_options(m);
  bind_fits(m);
}

}  // namespace feldspar::bindings
