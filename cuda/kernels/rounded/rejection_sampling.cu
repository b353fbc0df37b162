#include "kusari/framework/kernels/rejection_sampling.h"

#include <algorithm>

#include "kusari/cuda/kernels/launch.cuh"
#include "kusari/cuda/plans/draw_plan.h"
#include "kusari/cuda/runtime/register.h"
#include "kusari/framework/kernels/rejection_draws.h"

// Compiled without contraction of products and sums, so that the uniform numbers are the CPU's bit by bit, and what is
// made of them but for the last digits of functions.
namespace kusari::cuda {
namespace {

constexpr int kDrawThreads = 128;
constexpr int64_t kMostBlocks = 1 << 16;

struct LogGammaDraw {
  __device__ double operator()(const km::PlaceNumbers& numbers, double a) const {
    return km::log_gamma_draw(numbers, a);
  }
};
struct PoissonDraw {
  __device__ double operator()(const km::PlaceNumbers& numbers, double l) const { return km::poisson_draw(numbers, l); }
};

template <class Draw>
__global__ void __launch_bounds__(kDrawThreads)
    rejection_kernel(Draw draw, RandomState state, const double* parameter, double* y, int64_t size) {
  const uint64_t origin = first_place(state);
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kDrawThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kDrawThreads + threadIdx.x; i < size; i += stride) {
    y[i] = draw(km::PlaceNumbers(state.seed, origin + static_cast<uint64_t>(i)), parameter[i]);
  }
}

template <class Draw>
void draw_each(RandomState state, const Array& parameter, const Array& y) {
  if (y.size() == 0) return;
  const Array from = parameter.astype(Dtype::float64).contiguous();
  const bool direct = y.is_contiguous() && y.dtype() == Dtype::float64;
  const Array to = direct ? y : empty(y.shape(), Dtype::float64, y.device());
  const int64_t blocks = std::min((y.size() + kDrawThreads - 1) / kDrawThreads, kMostBlocks);
  enqueue(Context::of(y), {static_cast<unsigned>(blocks), kDrawThreads}, &rejection_kernel<Draw>, Draw{}, state,
          from.data<double>(), to.data<double>(), y.size());
  if (!direct) y.copy_from(to);
}

void random_log_gamma(RandomState state, In a, Out y) { draw_each<LogGammaDraw>(state, *a, *y); }
void random_poisson(RandomState state, In l, Out y) { draw_each<PoissonDraw>(state, *l, *y); }

}  // namespace

void register_rejection_sampling(Backend& backend) {
  backend.add<kernels::RandomLogGamma>(&random_log_gamma);
  backend.add<kernels::RandomPoisson>(&random_poisson);
}

}  // namespace kusari::cuda
