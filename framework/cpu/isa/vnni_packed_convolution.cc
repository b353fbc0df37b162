#include "kusari/framework/cpu/isa/vnni_packed_convolution.h"

#include "kusari/framework/cpu/isa/packed_block.h"

namespace kusari::cpu::v4_vnni {

PackedConvolutionRun packed_convolution_of_bytes() { return &run<Quads>; }

}  // namespace kusari::cpu::v4_vnni
