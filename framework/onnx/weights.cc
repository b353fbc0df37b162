#include "kusari/framework/onnx/weights.h"

#include <algorithm>
#include <map>
#include <span>

namespace kusari::onnx {

namespace {

/// The inputs of an operator that are weights: from `first` on, `count` of them.
struct WeightInputs {
  std::string_view op_type;
  size_t first, count;
};
constexpr WeightInputs kWeightInputs[] = {
    {"Conv", 1, 2},
    {"ConvTranspose", 1, 2},
    {"DeformConv", 1, 1},
    {"Gemm", 0, 3},
    {"MatMul", 0, 2},
    {"Einsum", 0, 8},
    {"BatchNormalization", 1, 2},
    {"InstanceNormalization", 1, 2},
    {"GroupNormalization", 1, 2},
    {"LayerNormalization", 1, 2},
    {"RMSNormalization", 1, 1},
    {"SimplifiedLayerNormalization", 1, 1},
    {"SkipLayerNormalization", 2, 3},
    {"SkipSimplifiedLayerNormalization", 2, 2},
    {"EmbedLayerNormalization", 2, 5},
    {"GroupNorm", 1, 2},
    {"SkipGroupNorm", 1, 2},
    {"FusedConv", 1, 2},
    {"NhwcConv", 1, 2},
    {"NhwcFusedConv", 1, 2},
    {"FusedGemm", 0, 3},
    {"FusedMatMul", 0, 2},
    {"GemmFastGelu", 1, 2},
    {"BiasGelu", 1, 1},
    {"BiasAdd", 1, 1},
    {"BiasSplitGelu", 1, 1},
    {"Attention", 1, 2},
    {"MultiHeadAttention", 3, 1},
    {"PRelu", 1, 1},
    {"Gather", 0, 1},
    {"LSTM", 1, 3},
    {"GRU", 1, 3},
    {"RNN", 1, 3},
};

constexpr std::string_view kMoving[] = {"Transpose", "Reshape", "Identity", "Cast", "Unsqueeze", "Squeeze", "Flatten"};

class Search {
 public:
  explicit Search(const read::Model& model) {
    for (const read::Tensor& tensor : model.graph.initializers) {
      if (tensor.type == DataType::float32 || tensor.type == DataType::float64 || tensor.type == DataType::float16 ||
          tensor.type == DataType::bfloat16) {
        initializers_.emplace(tensor.name, &tensor);
      }
    }
    for (const read::Node& node : model.graph.nodes) {
      if (!node.outputs.empty() && !node.inputs.empty() &&
          std::find(std::begin(kMoving), std::end(kMoving), node.op_type) != std::end(kMoving)) {
        moved_.emplace(node.outputs[0], node.inputs[0]);
      }
    }
    visit(model.graph.nodes);
    for (const read::Function& function : model.functions) called_.emplace(function.name, &function);
    for (const read::Node& node : model.graph.nodes) visit_call(node);
  }

  std::set<std::string_view> found;

 private:
  void visit(std::span<const read::Node> nodes) {
    for (const read::Node& node : nodes) {
      for (const WeightInputs& weights : kWeightInputs) {
        if (weights.op_type != node.op_type) continue;
        for (size_t i = weights.first; i < std::min(weights.first + weights.count, node.inputs.size()); ++i) {
          mark(node.inputs[i]);
        }
      }
      if (node.op_type == "Add" || node.op_type == "Mul" || node.op_type == "Sub" || node.op_type == "Div") {
        for (const std::string_view input : node.inputs) {
          if (is_vector(input)) mark(input);
        }
      }
      for (const read::Attribute& attribute : node.attributes) {
        if (attribute.graph != nullptr) visit(attribute.graph->nodes);
      }
    }
  }

  /// What a function of the model does with its inputs is not looked into: matrices that it is given are weights.
  void visit_call(const read::Node& node) {
    if (!called_.contains(node.op_type)) return;
    for (const std::string_view input : node.inputs) {
      const auto tensor = initializers_.find(input);
      if (tensor != initializers_.end() && (tensor->second->dims.size() >= 2 || is_vector(input))) mark(input);
    }
  }

  /// More than one number, along one axis alone: a bias, a scale by channel. A mask or a table has more axes.
  bool is_vector(std::string_view name) const {
    const auto tensor = initializers_.find(name);
    if (tensor == initializers_.end()) return false;
    return std::count_if(tensor->second->dims.begin(), tensor->second->dims.end(),
                         [](int64_t size) { return size != 1; }) == 1;
  }

  void mark(std::string_view name) {
    for (int steps = 0; steps < 64; ++steps) {
      if (initializers_.contains(name)) {
        found.insert(name);
        return;
      }
      const auto source = moved_.find(name);
      if (source == moved_.end()) return;
      name = source->second;
    }
  }

  std::map<std::string_view, const read::Tensor*> initializers_;
  std::map<std::string_view, std::string_view> moved_;
  std::map<std::string_view, const read::Function*> called_;
};

}  // namespace

std::set<std::string_view> trained_initializers(const read::Model& model) { return Search(model).found; }

}  // namespace kusari::onnx
