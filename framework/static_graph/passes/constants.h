#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/static_graph/pass_log.h"
#include "kusari/framework/static_graph/passes/dependencies.h"
#include "kusari/framework/static_graph/program.h"

namespace kusari::graphs {

/// Moves steps whose inputs are only leaves and externals that the program never writes, or results of such steps, to
/// Phase::constant: casts of weights, say. Their results stay in memory between replays. Nothing is moved in a program
/// for training. Returns how many.
KUSARI_API int constants(Program& program, PassLog& log);

/// Whether the program has no backward phase and writes no leaf: leaves change rarely, if at all.
bool is_inference(const Program& program);
/// Whether the slot holds the same at every replay until somebody outside the program writes a leaf or an external.
bool is_constant(const Program& program, const Dependencies& dependencies, SlotIndex slot);

}  // namespace kusari::graphs
