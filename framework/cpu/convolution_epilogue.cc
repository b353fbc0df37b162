#include <algorithm>

#include "kusari/framework/core/backend.h"
#include "kusari/framework/cpu/blocks.h"
#include "kusari/framework/cpu/convolution.h"
#include "kusari/framework/cpu/isa.h"
#include "kusari/framework/cpu/isa/bfloat16_winograd.h"
#include "kusari/framework/cpu/isa/convolution.h"
#include "kusari/framework/cpu/pointwise.h"
#include "kusari/framework/kernels/activation.h"
#include "kusari/framework/kernels/math_functions.h"
#include "kusari/framework/kernels/pointwise.h"

namespace kusari::cpu {
namespace {

constexpr int64_t kFinishedAtOnce = 2048;  // elements: they stay in the first-level cache for the function

KernelId function_of(const ConvolutionProblem& p) { return KernelId{static_cast<int>(p.function)}; }

void add_and_cut(const ConvolutionProblem& p, const ConvolutionArrays& a, int64_t skip, int64_t n) {
  static const ConvolutionLoops& loops = *KUSARI_LOOPS(isa(), convolution_loops);
  static const Bfloat16WinogradLoops* const bfloat16_loops = KUSARI_BFLOAT16_LOOPS(bfloat16_winograd_loops);
  const int64_t bytes = skip * itemsize(p.element());
  const void* const z = p.has_z != 0 ? static_cast<const char*>(a.z) + bytes : nullptr;
  void* const y = static_cast<char*>(a.y) + bytes;
  if (p.element() == Dtype::bfloat16) return bfloat16_loops->finish(z, p.relu != 0, y, n * p.out_channels);
  const ConvolutionLoop& loop = p.element() == Dtype::float64 ? loops.f64 : loops.f32;
  loop.finish(p.bias_is_own != 0 ? a.bias : nullptr, z, p.relu != 0, y, n, p.out_channels);
}

}  // namespace

void apply_function(const ConvolutionProblem& p, void* y, int64_t n) {
  const Dtype dtype = p.element(), compute = dtype_of_compute(compute_of(dtype));
  const PointwiseLoop loop = loop_of(loops_of_kernel(function_of(p)), compute_of(dtype));
  if (dtype == compute) {
    const void* const in[] = {y};
    return loop(p.functor, in, y, n);
  }
  const ConvertLoop widen = convert_loop(dtype, compute), narrow = convert_loop(compute, dtype);
  alignas(64) float wide[kBlock];
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t count = std::min(kBlock, n - i);
    void* const at = static_cast<char*>(y) + i * itemsize(dtype);
    const void* const in[] = {wide};
    widen(at, wide, count);
    loop(p.functor, in, wide, count);
    narrow(wide, at, count);
  }
}

ResultRange range_of(const ConvolutionProblem& p) {
  static const int clipped = kernel_id<kernels::Pointwise<kernels::ClippedRelu>>().index;
  static const int clip = kernel_id<kernels::Pointwise<kernels::Clip>>().index;
  if (p.relu != 0) return {ResultCut::below_zero, 0, 0};
  if (p.has_function == 0 || p.element() != Dtype::float32) return {};
  if (p.function == clipped) {
    kernels::ClippedRelu functor;
    std::memcpy(&functor, p.functor, sizeof(functor));
    return {ResultCut::clipped_relu, 0, static_cast<float>(functor.z)};
  }
  if (p.function == clip) {
    kernels::Clip functor;
    std::memcpy(&functor, p.functor, sizeof(functor));
    return {ResultCut::clip, static_cast<float>(functor.low), static_cast<float>(functor.high)};
  }
  return {};
}

void finish_convolution(const ConvolutionProblem& p, const ConvolutionArrays& a, int64_t skip, int64_t n) {
  if (p.has_function == 0) return add_and_cut(p, a, skip, n);
  const bool adds = p.bias_is_own != 0 || p.has_z != 0;
  const int64_t step = std::max<int64_t>(1, kFinishedAtOnce / p.out_channels);
  for (int64_t i = 0; i < n; i += step) {
    const int64_t count = std::min(step, n - i), place = skip + i * p.out_channels;
    if (adds) add_and_cut(p, a, place, count);
    apply_function(p, static_cast<char*>(a.y) + place * itemsize(p.element()), count * p.out_channels);
  }
}

}  // namespace kusari::cpu
