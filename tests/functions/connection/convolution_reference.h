#pragma once

#include <cstdint>
#include <vector>

#include "kusari/framework/core/array.h"

// Convolution by its definition, for comparison.
namespace kusari::testing {

struct Geometry {
  Dims stride, pad, dilate;
  int64_t groups = 1;
};

/// Calls body(iw, ix, iy) with flat C-ordered indices of W, x and y for each product of the definition.
template <class Body>
void for_each_product(const Shape& x, const Shape& W, const Shape& y, const Geometry& g, const Body& body) {
  const int ndim = x.ndim() - 2;
  int64_t positions = 1, taps = 1, pixels = 1;
  for (int i = 2; i < ndim + 2; ++i) {
    positions *= y[i];
    taps *= W[i];
    pixels *= x[i];
  }
  const int64_t own = W[1], outputs = W[0] / g.groups;
  for (int64_t p = 0; p < positions; ++p) {
    for (int64_t k = 0; k < taps; ++k) {
      int64_t at = 0, step = 1, rest_p = p, rest_k = k;
      bool inside = true;
      for (int i = ndim - 1; i >= 0; --i) {
        const int64_t q = rest_p % y[i + 2] * g.stride[i] + rest_k % W[i + 2] * g.dilate[i] - g.pad[i];
        inside = inside && q >= 0 && q < x[i + 2];
        at += q * step;
        step *= x[i + 2];
        rest_p /= y[i + 2];
        rest_k /= W[i + 2];
      }
      if (!inside) continue;
      for (int64_t n = 0; n < x[0]; ++n) {
        for (int64_t o = 0; o < W[0]; ++o) {
          for (int64_t c = 0; c < own; ++c) {
            const int64_t channel = o / outputs * own + c;
            body((o * own + c) * taps + k, (n * x[1] + channel) * pixels + at, (n * W[0] + o) * positions + p);
          }
        }
      }
    }
  }
}

/// The three arrays of a convolution, x, W and y: what one of them is by the other two, in C order.
enum class Wanted { y, x, W };
inline std::vector<double> reference_convolution(Wanted wanted, const Array& x, const Array& W, const Array& y,
                                                 const Geometry& g) {
  std::vector<double> xs = x.to_vector<double>(), ws = W.to_vector<double>(), ys = y.to_vector<double>();
  std::vector<double>& result = wanted == Wanted::y ? ys : (wanted == Wanted::x ? xs : ws);
  std::vector<double> sums(result.size(), 0.0);
  for_each_product(x.shape(), W.shape(), y.shape(), g, [&](int64_t iw, int64_t ix, int64_t iy) {
    const auto at = [](int64_t i) { return static_cast<size_t>(i); };
    if (wanted == Wanted::y) sums[at(iy)] += xs[at(ix)] * ws[at(iw)];
    if (wanted == Wanted::x) sums[at(ix)] += ys[at(iy)] * ws[at(iw)];
    if (wanted == Wanted::W) sums[at(iw)] += xs[at(ix)] * ys[at(iy)];
  });
  return sums;
}

}  // namespace kusari::testing
