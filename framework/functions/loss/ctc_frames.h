#pragma once

#include <cstdint>
#include <span>

#include "kusari/framework/autograd/variable.h"

namespace kusari::functions {

/// Throws, naming `call`, unless x has one array (B, V) or more, all alike, and the blank symbol is in [0, V).
void check_ctc_frames(const char* call, std::span<const Variable> x, int64_t blank_symbol);

}  // namespace kusari::functions
