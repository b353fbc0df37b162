#include "kusari/cuda/libraries/matmul_problem.h"

#include <array>
#include <cstring>
#include <functional>
#include <random>
#include <set>
#include <vector>

#include <doctest/doctest.h>

namespace kusari::cuda {
namespace {

char* const kA = reinterpret_cast<char*>(0x100000);
char* const kB = reinterpret_cast<char*>(0x40000000);
char* const kC = reinterpret_cast<char*>(0x80000000);

MatrixProduct product(int64_t m, int64_t n, int64_t k) {
  MatrixProduct p;
  p.m = m;
  p.n = n;
  p.k = k;
  p.a = {kA, Dtype::float32, k, 1};
  p.b = {kB, Dtype::float32, n, 1};
  p.c = {kC, Dtype::float32, n, 1};
  return p;
}

// Every multiplication that the product stands for: addresses of an a, a b and the c that gets it.
using Terms = std::multiset<std::array<const char*, 3>>;

Terms terms_of(const MatrixProduct& p) {
  Terms terms;
  int64_t batches = 1;
  for (int i = 0; i < p.batch_axes; ++i) batches *= p.batch[i].size;
  for (int64_t batch = 0; batch < batches; ++batch) {
    MatrixProduct one = p;
    int64_t rest = batch;
    for (int i = p.batch_axes - 1; i >= 0; --i) {
      one.move(i, rest % p.batch[i].size);
      rest /= p.batch[i].size;
    }
    const auto at = [](const Matrix& x, int64_t row, int64_t column) {
      return x.data + (row * x.row + column * x.column) * itemsize(x.dtype);
    };
    for (int64_t i = 0; i < p.m; ++i) {
      for (int64_t j = 0; j < p.n; ++j) {
        for (int64_t l = 0; l < p.k; ++l) terms.insert({at(one.a, i, l), at(one.b, l, j), at(one.c, i, j)});
      }
    }
  }
  return terms;
}

TEST_CASE("matmul problem: fewer batch axes are the same multiplications") {
  std::mt19937 random(1);
  const auto pick = [&random](std::initializer_list<int64_t> values) {
    return values.begin()[random() % values.size()];
  };
  int fewer = 0;
  for (int repeat = 0; repeat < 2000; ++repeat) {
    MatrixProduct p = product(pick({1, 2, 3}), pick({1, 2, 4}), pick({1, 2, 3}));
    if (pick({0, 1}) != 0) p.a = {kA, Dtype::float32, 1, p.m};
    const int64_t a_size = p.m * p.k, b_size = p.k * p.n, c_size = p.m * p.n;
    int64_t a = a_size, b = b_size, c = c_size;
    BatchAxis axes[3];
    const int count = static_cast<int>(pick({1, 2, 3}));
    for (int i = count - 1; i >= 0; --i) {
      axes[i] = {pick({1, 2, 3}), pick({0, a, a, a + 1}), pick({0, 0, b, b}), c};
      a *= axes[i].size;
      b *= axes[i].size;
      c *= axes[i].size;
    }
    for (int i = 0; i < count; ++i) p.add_batch_axis(axes[i]);
    MatrixProduct merged = p;
    merged.merge_batches();
    REQUIRE(terms_of(merged) == terms_of(p));
    fewer += merged.batch_axes < p.batch_axes ? 1 : 0;
    MatrixProduct turned = p;
    turned.transpose();
    CHECK(turned.m == p.n);
    CHECK(turned.a.data == p.b.data);
    CHECK(turned.c.row == p.c.column);
    turned.transpose();
    REQUIRE(terms_of(turned) == terms_of(p));
    MatrixProduct settled = merged;
    settled.settle_strides();
    REQUIRE(terms_of(settled) == terms_of(p));
  }
  CHECK(fewer > 500);
}

// D(i, j) = sum over l of op(A)(i, l) op(B)(l, j) in column-major matrices, as the key tells cuBLASLt.
TEST_CASE("matmul problem: the key's column-major product is the row-major one") {
  for (const bool a_turned : {false, true}) {
    for (const bool b_turned : {false, true}) {
      MatrixProduct p = product(3, 4, 5);
      if (a_turned) p.a = {kA, Dtype::float32, 1, 7};
      if (b_turned) p.b = {kB, Dtype::float32, 1, 9};
      p.c.row = 6;
      p.add_batch_axis({2, 100, 200, 300});
      const MatmulKey key = key_of(p, nullptr, false, 0);
      const auto at = [](char* data, int64_t step, int64_t row, int64_t column) {
        return data + (row + column * step) * 4;
      };
      Terms terms;
      for (int64_t batch = 0; batch < key.batch; ++batch) {
        char *const a = kB + batch * key.a_batch * 4, *const b = kA + batch * key.b_batch * 4;
        for (int64_t i = 0; i < key.rows; ++i) {
          for (int64_t j = 0; j < key.columns; ++j) {
            for (int64_t l = 0; l < key.depth; ++l) {
              terms.insert({key.b_transposed ? at(b, key.b_step, j, l) : at(b, key.b_step, l, j),
                            key.a_transposed ? at(a, key.a_step, l, i) : at(a, key.a_step, i, l),
                            at(kC + batch * key.d_batch * 4, key.d_step, i, j)});
            }
          }
        }
      }
      CHECK(terms == terms_of(p));
    }
  }
}

TEST_CASE("matmul problem: equal problems have equal keys, others have others") {
  struct Call {
    MatrixProduct p = product(8, 16, 32);
    const void* bias_grad = nullptr;
    bool tf32 = true;
    int device = 0;
  };
  const auto key = [](const Call& call) { return key_of(call.p, call.bias_grad, call.tf32, call.device); };
  const auto same = [](const MatmulKey& a, const MatmulKey& b) { return std::memcmp(&a, &b, sizeof(a)) == 0; };
  Call base;
  base.p.add_batch_axis({2, 256, 512, 128});
  const std::vector<std::function<void(Call&)>> changes = {
      [](Call& call) { call.p.m = 9; },
      [](Call& call) { call.p.n = 15; },
      [](Call& call) { call.p.k = 31; },
      [](Call& call) { call.p.a.row = 40; },
      [](Call& call) { call.p.b.row = 20; },
      [](Call& call) { call.p.c.row = 20; },
      [](Call& call) {
        call.p.a = {kA, Dtype::float32, 1, 32};
      },
      [](Call& call) {
        call.p.b = {kB, Dtype::float32, 1, 32};
      },
      [](Call& call) { call.p.batch[0].size = 3; },
      [](Call& call) { call.p.batch[0].a = 0; },
      [](Call& call) { call.p.batch[0].b = 0; },
      [](Call& call) { call.p.batch[0].c = 256; },
      [](Call& call) { call.p.a.dtype = call.p.b.dtype = Dtype::bfloat16; },
      [](Call& call) { call.p.c.dtype = Dtype::float64; },
      [](Call& call) { call.p.bias = kC + 0x1000; },
      [](Call& call) { call.p.bias = kC + 0x1010; },
      [](Call& call) { call.bias_grad = kC + 0x1000; },
      [](Call& call) { call.p.a.data += 4; },
      [](Call& call) { call.p.b.data += 8; },
      [](Call& call) { call.p.c.data += 16; },
      [](Call& call) { call.tf32 = false; },
      [](Call& call) { call.device = 1; },
  };
  std::vector<MatmulKey> keys = {key(base)};
  for (const auto& change : changes) {
    Call other = base;
    change(other);
    CHECK(same(key(other), key(other)));
    for (const MatmulKey& known : keys) CHECK_FALSE(same(key(other), known));
    keys.push_back(key(other));
  }
  // What the library need not know.
  Call elsewhere = base;
  elsewhere.p.a.data += 0x1000;
  elsewhere.p.accumulate = true;
  CHECK(same(key(elsewhere), key(base)));
  Call half = base;
  half.p.a.dtype = half.p.b.dtype = half.p.c.dtype = Dtype::float16;
  MatmulKey with = key(half);
  half.tf32 = false;
  CHECK(same(with, key(half)));
}

TEST_CASE("matmul problem: which matrices libraries take") {
  CHECK(is_library_matrix({kA, Dtype::float32, 5, 1}, 3, 5));
  CHECK(is_library_matrix({kA, Dtype::float32, 1, 3}, 3, 5));
  CHECK(is_library_matrix({kA, Dtype::float32, 8, 1}, 3, 5));
  CHECK_FALSE(is_library_matrix({kA, Dtype::float32, 4, 1}, 3, 5));
  CHECK_FALSE(is_library_matrix({kA, Dtype::float32, 1, 2}, 3, 5));
  CHECK_FALSE(is_library_matrix({kA, Dtype::float32, 10, 2}, 3, 5));
  CHECK_FALSE(is_library_matrix({kA, Dtype::float32, 0, 1}, 3, 5));
}

}  // namespace
}  // namespace kusari::cuda
