#include "kusari/framework/functions/rnn/recurrent_layer.h"

#include <vector>

#include "kusari/framework/autograd/attributes.h"
#include "kusari/framework/autograd/function_node.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/graph_capture.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/activation/sigmoid.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/split_axis.h"
#include "kusari/framework/functions/connection/linear.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/kernels/matmul.h"

namespace kusari::functions {
namespace {

using kernels::RecurrentCell;

const char* name_of(RecurrentCell cell) {
  switch (cell) {
    case RecurrentCell::tanh:
      return "tanh";
    case RecurrentCell::relu:
      return "relu";
    case RecurrentCell::lstm:
      return "lstm";
    case RecurrentCell::gru:
      break;
  }
  return "gru";
}

struct CellState {
  Variable h, c;
};

CellState next_state(RecurrentCell cell, const Variable& x, const Variable& u, const CellState& last) {
  switch (cell) {
    case RecurrentCell::tanh:
      return {tanh(x + u), Variable()};
    case RecurrentCell::relu:
      return {relu(x + u), Variable()};
    case RecurrentCell::lstm: {
      const Variables gates = split_axis(x + u, 4, 1);  // i, f, a, o
      const Variable c = sigmoid(gates[1]) * last.c + sigmoid(gates[0]) * tanh(gates[2]);
      return {sigmoid(gates[3]) * tanh(c), c};
    }
    case RecurrentCell::gru: {
      const Variables from_x = split_axis(x, 3, 1), from_h = split_axis(u, 3, 1);  // r, z, g
      const Variable r = sigmoid(from_x[0] + from_h[0]), z = sigmoid(from_x[1] + from_h[1]);
      const Variable fresh = tanh(from_x[2] + r * from_h[2]);
      return {(1 - z) * fresh + z * last.h, Variable()};
    }
  }
  return {};
}

// The rows of a state that are at work, and those whose sequences have ended or not begun.
Variable first_rows(const Variable& all, int64_t count) {
  return all.is_defined() && count < all.shape()[0] ? split_axis(all, {count}, 0)[0] : all;
}
Variable with_rows(const Variable& first, const Variable& all) {
  if (!all.is_defined()) return {};
  const int64_t count = first.shape()[0];
  return count < all.shape()[0] ? concat({first, split_axis(all, {count}, 0)[1]}, 0) : first;
}

// Inputs: x, h, w, b, and c for lstm. Outputs: y, hy, and cy for lstm.
class RecurrentLayerFunction final : public FunctionNode {
 public:
  RecurrentLayerFunction(const kernels::RecurrentLayer& layer, std::span<const int64_t> batch_sizes)
      : layer_{layer}, batch_sizes_(batch_sizes.begin(), batch_sizes.end()) {}
  const char* name() const override { return "recurrent_layer"; }
  void describe(Attributes& options) const override {
    options.set("cell", name_of(layer_.cell));
    options.set("reversed", layer_.reversed);
    options.set("batch_sizes", Attributes::Value(batch_sizes_));
  }

 private:
  bool is_lstm() const { return layer_.cell == RecurrentCell::lstm; }

  Arrays forward(const ArrayRefs& in) override {
    retain_inputs({0, 1, 2, 3});
    if (is_lstm()) retain_inputs({4});
    retain_outputs({0});
    const int64_t rows = in[0].shape()[0], units = in[1].shape()[1];
    const Dtype dtype = in[0].dtype();
    const Device& device = in[0].device();
    sizes_ = host_constant([&] { return array(batch_sizes_); });
    const Array y = empty({rows, units}, dtype, device), hy = empty(in[1].shape(), dtype, device);
    const Array c = is_lstm() ? in[4].contiguous() : Array(),
                cy = is_lstm() ? empty(c.shape(), dtype, device) : Array();
    if (is_recording()) {
      const int64_t saved = kernels::saved_gates_of(layer_.cell);
      before_ = empty({rows, units}, dtype, device);
      if (saved > 0) saved_ = empty({rows, saved * units}, dtype, device);
      if (is_lstm()) cells_ = empty({rows, units}, dtype, device);
    }
    launch<kernels::RecurrentForward>(device, layer_, sizes_, in[0].contiguous(), in[1].contiguous(), c,
                                      in[2].contiguous(), in[3].contiguous(), y, hy, cy, saved_, cells_, before_);
    return is_lstm() ? Arrays{y, hy, cy} : Arrays{y, hy};
  }

  Variables backward(const Variables& gy) override {
    return config().enable_backprop ? differentiable_gradient(gy) : gradient(gy);
  }

  Variables gradient(const Variables& gy) {
    const auto array_of = [](const Variable& v) { return v.is_defined() ? v.array().contiguous() : Array(); };
    const Array w = retained_input(2).array().contiguous(), y = retained_output(0).array();
    const Array c = is_lstm() ? retained_input(4).array().contiguous() : Array();
    const Array gx = empty(input_shape(0), input_dtype(0), w.device());
    const Array gu = layer_.cell == RecurrentCell::gru ? empty_like(gx) : Array();
    const Array gh = empty(input_shape(1), input_dtype(1), w.device());
    const Array gc = is_lstm() ? empty_like(c) : Array();
    launch<kernels::RecurrentGradient>(w.device(), layer_, sizes_, c, w, y, saved_, cells_, before_, array_of(gy[0]),
                                       array_of(gy[1]), is_lstm() ? array_of(gy[2]) : Array(), gx, gu, gh, gc);
    Variables result{gx, gh, Variable(), Variable()};
    if (needs_grad(2) || needs_grad(3)) {
      const Array gw = empty(input_shape(2), input_dtype(2), w.device());
      const Array gb = empty(input_shape(3), input_dtype(3), w.device());
      launch<kernels::MatmulWithSums>(w.device(), gu.is_defined() ? gu : gx, before_,
                                      kernels::MatmulOptions{.transa = true}, gw, gb);
      result[2] = gw;
      result[3] = gb;
    }
    if (is_lstm()) result.push_back(gc);
    return result;
  }

  Variables differentiable_gradient(const Variables& gy) {
    Variables inputs;
    for (size_t i = 0; i < input_count(); ++i) inputs.push_back(retained_input(i));
    const RecurrentOutput out = recurrent_steps(layer_, batch_sizes_, inputs[0], inputs[1],
                                                is_lstm() ? inputs[4] : Variable(), inputs[2], inputs[3]);
    Variables outputs, seeds;
    const Variable results[] = {out.y, out.hy, out.cy};
    for (size_t i = 0; i < gy.size(); ++i) {
      if (!gy[i].is_defined()) continue;
      outputs.push_back(results[i]);
      seeds.push_back(gy[i]);
    }
    return grad({outputs.data(), outputs.size()}, {inputs.data(), inputs.size()},
                {.grad_outputs = {seeds.data(), seeds.size()}, .enable_double_backprop = true});
  }

  kernels::RecurrentLayer layer_;
  std::vector<int64_t> batch_sizes_;
  Array sizes_, saved_, cells_, before_;
};

}  // namespace

RecurrentOutput recurrent_steps(const kernels::RecurrentLayer& layer, std::span<const int64_t> batch_sizes,
                                const Variable& x, const Variable& h, const Variable& c, const Variable& w,
                                const Variable& b) {
  const size_t times = batch_sizes.size();
  if (times == 0) return {Variable(zeros({0, h.shape()[1]}, h.dtype(), h.device()), false), h, c};
  std::vector<int64_t> ends;
  int64_t end = 0;
  for (size_t t = 0; t + 1 < times; ++t) ends.push_back(end += batch_sizes[t]);
  const Variables from_x = times == 1 ? Variables(x) : split_axis(x, ends, 0);
  std::vector<Variable> ys(times);
  CellState state{h, c};
  for (size_t i = 0; i < times; ++i) {
    const size_t t = layer.reversed ? times - 1 - i : i;
    const CellState last{first_rows(state.h, batch_sizes[t]), first_rows(state.c, batch_sizes[t])};
    const CellState next = next_state(layer.cell, from_x[t], linear(last.h, w, b), last);
    ys[t] = next.h;
    state = {with_rows(next.h, state.h), with_rows(next.c, state.c)};
  }
  return {times == 1 ? ys[0] : concat(ys, 0), state.h, state.c};
}

RecurrentOutput recurrent_layer(const kernels::RecurrentLayer& layer, std::span<const int64_t> batch_sizes,
                                const Variable& x, const Variable& h, const Variable& c, const Variable& w,
                                const Variable& b) {
  Variables inputs{x, h, w, b};
  if (layer.cell == RecurrentCell::lstm) inputs.push_back(c);
  const Variables out =
      apply_all<RecurrentLayerFunction>(std::span<const Variable>(inputs.data(), inputs.size()), layer, batch_sizes);
  return {out[0], out[1], out.size() > 2 ? out[2] : Variable()};
}

}  // namespace kusari::functions
