#include "kusari/framework/functions/math/tensordot.h"

#include <algorithm>
#include <string>

#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/transpose.h"
#include "kusari/framework/functions/math/matmul.h"

namespace kusari::functions {
namespace {

/// An operand's axes: those that stay, and those that are summed, in the order of the pairs.
struct Split {
  Dims kept, summed;
  Shape kept_shape;
  int64_t kept_size = 1, summed_size = 1;

  Split(const Variable& x, const char* name, const std::vector<int64_t>& axes) {
    for (const int64_t axis : axes) {
      const int k = normalize_axis(axis, x.ndim(), ("F::tensordot: axes of " + std::string(name)).c_str());
      if (std::find(summed.begin(), summed.end(), k) != summed.end()) {
        throw ValueError("F::tensordot: axis " + std::to_string(axis) + " of " + name +
                         " comes twice: each may come once");
      }
      summed.push_back(k);
      summed_size *= x.shape()[k];
    }
    for (int i = 0; i < x.ndim(); ++i) {
      if (std::find(summed.begin(), summed.end(), i) != summed.end()) continue;
      kept.push_back(i);
      kept_shape.push_back(x.shape()[i]);
      kept_size *= x.shape()[i];
    }
  }
};

Variable reordered(const Variable& x, const Dims& first, const Dims& last, const Shape& shape) {
  Dims order = first;
  for (const int64_t axis : last) order.push_back(axis);
  return reshape(transpose(x, {order.begin(), order.size()}), shape);
}

TensordotAxes in_pairs(const Variable& a, const Variable& b, const TensordotAxes& axes) {
  if (axes.count < 0) {
    if (axes.a.size() != axes.b.size()) {
      throw ValueError("F::tensordot: " + std::to_string(axes.a.size()) + " axes of a but " +
                       std::to_string(axes.b.size()) + " of b: they must come in pairs");
    }
    return axes;
  }
  if (axes.count > std::min(a.ndim(), b.ndim())) {
    throw ValueError("F::tensordot: a has shape " + to_string(a.shape()) + " and b has shape " + to_string(b.shape()) +
                     ": both must have " + std::to_string(axes.count) + " axes to sum over");
  }
  TensordotAxes pairs({}, {});
  for (int64_t i = 0; i < axes.count; ++i) {
    pairs.a.push_back(a.ndim() - axes.count + i);
    pairs.b.push_back(i);
  }
  return pairs;
}

void check(const Variable& x, const char* name) {
  if (!x.is_defined()) throw TypeError(std::string("F::tensordot: ") + name + " is not given: it is required");
  if (!is_floating(x.dtype())) {
    throw TypeError(std::string("F::tensordot: ") + name + " has dtype " + kusari::name(x.dtype()) + ": " + name +
                    ".dtype must be floating");
  }
}

}  // namespace

TensordotAxes::TensordotAxes(int64_t number) : count{number} {
  if (number < 0) {
    throw ValueError("F::tensordot: axes is " + std::to_string(number) + ": a number of axes must not be negative");
  }
}

Variable tensordot(const Variable& a, const Variable& b, const TensordotAxes& axes) {
  check(a, "a");
  check(b, "b");
  if (const CompositeInputs in("tensordot", {a, b}); in.is_cast()) return tensordot(in[0], in[1], axes);
  const TensordotAxes pairs = in_pairs(a, b, axes);
  const Split left(a, "a", pairs.a), right(b, "b", pairs.b);
  for (int i = 0; i < left.summed.ndim(); ++i) {
    const int64_t i_a = left.summed[i], i_b = right.summed[i];
    const int64_t n_a = a.shape(i_a), n_b = b.shape(i_b);
    if (n_a != n_b) {
      const std::string in_a = "a.shape[" + std::to_string(i_a) + "]", in_b = "b.shape[" + std::to_string(i_b) + "]";
      throw TypeError("F::tensordot: a has shape " + to_string(a.shape()) + " but b has shape " + to_string(b.shape()) +
                      ": " + in_a + " must equal " + in_b + " (" + std::to_string(n_a) + " != " + std::to_string(n_b) +
                      ")");
    }
  }
  const Variable y = matmul(reordered(a, left.kept, left.summed, {left.kept_size, left.summed_size}),
                            reordered(b, right.summed, right.kept, {right.summed_size, right.kept_size}));
  Shape shape = left.kept_shape;
  for (const int64_t size : right.kept_shape) shape.push_back(size);
  return reshape(y, shape);
}

}  // namespace kusari::functions
