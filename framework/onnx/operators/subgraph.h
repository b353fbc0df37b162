#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kusari/framework/core/device.h"
#include "kusari/framework/core/dtype.h"
#include "kusari/framework/core/shape.h"
#include "kusari/framework/onnx/operators/node_reader.h"

namespace kusari::onnx {

/// A graph whose nodes have become operations over numbered values.
class Subgraph {
 public:
  struct Step {
    std::string place;  ///< for errors: "node 'Conv_3' (#12): Conv (opset 13)"
    Operation run;
    std::vector<int> inputs, outputs;  ///< values; -1 for one that is left out
    std::vector<int> last_used;        ///< values that nobody needs after this step
    bool reads_shapes_only = false;
    bool is_random = false;  ///< gives other numbers each time, also from constants
    bool stays = false;      ///< see Operator
  };

  /// inputs: those of the graph. captured: the values of graphs around it that its nodes read, in captures' order.
  /// Throws what an operation throws, with its place in front.
  Values run(std::span<const Value> inputs, std::span<const Value> captured, const Device& device) const;
  /// The same for a graph within another, whose node was called with values that end with the captured ones from
  /// `first` on.
  Values run(std::span<const Value> inputs, const Call& call, size_t first) const;

  std::vector<Step> steps;
  /// What the file says of an output. Sizes that it leaves open are 0.
  struct Declared {
    std::optional<Dtype> dtype;
    Shape shape;
  };

  int value_count = 0;
  std::vector<int> inputs, outputs;
  std::vector<Declared> declared;   ///< of each output
  std::vector<int> captures;        ///< the values here that get the captured ones
  std::vector<int> outer_captures;  ///< the same values in the graph around this one
};

/// Calls `f`; an Error from it gets `place` in front.
void at_place(const std::string& place, const std::function<void()>& f);

}  // namespace kusari::onnx
