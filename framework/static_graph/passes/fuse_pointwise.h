#pragma once

#include <cstdint>

#include "kusari/framework/core/export.h"
#include "kusari/framework/static_graph/pass_log.h"
#include "kusari/framework/static_graph/program.h"

namespace kusari::graphs {

/// Which groups of kernels become one.
enum class FusedGroups : uint8_t {
  faster,  ///< those that are faster for it: on the CPU not a few kernels over small dense arrays
  all,
};

/// Makes one FusedPointwise step of pointwise kernels, copies and fills over the same elements, wherever the order of
/// reads and writes of the other steps allows it. What nobody else reads is not written. Results are the same bits.
/// Returns the number of fused steps that it made.
KUSARI_API int fuse_pointwise(Program& program, PassLog& log, FusedGroups which = FusedGroups::faster);

}  // namespace kusari::graphs
