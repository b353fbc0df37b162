#include "kusari/framework/kernels/row_products.h"

#include <doctest/doctest.h>

#include "kusari/framework/core/philox.h"
#include "kusari/tests/gpu/testing.h"

namespace kusari::testing {
namespace {

struct RowCase {
  int64_t n, k, d, v;
};
const RowCase kRowCases[] = {{3, 2, 5, 4},      {70, 6, 33, 50}, {1, 1, 1, 1},
                             {500, 9, 100, 20}, {4, 0, 3, 2},    {2, 3, 0, 5}};

Array row_numbers(const RowCase& c, Dtype dtype) {
  std::vector<int64_t> rows(static_cast<size_t>(c.n * c.k));
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i] = static_cast<int64_t>(philox_word(5, i) % static_cast<uint32_t>(c.v));
    if (i % 7 == 3) rows[i] -= c.v;   // from the end
    if (i % 11 == 5) rows[i] = 1000;  // ignored
  }
  return array(rows, {c.n, c.k}).astype(dtype);
}

TEST_CASE("row products: as on the CPU") {
  const auto device = gpu_device();
  if (!device) return;
  const kernels::RowLookup lookup{"test", true, 1000};
  for (const RowCase& c : kRowCases) {
    CAPTURE(c.n);
    CAPTURE(c.d);
    for (const Dtype dtype : {Dtype::float32, Dtype::float64}) {
      for (const Dtype of_rows : {Dtype::int32, Dtype::int64}) {
        const Array rows = row_numbers(c, of_rows);
        const Array x = uniform_array({c.n, c.d}, -1, 1, dtype, 2), g = uniform_array({c.n, c.k}, -1, 1, dtype, 3);
        for (const Dtype of_w : {dtype, Dtype::float16, Dtype::bfloat16}) {
          const Array W = uniform_array({c.v, c.d}, -1, 1, of_w, 4);
          const auto dots = [&](const Array& own_x, const Array& own_w, const Array& own_rows) {
            const Array y = empty({c.n, c.k}, dtype, own_x.device());
            launch<kernels::RowDots>(y.device(), lookup, own_x, own_w, own_rows, y);
            return y;
          };
          const auto combinations = [&](const Array& own_g, const Array& own_w, const Array& own_rows) {
            const Array y = empty({c.n, c.d}, dtype, own_g.device());
            launch<kernels::RowCombinations>(y.device(), lookup, own_g, own_w, own_rows, y);
            return y;
          };
          check_on_gpu(*device, dots, 4, x, W, rows);
          check_on_gpu(*device, combinations, 4, g, W, rows);
        }
        const auto sums = [&](const Array& own_g, const Array& own_x, const Array& own_rows) {
          const Array y = empty({c.v, c.d}, dtype, own_g.device());
          launch<kernels::RowSums>(y.device(), lookup, own_g, own_x, own_rows, y);
          return y;
        };
        check_on_gpu(*device, sums, 30, g, x, rows);
      }
    }
  }
}

TEST_CASE("row products: rows with gaps, and those out of range are left out") {
  const auto device = gpu_device();
  if (!device) return;
  const kernels::RowLookup lookup{"test"};
  const Array x = ones({2, 3}, Dtype::float32, *device), W = ones({4, 3}, Dtype::float32, *device);
  const Array wide = array<int64_t>({0, 9, 7, 9, 3, 9, -5, 9}, {2, 4}, *device);
  const Array rows = wide.slice(1, 0, 2, 2);  // 0 7, 3 -5
  const Array y = empty({2, 2}, Dtype::float32, *device), sums = empty({4, 3}, Dtype::float32, *device);
  launch<kernels::RowDots>(*device, lookup, x, W, rows, y);
  CHECK(y.to_vector<float>() == std::vector<float>{3, 0, 3, 0});
  launch<kernels::RowSums>(*device, lookup, ones({2, 2}, Dtype::float32, *device), x, rows, sums);
  CHECK(sums.to_vector<float>() == std::vector<float>{1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1});
}

}  // namespace
}  // namespace kusari::testing
