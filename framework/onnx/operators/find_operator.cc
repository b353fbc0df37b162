#include <functional>
#include <map>
#include <string>
#include <utility>

#include "kusari/framework/onnx/operators/families.h"

namespace kusari::onnx {

namespace {

constexpr int64_t kNewest = 28;  // attributes of operators of other domains mean what the newest ones do

using Table = std::map<std::pair<std::string_view, std::string_view>, const Operator*>;

Table make_table() {
  Table table;
  const auto add = [&](std::string_view domain, std::span<const Operator> operators) {
    for (const Operator& op : operators) table.emplace(std::pair(domain, op.name), &op);
  };
  for (const auto& family : {activation_operators, math_operators,        comparison_operators, product_operators,
                             reduction_operators,  shape_operators,       array_operators,      index_operators,
                             cast_operators,       convolution_operators, pooling_operators,    normalization_operators,
                             image_operators,      recurrent_operators,   attention_operators,  quantization_operators,
                             loss_operators,       signal_operators,      detection_operators,  random_operators,
                             control_operators,    sequence_operators,    vectorizer_operators}) {
    add("", family());
  }
  for (const auto& family : {microsoft_operators, microsoft_attention_operators, microsoft_group_attention_operators,
                             microsoft_block_operators, microsoft_image_operators, microsoft_quantization_operators,
                             microsoft_recurrent_operators}) {
    add("com.microsoft", family());
  }
  // What ONNX took over from there, or means the same.
  for (const std::string_view name :
       {"DequantizeLinear", "GatherND", "GridSample", "Pad", "QuantizeLinear", "Range", "Trilu"}) {
    table.emplace(std::pair("com.microsoft", name), table.at({"", name}));
  }
  return table;
}

}  // namespace

const Operator* find_operator(std::string_view domain, std::string_view name) {
  static const Table table = make_table();
  const auto found = table.find({domain, name});
  return found != table.end() ? found->second : nullptr;
}

Operation onnx_operation(std::string_view name, const NodeReader& node) {
  return find_operator("", name)->build(node.as_of(kNewest));
}

}  // namespace kusari::onnx
