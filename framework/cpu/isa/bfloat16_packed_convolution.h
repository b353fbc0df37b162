#pragma once

#include "kusari/framework/cpu/isa/packed_convolution.h"
#include "kusari/framework/kernels/macros.h"

// Packed convolutions of bfloat16 with AVX512_BF16, whose instruction adds the products of two pairs of numbers to a
// float32 sum. A bfloat16 is its 16 bits here.
namespace kusari::cpu {

/// The tiles and panels are those of Isa::v4's PackedConvolutionLoops, whose `pack` packs pairs as well.
struct Bfloat16PackedLoops {
  /// For elements that are pairs. Each sum is over the positions of the kernel and the pairs of channels in order.
  PackedConvolutionRun run;
  /// n rows of `channels` numbers, neighbours in memory, each with zeros behind it until it has `filled`.
  void (*fill_up)(const unsigned short* from, km::i64 n, km::i64 channels, km::i64 filled, unsigned short* to);
};

}  // namespace kusari::cpu

namespace kusari::cpu::v4_bf16 {
const Bfloat16PackedLoops* bfloat16_packed_loops();
}
