// The loops of convolution do what plain loops do, with the same bits in each instruction set. Linked to the objects
// themselves: the library hides them.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kusari/framework/core/philox.h"
#include "kusari/framework/cpu/isa/convolution.h"
#include "kusari/tests/cpu/skip_below.h"

#if defined(__x86_64__)

using namespace kusari;
using namespace kusari::cpu;

namespace {

template <class T>
std::vector<T> row_numbers(int64_t n, uint64_t seed) {
  std::vector<T> values(static_cast<size_t>(n));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(philox_word(seed, i)) * T(0x1p-31) - T(1);
  return values;
}

constexpr i64 kRowSizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 19, 21, 31, 32, 33, 63, 64, 65, 71, 130};

template <class T>
void check_rows(const ConvolutionLoop& loop) {
  constexpr i64 kRows = 7;
  for (const i64 n : kRowSizes) {
    for (const i64 step : {n + 3, i64{6}, i64{1}}) {  // the last two make rows of `to` overlap
      CAPTURE(n);
      CAPTURE(step);
      const std::vector<T> from = row_numbers<T>(kRows * (n + 1), 1);
      const std::vector<T> old = row_numbers<T>(kRows * (step > n ? step : n) + n, 2);
      const auto at = [&](i64 row, i64 i) { return static_cast<size_t>(row * step + i); };
      std::vector<T> expected(old.begin(), old.end()), got = old, cleared = old, copied = old;
      // Elements of overlapping rows get up to n / step + 1 addends: compared with a tolerance.
      for (i64 row = 0; row < kRows; ++row) {
        for (i64 i = 0; i < n; ++i) expected[at(row, i)] += from[static_cast<size_t>(row * (n + 1) + i)];
      }
      loop.add(from.data(), n + 1, got.data(), step, kRows, n);
      for (size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(expected[i]).epsilon(1e-5).scale(1));
      if (step < n) continue;
      loop.clear(cleared.data(), step, kRows, n);
      loop.copy(from.data(), n + 1, copied.data(), step, kRows, n);
      for (i64 row = 0; row < kRows; ++row) {
        for (i64 i = 0; i < step; ++i) {
          CHECK(cleared[at(row, i)] == (i < n ? T(0) : old[at(row, i)]));
          CHECK(copied[at(row, i)] == (i < n ? from[static_cast<size_t>(row * (n + 1) + i)] : old[at(row, i)]));
        }
      }
    }
  }
}

template <class T>
void check_depthwise(const ConvolutionLoop& loop) {
  constexpr i64 kPositions = 4, kTaps = 3;
  for (const i64 channels : kRowSizes) {
    for (const i64 spacing : {1, 2}) {
      CAPTURE(channels);
      CAPTURE(spacing);
      const i64 step = 2 * channels * spacing, line = (2 * kPositions + 9) * channels * spacing;
      const std::vector<T> source = row_numbers<T>(line, 1), w = row_numbers<T>(kTaps * channels, 2);
      const std::vector<T> bias = row_numbers<T>(channels, 3);
      const i64 offsets[] = {0, channels * spacing, 7 * channels * spacing}, rows[] = {2 * channels, 0, channels};
      for (const bool has_bias : {false, true}) {
        std::vector<T> got(static_cast<size_t>(line), T(9)), expected = got;
        loop.depthwise({channels, kPositions, kTaps, source.data(), step, spacing, offsets, w.data(), rows,
                        has_bias ? bias.data() : nullptr, got.data(), channels * spacing, spacing});
        for (i64 i = 0; i < kPositions; ++i) {
          for (i64 c = 0; c < channels; ++c) {
            volatile T sum = has_bias ? bias[static_cast<size_t>(c)] : T(0);  // each product is rounded by itself
            for (i64 t = 0; t < kTaps; ++t) {
              volatile T product = source[static_cast<size_t>(i * step + offsets[t] + c * spacing)] *
                                   w[static_cast<size_t>(rows[t] + c)];
              sum = sum + product;
            }
            expected[static_cast<size_t>((i * channels + c) * spacing)] = sum;
          }
        }
        CHECK(got == expected);
      }
      std::vector<T> acc = row_numbers<T>(channels, 4), expected = acc;
      loop.depthwise_filter(
          {channels, kPositions, source.data(), step, source.data() + 1, channels * spacing, spacing, acc.data()});
      for (i64 c = 0; c < channels; ++c) {
        volatile T sum = expected[static_cast<size_t>(c)];
        for (i64 i = 0; i < kPositions; ++i) {
          volatile T product =
              source[static_cast<size_t>(i * step + c)] * source[static_cast<size_t>(1 + (i * channels + c) * spacing)];
          sum = sum + product;
        }
        expected[static_cast<size_t>(c)] = sum;
      }
      CHECK(acc == expected);
    }
  }
}

void check_short_rows(const ConvolutionLoops& loops) {
  constexpr i64 kRows = 3;
  for (const i64 n : kRowSizes) {
    CAPTURE(n);
    const i64 step = n + 2;
    std::vector<unsigned short> from(static_cast<size_t>(kRows * (n + 1))),
        copied(static_cast<size_t>(kRows * step), 9);
    for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned short>(i + 100);
    std::vector<unsigned short> cleared = copied;
    loops.copy16(from.data(), n + 1, copied.data(), step, kRows, n);
    loops.clear16(cleared.data(), step, kRows, n);
    for (i64 row = 0; row < kRows; ++row) {
      for (i64 i = 0; i < step; ++i) {
        const auto at = static_cast<size_t>(row * step + i);
        CHECK(copied[at] == (i < n ? from[static_cast<size_t>(row * (n + 1) + i)] : 9));
        CHECK(cleared[at] == (i < n ? 0 : 9));
      }
    }
  }
}

void check_convolution_loops(const ConvolutionLoops& loops) {
  check_short_rows(loops);
  check_rows<float>(loops.f32);
  check_rows<double>(loops.f64);
  check_depthwise<float>(loops.f32);
  check_depthwise<double>(loops.f64);
}

}  // namespace

TEST_CASE("isa: the loops of convolution") { check_convolution_loops(*v1::convolution_loops()); }
TEST_CASE("isa: the loops of convolution with AVX2" * doctest::test_suite("needs AVX2")) {
  KUSARI_SKIP_BELOW(v3);
  check_convolution_loops(*v3::convolution_loops());
}
TEST_CASE("isa: the loops of convolution with AVX-512" * doctest::test_suite("needs AVX-512")) {
  KUSARI_SKIP_BELOW(v4);
  check_convolution_loops(*v4::convolution_loops());
}

#endif
