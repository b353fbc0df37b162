#pragma once

#include <cstddef>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/quantization/method.h"

namespace kusari::quantization {

/// Numbers from `low` to `high`.
struct ValueRange {
  double low = 0;
  double high = 0;
};

/// What was observed of one input: the extremes, and for the methods that need them counts of equal bins around 0,
/// which become twice as wide where larger numbers come.
class KUSARI_API Histogram {
 public:
  /// Adds the elements of a floating array. Returns false, and adds nothing, when there is a NaN or an infinity.
  bool add(const Array& x, const Method& method);
  /// What the method makes of all that was added; {0, 0} without elements.
  ValueRange range(const Method& method) const;
  /// What was added as it is.
  ValueRange extremes() const noexcept { return extremes_; }

 private:
  void widen(double limit);
  ValueRange percentile_range(double percent) const;
  ValueRange entropy_range() const;

  bool is_empty_ = true;
  ValueRange extremes_;
  double limit_ = 0;            // the bins reach from -limit_ to limit_
  std::vector<double> counts_;  // none for min_max
};

}  // namespace kusari::quantization
