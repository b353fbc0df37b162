#include <cmath>
#include <numbers>

#include "kusari/framework/onnx/export/graph_builder.h"

namespace kusari::onnx::exporting {
namespace {

void write_softplus(const NodeWriter& w) {
  const double beta = w.options().real("beta");
  if (beta == 1) return w.op("Softplus");
  const Dtype dtype = w.input_dtype(0);
  const std::string scaled = w.make("Mul", {w.input(0), w.scalar(beta, dtype)});
  w.node("Mul", {w.make("Softplus", {scaled}), w.scalar(1 / beta, dtype)}, {w.output()});
}

void write_gelu(const NodeWriter& w) {
  if (w.opset() >= 20) return w.op("Gelu", {{"approximate", std::string("none")}});
  const Dtype dtype = w.input_dtype(0);
  const std::string erf = w.make("Erf", {w.make("Mul", {w.input(0), w.scalar(std::numbers::sqrt2 / 2, dtype)})});
  const std::string half = w.make("Mul", {w.input(0), w.scalar(0.5, dtype)});
  w.node("Mul", {half, w.make("Add", {erf, w.scalar(1, dtype)})}, {w.output()});
}

void write_gelu_tanh(const NodeWriter& w) {
  if (w.opset() >= 20) return w.op("Gelu", {{"approximate", std::string("tanh")}});
  const Dtype dtype = w.input_dtype(0);
  const std::string x = w.input(0);
  const std::string cube = w.make("Mul", {w.make("Mul", {w.make("Mul", {x, x}), x}), w.scalar(0.044715, dtype)});
  const std::string inner = w.make("Mul", {w.make("Add", {x, cube}), w.scalar(std::sqrt(2 / std::numbers::pi), dtype)});
  const std::string factor = w.make("Add", {w.make("Tanh", {inner}), w.scalar(1, dtype)});
  w.node("Mul", {w.make("Mul", {x, w.scalar(0.5, dtype)}), factor}, {w.output()});
}

/// An operator from opset 14 on.
void write_hard_swish(const NodeWriter& w) {
  if (w.opset() >= 14) return w.op("HardSwish");
  const std::string part = w.make("HardSigmoid", {w.input(0)}, {{"alpha", 1.0 / 6}, {"beta", 0.5}});
  w.node("Mul", {w.input(0), part}, {w.output()});
}

/// An operator from opset 18 on.
void write_mish(const NodeWriter& w) {
  if (w.opset() >= 18) return w.op("Mish");
  w.node("Mul", {w.input(0), w.make("Tanh", {w.make("Softplus", {w.input(0)})})}, {w.output()});
}

void write_swish(const NodeWriter& w) {
  const std::string scaled = w.make("Mul", {w.input(0), w.unbroadcast_input(1)});
  w.node("Mul", {w.input(0), w.make("Sigmoid", {scaled})}, {w.output()});
}

/// Inputs are the maps, and their weights.
void write_normalized_fusion_silu(const NodeWriter& w) {
  const size_t maps = w.input_count() - 1;
  const Dtype dtype = w.input_dtype(maps);
  const std::string positive = w.make("Relu", {w.input(maps)});
  const std::string sum = w.make("ReduceSum", {positive}, {{"keepdims", int64_t{0}}});
  const std::string divisor = w.make("Add", {sum, w.scalar(w.options().real("eps"), dtype)});
  const std::string shares = w.cast(w.make("Div", {positive, divisor}), dtype, w.input_dtype(0));
  std::string mean;
  for (size_t i = 0; i < maps; ++i) {
    const std::string place = w.constant(full({}, static_cast<int64_t>(i), Dtype::int64));
    const std::string term = w.make("Mul", {w.make("Gather", {shares, place}, {{"axis", int64_t{0}}}), w.input(i)});
    mean = i == 0 ? term : w.make("Add", {mean, term});
  }
  w.node("Mul", {mean, w.make("Sigmoid", {mean})}, {w.output()});
}

void write_rrelu(const NodeWriter& w) {
  const Array& r = w.options({"r"}).array("r");
  if (r.ndim() > 0) w.refuse("in training it draws slopes, which ONNX has no operator for");
  w.op("LeakyRelu", {{"alpha", r.item<double>()}});
}

}  // namespace

void add_activation_converters(ConverterTable& table) {
  table["relu"] = [](const NodeWriter& w) { w.op("Relu"); };
  table["sigmoid"] = [](const NodeWriter& w) { w.op("Sigmoid"); };
  table["tanh"] = [](const NodeWriter& w) { w.op("Tanh"); };
  table["clipped_relu"] = [](const NodeWriter& w) {
    const Dtype dtype = w.input_dtype(0);
    w.node("Clip", {w.input(0), w.scalar(0, dtype), w.scalar(w.options().real("z"), dtype)}, {w.output()});
  };
  table["leaky_relu"] = [](const NodeWriter& w) { w.op("LeakyRelu", {{"alpha", w.options().real("slope")}}); };
  table["elu"] = [](const NodeWriter& w) { w.op("Elu", {{"alpha", w.options().real("alpha")}}); };
  table["hard_sigmoid"] = [](const NodeWriter& w) {
    w.op("HardSigmoid", {{"alpha", w.options().real("alpha")}, {"beta", w.options().real("beta")}});
  };
  table["celu"] = [](const NodeWriter& w) { w.op("Celu", {{"alpha", w.options().real("alpha")}}); };
  table["thresholded_relu"] = [](const NodeWriter& w) {
    w.op("ThresholdedRelu", {{"alpha", w.options().real("alpha")}});
  };
  table["shrink"] = [](const NodeWriter& w) {
    w.op("Shrink", {{"lambd", w.options().real("lambd")}, {"bias", w.options().real("bias")}});
  };
  table["hard_swish"] = write_hard_swish;
  table["mish"] = write_mish;
  table["softplus"] = write_softplus;
  table["gelu"] = write_gelu;
  table["gelu_tanh"] = write_gelu_tanh;
  table["silu"] = [](const NodeWriter& w) {
    w.node("Mul", {w.input(0), w.make("Sigmoid", {w.input(0)})}, {w.output()});
  };
  table["swish"] = write_swish;
  table["normalized_fusion_silu"] = write_normalized_fusion_silu;
  table["prelu"] = [](const NodeWriter& w) { w.op("PRelu"); };
  table["rrelu"] = write_rrelu;
  table["softmax"] = [](const NodeWriter& w) { w.op("Softmax", {{"axis", w.options().integer("axis")}}); };
  table["log_softmax"] = [](const NodeWriter& w) { w.op("LogSoftmax", {{"axis", w.options().integer("axis")}}); };
}

}  // namespace kusari::onnx::exporting
