#include "kusari/framework/cpu/isa/quantized_depthwise.h"

#include "kusari/framework/cpu/isa/quantized_depthwise_block.h"

namespace kusari::cpu {
namespace {

constexpr QuantizedDepthwiseLoops kLoops = {kLanes, Pairs::kCount, quantized_line<Pairs>};

}  // namespace

namespace KUSARI_ISA {
const QuantizedDepthwiseLoops* quantized_depthwise_loops() { return &kLoops; }
}  // namespace KUSARI_ISA

}  // namespace kusari::cpu
