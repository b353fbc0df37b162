#include <algorithm>
#include <string>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/functions/activation/silu.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/flip.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/sample_bilinear.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/connection/convolution_nd.h"
#include "kusari/framework/functions/connection/deconvolution_nd.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/onnx/operators/common.h"
#include "kusari/framework/onnx/operators/convolution.h"
#include "kusari/framework/onnx/operators/families.h"

namespace kusari::onnx {

namespace F = functions;

Dims spatial(const Shape& shape) {
  if (shape.ndim() < 3) throw TypeError("X has shape " + kusari::to_string(shape) + ": it must have at least 3 axes");
  return Dims(shape.begin() + 2, shape.end());
}

Variable convolve(const Variable& x, const Variable& w, const Variable& b, const WindowAttributes& attributes,
                  int64_t groups) {
  const Dims in = spatial(x.shape());
  if (w.ndim() != x.ndim()) {
    throw TypeError("X has shape " + kusari::to_string(x.shape()) + ", W " + kusari::to_string(w.shape()) +
                    ": both must have as many axes");
  }
  const Windows windows(attributes, in, spatial(w.shape()));
  F::ConvolutionOptions options{
      .stride = PerAxis(windows.stride), .dilate = PerAxis(windows.dilation), .groups = groups};
  if (const auto cover_all = windows.cover_all(in)) {
    options.pad = PerAxis(windows.pad_begin);
    options.cover_all = *cover_all;
    return F::convolution_nd(x, w, b, options);
  }
  return F::convolution_nd(padded(x, windows.pad_begin, windows.pad_end, 0), w, b, options);
}

namespace {

Operation conv(const NodeReader& node) {
  node.expect_inputs(2);
  return [attributes = WindowAttributes(node), groups = node.integer("group", 1)](const Call& call) -> Values {
    return {convolve(call[0], call[1], call[2], attributes, groups)};
  };
}

Operation conv_transpose(const NodeReader& node) {
  node.expect_inputs(2);
  const auto output_shape = node.integers("output_shape"), output_padding = node.integers("output_padding");
  return [=, attributes = WindowAttributes(node), groups = node.integer("group", 1)](const Call& call) -> Values {
    const Variable x = call[0], w = call[1];
    const Dims in = spatial(x.shape()), kernel = spatial(w.shape());
    const int n = in.ndim();
    const auto number = [n](const std::optional<std::vector<int64_t>>& given, int i, int64_t otherwise,
                            const char* name, int count) {
      if (!given || given->empty()) return otherwise;
      if (given->size() != static_cast<size_t>(count))
        throw ValueError("its attribute " + std::string(name) + " has " + std::to_string(given->size()) +
                         " numbers for " + std::to_string(n) + " spatial axes");
      return (*given)[static_cast<size_t>(i)];
    };
    Dims stride, dilation, begin, out, whole;
    for (int i = 0; i < n; ++i) {
      stride.push_back(number(attributes.strides, i, 1, "strides", n));
      dilation.push_back(number(attributes.dilations, i, 1, "dilations", n));
      const int64_t more = number(output_padding, i, 0, "output_padding", n);
      whole.push_back(stride[i] * (in[i] - 1) + dilation[i] * (kernel[i] - 1) + 1);
      int64_t size = 0, front = 0;
      const bool is_same = attributes.auto_pad == "SAME_UPPER" || attributes.auto_pad == "SAME_LOWER";
      if (output_shape || is_same) {
        // Some files give all axes.
        const int first = output_shape && output_shape->size() == static_cast<size_t>(n + 2) ? 2 : 0;
        size = output_shape ? number(output_shape, first + i, 0, "output_shape", first + n) : in[i] * stride[i];
        const int64_t cut = std::max<int64_t>(0, whole[i] + more - size);
        front = attributes.auto_pad == "SAME_UPPER" ? cut / 2 : cut - cut / 2;
      } else {
        front = attributes.auto_pad == "VALID" ? 0 : number(attributes.pads, i, 0, "pads", 2 * n);
        const int64_t back = attributes.auto_pad == "VALID" ? 0 : number(attributes.pads, n + i, 0, "pads", 2 * n);
        size = whole[i] + more - front - back;
      }
      if (size < 1 || front < 0)
        throw ValueError("the result would have " + std::to_string(size) + " elements along spatial axis " +
                         std::to_string(i));
      begin.push_back(front);
      out.push_back(size);
    }
    expect_size(out);
    F::DeconvolutionOptions options{.stride = PerAxis(stride), .dilate = PerAxis(dilation), .groups = groups};
    // What the function can do itself: as much cut off behind as in front, up to the stride.
    bool fits = true;
    for (int i = 0; i < n; ++i) {
      const int64_t space = out[i] + 2 * begin[i] - (dilation[i] * (kernel[i] - 1) + 1);
      fits = fits && space >= 0 && space / stride[i] + 1 == in[i];
    }
    if (fits) {
      options.pad = PerAxis(begin);
      options.outsize = out;
      return {F::deconvolution_nd(x, w, call[2], options)};
    }
    Variable y = F::deconvolution_nd(x, w, Variable(), options);
    std::vector<Index> indices{Slice{}, Slice{}};
    Dims none = Dims::filled(n, 0), behind = none;
    for (int i = 0; i < n; ++i) {
      behind[i] = std::max<int64_t>(0, begin[i] + out[i] - whole[i]);
      indices.emplace_back(Slice{begin[i], begin[i] + out[i]});
    }
    y = F::get_item(padded(y, none, behind, 0), indices);
    if (!call.has(2)) return {y};
    Shape shape = Shape::filled(n + 2, 1);
    shape[1] = y.shape()[1];
    return {y + F::reshape(call[2], shape)};
  };
}

/// Where an undeformed kernel reads: (2, k, h w), columns before rows.
Array regular_places(const Windows& windows) {
  const int64_t kh = windows.kernel[0], kw = windows.kernel[1], h = windows.count[0], w = windows.count[1];
  std::vector<double> places(static_cast<size_t>(2 * kh * kw * h * w));
  for (int64_t k = 0; k < kh * kw; ++k) {
    for (int64_t p = 0; p < h * w; ++p) {
      const int64_t row = (p / w) * windows.stride[0] - windows.pad_begin[0] + (k / kw) * windows.dilation[0];
      const int64_t column = (p % w) * windows.stride[1] - windows.pad_begin[1] + (k % kw) * windows.dilation[1];
      places[static_cast<size_t>(k * h * w + p)] = static_cast<double>(column);
      places[static_cast<size_t>((kh * kw + k) * h * w + p)] = static_cast<double>(row);
    }
  }
  return from_host(places.data(), {2, kh * kw, h * w}, Dtype::float64);
}

/// Samples of x at moved places, as the channels of an image that a convolution of 1x1 kernels reads.
Operation deform_conv(const NodeReader& node) {
  node.expect_inputs(3);
  const int64_t groups = node.integer("group", 1), offset_groups = node.integer("offset_group", 1);
  return [=, attributes = WindowAttributes(node)](const Call& call) -> Values {
    const Variable x = call[0], weights = call[1], offset = call[2];
    const Dims in = spatial(x.shape());
    if (in.ndim() != 2 || weights.ndim() != 4)
      throw TypeError("X has shape " + kusari::to_string(x.shape()) + ": it must have 4 axes");
    const Windows windows(attributes, in, spatial(weights.shape()));
    const int64_t n = x.shape()[0], c = x.shape()[1], k = windows.kernel[0] * windows.kernel[1];
    const int64_t h = windows.count[0], w = windows.count[1], g = offset_groups;
    if (g < 1 || c % g != 0)
      throw ValueError("its attribute offset_group is " + std::to_string(g) + ", X has " + std::to_string(c) +
                       " channels");
    const Dtype wide = promote(x.dtype(), Dtype::float32);
    // (N g, 2, k, h w) from (N, g k 2, h, w), where rows come first.
    const Variable moves =
        F::flip(F::transpose(F::reshape(F::cast(offset, wide), {n * g, k, 2, h * w}), {0, 2, 1, 3}), 1);
    const Array places = host_constant([&] { return regular_places(windows).astype(wide).to_device(x.device()); });
    const Variable samples = F::sample_bilinear(F::reshape(x, {n * g, c / g, in[0], in[1]}), moves + places);
    Variable patches = F::reshape(samples, {n, g, c / g, k, h * w});
    if (call.has(4)) patches = patches * F::reshape(call[4], {n, g, 1, k, h * w});
    return {F::convolution_nd(F::reshape(patches, {n, c * k, h, w}),
                              F::reshape(weights, {weights.shape()[0], weights.shape()[1] * k, 1, 1}), call[3],
                              {.groups = groups})};
  };
}

/// A convolution by channel over the past alone, which goes on where the call before it ended.
Operation causal_conv(const NodeReader& node) {
  node.expect_inputs(2);
  const std::string activation = node.text("activation", "none");
  expect_one_of("activation", activation, {"none", "silu", "swish"});
  return [activation](const Call& call) -> Values {
    const Variable x = call[0], w = call[1];
    if (x.ndim() != 3 || w.ndim() != 3)
      throw TypeError("input has shape " + kusari::to_string(x.shape()) + ", weight " + kusari::to_string(w.shape()) +
                      ": both must have 3 axes");
    const int64_t channels = x.shape()[1], past = w.shape()[2] - 1;
    const Variable before =
        call.has(3) ? call[3] : Variable(zeros({x.shape()[0], channels, past}, x.dtype(), x.device()), false);
    const Variable all = F::concat({before, x}, 2);
    const Variable y = F::convolution_nd(all, w, call[2], {.groups = channels});
    const int64_t length = all.shape()[2];
    return {activation == "none" ? y : F::silu(y), F::get_item(all, {Slice{}, Slice{}, Slice{length - past, length}})};
  };
}

}  // namespace

std::span<const Operator> convolution_operators() {
  static constexpr Operator kOperators[] = {
      {"Conv", conv},
      {"ConvTranspose", conv_transpose},
      {"DeformConv", deform_conv},
      {"CausalConvWithState", causal_conv},
  };
  return kOperators;
}

}  // namespace kusari::onnx
