#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kusari/framework/core/shape.h"
#include "kusari/framework/onnx/operators/node_reader.h"

// Windows of convolutions and poolings as ONNX describes them.
namespace kusari::onnx {

/// The attributes of a node, as they are given.
struct WindowAttributes {
  explicit WindowAttributes(const NodeReader& node);

  std::optional<std::vector<int64_t>> kernel, strides, pads, dilations;
  std::string auto_pad;
  bool ceil_mode;
};

/// One number for each spatial axis.
struct Windows {
  Dims kernel, stride, dilation, pad_begin, pad_end;
  Dims count;  ///< windows along each axis

  /// `in`: the spatial sizes of x; `kernel_sizes`: where the attribute is missing. Throws ValueError for numbers out of
  /// range, and when no window fits.
  Windows(const WindowAttributes& attributes, const Dims& in, const Dims& kernel_sizes);

  int ndim() const noexcept { return kernel.ndim(); }
  bool is_dilated() const;
  /// Whether some functions' padding will do, as many zeros at the end as at the beginning and, with `cover_all`, what
  /// the last window needs; otherwise x is padded first.
  std::optional<bool> cover_all(const Dims& in) const;
  /// Elements to add behind x so that every window lies within it, pad_begin added.
  Dims needed_end(const Dims& in) const;
};

/// x with `begin` and `end` elements of a value around its spatial axes.
Variable padded(const Variable& x, const Dims& begin, const Dims& end, double value);
/// Element k of every window, for each k: x is padded.
Variables window_elements(const Variable& x, const Windows& windows);

}  // namespace kusari::onnx
