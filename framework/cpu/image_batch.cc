#include "kusari/framework/kernels/image_batch.h"

#include <algorithm>
#include <vector>

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/isa/image_batch.h"
#include "kusari/framework/cpu/register.h"

namespace kusari::cpu {
namespace {

/// How the elements of images lie in memory: pixel after pixel in lines, or each channel's plane by itself.
enum class Order { pixels, planes, other };

Order order_of(const Array& images) {
  const int64_t channels = images.shape()[1], width = images.shape()[3];
  const Strides& strides = images.strides();
  if ((channels == 1 || strides[1] == 1) && (width == 1 || strides[3] == channels)) return Order::pixels;
  return width == 1 || strides[3] == 1 ? Order::planes : Order::other;
}

Array empty_in(Order order, const Shape& shape, Dtype dtype) {
  if (order == Order::planes) return empty(shape, dtype);
  const int64_t c = shape[1], h = shape[2], w = shape[3];
  return empty_strided(shape, {c * h * w, 1, w * c, c}, dtype);
}

const ImageLoop& loop_for(Dtype from, Dtype to) {
  static const ImageLoops& table = *KUSARI_LOOPS(isa(), image_loops);
  if (to == Dtype::float64) return table.to_float64;
  const size_t i = from == Dtype::uint8 ? 0 : 1;
  return to == Dtype::float16    ? table.to_float16[i]
         : to == Dtype::bfloat16 ? table.to_bfloat16[i]
                                 : table.to_float32[i];
}

/// The numbers of `count` channels, as often as ImageLoop wants them.
template <class T>
std::vector<T> repeated(const double* values, int64_t count) {
  std::vector<T> result(static_cast<size_t>(count * kPixelGroup));
  for (size_t i = 0; i < result.size(); ++i) result[i] = static_cast<T>(values[i % static_cast<size_t>(count)]);
  return result;
}

/// x and y lie in `order`.
template <class T>
void normalize(const kernels::ChannelScales& scales, const Array& x, const Array& mirrored, const Array& y,
               Order order) {
  const Shape& shape = y.shape();
  const int64_t channels = order == Order::planes ? 1 : shape[1], planes = order == Order::planes ? shape[1] : 1;
  const int64_t height = shape[2], line = shape[3] * channels;
  std::vector<T> means, factors;
  for (int64_t p = 0; p < planes; ++p) {
    const std::vector<T> mean = repeated<T>(scales.mean + p, channels), scale = repeated<T>(scales.scale + p, channels);
    means.insert(means.end(), mean.begin(), mean.end());
    factors.insert(factors.end(), scale.begin(), scale.end());
  }
  const ImageLoop& loop = loop_for(x.dtype(), y.dtype());
  const Strides &from = x.strides(), &to = y.strides();
  const bool joined = from[2] == line && to[2] == line;
  const int64_t from_size = itemsize(x.dtype()), to_size = itemsize(y.dtype());
  parallel_for(shape[0] * planes * height, std::max<int64_t>(1, kThreadChunk / line), [&](int64_t begin, int64_t end) {
    Array reversed;
    for (int64_t i = begin; i < end;) {
      const int64_t row = i % height, plane = i / height % planes, n = i / height / planes;
      const char* source = x.data<char>() + (n * from[0] + plane * from[1] + row * from[2]) * from_size;
      char* const target = y.data<char>() + (n * to[0] + plane * to[1] + row * to[2]) * to_size;
      const bool mirror = mirrored.is_defined() && mirrored.data<uint8_t>()[n * mirrored.strides()[0]] != 0;
      if (mirror) {
        if (!reversed.is_defined()) reversed = empty({line}, x.dtype());
        loop.reverse(source, reversed.raw_data(), line, channels);
        source = reversed.data<char>();
      }
      const int64_t lines = mirror || !joined ? 1 : std::min(end - i, height - row);
      const auto at = static_cast<size_t>(plane * kPixelGroup);
      loop.scale(source, means.data() + at, factors.data() + at, target, lines * line, channels);
      i += lines;
    }
  });
}

void normalize_images(Params<kernels::ChannelScales> scales, In x, In mirrored, Out y) {
  if (y->size() == 0) return;
  const Order given = order_of(*y), order = given == Order::other ? Order::pixels : given;
  const Array result = given == Order::other ? empty_in(order, y->shape(), y->dtype()) : *y;
  const bool wide = y->dtype() == Dtype::float64;
  Array source = x->dtype() == Dtype::uint8 && !wide ? *x : x->astype(wide ? Dtype::float64 : Dtype::float32);
  if (order_of(source) != order) {
    const Array copy = empty_in(order, source.shape(), source.dtype());
    copy.copy_from(source);
    source = copy;
  }
  if (wide) {
    normalize<double>(*scales, source, *mirrored, result, order);
  } else {
    normalize<float>(*scales, source, *mirrored, result, order);
  }
  if (!result.is_same(*y)) y->copy_from(result);
}

}  // namespace

void register_image_batch(Backend& backend) { backend.add<kernels::NormalizeImages>(normalize_images); }

}  // namespace kusari::cpu
