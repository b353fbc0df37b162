// Products of bfloat16 matrices. Linked to the objects themselves: the library hides them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "kusari/framework/cpu/isa/bfloat16_gemm.h"
#include "kusari/framework/kernels/half.h"
#include "kusari/tests/cpu/skip_below.h"

#if defined(__x86_64__)

using namespace kusari::cpu;
namespace km = kusari::km;

namespace {

using Bits = unsigned short;

size_t index(int64_t i) { return static_cast<size_t>(i); }

std::vector<Bits> bfloat16_noise(int64_t n, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<Bits> values(index(n));
  for (Bits& value : values) value = km::bfloat16_from_float(normal(generator));
  return values;
}

struct GemmSizes {
  int64_t m, n, k;
};
constexpr GemmSizes kGemmSizes[] = {{1, 1, 1},    {1, 32, 2},    {3, 33, 5},     {12, 64, 64},
                                    {13, 31, 7},  {25, 96, 511}, {8, 17, 512},   {7, 40, 513},
                                    {31, 65, 33}, {64, 32, 16},  {5, 160, 1100}, {2, 3, 0}};

// Every sum is off by one rounding for each product and addition at most, and the first of them adds to c.
void check_product(const GemmSizes& s, const std::vector<Bits>& a, const std::vector<Bits>& b,
                   const std::vector<float>& before, const std::vector<float>& c, int64_t c_row) {
  int64_t wrong = 0;
  for (int64_t i = 0; i < s.m; ++i) {
    for (int64_t j = 0; j < c_row; ++j) {
      const float old = before[index(i * c_row + j)], got = c[index(i * c_row + j)];
      if (j >= s.n) {
        wrong += got != 777;  // not written
        continue;
      }
      double exact = old, magnitude = std::abs(old);
      for (int64_t p = 0; p < s.k; ++p) {
        const double product = static_cast<double>(km::float_from_bfloat16(a[index(i * s.k + p)])) *
                               km::float_from_bfloat16(b[index(p * s.n + j)]);
        exact += product;
        magnitude += std::abs(product);
      }
      wrong += !(std::abs(got - exact) <= 0x1p-24 * 2 * static_cast<double>(s.k) * magnitude);
    }
  }
  CHECK(wrong == 0);
}

std::vector<Bits> transposed_bits(const std::vector<Bits>& a, int64_t rows, int64_t columns) {
  std::vector<Bits> result(a.size());
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) result[index(j * rows + i)] = a[index(i * columns + j)];
  }
  return result;
}

std::vector<Bits> packed(const std::vector<Bits>& b, int64_t k, int64_t n, bool is_transposed) {
  std::vector<Bits> result(index(bfloat16_packed_size(k, n)), Bits{0x7fc0});  // NaN where nothing is written
  const std::vector<Bits> turned = is_transposed ? transposed_bits(b, k, n) : b;
  v4_bf16::bfloat16_gemm_loops()->pack(turned.data(), is_transposed ? 1 : n, is_transposed ? k : 1, k, n,
                                       result.data());
  return result;
}

}  // namespace

TEST_CASE("isa: products of bfloat16 matrices" * doctest::test_suite("needs AVX512_BF16")) {
  KUSARI_SKIP_BELOW(v4_bf16);
  const Bfloat16GemmLoops& loops = *v4_bf16::bfloat16_gemm_loops();
  for (const GemmSizes& s : kGemmSizes) {
    CAPTURE(s.m);
    CAPTURE(s.n);
    CAPTURE(s.k);
    const std::vector<Bits> a = bfloat16_noise(s.m * s.k, 1), b = bfloat16_noise(s.k * s.n, 2),
                            b_packed = packed(b, s.k, s.n, false);
    CHECK(packed(b, s.k, s.n, true) == b_packed);
    const int64_t c_row = s.n + 3;
    for (const bool add : {false, true}) {
      CAPTURE(add);
      std::vector<float> before(index(s.m * c_row));
      for (size_t i = 0; i < before.size(); ++i) before[i] = add ? static_cast<float>(i % 7) - 3 : 0;
      std::vector<float> c = before, c_packed;
      for (size_t i = 0; i < c.size(); ++i) {
        if (!add || static_cast<int64_t>(i) % c_row >= s.n) c[i] = 777;
      }
      c_packed = c;
      std::vector<float> by_rows = c;
      loops.multiply(a.data(), s.k, s.m, s.k, b_packed.data(), s.n, c.data(), c_row, add);
      check_product(s, a, b, before, c, c_row);
      for (int64_t i = 0; i < s.m; ++i) {
        loops.multiply(a.data() + i * s.k, s.k, 1, s.k, b_packed.data(), s.n, by_rows.data() + i * c_row, c_row, add);
      }
      CHECK(by_rows == c);
      loops.multiply_packed(packed(transposed_bits(a, s.m, s.k), s.k, s.m, false).data(), s.m, s.k, b_packed.data(),
                            s.n, c_packed.data(), c_row, add);
      check_product(s, a, b, before, c_packed, c_row);
    }
  }
}

TEST_CASE("isa: tiles of products of bfloat16 matrices" * doctest::test_suite("needs AVX512_BF16")) {
  KUSARI_SKIP_BELOW(v4_bf16);
  const Bfloat16GemmLoops& loops = *v4_bf16::bfloat16_gemm_loops();
  for (const GemmSizes& s : kGemmSizes) {
    CAPTURE(s.m);
    CAPTURE(s.n);
    CAPTURE(s.k);
    const std::vector<Bits> a = bfloat16_noise(s.m * s.k, 1), b = bfloat16_noise(s.k * s.n, 2),
                            a_packed = packed(transposed_bits(a, s.m, s.k), s.k, s.m, false),
                            b_packed = packed(b, s.k, s.n, false);
    const int64_t c_row = s.n + 3;
    std::vector<float> before(index(s.m * c_row)), bias(index(s.n)), with_bias = before;
    for (size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i % 5);
    for (size_t i = 0; i < before.size(); ++i) {
      const size_t column = i % index(c_row);
      before[i] = column < bias.size() ? static_cast<float>(i % 7) - 3 : 777;
      with_bias[i] = column < bias.size() ? before[i] + bias[column] : 777;
    }
    for (const bool is_packed : {false, true}) {
      CAPTURE(is_packed);
      std::vector<float> c = before;
      std::vector<Bits> rounded(index(s.m * c_row), Bits{0x4442});  // 777, rounded
      Bfloat16Tile tile = {s.m,
                           s.n,
                           s.k,
                           is_packed ? a_packed.data() : a.data(),
                           is_packed ? 0 : s.k,
                           is_packed,
                           b_packed.data(),
                           s.k,
                           c.data(),
                           c_row,
                           true,
                           bias.data(),
                           rounded.data(),
                           c_row};
      loops.multiply_tile(tile);
      CHECK(c == before);
      tile.rounded = nullptr;
      loops.multiply_tile(tile);
      check_product(s, a, b, with_bias, c, c_row);
      int64_t wrong = 0;
      for (size_t i = 0; i < c.size(); ++i) wrong += rounded[i] != km::bfloat16_from_float(c[i]);
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("isa: sums of the rows of packed bfloat16 matrices" * doctest::test_suite("needs AVX512_BF16")) {
  KUSARI_SKIP_BELOW(v4_bf16);
  for (const GemmSizes& s : kGemmSizes) {
    CAPTURE(s.n);
    CAPTURE(s.k);
    const std::vector<Bits> b = bfloat16_noise(s.k * s.n, 2);
    std::vector<float> sums(index(s.n + 1), 777);
    for (const bool add : {false, true}) {
      v4_bf16::bfloat16_gemm_loops()->sum_rows(packed(b, s.k, s.n, false).data(), s.k, s.n, sums.data(), add);
      for (int64_t j = 0; j < s.n; ++j) {
        double exact = 0, magnitude = 0;
        for (int64_t p = 0; p < s.k; ++p) {
          const double value = km::float_from_bfloat16(b[index(p * s.n + j)]);
          exact += (add ? 2 : 1) * value;
          magnitude += 2 * std::abs(value);
        }
        CHECK(std::abs(sums[index(j)] - exact) <= 0x1p-24 * 2 * static_cast<double>(s.k) * magnitude);
      }
      CHECK(sums.back() == 777);
    }
  }
}

#endif
