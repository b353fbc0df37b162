#pragma once

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/per_axis.h"

namespace kusari::functions {

struct Im2colOptions {
  PerAxis stride = 1;
  PerAxis pad = 0;         ///< zeros before the first and behind the last element
  bool cover_all = false;  ///< also the patches that reach over the end, so that every element is seen
  PerAxis dilate = 1;      ///< distance between the elements of a patch
};

/// Patches of images as channels: y[n, (c, k), p] = x[n, c, stride p + dilate k - pad], 0 outside of x.
/// x: (N, C, in...), floating, with one to three spatial axes. ksize: size of a patch along each. Returns
/// y: (N, C prod(ksize), out...) of x's dtype, in C order; out is
/// floor((in + 2 pad - dilate (ksize - 1) - 1) / stride) + 1, with cover_all the ceiling. Reshaped to
/// (N, C, ksize..., out...) it is what col2im takes. Throws TypeError when x does not fit, ValueError for an option out
/// of range or an empty output. Differentiable to any order. chainer.functions.im2col.
KUSARI_API Variable im2col(const Variable& x, const PerAxis& ksize, const Im2colOptions& options = {});

struct Col2imOptions {
  PerAxis stride = 1;
  PerAxis pad = 0;
  PerAxis dilate = 1;
};

/// The sum of patches where they overlap, the adjoint of im2col:
/// x[n, c, i] = sum of col[n, c, k, p] over the k and p with stride p + dilate k - pad = i.
/// col: (N, C, ksize..., out...), floating, with one to three spatial axes. size: the images' spatial shape. Returns
/// x: (N, C, size...) of col's dtype, channels-last in memory; sums are in float32 at least. Throws TypeError when col
/// does not fit, ValueError for an option out of range. Differentiable to any order. chainer.utils.conv.col2im_cpu.
KUSARI_API Variable col2im(const Variable& col, const PerAxis& size, const Col2imOptions& options = {});

}  // namespace kusari::functions
