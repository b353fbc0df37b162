#pragma once

#include <cstdint>
#include <string>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/shape.h"
#include "kusari/framework/links/parameter.h"

// Sizes as the constructors of links take them. `call` is the link's name, "L::Linear".
namespace kusari::links {

/// A size that kInfer leaves to the first batch. Throws ValueError for another negative one.
inline int64_t size_or_infer(const char* call, const char* argument, int64_t size) {
  if (size >= 0 || size == kInfer) return size;
  throw ValueError(std::string(call) + ": " + argument + " is " + std::to_string(size) +
                   ": it must not be negative unless it is kInfer (-1)");
}

/// A size times `factor`, as the links that compute several gates at once need it. Throws ValueError for a negative
/// size and for a product that no int64 holds.
inline int64_t size_times(const char* call, const char* name, int64_t size, int64_t factor) {
  int64_t product = 0;
  if (__builtin_mul_overflow(argument::not_negative(call, name, size), factor, &product)) {
    throw ValueError(std::string(call) + ": " + name + " is " + std::to_string(size) + ": " + std::to_string(factor) +
                     " times that is more than an int64 holds");
  }
  return product;
}

/// For a link that is about to take a size from x: a call that is refused must leave it as it was.
inline void expect_axes(const char* call, const Variable& x, int least) {
  if (x.ndim() >= least) return;
  throw TypeError(std::string(call) + ": x has shape " + to_string(x.shape()) + ": x.ndim must be at least " +
                  std::to_string(least));
}

}  // namespace kusari::links
