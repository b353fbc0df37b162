#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/static_graph/pass_log.h"
#include "kusari/framework/static_graph/program.h"

namespace kusari::graphs {

/// For inference: a batch normalization by given statistics of what a convolution or a linear layer has computed, which
/// nobody else reads, becomes part of that layer. Its weights are multiplied by gamma / sqrt(var + eps) and its bias
/// becomes beta + (bias - mean) gamma / sqrt(var + eps), in Phase::constant; a residual and ReLU go into the
/// convolution. Results differ from those of separate kernels by rounding. Returns how many it has folded.
KUSARI_API int fold_batch_normalization(Program& program, PassLog& log);

}  // namespace kusari::graphs
