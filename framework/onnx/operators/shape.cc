#include <algorithm>
#include <cmath>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/expand_dims.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/squeeze.h"
#include "kusari/framework/functions/array/tile.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/onnx/operators/common.h"
#include "kusari/framework/onnx/operators/families.h"

namespace kusari::onnx {

namespace F = functions;

namespace {

Value host_integers(const std::vector<int64_t>& values) {
  return Value::on_host(from_host(values.data(), {static_cast<int64_t>(values.size())}, Dtype::int64));
}

Operation shape(const NodeReader& node) {
  const int64_t start = node.integer("start", 0);
  const std::optional<int64_t> end = node.has("end") ? std::optional(node.integer("end")) : std::nullopt;
  return [=](const Call& call) -> Values {
    const Shape& sizes = call.shape(0);
    const int64_t count = sizes.ndim();
    const auto place = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + count : at, 0, count); };
    const int64_t first = place(start), last = std::max(first, place(end.value_or(count)));
    return {host_integers({sizes.begin() + first, sizes.begin() + last})};
  };
}

Operation size(const NodeReader&) {
  return [](const Call& call) -> Values {
    const int64_t count = numel(call.shape(0));
    return {Value::on_host(from_host(&count, {}, Dtype::int64))};
  };
}

Operation reshape(const NodeReader& node) {
  const std::optional<std::vector<int64_t>> attribute = node.integers("shape");
  const bool zero_is_zero = node.flag("allowzero", false);
  if (!attribute) node.expect_inputs(2);
  return [=](const Call& call) -> Values {
    std::vector<int64_t> sizes = attribute ? *attribute : call.integers(1);
    const Variable x = call[0];
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] != 0 || zero_is_zero) continue;
      if (i >= static_cast<size_t>(x.ndim())) {
        throw ValueError("size " + std::to_string(i) +
                         " of the new shape is 0, that of the same axis of data, which has shape " +
                         kusari::to_string(x.shape()));
      }
      sizes[i] = x.shape()[static_cast<int>(i)];
    }
    return {F::reshape(x, shape_of(sizes))};
  };
}

Operation flatten(const NodeReader& node) {
  const int64_t axis = node.integer("axis", 1);
  return unary([axis](const Variable& x) {
    const int64_t at = axis < 0 ? axis + x.ndim() : axis;
    if (at < 0 || at > x.ndim())
      throw IndexError("axis " + std::to_string(axis) + " is out of range for " + std::to_string(x.ndim()) + " axes");
    int64_t rows = 1, columns = 1;
    for (int i = 0; i < x.ndim(); ++i) (i < at ? rows : columns) *= x.shape()[i];
    return F::reshape(x, {rows, columns});
  });
}

/// Axes in an attribute (before opset 13) or an input.
std::vector<int64_t> given_axes(const std::optional<std::vector<int64_t>>& attribute, const Call& call) {
  return attribute ? *attribute : call.has(1) ? call.integers(1) : std::vector<int64_t>{};
}

Operation squeeze(const NodeReader& node) {
  const auto attribute = node.integers("axes");
  return [=](const Call& call) -> Values {
    const std::vector<int64_t> axes = given_axes(attribute, call);
    return {axes.empty() ? F::squeeze(call[0]) : F::squeeze(call[0], std::span<const int64_t>(axes))};
  };
}

Operation unsqueeze(const NodeReader& node) {
  const auto attribute = node.integers("axes");
  if (!attribute) node.expect_inputs(2);
  return [=](const Call& call) -> Values {
    const Variable x = call[0];
    std::vector<int64_t> axes = given_axes(attribute, call);
    axes = normalized(axes, x.ndim() + static_cast<int>(axes.size()));
    std::sort(axes.begin(), axes.end());
    Shape sizes = x.shape();
    for (const int64_t axis : axes) sizes.insert(static_cast<int>(axis), 1);
    return {F::reshape(x, sizes)};
  };
}

Operation transpose(const NodeReader& node) {
  const auto axes = node.integers("perm");
  return unary(
      [axes](const Variable& x) { return axes ? F::transpose(x, std::span<const int64_t>(*axes)) : F::transpose(x); });
}

Operation expand(const NodeReader& node) {
  node.expect_inputs(2);
  return [](const Call& call) -> Values {
    const Variable x = call[0];
    const Shape sizes = broadcast_shapes(x.shape(), shape_of(call.integers(1)), "Expand");
    expect_size(sizes);
    return {F::broadcast_to(x, sizes)};
  };
}

Operation tile(const NodeReader& node) {
  node.expect_inputs(2);
  return [](const Call& call) -> Values {
    const std::vector<int64_t> repeats = call.integers(1);
    const Variable x = call[0];
    Shape sizes = x.shape();
    if (repeats.size() != static_cast<size_t>(x.ndim())) {
      throw ValueError("repeats has " + std::to_string(repeats.size()) + " numbers, input has shape " +
                       kusari::to_string(sizes));
    }
    for (int i = 0; i < x.ndim(); ++i) sizes[i] *= repeats[static_cast<size_t>(i)];
    expect_size(sizes);
    return {F::tile(x, std::span<const int64_t>(repeats))};
  };
}

Operation constant_of_shape(const NodeReader& node) {
  const Array value = node.tensor("value").value_or(zeros({1}, Dtype::float32));
  if (value.size() != 1)
    throw ValueError("its attribute value has " + std::to_string(value.size()) + " elements: it must have one");
  return [value](const Call& call) -> Values {
    const Shape sizes = shape_of(call.integers(0));
    expect_size(sizes);
    return {Variable(
        host_constant([&] { return value.reshape({}).to_device(call.device()).broadcast_to(sizes).contiguous(); }),
        false)};
  };
}

Operation constant(const NodeReader& node) {
  Array value;
  if (const auto tensor = node.tensor("value")) {
    value = *tensor;
  } else if (node.has("value_float")) {
    value = full({}, node.real("value_float"), Dtype::float32);
  } else if (const auto reals = node.reals("value_floats")) {
    value = from_host(reals->data(), {static_cast<int64_t>(reals->size())}, Dtype::float64).astype(Dtype::float32);
  } else if (node.has("value_int")) {
    value = full({}, node.integer("value_int"), Dtype::int64);
  } else if (const auto integers = node.integers("value_ints")) {
    value = from_host(integers->data(), {static_cast<int64_t>(integers->size())}, Dtype::int64);
  } else {
    throw ValueError(
        "it must have one of the attributes value, value_float, value_floats, value_int and value_ints: "
        "strings and sparse tensors are not supported");
  }
  return [value](const Call&) -> Values { return {Value::on_host(value)}; };
}

Operation range(const NodeReader& node) {
  node.expect_inputs(2);  // ONNX Runtime's operator of that name may do without a step
  return [](const Call& call) -> Values {
    const Dtype dtype = call.dtype(0);
    if (kusari::is_floating(dtype)) {
      const double start = call.real(0, "start"), limit = call.real(1, "limit");
      const double delta = call.has(2) ? call.real(2, "delta") : 1;
      if (delta == 0) throw ValueError("delta is 0");
      const double count = std::max(0.0, std::ceil((limit - start) / delta));
      if (!(count < 9e15)) throw ValueError("it would have " + std::to_string(count) + " elements");
      expect_size({static_cast<int64_t>(count)});
      std::vector<double> values;
      for (int64_t i = 0; i < static_cast<int64_t>(count); ++i)
        values.push_back(start + static_cast<double>(i) * delta);
      return {Value::on_host(
          from_host(values.data(), {static_cast<int64_t>(values.size())}, Dtype::float64).astype(dtype))};
    }
    const int64_t start = call.integer(0, "start"), limit = call.integer(1, "limit");
    const int64_t delta = call.has(2) ? call.integer(2, "delta") : 1;
    if (delta == 0) throw ValueError("delta is 0");
    const double exact =
        std::ceil((static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(delta));
    if (exact > 9e15) throw ValueError("it would have " + std::to_string(exact) + " elements");
    const int64_t count = std::max<int64_t>(0, static_cast<int64_t>(exact));
    expect_size({count});
    std::vector<int64_t> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(start + i * delta);
    return {Value::on_host(from_host(values.data(), {count}, Dtype::int64).astype(dtype))};
  };
}

}  // namespace

std::span<const Operator> shape_operators() {
  static constexpr Operator kOperators[] = {
      {"Shape", shape, true},   {"Size", size, true},
      {"Reshape", reshape},     {"Flatten", flatten},
      {"Squeeze", squeeze},     {"Unsqueeze", unsqueeze},
      {"Transpose", transpose}, {"Expand", expand},
      {"Tile", tile},           {"ConstantOfShape", constant_of_shape},
      {"Constant", constant},   {"Range", range},
  };
  return kOperators;
}

}  // namespace kusari::onnx
