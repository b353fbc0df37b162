#include "kusari/framework/cpu/isa/quantized_depthwise.h"

#include "kusari/framework/cpu/isa/quantized_depthwise_block.h"

namespace kusari::cpu {
namespace {

constexpr QuantizedDepthwiseLoops kLoops = {kLanes, Quads::kCount, quantized_line<Quads>};

}  // namespace

namespace v4_vnni {
const QuantizedDepthwiseLoops* quantized_depthwise_of_bytes() { return &kLoops; }
}  // namespace v4_vnni

}  // namespace kusari::cpu
