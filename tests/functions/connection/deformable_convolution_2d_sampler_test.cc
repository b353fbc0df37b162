#include "kusari/framework/functions/connection/deformable_convolution_2d_sampler.h"

#include <algorithm>

#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

struct DeformableCase {
  Shape x, W;
  Dims size, stride, pad;
  Shape offset() const { return {x[0], 2 * W[2] * W[3], size[0], size[1]}; }
};
const DeformableCase kDeformableCases[] = {{{2, 3, 5, 4}, {2, 3, 3, 2}, {3, 3}, {1, 1}, {0, 0}},
                                           {{1, 2, 4, 5}, {3, 2, 3, 3}, {2, 3}, {2, 2}, {1, 1}},
                                           {{1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1}, {1, 1}, {0, 0}},
                                           {{0, 2, 3, 3}, {2, 2, 2, 2}, {2, 2}, {1, 1}, {0, 0}}};

std::vector<double> deformable_reference(const DeformableCase& c, const Array& X, const Array& O, const Array& W,
                                         const Array& b) {
  const std::vector<double> x = X.to_vector<double>(), offset = O.to_vector<double>(), w = W.to_vector<double>(),
                            bias = b.to_vector<double>();
  const int64_t k = c.W[2] * c.W[3], count = c.size[0] * c.size[1], pixels = c.x[2] * c.x[3];
  std::vector<double> y;
  for (int64_t n = 0; n < c.x[0]; ++n) {
    for (int64_t o = 0; o < c.W[0]; ++o) {
      for (int64_t p = 0; p < count; ++p) {
        double sum = bias[static_cast<size_t>(o)];
        for (int64_t e = 0; e < k; ++e) {
          const auto move = [&](int64_t which) {
            return offset[static_cast<size_t>(((2 * n + which) * k + e) * count + p)];
          };
          const double u = static_cast<double>(p % c.size[1] * c.stride[1] + e % c.W[3] - c.pad[1]) + move(0);
          const double v = static_cast<double>(p / c.size[1] * c.stride[0] + e / c.W[3] - c.pad[0]) + move(1);
          for (int64_t i = 0; i < pixels; ++i) {
            const double share = std::max(0.0, 1 - std::abs(u - static_cast<double>(i % c.x[3]))) *
                                 std::max(0.0, 1 - std::abs(v - static_cast<double>(i / c.x[3])));
            for (int64_t ch = 0; ch < c.x[1]; ++ch) {
              sum += share * x[static_cast<size_t>((n * c.x[1] + ch) * pixels + i)] *
                     w[static_cast<size_t>((o * c.x[1] + ch) * k + e)];
            }
          }
        }
        y.push_back(sum);
      }
    }
  }
  return y;
}

TEST_CASE("deformable_convolution_2d_sampler and its gradients") {
  for (const DeformableCase& c : kDeformableCases) {
    CAPTURE(to_string(c.x));
    const auto convolve = [&](const Variable& x, const Variable& offset, const Variable& W, const Variable& b) {
      return F::deformable_convolution_2d_sampler(x, offset, W, b,
                                                  {.stride = PerAxis(c.stride), .pad = PerAxis(c.pad)});
    };
    const Array offset64 = uniform(c.offset(), -1.5, 1.5, 4);
    for (const Dtype dtype : kFloatingDtypes) {
      CAPTURE(name(dtype));
      const Array x = uniform(c.x, -1, 1).astype(dtype), offset = offset64.astype(dtype),
                  W = uniform(c.W, -1, 1, 2).astype(dtype), b = uniform({c.W[0]}, -1, 1, 3).astype(dtype);
      const Shape shape{c.x[0], c.W[0], c.size[0], c.size[1]};
      for (const Array& given : {x, x.channels_last(), x.transpose().contiguous().transpose()}) {
        const Variable y = convolve(given, offset.channels_last(), W.channels_last(), b);
        CHECK(y.dtype() == dtype);
        // Patches of a half type are rounded before they are multiplied.
        check_close(y, shape, deformable_reference(c, x, offset, W, b), 8);
      }
      check_close(convolve(x, offset, W, Variable()), shape, deformable_reference(c, x, offset, W, zeros({c.W[0]})), 8);
    }
    check_gradients(convolve, uniform(c.x, -1, 1), offset64, uniform(c.W, -1, 1, 2), uniform({c.W[0]}, -1, 1, 3));
  }
}

TEST_CASE("deformable_convolution_2d_sampler refuses what does not fit") {
  const Array x = ones({1, 2, 4, 4}), offset = zeros({1, 8, 3, 3}), W = ones({3, 2, 2, 2});
  CHECK_THROWS_WITH_AS(
      F::deformable_convolution_2d_sampler(x, zeros({1, 6, 3, 3}), W),
      "F::deformable_convolution_2d_sampler: offset has shape (1, 6, 3, 3): offset.shape[1] must equal 8 (6 != 8)",
      TypeError);
  CHECK_THROWS_WITH_AS(F::deformable_convolution_2d_sampler(x, offset, W, Variable(), {.pad = -1}),
                       "F::deformable_convolution_2d_sampler: pad is (-1, -1): it must be at least 0", ValueError);
  CHECK_THROWS_AS(F::deformable_convolution_2d_sampler(x, offset, ones({3, 1, 2, 2})), TypeError);
  CHECK_THROWS_AS(F::deformable_convolution_2d_sampler(x, offset, W, ones({2})), TypeError);
  CHECK_THROWS_AS(F::deformable_convolution_2d_sampler(x, offset.astype(Dtype::float64), W), TypeError);
  // Of no image, but its positions have no room.
  CHECK_THROWS_AS(F::deformable_convolution_2d_sampler(zeros({0, 2, 4, 4}), zeros({0, 8, 1L << 31, 1L << 24}), W),
                  OutOfMemoryError);
}

}  // namespace
}  // namespace kusari
