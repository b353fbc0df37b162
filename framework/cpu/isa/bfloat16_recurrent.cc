#include "kusari/framework/cpu/isa/recurrent_block.h"

namespace kusari::cpu {
namespace {

constexpr RecurrentCells kCells = recurrent_cells<float, Brain>();

}  // namespace

namespace v4_bf16 {
const RecurrentCells* bfloat16_recurrent_cells() { return &kCells; }
}  // namespace v4_bf16

}  // namespace kusari::cpu
