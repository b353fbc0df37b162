#include "kusari/framework/kernels/rejection_sampling.h"

#include "kusari/framework/core/threads.h"
#include "kusari/framework/cpu/register.h"
#include "kusari/framework/kernels/rejection_draws.h"

namespace kusari::cpu {
namespace {

/// Elements that a thread takes at a time: each costs about 100 ns.
constexpr int64_t kDrawChunk = 512;

/// y[i] = draw(numbers of place i, parameter[i]) in C order.
template <class Draw>
void draw_each(RandomState state, const Array& parameter, const Array& y, const Draw& draw) {
  if (y.size() == 0) return;
  const Array from = parameter.astype(Dtype::float64).contiguous();
  const bool direct = y.is_contiguous() && y.dtype() == Dtype::float64;
  const Array to = direct ? y : empty(y.shape(), Dtype::float64);
  const double* const p = from.data<double>();
  double* const out = to.data<double>();
  parallel_for(y.size(), kDrawChunk, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      out[i] = draw(km::PlaceNumbers(state.seed, state.offset + static_cast<uint64_t>(i)), p[i]);
    }
  });
  if (!direct) y.copy_from(to);
}

void random_log_gamma(RandomState state, In a, Out y) {
  draw_each(state, *a, *y, [](km::PlaceNumbers numbers, double shape) { return km::log_gamma_draw(numbers, shape); });
}

void random_poisson(RandomState state, In l, Out y) {
  draw_each(state, *l, *y, [](km::PlaceNumbers numbers, double mean) { return km::poisson_draw(numbers, mean); });
}

}  // namespace

void register_rejection_sampling(Backend& backend) {
  backend.add<kernels::RandomLogGamma>(&random_log_gamma);
  backend.add<kernels::RandomPoisson>(&random_poisson);
}

}  // namespace kusari::cpu
