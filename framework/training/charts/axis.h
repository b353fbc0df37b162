#pragma once

#include <string>
#include <vector>

#include "kusari/framework/core/export.h"

namespace kusari::training::charts {

/// One axis of a chart: what it spans, and where it has marks.
struct KUSARI_API Axis {
  struct Tick {
    double value;
    std::string label;
  };

  double low = 0, high = 1;  ///< of a logarithmic axis: positive
  bool log = false;
  std::vector<Tick> ticks = {};

  /// From 0 to 1, where low and high are.
  double place(double value) const;
};

struct AxisOptions {
  int marks = 6;           ///< about so many
  bool log = false;        ///< the range must be positive
  bool integers = false;   ///< marks at whole numbers only
  bool fixed_low = false;  ///< `low` and `high` are the ends; otherwise the axis may reach further
  bool fixed_high = false;
};

/// An axis that spans [low, high], with marks at multiples of 1, 2, 2.5 or 5 times a power of ten, or at powers of ten.
/// A range without length gets one.
KUSARI_API Axis make_axis(double low, double high, const AxisOptions& options = {});

}  // namespace kusari::training::charts
