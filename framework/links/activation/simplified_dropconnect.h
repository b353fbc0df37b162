#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/noise/simplified_dropconnect.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::links {

struct SimplifiedDropconnectOptions {
  double ratio = 0.5;  ///< probability that a weight is dropped, in [0, 1)
  bool nobias = false;
  Initializer initial_w = {};  ///< default: HeNormal(1 / sqrt(2))
  Initializer initial_bias = 0;
};

/// What one call of SimplifiedDropconnect is told.
struct SimplifiedDropconnectCall {
  bool train = true;               ///< false: a linear unit; config.train does not matter
  Array mask = Array();            ///< see F::simplified_dropconnect
  bool use_batchwise_mask = true;  ///< whether each example has a mask of its own
};

/// F::simplified_dropconnect with learnt weights. x: (N, ...); returns (N, out_size).
/// chainer.links.SimplifiedDropconnect.
class KUSARI_API SimplifiedDropconnect : public Link {
 public:
  using Options = SimplifiedDropconnectOptions;
  using Call = SimplifiedDropconnectCall;
  /// in_size may be kInfer.
  SimplifiedDropconnect(int64_t in_size, int64_t out_size, Options options = {});
  Variable operator()(const Variable& x) const { return (*this)(x, {}); }
  Variable operator()(const Variable& x, const Call& call) const;

  double ratio;
  Parameter W;          ///< (out_size, in_size)
  OptionalParameter b;  ///< (out_size); absent with nobias
};

}  // namespace kusari::links
