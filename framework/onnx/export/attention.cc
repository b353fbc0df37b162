#include <string>

#include "kusari/framework/functions/attention/rotary_table.h"
#include "kusari/framework/onnx/export/graph_builder.h"

namespace kusari::onnx::exporting {
namespace {

// An array of the options without its repeats: a value of the graph, or a constant where it is the same for all sizes.
std::string option_value(const NodeWriter& w, const char* option) {
  const Trace& trace = w.graph().trace();
  const Array x = without_repeats(w.call().options.array(option));
  const bool is_constant = trace.find(x) == kAbsent && !trace.dependent.contains(x.storage().id);
  for (const Attributes& there : w.call().elsewhere) {
    if (there.has(option) && (!is_constant || same_elements(x, without_repeats(there.array(option))))) continue;
    w.refuse_dynamic("its option '" + std::string(option) +
                     "' depends on the size and is made outside of functions: an argument gives one for any");
  }
  return w.value(x);
}

// Softmax of the scaled products of q and k, where a query sees a key, times v. In primitive operators, which all
// opsets have; runtimes fuse them.
void write_attention(const NodeWriter& w) {
  const Attributes& options = w.options({"mask", "lengths"});
  const Dtype dtype = w.input_dtype(0);
  const int64_t heads = w.input_size(0, 1), groups = w.input_size(1, 1);
  const Sizes n = w.input_value(0).sizes(2), keys = w.input_value(1).sizes(2);
  Sizes more;  // how many keys the first query sees, less one
  for (size_t i = 0; i < n.size(); ++i) more.push_back(keys[i] - n[i]);
  const auto for_heads = [&](size_t i) {
    if (groups == heads) return w.input(i);
    const int64_t width = w.input_size(i, 3);
    const std::string apart = w.make("Unsqueeze", {w.input(i), w.integers({2})});
    const std::string repeated = w.make("Expand", {apart, w.integers({1, 1, heads / groups, 1, 1})});
    return w.make("Reshape", {repeated, w.integers({0, heads, -1, width})});
  };
  if (options.real("dropout") > 0) w.refuse("dropout of attention's weights has no ONNX operator");
  const std::string turned = w.make("Transpose", {for_heads(1)}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
  std::string scores = w.make("Mul", {w.make("MatMul", {w.input(0), turned}), w.scalar(options.real("scale"), dtype)});
  if (w.has_input(3)) scores = w.make("Add", {scores, w.cast(w.input(3), w.input_dtype(3), dtype)});
  std::string seen;  // true where a query sees a key
  const auto restrict_to = [&](const std::string& allowed) {
    seen = seen.empty() ? allowed : w.make("And", {seen, allowed});
  };
  bool may_see_nothing = options.boolean("is_causal") && (more[0] < 0 || !is_fixed(more));
  for (const char* const option : {"mask", "lengths"}) {
    if (w.call().changing.contains(option) && !options.has(option)) {
      w.refuse_dynamic("it has the option '" + std::string(option) + "' for some sizes alone");
    }
  }
  if (options.has("mask")) {
    const Dtype given = options.array("mask").dtype();
    const std::string mask = option_value(w, "mask");
    if (given == Dtype::bool_) {
      restrict_to(mask);
      may_see_nothing = true;
    } else {
      scores = w.make("Add", {scores, w.cast(mask, given, dtype)});
    }
  }
  if (options.has("lengths")) {
    const std::string lengths = w.make("Reshape", {option_value(w, "lengths"), w.integers({-1, 1, 1, 1})});
    restrict_to(w.make("Less", {w.graph().places(keys, {1, 1, 1, -1}), lengths}));
    may_see_nothing = true;
  }
  if (options.boolean("is_causal")) {
    const int64_t window = options.integer("window");
    if (is_fixed(n) && is_fixed(keys)) {
      std::vector<uint8_t> allowed;
      for (int64_t i = 0; i < n[0]; ++i) {
        for (int64_t j = 0; j < keys[0]; ++j) {
          const int64_t behind = i + more[0] - j;  // how far the key lies
          allowed.push_back(behind >= 0 && (window == 0 || behind < window) ? 1 : 0);
        }
      }
      restrict_to(w.constant(array(allowed, {1, 1, n[0], keys[0]}).astype(Dtype::bool_)));
    } else {
      std::string last = w.graph().places(n, {1, 1, -1, 1});
      if (more != Sizes(more.size(), 0)) last = w.make("Add", {last, w.graph().sizes({more})});
      const std::string all = w.graph().places(keys, {1, 1, 1, -1});
      restrict_to(w.make("LessOrEqual", {all, last}));
      if (window > 0) {
        const std::string most = w.constant(full({}, window, Dtype::int64));
        restrict_to(w.make("Less", {w.make("Sub", {last, all}), most}));
      }
    }
  }
  if (!seen.empty()) scores = w.make("Where", {seen, scores, w.scalar(dtype == Dtype::float16 ? -3e4 : -1e30, dtype)});
  std::string weights = w.make("Softmax", {scores}, {{"axis", int64_t{3}}});
  if (may_see_nothing) weights = w.make("Mul", {weights, w.cast(seen, Dtype::bool_, dtype)});
  w.node("MatMul", {weights, for_heads(2)}, {w.output()});
}

// The pairs apart, their products with tables of cosines and sines, and the pairs together again.
void write_rotary_embedding(const NodeWriter& w) {
  const Attributes& options = w.options();
  const int ndim = w.input_ndim(0);
  const Sizes times = w.input_value(0).sizes(ndim - 2);
  const int64_t half = w.input_size(0, ndim - 1) / 2;
  const Dtype dtype = w.input_dtype(0), wide = dtype == Dtype::float64 ? dtype : Dtype::float32;
  functions::RotaryAngles angles{half, options.real("base"), wide};
  if (options.has("factor")) {
    angles.scaling = {options.real("factor"), options.integer("trained"), options.real("low"), options.real("high")};
  }
  const bool interleaved = options.boolean("interleaved");
  std::string cosine, sine;
  if (is_fixed(times)) {
    const Array table = functions::rotary_table(angles, options.integer("first"), times[0], Device()).astype(dtype);
    const auto part = [&](int64_t which) {
      return w.constant(interleaved ? table.as_strided({times[0], half, 1}, {2 * half, 1, 1}, which * half)
                                    : table.as_strided({times[0], half}, {2 * half, 1}, which * half));
    };
    cosine = part(0);
    sine = part(1);
  } else {
    std::string place =
        w.graph().places(times, interleaved ? std::vector<int64_t>{-1, 1, 1} : std::vector<int64_t>{-1, 1});
    place = w.make("Add", {place, w.constant(full({}, options.integer("first"), Dtype::int64))});
    const Array speed = array(functions::rotary_turns(angles)).astype(wide);
    const std::string angle =
        w.make("Mul", {w.cast(place, Dtype::int64, wide), w.constant(interleaved ? speed.reshape({half, 1}) : speed)});
    cosine = w.cast(w.make("Cos", {angle}), wide, dtype);
    sine = w.cast(w.make("Sin", {angle}), wide, dtype);
  }
  std::string x = w.input(0);
  if (interleaved) {
    std::vector<int64_t> pairs(static_cast<size_t>(ndim) - 1, 0);
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
