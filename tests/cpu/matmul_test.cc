#include "kusari/framework/kernels/matmul.h"

#include <cmath>
#include <cstring>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/memory.h"
#include "kusari/framework/core/threads.h"

namespace kusari {
namespace {

using kernels::MatmulOptions;

// Small numbers in [-2, 2) that differ from element to element.
Array numbers(const Shape& shape, Dtype dtype = Dtype::float32, uint32_t seed = 1) {
  std::vector<double> values(static_cast<size_t>(numel(shape)));
  for (double& value : values) {
    seed = seed * 1664525 + 1013904223;
    value = static_cast<double>(seed >> 8) / (1 << 22) - 2;
    if (is_integral(dtype)) value = std::floor(value * 3);
  }
  return array(values, shape).astype(dtype);
}

// The definition, in float64, for two axes.
std::vector<double> product(const Array& a, const Array& b, MatmulOptions o, const Array& bias = Array()) {
  const Array x = o.transa ? a.transpose() : a, y = o.transb ? b.transpose() : b;
  const std::vector<double> left = x.to_vector<double>(), right = y.to_vector<double>();
  const std::vector<double> offset = bias.is_defined() ? bias.to_vector<double>() : std::vector<double>();
  const auto m = static_cast<size_t>(x.shape(0)), k = static_cast<size_t>(x.shape(1)),
             n = static_cast<size_t>(y.shape(1));
  std::vector<double> result(m * n);
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < n; ++j) {
      double sum = offset.empty() ? 0 : offset[j];
      for (size_t p = 0; p < k; ++p) sum += left[i * k + p] * right[p * n + j];
      result[i * n + j] = sum;
    }
  }
  return result;
}

void check_near(const std::vector<double>& got, const std::vector<double>& expected, double tolerance) {
  REQUIRE(got.size() == expected.size());
  size_t wrong = 0, last = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::abs(got[i] - expected[i]) <= tolerance) continue;
    ++wrong;
    last = i;
  }
  INFO("the last of them: element ", last, ", ", got[last], " instead of ", expected[last]);
  CHECK(wrong == 0);
}

Array multiply(const Array& a, const Array& b, MatmulOptions options = {}, const Array& bias = Array(),
               Dtype dtype = Dtype::float32) {
  Shape shape = a.shape();
  shape[shape.ndim() - 2] = a.shape(options.transa ? -1 : -2);
  shape[shape.ndim() - 1] = b.shape(options.transb ? -2 : -1);
  const Array c = full(shape, 99, dtype);
  launch<kernels::Matmul>(c.device(), a, b, bias, options, c);
  return c;
}

struct Size {
  int64_t m, n, k;
};

TEST_CASE("matmul agrees with its definition for every transposition, with and without bias") {
  for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
    for (const auto& [m, n, k] : {Size{1, 1, 1},
                                  {2, 3, 4},
                                  {16, 64, 32},
                                  {17, 33, 31},
                                  {5, 10, 300},
                                  {40, 8, 257},
                                  {1, 50, 70},
                                  {50, 1, 70},
                                  {100, 10, 784},
                                  {70, 90, 65},
                                  {130, 150, 520}}) {
      for (const bool transa : {false, true}) {
        for (const bool transb : {false, true}) {
          CAPTURE(name(dtype));
          CAPTURE(m);
          CAPTURE(n);
          CAPTURE(k);
          CAPTURE(transa);
          CAPTURE(transb);
          const Array a = numbers(transa ? Shape{k, m} : Shape{m, k}, dtype, 1);
          const Array b = numbers(transb ? Shape{n, k} : Shape{k, n}, dtype, 2);
          const Array bias = numbers({n}, dtype, 3);
          const double tolerance = static_cast<double>(k) * (dtype == Dtype::float32 ? 1e-6 : 1e-14);
          const MatmulOptions options{transa, transb};
          check_near(multiply(a, b, options, Array(), dtype).to_vector<double>(), product(a, b, options), tolerance);
          check_near(multiply(a, b, options, bias, dtype).to_vector<double>(), product(a, b, options, bias), tolerance);
        }
      }
    }
  }
}

TEST_CASE("matmul reads and writes views") {
  const Array wide = numbers({20, 30, 2});
  const Array a = wide.slice(2, 1, 1).squeeze(2);                         // no unit stride
  const Array b = numbers({40, 60}).slice(0, 39, 30, -1).slice(1, 3, 7);  // rows upwards
  check_near(multiply(a, b).to_vector<double>(), product(a, b, {}), 1e-4);

  const Array row = numbers({1, 30}).broadcast_to({20, 30});
  check_near(multiply(row, b).to_vector<double>(), product(row, b, {}), 1e-4);

  const Array target = zeros({7, 20});
  launch<kernels::Matmul>(target.device(), a, b, Array(), MatmulOptions{}, target.transpose());
  check_near(target.transpose().to_vector<double>(), product(a, b, {}), 1e-4);

  const Array frame = zeros({20, 9});
  launch<kernels::Matmul>(frame.device(), a, b, Array(), MatmulOptions{}, frame.slice(1, 1, 7));
  check_near(frame.slice(1, 1, 7).to_vector<double>(), product(a, b, {}), 1e-4);
  CHECK(frame.slice(1, 0, 1).to_vector<float>() == std::vector<float>(20));
  CHECK(frame.slice(1, 8, 1).to_vector<float>() == std::vector<float>(20));
}

TEST_CASE("matmul broadcasts leading axes") {
  const Array a = numbers({3, 1, 4, 5}), b = numbers({2, 5, 6}, Dtype::float32, 9);
  const Array c = zeros({3, 2, 4, 6});
  launch<kernels::Matmul>(c.device(), a, b, Array(), MatmulOptions{}, c);
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t j = 0; j < 2; ++j) {
      check_near(c.at(i).at(j).to_vector<double>(), product(a.at(i).at(0), b.at(j), {}), 1e-5);
    }
  }
  const Array tall = zeros({3, 1, 4, 7}), right = numbers({5, 7});
  const Array bias = numbers({7}, Dtype::float32, 4);
  launch<kernels::Matmul>(tall.device(), a, right, bias, MatmulOptions{}, tall);
  for (int64_t i = 0; i < 3; ++i) {
    check_near(tall.at(i).at(0).to_vector<double>(), product(a.at(i).at(0), right, {}, bias), 1e-5);
  }
  const Array many = numbers({300, 8, 8}), out = zeros({300, 8, 8});
  launch<kernels::Matmul>(out.device(), many, many, Array(), MatmulOptions{.transa = true}, out);
  check_near(out.at(299).to_vector<double>(), product(many.at(299), many.at(299), {.transa = true}), 1e-4);
}

TEST_CASE("matmul of nothing is the bias") {
  const Array a = zeros({2, 0}), b = zeros({0, 3}), bias = numbers({3});
  CHECK(multiply(a, b).to_vector<float>() == std::vector<float>(6));
  const std::vector<float> row = bias.to_vector<float>();
  CHECK(multiply(a, b, {}, bias).to_vector<float>() ==
        std::vector<float>{row[0], row[1], row[2], row[0], row[1], row[2]});
  CHECK(multiply(zeros({0, 4}), zeros({4, 3})).shape() == Shape{0, 3});
}

TEST_CASE("matmul of integers wraps around") {
  const Array a = numbers({6, 7}, Dtype::int32), b = numbers({7, 5}, Dtype::int32, 5);
  CHECK(multiply(a, b, {}, Array(), Dtype::int32).to_vector<double>() == product(a, b, {}));
  CHECK(multiply(b, a, {true, true}, Array(), Dtype::int64).to_vector<double>() == product(b, a, {true, true}));
  const Array byte = array<uint8_t>({200, 100}, {1, 2}), ones_column = array<uint8_t>({1, 1}, {2, 1});
  CHECK(multiply(byte, ones_column, {}, Array(), Dtype::uint8).item<int>() == (200 + 100) % 256);
  const Array yes = array<int64_t>({1, 1}, {1, 2}).astype(Dtype::bool_);
  CHECK(multiply(yes, yes, {.transb = true}, Array(), Dtype::bool_).item<int>() == 1);
  CHECK(multiply(array<int64_t>({2}, {1, 1}), array<int64_t>({3}, {1, 1}), {}, array<int64_t>({4}), Dtype::int64)
            .item<int>() == 10);
}

TEST_CASE("matmul of half types sums in float32") {
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16}) {
    CAPTURE(name(dtype));
    const Array a = numbers({12, 200}, dtype), b = numbers({9, 200}, dtype, 3), bias = numbers({9}, dtype, 8);
    const std::vector<double> expected = product(a, b, {.transb = true}, bias);
    const std::vector<double> got = multiply(a, b, {.transb = true}, bias, dtype).to_vector<double>();
    // One rounding to the half type: 2^-11 and 2^-8 of values below 64; sums rounded at every step would be far off.
    check_near(got, expected, dtype == Dtype::float16 ? 64.0 / 2048 : 64.0 / 256);
    // 4096 ones and 4096 times 1/4096: a half-precision sum would stop growing.
    const Array ones_row = ones({1, 4096}, dtype);
    CHECK(multiply(ones_row, ones_row, {.transb = true}, Array(), dtype).item<double>() == 4096);
    check_near(multiply(a, b.astype(Dtype::float32), {.transb = true}).to_vector<double>(),
               product(a, b, {.transb = true}), 2e-4);
  }
}

// Sizes around those of panels, tiles and the parts that are packed at a time.
TEST_CASE("matmul of bfloat16 matrices of drawn sizes agrees with its definition") {
  uint32_t seed = 7;
  const auto draw = [&](int64_t most) {
    seed = seed * 1664525 + 1013904223;
    return static_cast<int64_t>(seed >> 8) % most + 1;
  };
  for (int i = 0; i < 60; ++i) {
    const bool is_deep = i % 10 == 0;
    const int64_t m = draw(is_deep ? 40 : 300), n = draw(is_deep ? 40 : 300),
                  k = is_deep ? 2000 + draw(3000) : draw(90);
    const MatmulOptions options{i % 2 == 0, i % 4 < 2};
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(k);
    CAPTURE(i);
    const Array a = numbers(options.transa ? Shape{k, m} : Shape{m, k}, Dtype::bfloat16, seed);
    const Array b = numbers(options.transb ? Shape{n, k} : Shape{k, n}, Dtype::bfloat16, seed + 1);
    const Array bias = i % 3 == 0 ? Array() : numbers({n}, i % 3 == 1 ? Dtype::bfloat16 : Dtype::float32, seed + 2);
    const std::vector<double> expected = product(a, b, options, bias);
    double largest = 0;
    for (const double value : expected) largest = std::max(largest, std::abs(value));
    const double sums_error = static_cast<double>(k) * 1e-6 * std::max(1.0, std::sqrt(static_cast<double>(k)));
    check_near(multiply(a, b, options, bias).to_vector<double>(), expected, sums_error);
    const std::vector<double> rounded = multiply(a, b, options, bias, Dtype::bfloat16).to_vector<double>();
    check_near(rounded, expected, sums_error + largest / 256);
    if (!options.transa) continue;
    for (const Dtype dtype : {Dtype::float32, Dtype::bfloat16}) {
      const Array c = full({m, n}, 99, Dtype::bfloat16), sums = full({m}, 99, dtype);
      launch<kernels::MatmulWithSums>(c.device(), a, b, options, c, sums);
      if (!bias.is_defined()) check_near(c.to_vector<double>(), expected, sums_error + largest / 256);
      const std::vector<double> rows = product(a, ones({k, 1}, Dtype::bfloat16), {.transa = true});
      check_near(sums.to_vector<double>(), rows, sums_error + (dtype == Dtype::float32 ? 0 : 1.5 * std::sqrt(k) / 32));
    }
  }
}

TEST_CASE("matmul with sums of matrices of one row") {
  for (const Dtype dtype : {Dtype::float32, Dtype::bfloat16}) {
    const Array a = numbers({1, 32}, dtype, 5), b = numbers({1, 64}, dtype, 6);
    const Array c = full({32, 64}, 99, dtype), sums = full({32}, 99, dtype);
    launch<kernels::MatmulWithSums>(c.device(), a, b, MatmulOptions{.transa = true}, c, sums);
    check_near(sums.to_vector<double>(), a.to_vector<double>(), 0);
    check_near(c.to_vector<double>(), product(a, b, {.transa = true}), 0.01);
  }
}

// What generating a text spends its time on.
TEST_CASE("matmul of one row and weights of any width") {
  for (const Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::float16, Dtype::bfloat16}) {
    for (const int64_t k : {1, 7, 15, 16, 33, 63, 64, 65, 131, 800}) {
      for (const int64_t n : {1, 3, 300}) {
        for (const Dtype row : {dtype, Dtype::float32}) {
          CAPTURE(name(dtype));
          CAPTURE(k);
          CAPTURE(n);
          const Array a = numbers({1, k}, row, 2), w = numbers({n, k}, dtype, 3), bias = numbers({n}, row, 4);
          const MatmulOptions transposed{.transb = true};
          const double scale = static_cast<double>(k + 4);
          for (const Array& b : {Array(), bias}) {
            const auto expected = product(a, w, transposed, b);
            check_near(multiply(a, w, transposed, b, promote(row, dtype)).to_vector<double>(), expected,
                       scale * (dtype == Dtype::float64   ? 1e-14
                                : row == Dtype::float32   ? 1e-6
                                : dtype == Dtype::float16 ? 2e-3
                                                          : 2e-2));
            check_near(multiply(a, w, transposed, b).to_vector<double>(), expected, scale * 1e-6);
          }
        }
      }
    }
  }
}

TEST_CASE("matmul of one row and narrow weights gives the same bits whatever the number of threads") {
  const int threads = num_threads();
  for (const Dtype dtype : {Dtype::float32, Dtype::float16, Dtype::bfloat16}) {
    const Array a = numbers({1, 700}), w = numbers({1500, 700}, dtype, 3);
    std::vector<float> first;
    for (const int n : {1, 2, 3, 7}) {
      set_num_threads(n);
      const std::vector<float> bits = multiply(a, w, {.transb = true}).to_vector<float>();
      if (first.empty()) first = bits;
      CHECK(std::memcmp(bits.data(), first.data(), bits.size() * sizeof(float)) == 0);
    }
  }
  set_num_threads(threads);
}

TEST_CASE("matmul of vectors whose elements lie apart") {
  for (const Dtype dtype : {Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64}) {
    CAPTURE(name(dtype));
    const Array x = numbers({12, 5}, dtype).slice(1, 2, 1), y = numbers({12, 3}, dtype, 2),
                z = numbers({7, 12}, dtype, 3);
    const double tolerance = dtype == Dtype::bfloat16 ? 0.1 : 0.02;  // one rounding of values below 32
    const MatmulOptions transposed{.transa = true};
    check_near(multiply(x, y, transposed, Array(), dtype).to_vector<double>(), product(x, y, transposed), tolerance);

    const Array frame = full({7, 3}, 99, dtype);
    launch<kernels::Matmul>(frame.device(), z, x, Array(), MatmulOptions{}, frame.slice(1, 1, 1));
    check_near(frame.slice(1, 1, 1).to_vector<double>(), product(z, x, {}), tolerance);
    CHECK(frame.slice(1, 0, 2, 2).to_vector<double>() == std::vector<double>(14, 99));
  }
}

TEST_CASE("matmul gives the same bits whatever the number of threads") {
  struct Product {
    int64_t m, n, k;
    MatmulOptions options;
  };
  const int before = num_threads();
  // The MNIST model's products at batch 100 (forward, gradients of weights and inputs), then deep and large ones.
  for (const auto& [m, n, k, options] : {Product{100, 1000, 784, {false, true}},
                                         {100, 1000, 1000, {false, true}},
                                         {100, 10, 1000, {false, true}},
                                         {1000, 784, 100, {true, false}},
                                         {1000, 1000, 100, {true, false}},
                                         {10, 1000, 100, {true, false}},
                                         {100, 1000, 10, {false, false}},
                                         {100, 1000, 1000, {false, false}},
                                         {64, 64, 10000, {true, false}},
                                         {1, 1024, 1024, {false, true}},
                                         {64, 3000, 3000, {false, true}},
                                         {512, 512, 512, {false, false}}}) {
    for (const Dtype dtype : {Dtype::float32, Dtype::bfloat16, Dtype::float64}) {
      CAPTURE(m);
      CAPTURE(n);
      CAPTURE(k);
      CAPTURE(name(dtype));
      const Array a = numbers(options.transa ? Shape{k, m} : Shape{m, k}, dtype);
      const Array b = numbers(options.transb ? Shape{n, k} : Shape{k, n}, dtype, 2);
      set_num_threads(1);
      const Array single = multiply(a, b, options, Array(), dtype);
      for (const int threads : {2, 3}) {
        set_num_threads(threads);
        const Array several = multiply(a, b, options, Array(), dtype);
        CHECK(std::memcmp(single.raw_data(), several.raw_data(), static_cast<size_t>(single.nbytes())) == 0);
      }
    }
  }
  set_num_threads(before);
}

TEST_CASE("matmul asks the system for no memory once it has run") {
  const auto system_allocations = [] { return memory::statistics().system_allocations; };
  memory::deallocate(memory::allocate(1), 1);
  int64_t before = system_allocations();
  memory::deallocate(memory::allocate(1), 1);
  if (system_allocations() != before) return;  // without the pool (AddressSanitizer) blocks are not kept

  const Array a = numbers({100, 784}), b = numbers({1000, 784});
  const auto run = [&] { multiply(a, b, {.transb = true}); };
  run();
  run();
  before = system_allocations();
  for (int i = 0; i < 5; ++i) run();
  CHECK(system_allocations() == before);
}

}  // namespace
}  // namespace kusari
