#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <feldspar/learn/bottom_up.hpp>
#include <feldspar/learn/example_features.hpp>
#include <feldspar/learn/top_down.hpp>

#include "arrays.hpp"
#include "bindings.hpp"
#include "running.hpp"

namespace feldspar::bindings {

namespace {

void bind_bottom_up(py::module_& m) {
  py::native_enum<DistanceKind>(m, "DistanceKind", "enum.Enum", "How far examples are.")
      .value("value_difference", DistanceKind::value_difference)
      .value("hamming", DistanceKind::hamming)
      .finalize();

  py::class_<BottomUpOptions>(m, "BottomUpOptions", "What bottom-up search maximises, and how.")
      .def(py::init<>())
      .def_readwrite("alpha", &BottomUpOptions::alpha)
      .def_readwrite("neighbors", &BottomUpOptions::neighbors)
      .def_property(
          "distance", [](const BottomUpOptions& options) { return options.distance.kind; },
          [](BottomUpOptions& options, DistanceKind kind) { options.distance.kind = kind; })
      .def_property(
          "power", [](const BottomUpOptions& options) { return options.distance.power; },
          [](BottomUpOptions& options, int power) { options.distance.power = power; })
      .def_readwrite("relearn_every", &BottomUpOptions::relearn_every)
      .def_readwrite("prior_sd", &BottomUpOptions::prior_sd);

  py::class_<BottomUpState>(m, "BottomUpState", "Where a search is right after a relearning.")
      .def(
          py::init([](const FeatureSet& features, const Array<double>& weights, std::size_t n_fixed,
                      std::size_t next, bool changed, std::size_t round, std::size_t n_changes) {
            const auto w = view(weights);
            return BottomUpState{features, {w.begin(), w.end()}, n_fixed, next, changed, round,
                                 n_changes};
          }),
          py::arg("features"), py::arg("weights").noconvert(), py::arg("n_fixed"), py::arg("next"),
          py::arg("changed"), py::arg("round"), py::arg("n_changes"))
      .def_static(
          "start",
          [](const FeatureSet& features, const std::optional<Array<double>>& weights) {
            return bottom_up_start(features, view(weights));
          },
          py::arg("features"), py::arg("weights").noconvert())
      .def_property_readonly("features", [](const BottomUpState& state) { return state.features; })
      .def_property_readonly(
          "weights",
          [](const BottomUpState& state) { return copy(std::span<const double>(state.weights)); })
      .def_readonly("n_fixed", &BottomUpState::n_fixed)
      .def_readonly("next", &BottomUpState::next)
      .def_readonly("changed", &BottomUpState::changed)
      .def_readonly("round", &BottomUpState::round)
      .def_readonly("n_changes", &BottomUpState::n_changes);

  py::class_<BottomUpSearch>(m, "BottomUpSearch", "Generalises features step by step.")
      .def(py::init([](const Dataset& data, const BottomUpState& start,
                       const BottomUpOptions& options, int n_threads) {
             return run_watched(n_threads, py::none(), [&](const Execution& execution) {
               return std::make_unique<BottomUpSearch>(data, start, options, execution);
             });
           }),
           py::keep_alive<1, 2>(), py::arg("data"), py::arg("start"), py::arg("options"),
           py::arg("n_threads"))
      .def(
          "learn_weights",
          [](BottomUpSearch& search, int max_sweeps, double max_seconds, int n_threads,
             py::object progress) {
            return std::string(
                name(run_watched(n_threads, std::move(progress), [&](const Execution& execution) {
                  return search.learn_weights(max_sweeps, max_seconds, execution);
                })));
          },
          py::arg("max_sweeps"), py::arg("max_seconds"), py::arg("n_threads"), py::arg("progress"))
      .def(
          "advance",
          [](BottomUpSearch& search, double max_seconds, int n_threads, py::object progress) {
            return std::string(
                name(run_watched(n_threads, std::move(progress), [&](const Execution& execution) {
                  return search.advance(max_seconds, execution);
                })));
          },
          py::arg("max_seconds"), py::arg("n_threads"), py::arg("progress"))
      .def("state", &BottomUpSearch::state, py::call_guard<py::gil_scoped_release>())
      .def("score", &BottomUpSearch::score, py::call_guard<py::gil_scoped_release>());

  m.def(
      "example_features",
      [](const Dataset& data, bool positive) {
        return example_features(data, positive ? InitialFeatures::positive : InitialFeatures::full);
      },
      py::arg("data"), py::arg("positive"), py::call_guard<py::gil_scoped_release>());
}

void bind_top_down(py::module_& m) {
  py::class_<TopDownOptions>(m, "TopDownOptions", "What top-down search maximises, and how.")
      .def(py::init<>())
      .def_readwrite("alpha", &TopDownOptions::alpha)
      .def_readwrite("additions", &TopDownOptions::additions)
      .def_readwrite("positive", &TopDownOptions::positive)
      .def_readwrite("prior_sd", &TopDownOptions::prior_sd)
      .def_readwrite("weights", &TopDownOptions::weights);

  py::class_<TopDownSearch>(m, "TopDownSearch", "Adds conjunctions of features round by round.")
      .def(py::init<const Dataset&, const TopDownOptions&>(), py::keep_alive<1, 2>(),
           py::arg("data"), py::arg("options"))
      .def(
          "advance",
          [](TopDownSearch& search, double max_seconds, int n_threads, py::object progress) {
            return std::string(
                name(run_watched(n_threads, std::move(progress), [&](const Execution& execution) {
                  return search.advance(max_seconds, execution);
                })));
          },
          py::arg("max_seconds"), py::arg("n_threads"), py::arg("progress"))
      .def_property_readonly("features",
                             [](const TopDownSearch& search) { return search.features(); })
      .def_property_readonly("weights",
                             [](const TopDownSearch& search) {
                               return copy(std::span<const double>(search.weights()));
                             })
      .def_property_readonly("n_rounds", &TopDownSearch::n_rounds);
}

}  // namespace

void bind_search(py::module_& m) {
  bind_bottom_up(m);
  bind_top_down(m);
}

}  // namespace feldspar::bindings
