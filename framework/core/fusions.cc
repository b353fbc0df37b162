#include "kusari/framework/core/fusions.h"

#include "kusari/framework/core/environment.h"

namespace kusari {

Fusions& fusions() {
  static Fusions values{.normalization_masks = environment::flag("KUSARI_NORMALIZATION_MASKS").value_or(true),
                        .convolution_sums = environment::flag("KUSARI_CONVOLUTION_SUMS").value_or(true),
                        .normalized_convolutions = environment::flag("KUSARI_NORMALIZED_CONVOLUTIONS").value_or(true),
                        .flash_attention = environment::flag("KUSARI_FLASH_ATTENTION").value_or(true)};
  return values;
}

}  // namespace kusari
