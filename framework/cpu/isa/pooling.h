#pragma once

#include "kusari/framework/cpu/isa/loops.h"
#include "kusari/framework/cpu/isa/tables.h"

namespace kusari::cpu {

/// Pixels of a channels-last array in a row whose results come from the same places of another array: pixel p of the
/// target, at target + p * target_step, reads the pixels at offset[i] + p * source_step. All in elements.
struct PoolingRun {
  const i64* offset;
  const i64* place;  // the number that an index has for each
  i64 count;         // how many there are; may be 0
  i64 source_step;
  i64 target;
  i64 target_step;
  i64 pixels;
  i64 channels;
};

/// Pooling of one element type; 16-bit ones are computed in float and rounded once. `index` is uint8 in entry 0, int32
/// in entry 1.
struct PoolingLoop {
  /// y = the largest element of x, index = its place; -inf and 0 where there is none.
  void (*max[2])(const PoolingRun& run, const void* x, void* y, void* index);
  /// The same without an index.
  void (*max_alone)(const PoolingRun& run, const void* x, void* y);
  /// y = the element of x whose place is index, 0 where there is none; index lies like y.
  void (*pick[2])(const PoolingRun& run, const void* x, const void* index, void* y);
  /// gx = the sum of those elements of gy whose index is their place; index lies like gy.
  void (*grad[2])(const PoolingRun& run, const void* gy, const void* index, void* gx);
  /// y = the sum of x / divisor.
  void (*sum)(const PoolingRun& run, const void* x, double divisor, void* y);
};

struct PoolingLoops {
  PoolingLoop f16;
  PoolingLoop bf16;
  PoolingLoop f32;
  PoolingLoop f64;
  /// PoolingLoop::max_alone of uint8 and int8; the least integer where there is no element.
  void (*max_of_uint8)(const PoolingRun& run, const void* x, void* y);
  void (*max_of_int8)(const PoolingRun& run, const void* x, void* y);
};

KUSARI_DECLARE_LOOPS(PoolingLoops, pooling_loops)

}  // namespace kusari::cpu
