#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/activation/silu.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/normalization/group_normalization.h"
#include "kusari/framework/onnx/operators/channels_last.h"
#include "kusari/framework/onnx/operators/common.h"
#include "kusari/framework/onnx/operators/families.h"

// Operators of images that ONNX Runtime's optimizer leaves in files, most of them with channels as the last axis.
namespace kusari::onnx {

namespace F = functions;

namespace {

/// Of x + skip + bias, where these are given, which is the second output.
Operation microsoft_group_norm(const NodeReader& node, bool skips) {
  node.expect_inputs(skips ? 4 : 3);
  const double eps = node.real("epsilon", 1e-5);
  const int64_t groups = node.integer("groups"), activation = node.integer("activation");
  const bool is_last = node.flag("channels_last", true);
  if (activation != 0 && activation != 1)
    throw ValueError("its attribute activation is " + std::to_string(activation) + ": it must be 0 or 1");
  return [=](const Call& call) -> Values {
    const auto first = [&](const Variable& x) { return is_last ? channels_first(x) : x; };
    const auto back = [&](const Variable& x) { return is_last ? channels_last(x) : x; };
    expect_axes(call[0], 3, "X");
    Variable x = first(call[0]);
    if (skips) {
      const Shape channels{-1, x.shape()[1], 1, 1};
      x = x + (call.ndim(3) == 2 ? F::reshape(call[3], channels) : first(call[3]));
      if (call.has(4)) x = x + F::reshape(call[4], channels);
    }
    const Variable y = F::group_normalization(x, groups, call[1], call[2], eps);
    Values results{back(activation == 1 ? F::silu(y) : y)};
    if (skips) results.push_back(back(x));
    return results;
  };
}

}  // namespace

std::span<const Operator> microsoft_image_operators() {
  static constexpr Operator kOperators[] = {
      {"GroupNorm", [](const NodeReader& node) { return microsoft_group_norm(node, false); }},
      {"SkipGroupNorm", [](const NodeReader& node) { return microsoft_group_norm(node, true); }},
      {"NhwcConv", [](const NodeReader& node) { return on_channels_last(onnx_operation("Conv", node), {0}); }},
      {"NhwcFusedConv",
       [](const NodeReader& node) {
         return on_channels_last(find_operator("com.microsoft", "FusedConv")->build(node), {0, 3});
       }},
      {"NhwcMaxPool", [](const NodeReader& node) { return on_channels_last(onnx_operation("MaxPool", node), {0}); }},
  };
  return kOperators;
}

}  // namespace kusari::onnx
