#include "kusari/framework/kernels/fused_pointwise.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>

#include "kusari/cuda/kernels/element.cuh"
#include "kusari/cuda/plans/block_count.h"
#include "kusari/cuda/plans/fused_pointwise_source.h"
#include "kusari/cuda/runtime/check.h"
#include "kusari/cuda/runtime/graph.h"
#include "kusari/cuda/runtime/register.h"
#include "kusari/cuda/runtime/user_kernel.h"

namespace kusari::cuda {
namespace {

using kernels::FusedProgram;
using Range = StridedRange<FusedProgram::kMaxOperands>;

/// The text's one object. Not a hot path: launches are recorded once and replayed.
const kernels::UserSource& source_of(const FusedProgram& program, const FusedAccess& access) {
  static std::mutex* const mutex = new std::mutex;
  static auto* const sources = new std::map<std::string, const kernels::UserSource*>;
  const std::scoped_lock lock(*mutex);
  const kernels::UserSource*& source = (*sources)[fused_key(program, access)];
  if (source == nullptr) {
    // Each product and each sum is rounded, as in the separate kernels.
    source = &kernels::intern_user_source(kFusedName, fused_source(program, access), {"--fmad=false"});
  }
  return *source;
}

/// How to go through the arrays, and the loop over them, grouped into packs.
struct Plan {
  FusedAccess access;
  Range range;
  int64_t elements = 0;
};

Plan plan_of(const FusedProgram& program, std::span<const Array> in, std::span<const Array> out) {
  Plan plan;
  plan.elements = out[0].size();
  const Array* operands[FusedProgram::kMaxOperands];
  int sizes[FusedProgram::kMaxOperands];
  for (size_t k = 0; k < FusedProgram::kMaxOperands; ++k) {
    // The first output fills the places that are not needed.
    const bool is_used = k < out.size() + in.size();
    operands[k] = !is_used || k < out.size() ? &out[is_used ? k : 0] : &in[k - out.size()];
    sizes[k] = static_cast<int>(itemsize(operands[k]->dtype()));
  }
  plan.range = Range(StridedLoop(operands));
  const int inner = plan.range.ndim - 1;
  bool is_flat = plan.range.ndim == 1, is_aligned = true;
  for (size_t k = 0; k < FusedProgram::kMaxOperands; ++k) {
    const int64_t stride = plan.range.stride[k][inner];
    is_flat = is_flat && (stride == sizes[k] || (stride == 0 && k >= out.size()));
    is_aligned = is_aligned && (stride == 0 || is_pack_aligned(plan.range.base[k]));
    if (stride == 0) plan.access.repeated |= 1u << k;
  }
  const int pack = fused_pack(program);
  plan.access.is_flat = is_flat;
  if (is_flat && is_aligned) {
    plan.access.pack = pack;
  } else if (!is_flat && plan.range.has_packs(pack, sizes)) {
    plan.access.pack = pack;
    plan.range.group(pack);
  } else if (!is_flat) {
    plan.access.repeated = 0;  // strides say so
  }
  return plan;
}

void run(Context& context, void* kernel, FusedArguments& arguments) {
  void* parameters[] = {&arguments};
  const auto blocks =
      static_cast<unsigned>(blocks_for(std::max<int64_t>(arguments.packs, 1), int64_t{kFusedThreads} * kFusedPacks));
  KUSARI_CUDA_CHECK(cudaLaunchKernel(kernel, dim3(blocks), dim3(kFusedThreads), parameters, 0, context.stream()));
}

void fused_pointwise(Params<FusedProgram> program, InList inputs, OutList outputs) {
  const std::span<const Array> in = inputs.arrays(), out = outputs.arrays();
  check_fused_arrays(*program, in, out);
  check_fused_shapes(in, out);
  if (out[0].size() == 0) return;
  const Plan plan = plan_of(*program, in, out);
  Context& context = Context::of(out[0]);
  void* const kernel = loaded_kernel(context, source_of(*program, plan.access));
  if (context.is_capturing()) load_for_capture(kernel);
  FusedArguments arguments;
  set_functors(*program, arguments);
  const auto locate = [&](const Range& range) {
    for (int k = 0; k < FusedProgram::kMaxOperands; ++k) arguments.base[k] = range.base[k];
  };
  arguments.elements = plan.elements;
  if (plan.access.is_flat) {
    locate(plan.range);
    arguments.packs = plan.elements / plan.access.pack;
    run(context, kernel, arguments);
    return;
  }
  for_each_narrow(plan.range, [&](const Range& piece) {
    locate(piece);
    arguments.packs = piece.elements();
    arguments.index = piece.index();
    run(context, kernel, arguments);
  });
}

/// Compiles the kernel.
void prepare_fused_pointwise(Params<FusedProgram*> program, InList inputs, OutList outputs) {
  const std::span<const Array> in = inputs.arrays(), out = outputs.arrays();
  check_fused_arrays(**program, in, out);
  check_fused_shapes(in, out);
  if (out[0].size() == 0) return;
  loaded_kernel(Context::of(out[0]), source_of(**program, plan_of(**program, in, out).access));
}

}  // namespace

void register_fused_pointwise(Backend& backend) {
  backend.add<kernels::FusedPointwise>(fused_pointwise);
  backend.add<kernels::PrepareFusedPointwise>(prepare_fused_pointwise);
}

}  // namespace kusari::cuda
