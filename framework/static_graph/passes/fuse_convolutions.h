#pragma once

#include "kusari/framework/core/export.h"
#include "kusari/framework/static_graph/pass_log.h"
#include "kusari/framework/static_graph/program.h"

namespace kusari::graphs {

/// Puts what is added to a forward convolution (numbers of channels, another array of its shape) and the function of
/// the sum after it into the convolution, where nobody else reads what lies between: any pointwise function of one
/// argument, and x sigmoid(x) and x hard_sigmoid(x), which read it twice. On other devices than the CPU only for
/// inference, and functions but ReLU only where no pointwise kernel follows, which would be fused with them. Returns
/// how many kernels it has put into others.
KUSARI_API int fuse_convolutions(Program& program, PassLog& log);

/// For inference on the CPU: products of four rows or more with float32 weights that stay, x W or x W^T, become
/// convolutions over the rows, which keep their weights packed, and take up what is added and the function of the sum
/// as convolutions do. Sums are taken in another order, so results differ by rounding. Returns how many products.
KUSARI_API int pack_products(Program& program, PassLog& log);

}  // namespace kusari::graphs
