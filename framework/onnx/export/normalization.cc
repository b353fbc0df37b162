#include <algorithm>

#include "kusari/framework/onnx/export/graph_builder.h"

namespace kusari::onnx::exporting {
namespace {

// gamma (x - mean) / sqrt(var + eps) + beta, the parameters reshaped to `shape`.
std::string normalized(const NodeWriter& w, const Shape& shape, double eps) {
  const Dtype dtype = w.input_dtype(0);
  const std::string target = w.integers({shape.begin(), shape.end()});
  const auto parameter = [&](size_t i) {
    return w.make("Reshape", {w.cast(w.input(i), w.input_dtype(i), dtype), target});
  };
  const std::string deviation = w.make("Sqrt", {w.make("Add", {parameter(5), w.scalar(eps, dtype)})});
  const std::string x_hat = w.make("Div", {w.make("Sub", {w.input(0), parameter(4)}), deviation});
  return w.make("Add", {w.make("Mul", {x_hat, parameter(2)}), parameter(3)});
}

// Inputs: x, the residual or none, gamma, beta; and with fixed statistics mean, var.
void write_batch_normalization(const NodeWriter& w) {
  const Attributes& options = w.options();
  const double eps = options.real("eps");
  const int ndim = w.input_ndim(0);
  const std::vector<int64_t>& axes = options.integers("axis");
  std::vector<int64_t> usual{0};
  for (int i = 2; i < ndim; ++i) usual.push_back(i);
  const bool is_usual = axes == usual && ndim >= 2;
  const bool is_fixed = options.boolean("fixed");
  std::string y;
  if (is_fixed && is_usual) {
    const bool is_mixed = w.input_dtype(0) != w.input_dtype(2);
    const auto parameter = [&](size_t i) {
      return is_mixed && w.opset() < 15 ? w.cast(w.input(i), w.input_dtype(i), w.input_dtype(0)) : w.input(i);
    };
    y = w.make("BatchNormalization", {w.input(0), parameter(2), parameter(3), parameter(4), parameter(5)},
               {{"epsilon", eps}});
  } else if (is_fixed) {
    Shape shape;
    for (int64_t axis = 0; axis < ndim; ++axis) {
      const bool is_reduced = std::find(axes.begin(), axes.end(), axis) != axes.end();
      shape.push_back(is_reduced ? 1 : w.input_size(0, static_cast<int>(axis)));
    }
    y = normalized(w, shape, eps);
  } else {
    if (!is_usual) w.refuse("in training, over axes other than the batch's and the image's, it has no ONNX operator");
    w.require_opset(14, "batch normalization in training");
    const Shape& channels = w.input_shape(2);
    const Dtype dtype = w.input_dtype(2);
    y = w.make_all(
        "BatchNormalization",
        {w.input(0), w.input(2), w.input(3), w.constant(zeros(channels, dtype)), w.constant(ones(channels, dtype))}, 3,
        {{"epsilon", eps}, {"momentum", options.real("decay")}, {"training_mode", int64_t{1}}})[0];
  }
  if (options.boolean("residual")) y = w.make("Add", {y, w.input(1)});
  w.node(options.boolean("relu") ? "Relu" : "Identity", {y}, {w.output()});
}

void write_layer_normalization(const NodeWriter& w) {
  const double eps = w.options().real("eps");
  const Dtype dtype = w.input_dtype(0);
  const std::string gamma = w.cast(w.input(1), w.input_dtype(1), dtype);
  const std::string beta = w.cast(w.input(2), w.input_dtype(2), dtype);
  if (w.opset() >= 17) {
    return w.node("LayerNormalization", {w.input(0), gamma, beta}, {w.output()},
                  {{"axis", int64_t{-1}}, {"epsilon", eps}});
  }
  const Attributes last{{"axes", std::vector<int64_t>{-1}}, {"keepdims", int64_t{1}}};
  const std::string centred = w.make("Sub", {w.input(0), w.make("ReduceMean", {w.input(0)}, last)});
  const std::string variance = w.make("ReduceMean", {w.make("Mul", {centred, centred})}, last);
  const std::string deviation = w.make("Sqrt", {w.make("Add", {variance, w.scalar(eps, dtype)})});
  w.node("Add", {w.make("Mul", {w.make("Div", {centred, deviation}), gamma}), beta}, {w.output()});
}

// Half types in float32, as they are computed.
void write_rms_normalization(const NodeWriter& w) {
  const Dtype dtype = w.input_dtype(0), wide = is_half(dtype) ? Dtype::float32 : dtype;
  const std::string x = w.cast(w.input(0), dtype, wide), gamma = w.cast(w.input(1), w.input_dtype(1), wide);
  const std::string square = w.make("Mul", {x, x});
  const std::vector<int64_t> last{-1};
  Attributes attributes{{"keepdims", int64_t{1}}};
  NodeWriter::Names inputs{square};
  if (w.opset() >= 18) {
    inputs.push_back(w.integers(last));
  } else {
    attributes.set("axes", Attributes::Value(last));
  }
  const std::string mean = w.make("ReduceMean", inputs, attributes);
  const std::string root = w.make("Sqrt", {w.make("Add", {mean, w.scalar(w.options().real("eps"), wide)})});
  const NodeWriter::Names product{w.make("Div", {x, root}), gamma};
  if (wide == dtype) return w.node("Mul", product, {w.output()});
  w.node("Cast", {w.make("Mul", product)}, {w.output()}, {{"to", NodeWriter::type_number(dtype)}});
}

void write_group_normalization(const NodeWriter& w) {
  const double eps = w.options().real("eps");
  const int64_t groups = w.options().integer("groups");
  const Dtype dtype = w.input_dtype(0);
  const std::string gamma = w.cast(w.input(1), w.input_dtype(1), dtype);
  const std::string beta = w.cast(w.input(2), w.input_dtype(2), dtype);
  if (w.opset() >= 21) {
    return w.node("GroupNormalization", {w.input(0), gamma, beta}, {w.output()},
                  {{"num_groups", groups}, {"epsilon", eps}});
  }
  const std::string rows = w.make("Reshape", {w.input(0), w.integers({0, groups, -1})});
  const std::string x_hat =
      w.make("InstanceNormalization", {rows, w.constant(ones({groups}, dtype)), w.constant(zeros({groups}, dtype))},
             {{"epsilon", eps}});
  const std::string back = w.make("Reshape", {x_hat, w.output_shape_value()});
  std::vector<int64_t> aligned{1, w.input_size(0, 1)};
  for (int i = 2; i < w.input_ndim(0); ++i) aligned.push_back(1);
  const std::string shape = w.integers(aligned);
  const std::string scaled = w.make("Mul", {back, w.make("Reshape", {gamma, shape})});
  w.node("Add", {scaled, w.make("Reshape", {beta, shape})}, {w.output()});
}

void write_local_response(const NodeWriter& w) {
  const int64_t n = w.options().integer("n");
  Attributes attributes;
  attributes.set("size", n);
  attributes.set("alpha", w.options().real("alpha") * static_cast<double>(n));
  attributes.set("beta", w.options().real("beta"));
  attributes.set("bias", w.options().real("k"));
  w.op("LRN", attributes);
}

void write_normalize(const NodeWriter& w) {
  const std::vector<int64_t>& axes = w.options().integers("axis");
  const bool is_input = w.opset() >= 18;
  Attributes attributes;
  if (!is_input) attributes.set("axes", Attributes::Value(axes));
  attributes.set("keepdims", 1);
  NodeWriter::Names inputs{w.input(0)};
  if (is_input) inputs.push_back(w.integers(axes));
  const std::string length = w.make("ReduceL2", inputs, attributes);
  const std::string divisor = w.make("Add", {length, w.scalar(w.options().real("eps"), w.input_dtype(0))});
  w.node("Div", {w.input(0), divisor}, {w.output()});
}

void write_dropout(const NodeWriter& w) {
  const std::string on = w.constant(full({}, true, Dtype::bool_));
  w.node("Dropout", {w.input(0), w.scalar(w.options({"mask"}).real("ratio"), Dtype::float32), on}, {w.output()});
}

}  // namespace

void add_normalization_converters(ConverterTable& table) {
  for (const char* const kind : {"batch_normalization", "fixed_batch_normalization"}) {
    for (const char* const more : {"", "_relu", "_add_relu"}) {
      table[std::string(kind) + more] = write_batch_normalization;
    }
  }
  table["layer_normalization"] = write_layer_normalization;
  table["rms_normalization"] = write_rms_normalization;
  table["group_normalization"] = write_group_normalization;
  table["local_response_normalization"] = write_local_response;
  table["normalize"] = write_normalize;
  table["dropout"] = write_dropout;
}

}  // namespace kusari::onnx::exporting
