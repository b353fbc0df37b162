#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/static_graph/pass_log.h"
#include "kusari/framework/static_graph/program.h"

namespace kusari::graphs {

/// Moves each StartExchange, and the steps that fill what it sends, behind the last step that writes what is sent;
/// their order stays, and no step of the host's code is passed. On the CPU, where an exchange moves on only when it is
/// asked to, the kernels that run meanwhile get LookAtExchange steps among them. Returns how many exchanges it moved.
KUSARI_API int hoist_exchanges(Program& program, PassLog& log);

}  // namespace kusari::graphs
