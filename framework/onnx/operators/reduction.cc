#include <limits>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/expand_dims.h"
#include "kusari/framework/functions/array/flip.h"
#include "kusari/framework/functions/array/gather_elements.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/where.h"
#include "kusari/framework/functions/math/average.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/comparison.h"
#include "kusari/framework/functions/math/exponential.h"
#include "kusari/framework/functions/math/logsumexp.h"
#include "kusari/framework/functions/math/minmax.h"
#include "kusari/framework/functions/math/prod.h"
#include "kusari/framework/functions/math/sqrt.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/functions/math/top_k.h"
#include "kusari/framework/kernels/array_math.h"
#include "kusari/framework/onnx/operators/common.h"
#include "kusari/framework/onnx/operators/families.h"

namespace kusari::onnx {

namespace F = functions;

namespace {

/// The shape of the result when the reduced axes have no elements, or x's own with these axes as 1.
Shape kept_shape(const Variable& x, const Axes& axes, bool keepdims) {
  return reduced_shape(x.shape(), axes.mask(x.ndim(), "axes"), keepdims);
}

/// What is reduced, by axes in an attribute (before opset 13 or 18) or an input.
template <class F>
Operation reduction(const NodeReader& node, F reduce) {
  const bool keepdims = node.flag("keepdims", true);
  const bool no_axes_is_nothing = node.flag("noop_with_empty_axes", false);
  const std::vector<int64_t> given = node.integers("axes").value_or(std::vector<int64_t>{});
  return [=](const Call& call) -> Values {
    const std::vector<int64_t> axes = call.has(1) ? call.integers(1) : given;
    const Variable x = call[0];
    // No axes at all: only what is done to each element remains.
    const Axes which = axes.empty() && no_axes_is_nothing ? Axes(std::initializer_list<int64_t>{}) : axes_of(axes);
    return {reduce(x, ReductionOptions{which, keepdims})};
  };
}

Variable sum(const Variable& x, const ReductionOptions& options) {
  return is_floating(x) ? F::sum(x, options)
                        : Variable(xp::sum(x.array(), options.axis, options.keepdims).astype(x.dtype()), false);
}
Variable product(const Variable& x, const ReductionOptions& options) {
  return is_floating(x) ? F::prod(x, options)
                        : Variable(xp::prod(x.array(), options.axis, options.keepdims).astype(x.dtype()), false);
}
Variable mean(const Variable& x, const ReductionOptions& options) {
  if (is_floating(x)) return F::mean(x, F::AverageOptions{.axis = options.axis, .keepdims = options.keepdims});
  return Variable(xp::mean(x.array(), options.axis, options.keepdims).astype(x.dtype()), false);
}

/// Largest and smallest of no elements: the smallest and the largest that there are.
Variable extreme(const Variable& x, const ReductionOptions& options, bool largest) {
  const Shape shape = kept_shape(x, options.axis, options.keepdims);
  if (x.size() == 0) {
    const double infinity = std::numeric_limits<double>::infinity();
    Scalar value = largest ? -infinity : infinity;
    if (x.dtype() == Dtype::int64) {
      value = largest ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
    } else if (x.dtype() == Dtype::int32) {
      value = largest ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int32_t>::max();
    } else if (x.dtype() == Dtype::int8) {
      value = largest ? -128 : 127;
    } else if (x.dtype() == Dtype::uint8) {
      value = largest ? 0 : 255;
    } else if (x.dtype() == Dtype::bool_) {
      value = largest ? 0 : 1;
    }
    return Variable(full(shape, value, x.dtype(), x.device()), false);
  }
  if (is_floating(x)) return largest ? F::max(x, options) : F::min(x, options);
  return Variable((largest ? xp::max(x.array(), options.axis, options.keepdims)
                           : xp::min(x.array(), options.axis, options.keepdims))
                      .astype(x.dtype()),
                  false);
}

/// A formula of floating numbers; integers are computed in float64.
template <class F>
auto in_floating(F formula) {
  return [formula](const Variable& x, const ReductionOptions& options) {
    if (is_floating(x)) return formula(x, options);
    return functions::cast(formula(functions::cast(x, Dtype::float64), options), x.dtype());
  };
}

Variable logsumexp(const Variable& x, const ReductionOptions& options) {
  const Shape shape = kept_shape(x, options.axis, options.keepdims);
  if (x.size() == 0) {
    return Variable(full(shape, -std::numeric_limits<double>::infinity(), x.dtype(), x.device()), false);
  }
  return F::reshape(F::logsumexp(x, F::LogsumexpOptions{options.axis}), shape);
}

Operation arg_extreme(const NodeReader& node, bool largest) {
  const int64_t axis = node.integer("axis", 0);
  const bool keepdims = node.flag("keepdims", true), last = node.flag("select_last_index", false);
  return [=](const Call& call) -> Values {
    Variable x = call[0];
    const int at = normalize_axis(axis, x.ndim(), "axis");
    if (last) x = F::flip(x, at);
    Variable places = F::cast(largest ? F::argmax(x, at) : F::argmin(x, at), Dtype::int64);
    if (last) places = (x.shape()[at] - 1) - places;
    return {keepdims ? F::expand_dims(places, at) : places};
  };
}

Operation top_k(const NodeReader& node) {
  const int64_t axis = node.integer("axis", -1);
  const bool largest = node.flag("largest", true);
  const std::optional<int64_t> k_attribute = node.has("k") ? std::optional(node.integer("k")) : std::nullopt;
  return [=](const Call& call) -> Values {
    const Variable x = call[0];
    const int64_t k = k_attribute ? *k_attribute : call.integer(1, "K");
    const int at = normalize_axis(axis, x.ndim(), "axis");
    if (largest) {
      const F::TopK top = F::top_k(x, k, at);
      return {top.values, F::cast(top.indices, Dtype::int64)};
    }
    // -x, where the smallest integer has no other: ~x turns the order around.
    Variable turned = is_floating(x) ? -x : (-1) - F::cast(x, Dtype::int64);
    // NaN is the largest.
    if (is_floating(x)) {
      const Variable least = number_like(x, -std::numeric_limits<double>::infinity());
      turned = F::where(F::isnan(x), least, turned);
    }
    const Variable indices = F::cast(F::top_k(turned, k, at).indices, Dtype::int64);
    return {F::gather_elements(x, indices, at), indices};
  };
}

}  // namespace

std::span<const Operator> reduction_operators() {
  static constexpr Operator kOperators[] = {
      {"ReduceSum", [](const NodeReader& node) { return reduction(node, sum); }},
      {"ReduceMean", [](const NodeReader& node) { return reduction(node, mean); }},
      {"ReduceProd", [](const NodeReader& node) { return reduction(node, product); }},
      {"ReduceMax",
       [](const NodeReader& node) {
         return reduction(node, [](const Variable& x, const ReductionOptions& o) { return extreme(x, o, true); });
       }},
      {"ReduceMin",
       [](const NodeReader& node) {
         return reduction(node, [](const Variable& x, const ReductionOptions& o) { return extreme(x, o, false); });
       }},
      {"ReduceL1",
       [](const NodeReader& node) {
         return reduction(node, [](const Variable& x, const ReductionOptions& o) { return sum(F::absolute(x), o); });
       }},
      {"ReduceL2",
       [](const NodeReader& node) {
         return reduction(node, in_floating([](const Variable& x, const ReductionOptions& o) {
                            return F::sqrt(F::sum(F::square(x), o));
                          }));
       }},
      {"ReduceSumSquare",
       [](const NodeReader& node) {
         return reduction(node, [](const Variable& x, const ReductionOptions& o) { return sum(x * x, o); });
       }},
      {"ReduceLogSum",
       [](const NodeReader& node) {
         return reduction(
             node, in_floating([](const Variable& x, const ReductionOptions& o) { return F::log(F::sum(x, o)); }));
       }},
      {"ReduceLogSumExp", [](const NodeReader& node) { return reduction(node, in_floating(logsumexp)); }},
      {"ArgMax", [](const NodeReader& node) { return arg_extreme(node, true); }},
      {"ArgMin", [](const NodeReader& node) { return arg_extreme(node, false); }},
      {"TopK", top_k},
  };
  return kOperators;
}

}  // namespace kusari::onnx
