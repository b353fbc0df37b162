#pragma once

#include "kusari/framework/kernels/macros.h"
#include "kusari/framework/kernels/math_basic.h"

// Rarer functions: the C library on the CPU, one call per element and the same in every instruction set.

namespace kusari::km {

#if KUSARI_ON_GPU
#define KUSARI_LIBRARY_FUNCTION(name)                             \
  KUSARI_HOST_DEVICE float name(float x) { return ::name##f(x); } \
  KUSARI_HOST_DEVICE double name(double x) { return ::name(x); }
#else
#define KUSARI_LIBRARY_FUNCTION(name)                                       \
  KUSARI_HOST_DEVICE float name(float x) { return __builtin_##name##f(x); } \
  KUSARI_HOST_DEVICE double name(double x) { return __builtin_##name(x); }
#endif
KUSARI_LIBRARY_FUNCTION(cbrt)
#undef KUSARI_LIBRARY_FUNCTION

#if KUSARI_ON_GPU
KUSARI_HOST_DEVICE float fmod(float x, float y) { return ::fmodf(x, y); }
KUSARI_HOST_DEVICE double fmod(double x, double y) { return ::fmod(x, y); }
#else
KUSARI_HOST_DEVICE float fmod(float x, float y) { return __builtin_fmodf(x, y); }
KUSARI_HOST_DEVICE double fmod(double x, double y) { return __builtin_fmod(x, y); }
#endif

}  // namespace kusari::km
