#include <utility>
#include <vector>

#include <feldspar/learn/generate_features.hpp>

#include "bindings.hpp"
#include "running.hpp"

namespace feldspar::bindings {

void bind_generate(py::module_& m) {
  m.def(
      "generate_features",
      [](const Dataset& data, bool positive, std::vector<std::uint64_t> sizes,
         std::vector<std::uint32_t> thresholds, std::uint64_t seed, py::object progress) {
        const auto initial = positive ? InitialFeatures::positive : InitialFeatures::full;
        const GenerateOptions options{initial, std::move(sizes), std::move(thresholds), seed};
        return run_watched(1, std::move(progress), [&](const Execution& execution) {
          return generate_features(data, options, execution);
        });
      },
      py::arg("data"), py::arg("positive"), py::arg("sizes"), py::arg("thresholds"),
      py::arg("seed"), py::arg("progress"));
}

}  // namespace feldspar::bindings
