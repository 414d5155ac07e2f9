#include <feldspar/feature/conjunctions.hpp>
#include <feldspar/feature/feature_set.hpp>

#include "arrays.hpp"
#include "bindings.hpp"
#include "running.hpp"

namespace feldspar::bindings {

namespace {

// Conjunctions as flat arrays: conjunction i has the tests begin[i] ... begin[i + 1], test t names
// variables[t] and admits values[value_begin[t]] ... values[value_begin[t + 1]].
struct FlatConjunctions {
  std::span<const std::int64_t> begin, value_begin;
  std::span<const Variable> variables;
  std::span<const Value> values;
};

// The set, and for every conjunction its feature's number, -1 for always true, -2 for never true.
std::pair<FeatureSet, std::vector<std::int64_t>> build(Schema schema,
                                                       const FlatConjunctions& flat) {
  FeatureSetBuilder builder(std::move(schema));
  std::vector<std::int64_t> numbers;
  std::vector<std::size_t> value_begin;
  for (std::size_t i = 0; i + 1 < flat.begin.size(); ++i) {
    const auto first = static_cast<std::size_t>(flat.begin[i]);
    const auto n = static_cast<std::size_t>(flat.begin[i + 1]) - first;
    value_begin.assign(flat.value_begin.begin() + static_cast<std::ptrdiff_t>(first),
                       flat.value_begin.begin() + static_cast<std::ptrdiff_t>(first + n + 1));
    const AddResult added = builder.add(flat.variables.subspan(first, n), value_begin, flat.values);
    numbers.push_back(added.outcome == Added::always_true ? -1
                      : added.outcome == Added::never_true
                          ? -2
                          : static_cast<std::int64_t>(added.feature));
  }
  return {std::move(builder).finish(), std::move(numbers)};
}

// The inverse of build: (begin, variables, value_begin, values).
py::tuple flatten(const FeatureSet& features) {
  std::vector<std::int64_t> begin{0}, value_begin{0};
  std::vector<Variable> variables;
  std::vector<Value> values;
  for (FeatureId j = 0; j < features.size(); ++j) {
    for (const Test test : features[j]) {
      variables.push_back(test.variable);
      const auto set = features.values(test.values);
      values.insert(values.end(), set.begin(), set.end());
      value_begin.push_back(static_cast<std::int64_t>(values.size()));
    }
    begin.push_back(static_cast<std::int64_t>(variables.size()));
  }
  return py::make_tuple(adopt(std::move(begin)), adopt(std::move(variables)),
                        adopt(std::move(value_begin)), adopt(std::move(values)));
}

}  // namespace

void bind_features(py::module_& m) {
  py::class_<FeatureSet>(m, "FeatureSet", "Distinct conjunctive features in canonical form.")
      .def_static(
          "build",
          [](const std::vector<Value>& cardinalities, const Array<std::int64_t>& begin,
             const Array<Variable>& variables, const Array<std::int64_t>& value_begin,
             const Array<Value>& values) {
            auto [set, numbers] = build(Schema(cardinalities), {view(begin), view(value_begin),
                                                                view(variables), view(values)});
            return py::make_tuple(std::move(set), adopt(std::move(numbers)));
          },
          py::arg("cardinalities"), py::arg("begin").noconvert(), py::arg("variables").noconvert(),
          py::arg("value_begin").noconvert(), py::arg("values").noconvert())
      .def_static(
          "conjunctions",
          [](const Dataset& data, int max_length, double min_support, int supported_from) {
            const py::gil_scoped_release release;
            return enumerate_conjunctions(data, {max_length, min_support, supported_from});
          },
          py::arg("data"), py::arg("max_length"), py::arg("min_support"), py::arg("supported_from"))
      .def_property_readonly("cardinalities",
                             [](const FeatureSet& f) { return f.schema().cardinalities(); })
      .def_property_readonly("n_tests", &FeatureSet::n_tests)
      .def("flatten", &flatten)
      .def("__len__", &FeatureSet::size);
}

}  // namespace feldspar::bindings
