#include "kusari/framework/links/normalization/layer_normalization.h"

#include <utility>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/given.h"
#include "kusari/framework/functions/normalization/layer_normalization.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/sizes.h"

namespace kusari::links {
namespace {

const Shape& known_or_inferred(const Shape& shape) {
  if (shape.empty()) throw ValueError("L::LayerNormalization: shape is (): there must be at least one axis");
  for (const int64_t size : shape) size_or_infer("L::LayerNormalization", "a size of shape", size);
  return shape;
}

}  // namespace

LayerNormalization::LayerNormalization(int64_t size, Options options)
    : eps{options.eps},
      gamma{*this,
            "gamma",
            {size_or_infer("L::LayerNormalization", "size", size)},
            std::move(options.initial_gamma),
            get_dtype({}, Dtype::float32)},
      beta{*this, "beta", {size}, std::move(options.initial_beta), get_dtype({}, Dtype::float32)},
      axes_{1} {}

LayerNormalization::LayerNormalization(const Sizes& sizes, Options options)
    : eps{options.eps},
      gamma{*this, "gamma", known_or_inferred(sizes.shape), std::move(options.initial_gamma),
            get_dtype({}, Dtype::float32)},
      beta{*this, "beta", sizes.shape, std::move(options.initial_beta), get_dtype({}, Dtype::float32)},
      axes_{sizes.shape.ndim()} {}

Variable LayerNormalization::operator()(const Variable& x) const {
  functions::expect_floating(x, "F::layer_normalization", "x");
  expect_axes("L::LayerNormalization", x, axes_);
  const int before = x.ndim() - axes_;
  for (int axis = 0; axis < axes_; ++axis) {
    gamma.infer(axis, x.shape()[before + axis]);
    beta.infer(axis, x.shape()[before + axis]);
  }
  const LinkCall call(*this);
  return functions::layer_normalization(x, gamma, beta, eps);
}

}  // namespace kusari::links
