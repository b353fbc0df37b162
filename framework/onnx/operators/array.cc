#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/array/nonzero.h"
#include "kusari/framework/functions/array/one_hot.h"
#include "kusari/framework/functions/array/pad.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/reverse_sequence.h"
#include "kusari/framework/functions/array/split_axis.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/array/triu.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/onnx/operators/common.h"
#include "kusari/framework/onnx/operators/families.h"

namespace kusari::onnx {

namespace F = functions;

namespace {

Operation concat(const NodeReader& node) {
  const int64_t axis = node.integer("axis", 1);
  node.expect_inputs(1);
  return [axis](const Call& call) -> Values { return {F::concat(call.from(0), axis)}; };
}

Operation split(const NodeReader& node) {
  const int64_t axis = node.integer("axis", 0);
  const auto attribute = node.integers("split");
  const int64_t count = node.integer("num_outputs", static_cast<int64_t>(node.output_count()));
  return [=](const Call& call) -> Values {
    const Variable x = call[0];
    const int64_t length = x.shape()[normalize_axis(axis, x.ndim(), "axis")];
    std::vector<int64_t> sizes = attribute ? *attribute : call.has(1) ? call.integers(1) : std::vector<int64_t>{};
    if (sizes.empty()) {
      if (count < 1) throw ValueError("num_outputs is " + std::to_string(count));
      // The last part is smaller where they are not equal.
      const int64_t part = (length + count - 1) / count;
      for (int64_t i = 0; i < count; ++i) sizes.push_back(std::clamp<int64_t>(length - i * part, 0, part));
    }
    if (std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) != length ||
        std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size < 0; })) {
      throw ValueError("the parts of split do not add up to the " + std::to_string(length) + " elements of axis " +
                       std::to_string(axis));
    }
    std::vector<int64_t> ends;
    for (size_t i = 0; i + 1 < sizes.size(); ++i) ends.push_back((i > 0 ? ends.back() : 0) + sizes[i]);
    Values parts;
    for (const Variable& part : F::split_axis(x, std::span<const int64_t>(ends), axis)) parts.push_back(part);
    return parts;
  };
}

Operation slice(const NodeReader& node) {
  const auto starts_attribute = node.integers("starts"), ends_attribute = node.integers("ends"),
             axes_attribute = node.integers("axes");
  if (!starts_attribute) node.expect_inputs(3);
  return [=](const Call& call) -> Values {
    const Variable x = call[0];
    const std::vector<int64_t> starts = starts_attribute ? *starts_attribute : call.integers(1);
    const std::vector<int64_t> ends = ends_attribute ? *ends_attribute : call.integers(2);
    std::vector<int64_t> axes = axes_attribute ? *axes_attribute
                                : call.has(3)  ? call.integers(3)
                                               : std::vector<int64_t>{};
    if (axes.empty()) {
      axes.resize(starts.size());
      std::iota(axes.begin(), axes.end(), 0);
    }
    const std::vector<int64_t> steps = call.has(4) ? call.integers(4) : std::vector<int64_t>(starts.size(), 1);
    if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
      throw ValueError("there are " + std::to_string(starts.size()) + " starts, " + std::to_string(ends.size()) +
                       " ends, " + std::to_string(axes.size()) + " axes and " + std::to_string(steps.size()) +
                       " steps: as many of each must be given");
    }
    axes = normalized(axes, x.ndim());
    std::vector<Index> indices(static_cast<size_t>(x.ndim()), Index(Slice{}));
    for (size_t i = 0; i < axes.size(); ++i) {
      const int64_t length = x.shape()[static_cast<int>(axes[i])];
      // A stop before the first element has no number in Python, where -1 is the last one.
      const bool to_the_front = steps[i] < 0 && ends[i] < -length;
      Slice part{starts[i], ends[i], steps[i]};
      if (to_the_front) part.stop = std::nullopt;
      indices[static_cast<size_t>(axes[i])] = part;
    }
    return {F::get_item(x, indices)};
  };
}

PadWidth widths(const Variable& x, const std::vector<int64_t>& pads, const std::vector<int64_t>& axes) {
  std::vector<PadWidth::Pair> pairs(static_cast<size_t>(x.ndim()), {0, 0});
  if (pads.size() != 2 * axes.size()) {
    throw ValueError("pads has " + std::to_string(pads.size()) + " numbers: there must be two for each of " +
                     std::to_string(axes.size()) + " axes");
  }
  Shape sizes = x.shape();
  for (size_t i = 0; i < axes.size(); ++i) {
    pairs[static_cast<size_t>(axes[i])] = {pads[i], pads[i + axes.size()]};
    sizes[static_cast<int>(axes[i])] += std::max<int64_t>(0, pads[i]) + std::max<int64_t>(0, pads[i + axes.size()]);
  }
  expect_size(sizes);
  return PadWidth(std::span<const PadWidth::Pair>(pairs));
}

Operation pad(const NodeReader& node) {
  const std::string mode_name = node.text("mode", "constant");
  expect_one_of("mode", mode_name, {"constant", "reflect", "edge", "wrap"});
  const F::PadMode mode = mode_name == "reflect" ? F::PadMode::reflect
                          : mode_name == "edge"  ? F::PadMode::edge
                          : mode_name == "wrap"  ? F::PadMode::wrap
                                                 : F::PadMode::constant;
  const auto attribute = node.has("pads") ? node.integers("pads") : node.integers("paddings");
  const double value_attribute = node.real("value", 0);
  if (!attribute) node.expect_inputs(2);
  return [=](const Call& call) -> Values {
    const Variable x = call[0];
    const std::vector<int64_t> pads = attribute ? *attribute : call.integers(1);
    std::vector<int64_t> axes(static_cast<size_t>(x.ndim()));
    std::iota(axes.begin(), axes.end(), 0);
    if (call.has(3)) axes = normalized(call.integers(3), x.ndim());
    Scalar value = value_attribute;
    if (call.has(2)) {
      value = is_floating(x) ? Scalar(call.real(2, "constant_value")) : Scalar(call.integer(2, "constant_value"));
    }
    return {F::pad(x, widths(x, pads, axes), mode, value)};
  };
}

Operation center_crop_pad(const NodeReader& node) {
  const auto axes_attribute = node.integers("axes");
  return [=](const Call& call) -> Values {
    Variable x = call[0];
    std::vector<int64_t> axes(static_cast<size_t>(x.ndim()));
    std::iota(axes.begin(), axes.end(), 0);
    if (axes_attribute) axes = normalized(*axes_attribute, x.ndim());
    const std::vector<int64_t> sizes = call.integers(1);
    if (sizes.size() != axes.size())
      throw ValueError("shape has " + std::to_string(sizes.size()) + " numbers for " + std::to_string(axes.size()) +
                       " axes");
    for (size_t i = 0; i < axes.size(); ++i) {
      const int axis = static_cast<int>(axes[i]);
      const int64_t length = x.shape()[axis], wanted = sizes[i];
      if (length > wanted) {
        std::vector<Index> indices(static_cast<size_t>(x.ndim()), Index(Slice{}));
        const int64_t first = (length - wanted) / 2;
        indices[static_cast<size_t>(axis)] = Slice{first, first + wanted};
        x = F::get_item(x, indices);
      } else if (length < wanted) {
        const int64_t before = (wanted - length) / 2;
        x = F::pad(x, widths(x, {before, wanted - length - before}, {axis}));
      }
    }
    return {x};
  };
}

Operation where(const NodeReader&) {
  return [](const Call& call) -> Values { return {F::where(call[0], call[1], call[2])}; };
}

Operation trilu(const NodeReader& node) {
  const bool upper = node.flag("upper", true);
  return [upper](const Call& call) -> Values {
    const int64_t k = call.has(1) ? call.integer(1, "k") : 0;
    return {upper ? F::triu(call[0], k) : F::tril(call[0], k)};
  };
}

Operation one_hot(const NodeReader& node) {
  const int64_t axis = node.integer("axis", -1);
  return [axis](const Call& call) -> Values {
    const int64_t depth = call.integer(1, "depth");
    const std::vector<double> numbers = call.reals(2);
    if (numbers.size() != 2) {
      throw ValueError("values has shape " + kusari::to_string(call.shape(2)) + ": it must have two numbers");
    }
    return {F::one_hot(F::cast(call[0], Dtype::int64), depth,
                       {.on_value = numbers[1], .off_value = numbers[0], .axis = axis, .dtype = call.dtype(2)})};
  };
}

Operation eye_like(const NodeReader& node) {
  const int64_t k = node.integer("k", 0);
  const DataType dtype = node.wanted_type("dtype");
  return [=](const Call& call) -> Values {
    const Shape sizes = call.shape(0);
    if (sizes.ndim() != 2) throw TypeError("input has shape " + kusari::to_string(sizes) + ": it must have 2 axes");
    return {Variable(host_constant([&] {
                       const Array rows = arange(sizes[0], Dtype::int64, call.device()).reshape({sizes[0], 1});
                       const Array columns = arange(sizes[1], Dtype::int64, call.device());
                       return (rows + k == columns).astype(dtype_for(dtype).value_or(call.dtype(0)));
                     }),
                     false)};
  };
}

Operation depth_to_space(const NodeReader& node) {
  const int64_t block = node.integer("blocksize");
  const std::string mode = node.text("mode", "DCR");
  expect_one_of("mode", mode, {"DCR", "CRD"});
  return unary([=](const Variable& x) {
    const Shape& s = x.shape();
    if (x.ndim() != 4 || block < 1 || s[1] % (block * block) != 0) {
      throw TypeError("input has shape " + kusari::to_string(s) + ": it must have 4 axes, the second divisible by " +
                      std::to_string(block * block));
    }
    const int64_t channels = s[1] / (block * block);
    const Variable parts =
        mode == "DCR" ? F::transpose(F::reshape(x, {s[0], block, block, channels, s[2], s[3]}), {0, 3, 4, 1, 5, 2})
                      : F::transpose(F::reshape(x, {s[0], channels, block, block, s[2], s[3]}), {0, 1, 4, 2, 5, 3});
    return F::reshape(parts, {s[0], channels, s[2] * block, s[3] * block});
  });
}

Operation space_to_depth(const NodeReader& node) {
  const int64_t block = node.integer("blocksize");
  return unary([=](const Variable& x) {
    const Shape& s = x.shape();
    if (x.ndim() != 4 || block < 1 || s[2] % block != 0 || s[3] % block != 0) {
      throw TypeError("input has shape " + kusari::to_string(s) + ": it must have 4 axes, the last two divisible by " +
                      std::to_string(block));
    }
    const Variable parts =
        F::transpose(F::reshape(x, {s[0], s[1], s[2] / block, block, s[3] / block, block}), {0, 3, 5, 1, 2, 4});
    return F::reshape(parts, {s[0], s[1] * block * block, s[2] / block, s[3] / block});
  });
}

Operation reverse_sequence(const NodeReader& node) {
  const int64_t time_axis = node.integer("time_axis", 0), batch_axis = node.integer("batch_axis", 1);
  return binary([=](const Variable& x, const Variable& lengths) {
    return F::reverse_sequence(x, lengths, time_axis, batch_axis);
  });
}

Operation non_zero(const NodeReader&) {
  return [](const Call& call) -> Values { return {F::nonzero(call[0])}; };
}

Operation compress(const NodeReader& node) {
  const std::optional<int64_t> axis = node.has("axis") ? std::optional(node.integer("axis")) : std::nullopt;
  return [axis](const Call& call) -> Values {
    const Variable x = axis ? call[0] : F::reshape(call[0], {-1});
    const int at = normalize_axis(axis.value_or(0), x.ndim(), "axis");
    std::vector<int64_t> kept;
    const std::vector<int64_t> condition = call.integers(1);
    for (size_t i = 0; i < condition.size(); ++i) {
      if (condition[i] != 0) kept.push_back(static_cast<int64_t>(i));
    }
    std::vector<Index> indices(static_cast<size_t>(x.ndim()), Index(Slice{}));
    indices[static_cast<size_t>(at)] =
        Index(from_host(kept.data(), {static_cast<int64_t>(kept.size())}, Dtype::int64, x.device()));
    return {F::get_item(x, indices)};
  };
}

}  // namespace

std::span<const Operator> array_operators() {
  static constexpr Operator kOperators[] = {
      {"Concat", concat},
      {"Split", split},
      {"Slice", slice},
      {"Pad", pad},
      {"CenterCropPad", center_crop_pad},
      {"Where", where},
      {"Trilu", trilu},
      {"OneHot", one_hot},
      {"EyeLike", eye_like},
      {"DepthToSpace", depth_to_space},
      {"SpaceToDepth", space_to_depth},
      {"ReverseSequence", reverse_sequence},
      {"NonZero", non_zero},
      {"Compress", compress},
  };
  return kOperators;
}

}  // namespace kusari::onnx
