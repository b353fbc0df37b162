#include <algorithm>
#include <numeric>
#include <string>

#include "kusari/framework/onnx/export/graph_builder.h"

namespace kusari::onnx::exporting {
namespace {

// Blocks of `units` rows in another order, with a first axis for the direction.
Array reordered(const Array& rows, const std::vector<int64_t>& order, int64_t units) {
  const Array host = rows.to_device(Device());
  Shape shape = host.shape();
  shape[0] = units * static_cast<int64_t>(order.size());
  const Array result = empty(shape, host.dtype());
  for (size_t i = 0; i < order.size(); ++i) {
    result.slice(0, static_cast<int64_t>(i) * units, units).copy_from(host.slice(0, order[i] * units, units));
  }
  return result.expand_dims(0);
}

// The call that made a value, or null.
const Call* maker_of(const Trace& trace, int id) {
  for (const Call& call : trace.calls) {
    if (std::find(call.outputs.begin(), call.outputs.end(), id) != call.outputs.end()) return &call;
  }
  return nullptr;
}

// What x contributes to the gates, as a product: F::linear made it.
struct FromInput {
  int x;
  Array W, b;
};

FromInput product_of(const NodeWriter& w) {
  const int from_x = w.call().inputs[0];
  const Call* const maker = maker_of(w.graph().trace(), from_x);
  if (maker == nullptr || maker->function != "linear") {
    w.refuse("its inputs must come from F::linear, as those of the n_step functions do");
  }
  const auto number = [&](int id) {
    if (id == kAbsent) return Array();
    const Value& v = w.graph().value(id);
    if (v.kind != Value::Kind::constant || v.varies) w.refuse("its weights must not depend on the model's arguments");
    return v.array;
  };
  const Array W = number(maker->inputs[1]), b = number(maker->inputs[2]);
  return {maker->inputs[0], W, b.is_defined() ? b : zeros({W.shape()[0]}, W.dtype())};
}

// Rows of a packed batch as (times, batch, ...) and back: rows of all times one after another, fewer with time.
struct Packing {
  std::vector<int64_t> sizes;
  int64_t times, batch;

  explicit Packing(const std::vector<int64_t>& batch_sizes)
      : sizes{batch_sizes},
        times{static_cast<int64_t>(batch_sizes.size())},
        batch{batch_sizes.empty() ? 0 : batch_sizes.front()} {}
  bool is_even() const { return sizes.empty() || sizes.back() == batch; }
  std::vector<int64_t> lengths() const {
    std::vector<int64_t> all(static_cast<size_t>(batch), 0);
    for (const int64_t size : sizes) {
      for (int64_t i = 0; i < size; ++i) ++all[static_cast<size_t>(i)];
    }
    return all;
  }
  // For each place of (times, batch) the packed row, or row 0 where there is none.
  std::vector<int64_t> rows() const {
    std::vector<int64_t> all;
    int64_t begin = 0;
    for (const int64_t size : sizes) {
      for (int64_t i = 0; i < batch; ++i) all.push_back(i < size ? begin + i : 0);
      begin += size;
    }
    return all;
  }
  // For each packed row its place.
  std::vector<int64_t> places() const {
    std::vector<int64_t> all;
    for (int64_t t = 0; t < times; ++t) {
      for (int64_t i = 0; i < sizes[static_cast<size_t>(t)]; ++i) all.push_back(t * batch + i);
    }
    return all;
  }
};

// Inputs: x, h, w, b, and c for lstm. Outputs: y, hy, and cy for lstm.
void write_recurrent(const NodeWriter& w) {
  const Attributes& options = w.options({"batch_sizes"});
  const std::string& cell = options.text("cell");
  const bool is_lstm = cell == "lstm", is_gru = cell == "gru";
  if (w.output_dtype() == Dtype::bfloat16) w.require_opset(22, "a recurrent layer in bfloat16");
  const Packing packing(options.integers("batch_sizes"));
  const bool is_dynamic = w.is_dynamic_input(1, 0);
  for (const Attributes& there : w.call().elsewhere) {
    const Packing other(there.integers("batch_sizes"));
    if (other.times != packing.times) w.refuse_dynamic("its times depend on the size");
    if (other.sizes != packing.sizes && !(other.is_even() && packing.is_even())) {
      w.refuse_dynamic("it has sequences of different lengths");
    }
  }
  if (is_dynamic && !packing.is_even()) w.refuse_dynamic("it has sequences of different lengths");
  if (packing.times == 0) w.refuse("it has no times");

  const FromInput from = product_of(w);
  const Array R = w.constant_input(2), Rb = w.constant_input(3);
  if (!R.is_defined() || !Rb.is_defined()) w.refuse("its weights must not depend on the model's arguments");
  const int64_t units = R.shape()[1], inputs = from.W.shape()[1];
  const std::vector<int64_t> order = is_lstm  ? std::vector<int64_t>{0, 3, 1, 2}  // i, f, a, o to i, o, f, a
                                     : is_gru ? std::vector<int64_t>{1, 0, 2}     // r, z, g to z, r, g
                                              : std::vector<int64_t>{0};
  const Array biases[] = {reordered(from.b, order, units), reordered(Rb, order, units)};
  const int64_t gates = biases[0].shape()[1];
  const Array B = empty({1, 2 * gates}, R.dtype());
  for (int64_t i = 0; i < 2; ++i) B.slice(1, i * gates, gates).copy_from(biases[i]);

  const auto integers = [&](const std::vector<int64_t>& numbers) { return w.integers(numbers); };
  std::string x = w.graph().name_of(from.x);
  if (!packing.is_even()) x = w.make("Gather", {x, integers(packing.rows())}, {{"axis", int64_t{0}}});
  x = w.make("Reshape", {x, integers({packing.times, is_dynamic ? -1 : packing.batch, inputs})});
  std::string lengths;
  if (!packing.is_even()) {
    lengths = w.constant(array(packing.lengths()).astype(Dtype::int32));
  }
  // A state has rows for sequences that have no time, too.
  const int64_t all = w.input_value(1).array.shape()[0];
  if (all > packing.batch) w.refuse("sequences without elements have no place in ONNX's recurrent operators");
  const auto state = [&](size_t i) { return w.make("Unsqueeze", {w.input(i), integers({0})}); };
  NodeWriter::Names arguments{x,
                              w.constant(reordered(from.W, order, units)),
                              w.constant(reordered(R, order, units)),
                              w.constant(B),
                              lengths,
                              state(1)};
  if (is_lstm) arguments.push_back(state(4));
  Attributes attributes;
  attributes.set("hidden_size", units);
  if (options.boolean("reversed")) attributes.set("direction", "reverse");
  if (is_gru) attributes.set("linear_before_reset", 1);
  if (cell == "relu") attributes.set("activations", "Relu");
  const NodeWriter::Names out = w.make_all(is_lstm  ? "LSTM"
                                           : is_gru ? "GRU"
                                                    : "RNN",
                                           arguments, is_lstm ? 3 : 2, attributes);
  // (times, 1, batch, units) to rows.
  const std::string rows = integers({-1, units});
  if (packing.is_even()) {
    w.node("Reshape", {out[0], rows}, {w.output(0)});
  } else {
    w.node("Gather", {w.make("Reshape", {out[0], rows}), integers(packing.places())}, {w.output(0)},
           {{"axis", int64_t{0}}});
  }
  for (size_t i = 1; i < out.size(); ++i) w.node("Squeeze", {out[i], integers({0})}, {w.output(i)});
}

}  // namespace

void add_recurrent_converters(ConverterTable& table) { table["recurrent_layer"] = write_recurrent; }

}  // namespace kusari::onnx::exporting
