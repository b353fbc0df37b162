#include "kusari/framework/cpu/isa.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "kusari/framework/core/error.h"
#include "kusari/framework/cpu/best_isa.h"

namespace kusari::cpu {
namespace {

Isa choose_isa() {
  const char* const text = std::getenv("KUSARI_CPU_ISA");
  if (text == nullptr) return best_isa();
  for (const auto& [name, cap] :
       {std::pair{"v1", Isa::v1}, {"v3", Isa::v3}, {"v4", Isa::v4}, {"v4_bf16", Isa::v4_bf16}}) {
    if (std::string(text) == name) return std::min(cap, best_isa());
  }
  throw ValueError(std::string("KUSARI_CPU_ISA: '") + text + "' must be v1, v3, v4 or v4_bf16");
}

}  // namespace

Isa isa() {
  static const Isa chosen = choose_isa();
  return chosen;
}

}  // namespace kusari::cpu
