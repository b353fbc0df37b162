#pragma once

#include <cmath>
#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/config.h"
#include "kusari/tests/skip.h"
#include "kusari/tests/uniform_array.h"

// What the tests of the CUDA backend share. They run on cuda:0, a card or the emulated device.
namespace kusari::testing {

inline constexpr Dtype kFloatingDtypes[] = {Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64};
inline constexpr Dtype kDtypes[] = {Dtype::bool_,   Dtype::uint8,    Dtype::int8,    Dtype::int32,  Dtype::int64,
                                    Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64};

/// cuda:<index>, or nothing, in which case the test returns at once: if (!device) return; Products of float32 are
/// computed as the CPU computes them from then on, without TF32.
inline std::optional<Device> gpu_device(int index = 0) {
  global_config().use_tf32 = false;
  if (index < cuda::device_count()) return get_device("cuda:" + std::to_string(index));
  skip("no CUDA device " + std::to_string(index));
  return std::nullopt;
}

/// How an array may lie in memory.
enum class Layout { contiguous, channels_last, transposed, every_second, reversed, broadcast };
inline constexpr Layout kLayouts[] = {Layout::contiguous,   Layout::channels_last, Layout::transposed,
                                      Layout::every_second, Layout::reversed,      Layout::broadcast};
/// Layouts that a kernel may write to.
inline constexpr Layout kWritableLayouts[] = {Layout::contiguous, Layout::channels_last, Layout::transposed,
                                              Layout::every_second, Layout::reversed};

/// The elements in another order in memory. every_second: with gaps along the last axis; reversed: the last axis runs
/// backwards; broadcast: the first axis repeats its first element (so the elements do change). Layouts that the number
/// of axes does not allow give C order.
inline Array in_layout(const Array& x, Layout layout) {
  const Array y = x.contiguous();
  const int64_t last = y.ndim() - 1;
  switch (layout) {
    case Layout::channels_last:
      if (y.ndim() >= 3) {
        const Array z = empty_channels_last(y.shape(), y.dtype(), y.device());
        z.copy_from(y);
        return z;
      }
      return y;
    case Layout::transposed:
      return y.transpose().contiguous().transpose();
    case Layout::every_second: {
      if (y.ndim() == 0) return y;
      Shape wide = y.shape();
      wide[static_cast<int>(last)] *= 2;
      const Array z = zeros(wide, y.dtype(), y.device()).slice(last, 0, y.shape(last), 2);
      z.copy_from(y);
      return z;
    }
    case Layout::reversed: {
      if (y.ndim() == 0 || y.size() == 0) return y;
      const Array z = empty(y.shape(), y.dtype(), y.device()).slice(last, y.shape(last) - 1, y.shape(last), -1);
      z.copy_from(y);
      return z;
    }
    case Layout::broadcast:
      return y.ndim() == 0 || y.size() == 0 ? y : y.slice(0, 0, 1).broadcast_to(y.shape());
    default:
      return y;
  }
}

/// An array that a kernel is to overwrite, in a layout that it may write to.
inline Array result_like(const Array& x, const Shape& shape, Dtype dtype, Layout layout) {
  return in_layout(full(shape, 1, dtype, x.device()), layout == Layout::broadcast ? Layout::contiguous : layout);
}

/// Page-locked memory of n elements that are `value`.
inline Array full_pinned(int64_t n, int32_t value, const Device& device) {
  const Array x = empty_pinned({n}, Dtype::int32, device);
  x.fill(value);
  return x;
}

inline bool is_full(const Array& x, int32_t value) {
  return x.to_vector<int32_t>() == std::vector<int32_t>(static_cast<size_t>(x.size()), value);
}

/// Tolerance of a GPU result against the CPU's, relative, and absolute for values near 1.
inline double gpu_tolerance(Dtype dtype) {
  switch (dtype) {
    case Dtype::float16:
      return 2e-3;
    case Dtype::bfloat16:
      return 1.6e-2;
    case Dtype::float32:
      return 4e-6;
    case Dtype::float64:
      return 1e-13;
    default:
      return 0;
  }
}

/// Equal dtypes and shapes, and values within `factor` tolerances of the dtype; integers must be equal. NaN equals NaN.
/// Names the first element that differs and how many do.
inline void check_same(const Array& gpu, const Array& cpu, double factor = 1) {
  REQUIRE(gpu.dtype() == cpu.dtype());
  REQUIRE(gpu.shape() == cpu.shape());
  int64_t wrong = 0;
  std::string first;
  const auto mark = [&](size_t i, auto a, auto b) {
    if (wrong++ == 0) {
      first = "element " + std::to_string(i) + " of " + to_string(cpu.shape()) + " is " + std::to_string(a) + ", not " +
              std::to_string(b);
    }
  };
  if (!cpu.is_floating()) {
    const std::vector<int64_t> a = gpu.to_vector<int64_t>(), b = cpu.to_vector<int64_t>();
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i] != b[i]) mark(i, a[i], b[i]);
    }
  } else {
    const std::vector<double> a = gpu.to_vector<double>(), b = cpu.to_vector<double>();
    const double tol = factor * gpu_tolerance(cpu.dtype());
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
      if (!(std::abs(a[i] - b[i]) <= tol * (1 + std::abs(b[i])))) mark(i, a[i], b[i]);
    }
  }
  if (wrong > 0) FAIL_CHECK(wrong, " of ", cpu.size(), " elements differ; ", first);
  CHECK(wrong == 0);
}

/// Arrays on another device that lie in memory as these do: strides, gaps and repetitions included.
inline Array on_device(const Array& x, const Device& device) {
  if (!x.is_defined()) return x;
  // The storage from its lowest to its highest element, moved as a whole.
  int64_t low = 0, high = 0;
  for (int axis = 0; axis < x.ndim(); ++axis) {
    const int64_t reach = (x.shape(axis) - 1) * x.strides()[axis];
    (reach < 0 ? low : high) += reach;
  }
  if (x.size() == 0) return empty(x.shape(), x.dtype(), device);
  const Array range = x.as_strided({high - low + 1}, {1}, low);
  return range.to_device(device).as_strided(x.shape(), x.strides(), -low);
}

/// Runs `compute` with arrays on the CPU and with the same arrays on the device, and compares what it returns (an Array
/// or a container of arrays; undefined ones must be so on both).
template <class Compute, class... Xs>
void check_on_gpu(const Device& device, Compute&& compute, double factor, const Xs&... xs) {
  const auto expected = compute(xs...);
  const auto got = compute(on_device(xs, device)...);
  if constexpr (std::is_same_v<std::remove_cvref_t<decltype(expected)>, Array>) {
    CHECK(got.device() == device);
    check_same(got, expected, factor);
  } else {
    REQUIRE(got.size() == expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      CAPTURE(i);
      REQUIRE(got[i].is_defined() == expected[i].is_defined());
      if (!expected[i].is_defined()) continue;
      CHECK(got[i].device() == device);
      check_same(got[i], expected[i], factor);
    }
  }
}

}  // namespace kusari::testing
