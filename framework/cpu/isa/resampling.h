#pragma once

#include "kusari/framework/cpu/isa/loops.h"
#include "kusari/framework/cpu/isa/tables.h"

namespace kusari::cpu {

/// Weights of 8-bit pixels are integers of 2^-22: a sum of such pixels times weights fits 32 bits, with room for two
/// more (src/libImaging/Resample.c of Pillow).
inline constexpr int kResamplingPrecision = 22;

/// The upper and the lower 11 bits of two weights that follow each other: weight = high * 2^11 + low, so that 16-bit
/// products do for exact sums.
struct ResamplingPair {
  static constexpr int kLowBits = 11;
  short high[2];
  short low[2];
};

/// How new places along an axis are made of old ones: place i is the sum of weight[i * count + k] times old place
/// first[i] + k over k < used[i].
struct ResamplingTaps {
  i64 places;
  i64 count;
  const i64* first;
  const i64* used;
  const void* weight;           // int for 8-bit pixels, else float
  const ResamplingPair* pairs;  // of 8-bit pixels: place i has them from (count + 1) / 2 * i on, the last one filled up
};

struct ResamplingLoop {
  /// Rows of new pixels along the rows of `pixels` old ones, which lie x_pitch bytes apart, the new ones y_pitch.
  void (*rows)(const void* x, i64 x_pitch, i64 pixels, void* y, i64 y_pitch, i64 rows, const ResamplingTaps* taps,
               i64 channels);
  /// n elements of one new row: the sum of weight[k] times x's row k over k < used, rows lying `pitch` bytes apart.
  void (*column)(const void* x, i64 pitch, const void* weight, i64 used, void* y, i64 n);
};

struct ResamplingLoops {
  ResamplingLoop u8;
  ResamplingLoop f32;
};

KUSARI_DECLARE_LOOPS(ResamplingLoops, resampling_loops)

}  // namespace kusari::cpu
