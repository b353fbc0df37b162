#include "kusari/framework/kernels/rows.h"

#include <doctest/doctest.h>

#include "testing.h"

using namespace kusari;
using namespace kusari::testing;

namespace {

Array take(const Array& x, const Array& index, const kernels::RowLookup& lookup) {
  const Array y = empty({index.size(), x.shape()[1]}, x.dtype(), x.device());
  launch<kernels::TakeRows>(x.device(), lookup, x, index, y);
  return y;
}

Array add(const Array& y, const Array& x, const Array& index, const kernels::RowLookup& lookup) {
  const Array sum = y.copy();
  launch<kernels::AddRows>(y.device(), lookup, x, index, sum);
  return sum;
}

/// `count` indices in [low, rows).
Array indices(int64_t count, int64_t low, int64_t rows, Dtype dtype) {
  return uniform_array({count}, static_cast<double>(low), static_cast<double>(rows), Dtype::float64, 3).astype(dtype);
}

constexpr kernels::RowLookup kPlain{"test"}, kIgnoring{"test", true, -1};

}  // namespace

TEST_CASE("cuda rows: take") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : kDtypes) {
    for (const int64_t n : {0, 1, 3, 8, 650}) {
      for (const int64_t count : {0, 1, 100}) {
        for (const Dtype index_dtype : {Dtype::int32, Dtype::int64}) {
          CAPTURE(name(dtype));
          CAPTURE(n);
          CAPTURE(count);
          const Array x = uniform_array({20, n}, -9, 9).astype(dtype);
          for (const kernels::RowLookup& lookup : {kPlain, kIgnoring}) {
            const auto run = [&](const Array& a, const Array& i) { return take(a, i, lookup); };
            check_on_gpu(*device, run, 0, x, indices(count, -20, 20, index_dtype));
            check_on_gpu(*device, run, 0, x, indices(2 * count, -1, 20, index_dtype).slice(0, 0, count, 2));
          }
        }
      }
    }
  }
}

TEST_CASE("cuda rows: add, equal indices in order") {
  const auto device = gpu_device();
  if (!device) return;
  for (const Dtype dtype : kDtypes) {
    for (const int64_t n : {1, 3, 8, 300}) {
      for (const int64_t count : {0, 1, 33, 500}) {
        CAPTURE(name(dtype));
        CAPTURE(n);
        CAPTURE(count);
        const Array x = uniform_array({count, n}, -1, 1).astype(dtype), y = uniform_array({20, n}, 0, 3).astype(dtype);
        for (const kernels::RowLookup& lookup : {kPlain, kIgnoring}) {
          const auto run = [&](const Array& a, const Array& b, const Array& i) { return add(a, b, i, lookup); };
          check_on_gpu(*device, run, 20, y, x, indices(count, -20, 20, Dtype::int64));
          if (is_half(dtype))
            check_on_gpu(*device, run, 20, y.astype(Dtype::float32), x, indices(count, -20, 20, Dtype::int32));
        }
      }
    }
  }
}

TEST_CASE("cuda rows: add with more indices than one block sorts") {
  const auto device = gpu_device();
  if (!device) return;
  for (const int64_t count : {2048, 2049, 5000, 9000}) {
    for (const int64_t rows : {1, 3, 3000}) {
      CAPTURE(count);
      CAPTURE(rows);
      const auto run = [&](const Array& a, const Array& b, const Array& i) { return add(a, b, i, kIgnoring); };
      const Array ones_in_threes = uniform_array({count, 4}, -3, 3).astype(Dtype::int32).astype(Dtype::float32);
      check_on_gpu(*device, run, 0, zeros({rows, 4}), ones_in_threes, indices(count, -1, rows, Dtype::int32));
    }
  }
}

TEST_CASE("cuda rows: an index out of range stands for no row") {
  const auto device = gpu_device();
  if (!device) return;
  const Array x = uniform_array({3, 5}, 1, 2), index = array<int32_t>({0, 3, -4, 1000000, -3, 2});
  const Array taken = take(x.to_device(*device), index.to_device(*device), kPlain);
  const Array expected = zeros({6, 5});
  expected.slice(0, 0, 1).copy_from(x.slice(0, 0, 1));
  expected.slice(0, 4, 1).copy_from(x.slice(0, 0, 1));
  expected.slice(0, 5, 1).copy_from(x.slice(0, 2, 1));
  check_same(taken, expected);
  const Array sum = add(zeros({3, 5}, Dtype::float32, *device), ones({6, 5}, Dtype::float32, *device),
                        index.to_device(*device), kPlain);
  CHECK(sum.slice(1, 0, 1).to_vector<float>() == std::vector<float>{2, 0, 1});
}

TEST_CASE("cuda rows: last places") {
  const auto device = gpu_device();
  if (!device) return;
  for (const int64_t count : {0, 1, 100, 3000}) {
    for (const kernels::RowLookup& lookup : {kPlain, kIgnoring}) {
      CAPTURE(count);
      const auto run = [&](const Array& index) {
        const Array last = zeros({20}, Dtype::int64, index.device());
        launch<kernels::LastPlaces>(index.device(), lookup, index, last);
        return last;
      };
      check_on_gpu(*device, run, 0, indices(count, -20, 20, Dtype::int32));
      check_on_gpu(*device, run, 0, indices(2 * count, -1, 20, Dtype::int64).slice(0, 0, count, 2));
    }
  }
}
