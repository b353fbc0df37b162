#include "kusari/framework/core/image_resampling.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

namespace kusari {
namespace {

// uint8 images: weights are integers of 2^-22. A sum of 8-bit values times such weights fits 32 bits, with room for
// two more (src/libImaging/Resample.c of Pillow).
constexpr int kPrecision = 22;

template <class T>
using Weight = std::conditional_t<std::is_same_v<T, uint8_t>, int32_t, float>;

Array empty_pixels(int64_t channels, int64_t height, int64_t width, Dtype dtype) {
  return empty_strided({channels, height, width}, {1, width * channels, channels}, dtype);
}

/// For each place along a new axis, the old places that make it and their weights.
template <class T>
struct Taps {
  int64_t count;  // most weights of a place; rows of `weights` have this length
  std::vector<int64_t> first;
  std::vector<int64_t> used;
  std::vector<Weight<T>> weights;
};

double filter_support(Interpolation interpolation) {
  switch (interpolation) {
    case Interpolation::box:
      return 0.5;
    case Interpolation::bicubic:
      return 2.0;
    default:
      return 1.0;
  }
}

double bicubic(double x) {
  constexpr double kA = -0.5;
  x = std::abs(x);
  if (x < 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * kA;
  return 0;
}

double filter(Interpolation interpolation, double x) {
  switch (interpolation) {
    case Interpolation::box:
      return x > -0.5 && x <= 0.5 ? 1.0 : 0.0;
    case Interpolation::bicubic:
      return bicubic(x);
    default:
      return std::max(0.0, 1.0 - std::abs(x));
  }
}

template <class T>
Taps<T> make_taps(int64_t from, int64_t to, Interpolation interpolation) {
  const double ratio = static_cast<double>(from) / static_cast<double>(to);
  const double spread = std::max(ratio, 1.0);  // shrinking: the filter is as wide as a new pixel
  const double support = filter_support(interpolation) * spread;
  Taps<T> taps;
  taps.count = static_cast<int64_t>(std::ceil(support)) * 2 + 1;
  taps.weights.assign(static_cast<size_t>(to * taps.count), Weight<T>{});
  std::vector<double> exact(static_cast<size_t>(taps.count));
  for (int64_t i = 0; i < to; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * ratio;
    const int64_t begin = std::max<int64_t>(0, static_cast<int64_t>(center - support + 0.5));
    const int64_t end = std::min<int64_t>(from, static_cast<int64_t>(center + support + 0.5));
    double sum = 0;
    for (int64_t k = begin; k < end; ++k) {
      const double weight = filter(interpolation, (static_cast<double>(k) - center + 0.5) / spread);
      exact[static_cast<size_t>(k - begin)] = weight;
      sum += weight;
    }
    taps.first.push_back(begin);
    taps.used.push_back(end - begin);
    for (int64_t k = 0; k < end - begin; ++k) {
      const double weight = exact[static_cast<size_t>(k)] / sum;
      Weight<T>& out = taps.weights[static_cast<size_t>(i * taps.count + k)];
      if constexpr (std::is_same_v<T, uint8_t>) {
        out = static_cast<int32_t>(weight * (1 << kPrecision) + (weight < 0 ? -0.5 : 0.5));
      } else {
        out = static_cast<float>(weight);
      }
    }
  }
  return taps;
}

template <class T>
constexpr Weight<T> start_of_sum() {
  if constexpr (std::is_same_v<T, uint8_t>) return 1 << (kPrecision - 1);
  return 0;
}

template <class T>
T end_of_sum(Weight<T> sum) {
  // Weights are rounded, so that their sum may exceed one by a little, and bicubic ones are of both signs.
  if constexpr (std::is_same_v<T, uint8_t>) return static_cast<uint8_t>(std::clamp(sum >> kPrecision, 0, 255));
  return sum;
}

/// One row of new pixels along the row of old ones. kChannels: the number of channels where the compiler is to know it,
/// or 0.
template <int kChannels, class T>
void resample_row(const T* from, T* to, const Taps<T>& taps, int64_t channels) {
  const int64_t step = kChannels > 0 ? kChannels : channels;
  const int64_t places = static_cast<int64_t>(taps.first.size());
  const Weight<T>* weights = taps.weights.data();
  for (int64_t i = 0; i < places; ++i, weights += taps.count, to += step) {
    const T* const pixels = from + taps.first[static_cast<size_t>(i)] * step;
    const int64_t used = taps.used[static_cast<size_t>(i)];
    if constexpr (kChannels > 0) {
      Weight<T> sums[kChannels];
      for (int c = 0; c < kChannels; ++c) sums[c] = start_of_sum<T>();
      for (int64_t k = 0; k < used; ++k) {
        for (int c = 0; c < kChannels; ++c) sums[c] += weights[k] * static_cast<Weight<T>>(pixels[k * step + c]);
      }
      for (int c = 0; c < kChannels; ++c) to[c] = end_of_sum<T>(sums[c]);
    } else {
      for (int64_t c = 0; c < step; ++c) {
        Weight<T> sum = start_of_sum<T>();
        for (int64_t k = 0; k < used; ++k) sum += weights[k] * static_cast<Weight<T>>(pixels[k * step + c]);
        to[c] = end_of_sum<T>(sum);
      }
    }
  }
}

template <class T>
void resample_row(const T* from, T* to, const Taps<T>& taps, int64_t channels) {
  switch (channels) {
    case 1:
      return resample_row<1>(from, to, taps, channels);
    case 3:
      return resample_row<3>(from, to, taps, channels);
    default:
      return resample_row<0>(from, to, taps, channels);
  }
}

/// Rows [first, first + count) of `image`, resampled to `width` pixels each.
template <class T>
Array resample_width(const Array& image, int64_t width, int64_t first, int64_t count, Interpolation interpolation) {
  const int64_t channels = image.shape()[0];
  const Taps<T> taps = make_taps<T>(image.shape()[2], width, interpolation);
  const Array out = empty_pixels(channels, count, width, image.dtype());
  for (int64_t y = 0; y < count; ++y) {
    resample_row(image.data<T>() + (first + y) * image.strides()[1], out.data<T>() + y * width * channels, taps,
                 channels);
  }
  return out;
}

/// New rows out of those of `image`, whose row 0 is row `first` of the whole.
template <class T>
Array resample_height(const Array& image, int64_t first, const Taps<T>& taps) {
  const int64_t channels = image.shape()[0], width = image.shape()[2], pitch = width * channels;
  const auto height = static_cast<int64_t>(taps.first.size());
  const Array out = empty_pixels(channels, height, width, image.dtype());
  std::vector<Weight<T>> sums(static_cast<size_t>(pitch));
  for (int64_t i = 0; i < height; ++i) {
    const auto place = static_cast<size_t>(i);
    std::fill(sums.begin(), sums.end(), start_of_sum<T>());
    for (int64_t k = 0; k < taps.used[place]; ++k) {
      const T* const from = image.data<T>() + (taps.first[place] + k - first) * image.strides()[1];
      const Weight<T> weight = taps.weights[static_cast<size_t>(i * taps.count + k)];
      Weight<T>* const sum = sums.data();
      for (int64_t x = 0; x < pitch; ++x) sum[x] += weight * static_cast<Weight<T>>(from[x]);
    }
    T* const to = out.data<T>() + i * pitch;
    for (int64_t x = 0; x < pitch; ++x) to[x] = end_of_sum<T>(sums[static_cast<size_t>(x)]);
  }
  return out;
}

template <class T>
Array resample(Array image, int64_t height, int64_t width, Interpolation interpolation) {
  const int64_t old_height = image.shape()[1];
  if (height == old_height) return resample_width<T>(image, width, 0, old_height, interpolation);
  const Taps<T> rows = make_taps<T>(old_height, height, interpolation);
  int64_t first = 0;
  if (width != image.shape()[2]) {
    // Only the rows that are used afterwards.
    first = rows.first.front();
    const int64_t count = rows.first.back() + rows.used.back() - first;
    image = resample_width<T>(image, width, first, count, interpolation);
  }
  return resample_height<T>(image, first, rows);
}

int64_t nearest(int64_t i, int64_t from, int64_t to) {
  const double ratio = static_cast<double>(from) / static_cast<double>(to);
  return std::min(from - 1, static_cast<int64_t>((static_cast<double>(i) + 0.5) * ratio));
}

template <class T>
Array pick_nearest(const Array& image, int64_t height, int64_t width) {
  const int64_t channels = image.shape()[0];
  std::vector<int64_t> columns(static_cast<size_t>(width));
  for (int64_t x = 0; x < width; ++x) {
    columns[static_cast<size_t>(x)] = nearest(x, image.shape()[2], width) * channels;
  }
  const Array out = empty_pixels(channels, height, width, image.dtype());
  T* to = out.data<T>();
  for (int64_t y = 0; y < height; ++y) {
    const T* from = image.data<T>() + nearest(y, image.shape()[1], height) * image.strides()[1];
    for (int64_t column : columns) {
      for (int64_t c = 0; c < channels; ++c) *to++ = from[column + c];
    }
  }
  return out;
}

template <class T>
Array resized(const Array& image, int64_t height, int64_t width, Interpolation interpolation) {
  return interpolation == Interpolation::nearest ? pick_nearest<T>(image, height, width)
                                                 : resample<T>(image, height, width, interpolation);
}

}  // namespace

Array resample_image(const Array& image, int64_t height, int64_t width, Interpolation interpolation) {
  return image.dtype() == Dtype::uint8 ? resized<uint8_t>(image, height, width, interpolation)
                                       : resized<float>(image, height, width, interpolation);
}

}  // namespace kusari
