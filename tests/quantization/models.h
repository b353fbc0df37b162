#pragma once

#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/random.h"
#include "kusari/framework/functions/activation/relu.h"
#include "kusari/framework/functions/connection/linear.h"
#include "kusari/framework/functions/math/matmul.h"
#include "kusari/framework/links/connection/convolution_2d.h"
#include "kusari/framework/links/connection/depthwise_convolution_2d.h"
#include "kusari/framework/links/connection/linear.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/parameter.h"
#include "kusari/framework/quantization/calibrator.h"
#include "kusari/tests/functions/testing.h"

// Models that the tests of this folder share.
namespace kusari::testing {

/// Draws parameters that are the same each time.
struct Seeded {
  Seeded() { random::seed(5); }
};

/// Its calls: /conv, /depthwise, /l1, /l2.
class Cnn : public Chain {
 private:
  Seeded seeded_;

 public:
  Cnn()
      : conv{*this, "conv", 3, 6, 3, {.pad = 1}},
        depthwise{*this, "depthwise", 6, 2, 3},
        l1{*this, "l1", 12 * 4 * 4, 16},
        l2{*this, "l2", 16, 4} {
    to(test_device());
  }
  Variable operator()(const Variable& x) const { return l2(F::relu(l1(F::relu(depthwise(F::relu(conv(x))))))); }

  Child<L::Convolution2D> conv;
  Child<L::DepthwiseConvolution2D> depthwise;
  Child<L::Linear> l1, l2;
};

/// float32, (n, 3, 6, 6), from -1 to 1.
inline Array images(int64_t n = 8, uint64_t seed = 3) {
  return uniform({n, 3, 6, 6}, -1, 1, seed).astype(Dtype::float32);
}

/// x with another first element.
inline Array with_first(const Array& x, double value) {
  std::vector<double> values = x.to_vector<double>();
  values[0] = value;
  return array(values, x.shape(), x.device()).astype(x.dtype());
}

/// |y - expected| / |expected|.
inline double relative_error(const Variable& y, const Variable& expected) {
  REQUIRE(y.shape() == expected.shape());
  const std::vector<double> a = y.array().to_vector<double>(), b = expected.array().to_vector<double>();
  double off = 0, size = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    off += (a[i] - b[i]) * (a[i] - b[i]);
    size += b[i] * b[i];
  }
  return std::sqrt(off / size);
}

inline std::vector<double> numbers(const Variable& y) { return y.array().to_vector<double>(); }

}  // namespace kusari::testing
