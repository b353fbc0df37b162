#include <string>

#include "kusari/framework/kernels/array_math.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/onnx/converter.h"
#include "kusari/framework/onnx/export/graph_builder.h"

namespace kusari::onnx::exporting {
namespace {

/// Whether a number of x would become the integer below `low`, which QuantizeLinear has. Not known: yes.
bool may_fall_below(const NodeWriter& w, double low) {
  const Array x = w.constant_input(0), scale = w.constant_input(1);
  if (!x.is_defined() || !scale.is_defined() || w.has_input(2)) return true;
  Shape shape = Shape::filled(x.ndim(), 1);
  if (w.options().has("axis")) shape[static_cast<int>(w.options().integer("axis"))] = scale.size();
  return (xp::rint(x / scale.reshape(shape)) < low).any();
}

/// QuantizeLinear and DequantizeLinear, which runtimes put together with the function behind them.
void write_fake_quantize(const NodeWriter& w) {
  const double low = w.options().real("low");
  const Dtype dtype = low < 0 ? Dtype::int8 : Dtype::uint8, from = w.input_dtype(0);
  Attributes attributes;
  if (w.options().has("axis")) attributes.set("axis", w.options().integer("axis"));
  const std::string scale = w.cast(w.input(1), w.input_dtype(1), Dtype::float32);
  const std::string zero =
      w.has_input(2) ? w.cast(w.input(2), w.input_dtype(2), dtype) : w.constant(zeros(w.input_shape(1), dtype));
  std::string q = w.make("QuantizeLinear", {w.cast(w.input(0), from, Dtype::float32), scale, zero}, attributes);
  const bool is_narrow = low == -127 || low == 1;
  if (is_narrow && may_fall_below(w, low)) q = w.make("Max", {q, w.scalar(low, dtype)});
  if (from == Dtype::float32) return w.node("DequantizeLinear", {q, scale, zero}, {w.output()}, attributes);
  const std::string y = w.make("DequantizeLinear", {q, scale, zero}, attributes);
  w.node("Cast", {y}, {w.output()}, {{"to", NodeWriter::type_number(from)}});
}

}  // namespace

void add_quantization_converters(ConverterTable& table) { table["fake_quantize"] = write_fake_quantize; }

}  // namespace kusari::onnx::exporting
