#pragma once

#include <limits>
#include <span>
#include <string>

#include "kusari/framework/core/export.h"
#include "kusari/framework/links/parameter.h"

namespace kusari::optimizer_hooks {

struct LassoOptions {
  double rate = std::numeric_limits<double>::quiet_NaN();  ///< required
};

/// L1 regularization: g += rate sign(p). chainer.optimizer_hooks.Lasso.
struct KUSARI_API Lasso : LassoOptions {
  static constexpr const char* kName = "Lasso";
  static constexpr bool kReplays = true;
  /// Throws ValueError for a negative rate, NaN and infinity.
  explicit Lasso(const LassoOptions& options);
  explicit Lasso(double decay_rate) : Lasso(LassoOptions{decay_rate}) {}
  void operator()(std::span<Parameter* const> parameters) const;
};

}  // namespace kusari::optimizer_hooks
