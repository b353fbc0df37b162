#include "kusari/cuda/kernels/block_reduce.cuh"
#include "kusari/cuda/kernels/element.cuh"
#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/runtime/register.h"
#include "kusari/framework/core/summary_kernels.h"

namespace kusari::cuda {
namespace {

template <class T>
__global__ void __launch_bounds__(kWarp) accumulate_kernel(const T* x, double weight, double* sums) {
  if (threadIdx.x != 0) return;
  const auto value = static_cast<double>(widen(*x));
  sums[0] += weight * value;
  sums[1] += weight * value * value;
}

void accumulate_moments(In x, Params<double> weight, InOut sums) {
  Context& context = Context::of(*sums);
  visit_dtype(x->dtype(), [&]<class T>() {
    enqueue(context, {dim3(1), dim3(kWarp)}, accumulate_kernel<T>, x->data<T>(), *weight, sums->data<double>());
  });
}

}  // namespace

void register_summary(Backend& backend) { backend.add<kernels::AccumulateMoments>(accumulate_moments); }

}  // namespace kusari::cuda
