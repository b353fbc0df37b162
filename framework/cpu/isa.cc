#include "kusari/framework/cpu/isa.h"

#include <algorithm>
#include <optional>
#include <string>

#include "kusari/framework/core/environment.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/cpu/best_isa.h"

namespace kusari::cpu {
namespace {

std::optional<std::string> setting() {
  try {
    return environment::choice("KUSARI_CPU_ISA");
  } catch (const ValueError&) {
    return std::nullopt;  // libraries are being loaded, where nobody could catch it; the first use of the configuration
                          // throws it again
  }
}

Isa choose_isa() {
  const std::optional<std::string> text = setting();
  if (!text) return best_isa();
  const Isa cap = *text == "v1" ? Isa::v1 : *text == "v3" ? Isa::v3 : *text == "v4" ? Isa::v4 : Isa::v4_bf16;
  return std::min(cap, best_isa());
}

}  // namespace

Isa isa() {
  static const Isa chosen = choose_isa();
  return chosen;
}

}  // namespace kusari::cpu
