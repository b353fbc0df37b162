#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/kernels/axes.h"

// Counts, running sums and spreads, by NumPy's names and rules. An undefined array throws StateError, an axis that x
// does not have IndexError.
namespace kusari::xp {

struct BincountOptions {
  Array weights = {};     ///< of x's shape: what each number counts, instead of 1
  int64_t minlength = 0;  ///< of the result
};
/// How often each of 0, 1, ... is among the integers of x, of one axis: int64, or with weights a sum of them in their
/// dtype, float64 for integers. The host waits for the largest number. Throws TypeError for an array that does not fit,
/// ValueError for a negative number. numpy.bincount.
KUSARI_API Array bincount(const Array& x, const BincountOptions& options = {});

/// What histogram gives.
struct Histogram {
  Array counts;  ///< int64
  Array edges;   ///< float64, one more than bins
};
/// How many elements of x, flattened, are in each of `bins` parts of equal length of a range, by default that from the
/// smallest to the largest; the last part has both of its ends. NaN is in none. The host waits; on devices other than
/// the CPU DeviceError. Throws ValueError for bins below 1 or from 2^48 on and a range that is not finite or descends.
/// numpy.histogram.
KUSARI_API Histogram histogram(const Array& x, int64_t bins = 10,
                               const std::optional<std::pair<double, double>>& range = std::nullopt);
/// The same between given edges, of one axis and ascending.
KUSARI_API Histogram histogram(const Array& x, const Array& edges);

/// How many elements are not 0, along axes: int64. numpy.count_nonzero.
KUSARI_API Array count_nonzero(const Array& x, const Axes& axis = std::nullopt);

/// Running sums and products along an axis, or of the flattened array without one; integers in int64. numpy.cumsum,
/// numpy.cumprod.
KUSARI_API Array cumsum(const Array& x, std::optional<int64_t> axis = std::nullopt);
KUSARI_API Array cumprod(const Array& x, std::optional<int64_t> axis = std::nullopt);
/// Differences of neighbours along an axis, n times. Throws ValueError for a negative n. numpy.diff.
KUSARI_API Array diff(const Array& x, int64_t n = 1, int64_t axis = -1);

struct SpreadOptions {
  Axes axis = std::nullopt;
  int64_t ddof = 0;  ///< the sum of squares is divided by the number of elements less this
  bool keepdims = false;
};
/// The mean of the squared distances from the mean, and its root, in floating numbers. numpy.var, numpy.std.
KUSARI_API Array var(const Array& x, const SpreadOptions& options = {});
KUSARI_API Array std(const Array& x, const SpreadOptions& options = {});

}  // namespace kusari::xp
