#include "kusari/framework/links/rnn/peephole_lstm.h"

#include "kusari/framework/functions/activation/sigmoid.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/rnn/gates.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/rnn/recurrent.h"
#include "kusari/framework/links/sizes.h"
#include "kusari/framework/links/sizes_on_trial.h"

namespace kusari::links {

using functions::sigmoid;
using functions::tanh;

StatefulPeepholeLSTM::StatefulPeepholeLSTM(int64_t in_size, int64_t out_size)
    : upward{*this, "upward", size_or_infer("L::StatefulPeepholeLSTM", "in_size", in_size),
             size_times("L::StatefulPeepholeLSTM", "out_size", out_size, 4)},
      lateral{*this, "lateral", out_size, 4 * out_size, {.nobias = true}},
      peep_i{*this, "peep_i", out_size, out_size, {.nobias = true}},
      peep_f{*this, "peep_f", out_size, out_size, {.nobias = true}},
      peep_o{*this, "peep_o", out_size, out_size, {.nobias = true}} {}

Variable StatefulPeepholeLSTM::operator()(const Variable& x) {
  const kusari::detail::SizesOnTrial sizes(upward.W);
  const LinkCall call(*this);
  const kusari::detail::ScopedUse use(in_use_, "L::StatefulPeepholeLSTM");
  expect_rows_of("L::StatefulPeepholeLSTM", x, "c", c);
  expect_rows_of("L::StatefulPeepholeLSTM", x, "h", h);
  Variable seen = upward(x);
  if (h.is_defined()) seen = seen + lateral(h);
  const Variable last = c.is_defined() ? c : zero_state(seen, lateral.W.shape(1));
  const Variables gates = functions::interleaved_gates(seen, 4);
  const Variable i = sigmoid(gates[1] + peep_i(last)), f = sigmoid(gates[2] + peep_f(last));
  const Variable new_c = tanh(gates[0]) * i + f * last;
  h = sigmoid(gates[3] + peep_o(new_c)) * tanh(new_c);
  c = new_c;
  return h;
}

void StatefulPeepholeLSTM::set_state(const Variable& new_c, const Variable& new_h) {
  const Variable given_c = given_state(*this, "L::StatefulPeepholeLSTM::set_state", "c", new_c);
  h = given_state(*this, "L::StatefulPeepholeLSTM::set_state", "h", new_h);
  c = given_c;
}

void StatefulPeepholeLSTM::reset_state() { c = h = Variable(); }

}  // namespace kusari::links
