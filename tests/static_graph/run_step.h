#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/kernel.h"
#include "kusari/framework/static_graph/program.h"

namespace kusari::graphs {

/// Launches a step that is no code with the arrays that `array_of` gives for views; random numbers are drawn from
/// `first` on.
template <class ArrayOf>
void run_step(const Step& step, RandomState first, const ArrayOf& array_of) {
  using Kind = LaunchArgument::Kind;
  std::vector<std::vector<Array>> arrays(step.operands.size());
  std::vector<std::span<const Array>> lists(step.operands.size());
  std::vector<RandomState> states(step.operands.size());
  std::vector<LaunchArgument> arguments;
  for (size_t i = 0; i < step.operands.size(); ++i) {
    const Operand& operand = step.operands[i];
    for (const View& view : operand.views) arrays[i].push_back(array_of(view));
    const void* value = operand.bytes.data();
    switch (operand.kind) {
      case Kind::in_list:
      case Kind::out_list:
      case Kind::in_out_list:
        lists[i] = arrays[i];
        value = &lists[i];
        break;
      case Kind::random_state:
        std::memcpy(&states[i], operand.bytes.data(), sizeof(RandomState));
        states[i].seed = first.seed;
        states[i].offset += first.offset;
        value = &states[i];
        break;
      default:
        if (!operand.views.empty()) value = arrays[i].data();
    }
    arguments.push_back({operand.kind, value, operand.bytes.size()});
  }
  step.run(step.kernel, arguments.data());
}

}  // namespace kusari::graphs
