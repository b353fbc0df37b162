#pragma once

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

namespace kusari {

/// Throws TypeError naming `call` unless x broadcasts to shape `to`, y's.
KUSARI_API void check_broadcast(const char* call, const Array& x, const Shape& to);

}  // namespace kusari
