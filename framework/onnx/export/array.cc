#include <limits>

#include "kusari/framework/onnx/export/graph_builder.h"

namespace kusari::onnx::exporting {
namespace {

void write_broadcast(const NodeWriter& w) { w.node("Expand", {w.input(0), w.output_shape_value()}, {w.output()}); }

void write_split(const NodeWriter& w) {
  const auto axis = static_cast<int>(w.options(true).integer("axis"));
  if (w.is_dynamic_input(0, axis)) {
    // Equal pieces of the batch, or one piece beside others.
    w.refuse("with dynamic_batch: it cuts the axis of the batch");
  }
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < w.output_count(); ++i) sizes.push_back(w.output_shape(i)[axis]);
  if (sizes.size() == 1) return w.node("Identity", {w.input(0)}, {w.output()});
  NodeWriter::Names outputs;
  for (size_t i = 0; i < w.output_count(); ++i) outputs.push_back(w.output(i));
  w.node("Split", {w.input(0), w.integers(sizes)}, outputs, {{"axis", int64_t{axis}}});
}

void write_separate(const NodeWriter& w) {
  const int64_t axis = w.options().integer("axis");
  for (size_t i = 0; i < w.output_count(); ++i) {
    const std::string place = w.constant(full({}, static_cast<int64_t>(i), Dtype::int64));
    w.node("Gather", {w.input(0), place}, {w.output(i)}, {{"axis", axis}});
  }
}

void write_stack(const NodeWriter& w) {
  const int64_t axis = w.options().integer("axis");
  NodeWriter::Names parts;
  for (size_t i = 0; i < w.input_count(); ++i) parts.push_back(w.make("Unsqueeze", {w.input(i), w.integers({axis})}));
  w.node("Concat", parts, {w.output()}, {{"axis", axis}});
}

void write_get_item(const NodeWriter& w) {
  const Attributes& options = w.options(true);
  const std::vector<int64_t>&start = options.integers("start"), &count = options.integers("count"),
        &step = options.integers("step");
  const Shape &x = w.input_shape(0), &y = w.output_shape();
  std::vector<int64_t> starts, ends, axes, steps;
  Shape sliced;
  for (int axis = 0; axis < x.ndim(); ++axis) {
    const auto i = static_cast<size_t>(axis);
    sliced.push_back(count[i]);
    if (start[i] == 0 && step[i] == 1 && count[i] == x[axis]) continue;
    int64_t end = start[i] + count[i] * step[i];
    if (w.is_dynamic_input(0, axis)) {
      const bool is_to_end = step[i] == 1 && end == x[axis];
      const bool is_reversed = step[i] == -1 && start[i] == x[axis] - 1 && end == -1;
      const bool is_fixed = step[i] > 0 && !w.call().changing.contains("start") && !w.call().changing.contains("count");
      if (is_reversed) {
        starts.push_back(std::numeric_limits<int64_t>::max());
        ends.push_back(std::numeric_limits<int64_t>::min());
        axes.push_back(axis);
        steps.push_back(-1);
        continue;
      }
      if (!is_to_end && !is_fixed) w.refuse("with dynamic_batch: its slice depends on the size of the batch");
      if (is_to_end && !is_fixed) end = std::numeric_limits<int64_t>::max();
    }
    starts.push_back(start[i]);
    ends.push_back(step[i] < 0 && end < 0 ? std::numeric_limits<int64_t>::min() : end);
    axes.push_back(axis);
    steps.push_back(step[i]);
  }
  const bool is_reshaped = sliced != y;
  std::string view = w.input(0);
  if (!axes.empty()) {
    const NodeWriter::Names inputs{view, w.integers(starts), w.integers(ends), w.integers(axes), w.integers(steps)};
    if (!is_reshaped) return w.node("Slice", inputs, {w.output()});
    view = w.make("Slice", inputs);
  }
  if (!is_reshaped) return w.node("Identity", {view}, {w.output()});
  w.node("Reshape", {view, w.output_shape_value()}, {w.output()});
}

void write_pad(const NodeWriter& w) {
  const Attributes& options = w.options(true);
  const std::vector<int64_t>& before = options.integers("before");
  std::vector<int64_t> pads = before;
  const Shape &x = w.input_shape(0), &y = w.output_shape();
  for (int axis = 0; axis < x.ndim(); ++axis) pads.push_back(y[axis] - x[axis] - before[static_cast<size_t>(axis)]);
  const Attributes::Value& value = *options.find("constant_values");
  const double number =
      std::holds_alternative<double>(value) ? std::get<double>(value) : static_cast<double>(std::get<int64_t>(value));
  w.node("Pad", {w.input(0), w.integers(pads), w.scalar(number, w.input_dtype(0))}, {w.output()});
}

void write_resize(const NodeWriter& w) {
  const bool is_nearest = w.options().text("mode") == "nearest";
  const Shape &x = w.input_shape(0), &y = w.output_shape();
  Attributes attributes;
  attributes.set("mode", is_nearest ? "nearest" : "linear");
  attributes.set("coordinate_transformation_mode", is_nearest                             ? "asymmetric"
                                                   : w.options().boolean("align_corners") ? "align_corners"
                                                                                          : "half_pixel");
  if (is_nearest) attributes.set("nearest_mode", "floor");
  const std::vector<float> scales = {1, 1, static_cast<float>(y[2]) / static_cast<float>(x[2]),
                                     static_cast<float>(y[3]) / static_cast<float>(x[3])};
  bool is_exact = true;
  for (int axis = 2; axis < 4; ++axis) is_exact = is_exact && y[axis] % x[axis] == 0;
  if (is_exact) {
    w.node("Resize", {w.input(0), "", w.constant(array(scales))}, {w.output()}, attributes);
  } else {
    w.node("Resize", {w.input(0), "", "", w.output_shape_value()}, {w.output()}, attributes);
  }
}

void write_diagonal(const NodeWriter& w) {
  const int64_t offset = w.options().integer("offset"), rows = w.options().integer("axis1"),
                columns = w.options().integer("axis2");
  const Shape& x = w.input_shape(0);
  const int64_t n = w.output_shape()[w.output_shape().ndim() - 1];
  const int64_t first_row = offset < 0 ? -offset : 0, first_column = offset > 0 ? offset : 0;
  const std::string square =
      w.make("Slice", {w.input(0), w.integers({first_row, first_column}), w.integers({first_row + n, first_column + n}),
                       w.integers({rows, columns})});
  std::string from, to;
  for (int axis = 0; axis < x.ndim(); ++axis) {
    const bool is_diagonal = axis == rows || axis == columns;
    from += is_diagonal ? 'z' : static_cast<char>('a' + axis);
    if (!is_diagonal) to += static_cast<char>('a' + axis);
  }
  w.node("Einsum", {square}, {w.output()}, {{"equation", from + "->" + to + "z"}});
}

// (length, ...) of n sequences: row i of result t is element t of sequence i.
void write_transpose_sequence(const NodeWriter& w) {
  for (size_t t = 0; t < w.output_count(); ++t) {
    NodeWriter::Names rows;
    for (int64_t i = 0; i < w.output_shape(t)[0]; ++i) {
      const auto place = static_cast<int64_t>(t);
      rows.push_back(w.make(
          "Slice", {w.input(static_cast<size_t>(i)), w.integers({place}), w.integers({place + 1}), w.integers({0})}));
    }
    w.node("Concat", rows, {w.output(t)}, {{"axis", int64_t{0}}});
  }
}

void write_pad_sequence(const NodeWriter& w) {
  const int64_t length = w.output_shape()[1];
  const std::string padding = w.scalar(w.options().real("padding"), w.input_dtype(0));
  NodeWriter::Names rows;
  for (size_t i = 0; i < w.input_count(); ++i) {
    const Shape& x = w.input_shape(i);
    std::vector<int64_t> pads(2 * static_cast<size_t>(x.ndim()), 0);
    pads[static_cast<size_t>(x.ndim())] = length - x[0];
    const std::string row = x[0] == length ? w.input(i) : w.make("Pad", {w.input(i), w.integers(pads), padding});
    rows.push_back(w.make("Unsqueeze", {row, w.integers({0})}));
  }
  w.node("Concat", rows, {w.output()}, {{"axis", int64_t{0}}});
}

}  // namespace

void add_array_converters(ConverterTable& table) {
  table["reshape"] = [](const NodeWriter& w) { w.node("Reshape", {w.input(0), w.reshape_target()}, {w.output()}); };
  table["broadcast_to"] = write_broadcast;
  table["transpose"] = [](const NodeWriter& w) { w.op("Transpose", {{"perm", w.options().integers("axes")}}); };
  table["concat"] = [](const NodeWriter& w) { w.op("Concat", {{"axis", w.options().integer("axis")}}); };
  table["cast"] = [](const NodeWriter& w) { w.op("Cast", {{"to", NodeWriter::type_number(w.output_dtype())}}); };
  table["copy"] = [](const NodeWriter& w) { w.op("Identity"); };
  table["static_graph_input"] = table["copy"];
  table["split_axis"] = write_split;
  table["separate"] = write_separate;
  table["stack"] = write_stack;
  table["get_item"] = write_get_item;
  table["pad"] = write_pad;
  table["resize_images"] = write_resize;
  table["diagonal"] = write_diagonal;
  table["transpose_sequence"] = write_transpose_sequence;
  table["pad_sequence"] = write_pad_sequence;
  table["depth2space"] = [](const NodeWriter& w) {
    w.op("DepthToSpace", {{"blocksize", w.options().integer("r")}, {"mode", std::string("DCR")}});
  };
  table["space2depth"] = [](const NodeWriter& w) { w.op("SpaceToDepth", {{"blocksize", w.options().integer("r")}}); };
}

}  // namespace kusari::onnx::exporting
