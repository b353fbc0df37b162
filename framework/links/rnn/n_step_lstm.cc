#include "kusari/framework/links/rnn/n_step_lstm.h"

#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/sizes_on_trial.h"

namespace kusari::links {

functions::NStepLstmOutput NStepLstmBase::operator()(const Variable& hx, const Variable& cx,
                                                     std::span<const Variable> xs) const {
  const functions::PackedLstmOutput out = (*this)(hx, cx, functions::pack_sequence(xs));
  return {out.hy, out.cy, functions::unpack_sequence(out.ys)};
}

functions::PackedLstmOutput NStepLstmBase::operator()(const Variable& hx, const Variable& cx,
                                                      const PackedSequence& xs) const {
  const kusari::detail::SizesOnTrial sizes((*this)[0].w0);
  const LinkCall call(*this);
  return is_bidirectional_ ? functions::n_step_bilstm(n_layers(), dropout, hx, cx, ws(xs.data()), bs(), xs)
                           : functions::n_step_lstm(n_layers(), dropout, hx, cx, ws(xs.data()), bs(), xs);
}

}  // namespace kusari::links
