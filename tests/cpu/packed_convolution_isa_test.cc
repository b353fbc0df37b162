// The loops of packed and depthwise convolutions, which must give the same bits in each instruction set. Linked to the
// objects themselves: the library hides them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "kusari/framework/cpu/isa/depthwise.h"
#include "kusari/framework/cpu/isa/packed_convolution.h"
#include "kusari/framework/cpu/isa/vnni_packed_convolution.h"
#include "kusari/tests/cpu/skip_below.h"

#if defined(__x86_64__)

using namespace kusari::cpu;

namespace {

constexpr int64_t kBatch = 2, kHeight = 7, kWidth = 9;

std::vector<float> packed_noise(int64_t n, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(static_cast<size_t>(n));
  for (float& value : values) value = uniform(generator);
  return values;
}
template <class T>
std::vector<T> packed_integers(int64_t n, unsigned seed, int low, int high) {
  std::mt19937 generator(seed);
  std::uniform_int_distribution<int> uniform(low, high);
  std::vector<T> values(static_cast<size_t>(n));
  for (T& value : values) value = static_cast<T>(uniform(generator));
  return values;
}

PackedConvolution packed_call(int64_t depth, int64_t outs, int64_t stride) {
  PackedConvolution call = {};
  call.height = kHeight;
  call.width = kWidth;
  for (int i = 0; i < 2; ++i) {
    call.kernel[i] = 3;
    call.stride[i] = stride;
    call.pad[i] = call.dilate[i] = 1;
  }
  call.out_height = (kHeight - 1) / stride + 1;
  call.out_width = (kWidth - 1) / stride + 1;
  call.depth = call.x_step = depth;
  call.x_line = kWidth * depth;
  call.x_image = kHeight * call.x_line;
  call.outs = call.y_step = outs;
  return call;
}

int64_t positions_of(const PackedConvolution& call) { return kBatch * call.out_height * call.out_width; }

// y of a call with all that can follow the sums.
std::vector<float> run_packed(const PackedConvolutionLoops& loops, PackedConvolutionRun run, PackedConvolution call) {
  const std::vector<float> bias = packed_noise(call.outs, 3), z = packed_noise(positions_of(call) * call.outs, 4);
  std::vector<float> y(static_cast<size_t>(positions_of(call) * call.outs));
  call.bias = bias.data();
  call.z = z.data();
  call.y = y.data();
  call.range = {ResultCut::clipped_relu, 0, 1.5f};
  const int64_t panels = (call.outs + loops.columns - 1) / loops.columns;
  std::vector<const void*> addresses(static_cast<size_t>((positions_of(call) + 2 * loops.rows) * 9));
  run(call, 0, positions_of(call), 0, panels, addresses.data());
  return y;
}

std::vector<float> packed_results(const PackedConvolutionLoops& loops, int64_t depth, int64_t outs, int64_t stride) {
  PackedConvolution call = packed_call(depth, outs, stride);
  const std::vector<float> x = packed_noise(kBatch * call.x_image, 1), w = packed_noise(outs * 9 * depth, 2);
  const std::vector<float> zeros(static_cast<size_t>(depth));
  const int64_t panels = (outs + loops.columns - 1) / loops.columns;
  std::vector<float> packed(static_cast<size_t>(panels * loops.columns * 9 * depth));
  loops.pack(w.data(), 9 * depth, outs, 0, panels, packed.data());
  call.x = x.data();
  call.w = packed.data();
  call.zeros = zeros.data();
  return run_packed(loops, loops.run, call);
}

// The sums of `per` integers in each element, and what they are by a plain loop.
struct IntegerResults {
  std::vector<float> found, expected;
  std::vector<unsigned char> rounded, expected_rounded;
};

template <class X, class W>
IntegerResults integer_results(const PackedConvolutionLoops& loops, PackedConvolutionRun run, int64_t depth,
                               int64_t outs, int64_t stride) {
  constexpr int64_t kPer = 4 / int64_t{sizeof(X)};
  constexpr int kOutside = sizeof(X) == 1 ? 7 : 0;
  PackedConvolution call = packed_call(depth, outs, stride);
  const std::vector<X> x = packed_integers<X>(kBatch * call.x_image * kPer, 5, sizeof(X) == 1 ? 0 : -255, 255);
  const std::vector<W> w = packed_integers<W>(outs * 9 * depth * kPer, 6, -127, 127);
  const std::vector<X> outside(static_cast<size_t>(depth * kPer), X{kOutside});
  const std::vector<float> scale = packed_noise(outs, 7);
  std::vector<int> start;
  for (int o = 0; o < outs; ++o) start.push_back(100 * o);
  const int64_t terms = 9 * depth, panels = (outs + loops.columns - 1) / loops.columns;
  std::vector<W> packed(static_cast<size_t>(panels * loops.columns * terms * kPer));
  for (int64_t o = 0; o < outs; ++o) {
    const int64_t panel = o / loops.columns, left = outs - panel * loops.columns;
    const int64_t row = left <= loops.narrow_columns ? loops.narrow_columns : loops.columns;
    for (int64_t k = 0; k < terms; ++k) {
      for (int64_t part = 0; part < kPer; ++part) {
        packed[static_cast<size_t>((panel * loops.columns * terms + k * row + o % loops.columns) * kPer + part)] =
            w[static_cast<size_t>((o * terms + k) * kPer + part)];
      }
    }
  }
  call.x = x.data();
  call.w = packed.data();
  call.zeros = outside.data();
  call.scale = scale.data();
  call.start = start.data();
  IntegerResults results;
  results.found = run_packed(loops, run, call);
  const auto count = static_cast<size_t>(positions_of(call) * outs);
  constexpr float kScale = 0.0113f;
  results.rounded.resize(count);
  const PackedRounding rounding = {results.rounded.data(), outs, kScale, 1 / kScale, 3, 0, 100, 0};
  call.rounding = &rounding;
  run_packed(loops, run, call);
  const std::vector<float> bias = packed_noise(outs, 3), z = packed_noise(positions_of(call) * outs, 4);
  for (int64_t place = 0; place < positions_of(call); ++place) {
    const int64_t image = place / (call.out_height * call.out_width), at = place % (call.out_height * call.out_width);
    for (int64_t o = 0; o < outs; ++o) {
      int64_t sum = start[static_cast<size_t>(o)];
      for (int64_t tap = 0; tap < 9; ++tap) {
        const int64_t line = at / call.out_width * stride - 1 + tap / 3,
                      column = at % call.out_width * stride - 1 + tap % 3;
        const bool is_inside = line >= 0 && line < kHeight && column >= 0 && column < kWidth;
        for (int64_t k = 0; k < kPer * depth; ++k) {
          const int64_t from = (image * call.x_image + line * call.x_line + column * depth) * kPer + k;
          sum += (is_inside ? x[static_cast<size_t>(from)] : kOutside) *
                 w[static_cast<size_t>((o * terms + tap * depth) * kPer + k)];
        }
      }
      const float value = static_cast<float>(sum) * scale[static_cast<size_t>(o)] + bias[static_cast<size_t>(o)] +
                          z[static_cast<size_t>(place * outs + o)];
      results.expected.push_back(std::min(std::max(value, 0.0f), 1.5f));
      results.expected_rounded.push_back(
          static_cast<unsigned char>(std::min(std::nearbyint(results.expected.back() / kScale) + 3, 100.0f)));
    }
  }
  return results;
}

template <class X, class W>
void check_integers(const PackedConvolutionLoops& loops, PackedConvolutionRun run, int64_t depth, int64_t outs,
                    int64_t stride) {
  const IntegerResults results = integer_results<X, W>(loops, run, depth, outs, stride);
  CHECK(results.found == results.expected);
  CHECK(results.rounded == results.expected_rounded);
}

// Multiples of a scale, many of them in the middle between two integers of the results' scale or beside it.
void check_rounding(const PackedConvolutionLoops& loops) {
  constexpr int64_t kCount = 800;
  PackedConvolution call = {};
  call.height = call.out_height = 1;
  call.width = call.out_width = kCount;
  for (int i = 0; i < 2; ++i) call.kernel[i] = call.stride[i] = call.dilate[i] = 1;
  call.depth = call.x_step = call.outs = call.y_step = 1;
  call.x_line = call.x_image = kCount;
  std::vector<int16_t> x, w(static_cast<size_t>(loops.columns) * 2);
  for (int64_t i = 0; i < kCount; ++i) {
    x.push_back(static_cast<int16_t>(i - kCount / 2));
    x.push_back(0);
  }
  w[0] = 1;
  const std::vector<int16_t> outside(2);
  std::vector<float> y(kCount);
  std::vector<unsigned char> q(kCount), expected(kCount);
  std::vector<const void*> addresses(static_cast<size_t>(kCount + 2 * loops.rows));
  call.x = x.data();
  call.w = w.data();
  call.zeros = outside.data();
  call.y = y.data();
  std::mt19937 generator(1);
  std::uniform_real_distribution<float> uniform(1, 2);
  for (const float size : {1e-25f, 1e-3f, 1.0f, 1e25f}) {
    for (int round = 0; round < 200; ++round) {
      const float scale = uniform(generator) * size;
      const float exact = scale * static_cast<float>(2 << (round % 3));
      for (const float y_scale : {exact, std::nextafter(exact, 0.0f), std::nextafter(exact, 1e30f), 3 * exact}) {
        const PackedRounding rounding = {q.data(), 1, y_scale, 1 / y_scale, 128, 0, 255, 0};
        call.scale = &scale;
        call.rounding = &rounding;
        loops.run_pairs(call, 0, kCount, 0, 1, addresses.data());
        for (int64_t i = 0; i < kCount; ++i) {
          const float value = static_cast<float>(i - kCount / 2) * scale;
          expected[static_cast<size_t>(i)] =
              static_cast<unsigned char>(std::clamp(std::nearbyint(value / y_scale) + 128, 0.0f, 255.0f));
        }
        CAPTURE(scale);
        CAPTURE(y_scale);
        REQUIRE(q == expected);
      }
    }
  }
}

std::vector<float> depthwise_results(const DepthwiseLoops<float>& loops, int64_t channels, int64_t kernel,
                                     int64_t stride, int64_t dilate) {
  constexpr int64_t kLineWidth = 23;
  const int64_t pad = kernel / 2, outs = (kLineWidth + 2 * pad - (kernel - 1) * dilate - 1) / stride + 1;
  std::vector<std::vector<float>> x;
  std::vector<const float*> lines;
  for (unsigned i = 0; i < 3; ++i) x.push_back(packed_noise(kLineWidth * channels, 10 + i));
  for (const std::vector<float>& numbers : x) lines.push_back(numbers.data());
  const std::vector<float> w = packed_noise(4 * kernel * channels, 20);
  std::vector<float> packed(static_cast<size_t>((channels + loops.lanes) * 4 * kernel));
  loops.pack(w.data(), channels, 4 * kernel, packed.data());
  const std::vector<float> bias = packed_noise(channels, 30), z = packed_noise(outs * channels, 31);
  std::vector<float> y(static_cast<size_t>(outs * channels));
  DepthwiseLine<float> line = {};
  line.channels = channels;
  line.width = kLineWidth;
  line.out_width = outs;
  line.kernel = kernel;
  line.stride = stride;
  line.pad = pad;
  line.dilate = dilate;
  line.kernel_lines = 4;
  line.first_line = 1;
  line.lines = 3;
  line.x = lines.data();
  line.w = packed.data();
  line.bias = bias.data();
  line.z = z.data();
  line.y = y.data();
  line.range = {ResultCut::clip, -0.5f, 0.75f};
  loops.line(line);
  return y;
}

void check_same(const PackedConvolutionLoops& packed, const DepthwiseLoops<float>& depthwise) {
  for (const int64_t depth : {1, 5, 64, 300}) {
    for (const int64_t outs : {1, 7, 16, 24, 33, 64}) {
      for (const int64_t stride : {1, 2}) {
        CAPTURE(depth);
        CAPTURE(outs);
        CAPTURE(stride);
        CHECK(packed_results(packed, depth, outs, stride) ==
              packed_results(*v1::packed_convolution_loops(), depth, outs, stride));
        check_integers<int16_t, int16_t>(packed, packed.run_pairs, depth, outs, stride);
      }
    }
  }
  for (const int64_t channels : {1, 8, 20, 35, 96}) {
    for (const int64_t kernel : {1, 3, 5, 7}) {
      for (const int64_t stride : {1, 2, 3}) {
        for (const int64_t dilate : {1, 2}) {
          CAPTURE(channels);
          CAPTURE(kernel);
          CAPTURE(stride);
          CAPTURE(dilate);
          CHECK(depthwise_results(depthwise, channels, kernel, stride, dilate) ==
                depthwise_results(*v1::depthwise_loops(), channels, kernel, stride, dilate));
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("isa: pairs of integers are summed exactly") {
  for (const int64_t depth : {1, 6, 150}) {
    for (const int64_t outs : {3, 16, 40}) {
      const PackedConvolutionLoops& loops = *v1::packed_convolution_loops();
      check_integers<int16_t, int16_t>(loops, loops.run_pairs, depth, outs, 1);
    }
  }
  check_rounding(*v1::packed_convolution_loops());
}
TEST_CASE("isa: packed and depthwise convolutions give the same bits with AVX2" * doctest::test_suite("needs AVX2")) {
  KUSARI_SKIP_BELOW(v3);
  check_same(*v3::packed_convolution_loops(), *v3::depthwise_loops());
  check_rounding(*v3::packed_convolution_loops());
}
TEST_CASE("isa: packed and depthwise convolutions give the same bits with AVX-512" *
          doctest::test_suite("needs AVX-512")) {
  KUSARI_SKIP_BELOW(v4);
  check_same(*v4::packed_convolution_loops(), *v4::depthwise_loops());
  check_rounding(*v4::packed_convolution_loops());
}

TEST_CASE("isa: four integers of 8 bits are summed exactly" * doctest::test_suite("needs AVX-512")) {
  KUSARI_SKIP_BELOW(v4_vnni);
  for (const int64_t depth : {1, 5, 64, 300}) {
    for (const int64_t outs : {1, 7, 16, 24, 33, 64}) {
      for (const int64_t stride : {1, 2}) {
        CAPTURE(depth);
        CAPTURE(outs);
        CAPTURE(stride);
        check_integers<uint8_t, int8_t>(*v4::packed_convolution_loops(), v4_vnni::packed_convolution_of_bytes(), depth,
                                        outs, stride);
      }
    }
  }
}

#endif
