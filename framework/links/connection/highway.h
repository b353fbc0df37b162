#pragma once

#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/link.h"

namespace kusari::links {

struct HighwayOptions {
  bool nobias = false;
  Callable<Variable(const Variable&)> activate = functions::relu;
  Initializer init_wh = {};  ///< default: LeCunNormal
  Initializer init_wt = {};
  Initializer init_bh = 0;
  Initializer init_bt = -1;  ///< below 0, so that the gate starts by carrying x
};

/// y = h t + x (1 - t) with h = activate(plain(x)) and t = sigmoid(transform(x)). x, y: (N, in_out_size). Srivastava et
/// al. 2015; chainer.links.Highway.
class KUSARI_API Highway : public Chain {
 public:
  using Options = HighwayOptions;
  explicit Highway(int64_t in_out_size, Options options = {});
  Variable operator()(const Variable& x) const;

  Callable<Variable(const Variable&)> activate;
  Child<Linear> plain, transform;
};

}  // namespace kusari::links
