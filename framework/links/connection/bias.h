#pragma once

#include <optional>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::links {

struct BiasOptions {
  int64_t axis = 1;                           ///< x's axis for which the bias's first one stands
  std::optional<Shape> shape = std::nullopt;  ///< of the learnt bias; without it each call brings its own
};

/// F::bias with a learnt bias: x + b, b's axes standing for x's from `axis` on. chainer.links.Bias.
class KUSARI_API Bias : public Link {
 public:
  using Options = BiasOptions;
  explicit Bias(Options options = {});
  /// Throws StateError without a learnt bias.
  Variable operator()(const Variable& x) const;
  /// With the caller's bias. Throws StateError when there is a learnt one.
  Variable operator()(const Variable& x, const Variable& y) const;

  int64_t axis;
  OptionalParameter b;  ///< of the given shape, 0 at the start
};

}  // namespace kusari::links
