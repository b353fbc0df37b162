#include "kusari/framework/links/rnn/gru.h"

#include "kusari/framework/core/argument.h"
#include "kusari/framework/functions/activation/sigmoid.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/linear_interpolate.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/rnn/recurrent.h"
#include "kusari/framework/links/sizes.h"
#include "kusari/framework/links/sizes_on_trial.h"

namespace kusari::links {

using functions::linear_interpolate;
using functions::sigmoid;
using functions::tanh;

StatelessGRU::StatelessGRU(int64_t in_size, int64_t out_size, Options o)
    : W_r{*this,
          "W_r",
          size_or_infer("L::GRU", "in_size", in_size),
          argument::not_negative("L::GRU", "out_size", out_size),
          {.initial_w = o.init, .initial_bias = o.bias_init}},
      U_r{*this, "U_r", out_size, out_size, {.initial_w = o.inner_init, .initial_bias = o.bias_init}},
      W_z{*this, "W_z", in_size, out_size, {.initial_w = o.init, .initial_bias = o.bias_init}},
      U_z{*this, "U_z", out_size, out_size, {.initial_w = o.inner_init, .initial_bias = o.bias_init}},
      W{*this, "W", in_size, out_size, {.initial_w = o.init, .initial_bias = o.bias_init}},
      U{*this, "U", out_size, out_size, {.initial_w = o.inner_init, .initial_bias = o.bias_init}} {}

Variable StatelessGRU::operator()(const Variable& h, const Variable& x) const {
  const kusari::detail::SizesOnTrial sizes(W_z.W);
  const LinkCall call(*this);
  functions::expect_given(h, "L::StatelessGRU", "h");
  expect_rows_of("L::StatelessGRU", x, "h", h);
  return step(h, x);
}

Variable StatelessGRU::step(const Variable& h, const Variable& x) const {
  if (!h.is_defined()) return sigmoid(W_z(x)) * tanh(W(x));
  const Variable r = sigmoid(W_r(x) + U_r(h)), z = sigmoid(W_z(x) + U_z(h));
  return linear_interpolate(z, tanh(W(x) + U(r * h)), h);
}

Variable StatefulGRU::operator()(const Variable& x) {
  const kusari::detail::SizesOnTrial sizes(h.is_defined() ? W_r.W : W_z.W);
  const LinkCall call(*this);
  const kusari::detail::ScopedUse use(in_use_, "L::StatefulGRU");
  expect_rows_of("L::StatefulGRU", x, "h", h);
  h = step(h, x);
  return h;
}

void StatefulGRU::set_state(const Variable& new_h) { h = given_state(*this, "L::StatefulGRU::set_state", "h", new_h); }

void StatefulGRU::reset_state() { h = Variable(); }

}  // namespace kusari::links
