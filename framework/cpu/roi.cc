#include "kusari/framework/kernels/roi.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/channels_last.h"
#include "kusari/framework/cpu/register.h"

namespace kusari::cpu {
namespace {

using kernels::Roi;
using kernels::RoiKind;

/// Of a bin along an axis, where each pixel is one.
constexpr int kMostSamples = 1 << 14;

bool is_align(const Roi& roi) { return roi.kind == RoiKind::max_align || roi.kind == RoiKind::average_align; }
bool is_max(const Roi& roi) { return roi.kind == RoiKind::max_pooling || roi.kind == RoiKind::max_align; }

/// One or two neighbouring pixels along an axis with their weights: a pixel of pooling, a sample of align.
struct Tap {
  int64_t pixel[2] = {0, 0};
  double weight[2] = {0, 0};
};

/// A linear interpolation at p; no weight at all beyond one pixel from the image.
Tap sample(double p, int64_t size) {
  Tap tap;
  if (p < -1 || p > static_cast<double>(size)) return tap;
  const int64_t low = std::min(static_cast<int64_t>(std::floor(p)), size - 1), high = low + 1;
  if (low >= 0) {
    tap.pixel[0] = low;
    tap.weight[0] = high >= size ? 1 : static_cast<double>(high) - p;
  }
  if (high < size) {
    tap.pixel[1] = high;
    tap.weight[1] = low < 0 ? 1 : p - static_cast<double>(low);
  }
  return tap;
}

/// The taps of each bin of one region along one axis.
class Bins {
 public:
  Bins(const Roi& roi, int axis, double begin, double end, int64_t size) : bins_(static_cast<size_t>(roi.out[axis])) {
    begin *= roi.spatial_scale;
    end *= roi.spatial_scale;
    if (is_align(roi)) {
      make_samples(roi.sampling_ratio[axis], begin, std::max(end - begin, roi.least_size), size);
      if (roi.by_pixel) part_samples();
    } else {
      begin = std::nearbyint(begin);
      end = std::nearbyint(end) + (roi.includes_last_pixel ? 1 : 0);
      make_pixels(begin, std::max(end - begin, 1.0), size);
    }
  }
  const std::vector<Tap>& operator[](int64_t bin) const { return bins_[static_cast<size_t>(bin)]; }

 private:
  void make_samples(int64_t ratio, double begin, double length, int64_t size) {
    const double width = length / static_cast<double>(bins_.size());
    const int64_t samples = ratio > 0 ? ratio : static_cast<int64_t>(std::ceil(width));
    for (size_t bin = 0; bin < bins_.size(); ++bin) {
      for (int64_t i = 0; i < samples; ++i) {
        const double inside = (static_cast<double>(i) + 0.5) * width / static_cast<double>(samples);
        bins_[bin].push_back(sample(begin + static_cast<double>(bin) * width + inside, size));
      }
    }
  }
  void part_samples() {
    for (std::vector<Tap>& bin : bins_) {
      std::vector<Tap> parts;
      for (const Tap& tap : bin) {
        for (const int i : {0, 1}) parts.push_back({{tap.pixel[i], 0}, {tap.weight[i], 0}});
      }
      bin = std::move(parts);
    }
  }
  void make_pixels(double begin, double length, int64_t size) {
    const double width = length / static_cast<double>(bins_.size()), limit = static_cast<double>(size);
    for (size_t bin = 0; bin < bins_.size(); ++bin) {
      const double first = std::clamp(std::floor(static_cast<double>(bin) * width) + begin, 0.0, limit);
      const double last = std::clamp(std::ceil(static_cast<double>(bin + 1) * width) + begin, 0.0, limit);
      for (int64_t pixel = static_cast<int64_t>(first); pixel < static_cast<int64_t>(last); ++pixel) {
        bins_[bin].push_back({{pixel, 0}, {1, 0}});
      }
    }
  }

  std::vector<std::vector<Tap>> bins_;
};

/// The regions of a call and the geometry of both arrays, channels-last.
struct Regions {
  Regions(const Roi& options, const Array& rois, const Array& roi_indices, const Shape& x)
      : roi{options}, corners{rois.to_vector<double>()}, images{roi_indices.to_vector<int64_t>()} {
    channels = x[1];
    height = x[2];
    width = x[3];
    for (size_t i = 0; i < corners.size(); ++i) {
      if (std::isfinite(corners[i])) continue;
      throw ValueError("rois[" + std::to_string(i / 4) + "] has a corner that is not finite");
    }
    for (size_t r = 0; is_align(roi) && r < corners.size() / 4; ++r) {
      for (const int axis : {0, 1}) {
        const double pixels =
            (corners[4 * r + 2 + static_cast<size_t>(axis)] - corners[4 * r + static_cast<size_t>(axis)]) *
            roi.spatial_scale;
        if (roi.sampling_ratio[axis] > 0 || pixels / static_cast<double>(roi.out[axis]) <= kMostSamples) continue;
        throw ValueError("rois[" + std::to_string(r) + "] is longer than " + std::to_string(kMostSamples) +
                         " pixels for each bin: sampling_ratio must say how many samples to take");
      }
    }
    for (size_t r = 0; r < images.size(); ++r) {
      if (images[r] >= 0 && images[r] < x[0]) continue;
      throw IndexError("roi_indices[" + std::to_string(r) + "] is " + std::to_string(images[r]) + " but x has " +
                       std::to_string(x[0]) + " images");
    }
  }

  int64_t size() const { return static_cast<int64_t>(images.size()); }
  Bins bins(int64_t region, int axis) const {
    const double* const corner = corners.data() + 4 * region + axis;
    return Bins(roi, axis, corner[0], corner[2], axis == 0 ? height : width);
  }
  /// The place of a pixel's first channel in x.
  int64_t pixel(int64_t region, int64_t h, int64_t w) const {
    return ((images[static_cast<size_t>(region)] * height + h) * width + w) * channels;
  }
  /// Calls body(ys, xs, first element in y) for each bin of a region.
  template <class Body>
  void for_each_bin(int64_t region, const Body& body) const {
    const Bins rows = bins(region, 0), columns = bins(region, 1);
    for (int64_t h = 0; h < roi.out[0]; ++h) {
      for (int64_t w = 0; w < roi.out[1]; ++w) {
        body(rows[h], columns[w], ((region * roi.out[0] + h) * roi.out[1] + w) * channels);
      }
    }
  }
  /// Calls body(pixel of x, weight) for the up to four pixels of a sample.
  template <class Body>
  void for_each_pixel(int64_t region, const Tap& y, const Tap& x, const Body& body) const {
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 2; ++j) {
        const double weight = y.weight[i] * x.weight[j];
        if (weight > 0) body(pixel(region, y.pixel[i], x.pixel[j]), weight);
      }
    }
  }
  /// What argmax calls tap (i, j) of a bin.
  int32_t number(const std::vector<Tap>& ys, size_t i, const std::vector<Tap>& xs, size_t j) const {
    if (is_align(roi)) return static_cast<int32_t>(i * xs.size() + j);
    return static_cast<int32_t>(ys[i].pixel[0] * width + xs[j].pixel[0]);
  }

  Roi roi;
  std::vector<double> corners;
  std::vector<int64_t> images;
  int64_t channels, height, width;
};

bool is_inside(const Tap& tap) { return tap.weight[0] > 0 || tap.weight[1] > 0; }

template <class T>
void largest(const Regions& regions, const T* x, T* y, int32_t* argmax) {
  const int64_t channels = regions.channels;
  parallel_for(regions.size(), 1, [&](int64_t begin, int64_t end) {
    std::vector<T> value(static_cast<size_t>(channels));
    for (int64_t r = begin; r < end; ++r) {
      regions.for_each_bin(r, [&](const std::vector<Tap>& ys, const std::vector<Tap>& xs, int64_t target) {
        T* const best = y + target;
        int32_t* const at = argmax + target;
        std::fill_n(best, channels, static_cast<T>(regions.roi.value_of_nothing));
        std::fill_n(at, channels, -1);
        for (size_t i = 0; i < ys.size(); ++i) {
          for (size_t j = 0; j < xs.size(); ++j) {
            if (!regions.roi.by_pixel && (!is_inside(ys[i]) || !is_inside(xs[j]))) continue;
            std::fill(value.begin(), value.end(), T{0});
            regions.for_each_pixel(r, ys[i], xs[j], [&](int64_t pixel, double weight) {
              for (int64_t c = 0; c < channels; ++c) {
                value[static_cast<size_t>(c)] += static_cast<T>(weight) * x[pixel + c];
              }
            });
            const int32_t number = regions.number(ys, i, xs, j);
            for (int64_t c = 0; c < channels; ++c) {
              const T v = value[static_cast<size_t>(c)];
              if (at[c] >= 0 && (v <= best[c] || best[c] != best[c])) continue;  // the first of equal ones, or of NaN
              best[c] = v;
              at[c] = number;
            }
          }
        }
      });
    }
  });
}

template <class T>
void mean(const Regions& regions, const T* x, T* y) {
  parallel_for(regions.size(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      regions.for_each_bin(r, [&](const std::vector<Tap>& ys, const std::vector<Tap>& xs, int64_t target) {
        T* const sum = y + target;
        std::fill_n(sum, regions.channels, T{0});
        for (const Tap& ty : ys) {
          for (const Tap& tx : xs) {
            regions.for_each_pixel(r, ty, tx, [&](int64_t pixel, double weight) {
              for (int64_t c = 0; c < regions.channels; ++c) sum[c] += static_cast<T>(weight) * x[pixel + c];
            });
          }
        }
        const T count = static_cast<T>(std::max<size_t>(1, ys.size() * xs.size()));
        for (int64_t c = 0; c < regions.channels; ++c) sum[c] /= count;
      });
    }
  });
}

template <class T>
void picked(const Regions& regions, const T* x, const int32_t* argmax, T* y) {
  parallel_for(regions.size(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      regions.for_each_bin(r, [&](const std::vector<Tap>& ys, const std::vector<Tap>& xs, int64_t target) {
        std::fill_n(y + target, regions.channels, T{0});
        for (size_t i = 0; i < ys.size(); ++i) {
          for (size_t j = 0; j < xs.size(); ++j) {
            const int32_t number = regions.number(ys, i, xs, j);
            regions.for_each_pixel(r, ys[i], xs[j], [&](int64_t pixel, double weight) {
              for (int64_t c = 0; c < regions.channels; ++c) {
                if (argmax[target + c] == number) y[target + c] += static_cast<T>(weight) * x[pixel + c];
              }
            });
          }
        }
      });
    }
  });
}

/// Regions overlap, so each thread takes some channels of all of them.
template <class T>
void spread(const Regions& regions, const T* gy, const int32_t* argmax, T* gx) {
  constexpr int64_t kChannels = 32;
  parallel_for(regions.channels, kChannels, [&](int64_t begin, int64_t end) {
    for (int64_t r = 0; r < regions.size(); ++r) {
      regions.for_each_bin(r, [&](const std::vector<Tap>& ys, const std::vector<Tap>& xs, int64_t target) {
        const double count = argmax == nullptr ? static_cast<double>(ys.size() * xs.size()) : 1;
        for (size_t i = 0; i < ys.size(); ++i) {
          for (size_t j = 0; j < xs.size(); ++j) {
            const int32_t number = regions.number(ys, i, xs, j);
            regions.for_each_pixel(r, ys[i], xs[j], [&](int64_t pixel, double weight) {
              const T factor = static_cast<T>(weight / count);
              for (int64_t c = begin; c < end; ++c) {
                if (argmax == nullptr || argmax[target + c] == number) gx[pixel + c] += factor * gy[target + c];
              }
            });
          }
        }
      });
    }
  });
}

void roi_forward(Params<Roi> roi, In x, In rois, In roi_indices, Out y, Out argmax) {
  const Regions regions(*roi, rois, roi_indices, x->shape());
  const Array from = channels_last_input(x);
  const ChannelsLastOutput to(y);
  const bool is_double = from.dtype() == Dtype::float64;
  if (is_max(*roi)) {
    const ChannelsLastOutput at(argmax);
    int32_t* const places = at.array().data<int32_t>();
    if (is_double) {
      largest(regions, from.data<double>(), to.array().data<double>(), places);
    } else {
      largest(regions, from.data<float>(), to.array().data<float>(), places);
    }
    at.finish();
  } else if (is_double) {
    mean(regions, from.data<double>(), to.array().data<double>());
  } else {
    mean(regions, from.data<float>(), to.array().data<float>());
  }
  to.finish();
}

void roi_grad(Params<Roi> roi, In gy, In rois, In roi_indices, In argmax, Out gx) {
  const Regions regions(*roi, rois, roi_indices, gx->shape());
  const Array from = channels_last_input(gy), at = argmax ? channels_last_input(argmax) : Array();
  const int32_t* const places = argmax ? at.data<int32_t>() : nullptr;
  const ChannelsLastOutput to(gx);
  to.array().fill(0);
  if (from.dtype() == Dtype::float64) {
    spread(regions, from.data<double>(), places, to.array().data<double>());
  } else {
    spread(regions, from.data<float>(), places, to.array().data<float>());
  }
  to.finish();
}

void roi_pick(Params<Roi> roi, In x, In rois, In roi_indices, In argmax, Out y) {
  const Regions regions(*roi, rois, roi_indices, x->shape());
  const Array from = channels_last_input(x), at = channels_last_input(argmax);
  const ChannelsLastOutput to(y);
  if (from.dtype() == Dtype::float64) {
    picked(regions, from.data<double>(), at.data<int32_t>(), to.array().data<double>());
  } else {
    picked(regions, from.data<float>(), at.data<int32_t>(), to.array().data<float>());
  }
  to.finish();
}

}  // namespace

void register_roi(Backend& backend) {
  backend.add<kernels::RoiForward>(&roi_forward);
  backend.add<kernels::RoiGrad>(&roi_grad);
  backend.add<kernels::RoiPick>(&roi_pick);
}

}  // namespace kusari::cpu
