// The loops of packed and depthwise convolutions, which must give the same bits in each instruction set. Linked to the
// objects themselves: the library hides them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "kusari/framework/cpu/isa/depthwise.h"
#include "kusari/framework/cpu/isa/packed_convolution.h"
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
std::vector<int16_t> packed_integers(int64_t n, unsigned seed, int low, int high) {
  std::mt19937 generator(seed);
  std::uniform_int_distribution<int> uniform(low, high);
  std::vector<int16_t> values(static_cast<size_t>(n));
  for (int16_t& value : values) value = static_cast<int16_t>(uniform(generator));
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
std::vector<float> run_packed(const PackedConvolutionLoops& loops, PackedConvolution call, bool pairs) {
  const std::vector<float> bias = packed_noise(call.outs, 3), z = packed_noise(positions_of(call) * call.outs, 4);
  std::vector<float> y(static_cast<size_t>(positions_of(call) * call.outs));
  call.bias = bias.data();
  call.z = z.data();
  call.y = y.data();
  call.cut = ResultCut::to_range;
  call.limit = 1.5f;
  const int64_t panels = (call.outs + loops.columns - 1) / loops.columns;
  std::vector<const void*> addresses(static_cast<size_t>((positions_of(call) + loops.rows) * 9));
  (pairs ? loops.run_pairs : loops.run)(call, 0, positions_of(call), 0, panels, addresses.data());
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
  return run_packed(loops, call, false);
}

// The sums of pairs, and what they are by a plain loop.
struct PairResults {
  std::vector<float> found, expected;
};

PairResults pair_results(const PackedConvolutionLoops& loops, int64_t depth, int64_t outs, int64_t stride) {
  PackedConvolution call = packed_call(depth, outs, stride);
  const std::vector<int16_t> x = packed_integers(kBatch * call.x_image * 2, 5, -255, 255);
  const std::vector<int16_t> w = packed_integers(outs * 9 * depth * 2, 6, -127, 127);
  const std::vector<int16_t> zeros(static_cast<size_t>(depth) * 2);
  const std::vector<float> scale = packed_noise(outs, 7);
  const int64_t terms = 9 * depth, panels = (outs + loops.columns - 1) / loops.columns;
  std::vector<int16_t> packed(static_cast<size_t>(panels * loops.columns * terms) * 2);
  for (int64_t o = 0; o < outs; ++o) {
    const int64_t panel = o / loops.columns, left = outs - panel * loops.columns;
    const int64_t row = left <= loops.narrow_columns ? loops.narrow_columns : loops.columns;
    for (int64_t k = 0; k < terms; ++k) {
      for (int64_t half = 0; half < 2; ++half) {
        packed[static_cast<size_t>((panel * loops.columns * terms + k * row + o % loops.columns) * 2 + half)] =
            w[static_cast<size_t>((o * terms + k) * 2 + half)];
      }
    }
  }
  call.x = x.data();
  call.w = packed.data();
  call.zeros = zeros.data();
  call.scale = scale.data();
  PairResults results;
  results.found = run_packed(loops, call, true);
  const std::vector<float> bias = packed_noise(outs, 3), z = packed_noise(positions_of(call) * outs, 4);
  for (int64_t place = 0; place < positions_of(call); ++place) {
    const int64_t image = place / (call.out_height * call.out_width), at = place % (call.out_height * call.out_width);
    for (int64_t o = 0; o < outs; ++o) {
      int64_t sum = 0;
      for (int64_t tap = 0; tap < 9; ++tap) {
        const int64_t line = at / call.out_width * stride - 1 + tap / 3,
                      column = at % call.out_width * stride - 1 + tap % 3;
        if (line < 0 || line >= kHeight || column < 0 || column >= kWidth) continue;
        for (int64_t k = 0; k < 2 * depth; ++k) {
          sum += x[static_cast<size_t>((image * call.x_image + line * call.x_line + column * depth) * 2 + k)] *
                 w[static_cast<size_t>((o * terms + tap * depth) * 2 + k)];
        }
      }
      const float value = static_cast<float>(sum) * scale[static_cast<size_t>(o)] + bias[static_cast<size_t>(o)] +
                          z[static_cast<size_t>(place * outs + o)];
      results.expected.push_back(std::min(std::max(value, 0.0f), 1.5f));
    }
  }
  return results;
}

std::vector<float> depthwise_results(const DepthwiseLoops& loops, int64_t channels, int64_t kernel, int64_t stride,
                                     int64_t dilate) {
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
  DepthwiseLine line = {};
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
  line.cut = ResultCut::below_zero;
  loops.line(line);
  return y;
}

void check_same(const PackedConvolutionLoops& packed, const DepthwiseLoops& depthwise) {
  for (const int64_t depth : {1, 5, 64, 300}) {
    for (const int64_t outs : {1, 7, 16, 24, 33, 64}) {
      for (const int64_t stride : {1, 2}) {
        CAPTURE(depth);
        CAPTURE(outs);
        CAPTURE(stride);
        CHECK(packed_results(packed, depth, outs, stride) ==
              packed_results(*v1::packed_convolution_loops(), depth, outs, stride));
        const PairResults pairs = pair_results(packed, depth, outs, stride);
        CHECK(pairs.found == pairs.expected);
      }
    }
  }
  for (const int64_t channels : {1, 8, 20, 35, 96}) {
    for (const int64_t kernel : {1, 3, 5}) {
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
      const PairResults pairs = pair_results(*v1::packed_convolution_loops(), depth, outs, 1);
      CHECK(pairs.found == pairs.expected);
    }
  }
}
TEST_CASE("isa: packed and depthwise convolutions give the same bits with AVX2" * doctest::test_suite("needs AVX2")) {
  KUSARI_SKIP_BELOW(v3);
  check_same(*v3::packed_convolution_loops(), *v3::depthwise_loops());
}
TEST_CASE("isa: packed and depthwise convolutions give the same bits with AVX-512" *
          doctest::test_suite("needs AVX-512")) {
  KUSARI_SKIP_BELOW(v4);
  check_same(*v4::packed_convolution_loops(), *v4::depthwise_loops());
}

#endif
