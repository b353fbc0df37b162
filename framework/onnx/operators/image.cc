#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/array/grid_sample.h"
#include "kusari/framework/functions/array/im2col.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/resize_nd.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/clip.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/functions/math/rounding.h"
#include "kusari/framework/functions/pooling/roi.h"
#include "kusari/framework/functions/pooling/roi_pooling_2d.h"
#include "kusari/framework/kernels/array_math.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/onnx/operators/common.h"
#include "kusari/framework/onnx/operators/families.h"

namespace kusari::onnx {

namespace F = functions;

namespace {

F::ResizeFilter filter_of(const std::string& mode) {
  expect_one_of("mode", mode, {"nearest", "linear", "bilinear", "cubic"});
  return mode == "nearest" ? F::ResizeFilter::nearest
         : mode == "cubic" ? F::ResizeFilter::cubic
                           : F::ResizeFilter::linear;
}

F::ResizeCoordinates coordinates_of(const std::string& mode) {
  expect_one_of("coordinate_transformation_mode", mode,
                {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                 "tf_half_pixel_for_nn", "tf_crop_and_resize"});
  return mode == "half_pixel_symmetric"   ? F::ResizeCoordinates::half_pixel_symmetric
         : mode == "tf_half_pixel_for_nn" ? F::ResizeCoordinates::tf_half_pixel_for_nn
         : mode == "pytorch_half_pixel"   ? F::ResizeCoordinates::pytorch_half_pixel
         : mode == "align_corners"        ? F::ResizeCoordinates::align_corners
         : mode == "asymmetric"           ? F::ResizeCoordinates::asymmetric
         : mode == "tf_crop_and_resize"   ? F::ResizeCoordinates::tf_crop_and_resize
                                          : F::ResizeCoordinates::half_pixel;
}

F::NearestMode nearest_of(const std::string& mode) {
  expect_one_of("nearest_mode", mode, {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  return mode == "round_prefer_ceil" ? F::NearestMode::round_prefer_ceil
         : mode == "floor"           ? F::NearestMode::floor
         : mode == "ceil"            ? F::NearestMode::ceil
                                     : F::NearestMode::round_prefer_floor;
}

/// Resizes; axes whose size and scale stay are left alone.
Variable resized(const Variable& x, F::ResizeNdOptions options) {
  Shape shape = x.shape();
  const bool by_sizes = !options.sizes.empty();
  const size_t count = by_sizes ? options.sizes.size() : options.scales.size();
  if (options.axes.empty()) {
    for (int i = 0; i < x.ndim(); ++i) options.axes.push_back(i);
  }
  if (count != options.axes.size()) {
    throw ValueError(std::string(by_sizes ? "sizes" : "scales") + " has " + std::to_string(count) + " numbers for " +
                     std::to_string(options.axes.size()) + " axes");
  }
  for (size_t i = 0; i < count; ++i) {
    const int axis = static_cast<int>(options.axes[static_cast<int>(i)]);
    // Scales are float32, and so is the product: 0.7 of 10 is 7.
    const double size =
        by_sizes
            ? static_cast<double>(options.sizes[static_cast<int>(i)])
            : std::floor(static_cast<double>(static_cast<float>(shape[axis]) * static_cast<float>(options.scales[i])));
    if (!(size >= 0 && size < 9e15))
      throw ValueError("axis " + std::to_string(axis) + " would have " + std::to_string(size) + " elements");
    shape[axis] = static_cast<int64_t>(size);
    if (!by_sizes) options.sizes.push_back(shape[axis]);
  }
  expect_size(shape);
  if (is_floating(x.dtype()) || options.mode == F::ResizeFilter::nearest) return F::resize_nd(x, options);
  // Fractions are cut off, as ONNX Runtime does. Cubic weights lead beyond the numbers that they weigh.
  const Variable y = F::resize_nd(F::cast(x, Dtype::float32), options);
  const double least = x.dtype() == Dtype::int8 ? -128 : 0;
  return F::cast(itemsize(x.dtype()) == 1 ? F::clip(y, least, least + 255) : y, x.dtype());
}

Operation upsample(const NodeReader& node) {
  const auto attribute = node.reals("scales");
  const F::ResizeFilter mode = filter_of(node.text("mode", "nearest"));
  if (!attribute) node.expect_inputs(2);
  return [=](const Call& call) -> Values {
    F::ResizeNdOptions options{
        .mode = mode, .coordinates = F::ResizeCoordinates::asymmetric, .nearest_mode = F::NearestMode::floor};
    options.scales = attribute ? *attribute : call.reals(1);
    if (mode != F::ResizeFilter::nearest) return {resized(call[0], options)};
    // Along axes that shrink, the element behind a place is taken.
    F::ResizeNdOptions smaller = options;
    smaller.nearest_mode = F::NearestMode::ceil;
    for (double& scale : smaller.scales) scale = std::min(scale, 1.0);
    for (double& scale : options.scales) scale = std::max(scale, 1.0);
    return {resized(resized(call[0], smaller), options)};
  };
}

Operation resize(const NodeReader& node) {
  if (node.opset() < 11) return upsample(node);
  F::ResizeNdOptions fixed{.mode = filter_of(node.text("mode", "nearest")),
                           .coordinates = coordinates_of(node.text("coordinate_transformation_mode", "half_pixel")),
                           .nearest_mode = nearest_of(node.text("nearest_mode", "round_prefer_floor")),
                           .cubic_coefficient = node.real("cubic_coeff_a", -0.75),
                           .exclude_outside = node.flag("exclude_outside", false),
                           .extrapolation_value = node.real("extrapolation_value", 0),
                           .antialias = node.flag("antialias", false)};
  const auto axes = node.integers("axes");
  const std::string policy = node.text("keep_aspect_ratio_policy", "stretch");
  expect_one_of("keep_aspect_ratio_policy", policy, {"stretch", "not_larger", "not_smaller"});
  return [=](const Call& call) -> Values {
    F::ResizeNdOptions options = fixed;
    const Variable x = call[0];
    if (axes) {
      for (const int64_t axis : normalized(*axes, x.ndim())) options.axes.push_back(axis);
    }
    if (options.coordinates == F::ResizeCoordinates::tf_crop_and_resize && call.has(1)) options.roi = call.reals(1);
    if (call.has(2) && numel(call.shape(2)) > 0) {
      options.scales = call.reals(2);
    } else if (call.has(3) && numel(call.shape(3)) > 0) {
      const std::vector<int64_t> sizes = call.integers(3);
      options.sizes = shape_of(sizes);
      if (policy != "stretch") {
        // One scale for all axes.
        std::optional<double> scale;
        for (size_t i = 0; i < sizes.size(); ++i) {
          const int axis =
              options.axes.empty() ? static_cast<int>(i) : static_cast<int>(options.axes[static_cast<int>(i)]);
          const double ratio = static_cast<double>(sizes[i]) / static_cast<double>(x.shape()[axis]);
          scale = !scale ? ratio : policy == "not_larger" ? std::min(*scale, ratio) : std::max(*scale, ratio);
        }
        for (size_t i = 0; i < sizes.size(); ++i) {
          const int axis =
              options.axes.empty() ? static_cast<int>(i) : static_cast<int>(options.axes[static_cast<int>(i)]);
          options.sizes[static_cast<int>(i)] =
              static_cast<int64_t>(std::floor(*scale * static_cast<double>(x.shape()[axis]) + 0.5));
        }
        if (scale) options.scales.assign(sizes.size(), *scale);
      }
    } else {
      throw ValueError("it has neither scales nor sizes");
    }
    return {resized(x, options)};
  };
}

Operation grid_sample(const NodeReader& node) {
  const std::string mode = node.text("mode", node.opset() < 20 ? "bilinear" : "linear");
  const std::string padding = node.text("padding_mode", "zeros");
  expect_one_of("mode", mode, {"bilinear", "linear", "nearest", "bicubic", "cubic"});
  expect_one_of("padding_mode", padding, {"zeros", "border", "reflection"});
  F::GridSampleOptions options;
  options.align_corners = node.flag("align_corners", false);
  options.mode = mode == "nearest"                      ? F::GridSampleMode::nearest
                 : mode == "bicubic" || mode == "cubic" ? F::GridSampleMode::bicubic
                                                        : F::GridSampleMode::bilinear;
  options.padding = padding == "border"       ? F::GridSamplePadding::border
                    : padding == "reflection" ? F::GridSamplePadding::reflection
                                              : F::GridSamplePadding::zeros;
  // ONNX rounds before it mirrors, F::grid_sample and PyTorch after that: they differ halfway between two elements.
  const bool rounds_first = options.mode == F::GridSampleMode::nearest &&
                            options.padding == F::GridSamplePadding::reflection && !options.align_corners;
  return binary([=](const Variable& x, const Variable& grid) {
    const int axes = x.ndim() - 2;
    const bool fits = axes > 0 && grid.ndim() > 0 && grid.shape()[grid.ndim() - 1] == axes;
    if (!rounds_first || !fits) return F::grid_sample(x, grid, options);
    const Variable at = F::cast(grid, x.dtype() == Dtype::float64 ? Dtype::float64 : Dtype::float32);
    const Array sizes = host_constant([&] {
      std::vector<double> last_first(x.shape().begin() + 2, x.shape().end());
      std::reverse(last_first.begin(), last_first.end());
      return from_host(last_first.data(), {axes}, Dtype::float64, x.device()).astype(at.dtype());
    });
    const Variable n(sizes, false), whole = F::round(((at + 1) * n - 1) * 0.5);
    return F::grid_sample(x, (whole * 2 + 1) / n - 1, options);
  });
}

/// The places of new pixels in an image that an affine map moves.
Operation affine_grid(const NodeReader& node) {
  const bool align_corners = node.flag("align_corners", false);
  return [align_corners](const Call& call) -> Values {
    const Variable theta = call[0];
    const std::vector<int64_t> size = call.integers(1);
    const int n = static_cast<int>(size.size()) - 2;
    if (n < 2 || n > 3) throw ValueError("size has " + std::to_string(size.size()) + " numbers: it must have 4 or 5");
    int64_t count = 1;
    for (int i = 0; i < n; ++i) count *= size[static_cast<size_t>(2 + i)];
    expect_size({count, n + 1});
    // Rows (x, y, 1), the last axis first.
    const Array points = host_constant([&] {
      std::vector<double> rows;
      rows.reserve(static_cast<size_t>(count * (n + 1)));
      for (int64_t i = 0; i < count; ++i) {
        int64_t rest = i;
        for (int axis = n - 1; axis >= 0; --axis) {
          const int64_t length = size[static_cast<size_t>(2 + axis)];
          const double at = static_cast<double>(rest % length);
          rest /= length;
          rows.push_back(align_corners ? (length > 1 ? -1 + 2 * at / static_cast<double>(length - 1) : -1)
                                       : (2 * at + 1) / static_cast<double>(length) - 1);
        }
        rows.push_back(1);
      }
      return from_host(rows.data(), {count, n + 1}, Dtype::float64, theta.device()).astype(theta.dtype());
    });
    const Variable grid = F::matmul(Variable(points, false), theta, {.transb = true});
    Shape shape{size[0]};
    for (int i = 0; i < n; ++i) shape.push_back(size[static_cast<size_t>(2 + i)]);
    shape.push_back(n);
    return {F::reshape(grid, shape)};
  };
}

Operation roi_align(const NodeReader& node) {
  const bool half_pixel = node.text("coordinate_transformation_mode",
                                    node.opset() < 16 ? "output_half_pixel" : "half_pixel") == "half_pixel";
  const std::string mode = node.text("mode", "avg");
  expect_one_of("mode", mode, {"avg", "max"});
  const Dims outsize{node.integer("output_height", 1), node.integer("output_width", 1)};
  const int64_t sampling = node.integer("sampling_ratio", 0);
  const double scale = node.real("spatial_scale", 1);
  return [=](const Call& call) -> Values {
    // (x1, y1, x2, y2) there.
    const Array order = host_constant([&] {
      const int64_t columns[] = {1, 0, 3, 2};
      return from_host(columns, {4}, Dtype::int64, call.device());
    });
    Variable rois = F::get_item(call[1], {Slice{}, order});
    if (half_pixel) rois = rois - 0.5 / scale;
    const bool is_max = mode == "max";
    const char* const name = is_max ? "F::roi_max_align_2d" : "F::roi_average_align_2d";
    kernels::Roi roi = F::make_roi(name, is_max ? kernels::RoiKind::max_align : kernels::RoiKind::average_align,
                                   PerAxis(outsize), scale, PerAxis(sampling));
    // Regions less than a pixel long stay so there, and empty ones have one sample for each of no pixels.
    if (half_pixel) roi.least_size = sampling > 0 ? 1e-6 : 0;
    roi.by_pixel = is_max;
    return {F::roi_bins(name, roi, call[0], rois, call[2])};
  };
}

Operation max_roi_pool(const NodeReader& node) {
  const std::vector<int64_t> size = node.integers("pooled_shape").value_or(std::vector<int64_t>{});
  if (size.size() != 2)
    throw ValueError("its attribute pooled_shape has " + std::to_string(size.size()) + " numbers: it must have 2");
  const double scale = node.real("spatial_scale", 1);
  return binary([=](const Variable& x, const Variable& rois) {
    // Halves are rounded away from 0 there, to the even number here.
    const Variable images = F::get_item(rois, {Slice{}, Slice{0, 1}});
    const Variable corners = F::get_item(rois, {Slice{}, Slice{1, std::nullopt}}) * scale;
    const Variable pixels = F::fix(corners + Variable(xp::sign(corners.array()) * 0.5, false));
    return F::roi_pooling_2d(x, F::concat({images, pixels}, 1), {.outh = size[0], .outw = size[1]});
  });
}

Operation col2im(const NodeReader& node) {
  const auto dilations = node.integers("dilations"), pads = node.integers("pads"), strides = node.integers("strides");
  return [=](const Call& call) -> Values {
    const Variable x = call[0];
    const std::vector<int64_t> image = call.integers(1), block = call.integers(2);
    const int n = static_cast<int>(image.size());
    if (block.size() != image.size() || x.ndim() != 3)
      throw ValueError("image_shape and block_shape must have as many numbers, and input 3 axes");
    const auto number = [](const std::optional<std::vector<int64_t>>& given, int i, int64_t otherwise) {
      return given && static_cast<size_t>(i) < given->size() ? (*given)[static_cast<size_t>(i)] : otherwise;
    };
    Dims size, stride, dilate;
    Shape shape{x.shape()[0], x.shape()[1]};
    std::vector<Index> inside{Slice{}, Slice{}};
    int64_t elements = 1;
    for (int i = 0; i < n; ++i) {
      const size_t at = static_cast<size_t>(i);
      const int64_t begin = number(pads, i, 0), end = number(pads, n + i, 0);
      stride.push_back(number(strides, i, 1));
      dilate.push_back(number(dilations, i, 1));
      size.push_back(image[at] + begin + end);
      inside.emplace_back(Slice{begin, begin + image[at]});
      elements *= block[at];
      shape.push_back(block[at]);
    }
    if (elements < 1 || shape[1] % elements != 0)
      throw ValueError("input has " + std::to_string(shape[1]) +
                       " rows: as many as channels times the elements of a block");
    shape[1] /= elements;
    for (int i = 0; i < n; ++i) {
      shape.push_back((size[i] - dilate[i] * (block[static_cast<size_t>(i)] - 1) - 1) / stride[i] + 1);
    }
    const Variable y =
        F::col2im(F::reshape(x, shape), PerAxis(size), {.stride = PerAxis(stride), .dilate = PerAxis(dilate)});
    return {F::get_item(y, inside)};
  };
}

}  // namespace

std::span<const Operator> image_operators() {
  static constexpr Operator kOperators[] = {
      {"Resize", resize},      {"Upsample", upsample},       {"GridSample", grid_sample}, {"AffineGrid", affine_grid},
      {"RoiAlign", roi_align}, {"MaxRoiPool", max_roi_pool}, {"Col2Im", col2im},
  };
  return kOperators;
}

}  // namespace kusari::onnx
