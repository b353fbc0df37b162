#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/in_use.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/state.h"

namespace kusari::links {

struct GruOptions {
  Initializer init = {};        ///< of what x meets; default: LeCunNormal
  Initializer inner_init = {};  ///< of what h meets; default: LeCunNormal
  Initializer bias_init = 0;
};

/// One step of a gated recurrent unit whose h the caller keeps: r = sigmoid(W_r x + U_r h), z = sigmoid(W_z x + U_z h),
/// h' = (1 - z) h + z tanh(W x + U (r h)), each product with a bias. Here r meets h before the product, and z is the
/// share of what is new; in F::n_step_gru neither is so. chainer.links.StatelessGRU.
class KUSARI_API StatelessGRU : public Chain {
 public:
  using Options = GruOptions;
  /// in_size may be kInfer.
  StatelessGRU(int64_t in_size, int64_t out_size, Options options = {});

  /// h: (B, out_size), x: (B, in_size). Returns the new h. Throws TypeError when shapes or dtypes do not fit.
  Variable operator()(const Variable& h, const Variable& x) const;

  Child<Linear> W_r, U_r, W_z, U_z, W, U;

 protected:
  /// h may be undefined, for zeros.
  Variable step(const Variable& h, const Variable& x) const;
};

/// The same with an h that the link keeps: each call is one step. chainer.links.StatefulGRU.
class KUSARI_API StatefulGRU : public StatelessGRU {
 public:
  using StatelessGRU::StatelessGRU;

  /// x: (B, in_size). Returns h: (B, out_size). Throws TypeError when shapes or dtypes do not fit, StateError when
  /// another thread is in a call.
  Variable operator()(const Variable& x);
  /// Goes on from h, (B, out_size). Throws TypeError when it is undefined.
  void set_state(const Variable& h);
  void reset_state();

  State h{*this, "h"};

 private:
  detail::InUse in_use_;
};

/// chainer.links.GRU, which is StatefulGRU.
class KUSARI_API GRU : public StatefulGRU {
 public:
  using StatefulGRU::StatefulGRU;
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
