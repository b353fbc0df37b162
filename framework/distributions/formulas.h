#pragma once

#include <limits>

#include "kusari/framework/autograd/variable.h"

// For the sources of this folder. Pieces of formulas that are right at the edges of a support, gradients included: what
// stands outside is replaced before a function could be infinite there, not only afterwards.
namespace kusari::functions {}

namespace kusari::distributions {

namespace F = kusari::functions;

inline constexpr double kInfinite = std::numeric_limits<double>::infinity();
inline constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kPi = 3.14159265358979323846;
inline constexpr double kHalfLog2Pi = 0.91893853320467274178;  // log(2 pi) / 2
inline constexpr double kEulerGamma = 0.57721566490153286061;

/// x where `inside` holds, else the number.
Variable where_or(const Array& inside, const Variable& x, double outside);
/// x log(y), 0 where both are 0.
Variable xlogy(const Variable& x, const Variable& y);
/// x log(1 + y), 0 where x is 0 and y is -1.
Variable xlog1py(const Variable& x, const Variable& y);
/// p t, 0 where p is 0, whatever t is.
Variable times_unless_zero(const Variable& p, const Variable& t);
/// The logarithm of the beta function.
Variable log_beta(const Variable& a, const Variable& b);
/// x in float64: differences of logarithms of gamma functions lose too many digits of other dtypes.
Variable in_float64(const Variable& x);
/// The identity matrix of the size of x's last axis, in x's dtype.
Array identity_matrix(const Variable& x);
/// The largest integers up to x; not connected to it.
Variable floored(const Variable& x);

}  // namespace kusari::distributions
