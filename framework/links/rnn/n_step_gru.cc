#include "kusari/framework/links/rnn/n_step_gru.h"

#include "kusari/framework/links/link_hook.h"
#include "kusari/framework/links/sizes_on_trial.h"

namespace kusari::links {

functions::NStepOutput NStepGruBase::operator()(const Variable& hx, std::span<const Variable> xs) const {
  const functions::PackedOutput out = (*this)(hx, functions::pack_sequence(xs));
  return {out.hy, functions::unpack_sequence(out.ys)};
}

functions::PackedOutput NStepGruBase::operator()(const Variable& hx, const PackedSequence& xs) const {
  const kusari::detail::SizesOnTrial sizes((*this)[0].w0);
  const LinkCall call(*this);
  return is_bidirectional_ ? functions::n_step_bigru(n_layers(), dropout, hx, ws(xs.data()), bs(), xs)
                           : functions::n_step_gru(n_layers(), dropout, hx, ws(xs.data()), bs(), xs);
}

}  // namespace kusari::links
