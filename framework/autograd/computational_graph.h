#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"

namespace kusari {

/// Graphviz's attributes of a node, in the order in which they are written.
using DotStyle = std::vector<std::pair<std::string, std::string>>;

struct ComputationalGraphOptions {
  DotStyle variable_style = {{"shape", "octagon"}, {"fillcolor", "#E0E0E0"}, {"style", "filled"}};
  DotStyle function_style = {{"shape", "record"}, {"fillcolor", "#6495ED"}, {"style", "filled"}};
  std::string rankdir = "TB";    ///< from top to bottom; or BT, LR, RL
  bool remove_variable = false;  ///< functions alone, connected to each other
  bool show_name = true;         ///< variables that have a name are "name: (shape), dtype"
};

/// The graph that computed `outputs`, in Graphviz's language DOT, on one line: `dot -Tpng` draws it. A variable is
/// named by its shape and dtype, a function by its name. The same computation gives the same text. Throws ValueError
/// for an undefined output and for a rankdir that Graphviz does not have.
/// chainer.computational_graph.build_computational_graph(..).dump().
KUSARI_API std::string build_computational_graph(std::span<const Variable> outputs,
                                                 const ComputationalGraphOptions& options = {});
inline std::string build_computational_graph(std::initializer_list<Variable> outputs,
                                             const ComputationalGraphOptions& options = {}) {
  return build_computational_graph(std::span<const Variable>(outputs.begin(), outputs.size()), options);
}

}  // namespace kusari
