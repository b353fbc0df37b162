#include <numbers>

#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/broadcast.h"
#include "kusari/framework/onnx/export/graph_builder.h"

namespace kusari::onnx::exporting {
namespace {

// The operands as they were before F::broadcast_to, if the operator then gives the same shape.
NodeWriter::Names operands(const NodeWriter& w, size_t count) {
  NodeWriter::Names wide, narrow;
  Shape shape;
  bool fits = true;
  for (size_t i = 0; i < count; ++i) {
    const Value& source = w.graph().value(w.graph().before_broadcast(w.call().inputs[i]));
    try {
      shape = i == 0 ? source.array.shape() : broadcast_shapes(shape, source.array.shape(), "onnx");
    } catch (const Error&) {
      fits = false;
    }
    narrow.push_back(w.unbroadcast_input(i));
  }
  if (fits && shape == w.output_value(0).array.shape()) return narrow;
  for (size_t i = 0; i < count; ++i) wide.push_back(w.input(i));
  return wide;
}

Converter elementwise(const char* type, size_t count) {
  return [type, count](const NodeWriter& w) { w.node(type, operands(w, count), {w.output()}); };
}

Converter plain(const char* type) {
  return [type](const NodeWriter& w) { w.op(type); };
}

// x and a number, in that order or the other.
Converter with_number(const char* type, const char* option, bool number_first) {
  return [=](const NodeWriter& w) {
    const std::string number = w.scalar(w.options().real(option), w.input_dtype(0));
    NodeWriter::Names inputs{w.input(0), number};
    if (number_first) std::swap(inputs[0], inputs[1]);
    w.node(type, inputs, {w.output()});
  };
}

// type(x) * factor.
Converter scaled(const char* type, double factor) {
  return [=](const NodeWriter& w) {
    w.node("Mul", {w.make(type, {w.input(0)}), w.scalar(factor, w.input_dtype(0))}, {w.output()});
  };
}

void write_matmul(const NodeWriter& w) {
  const Dtype dtype = w.output_dtype();
  const auto operand = [&](size_t i, bool transposed) {
    const std::string x = w.cast(w.input(i), w.input_dtype(i), dtype);
    if (!transposed) return x;
    std::vector<int64_t> axes;
    const int ndim = w.input_ndim(i);
    for (int axis = 0; axis < ndim; ++axis) axes.push_back(axis);
    std::swap(axes[static_cast<size_t>(ndim - 2)], axes[static_cast<size_t>(ndim - 1)]);
    return w.make("Transpose", {x}, {{"perm", axes}});
  };
  w.node("MatMul", {operand(0, w.options().boolean("transa")), operand(1, w.options().boolean("transb"))},
         {w.output()});
}

// `since`: the opset in which the axes became an input.
Converter reduction(const char* type, int since) {
  return [=](const NodeWriter& w) {
    const std::vector<int64_t>& axes = w.options().integers("axis");
    const Attributes::Value* const kept = w.options().find("keepdims");
    const auto keepdims = static_cast<int64_t>(kept != nullptr && std::get<bool>(*kept));
    const std::string x = w.cast(w.input(0), w.input_dtype(0), w.output_dtype());
    if (axes.empty()) {
      w.node("Identity", {x}, {w.output()});
    } else if (w.opset() >= since) {
      w.node(type, {x, w.integers(axes)}, {w.output()}, {{"keepdims", keepdims}});
    } else {
      w.node(type, {x}, {w.output()}, {{"axes", axes}, {"keepdims", keepdims}});
    }
  };
}

Converter place(const char* type) {
  return [type](const NodeWriter& w) {
    const Attributes::Value* const axis = w.options().find("axis");
    const bool is_flat = axis == nullptr;
    const std::string x = is_flat ? w.make("Reshape", {w.input(0), w.integers({-1})}) : w.input(0);
    const std::string at =
        w.make(type, {x}, {{"axis", is_flat ? int64_t{0} : std::get<int64_t>(*axis)}, {"keepdims", int64_t{0}}});
    w.node("Cast", {at}, {w.output()}, {{"to", NodeWriter::type_number(w.output_dtype())}});
  };
}

void write_top_k(const NodeWriter& w) {
  const NodeWriter::Names top = w.make_all("TopK", {w.input(0), w.integers({w.options().integer("k")})}, 2);
  w.node("Identity", {top[0]}, {w.output(0)});
  w.node("Cast", {top[1]}, {w.output(1)}, {{"to", NodeWriter::type_number(w.output_dtype(1))}});
}

void write_sum_to(const NodeWriter& w) {
  const Shape &x = w.input_value(0).array.shape(), &y = w.output_value(0).array.shape();
  const int added = x.ndim() - y.ndim();
  std::vector<int64_t> axes;
  for (int i = 0; i < x.ndim(); ++i) {
    if (i < added || (y[i - added] == 1 && x[i] != 1)) axes.push_back(i);
  }
  const std::string addends = w.cast(w.input(0), w.input_dtype(0), w.output_dtype());
  const std::string sum = w.make("ReduceSum", {addends, w.integers(axes)}, {{"keepdims", int64_t{1}}});
  w.node("Reshape", {sum, w.output_shape_value()}, {w.output()});
}

void write_fft(const NodeWriter& w) {
  w.require_opset(17, "DFT");
  const int64_t ndim = w.input_ndim(0);
  const std::string axis = w.integers({ndim});
  const std::string both = w.make(
      "Concat", {w.make("Unsqueeze", {w.input(0), axis}), w.make("Unsqueeze", {w.input(1), axis})}, {{"axis", ndim}});
  const int64_t inverse = w.options().boolean("inverse") ? 1 : 0;
  // A first axis of its own is asked for.
  const bool is_row = ndim == 1;
  const std::string x = is_row ? w.make("Unsqueeze", {both, w.integers({0})}) : both;
  const int64_t along = is_row ? 1 : ndim - 1;
  Attributes attributes;
  NodeWriter::Names inputs{x};
  if (w.opset() >= 20) {
    inputs.insert(inputs.end(), {"", w.constant(full({}, along, Dtype::int64))});
  } else {
    attributes.set("axis", along);
  }
  attributes.set("inverse", inverse);
  const std::string y = w.make("DFT", inputs, attributes);
  for (int64_t part = 0; part < 2; ++part) {
    const std::string number = w.constant(full({}, part, Dtype::int64));
    const std::string taken = w.make("Gather", {y, number}, {{"axis", along + 1}});
    if (is_row) {
      w.node("Squeeze", {taken, w.integers({0})}, {w.output(static_cast<size_t>(part))});
    } else {
      w.node("Identity", {taken}, {w.output(static_cast<size_t>(part))});
    }
  }
}

void add_elementwise(ConverterTable& table) {
  table["add"] = elementwise("Add", 2);
  table["sub"] = elementwise("Sub", 2);
  table["mul"] = elementwise("Mul", 2);
  table["div"] = elementwise("Div", 2);
  table["pow"] = elementwise("Pow", 2);
  table["maximum"] = elementwise("Max", 2);
  table["minimum"] = elementwise("Min", 2);
  table["where"] = elementwise("Where", 3);
  table["modulo"] = [](const NodeWriter& w) {
    // An operator of floating numbers only where the dividend's sign stays.
    const bool is_dividend = w.options().boolean("fmod");
    if (is_dividend || !kusari::is_floating(w.input_dtype(0))) {
      return w.op("Mod", {{"fmod", int64_t{is_dividend}}});
    }
    const std::string quotient = w.make("Floor", {w.make("Div", {w.input(0), w.input(1)})});
    w.node("Sub", {w.input(0), w.make("Mul", {quotient, w.input(1)})}, {w.output()});
  };
  table["fmod"] = [](const NodeWriter& w) { w.node("Mod", operands(w, 2), {w.output()}, {{"fmod", int64_t{1}}}); };
  table["linear_interpolate"] = [](const NodeWriter& w) {
    const std::string rest = w.make("Sub", {w.scalar(1, w.input_dtype(0)), w.input(0)});
    w.node("Add", {w.make("Mul", {w.input(0), w.input(1)}), w.make("Mul", {rest, w.input(2)})}, {w.output()});
  };
  table["add_const"] = with_number("Add", "c", false);
  table["rsub_const"] = with_number("Sub", "c", true);
  table["mul_const"] = with_number("Mul", "c", false);
  table["div_const"] = with_number("Div", "c", false);
  table["rdiv_const"] = with_number("Div", "c", true);
  table["pow_const"] = with_number("Pow", "exponent", false);
  table["rpow_const"] = with_number("Pow", "base", true);
  const std::pair<const char*, const char*> same[] = {
      {"neg", "Neg"},     {"absolute", "Abs"}, {"exp", "Exp"},   {"log", "Log"},          {"sqrt", "Sqrt"},
      {"sin", "Sin"},     {"cos", "Cos"},      {"tan", "Tan"},   {"arcsin", "Asin"},      {"arccos", "Acos"},
      {"arctan", "Atan"}, {"sinh", "Sinh"},    {"cosh", "Cosh"}, {"arctanh", "Atanh"},    {"erf", "Erf"},
      {"floor", "Floor"}, {"ceil", "Ceil"},    {"sign", "Sign"}, {"identity", "Identity"}};
  for (const auto& [function, type] : same) table[function] = plain(type);
  table["square"] = [](const NodeWriter& w) { w.node("Mul", {w.input(0), w.input(0)}, {w.output()}); };
  table["rsqrt"] = [](const NodeWriter& w) { w.node("Reciprocal", {w.make("Sqrt", {w.input(0)})}, {w.output()}); };
  table["log2"] = scaled("Log", 1 / std::numbers::ln2);
  table["log10"] = scaled("Log", 1 / std::numbers::ln10);
  table["log1p"] = [](const NodeWriter& w) {
    w.node("Log", {w.make("Add", {w.input(0), w.scalar(1, w.input_dtype(0))})}, {w.output()});
  };
  table["expm1"] = [](const NodeWriter& w) {
    w.node("Sub", {w.make("Exp", {w.input(0)}), w.scalar(1, w.input_dtype(0))}, {w.output()});
  };
  table["erfc"] = [](const NodeWriter& w) {
    w.node("Sub", {w.scalar(1, w.input_dtype(0)), w.make("Erf", {w.input(0)})}, {w.output()});
  };
  table["ndtr"] = [](const NodeWriter& w) {
    const Dtype dtype = w.input_dtype(0);
    const std::string erf = w.make("Erf", {w.make("Mul", {w.input(0), w.scalar(std::numbers::sqrt2 / 2, dtype)})});
    w.node("Mul", {w.make("Add", {erf, w.scalar(1, dtype)}), w.scalar(0.5, dtype)}, {w.output()});
  };
  table["fix"] = [](const NodeWriter& w) {
    w.node("Mul", {w.make("Sign", {w.input(0)}), w.make("Floor", {w.make("Abs", {w.input(0)})})}, {w.output()});
  };
  table["clip"] = [](const NodeWriter& w) {
    const Dtype dtype = w.input_dtype(0);
    w.node("Clip", {w.input(0), w.scalar(w.options().real("low"), dtype), w.scalar(w.options().real("high"), dtype)},
           {w.output()});
  };
}

}  // namespace

void add_math_converters(ConverterTable& table) {
  add_elementwise(table);
  table["matmul"] = write_matmul;
  table["sum"] = reduction("ReduceSum", 13);
  table["average"] = reduction("ReduceMean", 18);
  table["prod"] = reduction("ReduceProd", 18);
  table["max"] = reduction("ReduceMax", 18);
  table["min"] = reduction("ReduceMin", 18);
  table["logsumexp"] = reduction("ReduceLogSumExp", 18);
  table["argmax"] = place("ArgMax");
  table["argmin"] = place("ArgMin");
  table["top_k"] = write_top_k;
  table["sum_to"] = write_sum_to;
  table["cumsum"] = [](const NodeWriter& w) {
    const std::string x = w.cast(w.input(0), w.input_dtype(0), w.output_dtype());
    w.node("CumSum", {x, w.constant(full({}, w.options().integer("axis"), Dtype::int64))}, {w.output()},
           {{"reverse", w.options().boolean("reverse")}});
  };
  table["det"] = plain("Det");
  table["batch_det"] = plain("Det");
  table["fft"] = write_fft;
  table["ifft"] = write_fft;
  table["batch_l2_norm_squared"] = [](const NodeWriter& w) {
    std::vector<int64_t> axes;
    for (int i = 1; i < w.input_ndim(0); ++i) axes.push_back(i);
    const std::string square = w.make("Mul", {w.input(0), w.input(0)});
    w.node("ReduceSum", {square, w.integers(axes)}, {w.output()}, {{"keepdims", int64_t{0}}});
  };
}

}  // namespace kusari::onnx::exporting
