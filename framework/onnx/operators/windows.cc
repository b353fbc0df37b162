#include "kusari/framework/onnx/operators/windows.h"

#include <algorithm>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/array/pad.h"
#include "kusari/framework/onnx/operators/common.h"

namespace kusari::onnx {

namespace F = functions;

namespace {

Dims per_axis(const std::optional<std::vector<int64_t>>& given, int ndim, int64_t otherwise, int64_t least,
              const char* name) {
  if (!given || given->empty()) return Dims::filled(ndim, otherwise);
  if (given->size() != static_cast<size_t>(ndim)) {
    throw ValueError("its attribute " + std::string(name) + " has " + std::to_string(given->size()) + " numbers for " +
                     std::to_string(ndim) + " spatial axes");
  }
  for (const int64_t number : *given) {
    if (number < least || number > (int64_t{1} << 31)) {
      throw ValueError("its attribute " + std::string(name) + " has " + std::to_string(number) +
                       ": it must be at least " + std::to_string(least));
    }
  }
  return Dims(given->begin(), given->end());
}

}  // namespace

WindowAttributes::WindowAttributes(const NodeReader& node)
    : kernel{node.integers("kernel_shape")},
      strides{node.integers("strides")},
      pads{node.integers("pads")},
      dilations{node.integers("dilations")},
      auto_pad{node.text("auto_pad", "NOTSET")},
      ceil_mode{node.flag("ceil_mode", false)} {
  if (auto_pad.empty()) auto_pad = "NOTSET";
  expect_one_of("auto_pad", auto_pad, {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"});
}

Windows::Windows(const WindowAttributes& attributes, const Dims& in, const Dims& kernel_sizes) {
  const int n = in.ndim();
  kernel = attributes.kernel ? per_axis(attributes.kernel, n, 1, 1, "kernel_shape") : kernel_sizes;
  stride = per_axis(attributes.strides, n, 1, 1, "strides");
  dilation = per_axis(attributes.dilations, n, 1, 1, "dilations");
  const Dims pads = per_axis(attributes.pads, 2 * n, 0, 0, "pads");
  for (int i = 0; i < n; ++i) {
    const int64_t reach = dilation[i] * (kernel[i] - 1) + 1;
    int64_t begin = 0, end = 0, windows = 0;
    if (attributes.auto_pad == "NOTSET" || attributes.auto_pad == "VALID") {
      if (attributes.auto_pad == "NOTSET") {
        begin = pads[i];
        end = pads[n + i];
      }
      const int64_t space = in[i] + begin + end - reach;
      windows = space < 0 ? 0 : (space + (attributes.ceil_mode ? stride[i] - 1 : 0)) / stride[i] + 1;
      // One that would begin behind x and the padding in front is left out.
      if (attributes.ceil_mode && (windows - 1) * stride[i] >= in[i] + begin) --windows;
    } else {
      windows = (in[i] + stride[i] - 1) / stride[i];
      const int64_t total = std::max<int64_t>(0, (windows - 1) * stride[i] + reach - in[i]);
      begin = attributes.auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      end = total - begin;
    }
    if (windows < 1) {
      throw ValueError("a window of " + std::to_string(reach) + " elements does not fit into the " +
                       std::to_string(in[i]) + " elements of spatial axis " + std::to_string(i));
    }
    pad_begin.push_back(begin);
    pad_end.push_back(end);
    count.push_back(windows);
  }
}

bool Windows::is_dilated() const {
  for (const int64_t one : dilation) {
    if (one != 1) return true;
  }
  return false;
}

std::optional<bool> Windows::cover_all(const Dims& in) const {
  for (const bool covered : {false, true}) {
    bool fits = true;
    for (int i = 0; i < ndim(); ++i) {
      const int64_t space =
          in[i] + 2 * pad_begin[i] - (dilation[i] * (kernel[i] - 1) + 1) + (covered ? stride[i] - 1 : 0);
      fits = fits && space >= 0 && space / stride[i] + 1 == count[i];
    }
    if (fits) return covered;
  }
  return std::nullopt;
}

Dims Windows::needed_end(const Dims& in) const {
  Dims end;
  for (int i = 0; i < ndim(); ++i) {
    const int64_t last = (count[i] - 1) * stride[i] + dilation[i] * (kernel[i] - 1) + 1;
    end.push_back(std::max<int64_t>(0, last - in[i] - pad_begin[i]));
  }
  return end;
}

Variable padded(const Variable& x, const Dims& begin, const Dims& end, double value) {
  std::vector<PadWidth::Pair> pairs(2, {0, 0});
  bool is_needed = false;
  for (int i = 0; i < begin.ndim(); ++i) {
    pairs.emplace_back(begin[i], end[i]);
    is_needed = is_needed || begin[i] != 0 || end[i] != 0;
  }
  return is_needed ? F::pad(x, PadWidth(std::span<const PadWidth::Pair>(pairs)), F::PadMode::constant, value) : x;
}

Variables window_elements(const Variable& x, const Windows& windows) {
  Variables result;
  Dims k = Dims::filled(windows.ndim(), 0);
  for (;;) {
    std::vector<Index> indices{Slice{}, Slice{}};
    for (int i = 0; i < windows.ndim(); ++i) {
      const int64_t first = k[i] * windows.dilation[i];
      indices.emplace_back(Slice{first, first + (windows.count[i] - 1) * windows.stride[i] + 1, windows.stride[i]});
    }
    result.push_back(F::get_item(x, indices));
    int axis = windows.ndim() - 1;
    while (axis >= 0 && ++k[axis] == windows.kernel[axis]) k[axis--] = 0;
    if (axis < 0) return result;
  }
}

}  // namespace kusari::onnx
