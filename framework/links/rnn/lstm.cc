#include "kusari/framework/links/rnn/lstm.h"

#include <utility>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/array/split_axis.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/initializers/lecun.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/rnn/recurrent.h"
#include "kusari/framework/links/sizes.h"

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

}  // namespace

StatelessLSTM::StatelessLSTM(int64_t in_size, int64_t out_size, Options options)
    : upward{*this,
             "upward",
             size_or_infer("L::LSTM", "in_size", in_size),
             kGates * argument::not_negative("L::LSTM", "out_size", out_size),
             {.initial_w = by_blocks(std::move(options.upward_init)),
              .initial_bias = gate_biases(std::move(options.bias_init), std::move(options.forget_bias_init))}},
      lateral{*this,
              "lateral",
              out_size,
              kGates * out_size,
              {.nobias = true, .initial_w = by_blocks(std::move(options.lateral_init))}} {}

functions::CellOutput StatelessLSTM::operator()(const Variable& c, const Variable& h, const Variable& x) const {
  const LinkCall call(*this);
  return step(c, h, x);
}

functions::CellOutput StatelessLSTM::step(const Variable& c, const Variable& h, const Variable& x) const {
  Variable gates = upward(x);
  if (h.is_defined()) gates = gates + lateral(h);
  return functions::lstm(c.is_defined() ? c : zero_state(gates, lateral.W.shape(1)), gates);
}

Variable LSTM::operator()(const Variable& x) {
  const LinkCall call(*this);
  const kusari::detail::ScopedUse use(in_use_, "L::LSTM");
  functions::expect_given(x, "L::LSTM", "x");
  const int64_t batch = x.shape(0);
  if (h.is_defined() && batch > h.shape()[0]) {
    throw TypeError("L::LSTM: x has " + std::to_string(batch) + " rows and the state " + std::to_string(h.shape()[0]) +
                    ": a batch must not be larger than the one before it; reset_state() begins anew");
  }
  Variable rest, last = h;
  if (h.is_defined() && batch < h.shape()[0]) {
    const Variables parts = functions::split_axis(h, {batch}, 0);
    last = parts[0], rest = parts[1];
  }
  const auto [new_c, y] = step(c, last, x);
  c = new_c;
  h = rest.is_defined() ? functions::concat({y, rest}, 0) : y;
  return y;
}

void LSTM::set_state(const Variable& new_c, const Variable& new_h) {
  const Variable given_c = given_state(*this, "L::LSTM::set_state", "c", new_c);
  h = given_state(*this, "L::LSTM::set_state", "h", new_h);
  c = given_c;
}

void LSTM::reset_state() { c = h = Variable(); }

}  // namespace kusari::links
