#pragma once

#include <utility>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/per_axis.h"

namespace kusari::functions {

/// Options of max_pooling_nd and its relatives.
struct MaxPoolingOptions {
  PerAxis stride = {};    ///< none: the window's size
  PerAxis pad = 0;        ///< places before the first, and behind the last; they never win
  bool cover_all = true;  ///< one more window where the last ones would leave places out
  PerAxis pad_end = {};   ///< places behind the last; none: as many as before the first
  PerAxis dilate = 1;     ///< from one place of a window to the next; 1: no gaps
};

/// The largest element of each window: y[n, c, o] = max over k of x[n, c, stride o - pad + dilate k].
/// x: (N, C, in...), floating, with one or more spatial axes (max_pooling_1d, _2d, _3d: as many as the name says).
/// ksize: the window. Returns y: (N, C, out...) in x's dtype, out = (in + pad + pad_end - (ksize - 1) dilate - 1) /
/// stride + 1, rounded down, or up with cover_all; a pad_end of its own or gaps cost a copy of x. NaN is larger than
/// any number; a window outside x gives -inf. Throws TypeError when x is not floating or has other axes, ValueError
/// when a size does not fit. Differentiable to any order: the gradient goes to the largest element, the first of equal
/// ones in C order. chainer.functions.max_pooling_nd.
KUSARI_API Variable max_pooling_nd(const Variable& x, const PerAxis& ksize, const MaxPoolingOptions& options = {});
KUSARI_API Variable max_pooling_1d(const Variable& x, const PerAxis& ksize, const MaxPoolingOptions& options = {});
KUSARI_API Variable max_pooling_2d(const Variable& x, const PerAxis& ksize, const MaxPoolingOptions& options = {});
KUSARI_API Variable max_pooling_3d(const Variable& x, const PerAxis& ksize, const MaxPoolingOptions& options = {});

/// The same together with the places of the largest elements, counted in C order within the window and padding
/// included: an integer array of y's shape, as upsampling_2d wants it. Chainer's return_indices=True.
KUSARI_API std::pair<Variable, Array> max_pooling_nd_with_indices(const Variable& x, const PerAxis& ksize,
                                                                  const MaxPoolingOptions& options = {});
KUSARI_API std::pair<Variable, Array> max_pooling_1d_with_indices(const Variable& x, const PerAxis& ksize,
                                                                  const MaxPoolingOptions& options = {});
KUSARI_API std::pair<Variable, Array> max_pooling_2d_with_indices(const Variable& x, const PerAxis& ksize,
                                                                  const MaxPoolingOptions& options = {});
KUSARI_API std::pair<Variable, Array> max_pooling_3d_with_indices(const Variable& x, const PerAxis& ksize,
                                                                  const MaxPoolingOptions& options = {});

}  // namespace kusari::functions
