#include <algorithm>

#include "kusari/framework/onnx/operators/node_reader.h"

namespace kusari::onnx {

DataType result_type(const NodeReader& node) {
  constexpr std::string_view kAsFirstInput[] = {"Add",        "BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr",
                                                "BitwiseXor", "Concat",   "Expand",     "Flatten",    "Gather",
                                                "Identity",   "Mul",      "Reshape",    "Slice",      "Split",
                                                "Squeeze",    "Sub",      "Tile",       "Transpose",  "Unsqueeze"};
  const std::string_view op = node.op_type();
  if (std::find(std::begin(kAsFirstInput), std::end(kAsFirstInput), op) != std::end(kAsFirstInput)) {
    return node.input_type(0);
  }
  if (op == "Constant" || op == "ConstantOfShape") return node.tensor_type("value");
  if (op == "Cast" || op == "BitCast") return node.data_type("to", DataType::undefined);
  if (op == "CastLike") return node.input_type(1);
  if (op == "QuantizeLinear") {
    const DataType written = node.data_type("output_dtype", DataType::undefined);
    return written != DataType::undefined ? written : node.input_type(2);
  }
  return DataType::undefined;
}

}  // namespace kusari::onnx
