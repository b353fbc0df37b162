#include "kusari/framework/autograd/computational_graph.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/error.h"

namespace kusari {
namespace {

using detail::VariableNode;

/// A vertex of either kind.
struct Vertex {
  const VariableNode* variable = nullptr;
  const FunctionNode* function = nullptr;

  const void* address() const noexcept {
    return variable != nullptr ? static_cast<const void*>(variable) : static_cast<const void*>(function);
  }
  int rank() const noexcept { return variable != nullptr ? variable->rank : function->rank(); }
};

/// A text between quotes; in records, braces and bars would divide the node.
std::string escaped(const std::string& text, bool is_record) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\' || (is_record && std::string_view("{}|<>").find(c) != std::string_view::npos)) {
      result += '\\';
    }
    if (c == '\n') {
      result += "\\n";
    } else {
      result += c;
    }
  }
  return result;
}

std::string label(const VariableNode& variable, bool show_name) {
  std::string text;
  if (show_name && variable.saved != nullptr && !variable.saved->name.empty()) text = variable.saved->name + ": ";
  const Shape& shape = variable.shape();
  for (int i = 0; i < shape.ndim(); ++i) text += (i == 0 ? "(" : ", ") + std::to_string(shape[i]);
  return text + (shape.ndim() > 0 ? "), " : "") + name(variable.dtype());
}

class Graph {
 public:
  explicit Graph(std::span<const Variable> outputs) {
    for (const Variable& output : outputs) {
      if (!output.is_defined()) throw ValueError("build_computational_graph: an output is undefined");
      visit({output.node()});
    }
    // Of equal ranks, the one that was found first: numbers of vertices do not depend on addresses.
    while (!queue_.empty()) {
      const Vertex vertex = vertices_[std::get<2>(queue_.top())];
      queue_.pop();
      if (vertex.variable != nullptr) {
        if (FunctionNode* const creator = vertex.variable->creator.get()) connect({.function = creator}, vertex);
        continue;
      }
      for (size_t i = 0; i < vertex.function->input_count(); ++i) {
        if (VariableNode* const input = vertex.function->input_node(i)) connect({input}, vertex);
      }
    }
  }

  std::string dot(const ComputationalGraphOptions& options) const {
    std::string text = "digraph graphname{rankdir=" + options.rankdir + ";";
    for (size_t i = 0; i < vertices_.size(); ++i) {
      const Vertex& v = vertices_[i];
      if (v.function != nullptr) {
        text += node(i, v.function->name(), options.function_style);
      } else if (!options.remove_variable) {
        text += node(i, label(*v.variable, options.show_name), options.variable_style);
      }
    }
    std::unordered_set<std::string> drawn;
    for (const auto& [from, to] : edges_) {
      size_t tail = from;
      if (options.remove_variable) {
        if (vertices_[to].variable != nullptr) continue;
        const FunctionNode* const creator = vertices_[from].variable->creator.get();
        if (creator == nullptr) continue;
        tail = index_.at(creator);
      }
      const std::string edge = std::to_string(tail) + " -> " + std::to_string(to) + ";";
      if (drawn.insert(edge).second) text += edge;
    }
    return text + "}";
  }

 private:
  size_t visit(const Vertex& vertex) {
    const auto [found, is_new] = index_.emplace(vertex.address(), vertices_.size());
    if (is_new) {
      queue_.emplace(vertex.rank(), -static_cast<int64_t>(vertices_.size()), vertices_.size());
      vertices_.push_back(vertex);
    }
    return found->second;
  }
  void connect(const Vertex& from, const Vertex& to) {
    const size_t head = index_.at(to.address());
    edges_.emplace_back(visit(from), head);
  }
  static std::string node(size_t index, const std::string& label, const DotStyle& style) {
    const bool is_record = std::any_of(style.begin(), style.end(), [](const auto& attribute) {
      return attribute.first == "shape" && attribute.second.find("record") != std::string::npos;
    });
    std::string text = std::to_string(index) + " [label=\"" + escaped(label, is_record) + "\"";
    for (const auto& [key, value] : style) text += "," + key + "=\"" + escaped(value, false) + "\"";
    return text + "];";
  }

  std::vector<Vertex> vertices_;
  std::unordered_map<const void*, size_t> index_;
  std::vector<std::pair<size_t, size_t>> edges_;
  std::priority_queue<std::tuple<int, int64_t, size_t>> queue_;
};

}  // namespace

std::string build_computational_graph(std::span<const Variable> outputs, const ComputationalGraphOptions& options) {
  if (options.rankdir != "TB" && options.rankdir != "BT" && options.rankdir != "LR" && options.rankdir != "RL") {
    throw ValueError("build_computational_graph: rankdir is '" + options.rankdir + "': it must be TB, BT, LR or RL");
  }
  return Graph(outputs).dot(options);
}

}  // namespace kusari
