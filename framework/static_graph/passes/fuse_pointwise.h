#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/static_graph/pass_log.h"
#include "kusari/framework/static_graph/program.h"

namespace kusari::graphs {

/// Makes one FusedPointwise step of pointwise kernels, copies and fills over the same elements, wherever the order of
/// reads and writes of the other steps allows it. What nobody else reads is not written. Results are the same bits.
/// Returns the number of fused steps that it made.
KUSARI_API int fuse_pointwise(Program& program, PassLog& log);

}  // namespace kusari::graphs
