// The loops of batch normalization give the same bits in every instruction set; see isa_test.cc.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "kusari/framework/core/dtype.h"
#include "kusari/framework/core/philox.h"
#include "kusari/framework/cpu/isa/batch_normalization.h"
#include "kusari/tests/cpu/skip_below.h"

#if defined(__x86_64__)

using namespace kusari;
using namespace kusari::cpu;

namespace {

template <class S>
std::vector<S> batch_numbers(i64 n, uint64_t seed) {
  std::vector<S> result;
  for (i64 i = 0; i < n; ++i) {
    const double u = (philox_word(seed, static_cast<uint64_t>(i)) + 0.5) * 0x1p-32;
    result.push_back(convert_element<S>(4 * u - 1.5));
  }
  return result;
}

/// All that the loops write for `rows` rows of n channels, as bytes.
template <class S, class T>
std::string batch_normalization_results(const BatchNormLoops& loops, i64 rows, i64 n) {
  const i64 size = rows * n;
  const std::vector<S> x = batch_numbers<S>(size, 1), residual = batch_numbers<S>(size, 2),
                       y = batch_numbers<S>(size, 3), gy = batch_numbers<S>(size, 4);
  const std::vector<T> mean = batch_numbers<T>(n, 5), scale = batch_numbers<T>(n, 6), beta = batch_numbers<T>(n, 7),
                       offset = batch_numbers<T>(n, 8), slope = batch_numbers<T>(n, 9);
  std::vector<S> out(static_cast<size_t>(size)), masked(static_cast<size_t>(size));
  std::vector<T> shift(static_cast<size_t>(n)), sum(static_cast<size_t>(n)), square(static_cast<size_t>(n));
  const BatchNormBlock block{.rows = rows,
                             .channels = n,
                             .x = x.data(),
                             .residual = residual.data(),
                             .y = y.data(),
                             .gy = gy.data(),
                             .out = out.data(),
                             .masked = masked.data(),
                             .mean = mean.data(),
                             .scale = scale.data(),
                             .beta = beta.data(),
                             .offset = offset.data(),
                             .slope = slope.data(),
                             .shift = shift.data(),
                             .sum = sum.data(),
                             .square = square.data()};
  std::string bytes;
  const auto add = [&](const auto& values) {
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0]));
  };
  const auto run = [&](BatchNormLoop loop) {
    loop(block);
    add(out);
    add(masked);
    add(shift);
    add(sum);
    add(square);
  };
  run(loops.moments);
  for (const int residual_too : {0, 1}) {
    for (const int relu : {0, 1}) run(loops.apply[residual_too][relu]);
  }
  for (const BatchNormLoop loop : loops.sums) run(loop);
  for (const BatchNormLoop loop : loops.gradient) run(loop);
  for (const BatchNormLoop loop : loops.fixed_gradient) run(loop);

  const std::vector<T> part = batch_numbers<T>(3 * n, 10);
  std::vector<double> means = batch_numbers<double>(n, 11), deviations = batch_numbers<double>(n, 12);
  loops.channels.add_means(part.data(), rows, n, means.data());
  loops.channels.add_deviations(part.data(), rows, n, means.data(), deviations.data());
  loops.channels.add_sums(part.data(), n, means.data(), deviations.data());
  loops.channels.inverse_deviations(deviations.data(), 3, 10, sum.data(), n);
  add(means);
  add(deviations);
  add(sum);
  return bytes;
}

void compare(const BatchNormTable& expected, const BatchNormTable& got) {
  for (const i64 rows : {i64{1}, i64{8}, i64{21}}) {
    for (const i64 n : {i64{1}, i64{3}, i64{16}, i64{37}, i64{64}, i64{300}}) {
      CAPTURE(rows);
      CAPTURE(n);
      CHECK(batch_normalization_results<float16, float>(expected.f16, rows, n) ==
            batch_normalization_results<float16, float>(got.f16, rows, n));
      CHECK(batch_normalization_results<bfloat16, float>(expected.bf16, rows, n) ==
            batch_normalization_results<bfloat16, float>(got.bf16, rows, n));
      CHECK(batch_normalization_results<float, float>(expected.f32, rows, n) ==
            batch_normalization_results<float, float>(got.f32, rows, n));
      CHECK(batch_normalization_results<double, double>(expected.f64, rows, n) ==
            batch_normalization_results<double, double>(got.f64, rows, n));
    }
  }
}

}  // namespace

TEST_CASE("isa: batch normalization gives the same bits with AVX2" * doctest::test_suite("needs AVX2")) {
  KUSARI_SKIP_BELOW(v3);
  compare(*v1::batch_norm_loops(), *v3::batch_norm_loops());
}
TEST_CASE("isa: batch normalization gives the same bits with AVX-512" * doctest::test_suite("needs AVX-512")) {
  KUSARI_SKIP_BELOW(v4);
  compare(*v1::batch_norm_loops(), *v4::batch_norm_loops());
}

#endif
