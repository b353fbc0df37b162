#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/static_graph/pass_log.h"
#include "kusari/framework/static_graph/program.h"

namespace kusari::graphs {

/// For inference on the CPU: the largest of dequantized numbers of 8 bits that are quantized again by the same scale
/// and zero point are the largest of the integers. The same bits where the scale is positive, as those are that are
/// known before the call: with others nothing is changed. Returns how many poolings.
KUSARI_API int lower_quantized_poolings(Program& program, PassLog& log);

}  // namespace kusari::graphs
