#include "kusari/framework/kernels/sum_rows.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/kernel.h"

namespace kusari {
namespace {

/// Sums of rows as the kernel's comment has them: halves of a power of two, in `T`.
template <class T>
T tree_sum(const std::vector<T>& values, size_t first, size_t count) {
  if (count == 1) return values[first];
  size_t half = 1;
  while (half * 2 < count) half *= 2;
  return tree_sum(values, first, half) + tree_sum(values, first + half, count - half);
}

Array sum_rows(const Array& rows, const Array& weights = Array(), double scale = 1) {
  const Array y = empty({rows.shape(1)}, rows.dtype());
  launch<kernels::SumRows>(Device(), rows, weights, scale, y);
  return y;
}

TEST_CASE("sum_rows: the tree of powers of two, to the bit") {
  CHECK(kernels::first_half(2) == 1);
  CHECK(kernels::first_half(4) == 2);
  CHECK(kernels::first_half(5) == 4);
  CHECK(kernels::first_half(9) == 8);
  for (const int64_t ranks : {1, 2, 3, 4, 5, 7, 8, 13}) {
    for (const int64_t n : {1, 511, 513, 40'000}) {
      CAPTURE(ranks);
      CAPTURE(n);
      std::vector<float> values(static_cast<size_t>(ranks * n));
      for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i) * 0.7f) * 1e3f;
      std::vector<double> weights;
      for (int64_t r = 0; r < ranks; ++r) weights.push_back(r == 2 ? 0 : 0.1 * static_cast<double>(r + 1));
      const Array rows = array<float>(values, {ranks, n});
      const std::vector<float> plain = sum_rows(rows, Array(), 0.25).to_vector<float>();
      const std::vector<float> weighted = sum_rows(rows, array<double>(weights)).to_vector<float>();
      // A part of the columns has the same bits.
      const std::vector<float> part = sum_rows(rows.slice(1, n / 3, n - n / 3), Array(), 0.25).to_vector<float>();
      bool is_plain = true, is_weighted = true, is_part = true;
      for (size_t j = 0; j < static_cast<size_t>(n); ++j) {
        std::vector<float> column, products;
        for (size_t r = 0; r < static_cast<size_t>(ranks); ++r) {
          column.push_back(values[r * static_cast<size_t>(n) + j]);
          products.push_back(weights[r] == 0 ? 0.0f : column.back() * static_cast<float>(weights[r]));
        }
        is_plain &= plain[j] == tree_sum(column, 0, column.size()) * 0.25f;
        is_weighted &= weighted[j] == tree_sum(products, 0, products.size());
        if (j >= static_cast<size_t>(n / 3)) is_part &= part[j - static_cast<size_t>(n / 3)] == plain[j];
      }
      CHECK(is_plain);
      CHECK(is_weighted);
      CHECK(is_part);
    }
  }
}

TEST_CASE("sum_rows: 16-bit numbers are summed in float32, integers wrap, rows of weight 0 are not read") {
  const Array large = full({4, 3}, 60000, Dtype::float16);
  CHECK(sum_rows(large, Array(), 0.25).to_vector<float>() == std::vector<float>(3, 60000));
  const Array small = array<double>({1, 0.00390625, 0.00390625, 0.00390625}, {4, 1}).astype(Dtype::bfloat16);
  CHECK(sum_rows(small).to_vector<float>()[0] == 1.015625f);  // rounded once
  CHECK(sum_rows(array<int32_t>({2'000'000'000, 2'000'000'000}, {2, 1})).to_vector<int32_t>()[0] == -294'967'296);
  CHECK(sum_rows(array<uint8_t>({200, 100}, {2, 1})).to_vector<uint8_t>()[0] == 44);
  CHECK(sum_rows(array<int64_t>({int64_t{1} << 53, 1}, {2, 1})).to_vector<int64_t>()[0] == (int64_t{1} << 53) + 1);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Array rows = array<float>({1, nan}, {2, 1});
  CHECK(sum_rows(rows, array<double>({1, 0})).to_vector<float>()[0] == 1);
  CHECK(std::isnan(sum_rows(rows).to_vector<float>()[0]));
}

}  // namespace
}  // namespace kusari
