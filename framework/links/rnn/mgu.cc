#include "kusari/framework/links/rnn/mgu.h"

#include "kusari/framework/core/argument.h"
#include "kusari/framework/functions/activation/sigmoid.h"
#include "kusari/framework/functions/activation/tanh.h"
#include "kusari/framework/functions/array/concat.h"
#include "kusari/framework/functions/math/basic_math.h"
#include "kusari/framework/functions/math/linear_interpolate.h"
#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/rnn/recurrent.h"

namespace kusari::links {
namespace {

/// Of h and x side by side.
int64_t joined_size(int64_t n_inputs, int64_t n_units) {
  argument::not_negative("L::MGU", "n_inputs", n_inputs);
  argument::not_negative("L::MGU", "n_units", n_units);
  int64_t sum = 0;
  argument::require(!__builtin_add_overflow(n_inputs, n_units, &sum), "L::MGU", "n_units", n_units,
                    "be less, so that an int64 holds the sum with n_inputs");
  return sum;
}

}  // namespace

StatelessMGU::StatelessMGU(int64_t n_inputs, int64_t n_units)
    : W_f{*this, "W_f", joined_size(n_inputs, n_units), n_units},
      W_h{*this, "W_h", joined_size(n_inputs, n_units), n_units} {}

Variable StatelessMGU::operator()(const Variable& h, const Variable& x) const {
  const LinkCall call(*this);
  return step(h, x);
}

Variable StatelessMGU::step(const Variable& h, const Variable& x) const {
  const Variable f = functions::sigmoid(W_f(functions::concat({h, x}, 1)));
  const Variable new_h = functions::tanh(W_h(functions::concat({f * h, x}, 1)));
  return functions::linear_interpolate(f, new_h, h);
}

Variable StatefulMGU::operator()(const Variable& x) {
  const LinkCall call(*this);
  const kusari::detail::ScopedUse use(in_use_, "L::StatefulMGU");
  functions::expect_given(x, "L::StatefulMGU", "x");
  h = step(h.is_defined() ? h : zero_state(x, W_f.W.shape(0)), x);
  return h;
}

void StatefulMGU::set_state(const Variable& new_h) { h = given_state(*this, "L::StatefulMGU::set_state", "h", new_h); }

void StatefulMGU::reset_state() { h = Variable(); }

}  // namespace kusari::links
