#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/static_graph/pass_log.h"
#include "kusari/framework/static_graph/passes_options.h"
#include "kusari/framework/static_graph/program.h"

namespace kusari::graphs {

/// Rewrites the program by the passes that are switched on.
KUSARI_API PassLog run_passes(Program& program, const StaticGraphPasses& passes);
/// The program with its passes run, for the initialisation of a plan.
KUSARI_API Program rewritten(Program program, const StaticGraphPasses& passes, PassLog& log);

}  // namespace kusari::graphs
