#pragma once

#include "kusari/framework/cpu/isa/packed_convolution.h"

// Packed convolutions of 8-bit numbers with AVX512_VNNI, whose instruction adds the products of four uint8 and int8
// numbers to a sum of 32 bits. Sources named vnni_* are compiled for one instruction set alone, Isa::v4_vnni.

namespace kusari::cpu::v4_vnni {

/// PackedConvolutionLoops::run for elements that are four numbers: uint8 in x and int8 in w. The tiles and panels are
/// those of Isa::v4.
PackedConvolutionRun packed_convolution_of_bytes();

}  // namespace kusari::cpu::v4_vnni
