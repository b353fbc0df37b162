#include "kusari/framework/cpu/isa.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
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

Isa named(const std::string& text) {
  return text == "v1"        ? Isa::v1
         : text == "v3"      ? Isa::v3
         : text == "v4"      ? Isa::v4
         : text == "v4_vnni" ? Isa::v4_vnni
                             : Isa::v4_bf16;
}

#if defined(KUSARI_ONLY_ISA)

#define KUSARI_TEXT_OF(name) #name
#define KUSARI_TEXT(name) KUSARI_TEXT_OF(name)

#if defined(KUSARI_ISA_X86)
constexpr bool kHasExtensions = true;  // vnni_* and bfloat16_*, which go with v4
#else
constexpr bool kHasExtensions = false;
#endif

Isa choose_isa() {
  const Isa only = named(KUSARI_TEXT(KUSARI_ONLY_ISA)), most = kHasExtensions ? Isa::v4_bf16 : only;
  if (best_isa() < only) {  // libraries are being loaded, where nobody could catch an exception
    std::fputs("kusari: built for the instruction set " KUSARI_TEXT(
                   KUSARI_ONLY_ISA) " alone (KUSARI_NATIVE), which this processor lacks\n",
               stderr);
    std::abort();
  }
  return std::clamp(std::min(named(setting().value_or("v4_bf16")), best_isa()), only, most);
}

#else

Isa choose_isa() { return std::min(named(setting().value_or("v4_bf16")), best_isa()); }

#endif

}  // namespace

Isa isa() {
  static const Isa chosen = choose_isa();
  return chosen;
}

}  // namespace kusari::cpu
