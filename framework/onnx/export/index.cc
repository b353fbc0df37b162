#include "kusari/framework/onnx/export/graph_builder.h"

namespace kusari::onnx::exporting {
namespace {

// Rows of a matrix by their numbers; zeros for the number that stands for none.
void take(const NodeWriter& w, const std::string& matrix, const std::string& index, Dtype index_dtype, int index_ndim,
          Dtype dtype) {
  const bool is_narrow = index_dtype != Dtype::int32 && index_dtype != Dtype::int64;
  const std::string places = is_narrow ? w.cast(index, index_dtype, Dtype::int64) : index;
  const Dtype place_dtype = is_narrow ? Dtype::int64 : index_dtype;
  const Attributes::Value* const ignored = w.options({"index"}).find("ignore_label");
  if (ignored == nullptr) {
    return w.node("Gather", {matrix, places}, {w.output()}, {{"axis", int64_t{0}}});
  }
  const std::string label = w.constant(full({}, std::get<int64_t>(*ignored), place_dtype));
  const std::string is_ignored = w.make("Equal", {places, label});
  const std::string inside = w.make("Where", {is_ignored, w.constant(full({}, 0, place_dtype)), places});
  const std::string rows = w.make("Gather", {matrix, inside}, {{"axis", int64_t{0}}});
  const std::string mask = w.make("Unsqueeze", {is_ignored, w.integers({index_ndim})});
  w.node("Where", {mask, w.scalar(0, dtype), rows}, {w.output()});
}

void write_take_rows(const NodeWriter& w) {
  if (w.call().changing.contains("index")) {
    const Array& index = w.options({"index"}).array("index");
    if (!w.graph().trace().dependent.contains(index.storage().id)) {
      w.refuse_dynamic("its indices depend on the size");
    }
  }
  const Array& index = w.options({"index"}).array("index");
  take(w, w.input(0), w.value(index), index.dtype(), 1, w.input_dtype(0));
}

void write_embed_id(const NodeWriter& w) {
  take(w, w.input(1), w.input(0), w.input_dtype(0), w.input_ndim(0), w.input_dtype(1));
}

// For each row of the result the place in the index that names it, where each is named once; else empty.
std::vector<int64_t> inverse_of(const Array& index, int64_t rows) {
  std::vector<int64_t> inverse(static_cast<size_t>(rows), -1);
  if (index.size() != rows) return {};
  int64_t place = 0;
  for (int64_t row : index.to_vector<int64_t>()) {
    if (row < 0) row += rows;
    if (row < 0 || row >= rows || inverse[static_cast<size_t>(row)] != -1) return {};
    inverse[static_cast<size_t>(row)] = place++;
  }
  return inverse;
}

void write_add_rows(const NodeWriter& w) {
  const Array& index = w.options().array("index");
  if (w.options().has("ignore_label")) w.refuse("rows that are ignored have no ONNX operator");
  if (!w.graph().trace().dependent.contains(index.storage().id) && !w.is_dynamic_output(0, 0)) {
    const std::vector<int64_t> inverse = inverse_of(index, w.output_size(0));
    if (!inverse.empty()) {
      return w.node("Gather", {w.input(0), w.integers(inverse)}, {w.output()}, {{"axis", int64_t{0}}});
    }
  }
  w.require_opset(16, "ScatterND with a reduction");
  const std::string places = w.cast(w.value(index), index.dtype(), Dtype::int64);
  const std::string zero = w.make("Expand", {w.scalar(0, w.input_dtype(0)), w.output_shape_value()});
  const std::string column = w.make("Unsqueeze", {places, w.integers({1})});
  w.node("ScatterND", {zero, column, w.input(0)}, {w.output()}, {{"reduction", std::string("add")}});
}

// y = zeros with x at the places of a slice.
void write_put_item(const NodeWriter& w) {
  const std::vector<int64_t>&start = w.options().integers("start"), &count = w.options().integers("count"),
        &step = w.options().integers("step");
  const Shape& y = w.output_shape();
  std::vector<int64_t> pads = start, sliced;
  for (int axis = 0; axis < y.ndim(); ++axis) {
    const auto i = static_cast<size_t>(axis);
    if (step[i] != 1) w.refuse("a slice with a step has no ONNX operator");
    pads.push_back(y[axis] - start[i] - count[i]);
    sliced.push_back(count[i]);
  }
  const std::string x = w.make("Reshape", {w.input(0), w.integers(sliced)});
  w.node("Pad", {x, w.integers(pads), w.scalar(0, w.input_dtype(0))}, {w.output()});
}

}  // namespace

void add_index_converters(ConverterTable& table) {
  table["take_rows"] = write_take_rows;
  table["embed_id"] = write_embed_id;
  table["add_rows"] = write_add_rows;
  table["get_item_grad"] = write_put_item;
}

}  // namespace kusari::onnx::exporting
