#pragma once

#include <stdexcept>
#include <string>

#include "kusari/framework/core/array.h"
#include "kusari/tests/golden_runner/golden_case.h"

namespace kusari::golden {

/// A result is not what the case expects; what() names the array, the element and both values.
class Mismatch : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// There is nothing here that could run the case.
class Unsupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct CompareOptions {
  bool any_float_dtype = false;  ///< the expected dtype is NumPy's accident
};

/// Throws Mismatch for the element that is furthest outside its tolerance.
void compare(const std::string& name, const Array& got, const Array& expected, Tolerance tolerance,
             const CompareOptions& options = {});
void compare(const std::string& name, double got, double expected, Tolerance tolerance);
/// `got` may be undefined; else every element must be zero within atol.
void compare_zero(const std::string& name, const Array& got, Tolerance tolerance);

}  // namespace kusari::golden
