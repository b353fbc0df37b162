#pragma once

#include "kusari/framework/cpu/isa/loops.h"
#include "kusari/framework/cpu/isa/tables.h"

namespace kusari::cpu {

/// Elements of a line that are computed together.
inline constexpr i64 kPixelGroup = 16;

/// Lines of n elements, c channels of a pixel after each other, to one type of results.
struct ImageLoop {
  /// y[i] = scaled_pixel(x[i], mean[i % (c * kPixelGroup)], scale[i % (c * kPixelGroup)]): the numbers of the channels,
  /// float or, for results in float64, double, repeated until a whole number of groups has them.
  void (*scale)(const void* x, const void* mean, const void* scale, void* y, i64 n, i64 c);
  /// to = the pixels of x in reverse order.
  void (*reverse)(const void* x, void* to, i64 n, i64 c);
};

/// By the type of x: bytes, float for results that are not float64, double for those that are.
struct ImageLoops {
  ImageLoop to_float16[2];  // from bytes and from float
  ImageLoop to_bfloat16[2];
  ImageLoop to_float32[2];
  ImageLoop to_float64;  // from double
};

KUSARI_DECLARE_LOOPS(ImageLoops, image_loops)

}  // namespace kusari::cpu
