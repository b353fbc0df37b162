#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/static_graph/pass_log.h"
#include "kusari/framework/static_graph/program.h"

namespace kusari::graphs {

/// Makes one function of x (1 + erf(x / sqrt 2)) / 2, and of the same by tanh that GPT-2 has, as files of other
/// libraries spell them in five to eight kernels. In inference. Returns how many.
KUSARI_API int fuse_gelu(Program& program, PassLog& log);

}  // namespace kusari::graphs
