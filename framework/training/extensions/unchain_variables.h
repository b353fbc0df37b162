#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/training/extension.h"

namespace kusari::training::extensions {

/// Drops the graphs of reported variables, which config.keep_graph_on_report keeps, after all extensions that use them
/// and before snapshots: every iteration, with priority 0. Without it they go when the next iteration begins.
/// chainer.training.extensions.unchain_variables.
KUSARI_API FunctionExtension unchain_variables();

}  // namespace kusari::training::extensions
