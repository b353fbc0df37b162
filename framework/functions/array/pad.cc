#include "kusari/framework/functions/array/pad.h"

#include <algorithm>
#include <string>
#include <vector>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/core/host_vector.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/given.h"

namespace kusari {

PadWidth::PadWidth(int64_t before, int64_t after) { pairs_.push_back({before, after}); }
PadWidth::PadWidth(std::initializer_list<Pair> pairs) : pairs_(pairs) {}
PadWidth::PadWidth(std::span<const Pair> pairs) : pairs_(pairs.begin(), pairs.end()) {}

PadWidth::Pair PadWidth::at(int axis, int ndim, const char* call) const {
  if (pairs_.size() != 1 && pairs_.size() != static_cast<size_t>(ndim)) {
    throw ValueError(std::string(call) + ": pad_width has " + std::to_string(pairs_.size()) + " pairs but x has " +
                     std::to_string(ndim) + " axes: there must be one pair or one per axis");
  }
  return pairs_[pairs_.size() == 1 ? 0 : static_cast<size_t>(axis)];
}

namespace functions {
namespace {

class PadConstant final : public FunctionNode {
 public:
  PadConstant(const Dims& before, const Shape& shape, Scalar value) : before_{before}, shape_{shape}, value_{value} {}
  const char* name() const override { return "pad"; }
  void describe(Attributes& options) const override {
    options.set("before", before_);
    options.set("shape", shape_);
    options.set("constant_values", value_);
  }

 private:
  Arrays forward(const ArrayRefs& in) override {
    const Array& x = in[0];
    const bool channels_last = x.is_channels_last() && !x.is_contiguous();
    const Array y =
        channels_last ? empty_channels_last(shape_, x.dtype(), x.device()) : empty(shape_, x.dtype(), x.device());
    y.fill(value_);
    Array inner = y;
    for (int axis = 0; axis < x.ndim(); ++axis) inner = inner.slice(axis, before_[axis], x.shape()[axis]);
    if (x.size() > 0) inner.copy_from(x);
    return {y};
  }

  Variables backward(const Variables& gy) override {
    SmallVector<Index, 4> slices;
    for (int axis = 0; axis < before_.ndim(); ++axis) {
      slices.push_back(Slice{before_[axis], before_[axis] + input_shape(0)[axis]});
    }
    return {get_item(gy[0], std::span<const Index>(slices.data(), slices.size()))};
  }

  Dims before_;
  Shape shape_;
  Scalar value_;
};

/// i modulo n, never negative.
int64_t wrapped(int64_t i, int64_t n) { return (i % n + n) % n; }

/// Place i in steps of an axis that goes to and fro.
int64_t mirrored(int64_t i, int64_t n, int64_t period) {
  const int64_t at = wrapped(i, period);
  return at < n ? at : period - at - (period == 2 * n ? 1 : 0);
}

/// The element of an axis of n that stands at place i, which may lie outside.
int64_t source_of(int64_t i, int64_t n, PadMode mode) {
  switch (mode) {
    case PadMode::edge:
      return std::clamp<int64_t>(i, 0, n - 1);
    case PadMode::reflect:
      return n == 1 ? 0 : mirrored(i, n, 2 * n - 2);
    case PadMode::symmetric:
      return mirrored(i, n, 2 * n);
    default:
      return wrapped(i, n);
  }
}

std::string text_of(const PadWidth::Pair& width) {
  return "(" + std::to_string(width.first) + ", " + std::to_string(width.second) + ")";
}

/// x without what negative widths take away.
Variable cropped(const Variable& x, const PadWidth& pad_width) {
  SmallVector<Index, 4> slices;
  bool is_whole = true;
  for (int axis = 0; axis < x.ndim(); ++axis) {
    const PadWidth::Pair width = pad_width.at(axis, x.ndim(), "F::pad");
    const int64_t n = x.shape()[axis], first = std::min<int64_t>(width.first, 0),
                  last = std::min<int64_t>(width.second, 0);
    if (first < -n || last < -n - first) {
      throw ValueError("F::pad: pad_width is " + text_of(width) + " but x has shape " + to_string(x.shape()) +
                       ": that takes away more of axis " + std::to_string(axis) + " than there is");
    }
    is_whole = is_whole && first == 0 && last == 0;
    slices.push_back(Slice{-first, n + last});
  }
  return is_whole ? x : get_item(x, std::span<const Index>(slices.data(), slices.size()));
}

Variable pad_axis(const Variable& x, int axis, const PadWidth::Pair& width, PadMode mode) {
  const int64_t n = x.shape()[axis];
  if (n == 0) {
    throw ValueError("F::pad: x has shape " + to_string(x.shape()) + ": axis " + std::to_string(axis) +
                     " has no elements to repeat");
  }
  std::vector<int64_t> places = host_vector<int64_t>({width.first + n + width.second}, "F::pad");
  int64_t at = -width.first;
  for (int64_t& place : places) place = source_of(at++, n, mode);
  SmallVector<Index, 4> slices(static_cast<size_t>(axis), Index(Slice{}));
  slices.push_back(host_constant([&] { return array(places, x.array().device()); }));
  return get_item(x, std::span<const Index>(slices.data(), slices.size()));
}

}  // namespace

Variable pad(const Variable& x, const PadWidth& pad_width, PadMode mode, Scalar constant_values) {
  expect_given(x, "F::pad", "x");

  const int ndim = x.ndim();
  Variable y = cropped(x, pad_width);
  Dims before;
  Shape shape = y.shape();
  for (int axis = 0; axis < ndim; ++axis) {
    const PadWidth::Pair given = pad_width.at(axis, ndim, "F::pad");
    const PadWidth::Pair width{std::max<int64_t>(given.first, 0), std::max<int64_t>(given.second, 0)};
    before.push_back(width.first);
    if (__builtin_add_overflow(shape[axis], width.first, &shape[axis]) ||
        __builtin_add_overflow(shape[axis], width.second, &shape[axis])) {
      throw ValueError("F::pad: pad_width is " + text_of(given) + " for axis " + std::to_string(axis) +
                       ": the axis must stay shorter than 2^63");
    }
    if (mode != PadMode::constant && (width.first > 0 || width.second > 0)) y = pad_axis(y, axis, width, mode);
  }
  return mode == PadMode::constant ? apply<PadConstant>({y}, before, shape, constant_values) : y;
}

}  // namespace functions
}  // namespace kusari
