#include "kusari/framework/kernels/image_batch.h"

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include "kusari/framework/core/philox.h"

using namespace kusari;

namespace {

Array random_images(const Shape& shape, Dtype dtype) {
  std::vector<float> values(static_cast<size_t>(numel(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(philox_word(5, i) % 256);
  return array(values, shape).astype(dtype);
}

/// In another order in memory: pixels, lines with gaps, planes, width before height, every second pixel.
Array laid_out(const Array& x, int layout) {
  const Shape& s = x.shape();
  const auto in = [&](const Shape& whole, const Strides& strides, int64_t gap) {
    Shape memory = whole;
    memory[3] += gap;
    return empty(memory, x.dtype()).as_strided(s, strides, 0);
  };
  const int64_t wide = s[3] + 2;
  Array y;
  switch (layout) {
    case 0:
      y = in(s, {s[1] * s[2] * s[3], 1, s[3] * s[1], s[1]}, 0);
      break;
    case 1:
      y = in(s, {s[1] * s[2] * wide, 1, wide * s[1], s[1]}, 2);
      break;
    case 2:
      y = in(s, {s[1] * s[2] * s[3], s[2] * s[3], s[3], 1}, 0);
      break;
    case 3:
      y = in(s, {s[1] * s[2] * wide, s[2] * wide, wide, 1}, 2);
      break;
    case 4:
      y = in(s, {s[1] * s[2] * s[3], s[2] * s[3], 1, s[2]}, 0);
      break;
    default:
      y = in(s, {s[1] * s[2] * 2 * s[3], s[2] * 2 * s[3], 2 * s[3], 2}, s[3]);
  }
  y.copy_from(x);
  return y;
}

kernels::ChannelScales some_scales() {
  kernels::ChannelScales scales;
  for (int c = 0; c < kernels::ChannelScales::kMaxChannels; ++c) {
    scales.mean[c] = 120.25 - 13 * c;
    scales.scale[c] = 1 / (3.7 + c);
  }
  return scales;
}

/// The declaration, one element after the other.
template <class T>
std::vector<double> expected(const kernels::ChannelScales& scales, const Array& x, const std::vector<int>& mirrored) {
  const std::vector<double> values = x.to_vector<double>();
  const Shape& s = x.shape();
  std::vector<double> result;
  for (int64_t n = 0; n < s[0]; ++n) {
    for (int64_t c = 0; c < s[1]; ++c) {
      for (int64_t i = 0; i < s[2] * s[3]; ++i) {
        const int64_t row = i / s[3], column = i % s[3];
        const bool flip = !mirrored.empty() && mirrored[static_cast<size_t>(n)] != 0;
        const int64_t from = ((n * s[1] + c) * s[2] + row) * s[3] + (flip ? s[3] - 1 - column : column);
        const T mean = static_cast<T>(scales.mean[c]), scale = static_cast<T>(scales.scale[c]);
        result.push_back(static_cast<double>((static_cast<T>(values[static_cast<size_t>(from)]) - mean) * scale));
      }
    }
  }
  return result;
}

}  // namespace

TEST_CASE("normalize_images: layouts, dtypes, channels, mirrored images") {
  const kernels::ChannelScales scales = some_scales();
  const std::vector<int> flags{0, 1, 7};
  for (const Shape& shape : {Shape{3, 3, 4, 37},
                             {3, 1, 5, 19},
                             {3, 4, 2, 8},
                             {3, 2, 3, 5},
                             {3, 16, 2, 3},
                             {3, 3, 1, 1},
                             {3, 3, 0, 4},
                             {3, 1, 2, 130}}) {
    CAPTURE(shape);
    for (const Dtype from : {Dtype::uint8, Dtype::float32, Dtype::float16, Dtype::float64}) {
      const Array values = random_images(shape, from);
      for (const Dtype to : {Dtype::float32, Dtype::float16, Dtype::bfloat16, Dtype::float64}) {
        for (const bool flip : {false, true}) {
          const Array mirrored = flip ? array(flags).astype(Dtype::uint8) : Array();
          const std::vector<int> given = flip ? flags : std::vector<int>();
          const std::vector<double> wide =
              to == Dtype::float64 ? expected<double>(scales, values, given) : expected<float>(scales, values, given);
          const std::vector<double> want = array(wide, shape).astype(to).to_vector<double>();
          for (int x_layout = 0; x_layout < 6; ++x_layout) {
            for (int y_layout = 0; y_layout < 6; ++y_layout) {
              CAPTURE(x_layout);
              CAPTURE(y_layout);
              CAPTURE(name(from));
              CAPTURE(name(to));
              const Array y = laid_out(zeros(shape, to), y_layout);
              launch<kernels::NormalizeImages>(Device(), scales, laid_out(values, x_layout), mirrored, y);
              REQUIRE(y.to_vector<double>() == want);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("normalize_images: several threads, flags with gaps") {
  const kernels::ChannelScales scales = some_scales();
  const Shape shape{9, 3, 50, 224};
  const Array x = laid_out(random_images(shape, Dtype::uint8), 0);
  std::vector<int> flags;
  for (int i = 0; i < 18; ++i) flags.push_back(i / 2 % 2);
  const Array mirrored = array(flags).astype(Dtype::uint8).slice(0, 0, 9, 2);
  const Array y = laid_out(zeros(shape, Dtype::float32), 0);
  launch<kernels::NormalizeImages>(Device(), scales, x, mirrored, y);
  CHECK(y.to_vector<double>() == expected<float>(scales, x, mirrored.to_vector<int>()));
}
