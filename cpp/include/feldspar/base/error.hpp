// The three ways a call can fail. Not converging is none of them: that is a result.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace feldspar {

// The caller handed over something unusable; the message names it, what was got and what is wanted.
class InvalidInput : public std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// A computation left the numbers it can work with (NaN or infinity in an objective).
class NumericalFailure : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The monitor asked to stop and the work has no partial result to return.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

// Joins its arguments into one message: concat("variable ", 3, ": ...").
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  return stream.str();
}

// Throws InvalidInput with the joined message unless `condition` holds.
template <class... Parts>
void require(bool condition, const Parts&... message) {
  if (!condition) [[unlikely]]
    throw InvalidInput(concat(message...));
}

}  // namespace feldspar
