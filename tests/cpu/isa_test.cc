// The loops compiled for each instruction set give the same bits. Linked to the objects themselves: the library hides
// them.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/philox.h"
#include "kusari/framework/cpu/best_isa.h"
#include "kusari/framework/cpu/isa/gemm.h"
#include "kusari/framework/cpu/isa/loops.h"
#include "kusari/framework/cpu/isa/normalization.h"
#include "kusari/framework/cpu/isa/optimizer.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/arithmetic.h"
#include "kusari/framework/kernels/comparison.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/optimizer.h"
#include "kusari/framework/kernels/reducers.h"

#if defined(__x86_64__)

using namespace kusari;
using namespace kusari::cpu;

namespace {

/// Random values of several magnitudes, and the special ones between them.
template <class T>
std::vector<T> varied_values(size_t n, unsigned seed) {
  std::mt19937_64 generator(seed);
  std::vector<T> result;
  if constexpr (std::is_floating_point_v<T>) {
    using Limits = std::numeric_limits<T>;
    const T special[] = {T(0),
                         T(-0.0),
                         Limits::infinity(),
                         -Limits::infinity(),
                         Limits::quiet_NaN(),
                         Limits::min(),
                         Limits::max(),
                         Limits::lowest(),
                         Limits::denorm_min(),
                         T(1),
                         T(-1),
                         T(0.5),
                         T(2.5),
                         T(1e7),
                         T(-3e5)};
    std::normal_distribution<double> normal;
    for (size_t i = 0; i < n; ++i) {
      if (i % 5 == 4) {
        result.push_back(special[generator() % std::size(special)]);
      } else {
        result.push_back(static_cast<T>(normal(generator) * std::exp2(static_cast<double>(generator() % 16) - 6)));
      }
    }
  } else {
    for (size_t i = 0; i < n; ++i) {
      const auto bits = static_cast<T>(generator());
      result.push_back(i % 3 == 0 ? bits : static_cast<T>(bits % T{17}));
    }
  }
  return result;
}

/// Equal bits, or both NaN (which operand's NaN comes through is not specified).
template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(&a[i], &b[i], sizeof(T)) == 0) continue;
    if (a[i] != a[i] && b[i] != b[i]) continue;
    MESSAGE("element " << i << ": " << a[i] << " and " << b[i]);
    return false;
  }
  return true;
}

/// Members of a functor: all of them are doubles.
constexpr double kMembers[] = {0.75, 1.5, 2.25, 3.0};

/// Runs check(name, loops of v1, loops of the other set) for every instruction set beyond v1 and entry of a table.
template <class Table, class Check>
void for_each_entry(const Table* v1_table, const Table* v3_table, const Table* v4_table,
                    const std::vector<std::string>& names, const Check& check) {
  for (size_t i = 0; i < names.size(); ++i) {
    CAPTURE(names[i]);
    if (best_isa() >= Isa::v3) check(v1_table[i], v3_table[i]);
    if (best_isa() >= Isa::v4) check(v1_table[i], v4_table[i]);
  }
}

template <class T>
void check_pointwise(PointwiseLoop expected, PointwiseLoop got) {
  REQUIRE((expected == nullptr) == (got == nullptr));
  if (expected == nullptr) return;
  for (const size_t n : {1, 7, 16, 31, 64, 1003}) {
    CAPTURE(n);
    const std::vector<T> a = varied_values<T>(n, 1), b = varied_values<T>(n, 2), c = varied_values<T>(n, 3);
    const void* const in[] = {a.data(), b.data(), c.data()};
    std::vector<T> y1(n), y2(n);
    expected(kMembers, in, y1.data(), static_cast<i64>(n));
    got(kMembers, in, y2.data(), static_cast<i64>(n));
    CHECK(same(y1, y2));
    std::vector<T> in_place = a;
    const void* const aliased[] = {in_place.data(), b.data(), c.data()};
    got(kMembers, aliased, in_place.data(), static_cast<i64>(n));
    CHECK(same(y1, in_place));
  }
}

void check_pointwise_loops(const PointwiseLoops& expected, const PointwiseLoops& got) {
  check_pointwise<float>(expected.f32, got.f32);
  check_pointwise<double>(expected.f64, got.f64);
  check_pointwise<int64_t>(expected.i64, got.i64);
}

template <class T>
void check_reduction(const ReductionLoop& expected, const ReductionLoop& got) {
  REQUIRE((expected.rows == nullptr) == (got.rows == nullptr));
  if (expected.rows == nullptr) return;
  for (const i64 n : {i64{1}, i64{10}, i64{63}, i64{64}, i64{1000}, i64{70001}}) {
    CAPTURE(n);
    std::vector<T> x = varied_values<T>(static_cast<size_t>(3 * n), 4);
    for (T& v : x) v = v - v == T{0} ? v : T{2};  // finite, so that the sums are
    std::vector<T> y1(3), y2(3);
    expected.rows(kMembers, x.data(), 3, n, n, y1.data());
    got.rows(kMembers, x.data(), 3, n, n, y2.data());
    CHECK(same(y1, y2));
    std::vector<T> c1(static_cast<size_t>(n)), c2 = c1;
    expected.clear(kMembers, c1.data(), n);
    got.clear(kMembers, c2.data(), n);
    expected.columns(kMembers, x.data(), 3, n, n, c1.data());
    got.columns(kMembers, x.data(), 3, n, n, c2.data());
    expected.combine(kMembers, c1.data(), x.data(), n);
    got.combine(kMembers, c2.data(), x.data(), n);
    expected.finish(kMembers, c1.data(), n, 4);
    got.finish(kMembers, c2.data(), n, 4);
    CHECK(same(c1, c2));
  }
}

/// The largest (smallest) of numbers with a NaN in one place, wherever that is, and without one.
template <class T>
void check_nan_wins(const ReductionLoop& loop, bool largest) {
  const T nan = std::numeric_limits<T>::quiet_NaN();
  for (const i64 n : {i64{1}, i64{7}, i64{8}, i64{63}, i64{150}, i64{2120}}) {
    CAPTURE(n);
    std::vector<T> x(static_cast<size_t>(n));
    for (i64 i = 0; i < n; ++i) x[static_cast<size_t>(i)] = static_cast<T>(i * 7919 % n - n / 2);
    const T best = largest ? *std::max_element(x.begin(), x.end()) : *std::min_element(x.begin(), x.end());
    T y{};
    loop.rows(kMembers, x.data(), 1, 0, n, &y);
    CHECK(y == best);
    i64 lost_in_row = 0, lost_in_column = 0;
    for (T& v : x) {
      const T before = std::exchange(v, nan);
      loop.rows(kMembers, x.data(), 1, 0, n, &y);
      lost_in_row += y == y ? 1 : 0;
      loop.clear(kMembers, &y, 1);
      loop.columns(kMembers, x.data(), n, 1, 1, &y);
      lost_in_column += y == y ? 1 : 0;
      v = before;
    }
    CHECK(lost_in_row == 0);
    CHECK(lost_in_column == 0);
    // In one of n columns, in each of three rows.
    for (const i64 nan_row : {0, 1, 2}) {
      std::vector<T> acc(static_cast<size_t>(n)), rows;
      for (i64 r = 0; r < 3; ++r) rows.insert(rows.end(), x.begin(), x.end());
      const i64 column = n * 2 / 3;
      rows[static_cast<size_t>(nan_row * n + column)] = nan;
      loop.clear(kMembers, acc.data(), n);
      loop.columns(kMembers, rows.data(), 3, n, n, acc.data());
      for (i64 j = 0; j < n; ++j) {
        const T got = acc[static_cast<size_t>(j)];
        if (j == column ? got == got : got != x[static_cast<size_t>(j)]) FAIL_CHECK("column " << j);
      }
    }
  }
}

template <class T>
void check_softmax(const SoftmaxLoop& expected, const SoftmaxLoop& got) {
  for (const i64 n : {i64{1}, i64{5}, i64{16}, i64{100}, i64{1003}}) {
    CAPTURE(n);
    const auto size = static_cast<size_t>(n);
    std::vector<T> x = varied_values<T>(size, 5), g = varied_values<T>(size, 6);
    for (T& v : x) v = v - v == T{0} ? v : T{2};
    for (T& v : g) v = v - v == T{0} ? v : T{2};
    std::vector<T> y1(size), y2(size), z1(size), z2(size), loss1(1), loss2(1);
    expected.softmax(x.data(), y1.data(), n);
    got.softmax(x.data(), y2.data(), n);
    CHECK(same(y1, y2));
    expected.softmax_grad(y1.data(), g.data(), z1.data(), n);
    got.softmax_grad(y1.data(), g.data(), z2.data(), n);
    CHECK(same(z1, z2));
    expected.log_softmax(x.data(), y1.data(), n);
    got.log_softmax(x.data(), y2.data(), n);
    CHECK(same(y1, y2));
    expected.log_softmax_grad(y1.data(), g.data(), z1.data(), n);
    got.log_softmax_grad(y1.data(), g.data(), z2.data(), n);
    CHECK(same(z1, z2));
    expected.logsumexp(x.data(), loss1.data(), n);
    got.logsumexp(x.data(), loss2.data(), n);
    CHECK(same(loss1, loss2));
    std::vector<T> score1(1), score2(1);
    expected.cross_entropy(x.data(), n / 2, loss1.data(), score1.data(), y1.data(), n);
    got.cross_entropy(x.data(), n / 2, loss2.data(), score2.data(), y2.data(), n);
    CHECK(same(loss1, loss2));
    CHECK(same(score1, score2));
    CHECK(same(y1, y2));
    got.cross_entropy(x.data(), n / 2, loss2.data(), score2.data(), nullptr, n);
    CHECK(same(loss1, loss2));
    expected.cross_entropy_loss(y1.data(), x.data(), z1.data(), n);
    got.cross_entropy_loss(y1.data(), x.data(), z2.data(), n);
    CHECK(same(z1, z2));
    expected.cross_entropy_grad(y1.data(), true, n / 2, 0.3, z1.data(), n);
    got.cross_entropy_grad(y1.data(), true, n / 2, 0.3, z2.data(), n);
    CHECK(same(z1, z2));
  }
}

template <class T>
std::vector<T> finite_values(i64 n, unsigned seed) {
  std::vector<T> result = varied_values<T>(static_cast<size_t>(n), seed);
  for (T& v : result) v = v - v == T{0} && std::abs(v) < T(1e5) ? v : T{2};
  return result;
}

template <class T>
void check_pixel_normalization(const PixelNormalizationLoop& expected, const PixelNormalizationLoop& got) {
  for (const i64 n : {i64{1}, i64{5}, i64{16}, i64{100}}) {
    CAPTURE(n);
    const i64 rows = 7, size = rows * n;
    const std::vector<T> x = finite_values<T>(size, 50), gy = finite_values<T>(size, 51);
    std::vector<T> c[4];
    for (unsigned i = 0; i < 4; ++i) c[i] = finite_values<T>(n, 52 + i);
    // What each of the two writes, one after the other.
    const auto run = [&](const PixelNormalizationLoop& loop) {
      std::vector<T> y(static_cast<size_t>(6 * size)), space(static_cast<size_t>(3 * (3 * n + 4)));
      std::vector<double> sums(static_cast<size_t>(6 * n + 8), 0.25);
      const auto out = [&](i64 i) { return y.data() + i * size; };
      const auto sum = [&](i64 i) { return sums.data() + i * n; };
      const T *const a = c[0].data(), *const b = c[1].data(), *const d = c[2].data(), *const e = c[3].data();
      loop.column_moments(x.data(), a, rows, n, sum(0), sum(1));
      loop.column_normalize(x.data(), a, b, d, out(0), rows, n);
      loop.column_products(x.data(), a, gy.data(), rows, n, sum(2), sum(3));
      loop.column_grad(x.data(), gy.data(), a, b, d, e, out(1), rows, n);
      loop.row_moments(x.data(), 0.3, n, sum(6), sum(6) + 1);
      loop.row_normalize(x.data(), 0.3, 0.7, a, b, out(2), n);
      loop.row_products(x.data(), 0.3, gy.data(), a, n, sum(6) + 2, sum(6) + 3);
      loop.row_grad(x.data(), gy.data(), a, 0.3, 0.7, 0.1, 0.2, out(3), n);
      loop.row_parameter_grad(x.data(), gy.data(), 0.3, 0.7, n, sum(4), sum(5));
      loop.row_dots(x.data(), gy.data(), n, sum(6) + 4, sum(6) + 5);
      loop.row_scale(x.data(), 0.3, out(2) + n, n);
      loop.row_difference(gy.data(), 0.3, x.data(), 0.7, out(3) + n, n);
      for (const double beta : {0.75, 0.6}) {
        const ResponseOptions options{2, 1.5, 0.1, beta, 3};
        loop.response(&options, x.data(), out(4), rows, n, space.data());
        loop.response_grad(&options, x.data(), gy.data(), out(5), rows, n, space.data());
        for (const T v : y) sums.push_back(static_cast<double>(v));
      }
      return sums;
    };
    CHECK(same(run(expected), run(got)));
  }
}

template <class T>
void check_random(const RandomLoop& expected, const RandomLoop& got) {
  for (const uint64_t first : {uint64_t{0}, uint64_t{3}, (uint64_t{1} << 34) - 5}) {
    std::vector<T> y1(203), y2(203);
    expected.uniform(99, first, -1.0, 2.0, y1.data(), 203);
    got.uniform(99, first, -1.0, 2.0, y2.data(), 203);
    CHECK(same(y1, y2));
    expected.normal(99, first, 1.0, 2.0, y1.data(), 203);
    got.normal(99, first, 1.0, 2.0, y2.data(), 203);
    CHECK(same(y1, y2));
    expected.dropout_mask(99, first, 0.3, 1.5, y1.data(), 203);
    got.dropout_mask(99, first, 0.3, 1.5, y2.data(), 203);
    CHECK(same(y1, y2));
  }
}

template <class T>
void check_arg(const ArgLoop& expected, const ArgLoop& got) {
  for (const i64 n : {i64{1}, i64{3}, i64{64}, i64{500}}) {
    const auto size = static_cast<size_t>(n);
    const std::vector<T> x = varied_values<T>(size, 7), y = varied_values<T>(size, 8);
    CHECK(expected.row(x.data(), n) == got.row(x.data(), n));
    std::vector<T> best1 = x, best2 = x;
    std::vector<int64_t> place1(size), place2(size);
    expected.columns(y.data(), n, 1, best1.data(), place1.data());
    got.columns(y.data(), n, 1, best2.data(), place2.data());
    CHECK(same(best1, best2));
    CHECK(place1 == place2);
  }
}

/// Elements of a dtype as bytes: random bits for 16-bit types, numbers for the others.
std::vector<unsigned char> elements(int dtype, size_t n) {
  const auto bytes = [n](const auto& v) {
    std::vector<unsigned char> result(n * sizeof(v[0]));
    std::memcpy(result.data(), v.data(), result.size());
    return result;
  };
  std::mt19937_64 generator(9);
  std::vector<float> floats = varied_values<float>(n, 10);
  std::vector<double> doubles = varied_values<double>(n, 11);
  for (float& v : floats) v = std::abs(v) < 1e8f ? v : 3.0f;  // conversions to integers need a value that fits
  for (double& v : doubles) v = std::abs(v) < 1e8 ? v : 3.0;
  switch (dtype) {
    case 0: {
      std::vector<uint8_t> v(n);
      for (auto& b : v) b = static_cast<uint8_t>(generator() % 2);
      return bytes(v);
    }
    case 1:
    case 2: {
      std::vector<uint8_t> v(n);
      for (auto& b : v) b = static_cast<uint8_t>(generator());
      return bytes(v);
    }
    case 3: {
      std::vector<int32_t> v(n);
      for (auto& b : v) b = static_cast<int32_t>(generator());
      return bytes(v);
    }
    case 4:
      return bytes(varied_values<int64_t>(n, 12));
    case 5:
    case 6: {
      std::vector<uint16_t> v(n);
      for (size_t i = 0; i < n; ++i) v[i] = static_cast<uint16_t>(i * 61 % 0x4700);  // to numbers that fit
      return bytes(v);
    }
    case 7:
      return bytes(floats);
    default:
      return bytes(doubles);
  }
}

/// All bit patterns of a 16-bit type.
std::vector<unsigned char> every_half() {
  std::vector<unsigned char> result;
  for (unsigned i = 0; i < 0x10000; ++i) {
    result.push_back(static_cast<unsigned char>(i & 0xff));
    result.push_back(static_cast<unsigned char>(i >> 8));
  }
  return result;
}

void check_convert(const ConvertLoops& expected, const ConvertLoops& got) {
  constexpr size_t kItemSizes[] = {1, 1, 1, 4, 8, 2, 2, 4, 8};
  for (int from = 0; from < ConvertLoops::kCount; ++from) {
    for (int to = 0; to < ConvertLoops::kCount; ++to) {
      CAPTURE(from);
      CAPTURE(to);
      const bool widens_half = (from == 5 || from == 6) && (to == 7 || to == 8);
      const size_t n = widens_half ? 0x10000 : 777;
      const std::vector<unsigned char> x = widens_half ? every_half() : elements(from, n);
      std::vector<unsigned char> y1(n * kItemSizes[to]), y2 = y1;
      expected.loop[from][to](x.data(), y1.data(), static_cast<i64>(n));
      got.loop[from][to](x.data(), y2.data(), static_cast<i64>(n));
      CHECK(y1 == y2);
    }
  }
}

template <class T>
void check_gemm(Gemm expected, Gemm got) {
  for (const auto& size : {std::array<i64, 3>{1, 1, 1}, {1, 37, 100}, {5, 17, 33}, {16, 64, 300}, {40, 70, 9}}) {
    const i64 m = size[0], n = size[1], k = size[2];
    for (int layout = 0; layout < 4; ++layout) {
      CAPTURE(m);
      CAPTURE(n);
      CAPTURE(k);
      CAPTURE(layout);
      const bool a_along_k = layout % 2 == 0, b_along_n = layout / 2 == 0;
      const std::vector<T> a = varied_values<T>(static_cast<size_t>(m * k), 20),
                           b = varied_values<T>(static_cast<size_t>(k * n), 21);
      const std::vector<T> bias = varied_values<T>(static_cast<size_t>(n), 22);
      std::vector<T> c1(static_cast<size_t>(m * n)), c2 = c1;
      alignas(64) static char workspace[kGemmWorkspace];
      const auto run = [&](Gemm gemm, std::vector<T>& c) {
        gemm({m, n, k, a.data(), a_along_k ? k : 1, a_along_k ? 1 : m, b.data(), b_along_n ? n : 1, b_along_n ? 1 : k,
              c.data(), n, bias.data(), workspace});
      };
      run(expected, c1);
      run(got, c2);
      CHECK(same(c1, c2));
    }
  }
}

template <class T>
void check_step(StepLoop expected, StepLoop got, i64 arrays) {
  const double numbers[16] = {0.9, 0.999, 1e-3, 1e-8, 0.1, 0.5, 0.25, 1e-2, 0.95, 0.7, 0.3, 0.2, 0.6, 0.4, 0.8, 1.5};
  const size_t n = 333;
  const std::vector<T> gradient = varied_values<T>(n, 30);
  std::vector<std::vector<T>> states[2];
  for (int side = 0; side < 2; ++side) {
    std::vector<void*> pointers;
    for (i64 i = 0; i < arrays; ++i) states[side].push_back(varied_values<T>(n, 31 + static_cast<unsigned>(i)));
    for (auto& state : states[side]) pointers.push_back(state.data());
    (side == 0 ? expected : got)(numbers, gradient.data(), 0.75, pointers.data(), static_cast<i64>(n));
  }
  for (i64 i = 0; i < arrays; ++i) CHECK(same(states[0][static_cast<size_t>(i)], states[1][static_cast<size_t>(i)]));
}

#define KUSARI_NAME(Op) kernels::Op::kName,

}  // namespace

TEST_CASE("isa: pointwise loops give the same bits in every instruction set") {
  for_each_entry(v1::arithmetic_loops(), v3::arithmetic_loops(), v4::arithmetic_loops(),
                 {KUSARI_ARITHMETIC_OPS(KUSARI_NAME)}, check_pointwise_loops);
  for_each_entry(v1::math_function_loops(), v3::math_function_loops(), v4::math_function_loops(),
                 {KUSARI_PLAIN_FUNCTION_OPS(KUSARI_NAME)}, check_pointwise_loops);
  for_each_entry(v1::scalar_function_loops(), v3::scalar_function_loops(), v3::scalar_function_loops(),
                 {KUSARI_SCALAR_FUNCTION_OPS(KUSARI_NAME)}, check_pointwise_loops);
  for_each_entry(v1::comparison_loops(), v3::comparison_loops(), v4::comparison_loops(),
                 {KUSARI_COMPARISON_OPS(KUSARI_NAME)}, check_pointwise_loops);
  for_each_entry(v1::activation_loops(), v3::activation_loops(), v4::activation_loops(),
                 {KUSARI_ACTIVATION_OPS(KUSARI_NAME)}, check_pointwise_loops);
}

TEST_CASE("isa: reductions give the same bits in every instruction set") {
  for_each_entry(v1::reduction_loops(), v3::reduction_loops(), v4::reduction_loops(), {KUSARI_REDUCTIONS(KUSARI_NAME)},
                 [](const ReductionLoops& expected, const ReductionLoops& got) {
                   check_reduction<float>(expected.f32, got.f32);
                   check_reduction<double>(expected.f64, got.f64);
                   check_reduction<int64_t>(expected.i64, got.i64);
                 });
  for_each_entry(v1::arg_loops(), v3::arg_loops(), v4::arg_loops(), {"arg"},
                 [](const ArgLoops& expected, const ArgLoops& got) {
                   check_arg<float>(expected.max_f32, got.max_f32);
                   check_arg<double>(expected.max_f64, got.max_f64);
                   check_arg<int64_t>(expected.max_i64, got.max_i64);
                   check_arg<float>(expected.min_f32, got.min_f32);
                   check_arg<double>(expected.min_f64, got.min_f64);
                   check_arg<int64_t>(expected.min_i64, got.min_i64);
                 });
}

TEST_CASE("isa: NaN wins in max and min in every place and instruction set") {
  const std::vector<std::string> names{KUSARI_REDUCTIONS(KUSARI_NAME)};
  for (const bool largest : {true, false}) {
    CAPTURE(largest);
    const auto at = std::find(names.begin(), names.end(), largest ? "max" : "min") - names.begin();
    std::vector<const ReductionLoops*> tables{v1::reduction_loops()};
    if (best_isa() >= Isa::v3) tables.push_back(v3::reduction_loops());
    if (best_isa() >= Isa::v4) tables.push_back(v4::reduction_loops());
    for (const ReductionLoops* table : tables) {
      check_nan_wins<float>(table[at].f32, largest);
      check_nan_wins<double>(table[at].f64, largest);
    }
  }
}

TEST_CASE("isa: softmax, random numbers and conversions give the same bits in every instruction set") {
  for_each_entry(v1::softmax_loops(), v3::softmax_loops(), v4::softmax_loops(), {"softmax"},
                 [](const SoftmaxLoops& expected, const SoftmaxLoops& got) {
                   check_softmax<float>(expected.f32, got.f32);
                   check_softmax<double>(expected.f64, got.f64);
                 });
  for_each_entry(v1::pixel_normalization_loops(), v3::pixel_normalization_loops(), v4::pixel_normalization_loops(),
                 {"normalization"}, [](const PixelNormalizationLoops& expected, const PixelNormalizationLoops& got) {
                   check_pixel_normalization<float>(expected.f32, got.f32);
                   check_pixel_normalization<double>(expected.f64, got.f64);
                 });
  for_each_entry(v1::random_loops(), v3::random_loops(), v4::random_loops(), {"random"},
                 [](const RandomLoops& expected, const RandomLoops& got) {
                   check_random<float>(expected.f32, got.f32);
                   check_random<double>(expected.f64, got.f64);
                 });
  for_each_entry(v1::convert_loops(), v3::convert_loops(), v4::convert_loops(), {"convert"}, check_convert);
}

TEST_CASE("isa: matrix products and optimizer steps give the same bits in every instruction set") {
  for_each_entry(v1::gemm_loops(), v3::gemm_loops(), v4::gemm_loops(), {"gemm"},
                 [](const GemmLoops& expected, const GemmLoops& got) {
                   check_gemm<float>(expected.f32, got.f32);
                   check_gemm<double>(expected.f64, got.f64);
                 });
  for_each_entry(v1::step_loops(), v3::step_loops(), v4::step_loops(), {KUSARI_OPTIMIZER_STEPS(KUSARI_NAME)},
                 [](const StepLoops& expected, const StepLoops& got) {
                   check_step<float>(expected.f32, got.f32, expected.arrays);
                   check_step<double>(expected.f64, got.f64, expected.arrays);
                 });
  std::vector<float> x = varied_values<float>(5000, 40);
  for (float& v : x) v = v - v == 0.0f ? v : 2.0f;  // finite, so that the sums are
  const auto sum = v1::square_sum_loops()->f32(x.data(), 4999);
  if (best_isa() >= Isa::v3) CHECK(v3::square_sum_loops()->f32(x.data(), 4999) == sum);
  if (best_isa() >= Isa::v4) CHECK(v4::square_sum_loops()->f32(x.data(), 4999) == sum);
}

TEST_CASE("isa: random loops draw from philox_block") {
  float y[64];
  v1::random_loops()->f32.uniform(0x123456789abcdefull, 5, 0.0, 1.0, y, 64);
  for (uint64_t i = 0; i < 64; ++i) {
    CHECK(y[i] == static_cast<float>(philox_word(0x123456789abcdefull, 5 + i) >> 8) * 0x1p-24f);
  }
}

#endif

TEST_CASE("philox: known answers of Random123") {
  // kat_vectors of Random123 1.14 for philox4x32-10 with the counters that a stream reaches: (low, high, plane, 0).
  const kusari::PhiloxBlock zero = kusari::philox_block(0, 0);
  const unsigned int expected[] = {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u};
  for (int i = 0; i < 4; ++i) CHECK(zero.word[i] == expected[i]);
}
