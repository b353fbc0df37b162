#pragma once

#include "kusari/cuda/runtime/context.h"
#include "kusari/framework/kernels/user/user_launch.h"

namespace kusari::cuda {

/// The text's kernel for the context's device (a cudaKernel_t), compiled and loaded first where that has not been done;
/// it stays until the end. Throws StateError when that would have to be done while this thread captures a graph.
void* loaded_kernel(const Context& context, const kernels::UserSource& source);

}  // namespace kusari::cuda
