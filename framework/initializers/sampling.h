#pragma once

#include <optional>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

namespace kusari::initializers {

/// Weights (n, n or 1, k, ...) with which a deconvolution of stride (k + 1) / 2 interpolates images linearly, each
/// channel by itself. Throws ValueError for another shape. Long et al. 2015;
/// chainer.initializers.UpsamplingDeconvFilter.
struct KUSARI_API UpsamplingDeconvFilter {
  std::optional<Dtype> dtype;
  explicit UpsamplingDeconvFilter(std::optional<Dtype> array_dtype = std::nullopt) : dtype{array_dtype} {}
  void operator()(const Array& array) const;
};

/// The same for a convolution that makes images smaller: the weights of a filter sum to 1.
/// chainer.initializers.DownsamplingConvFilter.
struct KUSARI_API DownsamplingConvFilter {
  std::optional<Dtype> dtype;
  explicit DownsamplingConvFilter(std::optional<Dtype> array_dtype = std::nullopt) : dtype{array_dtype} {}
  void operator()(const Array& array) const;
};

}  // namespace kusari::initializers
