#include <algorithm>
#include <cmath>
#include <vector>

#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/isa/resampling.h"
#include "kusari/framework/cpu/register.h"
#include "kusari/framework/kernels/image_resampling_kernels.h"

namespace kusari::cpu {
namespace {

const ResamplingLoop& loop_for(Dtype dtype) {
  static const ResamplingLoops& table = *KUSARI_LOOPS(isa(), resampling_loops);
  return dtype == Dtype::uint8 ? table.u8 : table.f32;
}

Array empty_pixels(int64_t channels, int64_t height, int64_t width, Dtype dtype) {
  return empty_strided({channels, height, width}, {1, width * channels, channels}, dtype);
}

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

ResamplingPair pair_of(int32_t a, int32_t b) {
  constexpr int32_t kLow = (1 << ResamplingPair::kLowBits) - 1;
  const auto high = [](int32_t weight) { return static_cast<short>(weight >> ResamplingPair::kLowBits); };
  return {{high(a), high(b)}, {static_cast<short>(a & kLow), static_cast<short>(b & kLow)}};
}

/// The weights along one axis, as loops take them.
class Taps {
 public:
  Taps(int64_t from, int64_t to, Interpolation interpolation, Dtype dtype) {
    const double ratio = static_cast<double>(from) / static_cast<double>(to);
    const double spread = std::max(ratio, 1.0);  // shrinking: the filter is as wide as a new pixel
    const double support = filter_support(interpolation) * spread;
    count_ = static_cast<int64_t>(std::ceil(support)) * 2 + 1;
    const bool bytes = dtype == Dtype::uint8;
    if (bytes) {
      integers_.resize(static_cast<size_t>(to * count_));
    } else {
      floats_.resize(static_cast<size_t>(to * count_));
    }
    std::vector<double> exact(static_cast<size_t>(count_));
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
      first_.push_back(begin);
      used_.push_back(end - begin);
      for (int64_t k = 0; k < end - begin; ++k) {
        const double weight = exact[static_cast<size_t>(k)] / sum;
        const auto at = static_cast<size_t>(i * count_ + k);
        if (bytes) {
          integers_[at] = static_cast<int32_t>(weight * (1 << kResamplingPrecision) + (weight < 0 ? -0.5 : 0.5));
        } else {
          floats_[at] = static_cast<float>(weight);
        }
      }
    }
    for (int64_t i = 0; bytes && i < to; ++i) {
      const int32_t* const weight = integers_.data() + i * count_;
      for (int64_t k = 0; k < count_; k += 2) pairs_.push_back(pair_of(weight[k], k + 1 < count_ ? weight[k + 1] : 0));
    }
  }

  int64_t first(int64_t i) const { return first_[static_cast<size_t>(i)]; }
  int64_t used(int64_t i) const { return used_[static_cast<size_t>(i)]; }
  const void* weights(int64_t i) const {
    const int64_t at = i * count_;
    return integers_.empty() ? static_cast<const void*>(floats_.data() + at) : integers_.data() + at;
  }
  ResamplingTaps view() const {
    return {static_cast<int64_t>(first_.size()), count_, first_.data(), used_.data(), weights(0), pairs_.data()};
  }

 private:
  int64_t count_;  // most weights of a place
  std::vector<int64_t> first_, used_;
  std::vector<int32_t> integers_;  // of 8-bit pixels, in units of 2^-kResamplingPrecision
  std::vector<float> floats_;      // of others
  std::vector<ResamplingPair> pairs_;
};

int64_t pitch_of(const Array& image) { return image.strides()[1] * itemsize(image.dtype()); }
char* row_of(const Array& image, int64_t y) { return image.data<char>() + y * pitch_of(image); }

/// Rows first, first + 1, .. of `image` resampled to the width of `out`.
void resample_width(const Array& image, int64_t first, Interpolation interpolation, const Array& out) {
  const Shape& shape = out.shape();
  const Taps taps(image.shape()[2], shape[2], interpolation, image.dtype());
  const ResamplingTaps view = taps.view();
  loop_for(image.dtype())
      .rows(row_of(image, first), pitch_of(image), image.shape()[2], out.raw_data(), pitch_of(out), shape[1], &view,
            shape[0]);
}

/// The rows of `out` made of those of `image`, whose row 0 is row `first` of the whole.
void resample_height(const Array& image, int64_t first, const Taps& taps, const Array& out) {
  const Shape& shape = out.shape();
  const ResamplingLoop& loop = loop_for(image.dtype());
  for (int64_t y = 0; y < shape[1]; ++y) {
    loop.column(row_of(image, taps.first(y) - first), pitch_of(image), taps.weights(y), taps.used(y), row_of(out, y),
                shape[0] * shape[2]);
  }
}

void resample(Array image, Interpolation interpolation, const Array& out) {
  const int64_t old_height = image.shape()[1], height = out.shape()[1], width = out.shape()[2];
  if (height == old_height) return resample_width(image, 0, interpolation, out);
  const Taps rows(old_height, height, interpolation, image.dtype());
  int64_t first = 0;
  if (width != image.shape()[2]) {
    // Only the rows that are used afterwards.
    first = rows.first(0);
    const int64_t count = rows.first(height - 1) + rows.used(height - 1) - first;
    const Array narrow = empty_pixels(out.shape()[0], count, width, image.dtype());
    resample_width(image, first, interpolation, narrow);
    image = narrow;
  }
  resample_height(image, first, rows, out);
}

int64_t nearest(int64_t i, int64_t from, int64_t to) {
  const double ratio = static_cast<double>(from) / static_cast<double>(to);
  return std::min(from - 1, static_cast<int64_t>((static_cast<double>(i) + 0.5) * ratio));
}

template <class T>
void pick_nearest(const Array& image, const Array& out) {
  const int64_t channels = out.shape()[0], height = out.shape()[1], width = out.shape()[2];
  std::vector<int64_t> columns(static_cast<size_t>(width));
  for (int64_t x = 0; x < width; ++x) {
    columns[static_cast<size_t>(x)] = nearest(x, image.shape()[2], width) * channels;
  }
  T* to = out.data<T>();
  for (int64_t y = 0; y < height; ++y) {
    const T* from = image.data<T>() + nearest(y, image.shape()[1], height) * image.strides()[1];
    for (int64_t column : columns) {
      for (int64_t c = 0; c < channels; ++c) *to++ = from[column + c];
    }
  }
}

void resample_image(Params<Interpolation> interpolation, In x, Out y) {
  if (*interpolation != Interpolation::nearest) return resample(*x, *interpolation, *y);
  if (x->dtype() == Dtype::uint8) return pick_nearest<uint8_t>(*x, *y);
  pick_nearest<float>(*x, *y);
}

}  // namespace

void register_image_resampling(Backend& backend) { backend.add<kernels::ResampleImage>(resample_image); }

}  // namespace kusari::cpu
