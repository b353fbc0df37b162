#include "kusari/framework/links/rnn/zoneout_lstm.h"

#include "kusari/framework/core/argument.h"
#include "kusari/framework/functions/activation/sigmoid.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/noise/zoneout.h"
#include "kusari/framework/functions/rnn/gates.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/rnn/recurrent.h"
#include "kusari/framework/links/sizes.h"
#include "kusari/framework/links/sizes_on_trial.h"

namespace kusari::links {
namespace {

double zoneout_ratio(const char* name, double ratio) {
  return argument::require(ratio >= 0 && ratio <= 1, "L::StatefulZoneoutLSTM", name, ratio, "be in [0, 1]");
}

}  // namespace

StatefulZoneoutLSTM::StatefulZoneoutLSTM(int64_t in_size, int64_t out_size, Options options)
    : upward{*this, "upward", size_or_infer("L::StatefulZoneoutLSTM", "in_size", in_size),
             size_times("L::StatefulZoneoutLSTM", "out_size", out_size, 4)},
      lateral{*this, "lateral", out_size, 4 * out_size, {.nobias = true}},
      c_ratio{zoneout_ratio("c_ratio", options.c_ratio)},
      h_ratio{zoneout_ratio("h_ratio", options.h_ratio)} {}

Variable StatefulZoneoutLSTM::operator()(const Variable& x) {
  using functions::sigmoid, functions::tanh;
  const kusari::detail::SizesOnTrial sizes(upward.W);
  const LinkCall call(*this);
  const kusari::detail::ScopedUse use(in_use_, "L::StatefulZoneoutLSTM");
  expect_rows_of("L::StatefulZoneoutLSTM", x, "c", c);
  expect_rows_of("L::StatefulZoneoutLSTM", x, "h", h);
  Variable seen = upward(x);
  if (h.is_defined()) seen = seen + lateral(h);
  const Variable zero = zero_state(seen, lateral.W.shape(1));
  const Variable last_c = c.is_defined() ? c : zero, last_h = h.is_defined() ? h : zero;
  const Variables gates = functions::interleaved_gates(seen, 4);
  const Variable new_c = tanh(gates[0]) * sigmoid(gates[1]) + sigmoid(gates[2]) * last_c;
  c = functions::zoneout(last_c, new_c, c_ratio);
  h = functions::zoneout(last_h, sigmoid(gates[3]) * tanh(new_c), h_ratio);
  return h;
}

void StatefulZoneoutLSTM::set_state(const Variable& new_c, const Variable& new_h) {
  const Variable given_c = given_state(*this, "L::StatefulZoneoutLSTM::set_state", "c", new_c);
  h = given_state(*this, "L::StatefulZoneoutLSTM::set_state", "h", new_h);
  c = given_c;
}

void StatefulZoneoutLSTM::reset_state() { c = h = Variable(); }

}  // namespace kusari::links
