#include "kusari/framework/onnx/operators/common.h"

#include <algorithm>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/kernels/array_math.h"
#include "kusari/framework/kernels/array_operators.h"

namespace kusari::onnx {

namespace {
constexpr int64_t kMaxElements = int64_t{1} << 31;
}

Variable number_like(const Variable& x, double value) {
  return Variable(host_constant([&] { return full({}, value, x.dtype(), x.device()); }), false);
}

void expect_one_of(std::string_view attribute, std::string_view text, std::initializer_list<std::string_view> known) {
  std::string list;
  for (const std::string_view one : known) {
    if (one == text) return;
    list += (list.empty() ? "'" : ", '") + std::string(one) + "'";
  }
  throw ValueError("its attribute " + std::string(attribute) + " is '" + std::string(text) + "': it must be one of " +
                   list);
}

Axes axes_of(const std::vector<int64_t>& axes) {
  return axes.empty() ? Axes(std::nullopt) : Axes(std::span<const int64_t>(axes));
}

std::vector<int64_t> normalized(const std::vector<int64_t>& axes, int ndim) {
  std::vector<int64_t> result;
  for (const int64_t axis : axes) {
    result.push_back(normalize_axis(axis, ndim, "axes"));
    if (std::count(result.begin(), result.end(), result.back()) > 1) {
      throw ValueError("axes: " + std::to_string(axis) + " comes twice");
    }
  }
  return result;
}

Shape shape_of(const std::vector<int64_t>& sizes) {
  if (sizes.size() > static_cast<size_t>(kMaxNdim)) {
    throw ValueError("a shape of " + std::to_string(sizes.size()) + " axes: there may be at most " +
                     std::to_string(kMaxNdim));
  }
  return Shape(sizes.begin(), sizes.end());
}

void expect_size(const Shape& shape) {
  if (checked_numel(shape, 8, "shape") > kMaxElements) {
    throw ValueError("the result would have shape " + kusari::to_string(shape) + ": more than " +
                     std::to_string(kMaxElements) + " elements");
  }
}

bool is_floating(const Variable& x) { return kusari::is_floating(x.dtype()); }

void expect_axes(const Variable& x, int least, const char* name) {
  if (x.ndim() >= least) return;
  throw TypeError(std::string(name) + " has shape " + kusari::to_string(x.shape()) + ": it must have at least " +
                  std::to_string(least) + " axes");
}

Array wrapped(const Array& x, DataType type) {
  const auto fold = [&](int64_t modulus, bool is_signed) {
    const Array wide = x.astype(Dtype::int64);
    const int64_t offset = is_signed ? modulus / 2 : 0;
    return xp::remainder(wide + offset, modulus) - offset;
  };
  switch (type) {
    case DataType::int16:
      return fold(int64_t{1} << 16, true);
    case DataType::uint16:
      return fold(int64_t{1} << 16, false);
    case DataType::uint32:
      return fold(int64_t{1} << 32, false);
    case DataType::int4:
      return fold(16, true);
    case DataType::uint4:
      return fold(16, false);
    case DataType::int2:
      return fold(4, true);
    case DataType::uint2:
      return fold(4, false);
    default:
      return x;
  }
}

}  // namespace kusari::onnx
