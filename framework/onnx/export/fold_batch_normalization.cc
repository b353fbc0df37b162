#include <cmath>
#include <optional>
#include <unordered_map>
#include <vector>

#include "kusari/framework/onnx/export/graph_builder.h"

namespace kusari::onnx::exporting {
namespace {

/// What a normalization does to each channel of a convolution: y = factor x + shift.
struct ChannelMap {
  std::vector<double> factor, shift;
};

ChannelMap channel_map(const Array& gamma, const Array& beta, const Array& mean, const Array& var, double eps) {
  ChannelMap result{gamma.to_vector<double>(), beta.to_vector<double>()};
  const std::vector<double> means = mean.to_vector<double>(), variances = var.to_vector<double>();
  for (size_t c = 0; c < result.factor.size(); ++c) {
    result.factor[c] /= std::sqrt(variances[c] + eps);
    result.shift[c] -= means[c] * result.factor[c];
  }
  return result;
}

Array folded_weights(const Array& W, const ChannelMap& map) {
  std::vector<double> numbers = W.to_vector<double>();
  const size_t each = numbers.size() / map.factor.size();
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] *= map.factor[i / each];
  return array(numbers, W.shape()).astype(W.dtype());
}

Array folded_bias(const std::optional<Array>& bias, const ChannelMap& map, Dtype dtype) {
  std::vector<double> numbers = map.shift;
  if (bias) {
    const std::vector<double> before = bias->to_vector<double>();
    for (size_t c = 0; c < numbers.size(); ++c) numbers[c] += before[c] * map.factor[c];
  }
  return array(numbers).astype(dtype);
}

}  // namespace

void GraphBuilder::fold_batch_normalizations() {
  std::unordered_map<std::string, int> readers;
  std::unordered_map<std::string, size_t> producers, places;  // of convolutions' results; of initializers
  for (const std::string& name : output_names_) ++readers[name];
  for (size_t i = 0; i < nodes_.size(); ++i) {
    for (const std::string& name : nodes_[i].inputs) ++readers[name];
    if (nodes_[i].type == "Conv" && nodes_[i].domain.empty()) producers[nodes_[i].outputs[0]] = i;
  }
  for (size_t i = 0; i < initializers_.size(); ++i) places[initializers_[i].name] = i;
  const auto constant_of = [&](const std::string& name) -> std::optional<Array> {
    const auto place = places.find(name);
    return place == places.end() ? std::nullopt : std::optional(initializers_[place->second].array);
  };
  // An initializer that nobody else reads becomes another, or a new one is made.
  const auto replace = [&](const std::string& name, const Array& numbers) {
    if (readers[name] == 1) {
      initializers_[places[name]].array = numbers;
      return name;
    }
    const std::string folded = fresh(name + "_folded");
    places[folded] = initializers_.size();
    initializers_.push_back({folded, numbers});
    return folded;
  };

  std::vector<bool> is_folded(nodes_.size());
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const GraphNode& node = nodes_[i];
    if (node.type != "BatchNormalization" || !node.domain.empty() || node.outputs.size() != 1) continue;
    const auto producer = producers.find(node.inputs[0]);
    if (producer == producers.end() || readers[node.inputs[0]] != 1) continue;
    GraphNode& convolution = nodes_[producer->second];
    const std::optional<Array> W = constant_of(convolution.inputs[1]);
    const bool has_bias = convolution.inputs.size() > 2;
    const std::optional<Array> bias = has_bias ? constant_of(convolution.inputs[2]) : std::nullopt;
    std::vector<Array> statistics;
    for (size_t k = 1; k < node.inputs.size(); ++k) {
      if (const std::optional<Array> one = constant_of(node.inputs[k])) statistics.push_back(*one);
    }
    // What is rounded to 16 bits stays as it is.
    const bool is_wide = W && itemsize(W->dtype()) >= 4;
    if (!is_wide || has_bias != bias.has_value() || statistics.size() != 4) continue;
    const ChannelMap map =
        channel_map(statistics[0], statistics[1], statistics[2], statistics[3], node.attributes.real("epsilon"));
    const Array shift = folded_bias(bias, map, W->dtype());
    convolution.inputs[1] = replace(convolution.inputs[1], folded_weights(*W, map));
    if (has_bias) {
      convolution.inputs[2] = replace(convolution.inputs[2], shift);
    } else {
      convolution.inputs.push_back(replace(node.inputs[2], shift));  // beta's place
    }
    convolution.outputs[0] = node.outputs[0];
    is_folded[i] = true;
  }
  std::vector<GraphNode> kept;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (!is_folded[i]) kept.push_back(std::move(nodes_[i]));
  }
  nodes_ = std::move(kept);
}

}  // namespace kusari::onnx::exporting
