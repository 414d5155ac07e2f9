// The names of our index types. A bare `int` says nothing; these say what is counted.
#pragma once

#include <cstdint>

namespace feldspar {

using Variable = std::uint32_t;   // a column of the data
using Value = std::uint16_t;      // a code 0 ... cardinality - 1 of a variable
using Row = std::uint32_t;        // a (merged) example
using FeatureId = std::uint32_t;  // a feature's place in its FeatureSet

}  // namespace feldspar
