#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::links {

struct PReLUOptions {
  Shape shape = {};         ///< of the slopes: {} one for all, {C} one per channel
  Initializer init = 0.25;  ///< the slopes at the start
};

/// F::prelu with learnt slopes: y = x for x >= 0, W x otherwise. x: (N, shape..., ...). chainer.links.PReLU.
class KUSARI_API PReLU : public Link {
 public:
  using Options = PReLUOptions;
  explicit PReLU(Options options = {});
  Variable operator()(const Variable& x) const;

  Parameter W;  ///< of the given shape
};

}  // namespace kusari::links
