#include "kusari/framework/core/summary_kernels.h"
#include "kusari/framework/cpu/register.h"

namespace kusari::cpu {
namespace {

void accumulate_moments(In x, Params<double> weight, InOut sums) {
  const double value = x->item<double>();
  double* const to = sums->data<double>();
  to[0] += *weight * value;
  to[1] += *weight * value * value;
}

}  // namespace

void register_summary(Backend& backend) { backend.add<kernels::AccumulateMoments>(&accumulate_moments); }

}  // namespace kusari::cpu
