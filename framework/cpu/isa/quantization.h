#pragma once

#include "kusari/framework/cpu/isa/tables.h"
#include "kusari/framework/kernels/macros.h"

namespace kusari::cpu {

struct QuantizationLoops {
  /// to[i, c] = x[i, c] - zero for n positions of `channels` neighbouring elements, uint8 or int8, and zeros until
  /// there are `padded` of them.
  void (*widen)(const void* x, bool is_signed, int zero, km::i64 n, km::i64 channels, km::i64 padded, short* to);
  /// The same without widening, for no zero point: of int8 numbers 128 more, as uint8; any numbers fill up.
  void (*fill_up)(const void* x, bool is_signed, km::i64 n, km::i64 channels, km::i64 padded, unsigned char* to);
  /// The bits of kernels::Quantize, as uint8 or int8.
  void (*quantize)(const float* x, float scale, float zero, float low, float high, bool is_signed, void* q, km::i64 n);
};

KUSARI_DECLARE_LOOPS(QuantizationLoops, quantization_loops)

}  // namespace kusari::cpu
