#pragma once

#include <cstdint>
#include <string>

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

}  // namespace kusari::links
