#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/static_graph/pass_log.h"
#include "kusari/framework/static_graph/program.h"

namespace kusari::graphs {

/// Puts what is added to a forward convolution (numbers of channels, another array of its shape) and ReLU after it into
/// the convolution, where nobody else reads what lies between. On other devices than the CPU only for inference.
/// Returns how many kernels it has put into others.
KUSARI_API int fuse_convolutions(Program& program, PassLog& log);

}  // namespace kusari::graphs
