#pragma once

#include <optional>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/per_axis.h"

namespace kusari::functions {

/// Options of average_pooling_nd and its relatives.
struct AveragePoolingOptions {
  PerAxis stride = {};                    ///< none: the window's size
  PerAxis pad = 0;                        ///< places before the first, and behind the last
  std::optional<double> pad_value = 0.0;  ///< 0: padding counts as zeros; absent: it does not count at all
  PerAxis pad_end = {};                   ///< places behind the last; none: as many as before the first
  PerAxis dilate = 1;                     ///< from one place of a window to the next; 1: no gaps
  bool cover_all = false;                 ///< one more window where the last ones would leave places out
};

/// The mean of each window: y[n, c, o] = mean over k of x[n, c, stride o - pad + dilate k].
/// x: (N, C, in...), floating, with one or more spatial axes (average_pooling_1d, _2d, _3d: as many as the name says).
/// ksize: the window. Returns y: (N, C, out...) in x's dtype, out = (in + pad + pad_end - (ksize - 1) dilate - 1) /
/// stride + 1, rounded down, or up with cover_all, where what lies behind the padding does not count; sums are in
/// float32 at least. A pad_end of its own, gaps and cover_all cost a copy of x. A window outside x gives 0, or NaN
/// without a pad_value. Throws TypeError when x is not floating or has other axes, ValueError when a size does not fit
/// or pad_value is neither 0 nor absent. Differentiable to any order. chainer.functions.average_pooling_nd.
KUSARI_API Variable average_pooling_nd(const Variable& x, const PerAxis& ksize,
                                       const AveragePoolingOptions& options = {});
KUSARI_API Variable average_pooling_1d(const Variable& x, const PerAxis& ksize,
                                       const AveragePoolingOptions& options = {});
KUSARI_API Variable average_pooling_2d(const Variable& x, const PerAxis& ksize,
                                       const AveragePoolingOptions& options = {});
KUSARI_API Variable average_pooling_3d(const Variable& x, const PerAxis& ksize,
                                       const AveragePoolingOptions& options = {});

/// The mean of each channel's plane. x: (N, C, H, W), floating. Returns (N, C) in x's dtype.
/// Throws as average_pooling_2d does. Differentiable to any order. The last pooling of chainer.links.ResNet50Layers.
KUSARI_API Variable global_average_pooling_2d(const Variable& x);

}  // namespace kusari::functions
