#include "kusari/framework/datasets/synthetic_points.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>

#include "kusari/framework/core/argument.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/core/threads.h"
#include "kusari/framework/datasets/example_random.h"

namespace kusari::datasets {
namespace {

// Streams of ExampleRandom.
constexpr int64_t kPlaces = 0, kNoise = 1, kCenters = 2;

/// Where point i of those in order goes.
Array drawn_places(int64_t n, uint64_t seed, bool shuffle) {
  Array places = arange(n, Dtype::int64);
  if (!shuffle) return places;
  int64_t* const at = places.data<int64_t>();
  ExampleRandom random(seed, kPlaces);
  for (int64_t i = n - 1; i > 0; --i) std::swap(at[i], at[random.integer(i + 1)]);
  return places;
}

/// `point(i, to)` writes point i and returns its class; `deviation` is that of the noise.
template <class Point>
TupleDataset points_of(int64_t n, int64_t features, double deviation, const Array& places, uint64_t seed,
                       const Point& point) {
  const Array x = empty({n, features}), labels = empty({n}, Dtype::int32);
  parallel_for(n, 1024, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t place = places.data<int64_t>()[i];
      float* const to = x.data<float>() + place * features;
      labels.data<int32_t>()[place] = point(i, to);
      if (deviation == 0) continue;
      ExampleRandom random(seed, kNoise, i);
      for (int64_t k = 0; k < features; ++k) to[k] = static_cast<float>(random.normal(to[k], deviation));
    }
  });
  return TupleDataset(x, labels);
}

/// Point i of `count` on half a circle.
double angle(int64_t i, int64_t count) {
  return count < 2 ? 0 : std::numbers::pi * static_cast<double>(i) / static_cast<double>(count - 1);
}

Array centers_of(const BlobsOptions& options) {
  if (options.centers.is_defined()) {
    const Array& given = options.centers;
    if (given.ndim() != 2 || given.dtype() == Dtype::bool_) {
      throw TypeError(std::string("make_blobs: centers has dtype ") + name(given.dtype()) + " and shape " +
                      to_string(given.shape()) + ": it must be numbers of the shape (classes, features)");
    }
    if (given.size() == 0) {
      throw ValueError("make_blobs: centers has shape " + to_string(given.shape()) + ": there must be some");
    }
    return given.to_device(Device()).astype(Dtype::float64).contiguous();
  }
  argument::positive("make_blobs", "classes", options.classes);
  argument::positive("make_blobs", "features", options.features);
  Array centers = empty({options.classes, options.features}, Dtype::float64);
  ExampleRandom random(options.seed, kCenters);
  std::generate_n(centers.data<double>(), centers.size(), [&] { return random.uniform(-options.box, options.box); });
  return centers;
}

}  // namespace

TupleDataset make_moons(const MoonsOptions& options) {
  const int64_t n = argument::not_negative("make_moons", "n", options.n), first = n / 2;
  const double noise = argument::finite_not_negative("make_moons", "noise", options.noise);
  return points_of(n, 2, noise, drawn_places(n, options.seed, options.shuffle), options.seed,
                   [&](int64_t i, float* to) {
                     const bool is_second = i >= first;
                     const double a = is_second ? angle(i - first, n - first) : angle(i, first);
                     to[0] = static_cast<float>(is_second ? 1 - std::cos(a) : std::cos(a));
                     to[1] = static_cast<float>(is_second ? 0.5 - std::sin(a) : std::sin(a));
                     return is_second ? 1 : 0;
                   });
}

TupleDataset make_blobs(const BlobsOptions& options) {
  const int64_t n = argument::not_negative("make_blobs", "n", options.n);
  argument::finite_not_negative("make_blobs", "box", options.box);
  const double deviation = argument::finite_not_negative("make_blobs", "deviation", options.deviation);
  const Array centers = centers_of(options);
  const int64_t classes = centers.shape()[0], features = centers.shape()[1];
  // The first n % classes classes have one point more.
  const int64_t each = n / classes, larger = n % classes, in_larger = larger * (each + 1);
  return points_of(n, features, deviation, drawn_places(n, options.seed, options.shuffle), options.seed,
                   [&](int64_t i, float* to) {
                     const int64_t c = i < in_larger ? i / (each + 1) : larger + (i - in_larger) / each;
                     const double* const center = centers.data<double>() + c * features;
                     std::transform(center, center + features, to, [](double v) { return static_cast<float>(v); });
                     return static_cast<int32_t>(c);
                   });
}

}  // namespace kusari::datasets
