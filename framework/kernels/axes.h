#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <type_traits>

#include "kusari/framework/core/export.h"
#include "kusari/framework/core/shape.h"
#include "kusari/framework/kernels/axis_mask.h"

namespace kusari {

/// Chainer's `axis` argument: one axis (1), several ({0, -1}; {} is none) or all (std::nullopt). Negative axes count
/// from the end.
///
/// A function with such an argument also takes its options by name. What is between the braces must then tell what is
/// meant, to every compiler: `{2, 3}` is axes, `{.axis = 2}` options. GCC 12 lets a designator initialise a class that
/// is no aggregate (the axes, or an initializer_list) and so finds several functions; it then prefers the one that is
/// no template. So the function proper takes the options, and the two that take axes are templates.
class Axes {
 public:
  Axes(std::nullopt_t) noexcept : is_all_{true} {}
  template <class T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) Axes(T axis) { axes_.push_back(axis); }
  /// These axes.
  Axes(std::initializer_list<int64_t> axes) : axes_(axes.begin(), axes.end()) {}
  explicit Axes(std::span<const int64_t> axes) : axes_(axes.begin(), axes.end()) {}

  bool is_all() const noexcept { return is_all_; }
  /// The axes as they were given.
  const Dims& given() const noexcept { return axes_; }
  /// The axes of an array with `ndim` of them. Throws IndexError naming `call` for one that does not exist, ValueError
  /// for one that comes twice.
  AxisMask mask(int ndim, const char* call) const {
    return is_all_ ? AxisMask::all(ndim) : axis_mask({axes_.begin(), axes_.size()}, ndim, call);
  }

 private:
  bool is_all_ = false;
  Dims axes_;
};

/// By name: F::sum(x, {.axis = {2, 3}, .keepdims = true}), F::max(x, {.axis = -1}).
struct ReductionOptions {
  Axes axis = std::nullopt;
  bool keepdims = false;  ///< keep the reduced axes with size 1
};

/// Product of the sizes of the axes in the mask.
inline int64_t reduced_count(const Shape& shape, AxisMask axes) noexcept {
  int64_t count = 1;
  for (int i = 0; i < shape.ndim(); ++i) count *= axes.contains(i) ? shape[i] : 1;
  return count;
}

}  // namespace kusari
