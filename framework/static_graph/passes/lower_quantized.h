#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/static_graph/pass_log.h"
#include "kusari/framework/static_graph/program.h"

namespace kusari::graphs {

/// For inference, where a backend has QuantizedConvolutionForward: convolutions whose float32 inputs are what 8 bits
/// leave of other arrays (FakeQuantize or Dequantize, the weights' scales by output channel, those of x one number,
/// which may differ at each replay) compute with the integers, and products with such weights, W^T, as convolutions
/// over rows (on the CPU those that pack_products has made). What is only read as integers is written so by the
/// convolution before. Results differ from those of float32 by rounding, which a later quantization may make one step
/// of its scale. Returns how many convolutions.
KUSARI_API int lower_quantized(Program& program, PassLog& log);

}  // namespace kusari::graphs
