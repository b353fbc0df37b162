#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/in_use.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/state.h"

namespace kusari::links {

struct ZoneoutLstmOptions {
  double c_ratio = 0.5;  ///< probability, in [0, 1], that a cell keeps its last value
  double h_ratio = 0.5;  ///< the same of what the layer above sees
};

/// A layer of long short-term memory with zoneout, which keeps elements of c and h as they were, when config.train; h
/// sees the cells before that. It keeps c and h between calls: each call is one step. Krueger et al. 2017;
/// chainer.links.StatefulZoneoutLSTM.
class KUSARI_API StatefulZoneoutLSTM : public Chain {
 public:
  using Options = ZoneoutLstmOptions;
  /// in_size may be kInfer.
  StatefulZoneoutLSTM(int64_t in_size, int64_t out_size, Options options = {});

  /// x: (B, in_size). Returns h: (B, out_size). Throws TypeError when shapes or dtypes do not fit, StateError when
  /// another thread is in a call.
  Variable operator()(const Variable& x);
  /// Goes on from these, (B, out_size). Throws TypeError when one is undefined.
  void set_state(const Variable& c, const Variable& h);
  void reset_state();

  Child<Linear> upward;   ///< W: (4 out_size, in_size), b: a, i, f, o of one unit after each other
  Child<Linear> lateral;  ///< W: (4 out_size, out_size), no bias
  double c_ratio, h_ratio;
  State c{*this, "c"}, h{*this, "h"};

 private:
  detail::InUse in_use_;
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
