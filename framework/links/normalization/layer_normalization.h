#pragma once

#include <utility>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::links {

struct LayerNormalizationOptions {
  double eps = 1e-6;  ///< added to the variances
  Initializer initial_gamma = 1;
  Initializer initial_beta = 0;
};

/// F::layer_normalization with learnt scale and shift. x: (N, size). chainer.links.LayerNormalization, whose parameters
/// are 16-bit under the mixed dtypes, though.
class KUSARI_API LayerNormalization : public Link {
 public:
  using Options = LayerNormalizationOptions;
  /// size: of a row; kInfer takes it from the first x.
  explicit LayerNormalization(int64_t size, Options options = {});
  explicit LayerNormalization(Options options = {}) : LayerNormalization(kInfer, std::move(options)) {}
  Variable operator()(const Variable& x) const;
  bool keeps_float32() const noexcept override { return true; }

  double eps;
  Parameter gamma;  ///< (size), float32 under the mixed dtypes
  Parameter beta;   ///< (size), likewise
};

}  // namespace kusari::links
