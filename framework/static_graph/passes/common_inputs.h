#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/static_graph/pass_log.h"
#include "kusari/framework/static_graph/program.h"

namespace kusari::graphs {

/// Drops a step that an earlier one equals (the same kernel with the same parameters and inputs, no input written in
/// between); whoever read its results reads the earlier one's. Kernels that draw random numbers or change an array in
/// place stay, and so does a step whose repetition saves memory at the program's peak (F::forget). Returns how many.
KUSARI_API int common_inputs(Program& program, PassLog& log);

}  // namespace kusari::graphs
