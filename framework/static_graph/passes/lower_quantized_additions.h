#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/static_graph/pass_log.h"
#include "kusari/framework/static_graph/program.h"

namespace kusari::graphs {

/// For inference, where a backend has QuantizedAddForward: the sum of two arrays of dequantized numbers of 8 bits, with
/// or without a ReLU, that is only read quantized to 8 bits again becomes one kernel. With fixed scales it adds steps
/// of the result's, so that where the sum lies between two integers it may be the other one. Returns how many.
KUSARI_API int lower_quantized_additions(Program& program, PassLog& log);

}  // namespace kusari::graphs
