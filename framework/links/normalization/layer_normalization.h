#pragma once

#include <utility>

#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/per_axis.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::links {

struct LayerNormalizationOptions {
  ByName by_name = {};
  double eps = 1e-6;  ///< added to the variances
  Initializer initial_gamma = 1;
  Initializer initial_beta = 0;
};

/// F::layer_normalization over the last axes, with learnt scale and shift. x: (..., size), or (..., shape): any number
/// of axes before those that are normalized, (N, size) in chainer.links.LayerNormalization, whose parameters are 16-bit
/// under the mixed dtypes, though.
class KUSARI_API LayerNormalization : public Link {
 public:
  using Options = LayerNormalizationOptions;
  /// size: of the last axis; kInfer takes it from the first x.
  explicit LayerNormalization(int64_t size, Options options = {});
  explicit LayerNormalization(Options options = {}) : LayerNormalization(kInfer, std::move(options)) {}
  /// shape: sizes of the last axes, which are normalized together (PyTorch's normalized_shape); kInfer takes a size
  /// from the first x. A template so that options by name are no shape to GCC 12 (see axes.h).
  template <int = 0>
  explicit LayerNormalization(const Shape& shape, Options options = {})
      : LayerNormalization(Sizes{shape}, std::move(options)) {}
  Variable operator()(const Variable& x) const;
  bool keeps_float32() const noexcept override { return true; }

  double eps;
  Parameter gamma;  ///< (size) or shape, float32 under the mixed dtypes
  Parameter beta;   ///< likewise

 private:
  struct Sizes {
    const Shape& shape;
  };
  LayerNormalization(const Sizes& sizes, Options options);

  int axes_;  // of gamma, which threads may be making
};

}  // namespace kusari::links
