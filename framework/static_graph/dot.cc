#include "kusari/framework/static_graph/dot.h"

#include <string>
#include <vector>

#include "kusari/framework/core/dtype.h"
#include "kusari/framework/core/shape.h"

namespace kusari::graphs {

namespace {

std::string in_quotes(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n') {
      result += "\\n";
    } else {
      result += c;
    }
  }
  return result + "\"";
}

const char* kind_name(const Slot& slot) {
  switch (slot.kind) {
    case Slot::Kind::intermediate:
      return slot.exported == Export::none ? "intermediate" : "result";
    case Slot::Kind::input:
      return "input";
    case Slot::Kind::leaf:
      return "parameter";
    case Slot::Kind::external:
      return "external";
    case Slot::Kind::constant:
      return "constant";
  }
  return "";
}

const char* colour_of(const Slot& slot) {
  switch (slot.kind) {
    case Slot::Kind::intermediate:
      return slot.exported == Export::none ? "white" : "palegreen";
    case Slot::Kind::input:
      return "lightblue";
    case Slot::Kind::leaf:
      return "khaki";
    case Slot::Kind::external:
      return "lightgrey";
    case Slot::Kind::constant:
      return "wheat";
  }
  return "white";
}

std::string describe(const View& view) { return kusari::name(view.dtype) + (" " + to_string(view.shape)); }

void add_steps(const Program& program, Phase phase, const char* label, std::string& text) {
  std::string boxes;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    if (step.phase != phase) continue;
    std::string title = step.is_code() ? "static_code" : step.name;
    if (!step.fused.empty()) title += "\n" + step.fused;
    boxes += "    k" + std::to_string(i) + " [shape=box, label=" + in_quotes(title) + "];\n";
  }
  if (boxes.empty()) return;
  text += std::string("  subgraph cluster_") + label + " {\n    label=" + label + ";\n" + boxes + "  }\n";
}

}  // namespace

std::string dot(const Program& program) {
  std::string text = "digraph " + in_quotes(program.name) + " {\n";
  add_steps(program, Phase::constant, "constant", text);
  add_steps(program, Phase::forward, "forward", text);
  add_steps(program, Phase::backward, "backward", text);

  std::vector<bool> is_used(program.slots.size());
  std::string arrows;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const std::string step = "k" + std::to_string(i);
    for_each_read(program.steps[i], [&](const View& view) {
      is_used[static_cast<size_t>(view.slot)] = true;
      arrows += "  s" + std::to_string(view.slot) + " -> " + step + " [label=" + in_quotes(describe(view)) + "];\n";
    });
    for_each_write(program.steps[i], [&](const View& view) {
      is_used[static_cast<size_t>(view.slot)] = true;
      arrows += "  " + step + " -> s" + std::to_string(view.slot) + " [label=" + in_quotes(describe(view)) + "];\n";
    });
  }
  for (size_t i = 0; i < program.slots.size(); ++i) {
    if (!is_used[i]) continue;
    const Slot& slot = program.slots[i];
    const std::string label =
        kind_name(slot) + (" " + std::to_string(i)) + "\n" + std::to_string(slot.bytes) + " bytes";
    text += "  s" + std::to_string(i) + " [style=filled, fillcolor=" + colour_of(slot) + ", label=" + in_quotes(label) +
            "];\n";
  }
  return text + arrows + "}\n";
}

}  // namespace kusari::graphs
