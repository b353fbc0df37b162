#pragma once

#include <span>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

namespace kusari::utils {

/// Draws numbers 0 .. n-1 with given probabilities, in a time that does not depend on n. Walker 1977;
/// chainer.utils.WalkerAlias.
class KUSARI_API WalkerAlias {
 public:
  /// probs: not negative, not all 0; only their ratios matter. Throws ValueError for others.
  explicit WalkerAlias(std::span<const double> probs, const Device& device = Device());

  /// int32 numbers of the process's random stream, on the sampler's device.
  Array sample(const Shape& shape) const;

  void to(const Device& device);
  const Device& device() const noexcept { return threshold_.device(); }

 private:
  // Entry i stands for an n-th of all draws: values[2 i] in the first part of it, threshold[i] long, then
  // values[2 i + 1].
  Array threshold_;  // (n, 1), float32
  Array values_;     // (2 n, 1), int32
};

}  // namespace kusari::utils
