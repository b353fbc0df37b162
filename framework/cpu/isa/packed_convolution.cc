#include "kusari/framework/cpu/isa/packed_convolution.h"

#include "kusari/framework/cpu/isa/packed_block.h"

namespace kusari::cpu {
namespace {

void pack(const float* w, i64 depth, i64 outs, i64 first, i64 last, float* packed) {
  for (i64 panel = first; panel < last; ++panel) {
    const i64 columns = outs - panel * kPanel, row = columns > kLanes ? kPanel : kLanes;
    for (i64 v = 0; v * kLanes < row; ++v) {
      pack_transposed(w + (panel * kPanel + v * kLanes) * depth, depth, depth, columns - v * kLanes,
                      packed + panel * kPanel * depth + v * kLanes, row);
    }
  }
}

constexpr PackedConvolutionLoops kLoops = {kTileRows, kPanel, kLanes, pack, run<Numbers>, run<Pairs>};

}  // namespace

namespace KUSARI_ISA {
const PackedConvolutionLoops* packed_convolution_loops() { return &kLoops; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
