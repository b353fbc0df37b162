#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/static_graph/pass_log.h"
#include "kusari/framework/static_graph/program.h"

namespace kusari::graphs {

/// Drops copies of results into parts of other arrays, which concatenations are made of: who computes such a result
/// writes it there. Where the part has the memory order of the result, that is where the axes before the concatenated
/// one have one element, and nobody else reads the result. Returns how many.
KUSARI_API int concat_in_place(Program& program, PassLog& log);

}  // namespace kusari::graphs
