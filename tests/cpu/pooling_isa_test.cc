// The loops of pooling give the same bits in each instruction set. Linked to the objects themselves: the library hides
// them.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "kusari/framework/core/dtype.h"
#include "kusari/framework/cpu/isa/pooling.h"
#include "kusari/tests/cpu/skip_below.h"

#if defined(__x86_64__)

using namespace kusari;
using namespace kusari::cpu;

namespace {

/// A window of five places, 3 x 2 without the last, over pixels in a row.
struct PoolingCase {
  explicit PoolingCase(int64_t n) : channels{n} {
    for (const int64_t place : {0, 1, 2, 3, 4}) {
      offset.push_back((place / 2 * 20 + place % 2) * channels);
      places.push_back(place);
    }
  }
  PoolingRun run() const {
    return {offset.data(), places.data(), 5, 2 * channels, 3 * channels, 2 * channels, 7, channels};
  }
  int64_t source_size() const { return (2 * 20 + 2 + 2 * 7) * channels; }
  int64_t target_size() const { return (3 + 2 * 7) * channels; }

  int64_t channels;
  std::vector<i64> offset, places;
};

template <class T>
std::vector<T> pooled_values(int64_t n) {
  std::mt19937 generator(static_cast<unsigned>(n));
  std::vector<T> result(static_cast<size_t>(n));
  for (T& value : result) {
    float number = static_cast<float>(static_cast<int>(generator() % 7) - 3) / 3;
    if (generator() % 29 == 0) number = std::nanf("");
    if (generator() % 31 == 0) number = -INFINITY;
    value = convert_element<T>(number);
  }
  return result;
}

template <class T, class Index>
void check_pooling_loop(const PoolingLoop& expected, const PoolingLoop& got, int entry) {
  for (const int64_t channels : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 200}) {
    CAPTURE(channels);
    const PoolingCase c(channels);
    const PoolingRun run = c.run();
    const size_t targets = static_cast<size_t>(c.target_size()), sources = static_cast<size_t>(c.source_size());
    const std::vector<T> x = pooled_values<T>(c.source_size());
    std::vector<Index> index(sources);
    for (size_t i = 0; i < sources; ++i) index[i] = static_cast<Index>(i * 7 % 6);
    struct Results {
      std::vector<T> y, alone, picked, gx, sum;
      std::vector<Index> index;
    };
    const auto all = [&](const PoolingLoop& loop) {
      Results r{std::vector<T>(targets), std::vector<T>(targets), std::vector<T>(targets),
                std::vector<T>(targets), std::vector<T>(targets), std::vector<Index>(targets)};
      loop.max[entry](run, x.data(), r.y.data(), r.index.data());
      loop.max_alone(run, x.data(), r.alone.data());
      loop.pick[entry](run, x.data(), index.data(), r.picked.data());
      loop.grad[entry](run, x.data(), index.data(), r.gx.data());
      loop.sum(run, x.data(), 5, r.sum.data());
      return r;
    };
    const Results a = all(expected), b = all(got);
    const auto same = [](const auto& p, const auto& q) {
      return std::memcmp(p.data(), q.data(), p.size() * sizeof(p[0])) == 0;
    };
    CHECK(same(a.y, b.y));
    CHECK(same(a.index, b.index));
    CHECK(same(a.alone, b.alone));
    CHECK(same(a.picked, b.picked));
    CHECK(same(a.gx, b.gx));
    CHECK(same(a.sum, b.sum));
  }
}

void check_pooling_loops(const PoolingLoops& expected, const PoolingLoops& got) {
  check_pooling_loop<float16, uint8_t>(expected.f16, got.f16, 0);
  check_pooling_loop<float16, int32_t>(expected.f16, got.f16, 1);
  check_pooling_loop<bfloat16, uint8_t>(expected.bf16, got.bf16, 0);
  check_pooling_loop<bfloat16, int32_t>(expected.bf16, got.bf16, 1);
  check_pooling_loop<float, uint8_t>(expected.f32, got.f32, 0);
  check_pooling_loop<float, int32_t>(expected.f32, got.f32, 1);
  check_pooling_loop<double, uint8_t>(expected.f64, got.f64, 0);
  check_pooling_loop<double, int32_t>(expected.f64, got.f64, 1);
}

TEST_CASE("isa: pooling is the same with AVX2" * doctest::test_suite("needs AVX2")) {
  KUSARI_SKIP_BELOW(v3);
  check_pooling_loops(*v1::pooling_loops(), *v3::pooling_loops());
}
TEST_CASE("isa: pooling is the same with AVX-512" * doctest::test_suite("needs AVX-512")) {
  KUSARI_SKIP_BELOW(v4);
  check_pooling_loops(*v1::pooling_loops(), *v4::pooling_loops());
}

}  // namespace

#endif
