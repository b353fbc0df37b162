#pragma once

#include "kusari/framework/core/export.h"

namespace kusari {

/// Passes over the memory that a CUDA device spares. The numbers are those of the plain way within the rounding of 16
/// bits, so that there is a reason to turn one off only where one is suspected.
struct Fusions {
  /// The gradient of batch normalization, addition and ReLU reads a bit for each element instead of the result:
  /// KUSARI_NORMALIZATION_MASKS.
  bool normalization_masks = true;
  /// float16 convolutions in front of a batch normalization give its statistics: KUSARI_CONVOLUTION_SUMS.
  bool convolution_sums = true;
  /// float16 convolutions normalize what they load, after a batch normalization and its ReLU:
  /// KUSARI_NORMALIZED_CONVOLUTIONS.
  bool normalized_convolutions = true;
  /// Attention of half types keeps its scores in registers instead of memory: KUSARI_FLASH_ATTENTION.
  bool flash_attention = true;
};

/// Of the process: at first what the variables say. Set it before starting threads.
KUSARI_API Fusions& fusions();

}  // namespace kusari
