#include "kusari/framework/links/rnn/lstm.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/autograd/input_caster.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/array/separate.h"
#include "kusari/framework/functions/array/split_axis.h"
#include "kusari/framework/functions/connection/linear.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/rnn/recurrent_layer.h"
#include "kusari/framework/initializers/lecun.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/rnn/recurrent.h"
#include "kusari/framework/links/sizes.h"
#include "kusari/framework/links/sizes_on_trial.h"

namespace kusari::links {
namespace {

constexpr int64_t kGates = 4;

// Each block of rows for itself, as Chainer does, although a block is not a gate.
Initializer by_blocks(Initializer of_block) {
  if (!of_block) of_block = initializers::LeCunNormal();
  return [of_block](const Array& w) {
    const int64_t rows = w.shape()[0] / kGates;
    for (int64_t k = 0; k < kGates; ++k) of_block(w.slice(0, k * rows, rows));
  };
}

// The bias of a, i, f, o, whose f has a start of its own.
Initializer gate_biases(Initializer bias, Initializer forget_bias) {
  if (!bias) bias = 0;
  if (!forget_bias) forget_bias = 1;
  return [bias, forget_bias](const Array& b) {
    const int64_t units = b.size() / kGates;
    for (int64_t gate = 0; gate < kGates; ++gate) {
      const Array values = empty({1, units}, b.dtype(), b.device());
      (gate == 2 ? forget_bias : bias)(values);
      b.reshape({units, kGates}).slice(1, gate, 1).copy_from(values.reshape({units, 1}));
    }
  };
}

// The state of the first `rows` sequences, and of those behind them (undefined for none).
std::pair<Variable, Variable> first_rows(const Variable& state, int64_t rows) {
  if (!state.is_defined() || rows >= state.shape()[0]) return {state, Variable()};
  const Variables parts = functions::split_axis(state, {rows}, 0);
  return {parts[0], parts[1]};
}

// Rows a, i, f, o of each unit, as F::lstm has them, to the blocks i, f, a, o of a recurrent layer.
Variable gate_by_gate(const Variable& w) {
  Dims dims = {w.shape()[0] / kGates, kGates};
  for (int axis = 1; axis < w.ndim(); ++axis) dims.push_back(w.shape()[axis]);
  const Variables gates = functions::separate(functions::reshape(w, dims), 1);
  return functions::concat({gates[1], gates[2], gates[0], gates[3]}, 0);
}

}  // namespace

StatelessLSTM::StatelessLSTM(int64_t in_size, int64_t out_size, Options options)
    : upward{*this,
             "upward",
             size_or_infer("L::LSTM", "in_size", in_size),
             size_times("L::LSTM", "out_size", out_size, kGates),
             {.initial_w = by_blocks(std::move(options.upward_init)),
              .initial_bias = gate_biases(std::move(options.bias_init), std::move(options.forget_bias_init))}},
      lateral{*this,
              "lateral",
              out_size,
              kGates * out_size,
              {.nobias = true, .initial_w = by_blocks(std::move(options.lateral_init))}} {}

functions::CellOutput StatelessLSTM::operator()(const Variable& c, const Variable& h, const Variable& x) const {
  const kusari::detail::SizesOnTrial sizes(upward.W);
  const LinkCall call(*this);
  expect_rows_of("L::StatelessLSTM", x, "h", h);
  return step(c, h, x);
}

functions::CellOutput StatelessLSTM::step(const Variable& c, const Variable& h, const Variable& x) const {
  Variable gates = upward(x);
  if (h.is_defined()) gates = gates + lateral(h);
  return functions::lstm(c.is_defined() ? c : zero_state(gates, lateral.W.shape(1)), gates);
}

void LSTM::expect_rows(const char* call, int64_t batch) const {
  if (!h.is_defined() || batch <= h.shape()[0]) return;
  throw TypeError(std::string(call) + ": x has " + std::to_string(batch) + " rows and the state " +
                  std::to_string(h.shape()[0]) +
                  ": a batch must not be larger than the one before it; reset_state() begins anew");
}

Variable LSTM::operator()(const Variable& x) {
  const kusari::detail::SizesOnTrial sizes(upward.W);
  const LinkCall call(*this);
  const kusari::detail::ScopedUse use(in_use_, "L::LSTM");
  functions::expect_given(x, "L::LSTM", "x");
  expect_rows("L::LSTM", x.shape(0));
  const auto [last, rest] = first_rows(h, x.shape(0));
  const auto [new_c, y] = step(c, last, x);
  c = new_c;
  h = rest.is_defined() ? functions::concat({y, rest}, 0) : y;
  return y;
}

Variable LSTM::sequence(const Variable& xs) {
  constexpr const char* kCall = "L::LSTM::sequence";
  const kusari::detail::SizesOnTrial sizes(upward.W);
  const LinkCall call(*this);
  const kusari::detail::ScopedUse use(in_use_, kCall);
  functions::expect_floating(xs, kCall, "xs");
  if (xs.ndim() != 3 || xs.shape()[0] == 0) {
    throw TypeError(std::string(kCall) + ": xs has shape " + to_string(xs.shape()) +
                    ": it must have three axes, (time, batch, input), and at least one time");
  }
  const int64_t times = xs.shape()[0], batch = xs.shape()[1], units = lateral.W.shape(1);
  expect_rows(kCall, batch);
  if (!upward.W.is_initialized()) upward.W.infer(1, xs.shape()[2]);
  const auto [h_first, h_rest] = first_rows(h, batch);
  const auto [c_first, c_rest] = first_rows(c, batch);
  const auto or_zeros = [&](const Variable& state) {
    return state.is_defined() ? state : Variable(zeros({batch, units}, xs.dtype(), xs.device()), false);
  };
  const Variable given[] = {xs, or_zeros(h_first), or_zeros(c_first), upward.W, upward.b, lateral.W};
  const CompositeInputs cast("n_step_lstm", std::span(given));
  const auto in = [&](size_t i) -> const Variable& { return cast.is_cast() ? cast[i] : given[i]; };
  const Variable from_x = functions::linear(in(0), gate_by_gate(in(3)), gate_by_gate(in(4)), {.n_batch_axes = 2});
  const Variable no_bias(zeros({kGates * units}, from_x.dtype(), xs.device()), false);
  const functions::RecurrentOutput out = functions::recurrent_layer(
      {kernels::RecurrentCell::lstm, false}, std::vector<int64_t>(static_cast<size_t>(times), batch),
      functions::reshape(from_x, {times * batch, kGates * units}), in(1), in(2), gate_by_gate(in(5)), no_bias);
  c = c_rest.is_defined() ? functions::concat({out.cy, c_rest}, 0) : out.cy;
  h = h_rest.is_defined() ? functions::concat({out.hy, h_rest}, 0) : out.hy;
  return functions::reshape(out.y, {times, batch, units});
}

void LSTM::set_state(const Variable& new_c, const Variable& new_h) {
  const Variable given_c = given_state(*this, "L::LSTM::set_state", "c", new_c);
  h = given_state(*this, "L::LSTM::set_state", "h", new_h);
  c = given_c;
}

void LSTM::reset_state() { c = h = Variable(); }

}  // namespace kusari::links
