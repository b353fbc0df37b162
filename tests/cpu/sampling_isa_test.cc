// The sampling loops of each instruction set give the same bits.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kusari/framework/core/philox.h"
#include "kusari/framework/cpu/isa/sampling.h"
#include "kusari/tests/cpu/skip_below.h"

#if defined(__x86_64__)

namespace kusari::cpu {
namespace {

template <class T>
std::vector<T> sampled_numbers(i64 n, uint64_t seed) {
  std::vector<T> all;
  for (i64 i = 0; i < n; ++i)
    all.push_back(static_cast<T>(philox_word(seed, static_cast<uint64_t>(i)) * 0x1p-32 - 0.5));
  return all;
}

/// What every loop makes of the same input, one result after the other.
template <class T>
std::vector<T> sampling_results(const SamplingLoop& loop, i64 c) {
  constexpr i64 kPixels = 9, kNew = 13;
  const std::vector<T> x = sampled_numbers<T>(kPixels * c, 1), y = sampled_numbers<T>(kNew * c, 2),
                       weight = sampled_numbers<T>(kNew, 3);
  std::vector<i64> left, right;
  std::vector<T> share;
  for (i64 i = 0; i < kNew; ++i) {
    left.push_back(i * (kPixels - 1) / kNew);
    right.push_back(left.back() + 1);
    share.push_back(i % 4 == 0 ? T(0) : std::abs(weight[static_cast<size_t>(i)]));
  }
  const void* const corners[] = {x.data(), x.data() + c, x.data() + 3 * c, x.data() + 4 * c};
  std::vector<T> all(static_cast<size_t>(c), T(0)), sum = x, resized(static_cast<size_t>(kNew * c)), mixed(all), gx = x;
  T dots[4];
  loop.blend(x.data(), y.data(), 0.3, all.data(), c);
  loop.add_scaled(y.data(), 0.7, sum.data(), kPixels * c);
  loop.resize_row(x.data(), left.data(), right.data(), share.data(), resized.data(), kNew, c);
  loop.resize_row_grad(y.data(), left.data(), right.data(), share.data(), gx.data(), kNew, c);
  loop.mix(corners, share.data(), mixed.data(), c);
  loop.dots(corners, y.data(), dots, c);
  for (const auto& part : {sum, resized, gx, mixed, std::vector<T>(dots, dots + 4)}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

template <class T>
void check_same_samples(const SamplingLoop& expected, const SamplingLoop& got) {
  for (const i64 c : {1, 3, 5, 8, 16, 37, 130}) {
    CAPTURE(c);
    const std::vector<T> a = sampling_results<T>(expected, c), b = sampling_results<T>(got, c);
    CHECK(std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
  }
}

TEST_CASE("isa: sampling gives the same bits with AVX2" * doctest::test_suite("needs AVX2")) {
  KUSARI_SKIP_BELOW(v3);
  check_same_samples<float>(v1::sampling_loops()->f32, v3::sampling_loops()->f32);
  check_same_samples<double>(v1::sampling_loops()->f64, v3::sampling_loops()->f64);
}
TEST_CASE("isa: sampling gives the same bits with AVX-512" * doctest::test_suite("needs AVX-512")) {
  KUSARI_SKIP_BELOW(v4);
  check_same_samples<float>(v1::sampling_loops()->f32, v4::sampling_loops()->f32);
  check_same_samples<double>(v1::sampling_loops()->f64, v4::sampling_loops()->f64);
}

}  // namespace
}  // namespace kusari::cpu

#endif
