#pragma once

#include <string>

#include "kusari/framework/core/export.h"
#include "kusari/framework/static_graph/memory_planner.h"
#include "kusari/framework/static_graph/pass_log.h"
#include "kusari/framework/static_graph/program.h"

namespace kusari::graphs {

/// Lines of text: the kernels of each phase by name and count, the arena before and after planning, what each pass did.
KUSARI_API std::string summary(const Program& program, const Packing& packing, const PassLog& log);

}  // namespace kusari::graphs
