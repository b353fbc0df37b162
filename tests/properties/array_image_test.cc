#include <algorithm>
#include <cmath>

#include "kusari/framework/functions/array/depth2space.h"
#include "kusari/framework/functions/array/im2col.h"
#include "kusari/framework/functions/array/resize_images.h"
#include "kusari/framework/functions/array/space2depth.h"
#include "kusari/framework/functions/array/spatial_transformer_grid.h"
#include "kusari/framework/functions/array/spatial_transformer_sampler.h"
#include "kusari/tests/properties/rearranged.h"

// Functions of images.
namespace kusari {
namespace {

using namespace testing;

TEST_CASE("property: depth2space") {
  check_property([](Draw& draw) {
    const Shape s = draw.shape(4, 4, 3);
    const int64_t r = draw.integer(1, 3), channels = s[1];
    return rearranged(
        draw.real({s[0], r * r * channels, s[2], s[3]}, -2, 2), [=](const Variable& x) { return F::depth2space(x, r); },
        {s[0], channels, r * s[2], r * s[3]},
        [=](const Shape& y) {
          const int64_t a = y[2] % r, b = y[3] % r;
          return Shape{y[0], (a * r + b) * channels + y[1], y[2] / r, y[3] / r};
        });
  });
}

TEST_CASE("property: space2depth") {
  check_property([](Draw& draw) {
    const Shape s = draw.shape(4, 4, 3);
    const int64_t r = draw.integer(1, 3), channels = s[1];
    return rearranged(
        draw.real({s[0], channels, r * s[2], r * s[3]}, -2, 2), [=](const Variable& x) { return F::space2depth(x, r); },
        {s[0], r * r * channels, s[2], s[3]},
        [=](const Shape& y) {
          const int64_t block = y[1] / channels;
          return Shape{y[0], y[1] % channels, r * y[2] + block / r, r * y[3] + block % r};
        });
  });
}

TEST_CASE("property: im2col") {
  check_property([](Draw& draw) -> PropertyCase {
    const int spatial = static_cast<int>(draw.integer(1, 2));
    Shape shape = draw.shape(2, 2, 2), size, k, stride, pad, dilate;
    F::Im2colOptions options{.cover_all = draw.flip()};
    for (int i = 0; i < spatial; ++i) {
      k.push_back(draw.integer(1, 3));
      stride.push_back(draw.integer(1, 3));
      dilate.push_back(draw.integer(1, 2));
      pad.push_back(draw.integer(0, 2));
      const int64_t window = dilate[i] * (k[i] - 1) + 1;
      shape.push_back(std::max<int64_t>(1, draw.integer(window, window + 3) - 2 * pad[i]));
      const int64_t free = shape[i + 2] + 2 * pad[i] - window;
      size.push_back((options.cover_all ? (free + stride[i] - 1) / stride[i] : free / stride[i]) + 1);
    }
    options.stride = PerAxis(stride);
    options.pad = PerAxis(pad);
    options.dilate = PerAxis(dilate);
    const int64_t patch = numel(k);
    Shape result{shape[0], shape[1] * patch};
    for (const int64_t n : size) result.push_back(n);
    return {.inputs = {draw.real(shape, -2, 2)},
            .function = [=](const Variables& x) { return Variables{F::im2col(x[0], PerAxis(k), options)}; },
            .reference =
                [=](const References& x) {
                  return References{naive::make(result, [&](const Shape& index) {
                    Shape source = shape;
                    source[0] = index[0];
                    source[1] = index[1] / patch;
                    int64_t element = index[1] % patch;
                    for (int i = spatial - 1; i >= 0; --i) {
                      const int64_t at = index[i + 2] * stride[i] + element % k[i] * dilate[i] - pad[i];
                      if (at < 0 || at >= shape[i + 2]) return 0.0;
                      source[i + 2] = at;
                      element /= k[i];
                    }
                    return x[0].at(source);
                  })};
                }};
  });
}

/// Pixel (n, c, v, u) between four ones; 0 beyond the edges.
double bilinear(const Reference& x, int64_t n, int64_t c, double v, double u) {
  double sum = 0;
  for (int64_t i = static_cast<int64_t>(std::floor(v)); i <= std::floor(v) + 1; ++i) {
    for (int64_t j = static_cast<int64_t>(std::floor(u)); j <= std::floor(u) + 1; ++j) {
      if (i < 0 || j < 0 || i >= x.shape[2] || j >= x.shape[3]) continue;
      const double weight = (1 - std::abs(v - static_cast<double>(i))) * (1 - std::abs(u - static_cast<double>(j)));
      sum += weight * x.at({n, c, i, j});
    }
  }
  return sum;
}

/// Where along an axis of n pixels the new pixel i of m lies.
double place(int64_t i, int64_t n, int64_t m, bool align_corners) {
  const auto index = static_cast<double>(i), old_size = static_cast<double>(n), new_size = static_cast<double>(m);
  if (align_corners) return m == 1 ? 0 : index * (old_size - 1) / (new_size - 1);
  return std::clamp((index + 0.5) * old_size / new_size - 0.5, 0.0, old_size - 1);
}

TEST_CASE("property: resize_images") {
  check_property([](Draw& draw) -> PropertyCase {
    const Shape shape = draw.shape(4, 4, 4);
    const int64_t h = draw.integer(1, 6), w = draw.integer(1, 6);
    const F::ResizeImagesOptions options{draw.pick({F::ResizeMode::bilinear, F::ResizeMode::nearest}), draw.flip()};
    return {.inputs = {draw.real(shape, -2, 2)},
            .function =
                [=](const Variables& x) {
                  return Variables{F::resize_images(x[0], {h, w}, options)};
                },
            .reference =
                [=](const References& x) {
                  return References{naive::make({shape[0], shape[1], h, w}, [&](const Shape& y) {
                    if (options.mode == F::ResizeMode::nearest) {
                      return x[0].at({y[0], y[1], y[2] * shape[2] / h, y[3] * shape[3] / w});
                    }
                    return bilinear(x[0], y[0], y[1], place(y[2], shape[2], h, options.align_corners),
                                    place(y[3], shape[3], w, options.align_corners));
                  })};
                }};
  });
}

TEST_CASE("property: spatial_transformer_grid") {
  check_property([](Draw& draw) -> PropertyCase {
    const int64_t n = draw.integer(0, 3), h = draw.integer(1, 5), w = draw.integer(1, 5);
    const auto coordinate = [](int64_t i, int64_t size) {
      return size == 1 ? -1.0 : -1 + 2 * static_cast<double>(i) / static_cast<double>(size - 1);
    };
    return {.inputs = {draw.real({n, 2, 3}, -2, 2)},
            .function =
                [=](const Variables& x) {
                  return Variables{F::spatial_transformer_grid(x[0], {h, w})};
                },
            .reference =
                [=](const References& theta) {
                  return References{naive::make({n, 2, h, w}, [&](const Shape& y) {
                    return theta[0].at({y[0], y[1], 0}) * coordinate(y[3], w) +
                           theta[0].at({y[0], y[1], 1}) * coordinate(y[2], h) + theta[0].at({y[0], y[1], 2});
                  })};
                }};
  });
}

TEST_CASE("property: spatial_transformer_sampler") {
  check_property([](Draw& draw) -> PropertyCase {
    const Shape shape{draw.integer(1, 2), draw.integer(1, 3), draw.integer(2, 5), draw.integer(2, 5)};
    const int64_t h = draw.integer(1, 4), w = draw.integer(1, 4);
    // Points between pixels, as the derivative jumps at them, and beyond the edges.
    std::vector<double> grid;
    naive::each({shape[0], 2, h, w}, [&](const Shape& index) {
      const int64_t size = shape[index[1] == 0 ? 3 : 2];
      const double pixel = static_cast<double>(draw.integer(-2, size)) + draw.number(0.1, 0.9);
      grid.push_back(2 * pixel / static_cast<double>(size - 1) - 1);
    });
    return {.inputs = {draw.real(shape, -2, 2), array(grid, {shape[0], 2, h, w})},
            .function = [](const Variables& x) { return Variables{F::spatial_transformer_sampler(x[0], x[1])}; },
            .reference =
                [=](const References& x) {
                  return References{naive::make({shape[0], shape[1], h, w}, [&](const Shape& y) {
                    const double u = (x[1].at({y[0], 0, y[2], y[3]}) + 1) / 2 * static_cast<double>(shape[3] - 1);
                    const double v = (x[1].at({y[0], 1, y[2], y[3]}) + 1) / 2 * static_cast<double>(shape[2] - 1);
                    return bilinear(x[0], y[0], y[1], v, u);
                  })};
                }};
  });
}

}  // namespace
}  // namespace kusari
