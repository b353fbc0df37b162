#include "kusari/framework/kernels/normalization.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/pointwise.h"
#include "testing.h"

using namespace kusari;
using namespace kusari::testing;

namespace {

Dtype arithmetic(const Array& x, const Array& gamma) {
  return x.dtype() == Dtype::float64 || gamma.dtype() == Dtype::float64 ? Dtype::float64 : Dtype::float32;
}

/// y, mean and inv_std, the statistics in the type of the arithmetic so that they are compared as closely as it is.
std::vector<Array> normalized(const Array& x, const Array& gamma, const Array& beta, int64_t groups) {
  const Array y = empty_like(x), mean = empty({x.shape()[0], groups}, Dtype::float64, x.device());
  const Array inv_std = empty_like(mean);
  launch<kernels::GroupNormalization>(x.device(), kernels::GroupNormalizationOptions{groups, 1e-5}, x, gamma, beta, y,
                                      mean, inv_std);
  const Dtype dtype = arithmetic(x, gamma);
  return {y, mean.astype(dtype), inv_std.astype(dtype)};
}

std::vector<Array> normalization_gradients(const Array& x, const Array& gamma, const Array& gy, const Array& mean,
                                           const Array& inv_std, int64_t groups, int wanted) {
  const Dtype dtype = arithmetic(x, gamma);
  const Array gx = wanted & 1 ? empty_like(x) : Array();
  const Array ggamma = wanted & 2 ? empty(gamma.shape(), dtype, x.device()) : Array();
  const Array gbeta = wanted & 4 ? empty(gamma.shape(), dtype, x.device()) : Array();
  launch<kernels::GroupNormalizationGrad>(x.device(), kernels::GroupNormalizationOptions{groups, 1e-5}, x, gamma, mean,
                                          inv_std, gy, gx, ggamma, gbeta);
  return {gx, ggamma, gbeta};
}

void check_groups(const Device& device, const Array& x, const Array& gy, int64_t groups, Dtype parameters,
                  int wanted = 7) {
  const int64_t channels = x.shape()[1];
  const Array gamma = uniform_array({channels}, 0.5, 1.5, parameters, 3);
  const Array beta = uniform_array({channels}, -1, 1, parameters, 4);
  check_on_gpu(
      device, [&](const Array& a, const Array& b, const Array& c) { return normalized(a, b, c, groups); }, 20, x, gamma,
      beta);
  const Array mean = empty({x.shape()[0], groups}, Dtype::float64), inv_std = empty_like(mean);
  launch<kernels::GroupNormalization>(x.device(), kernels::GroupNormalizationOptions{groups, 1e-5}, x, gamma, beta,
                                      empty_like(x), mean, inv_std);
  check_on_gpu(
      device,
      [&](const Array& a, const Array& b, const Array& c, const Array& d, const Array& e) {
        return normalization_gradients(a, b, c, d, e, groups, wanted);
      },
      50, x, gamma, gy, mean, inv_std);
}

/// y and 1 / root mean square, and the gradients that are wanted.
void check_root_mean_squares(const Device& device, const Array& x, const Array& gy, Dtype parameters, int wanted = 3) {
  const Array gamma = uniform_array({x.shape()[1]}, 0.5, 1.5, parameters, 3);
  const Dtype wide = arithmetic(x, gamma);
  check_on_gpu(
      device,
      [&](const Array& a, const Array& b, const Array& g) {
        const Array y = empty_like(a), inv_rms = empty({a.shape()[0]}, Dtype::float64, a.device());
        launch<kernels::RmsNormalization>(a.device(), 1e-3, a, b, y, inv_rms);
        const Array gx = wanted & 1 ? empty_like(a) : Array();
        const Array ggamma = wanted & 2 ? empty(b.shape(), wide, a.device()) : Array();
        launch<kernels::RmsNormalizationGrad>(a.device(), a, b, inv_rms, g, gx, ggamma);
        return std::vector<Array>{y, inv_rms.astype(wide), gx, ggamma};
      },
      50, x, gamma, gy);
}

template <class K, class Options>
Array unary(const Options& options, const Array& x) {
  const Array y = empty_like(x);
  launch<K>(x.device(), options, x, y);
  return y;
}
template <class K, class Options>
Array binary(const Options& options, const Array& x, const Array& gy) {
  const Array gx = empty_like(x);
  launch<K>(x.device(), options, x, gy, gx);
  return gx;
}

}  // namespace

TEST_CASE("cuda group normalization: groups, layouts and dtypes") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : kFloatingDtypes) {
    for (const Layout layout : kLayouts) {
      for (const int64_t groups : {1, 2, 8}) {
        CAPTURE(name(dtype));
        CAPTURE(static_cast<int>(layout));
        CAPTURE(groups);
        for (const Shape& shape : {Shape{3, 8, 4, 4}, Shape{2, 8, 3, 5}, Shape{5, 8}}) {
          CAPTURE(shape);
          if (shape.ndim() == 2 && groups == 8) continue;  // nothing is left of a single element
          const Array x = in_layout(uniform_array(shape, -1, 3, dtype), layout);
          check_groups(*device, x, in_layout(uniform_array(shape, -1, 1, dtype, 2), layout), groups, dtype);
          if (layout == Layout::contiguous && is_half(dtype)) {
            check_groups(*device, x, uniform_array(shape, -1, 1, dtype, 2), groups, Dtype::float32);
          }
        }
      }
    }
  }
}

TEST_CASE("cuda group normalization: rows of all lengths, groups in several parts") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : {Dtype::float32, Dtype::float16}) {
    for (const int64_t n : {2, 31, 32, 33, 768, 1000, 1024, 4097}) {
      CAPTURE(name(dtype));
      CAPTURE(n);
      check_groups(*device, uniform_array({3, n}, -1, 1, dtype), uniform_array({3, n}, -1, 1, dtype, 2), 1, dtype);
    }
    const Shape large{1, 4, 160, 160};
    for (const Layout layout : {Layout::contiguous, Layout::channels_last}) {
      for (const int64_t groups : {1, 2}) {
        check_groups(*device, in_layout(uniform_array(large, -1, 1, dtype), layout),
                     in_layout(uniform_array(large, -1, 1, dtype, 2), layout), groups, dtype);
      }
    }
    check_groups(*device, uniform_array({300, 5}, -1, 1, dtype), uniform_array({300, 5}, -1, 1, dtype, 2), 1, dtype);
  }
}

TEST_CASE("cuda root mean square normalization: rows of all lengths, layouts and dtypes") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : kFloatingDtypes) {
    CAPTURE(name(dtype));
    for (const int64_t n : {1, 2, 31, 32, 288, 1000, 4097}) {
      CAPTURE(n);
      for (const Layout layout : kLayouts) {
        CAPTURE(static_cast<int>(layout));
        check_root_mean_squares(*device, in_layout(uniform_array({3, n}, -1, 3, dtype), layout),
                                in_layout(uniform_array({3, n}, -1, 1, dtype, 2), layout), dtype);
      }
    }
    const Array x = uniform_array({300, 8}, -1, 1, dtype), gy = uniform_array({300, 8}, -1, 1, dtype, 2);
    for (int wanted = 0; wanted < 4; ++wanted) check_root_mean_squares(*device, x, gy, dtype, wanted);
    check_root_mean_squares(*device, x, gy, Dtype::float32);
    check_root_mean_squares(*device, uniform_array({2, 40000}, -1, 1, dtype), uniform_array({2, 40000}, -1, 1, dtype),
                            dtype);
    check_root_mean_squares(*device, uniform_array({0, 8}, -1, 1, dtype), uniform_array({0, 8}, -1, 1, dtype), dtype);
  }
}

TEST_CASE("cuda group normalization: gradients that nobody wants, no examples, and a large mean") {
  const auto device = gpu_device();
  if (!device) return;
  for (int wanted = 0; wanted < 8; ++wanted) {
    check_groups(*device, uniform_array({3, 8, 4, 4}, -1, 1), uniform_array({3, 8, 4, 4}, -1, 1, Dtype::float32, 2), 2,
                 Dtype::float32, wanted);
  }
  check_groups(*device, zeros({0, 8, 4, 4}), zeros({0, 8, 4, 4}), 2, Dtype::float32);
  check_groups(*device, uniform_array({2, 4, 5, 5}, 9999, 10001), uniform_array({2, 4, 5, 5}, -1, 1), 2, Dtype::float32,
               1);
  check_groups(*device, uniform_array({2, 4, 5, 5}, -1, 1), uniform_array({2, 4, 5, 5}, -1, 1), 2, Dtype::float64);
}

// The results are those of numbers of any size; their gradients are divided by it.
TEST_CASE("cuda normalizations: squares beyond the range of float32") {
  const auto device = gpu_device();
  if (!device) return;
  const auto gradients = [&](const Array& x, const Array& gy, double size) {
    const int64_t rows = x.shape()[0], n = x.shape()[1];
    const Array gamma = full({n}, 2, x.dtype(), *device), beta = zeros({n}, x.dtype(), *device), y = empty_like(x);
    const Array mean = empty({rows, 1}, Dtype::float64, *device), inv = empty_like(mean), gx = empty_like(x);
    std::vector<double> all;
    const auto add = [&](const Array& some, double factor) {
      for (const double value : some.to_vector<double>()) all.push_back(value * factor);
    };
    launch<kernels::GroupNormalization>(*device, kernels::GroupNormalizationOptions{1, 0}, x, gamma, beta, y, mean,
                                        inv);
    launch<kernels::GroupNormalizationGrad>(*device, kernels::GroupNormalizationOptions{1, 0}, x, gamma, mean, inv, gy,
                                            gx, Array(), Array());
    add(y, 1);
    add(gx, size);
    const Array inv_rms = empty({rows}, Dtype::float64, *device);
    launch<kernels::RmsNormalization>(*device, 0.0, x, gamma, y, inv_rms);
    launch<kernels::RmsNormalizationGrad>(*device, x, gamma, inv_rms, gy, gx, Array());
    add(y, 1);
    add(gx, size);
    const kernels::L2NormalizationOptions vectors{0, AxisMask::of(1)};
    add(unary<kernels::L2Normalization>(vectors, x), 1);
    add(binary<kernels::L2NormalizationGrad>(vectors, x, gy), size);
    return all;
  };
  for (const int64_t n : {4, 33, 1000, 40000}) {
    CAPTURE(n);
    const Array x = uniform_array({2, n}, -2, 2), gy = uniform_array({2, n}, -1, 1, Dtype::float32, 2);
    const Array large = full(x.shape(), 0x1p+100, Dtype::float32);
    pointwise_to(large, kernels::Mul{}, large, x);
    const std::vector<double> found = gradients(large.to_device(*device), gy.to_device(*device), 0x1p+100);
    const std::vector<double> expected =
        gradients(x.astype(Dtype::float64).to_device(*device), gy.astype(Dtype::float64).to_device(*device), 1);
    int64_t wrong = 0;
    for (size_t i = 0; i < found.size(); ++i) {
      wrong += std::abs(found[i] - expected[i]) <= 1e-5 * (1 + std::abs(expected[i])) ? 0 : 1;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("cuda l2 normalization: axes, layouts and dtypes") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : kFloatingDtypes) {
    for (const Layout layout : kLayouts) {
      for (const Shape& shape : {Shape{3, 8, 4, 5}, Shape{2, 200, 3, 3}}) {
        const Array x = in_layout(uniform_array(shape, -1, 1, dtype), layout);
        const Array gy = uniform_array(shape, -1, 1, dtype, 2);
        for (uint32_t axes = 1; axes < 16; ++axes) {
          CAPTURE(name(dtype));
          CAPTURE(static_cast<int>(layout));
          CAPTURE(axes);
          const kernels::L2NormalizationOptions options{1e-5, {axes}};
          check_on_gpu(
              *device, [&](const Array& a) { return unary<kernels::L2Normalization>(options, a); }, 8, x);
          check_on_gpu(
              *device,
              [&](const Array& a, const Array& b) { return binary<kernels::L2NormalizationGrad>(options, a, b); }, 8, x,
              gy);
        }
      }
    }
    const kernels::L2NormalizationOptions rows{1e-5, AxisMask::of(1)};
    check_on_gpu(
        *device, [&](const Array& a) { return binary<kernels::L2NormalizationGrad>(rows, a, a); }, 8,
        zeros({2, 3}, dtype));
    check_on_gpu(
        *device, [&](const Array& a) { return unary<kernels::L2Normalization>(rows, a); }, 20,
        uniform_array({1, 70000}, -1, 1, dtype));
  }
}

TEST_CASE("cuda local response normalization: windows, layouts and dtypes") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : kFloatingDtypes) {
    for (const Layout layout : kLayouts) {
      const Array x = in_layout(uniform_array({2, 9, 3, 5}, -2, 2, dtype), layout);
      const Array gy = uniform_array({2, 9, 3, 5}, -1, 1, dtype, 2);
      for (const int64_t reach : {0, 2, 50}) {
        for (const double beta : {0.75, 0.5}) {
          CAPTURE(name(dtype));
          CAPTURE(static_cast<int>(layout));
          CAPTURE(reach);
          const kernels::LocalResponseNormalizationOptions options{reach, 2, 0.1, beta};
          check_on_gpu(
              *device, [&](const Array& a) { return unary<kernels::LocalResponseNormalization>(options, a); }, 8, x);
          check_on_gpu(
              *device,
              [&](const Array& a, const Array& b) {
                return binary<kernels::LocalResponseNormalizationGrad>(options, a, b);
              },
              8, x, gy);
        }
      }
    }
  }
}
