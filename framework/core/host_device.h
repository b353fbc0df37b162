#pragma once

/// Marks a function that every device compiles. On the CPU it is always inlined: the same formula is compiled for
/// several instruction sets, and a shared out-of-line copy would be an illegal instruction on an older processor.
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define KUSARI_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define KUSARI_HOST_DEVICE __attribute__((always_inline)) inline
#endif
