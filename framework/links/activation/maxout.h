#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/link.h"

namespace kusari::links {

struct MaxoutOptions {
  bool nobias = false;
  Initializer initial_w = {};  ///< of (out_size * pool_size, in_size); default: LeCunNormal
  Initializer initial_bias = 0;
};

/// The largest of pool_size affine maps for each output. x: (N, ...), its further axes flattened to in_size; returns
/// (N, out_size). Goodfellow et al. 2013; chainer.links.Maxout.
class KUSARI_API Maxout : public Chain {
 public:
  using Options = MaxoutOptions;
  /// in_size may be kInfer.
  Maxout(int64_t in_size, int64_t out_size, int64_t pool_size, Options options = {});
  Variable operator()(const Variable& x) const;

  int64_t pool_size;
  Child<Linear> linear;  ///< in_size to out_size * pool_size
};

}  // namespace kusari::links
