// Arrays across the border: spans of exact type in, adopted vectors out. Nothing is converted here;
// the Python layer hands over C-contiguous arrays of the right type or pybind11 refuses the call.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "bindings.hpp"

namespace feldspar::bindings {

template <class T>
using Array = py::array_t<T, py::array::c_style>;

template <class T>
std::span<const T> view(const Array<T>& array) {
  return {array.data(), static_cast<std::size_t>(array.size())};
}

// None is an empty span.
template <class T>
std::span<const T> view(const std::optional<Array<T>>& array) {
  return array ? view(*array) : std::span<const T>{};
}

// The array takes over the vector: the capsule frees it with the last view.
template <class T>
py::array_t<T> adopt(std::vector<T> values, std::vector<py::ssize_t> shape) {
  auto owner = std::make_unique<std::vector<T>>(std::move(values));
  const T* data = owner->data();
  const py::capsule base(owner.get(), [](void* p) { delete static_cast<std::vector<T>*>(p); });
  owner.release();
  return py::array_t<T>(std::move(shape), data, base);
}

template <class T>
py::array_t<T> adopt(std::vector<T> values) {
  const auto n = static_cast<py::ssize_t>(values.size());
  return adopt(std::move(values), {n});
}

// A read-only view of numbers that `owner` holds; it keeps the owner alive.
template <class T>
py::array_t<T> borrow(py::handle owner, const std::vector<T>& values,
                      std::vector<py::ssize_t> shape) {
  py::array_t<T> array(std::move(shape), values.data(), owner);
  array.attr("flags").attr("writeable") = false;
  return array;
}

// A copy, for small things that stay inside their owner.
template <class T>
py::array_t<T> copy(std::span<const T> values) {
  return adopt(std::vector<T>(values.begin(), values.end()));
}

}  // namespace feldspar::bindings
