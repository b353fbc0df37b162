#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/static_graph/pass_log.h"
#include "kusari/framework/static_graph/program.h"

namespace kusari::graphs {

/// Makes one attention of softmax(scale q k^T + mask) v as models write it step by step: the product of queries and
/// keys, a factor before or after it, a mask that is added or that chooses (Where), the softmax, the product with the
/// values, and the copy that joins the heads. Of float32, where nobody else reads what lies between. Returns how many.
KUSARI_API int fuse_attention(Program& program, PassLog& log);

}  // namespace kusari::graphs
