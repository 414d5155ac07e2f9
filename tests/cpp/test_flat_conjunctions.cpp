#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <feldspar/feature/flat_conjunctions.hpp>

namespace test_flat_conjunctions {

using namespace feldspar;

namespace {

using Offsets = std::vector<std::int64_t>;

// X0 = 1; X1 in {0, 2} & X0 = 1; X0 = 1 again; X1 anything; X0 = 0 & X0 = 1.
const Offsets kBegin{0, 1, 3, 4, 5, 7};
const std::vector<Variable> kVariables{0, 1, 0, 0, 1, 0, 0};
const Offsets kValueBegin{0, 1, 3, 4, 5, 8, 9, 10};
const std::vector<Value> kValues{1, 2, 0, 1, 1, 0, 1, 2, 0, 1};

}  // namespace

TEST_CASE("flat conjunctions become features, each told what became of it") {
  const BuiltFeatures built =
      build_features(Schema({2, 3}), kBegin, kVariables, kValueBegin, kValues);
  CHECK(built.features.size() == 2);
  CHECK(built.numbers == Offsets{0, 1, 0, kAlwaysTrue, kNeverTrue});
}

TEST_CASE("flattening and building again is the identity") {
  const FeatureSet features =
      build_features(Schema({2, 3}), kBegin, kVariables, kValueBegin, kValues).features;
  const FlatConjunctions flat = flatten(features);
  CHECK(flat.begin == Offsets{0, 1, 3});
  CHECK(flat.variables == std::vector<Variable>{0, 0, 1});
  CHECK(flat.values == std::vector<Value>{1, 1, 0, 2});
  const BuiltFeatures again =
      build_features(Schema({2, 3}), flat.begin, flat.variables, flat.value_begin, flat.values);
  CHECK(flatten(again.features).value_begin == flat.value_begin);
  CHECK(again.numbers == Offsets{0, 1});
}

TEST_CASE("offsets that lead out of the arrays are refused") {
  const auto build = [](const Offsets& begin, const Offsets& value_begin) {
    return build_features(Schema({2, 3}), begin, std::vector<Variable>{0, 1}, value_begin,
                          std::vector<Value>{1, 2});
  };
  CHECK_NOTHROW(build({0, 2}, {0, 1, 2}));
  CHECK_THROWS_WITH_AS(build({0, 3}, {0, 1, 2}), "begin must end with 2, got 3", InvalidInput);
  CHECK_THROWS_WITH_AS(build({1, 2}, {0, 1, 2}), "begin must start with 0", InvalidInput);
  CHECK_THROWS_WITH_AS(build({}, {0, 1, 2}), "begin must start with 0", InvalidInput);
  CHECK_THROWS_WITH_AS(build({0, 2, 1, 2}, {0, 1, 2}), "begin must not fall, but does at place 2",
                       InvalidInput);
  CHECK_THROWS_WITH_AS(build({0, 2}, {0, 1, 9}), "value_begin must end with 2, got 9",
                       InvalidInput);
  CHECK_THROWS_WITH_AS(build({0, 2}, {0, 2}), "value_begin must have 3 entries, got 2",
                       InvalidInput);
}

}  // namespace test_flat_conjunctions
