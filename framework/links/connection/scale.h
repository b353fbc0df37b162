#pragma once

#include <optional>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/connection/bias.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::links {

struct ScaleOptions {
  int64_t axis = 1;                                ///< x's axis for which the weight's first one stands
  std::optional<Shape> w_shape = std::nullopt;     ///< of the learnt weight; without it each call brings its own
  bool bias_term = false;                          ///< learn a bias as well
  std::optional<Shape> bias_shape = std::nullopt;  ///< of the bias; ignored where w_shape is given, which it shares
};

/// F::scale with a learnt weight and, if wanted, a learnt bias: x W + b, their axes standing for x's from `axis` on.
/// chainer.links.Scale.
class KUSARI_API Scale : public Chain {
 public:
  using Options = ScaleOptions;
  /// Throws ValueError for a bias without a shape.
  explicit Scale(Options options = {});
  /// Throws StateError without a learnt weight.
  Variable operator()(const Variable& x) const;
  /// With the caller's weight. Throws StateError when there is a learnt one.
  Variable operator()(const Variable& x, const Variable& y) const;

  int64_t axis;
  OptionalParameter W;  ///< of w_shape, 1 at the start
  Child<Bias> bias;     ///< without a parameter unless bias_term
};

}  // namespace kusari::links
