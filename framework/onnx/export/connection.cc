#include <algorithm>

#include "kusari/framework/onnx/export/graph_builder.h"

namespace kusari::onnx::exporting {
namespace {

void write_linear(const NodeWriter& w) {
  const Dtype dtype = w.output_dtype();
  NodeWriter::Names inputs{w.input(0), w.cast(w.input(1), w.input_dtype(1), dtype)};
  if (w.has_input(2)) inputs.push_back(w.cast(w.input(2), w.input_dtype(2), dtype));
  w.node("Gemm", inputs, {w.output()}, {{"transB", int64_t{1}}});
}

struct Geometry {
  std::vector<int64_t> stride, pad, dilate, kernel;
};

Geometry geometry(const NodeWriter& w) {
  const Attributes& options = w.options();
  const Shape& W = w.input_shape(1);
  return {options.integers("stride"), options.integers("pad"), options.integers("dilate"), {W.begin() + 2, W.end()}};
}

Attributes common_attributes(const NodeWriter& w, const Geometry& g) {
  Attributes attributes;
  attributes.set("kernel_shape", Attributes::Value(g.kernel));
  attributes.set("strides", Attributes::Value(g.stride));
  attributes.set("dilations", Attributes::Value(g.dilate));
  attributes.set("group", w.options().integer("groups"));
  return attributes;
}

void finish(const NodeWriter& w, const char* type, const Attributes& attributes) {
  if (w.output_dtype() == Dtype::bfloat16) w.require_opset(22, "a convolution in bfloat16");
  const Dtype dtype = w.output_dtype();
  NodeWriter::Names inputs{w.input(0), w.cast(w.input(1), w.input_dtype(1), dtype)};
  if (w.has_input(2)) inputs.push_back(w.cast(w.input(2), w.input_dtype(2), dtype));
  if (w.options().boolean("relu")) {
    w.node("Relu", {w.make(type, inputs, attributes)}, {w.output()});
  } else {
    w.node(type, inputs, {w.output()}, attributes);
  }
}

void write_transposed(const NodeWriter& w) {
  const Geometry g = geometry(w);
  std::vector<int64_t> pads = g.pad, added;
  for (size_t i = 0; i < g.pad.size(); ++i) {
    const int axis = static_cast<int>(i) + 2;
    const Sizes x = w.input_value(0).sizes(axis), y = w.output_value(0).sizes(axis);
    Sizes all;
    for (size_t k = 0; k < x.size(); ++k) {
      all.push_back(g.stride[i] * (x[k] - 1) + g.dilate[i] * (g.kernel[i] - 1) + 1 - y[k] - g.pad[i]);
    }
    if (!is_fixed(all)) w.refuse_dynamic("its output's size is not always as much more than its input's");
    const int64_t behind = all[0];
    pads.push_back(std::max<int64_t>(behind, 0));
    added.push_back(std::max<int64_t>(-behind, 0));
  }
  Attributes attributes = common_attributes(w, g);
  attributes.set("pads", Attributes::Value(pads));
  if (std::any_of(added.begin(), added.end(), [](int64_t more) { return more > 0; })) {
    attributes.set("output_padding", Attributes::Value(added));
  }
  finish(w, "ConvTranspose", attributes);
}

void write_convolution(const NodeWriter& w) {
  if (w.options().boolean("transposed")) return write_transposed(w);
  const Geometry g = geometry(w);
  std::vector<int64_t> behind;
  for (size_t i = 0; i < g.pad.size(); ++i) {
    const int axis = static_cast<int>(i) + 2;
    const int64_t window = g.dilate[i] * (g.kernel[i] - 1) + 1;
    const Sizes x = w.input_value(0).sizes(axis), y = w.output_value(0).sizes(axis);
    // As much as in front, where that gives as many places.
    bool is_symmetric = true;
    for (size_t k = 0; k < x.size(); ++k) {
      is_symmetric = is_symmetric && (x[k] + 2 * g.pad[i] - window) / g.stride[i] + 1 == y[k];
    }
    if (!is_symmetric && !is_fixed(x)) w.refuse_dynamic("its pad depends on the size");
    behind.push_back(is_symmetric ? g.pad[i]
                                  : std::max<int64_t>((y[0] - 1) * g.stride[i] + window - x[0] - g.pad[i], 0));
  }
  std::vector<int64_t> pads = g.pad;
  pads.insert(pads.end(), behind.begin(), behind.end());
  Attributes attributes = common_attributes(w, g);
  attributes.set("pads", Attributes::Value(pads));
  finish(w, "Conv", attributes);
}

void write_bilinear(const NodeWriter& w) {
  std::string y = w.make("Einsum", {w.input(0), w.input(1), w.input(2)}, {{"equation", std::string("nj,nk,jkl->nl")}});
  if (w.has_input(5)) {
    y = w.make("Add", {y, w.make("MatMul", {w.input(0), w.input(3)})});
    y = w.make("Add", {y, w.make("MatMul", {w.input(1), w.input(4)})});
    y = w.make("Add", {y, w.input(5)});
  }
  w.node("Identity", {y}, {w.output()});
}

// Groups of channels that move by one place of a kernel each.
void write_shift(const NodeWriter& w) {
  const std::vector<int64_t>&ksize = w.options().integers("ksize"), &dilate = w.options().integers("dilate");
  const int64_t places = ksize[0] * ksize[1], last = places - 1, centre = last / 2, channels = w.input_size(0, 1);
  NodeWriter::Names moved;
  for (int64_t group = 0; group < places; ++group) {
    const int64_t place = group == centre ? last : group == last ? centre : group;
    const int64_t first = group * (channels / places), end = group == last ? channels : first + channels / places;
    if (first == end) continue;
    const int64_t down = (place / ksize[1] - ksize[0] / 2) * dilate[0];
    const int64_t right = (place % ksize[1] - ksize[1] / 2) * dilate[1];
    const std::string part = w.make("Slice", {w.input(0), w.integers({first}), w.integers({end}), w.integers({1})});
    // Negative pads cut off.
    moved.push_back(down == 0 && right == 0 ? part
                                            : w.make("Pad", {part, w.integers({0, 0, down, right, 0, 0, -down, -right}),
                                                             w.scalar(0, w.input_dtype(0))}));
  }
  w.node("Concat", moved, {w.output()}, {{"axis", int64_t{1}}});
}

// x between the four pixels around points (N, 2, h, w): column and row.
void write_sample_bilinear(const NodeWriter& w) {
  w.require_opset(16, "GridSample");
  const Dtype dtype = w.input_dtype(0);
  const auto width = static_cast<double>(w.input_size(0, 3)), height = static_cast<double>(w.input_size(0, 2));
  const auto pair = [&](double first, double second) {
    return w.constant(array<double>({first, second}).astype(dtype));
  };
  // GridSample counts from -1 to 1, between the edges of the image.
  const std::string points = w.cast(w.input(1), w.input_dtype(1), dtype);
  const std::string last = w.make("Transpose", {points}, {{"perm", std::vector<int64_t>{0, 2, 3, 1}}});
  const std::string scaled = w.make("Mul", {last, pair(2 / width, 2 / height)});
  const std::string grid = w.make("Add", {scaled, pair(1 / width - 1, 1 / height - 1)});
  Attributes attributes;
  attributes.set("mode", w.opset() >= 20 ? "linear" : "bilinear");
  attributes.set("padding_mode", "zeros");
  attributes.set("align_corners", 0);
  w.node("GridSample", {w.input(0), grid}, {w.output()}, attributes);
}

}  // namespace

void add_connection_converters(ConverterTable& table) {
  table["linear"] = write_linear;
  for (const char* const kind : {"convolution", "deconvolution"}) {
    for (const char* const axes : {"_nd", "_1d", "_2d", "_3d"}) table[std::string(kind) + axes] = write_convolution;
  }
  table["dilated_convolution_2d"] = write_convolution;
  table["depthwise_convolution_2d"] = write_convolution;
  table["bilinear"] = write_bilinear;
  table["shift"] = write_shift;
  table["sample_bilinear"] = write_sample_bilinear;
}

}  // namespace kusari::onnx::exporting
