#include <string>

#include "kusari/framework/functions/attention/rotary_table.h"
#include "kusari/framework/onnx/export/graph_builder.h"

namespace kusari::onnx::exporting {
namespace {

// The axes along which an array repeats itself, with size 1.
Array without_repeats(Array array) {
  for (int axis = 0; axis < array.ndim(); ++axis) {
    if (array.strides()[axis] == 0 && array.shape()[axis] > 1) array = array.slice(axis, 0, 1);
  }
  return array;
}

// Softmax of the scaled products of q and k, where a query sees a key, times v. In primitive operators, which all
// opsets have; runtimes fuse them.
void write_attention(const NodeWriter& w) {
  const Attributes& options = w.options(true);
  const Dtype dtype = w.input_dtype(0);
  const Shape &q = w.input_shape(0), &k = w.input_shape(1);
  const int64_t heads = q[1], groups = k[1], n = q[2], keys = k[2];
  const auto for_heads = [&](size_t i) {
    if (groups == heads) return w.input(i);
    const int64_t width = w.input_shape(i)[3];
    const std::string apart = w.make("Unsqueeze", {w.input(i), w.integers({2})});
    const std::string repeated = w.make("Expand", {apart, w.integers({1, 1, heads / groups, 1, 1})});
    return w.make("Reshape", {repeated, w.integers({0, heads, keys, width})});
  };
  if (options.real("dropout") > 0) w.refuse("dropout of attention's weights has no ONNX operator");
  const std::string turned = w.make("Transpose", {for_heads(1)}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
  std::string scores = w.make("Mul", {w.make("MatMul", {w.input(0), turned}), w.scalar(options.real("scale"), dtype)});
  std::string seen;  // true where a query sees a key
  const auto restrict_to = [&](const std::string& allowed) {
    seen = seen.empty() ? allowed : w.make("And", {seen, allowed});
  };
  bool may_see_nothing = options.boolean("is_causal") && n > keys;
  if (options.has("mask")) {
    const Array& whole = options.array("mask");
    const std::string mask = w.value(without_repeats(whole));
    if (whole.dtype() == Dtype::bool_) {
      restrict_to(mask);
      may_see_nothing = true;
    } else {
      scores = w.make("Add", {scores, w.cast(mask, whole.dtype(), dtype)});
    }
  }
  if (options.has("lengths")) {
    const std::string lengths = w.make("Reshape", {w.value(options.array("lengths")), w.integers({-1, 1, 1, 1})});
    const std::string places = w.constant(arange(keys, Dtype::int64).reshape({1, 1, 1, keys}));
    restrict_to(w.make("Less", {places, lengths}));
    may_see_nothing = true;
  }
  if (options.boolean("is_causal")) {
    std::vector<uint8_t> allowed;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < keys; ++j) allowed.push_back(j <= i + keys - n ? 1 : 0);
    }
    restrict_to(w.constant(array(allowed, {1, 1, n, keys}).astype(Dtype::bool_)));
  }
  if (!seen.empty()) scores = w.make("Where", {seen, scores, w.scalar(dtype == Dtype::float16 ? -3e4 : -1e30, dtype)});
  std::string weights = w.make("Softmax", {scores}, {{"axis", int64_t{3}}});
  if (may_see_nothing) weights = w.make("Mul", {weights, w.cast(seen, Dtype::bool_, dtype)});
  w.node("MatMul", {weights, for_heads(2)}, {w.output()});
}

// The pairs apart, their products with tables of cosines and sines, and the pairs together again.
void write_rotary_embedding(const NodeWriter& w) {
  const Attributes& options = w.options();
  const Shape& shape = w.input_shape(0);
  const int64_t times = shape[shape.ndim() - 2], half = shape[shape.ndim() - 1] / 2;
  const Dtype dtype = w.input_dtype(0);
  const functions::RotaryAngles angles{half, options.real("base"), dtype == Dtype::float64 ? dtype : Dtype::float32};
  const Array table = functions::rotary_table(angles, options.integer("first"), times, Device()).astype(dtype);
  const bool interleaved = options.boolean("interleaved");
  const auto part = [&](int64_t which) {
    return w.constant(interleaved ? table.as_strided({times, half, 1}, {2 * half, 1, 1}, which * half)
                                  : table.as_strided({times, half}, {2 * half, 1}, which * half));
  };
  const std::string cosine = part(0), sine = part(1);
  std::string x = w.input(0);
  if (interleaved) {
    std::vector<int64_t> pairs(static_cast<size_t>(shape.ndim()) - 1, 0);
    pairs.insert(pairs.end(), {half, 2});
    x = w.make("Reshape", {x, w.integers(pairs)});
  }
  const Attributes last{{"axis", int64_t{-1}}};
  const int64_t size = interleaved ? 1 : half;
  const NodeWriter::Names ab = w.make_all("Split", {x, w.integers({size, size})}, 2, last);
  const auto product = [&](size_t which, const std::string& factor) { return w.make("Mul", {ab[which], factor}); };
  const bool inverse = options.boolean("inverse");
  const std::string first = w.make(inverse ? "Add" : "Sub", {product(0, cosine), product(1, sine)});
  const std::string second = w.make(inverse ? "Sub" : "Add", {product(1, cosine), product(0, sine)});
  if (!interleaved) return w.node("Concat", {first, second}, {w.output()}, last);
  w.node("Reshape", {w.make("Concat", {first, second}, last), w.reshape_target()}, {w.output()});
}

}  // namespace

void add_attention_converters(ConverterTable& table) {
  table["scaled_dot_product_attention"] = write_attention;
  table["rotary_embedding"] = write_rotary_embedding;
}

}  // namespace kusari::onnx::exporting
