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
inline constexpr double kLog2 = 0.69314718055994530942;
inline constexpr double kEulerGamma = 0.57721566490153286061;

/// x where `inside` holds, else the number.
Variable where_or(const Array& inside, const Variable& x, double outside);
/// y, whose infinite values are constants.
Variable constant_where_infinite(const Variable& y);
/// x log(y); where y is 0 the limit, which is 0 or infinite and a constant.
Variable xlogy(const Variable& x, const Variable& y);
/// x log(1 + y); where y is -1 the limit, which is 0 or infinite and a constant.
Variable xlog1py(const Variable& x, const Variable& y);
/// log(p), the constant -inf where p is 0.
Variable log_share(const Variable& p);
/// log(1 - exp(l)) of l up to 0, exact where exp(l) is near 0 or 1; the constant -inf where l is 0.
Variable log_rest(const Variable& l);
/// p t, 0 where p is 0, whatever t is.
Variable times_unless_zero(const Variable& p, const Variable& t);
/// log(gammainc(a, x)) and log(gammaincc(a, x)) in float64, of tails too whose shares underflow.
Variable log_gammainc(const Variable& a, const Variable& x);
Variable log_gammaincc(const Variable& a, const Variable& x);
/// p where it is in (0, 1), else 1/2: what a quantile function can be computed of.
Variable inner_share(const Variable& p);
/// x, a quantile function of inner_share(p), with its constants where p is 0 and 1, and NaN for p outside of [0, 1].
Variable with_edges(const Variable& p, const Variable& x, double at_zero, double at_one);
/// The logarithm of the beta function.
Variable log_beta(const Variable& a, const Variable& b);
/// x in float64: differences of logarithms of gamma functions lose too many digits of other dtypes.
Variable in_float64(const Variable& x);
/// The identity matrix of the size of x's last axis, in x's dtype.
Array identity_matrix(const Variable& x);
/// The largest integers up to x; not connected to it.
Variable floored(const Variable& x);

}  // namespace kusari::distributions
