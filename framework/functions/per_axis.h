#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/shape.h"

namespace kusari {

/// One number for all spatial axes or one for each: `.stride = 2`, `.stride = {2, 1}`.
class PerAxis {
 public:
  template <class T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) PerAxis(T value) {
    values_.push_back(static_cast<int64_t>(value));
  }
  PerAxis(std::initializer_list<int64_t> values) : values_(values) {}
  explicit PerAxis(const Dims& values) : values_{values} {}

  /// The numbers as they were given.
  const Dims& given() const noexcept { return values_; }
  /// A number for each of `ndim` axes. Throws ValueError naming call and argument when there are neither one nor ndim.
  Dims resolve(int ndim, const char* call, const char* argument) const {
    if (values_.ndim() == ndim) return values_;
    if (values_.ndim() == 1) return Dims::filled(ndim, values_[0]);
    throw ValueError(std::string(call) + ": " + argument + " is " + to_string(values_) +
                     ": it must be one number or one for each of the " + std::to_string(ndim) + " spatial axes");
  }

 private:
  Dims values_;
};

/// The first member of options that stand where a size in braces might: `{3, 1}` is then an error, not a stride of 3
/// and a pad of 1. Options are given by name.
struct ByName {};

}  // namespace kusari
