#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/static_graph/pass_log.h"
#include "kusari/framework/static_graph/program.h"

namespace kusari::graphs {

/// Makes one kernel of squeeze-and-excitation: the means over all positions, two 1x1 convolutions or products of them
/// with a function each, and the images times what comes out. In inference of float32, on backends that have it.
/// Returns how many.
KUSARI_API int fuse_excitation(Program& program, PassLog& log);

}  // namespace kusari::graphs
