#pragma once

#include "kusari/framework/cpu/isa/packed_convolution.h"
#include "kusari/framework/cpu/isa/tables.h"
#include "kusari/framework/kernels/macros.h"

namespace kusari::cpu {

/// Integers of 8 bits, and what they stand for: (q - zero) scale.
struct QuantizedOperand {
  const unsigned char* q;
  unsigned char flip;  // 128 for int8
  float scale, zero;   // with that zero point
};

struct QuantizationLoops {
  /// to[i, c] = x[i, c] - zero for n positions of `channels` neighbouring elements, uint8 or int8, and zeros until
  /// there are `padded` of them.
  void (*widen)(const void* x, bool is_signed, int zero, km::i64 n, km::i64 channels, km::i64 padded, short* to);
  /// The same without widening, for no zero point: of int8 numbers 128 more, as uint8; any numbers fill up.
  void (*fill_up)(const void* x, bool is_signed, km::i64 n, km::i64 channels, km::i64 padded, unsigned char* to);
  /// y = the sum of two arrays of 8 bits, rounded: see kernels::QuantizedAddForward.
  void (*add)(const QuantizedOperand& a, const QuantizedOperand& b, const PackedRounding& rounding, km::i64 n);
  /// The bits of kernels::Quantize, as uint8 or int8.
  void (*quantize)(const float* x, float scale, float zero, float low, float high, bool is_signed, void* q, km::i64 n);
};

KUSARI_DECLARE_LOOPS(QuantizationLoops, quantization_loops)

}  // namespace kusari::cpu
