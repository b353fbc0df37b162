#pragma once

#include <cstdint>
#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/shape.h"
#include "kusari/framework/links/parameter.h"

// Sizes as the constructors of links take them. `call` is the link's name, "L::Linear".
namespace kusari::links {

/// A size that must be known, which kInfer, being -1, is not. Throws ValueError for a negative one.
inline int64_t given_size(const char* call, const char* argument, int64_t size) {
  if (size >= 0) return size;
  throw ValueError(std::string(call) + ": " + argument + " is " + std::to_string(size) + ": it must not be negative");
}

/// A size that kInfer leaves to the first batch. Throws ValueError for another negative one.
inline int64_t size_or_infer(const char* call, const char* argument, int64_t size) {
  if (size >= 0 || size == kInfer) return size;
  throw ValueError(std::string(call) + ": " + argument + " is " + std::to_string(size) +
                   ": it must not be negative unless it is kInfer (-1)");
}

/// Sizes that must all be known.
inline const Shape& given_shape(const char* call, const char* argument, const Shape& shape) {
  for (const int64_t size : shape) {
    if (size >= 0) continue;
    throw ValueError(std::string(call) + ": " + argument + " is " + to_string(shape) +
                     ": no size of it may be negative");
  }
  return shape;
}

/// Throws ValueError for an empty function.
template <class Function>
Function callable(const char* call, const char* argument, Function function) {
  if (function) return function;
  throw ValueError(std::string(call) + ": " + argument + " is empty: it must be callable");
}

}  // namespace kusari::links
