#include "kusari/framework/functions/connection/local_convolution_2d.h"

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

struct LocalCase {
  Shape x, W;
  Dims stride;
};
const LocalCase kLocalCases[] = {{{2, 3, 4, 5}, {2, 3, 3, 3, 2, 3}, {1, 1}},
                                 {{1, 2, 5, 6}, {3, 2, 2, 2, 3, 2}, {2, 3}},
                                 {{2, 1, 1, 1}, {1, 1, 1, 1, 1, 1}, {1, 1}},
                                 {{0, 2, 3, 3}, {2, 2, 2, 2, 2, 2}, {1, 1}}};

std::vector<double> local_reference(const LocalCase& c, const Array& X, const Array& W, const Array& b) {
  const std::vector<double> x = X.to_vector<double>(), w = W.to_vector<double>(), bias = b.to_vector<double>();
  const Shape &s = c.x, &k = c.W;
  std::vector<double> y;
  for (int64_t n = 0; n < s[0]; ++n) {
    for (int64_t place = 0; place < k[0] * k[1] * k[2]; ++place) {
      const int64_t i = place / k[2] % k[1], j = place % k[2];
      double sum = bias[static_cast<size_t>(place)];
      for (int64_t ch = 0; ch < k[3]; ++ch) {
        for (int64_t a = 0; a < k[4]; ++a) {
          for (int64_t d = 0; d < k[5]; ++d) {
            sum += x[static_cast<size_t>(((n * s[1] + ch) * s[2] + i * c.stride[0] + a) * s[3] + j * c.stride[1] + d)] *
                   w[static_cast<size_t>(((place * k[3] + ch) * k[4] + a) * k[5] + d)];
          }
        }
      }
      y.push_back(sum);
    }
  }
  return y;
}

TEST_CASE("local_convolution_2d and its gradients") {
  for (const LocalCase& c : kLocalCases) {
    CAPTURE(to_string(c.x));
    const auto convolve = [&](const Variable& x, const Variable& W, const Variable& b) {
      return F::local_convolution_2d(x, W, b, {.stride = PerAxis(c.stride)});
    };
    const Shape bias{c.W[0], c.W[1], c.W[2]};
    for (const Dtype dtype : kFloatingDtypes) {
      const Array x = uniform(c.x, -1, 1).astype(dtype), W = uniform(c.W, -1, 1, 2).astype(dtype),
                  b = uniform(bias, -1, 1, 3).astype(dtype);
      const Shape shape{c.x[0], c.W[0], c.W[1], c.W[2]};
      for (const Array& given : {x, x.channels_last(), x.transpose().contiguous().transpose()}) {
        const Variable y = convolve(given, W, b);
        CHECK(y.dtype() == dtype);
        check_close(y, shape, local_reference(c, x, W, b), 6);
      }
      check_close(convolve(x, W, Variable()), shape, local_reference(c, x, W, zeros(bias)), 6);
    }
    check_gradients(convolve, uniform(c.x, -1, 1), uniform(c.W, -1, 1, 2), uniform(bias, -1, 1, 3));
  }
}

TEST_CASE("local_convolution_2d takes x and W of different dtypes") {
  const Variable x(ones({1, 1, 2, 2}, Dtype::float16)), W(ones({1, 1, 1, 1, 2, 2}));
  const Variable y = F::local_convolution_2d(x, W);
  CHECK(y.dtype() == Dtype::float16);
  CHECK(y.item<float>() == 4);
  CHECK(gradient(y, W) == std::vector<double>{1, 1, 1, 1});
}

TEST_CASE("local_convolution_2d refuses what does not fit") {
  const Array x = ones({1, 2, 4, 4}), W = ones({3, 3, 3, 2, 2, 2});
  CHECK_THROWS_WITH_AS(F::local_convolution_2d(x, W, Variable(), {.stride = 2}),
                       "F::local_convolution_2d: W has shape (3, 3, 3, 2, 2, 2): W.shape[1] must equal 2 (3 != 2)",
                       TypeError);
  CHECK_THROWS_WITH_AS(F::local_convolution_2d(x, W, Variable(), {.stride = 0}),
                       "F::local_convolution_2d: stride is (0, 0): it must be at least 1", ValueError);
  CHECK_THROWS_AS(F::local_convolution_2d(x, ones({3, 3, 3, 1, 2, 2})), TypeError);
  CHECK_THROWS_AS(F::local_convolution_2d(x, W, ones({3, 3})), TypeError);
  CHECK_THROWS_AS(F::local_convolution_2d(x, ones({3, 1, 1, 2, 5, 5})), TypeError);
}

}  // namespace
}  // namespace kusari
