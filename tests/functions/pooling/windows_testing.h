#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "kusari/framework/functions/per_axis.h"
#include "kusari/tests/functions/testing.h"

// What the tests of pooling share: random geometries, and the plainest loop over windows.
namespace kusari::testing {

struct Windows {
  Shape x;
  Dims ksize, stride, pad;
  bool cover_all = false;

  int ndim() const { return ksize.ndim(); }
  int64_t out(int i) const {
    const int64_t space = x[2 + i] + 2 * pad[i] - ksize[i] + (cover_all ? stride[i] - 1 : 0);
    return space < 0 ? 0 : space / stride[i] + 1;
  }
  Shape y() const {
    Shape shape{x[0], x[1]};
    for (int i = 0; i < ndim(); ++i) shape.push_back(out(i));
    return shape;
  }
  std::string text() const {
    return "x " + to_string(x) + " ksize " + to_string(ksize) + " stride " + to_string(stride) + " pad " +
           to_string(pad) + (cover_all ? " cover_all" : "");
  }

  /// Calls body(element of y, place in the window, element of x or -1 in the padding), in C order of windows, then of
  /// places.
  template <class Body>
  void for_each_place(const Body& body) const {
    const Shape shape = y();
    for (int64_t o = 0; o < numel(shape); ++o) {
      Dims at = shape;
      int64_t rest = o;
      for (int i = shape.ndim() - 1; i >= 0; --i) {
        at[i] = rest % shape[i];
        rest /= shape[i];
      }
      int64_t places = 1;
      for (const int64_t k : ksize) places *= k;
      for (int64_t place = 0; place < places; ++place) {
        int64_t within[kMaxNdim] = {}, left = place;
        for (int i = ndim() - 1; i >= 0; --i) {
          within[i] = left % ksize[i];
          left /= ksize[i];
        }
        int64_t element = at[0] * x[1] + at[1];
        for (int i = 0; i < ndim() && element >= 0; ++i) {
          const int64_t position = at[2 + i] * stride[i] - pad[i] + within[i];
          element = position < 0 || position >= x[2 + i] ? -1 : element * x[2 + i] + position;
        }
        body(o, place, element);
      }
    }
  }
};

/// A geometry with at least one window along every axis; different for every seed.
inline Windows random_windows(unsigned seed) {
  std::mt19937 generator(seed);
  const auto from = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(generator);
  };
  constexpr int64_t kChannels[] = {1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 33, 64, 70};
  for (;;) {
    Windows windows;
    windows.x = {from(0, 9) == 0 ? 0 : from(1, 2), kChannels[from(0, 12)]};
    const int ndim = static_cast<int>(from(1, 4));
    for (int i = 0; i < ndim; ++i) {
      windows.x.push_back(from(1, ndim > 2 ? 5 : 11));
      windows.ksize.push_back(from(1, 4));
      windows.stride.push_back(from(1, 4));
      windows.pad.push_back(from(0, 2));
    }
    windows.cover_all = from(0, 1) == 1;
    bool fits = true;
    for (int i = 0; i < ndim; ++i) fits = fits && windows.out(i) > 0;
    if (fits) return windows;
  }
}

/// Small integers, which every dtype holds exactly and among which there are ties.
inline std::vector<double> small_integers(int64_t n, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<double> values(static_cast<size_t>(n));
  for (double& value : values) value = std::uniform_int_distribution<int>(-4, 4)(generator);
  return values;
}

/// The values in a dtype and a memory order that the seed chooses.
inline Array in_some_layout(const std::vector<double>& values, const Shape& shape, unsigned seed) {
  const Array plain = array(values, shape).astype(kFloatingDtypes[seed % 4]);
  switch (seed / 4 % 4) {
    case 0:
      return plain;
    case 1:
      return plain.channels_last();
    case 2:
      return plain.transpose().contiguous().transpose();
    default: {  // every other element of a larger array
      Shape wide = shape;
      wide[1] *= 2;
      const Array gaps = full(wide, 99, plain.dtype()).slice(1, 1, shape[1], 2);
      gaps.copy_from(plain);
      return gaps;
    }
  }
}

}  // namespace kusari::testing
