#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

#include "kusari/framework/onnx/export/graph_builder.h"

namespace kusari::onnx::exporting {
namespace {

void write_broadcast(const NodeWriter& w) { w.node("Expand", {w.input(0), w.output_shape_value()}, {w.output()}); }

void write_split(const NodeWriter& w) {
  const auto axis = static_cast<int>(w.options({"ends"}).integer("axis"));
  NodeWriter::Names outputs;
  std::vector<Sizes> sizes;
  for (size_t i = 0; i < w.output_count(); ++i) {
    outputs.push_back(w.output(i));
    sizes.push_back(w.output_value(i).sizes(axis));
  }
  if (outputs.size() == 1) return w.node("Identity", {w.input(0)}, outputs);
  w.node("Split", {w.input(0), w.graph().sizes(sizes)}, outputs, {{"axis", int64_t{axis}}});
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

// Where slices begin or end along an axis, by trace, as Slice takes it: counted from the end if that is fixed.
Sizes counted(const Sizes& places, const Sizes& sizes) {
  if (is_fixed(places)) return places;
  Sizes from_end;
  for (size_t i = 0; i < places.size(); ++i) from_end.push_back(places[i] - sizes[i]);
  if (!is_fixed(from_end)) return places;
  return Sizes(places.size(), from_end[0] == 0 ? std::numeric_limits<int64_t>::max() : from_end[0]);
}

// A slice of one axis.
struct AxisSlice {
  Sizes start, end;
  int64_t step;
  bool is_whole;
};

// The slice of an axis as get_item describes it: "1:-1:2" in "1:-1:2, :".
AxisSlice parsed_slice(std::string_view slices, size_t axis) {
  for (; axis > 0; --axis) slices.remove_prefix(slices.find(", ") + 2);
  slices = slices.substr(0, slices.find(", "));
  std::optional<int64_t> numbers[3];
  for (size_t i = 0; i < 3 && !slices.empty(); ++i) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(slices.data(), slices.data() + slices.size(), number);
    if (error == std::errc()) numbers[i] = number;
    slices.remove_prefix(std::min(slices.size(), static_cast<size_t>(end - slices.data()) + 1));  // and its colon
  }
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();
  const int64_t step = numbers[2].value_or(1);
  return {{numbers[0].value_or(step > 0 ? 0 : kMost)},
          {numbers[1].value_or(step > 0 ? kMost : kLeast)},
          step,
          !numbers[0] && !numbers[1] && step == 1};
}

// As the call was written, where that is the same for all sizes.
std::optional<AxisSlice> given_slice(const NodeWriter& w, const Attributes& options, size_t axis) {
  AxisSlice slice = parsed_slice(options.text("slices"), axis);
  for (const Attributes& there : w.call().elsewhere) {
    const AxisSlice other = parsed_slice(there.text("slices"), axis);
    if (other.start != slice.start || other.end != slice.end || other.step != slice.step) return std::nullopt;
  }
  // Slice begins at the first element where a backward slice begins before it; there such a slice is empty.
  if (slice.step < 0 && slice.start[0] < -1 && w.is_dynamic_input(0, static_cast<int>(axis))) return std::nullopt;
  slice.start.resize(w.call().elsewhere.size() + 1, slice.start[0]);
  slice.end.resize(w.call().elsewhere.size() + 1, slice.end[0]);
  return slice;
}

// From the numbers that the slice came to.
AxisSlice counted_slice(const NodeWriter& w, const Attributes& options, size_t axis) {
  const Sizes sizes = w.input_value(0).sizes(static_cast<int>(axis));
  AxisSlice slice{{}, {}, options.integers("step")[axis], false};
  Sizes begin{options.integers("start")[axis]}, count{options.integers("count")[axis]}, end;
  for (const Attributes& there : w.call().elsewhere) {
    begin.push_back(there.integers("start")[axis]);
    count.push_back(there.integers("count")[axis]);
    if (there.integers("step")[axis] != slice.step) w.refuse_dynamic("its option 'step' depends on the size");
  }
  slice.is_whole = slice.step == 1 && count == sizes;
  bool is_before_first = slice.step<0, is_to_end = slice.step> 0;
  for (size_t k = 0; k < begin.size(); ++k) {
    end.push_back(begin[k] + count[k] * slice.step);
    is_before_first = is_before_first && end[k] < 0;
    is_to_end = is_to_end && end[k] >= sizes[k];
  }
  slice.start = counted(begin, sizes);
  if (is_before_first) {
    slice.end = Sizes(end.size(), std::numeric_limits<int64_t>::min());
  } else if (is_to_end && !is_fixed(end)) {
    slice.end = Sizes(end.size(), std::numeric_limits<int64_t>::max());
  } else if (slice.step < 0 && !is_fixed(end)) {
    w.refuse_dynamic("its slice depends on the size");
  } else {
    slice.end = counted(end, sizes);
  }
  return slice;
}

void write_get_item(const NodeWriter& w) {
  const Value& y = w.output_value(0);
  const Attributes& options = w.options({"start", "count", "step", "shape", "slices"});
  std::vector<int64_t> axes, steps;
  std::vector<Sizes> starts, ends, sliced;
  for (int axis = 0; axis < w.input_ndim(0); ++axis) {
    const auto i = static_cast<size_t>(axis);
    sliced.push_back({options.integers("count")[i]});
    for (const Attributes& there : w.call().elsewhere) sliced.back().push_back(there.integers("count")[i]);
    const std::optional<AxisSlice> given = given_slice(w, options, i);
    const AxisSlice slice = given ? *given : counted_slice(w, options, i);
    if (slice.is_whole) continue;
    starts.push_back(slice.start);
    ends.push_back(slice.end);
    axes.push_back(axis);
    steps.push_back(slice.step);
  }
  bool is_reshaped = w.input_ndim(0) != y.array.ndim();
  for (int axis = 0; !is_reshaped && axis < y.array.ndim(); ++axis) {
    is_reshaped = sliced[static_cast<size_t>(axis)] != y.sizes(axis);
  }
  std::string view = w.input(0);
  if (!axes.empty()) {
    const NodeWriter::Names inputs{view, w.graph().sizes(starts), w.graph().sizes(ends), w.integers(axes),
                                   w.integers(steps)};
    if (!is_reshaped) return w.node("Slice", inputs, {w.output()});
    view = w.make("Slice", inputs);
  }
  if (!is_reshaped) return w.node("Identity", {view}, {w.output()});
  w.node("Reshape", {view, w.output_shape_value()}, {w.output()});
}

void write_pad(const NodeWriter& w) {
  const Attributes& options = w.options({"shape"});
  const std::vector<int64_t>& before = options.integers("before");
  std::vector<int64_t> pads = before;
  for (int axis = 0; axis < w.input_ndim(0); ++axis) {
    const Sizes x = w.input_value(0).sizes(axis), y = w.output_value(0).sizes(axis);
    Sizes added;
    for (size_t i = 0; i < x.size(); ++i) added.push_back(y[i] - x[i]);
    if (!is_fixed(added)) w.refuse_dynamic("its pad depends on the size");
    pads.push_back(added[0] - before[static_cast<size_t>(axis)]);
  }
  const Attributes::Value& value = *options.find("constant_values");
  const double number =
      std::holds_alternative<double>(value) ? std::get<double>(value) : static_cast<double>(std::get<int64_t>(value));
  w.node("Pad", {w.input(0), w.integers(pads), w.scalar(number, w.input_dtype(0))}, {w.output()});
}

void write_resize(const NodeWriter& w) {
  const Attributes& options = w.options({"output_shape"});
  const bool is_nearest = options.text("mode") == "nearest";
  Attributes attributes;
  attributes.set("mode", is_nearest ? "nearest" : "linear");
  attributes.set("coordinate_transformation_mode", is_nearest                         ? "asymmetric"
                                                   : options.boolean("align_corners") ? "align_corners"
                                                                                      : "half_pixel");
  if (is_nearest) attributes.set("nearest_mode", "floor");
  std::vector<float> scales = {1, 1};
  bool is_exact = true;
  for (int axis = 2; axis < 4; ++axis) {
    const Sizes x = w.input_value(0).sizes(axis), y = w.output_value(0).sizes(axis);
    scales.push_back(static_cast<float>(y[0]) / static_cast<float>(x[0]));
    for (size_t i = 0; i < x.size(); ++i) is_exact = is_exact && y[i] % x[i] == 0 && y[i] / x[i] == y[0] / x[0];
  }
  if (is_exact) {
    w.node("Resize", {w.input(0), "", w.constant(array(scales))}, {w.output()}, attributes);
  } else {
    w.node("Resize", {w.input(0), "", "", w.output_shape_value()}, {w.output()}, attributes);
  }
}

void write_diagonal(const NodeWriter& w) {
  const int64_t offset = w.options().integer("offset"), rows = w.options().integer("axis1"),
                columns = w.options().integer("axis2");
  const int ndim = w.input_ndim(0);
  for (const int64_t axis : {rows, columns}) static_cast<void>(w.input_size(0, static_cast<int>(axis)));
  const int64_t n = w.output_size(w.output_ndim() - 1);
  const int64_t first_row = offset < 0 ? -offset : 0, first_column = offset > 0 ? offset : 0;
  const std::string square =
      w.make("Slice", {w.input(0), w.integers({first_row, first_column}), w.integers({first_row + n, first_column + n}),
                       w.integers({rows, columns})});
  std::string from, to;
  for (int axis = 0; axis < ndim; ++axis) {
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
    for (int64_t i = 0; i < w.output_size(0, t); ++i) {
      const auto place = static_cast<int64_t>(t);
      rows.push_back(w.make(
          "Slice", {w.input(static_cast<size_t>(i)), w.integers({place}), w.integers({place + 1}), w.integers({0})}));
    }
    w.node("Concat", rows, {w.output(t)}, {{"axis", int64_t{0}}});
  }
}

void write_pad_sequence(const NodeWriter& w) {
  const int64_t length = w.output_size(1);
  const std::string padding = w.scalar(w.options().real("padding"), w.input_dtype(0));
  NodeWriter::Names rows;
  for (size_t i = 0; i < w.input_count(); ++i) {
    static_cast<void>(w.input_size(i, 0));
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
