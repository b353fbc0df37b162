#include "kusari/framework/functions/math/top_k.h"

#include <string>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/take_rows.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/kernels/axes.h"
#include "kusari/framework/kernels/reduce.h"
#include "kusari/framework/kernels/rows.h"

namespace kusari::functions {
namespace {

// Of the last axis, in one function, so that exporters see both results as its own.
class Top final : public FunctionNode {
 public:
  explicit Top(int64_t k) : k_{k} {}
  const char* name() const override { return "top_k"; }
  void describe(Attributes& options) const override { options.set("k", k_); }
  Precision precision() const noexcept override { return Precision::untouched; }

 private:
  Arrays forward(const ArrayRefs& in) override {
    Shape shape = in[0].shape();
    const int64_t n = shape.back(), rows = in[0].size() / n;
    shape[shape.ndim() - 1] = k_;
    const Array lines = in[0].contiguous().reshape({rows, n});
    const Array places = empty({rows, k_}, Dtype::int32, lines.device());
    launch<kernels::TopK>(lines.device(), lines, places);
    const Array first = arange(rows, Dtype::int64, lines.device()).reshape({rows, 1}) * n;
    const Array flat = (first + places).reshape({rows * k_});
    const Array values = empty({rows * k_, 1}, lines.dtype(), lines.device());
    launch<kernels::TakeRows>(lines.device(), kernels::RowLookup{"F::top_k"}, lines.reshape({rows * n, 1}), flat,
                              values);
    if (is_recording()) flat_ = flat;
    return {values.reshape(shape), places.reshape(shape)};
  }
  Variables backward(const Variables& gy) override {
    const Shape& shape = input_shape(0);
    const Variable column = reshape(gy[0], {gy[0].size(), 1});
    return {reshape(add_rows(column, flat_, numel(shape), kernels::RowLookup{"F::top_k"}), shape)};
  }

  int64_t k_;
  Array flat_;  // where the values lie in x, x being one range
};

}  // namespace

TopK top_k(const Variable& x, int64_t k, int64_t axis) {
  expect_given(x, "F::top_k", "x");
  const int place = normalize_axis(axis, x.ndim(), "F::top_k");
  const int64_t n = x.shape()[place];
  if (k < 0 || k > n) {
    throw ValueError("F::top_k: k is " + std::to_string(k) + ": it must be in [0, " + std::to_string(n) +
                     "], the length of axis " + std::to_string(axis));
  }
  if (place != x.ndim() - 1) {
    const TopK last = top_k(swapaxes(x, place, -1), k, -1);
    return {swapaxes(last.values, place, -1), swapaxes(last.indices, place, -1)};
  }
  if (x.size() == 0 || k == 0) {
    Shape shape = x.shape();
    shape[place] = k;
    return {Variable(empty(shape, x.dtype(), x.device()), false),
            Variable(empty(shape, Dtype::int32, x.device()), false)};
  }
  const Variables top = apply_all<Top>({x}, k);
  return {top[0], Variable(top[1].array(), false)};
}

}  // namespace kusari::functions
