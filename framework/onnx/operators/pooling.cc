#include <limits>
#include <numeric>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/scatter_elements.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/maximum.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/functions/pooling/average_pooling_nd.h"
#include "kusari/framework/functions/pooling/global_pooling.h"
#include "kusari/framework/functions/pooling/max_pooling_nd.h"
#include "kusari/framework/kernels/array_math.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/onnx/operators/common.h"
#include "kusari/framework/onnx/operators/convolution.h"
#include "kusari/framework/onnx/operators/families.h"
#include "kusari/framework/onnx/operators/windows.h"

namespace kusari::onnx {

namespace F = functions;

namespace {

/// What no element is below.
double least(Dtype dtype) {
  switch (dtype) {
    case Dtype::uint8:
    case Dtype::bool_:
      return 0;
    case Dtype::int8:
      return -128;
    case Dtype::int32:
      return std::numeric_limits<int32_t>::min();
    default:
      return -std::numeric_limits<double>::infinity();
  }
}

/// The largest element of each window and where in x it is, counted as ONNX does: over the whole array.
Values max_with_places(const Variable& x, const Windows& windows, const Dims& in, bool column_major) {
  const Dims end = windows.needed_end(in);
  const Variables elements = window_elements(padded(x, windows.pad_begin, end, least(x.dtype())), windows);
  const Array places = host_constant([&] {
    Array index = arange(x.size(), Dtype::int64, x.device()).reshape(x.shape());
    if (column_major && in.ndim() == 2) {
      // Within a plane the rows come first.
      const int64_t h = in[0], w = in[1];
      const Array rows = arange(h, Dtype::int64, x.device()).reshape({h, 1}),
                  columns = arange(w, Dtype::int64, x.device());
      const Array plane =
          arange(x.shape()[0] * x.shape()[1], Dtype::int64, x.device()).reshape({x.shape()[0], x.shape()[1], 1, 1});
      index = plane * (h * w) + columns * h + rows;
    }
    return index;
  });
  const Variables numbers = window_elements(padded(Variable(places, false), windows.pad_begin, end, -1), windows);
  Variable best = elements[0];
  Array at = numbers[0].array();
  for (size_t i = 1; i < elements.size(); ++i) {
    // An element that equals the padding stands before it.
    const Array is_better = (elements[i].array() > best.array()) | (at < 0);
    at = xp::where(is_better, numbers[i].array(), at);
    best = F::maximum(best, elements[i]);
  }
  return {best, Variable(at, false)};
}

Operation max_pool(const NodeReader& node) {
  const bool has_places = node.has_output(1), column_major = node.flag("storage_order", false);
  return [=, attributes = WindowAttributes(node)](const Call& call) -> Values {
    const Variable x = call[0];
    const Dims in = spatial(x.shape());
    const Windows windows(attributes, in, Dims::filled(in.ndim(), 1));
    if (has_places || windows.is_dilated() || !is_floating(x)) return max_with_places(x, windows, in, column_major);
    F::MaxPoolingOptions options{.stride = PerAxis(windows.stride), .cover_all = false};
    if (const auto cover_all = windows.cover_all(in)) {
      options.pad = PerAxis(windows.pad_begin);
      options.cover_all = *cover_all;
      return {F::max_pooling_nd(x, PerAxis(windows.kernel), options)};
    }
    const Variable wide = padded(x, windows.pad_begin, windows.needed_end(in), least(x.dtype()));
    return {F::max_pooling_nd(wide, PerAxis(windows.kernel), options)};
  };
}

/// How many elements of x, or of x and its padding, are in each window; what reaches farther does not count.
Array window_counts(const Variable& x, const Windows& windows, const Dims& in, bool with_padding) {
  return host_constant([&] {
    Array counts = full({1, 1}, 1.0, Dtype::float64, x.device());
    for (int i = 0; i < windows.ndim(); ++i) {
      std::vector<double> axis;
      for (int64_t o = 0; o < windows.count[i]; ++o) {
        int64_t inside = 0;
        for (int64_t k = 0; k < windows.kernel[i]; ++k) {
          const int64_t at = o * windows.stride[i] + k * windows.dilation[i] - windows.pad_begin[i];
          const bool is_in = with_padding ? at < in[i] + windows.pad_end[i] : at >= 0 && at < in[i];
          inside += is_in ? 1 : 0;
        }
        axis.push_back(static_cast<double>(inside));
      }
      counts =
          counts.expand_dims(counts.ndim()) * from_host(axis.data(), {windows.count[i]}, Dtype::float64, x.device());
    }
    return counts.astype(x.dtype());
  });
}

Operation average_pool(const NodeReader& node) {
  const bool with_padding = node.flag("count_include_pad", false);
  // Of integers, ONNX Runtime then counts all of a window, also what reaches farther than the padding.
  const bool counts_all = with_padding && node.op_type() == "QLinearAveragePool";
  return [=, attributes = WindowAttributes(node)](const Call& call) -> Values {
    const Variable x = call[0];
    const Dims in = spatial(x.shape());
    const Windows windows(attributes, in, Dims::filled(in.ndim(), 1));
    const auto cover_all = windows.cover_all(in);
    // The function takes as much padding behind as in front, of which some may be none.
    bool is_inside = true;
    for (int i = 0; i < in.ndim(); ++i) {
      const int64_t end = (windows.count[i] - 1) * windows.stride[i] + windows.kernel[i];
      is_inside = is_inside && end <= in[i] + windows.pad_begin[i] + windows.pad_end[i];
    }
    if (!windows.is_dilated() && cover_all == std::optional(false) && (is_inside || !with_padding)) {
      const std::optional<double> pad_value = with_padding ? std::optional(0.0) : std::nullopt;
      return {F::average_pooling_nd(
          x, PerAxis(windows.kernel),
          {.stride = PerAxis(windows.stride), .pad = PerAxis(windows.pad_begin), .pad_value = pad_value})};
    }
    const Variable wide = padded(x, windows.pad_begin, windows.needed_end(in), 0);
    const auto mean_of_all = [&] {
      return F::average_pooling_nd(wide, PerAxis(windows.kernel), {.stride = PerAxis(windows.stride)});
    };
    if (counts_all && !windows.is_dilated()) return {mean_of_all()};
    const Variable counts(window_counts(x, windows, in, with_padding), false);
    if (!windows.is_dilated()) {
      double size = 1;
      for (const int64_t k : windows.kernel) size *= static_cast<double>(k);
      return {mean_of_all() * size / counts};
    }
    return {F::add(std::span<const Variable>(window_elements(wide, windows))) / counts};
  };
}

Operation lp_pool(const NodeReader& node) {
  const double p = static_cast<double>(node.integer("p", 2));
  return [=, attributes = WindowAttributes(node)](const Call& call) -> Values {
    const Variable x = call[0];
    const Dims in = spatial(x.shape());
    const Windows windows(attributes, in, Dims::filled(in.ndim(), 1));
    const Variable powers = F::pow(F::absolute(padded(x, windows.pad_begin, windows.needed_end(in), 0)), p);
    return {F::pow(F::add(std::span<const Variable>(window_elements(powers, windows))), 1 / p)};
  };
}

std::vector<int64_t> spatial_axes(const Variable& x) {
  std::vector<int64_t> axes(spatial(x.shape()).size());
  std::iota(axes.begin(), axes.end(), 2);
  return axes;
}

Operation global_lp_pool(const NodeReader& node) {
  const double p = static_cast<double>(node.integer("p", 2));
  return unary([p](const Variable& x) {
    return F::pow(F::sum(F::pow(F::absolute(x), p), ReductionOptions{axes_of(spatial_axes(x)), true}), 1 / p);
  });
}

/// Elements back where MaxPool has found them.
Operation max_unpool(const NodeReader& node) {
  return [attributes = WindowAttributes(node)](const Call& call) -> Values {
    const Variable x = call[0];
    const Dims in = spatial(x.shape());
    Shape shape = x.shape();
    for (int i = 0; i < in.ndim(); ++i) {
      const size_t at = static_cast<size_t>(i);
      const int64_t kernel = attributes.kernel && at < attributes.kernel->size() ? (*attributes.kernel)[at] : 1;
      const int64_t stride = attributes.strides && at < attributes.strides->size() ? (*attributes.strides)[at] : 1;
      const int64_t begin = attributes.pads && attributes.pads->size() == 2 * in.size() ? (*attributes.pads)[at] : 0;
      const int64_t end =
          attributes.pads && attributes.pads->size() == 2 * in.size() ? (*attributes.pads)[at + in.size()] : 0;
      shape[2 + i] = (in[i] - 1) * stride + kernel - begin - end;
    }
    expect_size(shape);
    const Variable flat(zeros({numel(shape)}, x.dtype(), x.device()), false);
    const Variable places(call[1].array().reshape({x.size()}), false);
    const Variable y = F::reshape(F::scatter_elements(flat, places, F::reshape(x, {x.size()})), shape);
    if (!call.has(2)) return {y};
    const std::vector<int64_t> wanted = call.integers(2);
    Dims behind;
    for (int i = 0; i < in.ndim(); ++i) behind.push_back(wanted.at(static_cast<size_t>(2 + i)) - shape[2 + i]);
    return {padded(y, Dims::filled(in.ndim(), 0), behind, 0)};
  };
}

}  // namespace

std::span<const Operator> pooling_operators() {
  static constexpr Operator kOperators[] = {
      {"MaxPool", max_pool},
      {"AveragePool", average_pool},
      {"LpPool", lp_pool},
      {"GlobalAveragePool", [](const NodeReader&) { return unary(F::global_average_pooling_nd); }},
      {"GlobalMaxPool", [](const NodeReader&) { return unary(F::global_max_pooling_nd); }},
      {"GlobalLpPool", global_lp_pool},
      {"MaxUnpool", max_unpool},
  };
  return kOperators;
}

}  // namespace kusari::onnx
