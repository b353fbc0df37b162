#pragma once

#include <string>

#include "kusari/framework/cpu/best_isa.h"
#include "kusari/tests/skip.h"

/// Skips the running test case on processors without an instruction set: KUSARI_SKIP_BELOW(v4).
#define KUSARI_SKIP_BELOW(isa) \
  if (::kusari::cpu::best_isa() < ::kusari::cpu::Isa::isa) KUSARI_SKIP("this processor has no " #isa)
