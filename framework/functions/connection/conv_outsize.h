#pragma once

#include <cstdint>

#include "kusari/framework/core/export.h"

namespace kusari::utils {

/// The windows along one axis of a convolution, a deconvolution or a pooling.
struct WindowOptions {
  int64_t ksize = 1;
  int64_t stride = 1;
  int64_t pad = 0;
  bool cover_all = false;  ///< one window more where places would be left out
  int64_t dilate = 1;
};

/// How many windows there are along an axis of `size` places:
/// floor((size + 2 pad - (ksize - 1) dilate - 1) / stride) + 1, rounded up with cover_all. 0 or less where the window
/// is larger than the padded axis. Throws ValueError when size or pad is negative, another number not positive, or one
/// above 2^31 - 1. chainer.utils.get_conv_outsize.
KUSARI_API int64_t get_conv_outsize(int64_t size, const WindowOptions& windows);

/// Size of the axis that has `size` windows: stride (size - 1) + (ksize - 1) dilate + 1 - 2 pad, and with cover_all
/// stride - 1 less: the smallest one. The same errors. chainer.utils.get_deconv_outsize.
KUSARI_API int64_t get_deconv_outsize(int64_t size, const WindowOptions& windows);

}  // namespace kusari::utils
