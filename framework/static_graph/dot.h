#pragma once

#include <string>

#include "kusari/framework/core/export.h"
#include "kusari/framework/static_graph/program.h"

namespace kusari::graphs {

/// The program in Graphviz's language: a box for each step, an ellipse for each slot, an arrow for each access.
KUSARI_API std::string dot(const Program& program);

}  // namespace kusari::graphs
