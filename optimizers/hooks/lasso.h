#pragma once

#include <span>
#include <string>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::optimizer_hooks {

/// L1 regularization: g += rate sign(p). chainer.optimizer_hooks.Lasso.
struct KUSARI_API Lasso {
  static constexpr const char* kName = "Lasso";
  static constexpr bool kReplays = true;
  double rate;
  /// Throws ValueError for a negative rate, NaN and infinity.
  explicit Lasso(double decay_rate);
  void operator()(std::span<Parameter* const> parameters) const;
};

}  // namespace kusari::optimizer_hooks
