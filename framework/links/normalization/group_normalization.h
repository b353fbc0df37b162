#pragma once

#include <utility>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::links {

struct GroupNormalizationOptions {
  double eps = 1e-5;  ///< added to the variances
  Initializer initial_gamma = 1;
  Initializer initial_beta = 0;
};

/// F::group_normalization with learnt scale and shift. x: (N, C, ...). group_count: divides C; C is instance
/// normalization. chainer.links.GroupNormalization.
class KUSARI_API GroupNormalization : public Link {
 public:
  using Options = GroupNormalizationOptions;
  /// size: number of channels; kInfer takes it from the first x.
  GroupNormalization(int64_t group_count, int64_t size, Options options = {});
  explicit GroupNormalization(int64_t group_count, Options options = {})
      : GroupNormalization(group_count, kInfer, std::move(options)) {}
  Variable operator()(const Variable& x) const;
  bool keeps_float32() const noexcept override { return true; }

  int64_t groups;
  double eps;
  Parameter gamma;  ///< (size), float32 under the mixed dtypes
  Parameter beta;   ///< (size), likewise
};

}  // namespace kusari::links
