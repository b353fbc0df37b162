#pragma once

#include <utility>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::links {

struct RMSNormalizationOptions {
  double eps = 1e-6;  ///< added to the mean of squares
  Initializer initial_gamma = 1;
};

/// F::rms_normalization with a learnt scale. x: (..., size). torch.nn.RMSNorm.
class KUSARI_API RMSNormalization : public Link {
 public:
  using Options = RMSNormalizationOptions;
  /// size: of the last axis; kInfer takes it from the first x.
  explicit RMSNormalization(int64_t size, Options options = {});
  Variable operator()(const Variable& x) const;
  bool keeps_float32() const noexcept override { return true; }

  double eps;
  Parameter gamma;  ///< (size), float32 under the mixed dtypes
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
