#include "kusari/framework/kernels/matmul.h"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "kusari/cuda/libraries/matmul_problem.h"
#include "kusari/framework/core/config.h"
#include "kusari/framework/core/tuning.h"
#include "testing.h"

using namespace kusari;
using namespace kusari::testing;
using cuda::key_of;
using cuda::MatmulKey;
using cuda::MatrixProduct;

namespace {

// c: (m, n) after its leading axes, with a bias of the same dtype or without.
Array multiply(const Array& a, const Array& b, const Array& bias, kernels::MatmulOptions options, const Shape& shape,
               Dtype dtype, Layout layout = Layout::contiguous) {
  const Array c = in_layout(full(shape, 77, dtype, a.device()), layout);
  launch<kernels::Matmul>(a.device(), a, b, bias, options, c);
  return c;
}

Array matrix(const Shape& shape, Dtype dtype, uint64_t seed) {
  if (is_floating(dtype)) return uniform_array(shape, -1, 1, dtype, seed);
  return uniform_array(shape, 0, 5, Dtype::int64, seed).astype(dtype);
}

// a (m, k), b (k, n), row-major, in memory that is nobody's.
MatrixProduct dense_product(int64_t m, int64_t n, int64_t k) {
  MatrixProduct p;
  p.m = m;
  p.n = n;
  p.k = k;
  p.a = {reinterpret_cast<char*>(0x1000), Dtype::float32, k, 1};
  p.b = {reinterpret_cast<char*>(0x2000), Dtype::float32, n, 1};
  p.c = {reinterpret_cast<char*>(0x3000), Dtype::float32, n, 1};
  return p;
}

}  // namespace

TEST_CASE("cuda matmul: batches become as few axes as possible") {
  MatrixProduct p = dense_product(4, 6, 5);
  SUBCASE("dense a with one b is one tall matrix") {
    p.add_batch_axis({2, 60, 0, 72});
    p.add_batch_axis({3, 20, 0, 24});
    p.merge_batches();
    CHECK(p.batch_axes == 0);
    CHECK(p.m == 24);
    CHECK(p.a.row == 5);
  }
  SUBCASE("dense batches are one axis") {
    p.add_batch_axis({2, 60, 90, 72});
    p.add_batch_axis({3, 20, 30, 24});
    p.merge_batches();
    CHECK(p.batch_axes == 1);
    CHECK(p.m == 4);
    CHECK(p.batch[0].size == 6);
    CHECK(p.batch[0].b == 30);
  }
  SUBCASE("axes with different repetitions stay") {
    p.add_batch_axis({2, 20, 0, 72});
    p.add_batch_axis({1, 0, 0, 0});
    p.add_batch_axis({3, 0, 30, 24});
    p.merge_batches();
    CHECK(p.batch_axes == 2);
    CHECK(p.batch[1].size == 3);
  }
  SUBCASE("single rows with gaps become the rows of a matrix") {
    p.m = 1;
    p.add_batch_axis({3, 9, 0, 8});
    p.merge_batches();
    p.settle_strides();
    CHECK(p.batch_axes == 0);
    CHECK(p.m == 3);
    CHECK(p.a.row == 9);
    CHECK(p.c.row == 8);
  }
  SUBCASE("the same row again and again does not") {
    p.m = 1;
    p.add_batch_axis({3, 0, 0, 6});
    p.merge_batches();
    CHECK(p.batch_axes == 1);
  }
}

TEST_CASE("cuda matmul: a part of a batch is where its steps lead") {
  MatrixProduct p = dense_product(4, 6, 5);
  p.add_batch_axis({2, 20, 30, 24});
  char* const b = p.b.data;
  p.move(0, 1);
  CHECK(p.b.data == b + 30 * 4);
  p.transpose();
  CHECK(p.m == 6);
  CHECK(p.a.data == b + 30 * 4);
  CHECK(p.a.column == 6);
  CHECK(p.batch[0].a == 30);
  p.drop_batch_axis(0);
  CHECK(p.batch_axes == 0);
}

TEST_CASE("cuda matmul: row-major matrices are column-major ones transposed") {
  const auto equal = [](const MatmulKey& a, const MatmulKey& b) { return std::memcmp(&a, &b, sizeof(a)) == 0; };
  MatrixProduct p = dense_product(4, 6, 5);
  const MatmulKey plain = key_of(p, nullptr, true, 0);
  CHECK(plain.rows == 6);
  CHECK(plain.columns == 4);
  CHECK(plain.depth == 5);
  CHECK(plain.a_transposed == 0);
  CHECK(plain.b_transposed == 0);
  CHECK(plain.a_step == 6);
  CHECK(plain.b_step == 5);
  CHECK(plain.epilogue == MatmulKey::kPlain);
  CHECK(plain.tf32 == 1);
  CHECK(equal(plain, key_of(p, nullptr, true, 0)));

  MatrixProduct other = p;
  other.b.row = 1;
  other.b.column = 5;
  CHECK(key_of(other, nullptr, true, 0).a_transposed == 1);
  CHECK(key_of(other, nullptr, true, 0).a_step == 5);
  other = p;
  other.bias = reinterpret_cast<const void*>(0x4010);
  const MatmulKey with_bias = key_of(other, nullptr, true, 0);
  CHECK(with_bias.epilogue == MatmulKey::kBias);
  CHECK(with_bias.alignment[3] == 4);
  other = p;
  other.a.data += 4;
  CHECK(key_of(other, nullptr, true, 0).alignment[1] == 2);

  // Whatever the library must know makes another key.
  CHECK_FALSE(equal(plain, key_of(other, nullptr, true, 0)));
  CHECK_FALSE(equal(plain, with_bias));
  CHECK_FALSE(equal(plain, key_of(p, nullptr, false, 0)));
  CHECK_FALSE(equal(plain, key_of(p, nullptr, true, 1)));
  CHECK_FALSE(equal(plain, key_of(p, p.b.data, true, 0)));
  CHECK_FALSE(equal(plain, key_of(dense_product(4, 6, 7), nullptr, true, 0)));
  other = p;
  other.c.dtype = Dtype::float16;
  CHECK_FALSE(equal(plain, key_of(other, nullptr, true, 0)));
  other = p;
  other.c.row = 8;
  CHECK_FALSE(equal(plain, key_of(other, nullptr, true, 0)));
  other = p;
  other.add_batch_axis({2, 20, 30, 24});
  CHECK_FALSE(equal(plain, key_of(other, nullptr, true, 0)));

  CHECK(cuda::alignment_of(reinterpret_cast<const void*>(0x1000)) == 8);
  CHECK(cuda::alignment_of(reinterpret_cast<const void*>(0x1002)) == 1);
}

TEST_CASE("cuda matmul: axes of size 1 get the strides of dense matrices") {
  MatrixProduct p = dense_product(3, 1, 1);
  p.a.row = 1;
  p.a.column = 17;  // of its only column
  p.c.column = 5;
  p.settle_strides();
  CHECK(cuda::is_library_matrix(p.a, 3, 1));
  CHECK(cuda::is_library_matrix(p.b, 1, 1));
  CHECK(cuda::is_library_matrix(p.c, 3, 1));
}

TEST_CASE("cuda matmul: every dtype, transposition and size") {
  const auto device = gpu_device();
  if (!device) return;
  const auto exact = using_config(&Config::use_tf32, false);
  struct Sizes {
    int64_t m, n, k;
  };
  for (const Dtype dtype : kDtypes) {
    for (const Sizes s : {Sizes{1, 1, 1},
                          {5, 7, 3},
                          {33, 65, 40},
                          {64, 1, 96},
                          {1, 64, 96},
                          {0, 3, 4},
                          {3, 0, 4},
                          {3, 4, 0},
                          {16, 8, 32}}) {
      for (int flags = 0; flags < 8; ++flags) {
        const kernels::MatmulOptions options = {(flags & 1) != 0, (flags & 2) != 0};
        CAPTURE(name(dtype));
        CAPTURE(s.m);
        CAPTURE(s.n);
        CAPTURE(s.k);
        CAPTURE(flags);
        const Array a = matrix(options.transa ? Shape{s.k, s.m} : Shape{s.m, s.k}, dtype, 1);
        const Array b = matrix(options.transb ? Shape{s.n, s.k} : Shape{s.k, s.n}, dtype, 2);
        const Array bias = (flags & 4) != 0 ? matrix({s.n}, dtype, 3) : Array();
        const auto compute = [&](const Array& x, const Array& y, const Array& z) {
          return multiply(x, y, z, options, {s.m, s.n}, dtype);
        };
        check_on_gpu(*device, compute, 8, a, b, bias);
      }
    }
  }
}

TEST_CASE("cuda matmul: every layout of operands and result") {
  const auto device = gpu_device();
  if (!device) return;
  const auto exact = using_config(&Config::use_tf32, false);
  for (const Dtype dtype : {Dtype::float16, Dtype::float32, Dtype::float64, Dtype::int32}) {
    for (const Layout of_a : kLayouts) {
      for (const Layout of_b : kLayouts) {
        for (const Layout of_c : kWritableLayouts) {
          CAPTURE(name(dtype));
          CAPTURE(static_cast<int>(of_a));
          CAPTURE(static_cast<int>(of_b));
          CAPTURE(static_cast<int>(of_c));
          const Array a = in_layout(matrix({6, 10}, dtype, 1), of_a), b = in_layout(matrix({10, 9}, dtype, 2), of_b);
          const Array bias = in_layout(matrix({9}, dtype, 3), of_a);
          const auto compute = [&](const Array& x, const Array& y, const Array& z) {
            return multiply(x, y, z, {}, {6, 9}, dtype, of_c);
          };
          check_on_gpu(*device, compute, 8, a, b, bias);
        }
      }
    }
  }
}

TEST_CASE("cuda matmul: parts of larger matrices") {
  const auto device = gpu_device();
  if (!device) return;
  const auto exact = using_config(&Config::use_tf32, false);
  for (const Dtype dtype : kFloatingDtypes) {
    for (const int64_t start : {0, 1, 2, 3, 4, 8}) {
      CAPTURE(name(dtype));
      CAPTURE(start);
      // Odd leading dimensions and addresses.
      const Array a = matrix({7, 29}, dtype, 1).slice(1, start, 12), b = matrix({12, 27}, dtype, 2).slice(1, start, 16);
      const Array bias = matrix({30}, dtype, 3).slice(0, start, 16);
      const auto compute = [&](const Array& x, const Array& y, const Array& z) {
        const Array wide = full({7, 40}, 5, dtype, x.device());
        launch<kernels::Matmul>(x.device(), x, y, z, kernels::MatmulOptions{}, wide.slice(1, start, 16));
        return wide;
      };
      check_on_gpu(*device, compute, 8, a, b, bias);
      check_on_gpu(*device, compute, 8, a, b, Array());
    }
  }
}

TEST_CASE("cuda matmul: batches that repeat, go on as rows or are permuted") {
  const auto device = gpu_device();
  if (!device) return;
  const auto exact = using_config(&Config::use_tf32, false);
  for (const Dtype dtype : {Dtype::float16, Dtype::float32, Dtype::int64}) {
    CAPTURE(name(dtype));
    const auto check = [&](const Array& a, const Array& b, const Shape& shape, kernels::MatmulOptions options = {}) {
      CAPTURE(a.shape());
      CAPTURE(b.shape());
      const Array bias = matrix({shape.back()}, dtype, 3);
      const auto compute = [&](const Array& x, const Array& y, const Array& z) {
        return multiply(x, y, z, options, shape, dtype);
      };
      check_on_gpu(*device, compute, 8, a, b, bias);
      check_on_gpu(*device, compute, 8, a, b, Array());
    };
    const auto of = [&](const Shape& shape) { return matrix(shape, dtype, static_cast<uint64_t>(numel(shape))); };
    check(of({2, 3, 4, 5}), of({5, 6}), {2, 3, 4, 6});
    check(of({3, 4, 5}), of({3, 5, 6}), {3, 4, 6});
    check(of({3, 4, 5}), of({3, 6, 5}), {3, 4, 6}, {.transb = true});
    check(of({3, 5, 4}), of({5, 6}), {3, 4, 6}, {.transa = true});
    check(of({2, 1, 4, 5}), of({3, 5, 6}), {2, 3, 4, 6});
    check(of({12, 1, 4, 5}), of({1, 11, 5, 6}), {12, 11, 4, 6});
    check(of({4, 5}), of({3, 5, 6}), {3, 4, 6});
    check(of({1, 4, 5}).broadcast_to({3, 4, 5}), of({3, 5, 6}), {3, 4, 6});
    check(of({7, 1, 5}), of({5, 6}), {7, 1, 6});
    check(of({7, 1, 10}).slice(2, 1, 5), of({5, 6}), {7, 1, 6});
    check(of({2, 3, 4, 5}).transpose({0, 2, 1, 3}), of({2, 5, 4, 3}).transpose({0, 2, 1, 3}), {2, 4, 3, 3});
    check(of({9, 3, 10, 5}).transpose({0, 2, 1, 3}), of({9, 5, 10, 3}).transpose({0, 2, 1, 3}), {9, 10, 3, 3});
    check(of({2, 4, 0}), of({2, 0, 3}), {2, 4, 3});
    check(of({0, 4, 5}), of({5, 3}), {0, 4, 3});
  }
}

TEST_CASE("cuda matmul: operands of different dtypes") {
  const auto device = gpu_device();
  if (!device) return;
  const auto exact = using_config(&Config::use_tf32, false);
  for (const Dtype of_a : kDtypes) {
    for (const Dtype of_b : kDtypes) {
      for (const Dtype of_c : {Dtype::bfloat16, Dtype::float16, Dtype::float32, Dtype::float64, Dtype::int32}) {
        if (!is_floating(of_c) && (is_floating(of_a) || is_floating(of_b))) continue;  // a sum near a whole number
        CAPTURE(name(of_a));
        CAPTURE(name(of_b));
        CAPTURE(name(of_c));
        const Array bias = matrix({6}, of_c, 3);
        const auto compute = [&](const Array& x, const Array& y, const Array& z) {
          return multiply(x, y, z, {.transb = true}, {5, 6}, of_c);
        };
        check_on_gpu(*device, compute, 8, matrix({5, 8}, of_a, 1), matrix({6, 8}, of_b, 2), bias);
      }
    }
  }
}

TEST_CASE("cuda matmul: with the sums of rows") {
  const auto device = gpu_device();
  if (!device) return;
  const auto exact = using_config(&Config::use_tf32, false);
  struct Sizes {
    int64_t m, n, k;
  };
  for (const Dtype dtype : kFloatingDtypes) {
    for (const Sizes s : {Sizes{8, 16, 24}, {5, 7, 3}, {1, 1, 1}, {0, 3, 4}, {3, 0, 4}, {3, 4, 0}}) {
      for (const bool transa : {false, true}) {
        for (const Layout layout : {Layout::contiguous, Layout::transposed, Layout::every_second}) {
          CAPTURE(name(dtype));
          CAPTURE(s.m);
          CAPTURE(s.n);
          CAPTURE(s.k);
          CAPTURE(transa);
          CAPTURE(static_cast<int>(layout));
          const Array a = in_layout(matrix(transa ? Shape{s.k, s.m} : Shape{s.m, s.k}, dtype, 1), layout);
          const Array b = in_layout(matrix({s.k, s.n}, dtype, 2), layout);
          const auto compute = [&](const Array& x, const Array& y) {
            const Array c = full({s.m, s.n}, 77, dtype, x.device()), sums = full({s.m}, 77, dtype, x.device());
            launch<kernels::MatmulWithSums>(x.device(), x, y, kernels::MatmulOptions{.transa = transa}, c, sums);
            return std::vector<Array>{c, sums};
          };
          check_on_gpu(*device, compute, 8, a, b);
        }
      }
    }
  }
}

TEST_CASE("cuda matmul: TF32 products are those of float32 within its precision") {
  const auto device = gpu_device();
  if (!device) return;
  const auto compute = [](const Array& a, const Array& b) {
    return multiply(a, b, Array(), {}, {64, 48}, Dtype::float32);
  };
  const auto with_tf32 = using_config(&Config::use_tf32, true);
  check_on_gpu(*device, compute, 1500, matrix({64, 96}, Dtype::float32, 1), matrix({96, 48}, Dtype::float32, 2));
}

TEST_CASE("cuda matmul: autotuned choices are kept with the others") {
  const auto device = gpu_device();
  if (!device) return;
  const auto exact = using_config(&Config::use_tf32, false);
  const auto tuned = using_config(&Config::autotune, true);
  const Array a = matrix({37, 24}, Dtype::float32, 1), b = matrix({24, 31}, Dtype::float32, 2);
  const auto compute = [](const Array& x, const Array& y) {
    return multiply(x, y, Array(), {}, {37, 31}, Dtype::float32);
  };
  for (int i = 0; i < 3; ++i) {
    check_on_gpu(*device, compute, 8, a, b);
    tuning::restore(tuning::choices());  // plans made before are out of date
  }
}
