#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/in_use.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/state.h"

namespace kusari::links {

/// One step of a minimal gated unit whose h the caller keeps: f = sigmoid(W_f [h, x]), h' = (1 - f) h + f tanh(W_h
/// [f h, x]). Zhou et al. 2016; chainer.links.StatelessMGU.
class KUSARI_API StatelessMGU : public Chain {
 public:
  StatelessMGU(int64_t n_inputs, int64_t n_units);

  /// h: (B, n_units), x: (B, n_inputs). Returns the new h. Throws TypeError when shapes or dtypes do not fit.
  Variable operator()(const Variable& h, const Variable& x) const;

  Child<Linear> W_f, W_h;  ///< W: (n_units, n_units + n_inputs): h comes first

 protected:
  Variable step(const Variable& h, const Variable& x) const;
};

/// The same with an h that the link keeps: each call is one step. chainer.links.StatefulMGU.
class KUSARI_API StatefulMGU : public StatelessMGU {
 public:
  using StatelessMGU::StatelessMGU;

  /// x: (B, n_inputs). Returns h: (B, n_units). Throws TypeError when shapes or dtypes do not fit, StateError when
  /// another thread is in a call.
  Variable operator()(const Variable& x);
  /// Goes on from h, (B, n_units). Throws TypeError when it is undefined.
  void set_state(const Variable& h);
  void reset_state();

  State h{*this, "h"};

 private:
  detail::InUse in_use_;
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
