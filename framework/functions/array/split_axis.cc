#include "kusari/framework/functions/array/split_axis.h"

#include <algorithm>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/given.h"

namespace kusari::functions {
namespace {

using Ends = SmallVector<int64_t, 8>;

class SplitAxis final : public FunctionNode {
 public:
  /// Piece i ends at ends[i].
  SplitAxis(Ends ends, int axis) : ends_{std::move(ends)}, axis_{axis} {}
  const char* name() const override { return "split_axis"; }
  void describe(Attributes& options) const override {
    options.set("axis", axis_);
    options.set("ends", Attributes::Value(std::vector<int64_t>(ends_.begin(), ends_.end())));
  }

 private:
  Arrays forward(const ArrayRefs& in) override {
    dtype_ = in[0].dtype();
    device_ = in[0].device();
    Arrays pieces;
    pieces.reserve(ends_.size());
    int64_t begin = 0;
    for (const int64_t end : ends_) {
      pieces.push_back(in[0].slice(axis_, begin, end - begin));
      begin = end;
    }
    return pieces;
  }

  Variables backward(const Variables& gy) override {
    SmallVector<Variable, 8> pieces;
    int64_t begin = 0;
    for (size_t i = 0; i < ends_.size(); ++i) {
      Shape shape = input_shape(0);
      shape[axis_] = ends_[i] - begin;
      begin = ends_[i];
      pieces.push_back(gy[i].is_defined() ? gy[i] : Variable(zeros(shape, dtype_, device_), false));
    }
    return {concat(std::span<const Variable>(pieces.data(), pieces.size()), axis_)};
  }

  Ends ends_;
  int axis_;
  Dtype dtype_ = Dtype::float32;
  Device device_;
};

Variables split(const Variable& x, Ends ends, int axis) {
  return apply_all<SplitAxis>(std::span<const Variable>(&x, 1), std::move(ends), axis);
}

}  // namespace

Variables split_axis(const Variable& x, int64_t sections, int64_t axis) {
  expect_given(x, "F::split_axis", "x");

  const int k = normalize_axis(axis, x.ndim(), "F::split_axis");
  const int64_t size = x.shape()[k];
  if (sections < 1 || size % sections != 0) {
    throw ValueError("F::split_axis: x has shape " + to_string(x.shape()) + ": x.shape[" + std::to_string(k) +
                     "] must be a multiple of the number of sections (" + std::to_string(sections) + ")");
  }
  Ends ends;
  for (int64_t i = 1; i <= sections; ++i) ends.push_back(size / sections * i);
  return split(x, std::move(ends), k);
}

Variables split_axis(const Variable& x, std::span<const int64_t> indices, int64_t axis) {
  expect_given(x, "F::split_axis", "x");

  const int k = normalize_axis(axis, x.ndim(), "F::split_axis");
  const int64_t size = x.shape()[k];
  Ends ends;
  int64_t previous = 0;
  for (const int64_t index : indices) {
    if (index < previous) {
      throw ValueError("F::split_axis: index " + std::to_string(index) + " must be at least " +
                       std::to_string(previous) + ", the index before it");
    }
    previous = index;
    ends.push_back(std::min(index, size));
  }
  ends.push_back(size);
  return split(x, std::move(ends), k);
}

}  // namespace kusari::functions
