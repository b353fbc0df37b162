#include <algorithm>
#include <numeric>
#include <vector>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/functions/array/cast.h"
#include "kusari/framework/functions/array/get_item.h"
#include "kusari/framework/functions/array/pad.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/math/average.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/sqrt.h"
#include "kusari/framework/functions/math/square.h"
#include "kusari/framework/functions/math/sum.h"
#include "kusari/framework/functions/normalization/batch_normalization.h"
#include "kusari/framework/functions/normalization/group_normalization.h"
#include "kusari/framework/functions/normalization/layer_normalization.h"
#include "kusari/framework/functions/normalization/rms_normalization.h"
#include "kusari/framework/onnx/operators/common.h"
#include "kusari/framework/onnx/operators/families.h"

namespace kusari::onnx {

namespace F = functions;

namespace {

Operation batch_normalization(const NodeReader& node) {
  node.expect_inputs(5);
  const double eps = node.real("epsilon", 1e-5), momentum = node.real("momentum", 0.9);
  const bool says_training = node.flag("training_mode", false);
  return [=](const Call& call) -> Values {
    const Variable x = call[0], gamma = call[1], beta = call[2], mean = call[3], var = call[4];
    if (!says_training && !config().train) {
      return {F::fixed_batch_normalization(x, gamma, beta, mean, var, {.eps = eps})};
    }
    if (!says_training) {
      // A model that is trained further: its own statistics follow.
      return {F::batch_normalization(
          x, gamma, beta, {.eps = eps, .running_mean = mean.array(), .running_var = var.array(), .decay = momentum})};
    }
    // ONNX's running variance is that of the batch as it is.
    std::vector<int64_t> axes{0};
    for (int i = 2; i < x.ndim(); ++i) axes.push_back(i);
    const Variable batch_mean = F::mean(x, F::AverageOptions{.axis = axes_of(axes), .keepdims = true});
    const Variable batch_var = F::mean(F::square(x - batch_mean), F::AverageOptions{.axis = axes_of(axes)});
    return {F::batch_normalization(x, gamma, beta, {.eps = eps}),
            mean * momentum + F::reshape(batch_mean, mean.shape()) * (1 - momentum),
            var * momentum + batch_var * (1 - momentum)};
  };
}

Operation instance_normalization(const NodeReader& node) {
  node.expect_inputs(3);
  const double eps = node.real("epsilon", 1e-5);
  return [=](const Call& call) -> Values {
    const Variable x = call[0];
    if (x.ndim() < 2)
      throw TypeError("input has shape " + kusari::to_string(x.shape()) + ": it must have at least 2 axes");
    return {F::group_normalization(x, x.shape()[1], call[1], call[2], eps)};
  };
}

Operation group_normalization(const NodeReader& node) {
  node.expect_inputs(3);
  const double eps = node.real("epsilon", 1e-5);
  const int64_t groups = node.integer("num_groups");
  const bool by_group = node.opset() < 21;
  return [=](const Call& call) -> Values {
    const Variable x = call[0];
    Variable gamma = call[1], beta = call[2];
    if (by_group && gamma.shape()[0] == groups && x.ndim() >= 2 && x.shape()[1] != groups) {
      const auto by_channel = [&](const Variable& p) {
        return F::reshape(F::broadcast_to(F::reshape(p, {groups, 1}), {groups, x.shape()[1] / groups}), {x.shape()[1]});
      };
      gamma = by_channel(gamma);
      beta = by_channel(beta);
    }
    return {F::group_normalization(x, groups, gamma, beta, eps)};
  };
}

/// The axes from `axis` on, which are normalized together.
std::vector<int64_t> last_axes(const Variable& x, int64_t axis) {
  const int first = normalize_axis(axis, x.ndim(), "axis");
  std::vector<int64_t> axes(static_cast<size_t>(x.ndim() - first));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

/// shape: of the normalized axes. The scale and the bias may also differ along others.
Variable layer_normalized(const Variable& x, const Variable& scale, const Variable& bias, const Shape& shape,
                          double eps) {
  const auto constant = [&](double value) {
    return Variable(host_constant([&] { return full(shape, value, scale.dtype(), x.device()); }), false);
  };
  const auto inner = [&](const Variable& p) {
    return Shape(p.shape().end() - std::min(p.ndim(), shape.ndim()), p.shape().end());
  };
  const auto fits = [&](const Variable& p) { return !p.is_defined() || p.size() == numel(inner(p)); };
  if (!fits(scale) || !fits(bias)) {
    const Variable y = F::layer_normalization(x, constant(1), constant(0), eps) * scale;
    return bias.is_defined() ? y + bias : y;
  }
  const auto along = [&](const Variable& p) { return F::broadcast_to(F::reshape(p, inner(p)), shape); };
  return F::layer_normalization(x, along(scale), bias.is_defined() ? along(bias) : constant(0), eps);
}

Operation layer_normalization(const NodeReader& node) {
  node.expect_inputs(2);
  const int64_t axis = node.integer("axis", -1);
  const double eps = node.real("epsilon", 1e-5);
  const bool has_statistics = node.has_output(1) || node.has_output(2);
  return [=](const Call& call) -> Values {
    const Variable x = call[0];
    const std::vector<int64_t> axes = last_axes(x, axis);
    const Shape shape(x.shape().begin() + axes[0], x.shape().end());
    Values results{layer_normalized(x, call[1], call[2], shape, eps)};
    if (has_statistics) {
      const Variable wide = F::cast(x, promote(x.dtype(), Dtype::float32));
      const Variable mean = F::mean(wide, F::AverageOptions{.axis = axes_of(axes), .keepdims = true});
      const Variable var = F::mean(F::square(wide - mean), F::AverageOptions{.axis = axes_of(axes), .keepdims = true});
      results.push_back(mean);
      results.push_back(F::rsqrt(var + eps));
    }
    return results;
  };
}

Operation rms_normalization(const NodeReader& node) {
  node.expect_inputs(2);
  const int64_t axis = node.integer("axis", -1);
  const double eps = node.real("epsilon", 1e-5);
  const bool has_factors = node.has_output(1);
  return [=](const Call& call) -> Values {
    const Variable x = call[0];
    const std::vector<int64_t> axes = last_axes(x, axis);
    const Shape shape(x.shape().begin() + axes[0], x.shape().end());
    if (axes.size() == 1 && call.shape(1) == shape && !has_factors) return {F::rms_normalization(x, call[1], eps)};
    const Variable wide = F::cast(x, promote(x.dtype(), Dtype::float32));
    const Variable power = F::mean(F::square(wide), F::AverageOptions{.axis = axes_of(axes), .keepdims = true});
    const Variable factors = F::rsqrt(power + eps);
    return {F::cast(wide * factors, x.dtype()) * call[1], factors};
  };
}

/// x / (bias + alpha / size times the sum of squares over `size` channels)^beta. ONNX's window has the odd one behind.
Operation lrn(const NodeReader& node) {
  const int64_t size = node.integer("size");
  const double alpha = node.real("alpha", 1e-4), beta = node.real("beta", 0.75), bias = node.real("bias", 1);
  if (size < 1) throw ValueError("its attribute size is " + std::to_string(size));
  return unary([=](const Variable& x) {
    std::vector<PadWidth::Pair> pairs(static_cast<size_t>(x.ndim()), {0, 0});
    pairs.at(1) = {(size - 1) / 2, size / 2};
    const Variable squares = F::pad(F::square(x), PadWidth(std::span<const PadWidth::Pair>(pairs)));
    Variable sum;
    for (int64_t k = 0; k < size; ++k) {
      const Variable part = F::get_item(squares, {Slice{}, Slice{k, k + x.shape()[1]}});
      sum = k == 0 ? part : sum + part;
    }
    return x * F::pow(sum * (alpha / static_cast<double>(size)) + bias, -beta);
  });
}

Operation lp_normalization(const NodeReader& node) {
  const int64_t axis = node.integer("axis", -1), p = node.integer("p", 2);
  if (p != 1 && p != 2) throw ValueError("its attribute p is " + std::to_string(p) + ": it must be 1 or 2");
  return unary([=](const Variable& x) {
    const ReductionOptions along{Axes(axis), true};
    const Variable norm = p == 1 ? F::sum(F::absolute(x), along) : F::sqrt(F::sum(F::square(x), along));
    // 0 / 0 is 0 there.
    const Variable zero = number_like(x, 0);
    return x / (norm + Variable((norm.array() == zero.array()).astype(x.dtype()), false));
  });
}

Operation mean_variance_normalization(const NodeReader& node) {
  const std::vector<int64_t> axes = node.integers("axes").value_or(std::vector<int64_t>{0, 2, 3});
  return unary([axes](const Variable& x) {
    const F::AverageOptions over{.axis = axes_of(axes), .keepdims = true};
    const Variable mean = F::mean(x, over);
    const Variable deviation = F::sqrt(F::mean(F::square(x), over) - F::square(mean));
    return (x - mean) / (deviation + 1e-9);
  });
}

}  // namespace

std::span<const Operator> normalization_operators() {
  static constexpr Operator kOperators[] = {
      {"BatchNormalization", batch_normalization},
      {"InstanceNormalization", instance_normalization},
      {"GroupNormalization", group_normalization},
      {"LayerNormalization", layer_normalization},
      {"RMSNormalization", rms_normalization},
      {"SimplifiedLayerNormalization", rms_normalization},
      {"LRN", lrn},
      {"LpNormalization", lp_normalization},
      {"MeanVarianceNormalization", mean_variance_normalization},
  };
  return kOperators;
}

}  // namespace kusari::onnx
