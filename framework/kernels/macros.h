#pragma once

#include "kusari/framework/core/host_device.h"

#if defined(__CUDA_ARCH__)
#define KUSARI_ON_GPU 1
#else
#define KUSARI_ON_GPU 0
#endif

namespace kusari::km {

#if defined(__INT64_TYPE__)
using i64 = __INT64_TYPE__;
using u64 = __UINT64_TYPE__;
#else
using i64 = long long;
using u64 = unsigned long long;
#endif
using i32 = int;
using u32 = unsigned int;

}  // namespace kusari::km
