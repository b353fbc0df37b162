#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/static_graph/pass_log.h"
#include "kusari/framework/static_graph/program.h"

namespace kusari::graphs {

/// Drops the steps that write only intermediate slots and constants, nothing of which is read later or exported. The
/// random numbers that they would have drawn stay theirs. Returns how many.
KUSARI_API int dead_kernels(Program& program, PassLog& log);

}  // namespace kusari::graphs
