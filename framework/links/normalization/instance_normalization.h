#pragma once

#include <utility>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::links {

struct InstanceNormalizationOptions {
  double eps = 1e-5;  ///< added to the variances
  Initializer initial_gamma = 1;
  Initializer initial_beta = 0;
};

/// F::instance_normalization with learnt scale and shift. x: (N, C, in...). torch.nn.InstanceNorm2d with affine=True
/// (Chainer has none).
class KUSARI_API InstanceNormalization : public Link {
 public:
  using Options = InstanceNormalizationOptions;
  /// size: number of channels; kInfer takes it from the first x.
  explicit InstanceNormalization(int64_t size, Options options = {});
  explicit InstanceNormalization(Options options = {}) : InstanceNormalization(kInfer, std::move(options)) {}
  Variable operator()(const Variable& x) const;
  bool keeps_float32() const noexcept override { return true; }

  double eps;
  Parameter gamma;  ///< (size), float32 under the mixed dtypes
  Parameter beta;   ///< (size), likewise
};

}  // namespace kusari::links
