#include <string>

#include "kusari/framework/kernels/array_math.h"
#include "kusari/framework/kernels/array_operators.h"
#include "kusari/framework/onnx/converter.h"
#include "kusari/framework/onnx/export/graph_builder.h"

namespace kusari::onnx::exporting {
namespace {

/// What numbers become as integers.
Array integers_of(const NodeWriter& w, const Array& x, const Array& scale, const Array& zero, Dtype dtype) {
  Shape shape = Shape::filled(x.ndim(), 1);
  if (w.options().has("axis")) shape[static_cast<int>(w.options().integer("axis"))] = scale.size();
  Array q = xp::rint(x.astype(Dtype::float32) / scale.astype(Dtype::float32).reshape(shape));
  if (zero.is_defined()) q = q + zero.astype(Dtype::float32).reshape(shape);
  return xp::clip(q, w.options().real("low"), w.options().real("high")).astype(dtype);
}

/// QuantizeLinear and DequantizeLinear, which runtimes put together with the function behind them. Numbers that are
/// known, as weights are, are written as integers.
void write_fake_quantize(const NodeWriter& w) {
  const double low = w.options().real("low");
  const Dtype dtype = low < 0 ? Dtype::int8 : Dtype::uint8, from = w.input_dtype(0);
  Attributes attributes;
  if (w.options().has("axis")) attributes.set("axis", w.options().integer("axis"));
  const std::string scale = w.cast(w.input(1), w.input_dtype(1), Dtype::float32);
  const std::string zero =
      w.has_input(2) ? w.cast(w.input(2), w.input_dtype(2), dtype) : w.constant(zeros(w.input_shape(1), dtype));
  const Array x = w.constant_input(0), by = w.constant_input(1);
  const Array moved = w.has_input(2) ? w.constant_input(2) : Array();
  const bool is_known = x.is_defined() && by.is_defined() && moved.is_defined() == w.has_input(2);
  std::string q;
  if (is_known) {
    q = w.constant(integers_of(w, x, by, moved, dtype));
  } else {
    q = w.make("QuantizeLinear", {w.cast(w.input(0), from, Dtype::float32), scale, zero}, attributes);
    if (low == -127 || low == 1) q = w.make("Max", {q, w.scalar(low, dtype)});
  }
  if (from == Dtype::float32) return w.node("DequantizeLinear", {q, scale, zero}, {w.output()}, attributes);
  const std::string y = w.make("DequantizeLinear", {q, scale, zero}, attributes);
  w.node("Cast", {y}, {w.output()}, {{"to", NodeWriter::type_number(from)}});
}

}  // namespace

void add_quantization_converters(ConverterTable& table) { table["fake_quantize"] = write_fake_quantize; }

}  // namespace kusari::onnx::exporting
