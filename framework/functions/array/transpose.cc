#include "kusari/framework/functions/array/transpose.h"

#include <utility>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/permutation.h"
#include "kusari/framework/functions/given.h"

namespace kusari::functions {
namespace {

std::span<const int64_t> as_span(const Dims& dims) { return {dims.begin(), dims.size()}; }

class Transpose final : public FunctionNode {
 public:
  explicit Transpose(const Dims& axes) : axes_{axes} {}
  const char* name() const override { return "transpose"; }
  void describe(Attributes& options) const override { options.set("axes", axes_); }

 private:
  Arrays forward(const ArrayRefs& in) override { return {in[0].transpose(as_span(axes_))}; }
  Variables backward(const Variables& gy) override { return {apply<Transpose>({gy[0]}, inverse_permutation(axes_))}; }

  Dims axes_;
};

}  // namespace

Variable transpose(const Variable& x) {
  expect_given(x, "F::transpose", "x");

  Dims axes;
  for (int i = x.ndim() - 1; i >= 0; --i) axes.push_back(i);
  return apply<Transpose>({x}, axes);
}

Variable transpose(const Variable& x, std::span<const int64_t> axes) {
  expect_given(x, "F::transpose", "x");

  Dims order;
  unsigned seen = 0;
  for (const int64_t axis : axes) {
    const int k = normalize_axis(axis, x.ndim(), "F::transpose");
    seen |= 1u << k;
    order.push_back(k);
  }
  if (order.ndim() != x.ndim() || seen != (1u << x.ndim()) - 1) {
    throw ValueError("F::transpose: axes " + to_string(Dims(axes)) + " are not a permutation of the " +
                     std::to_string(x.ndim()) + " axes of x");
  }
  return apply<Transpose>({x}, order);
}

Variable swapaxes(const Variable& x, int64_t axis1, int64_t axis2) {
  expect_given(x, "F::swapaxes", "x");

  Dims axes;
  for (int i = 0; i < x.ndim(); ++i) axes.push_back(i);
  std::swap(axes[normalize_axis(axis1, x.ndim(), "F::swapaxes")], axes[normalize_axis(axis2, x.ndim(), "F::swapaxes")]);
  return apply<Transpose>({x}, axes);
}

Variable moveaxis(const Variable& x, std::span<const int64_t> source, std::span<const int64_t> destination) {
  expect_given(x, "F::moveaxis", "x");

  if (source.size() != destination.size()) {
    throw ValueError("F::moveaxis: " + std::to_string(source.size()) + " source axes but " +
                     std::to_string(destination.size()) + " destination axes");
  }
  Dims axes = Dims::filled(x.ndim(), -1);
  unsigned moved = 0;
  for (size_t i = 0; i < source.size(); ++i) {
    const int from = normalize_axis(source[i], x.ndim(), "F::moveaxis");
    const int to = normalize_axis(destination[i], x.ndim(), "F::moveaxis");
    if ((moved >> from & 1u) != 0 || axes[to] >= 0) {
      throw ValueError("F::moveaxis: an axis is named twice in source " + to_string(Dims(source)) + " or destination " +
                       to_string(Dims(destination)));
    }
    moved |= 1u << from;
    axes[to] = from;
  }
  int next = 0;
  for (int64_t& axis : axes) {
    if (axis >= 0) continue;
    while ((moved >> next & 1u) != 0) ++next;
    axis = next++;
  }
  return apply<Transpose>({x}, axes);
}

Variable rollaxis(const Variable& x, int64_t axis, int64_t start) {
  expect_given(x, "F::rollaxis", "x");

  const int from = normalize_axis(axis, x.ndim(), "F::rollaxis");
  // `start` names a gap between axes, so one more than there are axes.
  const int gap =
      start < 0 ? normalize_axis(start, x.ndim(), "F::rollaxis") : normalize_axis(start, x.ndim() + 1, "F::rollaxis");
  return moveaxis(x, from, from < gap ? gap - 1 : gap);
}

}  // namespace kusari::functions
