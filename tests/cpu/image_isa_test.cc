// The loops that scale and resample pixels, in each instruction set: the same bits. Linked to the objects themselves:
// the library hides them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kusari/framework/cpu/isa/image_batch.h"
#include "kusari/framework/cpu/isa/resampling.h"
#include "kusari/tests/cpu/skip_below.h"

#if defined(__x86_64__)

using namespace kusari::cpu;

namespace {

template <class T>
std::vector<T> noise(int64_t n, uint32_t state = 1) {
  std::vector<T> result(static_cast<size_t>(n));
  for (T& value : result) {
    state = state * 1664525 + 1013904223;
    value = static_cast<T>(state >> 24);
  }
  return result;
}

/// What a loop writes to a buffer with `guard` elements behind its end, which must stay as they are.
template <class T, class Write>
std::vector<T> written(int64_t n, const Write& write) {
  constexpr int64_t kGuard = 32;
  std::vector<T> result(static_cast<size_t>(n + kGuard), T(77));
  write(result.data());
  for (int64_t i = n; i < n + kGuard; ++i) REQUIRE(result[static_cast<size_t>(i)] == T(77));
  return result;
}

void check_image_loops(const ImageLoops& loops, const ImageLoops& plain) {
  for (const int64_t c : {1, 2, 3, 4, 5}) {
    for (const int64_t pixels : {1, 4, 5, 6, 15, 16, 17, 31, 100, 700}) {
      CAPTURE(c);
      CAPTURE(pixels);
      const int64_t n = pixels * c;
      const auto bytes = noise<uint8_t>(n);
      const auto numbers = noise<float>(n);
      const auto mean = noise<float>(c * kPixelGroup, 7);
      auto scale = noise<float>(c * kPixelGroup, 9);
      for (float& value : scale) value = 1 / (value + 1.5f);
      const auto scaled = [&]<class Y>(const ImageLoop& loop, const void* x, Y*) {
        return written<Y>(n, [&](Y* y) { loop.scale(x, mean.data(), scale.data(), y, n, c); });
      };
      const auto check = [&]<class Y>(const ImageLoop* loop, const ImageLoop* reference, Y* type) {
        CHECK(scaled(loop[0], bytes.data(), type) == scaled(reference[0], bytes.data(), type));
        CHECK(scaled(loop[1], numbers.data(), type) == scaled(reference[1], numbers.data(), type));
      };
      check(loops.to_float32, plain.to_float32, static_cast<float*>(nullptr));
      check(loops.to_float16, plain.to_float16, static_cast<uint16_t*>(nullptr));
      check(loops.to_bfloat16, plain.to_bfloat16, static_cast<uint16_t*>(nullptr));
      const auto mirrored =
          written<uint8_t>(n, [&](uint8_t* y) { loops.to_float32[0].reverse(bytes.data(), y, n, c); });
      for (int64_t i = 0; i < n; ++i) {
        const int64_t from = (pixels - 1 - i / c) * c + i % c;
        REQUIRE(mirrored[static_cast<size_t>(i)] == bytes[static_cast<size_t>(from)]);
      }
    }
  }
}

struct Plan {
  std::vector<int64_t> first, used;
  std::vector<int> weights;
  std::vector<ResamplingPair> pairs;
  ResamplingTaps taps;

  /// Weights of both signs whose sums leave 0 .. 255 at times.
  Plan(int64_t from, int64_t places, int64_t count) {
    const auto drawn = noise<uint8_t>(places * count, 3);
    for (int64_t i = 0; i < places; ++i) {
      const int64_t begin = i * from / places;
      first.push_back(begin);
      used.push_back(std::min(count - i % 2, from - begin));
      for (int64_t k = 0; k < count; ++k) {
        weights.push_back(k < used.back() ? (drawn[static_cast<size_t>(i * count + k)] - 90) * 15000 + 1234 : 0);
      }
      for (int64_t k = 0; k < count; k += 2) {
        const int* const w = weights.data() + i * count + k;
        const int a = w[0], b = k + 1 < count ? w[1] : 0;
        pairs.push_back({{static_cast<short>(a >> 11), static_cast<short>(b >> 11)},
                         {static_cast<short>(a & 2047), static_cast<short>(b & 2047)}});
      }
    }
    taps = {places, count, first.data(), used.data(), weights.data(), pairs.data()};
  }
};

void check_resampling(const ResamplingLoops& loops, const ResamplingLoops& plain) {
  for (const int64_t c : {1, 2, 3, 4, 5}) {
    for (const int64_t from : {1, 2, 3, 10, 61}) {
      for (const int64_t places : {1, 2, 10, 61}) {
        for (const int64_t count : {1, 2, 3, 6, 7}) {
          const Plan plan(from, places, count);
          const auto x = noise<uint8_t>(5 * (from * c + 1) - 1);
          const auto numbers = noise<float>(5 * (from * c + 1) - 1);
          const auto weights = noise<float>(places * count, 5);
          ResamplingTaps wide_taps = plan.taps;
          wide_taps.weight = weights.data();
          for (const int64_t rows : {1, 2, 5}) {
            const int64_t n = rows * (places * c + 2) - 2;
            const auto bytes = [&](const ResamplingLoop& loop) {
              return written<uint8_t>(n, [&](uint8_t* y) {
                loop.rows(x.data(), from * c + 1, from, y, places * c + 2, rows, &plan.taps, c);
              });
            };
            const auto wide = [&](const ResamplingLoop& loop) {
              return written<float>(n, [&](float* y) {
                loop.rows(numbers.data(), 4 * (from * c + 1), from, y, 4 * (places * c + 2), rows, &wide_taps, c);
              });
            };
            CHECK(bytes(loops.u8) == bytes(plain.u8));
            CHECK(wide(loops.f32) == wide(plain.f32));
          }
        }
      }
    }
  }
  for (const int64_t n : {1, 15, 16, 63, 64, 65, 200}) {
    const auto bytes = noise<uint8_t>(6 * (n + 3));
    const auto numbers = noise<float>(6 * (n + 3));
    const Plan plan(6, 1, 6);
    const auto weights = noise<float>(6);
    const auto column = [&](const ResamplingLoop& loop) {
      return written<uint8_t>(n, [&](uint8_t* y) { loop.column(bytes.data(), n + 3, plan.weights.data(), 6, y, n); });
    };
    const auto wide = [&](const ResamplingLoop& loop) {
      return written<float>(n, [&](float* y) { loop.column(numbers.data(), 4 * (n + 3), weights.data(), 6, y, n); });
    };
    CHECK(column(loops.u8) == column(plain.u8));
    CHECK(wide(loops.f32) == wide(plain.f32));
  }
}

}  // namespace

TEST_CASE("isa: pixels are scaled and mirrored") { check_image_loops(*v1::image_loops(), *v1::image_loops()); }
TEST_CASE("isa: pixels are scaled, mirrored and resampled alike with AVX2" * doctest::test_suite("needs AVX2")) {
  KUSARI_SKIP_BELOW(v3);
  check_image_loops(*v3::image_loops(), *v1::image_loops());
  check_resampling(*v3::resampling_loops(), *v1::resampling_loops());
}
TEST_CASE("isa: pixels are scaled, mirrored and resampled alike with AVX-512" * doctest::test_suite("needs AVX-512")) {
  KUSARI_SKIP_BELOW(v4);
  check_image_loops(*v4::image_loops(), *v1::image_loops());
  check_resampling(*v4::resampling_loops(), *v1::resampling_loops());
}

#endif
