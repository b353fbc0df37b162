#include <algorithm>

#include "kusari/framework/functions/array/spatial_transformer_grid.h"
#include "kusari/framework/functions/array/spatial_transformer_sampler.h"
#include "kusari/tests/functions/testing.h"

namespace kusari {
namespace {

using namespace testing;

TEST_CASE("spatial_transformer_grid") {
  for (const Dtype dtype : kFloatingDtypes) {
    const Array theta = uniform({2, 2, 3}, -1, 1).astype(dtype);
    const std::vector<double> t = theta.to_vector<double>();
    for (const Dims& size : {Dims{3, 4}, {1, 5}, {2, 1}}) {
      std::vector<double> expected;
      for (size_t row = 0; row < 4; ++row) {
        for (int64_t p = 0; p < size[0] * size[1]; ++p) {
          const auto place = [](int64_t i, int64_t n) {
            return n == 1 ? -1.0 : 2 * static_cast<double>(i) / static_cast<double>(n - 1) - 1;
          };
          expected.push_back(t[3 * row] * place(p % size[1], size[1]) + t[3 * row + 1] * place(p / size[1], size[0]) +
                             t[3 * row + 2]);
        }
      }
      const Variable grid = F::spatial_transformer_grid(theta, size);
      CHECK(grid.dtype() == dtype);
      check_close(grid, {2, 2, size[0], size[1]}, expected, 2);
    }
  }
  const auto grid = [](const Variable& theta) { return F::spatial_transformer_grid(theta, {3, 2}); };
  check_gradients(grid, uniform({2, 2, 3}, -1, 1));
  check_gradients(grid, uniform({0, 2, 3}, -1, 1));
  CHECK_THROWS_WITH_AS(F::spatial_transformer_grid(ones({1, 3, 3}, Dtype::float32, test_device()), {2, 2}),
                       "F::spatial_transformer_grid: theta has shape (1, 3, 3): theta.shape[1] must equal 2 (3 != 2)",
                       TypeError);
  CHECK_THROWS_AS(F::spatial_transformer_grid(int_ones({1, 2, 3}), {2, 2}), TypeError);
  CHECK_THROWS_WITH_AS(
      F::spatial_transformer_grid(ones({1, 2, 3}, Dtype::float32, test_device()), {2, 0}),
      "F::spatial_transformer_grid: output_shape is (2, 0): it must be a positive height and a positive width",
      ValueError);
}

TEST_CASE("spatial_transformer_sampler reads the image itself through the identity's grid") {
  const Array theta = array<double>({1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0}, {2, 2, 3}, test_device());
  for (const Dtype dtype : kFloatingDtypes) {
    const Array x = uniform({2, 3, 4, 5}, -1, 1).astype(dtype);
    const Variable grid = F::spatial_transformer_grid(theta.astype(dtype), {4, 5});
    const Variable y = F::spatial_transformer_sampler(x.channels_last(), grid);
    CHECK(y.dtype() == dtype);
    // A grid of half numbers is off by their rounding, times at most 4 pixels.
    check_close(y, x.shape(), x.to_vector<double>(), is_half(dtype) ? 4 : 20);
  }
  // The same image turned by 180 degrees.
  const Array turned = array<double>({-1, 0, 0, 0, -1, 0}, {1, 2, 3}, test_device()), x = uniform({1, 1, 2, 3}, -1, 1);
  std::vector<double> expected = x.to_vector<double>();
  std::reverse(expected.begin(), expected.end());
  check_close(F::spatial_transformer_sampler(x, F::spatial_transformer_grid(turned, {2, 3})), x.shape(), expected, 10);
}

TEST_CASE("spatial_transformer_sampler's gradients") {
  // A little further than the image, and half a pixel outside of it.
  check_gradients(F::spatial_transformer_sampler, uniform({2, 3, 4, 3}, -1, 1), uniform({2, 2, 3, 2}, -1.3, 1.3, 4));
  CHECK_THROWS_WITH_AS(
      F::spatial_transformer_sampler(ones({1, 1, 2, 2}, Dtype::float32, test_device()),
                                     ones({1, 2, 2, 2}, Dtype::float64, test_device())),
      "F::spatial_transformer_sampler: grid has dtype float64 but x has dtype float32: grid.dtype must "
      "equal x.dtype (float64 != float32)",
      TypeError);
  CHECK_THROWS_AS(F::spatial_transformer_sampler(ones({2, 1, 2, 2}, Dtype::float32, test_device()),
                                                 ones({1, 2, 2, 2}, Dtype::float32, test_device())),
                  TypeError);
}

}  // namespace
}  // namespace kusari
