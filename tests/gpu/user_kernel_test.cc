#include "kusari/framework/kernels/user/user_kernel.h"

#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/error.h"
#include "kusari/tests/gpu/testing.h"

namespace kusari {
namespace {

std::vector<double> squared_difference(const Array& x, const Array& y) {
  std::vector<double> a = x.to_vector<double>();
  const std::vector<double> b = y.to_vector<double>();
  for (size_t i = 0; i < a.size(); ++i) a[i] = (a[i] - b[i]) * (a[i] - b[i]);
  return a;
}

TEST_CASE("user kernels: elementwise over dtypes, layouts and broadcasting") {
  const auto found = testing::gpu_device();
  if (!found) return;
  const Device device = *found;
  const auto kernel = cuda::elementwise("T x, T y", "T z", "z = (x - y) * (x - y)", "squared_difference");
  for (const Dtype dtype :
       {Dtype::int32, Dtype::int64, Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64}) {
    CAPTURE(name(dtype));
    const Array x = arange(24, Dtype::float64).reshape({2, 3, 4}).astype(dtype).to_device(device);
    const Array y = arange(4, Dtype::float64).astype(dtype).to_device(device);
    const Array z = kernel(x, y);
    CHECK(z.dtype() == dtype);
    CHECK(z.shape() == x.shape());
    CHECK(z.to_vector<double>() == squared_difference(x, y.broadcast_to(x.shape())));
    const Array turned = kernel(x.transpose(), x.transpose());
    CHECK(turned.shape() == Shape{4, 3, 2});
    CHECK(turned.to_vector<double>() == std::vector<double>(24, 0.0));
  }
  const Array image = arange(2 * 3 * 4 * 5, Dtype::float32, device).reshape({2, 3, 4, 5}).channels_last();
  const Array doubled = cuda::elementwise("T x", "T y", "y = x + x", "doubled")(image);
  CHECK(doubled.is_channels_last());
  CHECK(doubled.to_vector<float>()[7] == 14.f);
  CHECK(kernel(zeros({0, 3}, Dtype::float32, device), ones({3}, Dtype::float32, device)).shape() == Shape{0, 3});
}

TEST_CASE("user kernels: numbers, several outputs, raw arrays, the element's place, in place") {
  const auto found = testing::gpu_device();
  if (!found) return;
  const Device device = *found;
  const Array x = array<float>({1, 4, 9, 16}).to_device(device);
  const auto both = cuda::elementwise("T x, float32 scale", "T root, int64 place",
                                      "root = km::sqrt(x) * scale; place = n - i", "both");
  const std::vector<Array> results = both.run({x, 10});
  CHECK(results[0].to_vector<float>() == std::vector<float>{10, 20, 30, 40});
  CHECK(results[1].to_vector<int64_t>() == std::vector<int64_t>{4, 3, 2, 1});

  const Array table = array<float>({5, 6, 7, 8, 9, 10}, {2, 3}).to_device(device).transpose();  // C order: 5 8 6 9 7 10
  const auto gather = cuda::elementwise("int64 k, raw T table", "T y", "y = table[k] + T(table.size())", "gather");
  CHECK(gather(array<int64_t>({0, 1, 5}).to_device(device), table).to_vector<float>() ==
        std::vector<float>{11, 14, 16});

  const auto add = cuda::elementwise("T x", "T total", "total += x", "add_to");
  const Array total = ones({4}, Dtype::float32, device);
  add.run_to({total}, {x});
  CHECK(total.to_vector<float>() == std::vector<float>{2, 5, 10, 17});

  // In C order whatever the order in memory.
  const auto number = cuda::elementwise("", "float32 y", "y = i", "number");
  const Array turned = empty({3, 2}, Dtype::float32, device).transpose();
  number.run_to({turned}, {});
  CHECK(turned.to_vector<float>() == std::vector<float>{0, 1, 2, 3, 4, 5});
}

TEST_CASE("user kernels: reductions over axes") {
  const auto found = testing::gpu_device();
  if (!found) return;
  const Device device = *found;
  const auto norm = cuda::reduce("T x", "T y", "x * x", "a + b", "y = km::sqrt(a)", "0", "l2_norm");
  const Array x = arange(24, Dtype::float32, device).reshape({2, 3, 4});
  const std::vector<float> values = x.to_vector<float>();
  const int64_t axes[] = {0, -1};
  const Array y = norm.run({x}, axes)[0];
  REQUIRE(y.shape() == Shape{3});
  for (size_t row = 0; row < 3; ++row) {
    double sum = 0;
    for (size_t i = 0; i < 2; ++i) {
      for (size_t k = 0; k < 4; ++k) sum += std::pow(values[i * 12 + row * 4 + k], 2);
    }
    CHECK(y.to_vector<float>()[row] == doctest::Approx(std::sqrt(sum)));
  }
  CHECK(norm.run({x.transpose()}, axes, true)[0].shape() == Shape{1, 3, 1});
  CHECK(norm(ones({100, 100}, Dtype::float16, device)).item<float>() == doctest::Approx(100));
  const auto largest = cuda::reduce("T x, float32 w", "T y, int32 count", "x * w", "km::max(a, b)",
                                    "y = T(a); count = 7", "-1e30", "largest");
  const std::vector<Array> results = largest.run({x, 2.0});
  CHECK(results[0].item<float>() == 46.f);
  CHECK(results[1].item<int32_t>() == 7);
}

TEST_CASE("user kernels: raw code with its own geometry, shared memory and parameters") {
  const auto found = testing::gpu_device();
  if (!found) return;
  const Device device = *found;
  struct Pair {
    float a;
    double b;
  };
  const auto kernel = cuda::raw(R"(
struct Pair { float a; double b; };
extern "C" __global__ void blockwise(const float* x, float* y, int n, Pair pair) {
  __shared__ float tile[64];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < n ? x[i] : 0.f;
  __syncthreads();
  if (i < n) y[i] = tile[blockDim.x - 1 - threadIdx.x] * pair.a + float(pair.b);
})",
                                "blockwise");
  const Array x = arange(128, Dtype::float32, device), y = zeros({128}, Dtype::float32, device);
  kernel({2}, {64}, {x, y, 128, Pair{2.f, 0.5}});
  const std::vector<float> values = y.to_vector<float>();
  CHECK(values[0] == 126.5f);
  CHECK(values[127] == 128.5f);
}

TEST_CASE("user kernels: more shared memory than any kernel has") {
  const auto found = testing::gpu_device();
  if (!found) return;
  const auto kernel = cuda::raw(R"(
#if defined(KUSARI_CUDA_EMULATED)
#define DYNAMIC(name) KUSARI_DYNAMIC_SHARED(float, name)
#else
#define DYNAMIC(name) extern __shared__ float name[]
#endif
extern "C" __global__ void turn_around(const float* x, float* y, int n) {
  DYNAMIC(tile);
  for (int i = threadIdx.x; i < n; i += blockDim.x) tile[i] = x[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = tile[n - 1 - i];
})",
                                "turn_around");
  constexpr int64_t kSize = 20000;
  const Array x = arange(kSize, Dtype::float32, *found), y = zeros({kSize}, Dtype::float32, *found);
  kernel({1}, {128}, {x, y, static_cast<int>(kSize)}, kSize * sizeof(float));
  CHECK(y.to_vector<float>() == x.slice(0, kSize - 1, kSize, -1).to_vector<float>());
  // More than the card has.
  CHECK_THROWS_AS(kernel({1}, {128}, {x, y, static_cast<int>(kSize)}, size_t{1} << 20), DeviceError);
  CHECK(x.copy().to_vector<float>() == x.to_vector<float>());
}

TEST_CASE("user kernels: errors") {
  const auto kernel = cuda::elementwise("T x, T y", "T z", "z = x + y", "sum2");
  const Array x = ones({2}), wide = ones({2}, Dtype::float64);
  CHECK_THROWS_WITH_AS(kernel(x), "sum2: takes 2 arguments but 1 came", TypeError);
  CHECK_THROWS_WITH_AS(kernel(x, wide), "sum2: y has dtype float64 but T is float32 because of x", TypeError);
  CHECK_THROWS_WITH_AS(kernel(x, ones({3})), "sum2: y has shape (3,) which does not broadcast with the others' (2,)",
                       TypeError);
  CHECK_THROWS_AS(kernel(x, x), DeviceError);  // the CPU compiles no text
  CHECK_THROWS_WITH_AS(kernel(1, 2), "sum2: nothing says how many elements there are; give the outputs", ValueError);
  CHECK_THROWS_WITH_AS(
      cuda::elementwise("float33 x", "T z", "z = x"),
      "elementwise: parameter 'float33 x' must be [raw] TYPE NAME, TYPE being a dtype's name or one capital letter",
      ValueError);
  CHECK_THROWS_WITH_AS(cuda::elementwise("T x, T x", "T z", "z = x"), "elementwise: two parameters are called x",
                       ValueError);
  CHECK_THROWS_WITH_AS(cuda::elementwise("T x", "", "x"), "elementwise: there is no output", ValueError);
  CHECK_THROWS_WITH_AS(cuda::elementwise("T x", "U z", "z = x")(x),
                       "elementwise: no argument says which dtype U of z is", TypeError);
  CHECK_THROWS_AS(cuda::raw("", "not a name"), ValueError);
  const auto found = testing::gpu_device();
  if (!found) return;
  const Device device = *found;
  CHECK_THROWS_WITH_AS(kernel(x.to_device(device), x), "sum2: y is on cpu but an earlier argument on cuda:0",
                       DeviceError);
  const auto broken = cuda::elementwise("T x", "T z", "z = no_such_function(x)", "broken");
  CHECK_THROWS_AS(broken(x.to_device(device)), Error);
}

}  // namespace
}  // namespace kusari
