#include "kusari/framework/links/rnn/n_step_rnn.h"

#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/sizes_on_trial.h"

namespace kusari::links {

functions::NStepOutput NStepRnnBase::operator()(const Variable& hx, std::span<const Variable> xs) const {
  const functions::PackedOutput out = (*this)(hx, functions::pack_sequence(xs));
  return {out.hy, functions::unpack_sequence(out.ys)};
}

functions::PackedOutput NStepRnnBase::operator()(const Variable& hx, const PackedSequence& xs) const {
  const kusari::detail::SizesOnTrial sizes((*this)[0].w0);
  const LinkCall call(*this);
  return is_bidirectional_ ? functions::n_step_birnn(n_layers(), dropout, hx, ws(xs.data()), bs(), xs, activation_)
                           : functions::n_step_rnn(n_layers(), dropout, hx, ws(xs.data()), bs(), xs, activation_);
}

}  // namespace kusari::links
