#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kusari/framework/core/array.h"

// Convolution by its definition, for comparison.
namespace kusari::testing {

struct Geometry {
  Dims stride, pad, dilate;
  int64_t groups = 1;
};

/// Calls body(iw, ix, iy, count) for each row of products of the definition: flat C-ordered indices of W, and of x and
/// y for the first product; x goes on by the last axis's stride, y by one.
template <class Body>
void for_each_row_of_products(const Shape& x, const Shape& W, const Shape& y, const Geometry& g, const Body& body) {
  const int last = x.ndim() - 1;
  int64_t rows = 1, taps = 1, pixels = 1;
  for (int i = 2; i <= last; ++i) {
    rows *= i < last ? y[i] : 1;
    taps *= W[i];
    pixels *= x[i];
  }
  const int64_t own = W[1], outputs = W[0] / g.groups, stride = g.stride[last - 2], positions = rows * y[last];
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t k = 0; k < taps; ++k) {
      int64_t at = 0, step = x[last], rest_row = row, rest_k = k / W[last];
      bool inside = true;
      for (int i = last - 1; i >= 2; --i) {
        const int64_t q = rest_row % y[i] * g.stride[i - 2] + rest_k % W[i] * g.dilate[i - 2] - g.pad[i - 2];
        inside = inside && q >= 0 && q < x[i];
        at += q * step;
        step *= x[i];
        rest_row /= y[i];
        rest_k /= W[i];
      }
      const int64_t first =
          k % W[last] * g.dilate[last - 2] - g.pad[last - 2];  // where the row's first product is in x
      const int64_t begin = first < 0 ? (-first + stride - 1) / stride : 0;
      const int64_t end = first < x[last] ? std::min(y[last], (x[last] - first - 1) / stride + 1) : 0;
      if (!inside || begin >= end) continue;
      for (int64_t n = 0; n < x[0]; ++n) {
        for (int64_t o = 0; o < W[0]; ++o) {
          for (int64_t c = 0; c < own; ++c) {
            const int64_t channel = o / outputs * own + c;
            body((o * own + c) * taps + k, (n * x[1] + channel) * pixels + at + first + begin * stride,
                 (n * W[0] + o) * positions + row * y[last] + begin, end - begin);
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
  const int64_t stride = g.stride[x.ndim() - 3];
  for_each_row_of_products(x.shape(), W.shape(), y.shape(), g, [&](int64_t iw, int64_t ix, int64_t iy, int64_t count) {
    if (wanted == Wanted::y) {
      const double* const from = xs.data() + ix;
      double* const to = sums.data() + iy;
      const double w = ws[static_cast<size_t>(iw)];
      for (int64_t i = 0; i < count; ++i) to[i] += from[i * stride] * w;
    } else if (wanted == Wanted::x) {
      const double* const from = ys.data() + iy;
      double* const to = sums.data() + ix;
      const double w = ws[static_cast<size_t>(iw)];
      for (int64_t i = 0; i < count; ++i) to[i * stride] += from[i] * w;
    } else {
      const double *const a = xs.data() + ix, *const b = ys.data() + iy;
      double sum = 0;
      for (int64_t i = 0; i < count; ++i) sum += a[i * stride] * b[i];
      sums[static_cast<size_t>(iw)] += sum;
    }
  });
  return sums;
}

}  // namespace kusari::testing
