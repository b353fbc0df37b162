#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/in_use.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/state.h"

namespace kusari::links {

/// A layer of long short-term memory whose gates see the cells too: i and f the last ones, o the new ones, each through
/// a whole matrix. It keeps c and h between calls: each call is one step. Gers and Schmidhuber 2000;
/// chainer.links.StatefulPeepholeLSTM.
class KUSARI_API StatefulPeepholeLSTM : public Chain {
 public:
  /// in_size may be kInfer.
  StatefulPeepholeLSTM(int64_t in_size, int64_t out_size);

  /// x: (B, in_size). Returns h: (B, out_size). Throws TypeError when shapes or dtypes do not fit, StateError when
  /// another thread is in a call.
  Variable operator()(const Variable& x);
  /// Goes on from these, (B, out_size). Throws TypeError when one is undefined.
  void set_state(const Variable& c, const Variable& h);
  void reset_state();

  Child<Linear> upward;                  ///< W: (4 out_size, in_size), b: a, i, f, o of one unit after each other
  Child<Linear> lateral;                 ///< W: (4 out_size, out_size), no bias
  Child<Linear> peep_i, peep_f, peep_o;  ///< W: (out_size, out_size), no bias
  State c{*this, "c"}, h{*this, "h"};

 private:
  detail::InUse in_use_;
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
