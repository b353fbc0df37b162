#include "kusari/framework/links/connection/lora_linear.h"

#include <optional>
#include <utility>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/connection/linear.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/xp/linear_algebra.h"

namespace kusari::links {
namespace {

const char* const kLora = "L::LoraLinear";

std::optional<Dtype> dtype_beside(const Parameter& W) {
  return W.is_initialized() ? std::optional(W.dtype()) : std::nullopt;
}

}  // namespace

LoraLinear::LoraLinear(Linear linear, Options options)
    : base{*this, "base", std::move(linear)},
      A{*this,
        "A",
        {argument::positive(kLora, "rank", options.rank), base.W.declared_shape()[1]},
        std::move(options.initial_a),
        dtype_beside(base.W)},
      B{*this, "B", {base.W.declared_shape()[0], options.rank}, 0, dtype_beside(base.W)},
      scale_{argument::finite(kLora, "alpha", options.alpha) / static_cast<double>(options.rank)} {
  base.disable_update();
  to(base.device());
}

Variable LoraLinear::operator()(const Variable& x, int n_batch_axes) const {
  if (!base.W.is_initialized()) {
    const auto mode = no_backprop_mode();
    base(x, n_batch_axes);  // takes its size from x, or throws
  }
  A.infer(1, base.W.shape()[1]);
  const LinkCall call(*this);
  const Variable W(base.W.array(), false), b = base.b.is_defined() ? Variable(base.b.array(), false) : Variable();
  const functions::LinearOptions axes{.n_batch_axes = n_batch_axes};
  const Variable correction = functions::linear(scale_ * functions::linear(x, A, {}, axes), B, {}, axes);
  return functions::linear(x, W, b, axes) + correction;
}

Linear LoraLinear::merge() const {
  if (!base.W.is_initialized()) {
    throw StateError(std::string(kLora) + "::merge: the input size is not known: call the link once before");
  }
  A.infer(1, base.W.shape()[1]);
  const Dtype wide = is_half(base.W.dtype()) ? Dtype::float32 : base.W.dtype();
  const Array product = xp::matmul(B.array().astype(wide), A.array().astype(wide));
  Linear merged(base);
  merged.enable_update();
  merged.W.array().copy_from(base.W.array().astype(wide) + scale_ * product);
  return merged;
}

}  // namespace kusari::links
