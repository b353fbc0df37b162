#include "kusari/cuda/reduction_family.cuh"
#include "kusari/cuda/register.h"

namespace kusari::cuda {

void register_reduction(Backend& backend) {
  backend.add<kernels::Reduction<kernels::Sum>>(reduction_kernel<kernels::Sum>);
  backend.add<kernels::Reduction<kernels::Mean>>(reduction_kernel<kernels::Mean>);
  backend.add<kernels::Reduction<kernels::SquareSum>>(reduction_kernel<kernels::SquareSum>);
  backend.add<kernels::Reduction<kernels::SumOfAbs>>(reduction_kernel<kernels::SumOfAbs>);
  backend.add<kernels::Reduction<kernels::CountNonfinite>>(reduction_kernel<kernels::CountNonfinite>);
  register_reduction_extrema(backend);
}

}  // namespace kusari::cuda
